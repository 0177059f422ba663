"""The non-smooth part of an objective, seen through its one task: minimise a quadratic plus it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.active_set import minimise_with_l1
from dpglm.optim.cholesky import solve
from dpglm.optim.consensus import minimise_with_prox
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


class Shape(Protocol):
    """The part of an objective that need not be smooth, convex."""

    def value(self, x: FloatVector) -> float:
        """Its value."""

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        """A subgradient at ``x`` that offsets ``gradient`` well, None if none can be told.

        ``known`` is one, where the caller has it.
        """

    def minimise_model(
        self,
        hessian: FloatMatrix,
        gradient: FloatVector,
        x: FloatVector,
        pull: FloatVector | None,
        accuracy: float,
    ) -> tuple[FloatVector, FloatVector | None]:
        """Minimiser z of ``gradient.(z - x) + (z - x).hessian.(z - x) / 2 + value(z)``, a subgradient there.

        ``accuracy`` is the norm of the model's subgradient that will do where it is not found exactly.
        """


@dataclass(frozen=True)
class Smooth:
    """Nothing non-smooth."""

    def value(self, x: FloatVector) -> float:
        return 0.0

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        return np.zeros_like(x)

    def minimise_model(
        self,
        hessian: FloatMatrix,
        gradient: FloatVector,
        x: FloatVector,
        pull: FloatVector | None,
        accuracy: float,
    ) -> tuple[FloatVector, FloatVector | None]:
        return x - solve(hessian, gradient), None


@dataclass(frozen=True)
class WeightedL1:
    """``sum_j weights_j |x_j|``, weights >= 0 of shape (m,)."""

    weights: FloatVector

    def value(self, x: FloatVector) -> float:
        return float(self.weights @ np.abs(x))

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        at_zero = np.clip(-gradient, -self.weights, self.weights)
        return np.where(x == 0.0, at_zero, self.weights * np.sign(x))

    def minimise_model(
        self,
        hessian: FloatMatrix,
        gradient: FloatVector,
        x: FloatVector,
        pull: FloatVector | None,
        accuracy: float,
    ) -> tuple[FloatVector, FloatVector | None]:
        return minimise_with_l1(hessian, gradient, x, self.weights), None


@dataclass(frozen=True)
class Penalised:
    """Any convex penalty on some of the coordinates."""

    penalty: Penalty
    mask: BoolVector

    def value(self, x: FloatVector) -> float:
        return self.penalty.value(x[self.mask])

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        return known

    def minimise_model(
        self,
        hessian: FloatMatrix,
        gradient: FloatVector,
        x: FloatVector,
        pull: FloatVector | None,
        accuracy: float,
    ) -> tuple[FloatVector, FloatVector | None]:
        return minimise_with_prox(hessian, gradient, x, self.prox, pull=pull, accuracy=accuracy)

    def prox(self, v: FloatVector, step: float) -> FloatVector:
        """The penalty's prox on its coordinates, the identity on the others."""
        mapped = v.copy()
        mapped[self.mask] = self.penalty.prox(v[self.mask], step)
        return mapped
