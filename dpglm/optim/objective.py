"""Convex objectives: a smooth loss over rows plus a part that need not be smooth, and certified points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.active_set import minimise_with_l1, solve
from dpglm.optim.quadratic_admm import minimise_with_prox
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector


class RowLoss(Protocol):
    """A smooth convex loss summed over rows: all that optimisation needs to know of data."""

    @property
    def size(self) -> int:
        """Number of coefficients p."""

    @property
    def row_count(self) -> int:
        """Number of rows."""

    def gradient(self, theta: FloatVector, *, compensated: bool = False) -> FloatVector:
        """Float64 gradient, shape (p,); ``compensated`` with less rounding."""

    def gradient_and_hessian(
        self, theta: FloatVector, *, variables: IntVector | None = None, precise: bool = False
    ) -> tuple[FloatVector, FloatMatrix]:
        """Gradient, and second derivative in ``variables``; six digits are enough unless ``precise``."""

    def thinned(self, step: int) -> Self:
        """Every ``step``-th row, weighted by ``step``."""


class Model(NamedTuple):
    """The quadratic ``gradient.(z - x) + (z - x).hessian.(z - x) / 2`` of a smooth part around ``x``."""

    hessian: FloatMatrix
    gradient: FloatVector
    x: FloatVector


class Shape(Protocol):
    """The convex part of an objective that need not be smooth."""

    def value(self, x: FloatVector) -> float:
        """Its value."""

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        """A subgradient at ``x`` that offsets ``gradient`` well, ``known`` or better; None: not known."""

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        """Minimiser of a quadratic model plus this part, and a subgradient there where it is known.

        ``accuracy`` is the norm of the model's subgradient that suffices where it is not found exactly.
        """


class Smooth:
    """Nothing non-smooth."""

    def value(self, x: FloatVector) -> float:
        return 0.0

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        return np.zeros_like(x)

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        return model.x - solve(model.hessian, model.gradient), None


class WeightedL1:
    """``sum_j weights_j |x_j|``, weights >= 0 of shape (m,)."""

    def __init__(self, weights: FloatVector) -> None:
        self.weights = weights

    def value(self, x: FloatVector) -> float:
        return float(self.weights @ np.abs(x))

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        at_zero = np.clip(-gradient, -self.weights, self.weights)
        return np.where(x == 0.0, at_zero, self.weights * np.sign(x))

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        return minimise_with_l1(*model, self.weights), None


class Penalised:
    """Any convex penalty on the coordinates of a mask."""

    def __init__(self, penalty: Penalty, mask: BoolVector) -> None:
        self.penalty, self.mask = penalty, mask

    def value(self, x: FloatVector) -> float:
        return self.penalty.value(x[self.mask])

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        return known

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        return minimise_with_prox(*model, self._prox, pull=pull, accuracy=accuracy)

    def _prox(self, v: FloatVector, step: float) -> FloatVector:
        mapped = v.copy()
        mapped[self.mask] = self.penalty.prox(v[self.mask], step)
        return mapped


class Effort:
    """How often rows were read. It depends on the rows: never show it beside a private result."""

    def __init__(self) -> None:
        self.passes = self.hessians = 0


class Point(NamedTuple):
    """A point where the objective was measured.

    ``gradient`` belongs to the smooth part; ``pull`` is a subgradient of the rest, None if none is known.
    ``residual`` is the Euclidean norm of their sum in the space of ``theta``, infinite without a pull.
    """

    x: FloatVector
    theta: FloatVector
    gradient: FloatVector
    pull: FloatVector | None
    residual: float

    @property
    def slope(self) -> FloatVector:
        """The subgradient of the whole, or the gradient where no pull is known."""
        return self.gradient if self.pull is None else self.gradient + self.pull


@dataclass(frozen=True)
class Objective:
    """``loss(theta) + linear.theta + sum(ridge * theta^2) / 2 + x.curvature.x / 2 + shape(x)``.

    Here ``theta = mixing @ x``; ``linear`` and ``ridge``, shape (p,), act on theta. ``mixing`` is identity
    or has shape (p, m). ``curvature`` is an extra quadratic in x, shape (m, m), or its diagonal (m,).
    ``to_theta`` maps a subgradient in x to one in theta, by the inverse transpose of ``mixing``, and makes it
    longer by a factor of at most ``stretch``. ``compensated`` asks for gradients with less rounding.
    """

    loss: RowLoss
    linear: FloatVector
    ridge: FloatVector
    mixing: FloatMatrix | None
    curvature: FloatMatrix | FloatVector | None
    shape: Shape
    to_theta: Callable[[FloatVector], FloatVector] | None = None
    stretch: float = 1.0
    compensated: bool = False
    effort: Effort = field(default_factory=Effort)

    @property
    def size(self) -> int:
        """Length of ``x``."""
        return self.linear.size if self.mixing is None else self.mixing.shape[1]

    def measure(self, x: FloatVector, pull: FloatVector | None = None) -> Point:
        """One read of the rows at ``x``, where ``pull`` is known to be a subgradient if given."""
        theta = self._theta(x)
        self.effort.passes += 1
        return self._point(x, theta, self.loss.gradient(theta, compensated=self.compensated), pull)

    def expand(
        self, x: FloatVector, pull: FloatVector | None = None, *, precise: bool = False
    ) -> tuple[Point, FloatMatrix]:
        """The point at ``x`` and the second derivative of the smooth part, in one read."""
        theta = self._theta(x)
        self.effort.passes += 1
        self.effort.hessians += 1
        used = None
        if self.mixing is not None and self.mixing.shape[1] < self.mixing.shape[0]:
            used = np.flatnonzero(self.mixing.any(axis=1))
        rows, hessian = self.loss.gradient_and_hessian(theta, variables=used, precise=precise)
        ridge = self.ridge if used is None else self.ridge[used]
        hessian = _added(hessian, ridge)
        if self.mixing is not None:
            mixing = self.mixing if used is None else self.mixing[used]
            hessian = mixing.T @ hessian @ mixing
            hessian = 0.5 * (hessian + hessian.T)
        if self.curvature is not None:
            hessian = _added(hessian, self.curvature)
        return self._point(x, theta, rows, pull), hessian

    def _theta(self, x: FloatVector) -> FloatVector:
        return x if self.mixing is None else self.mixing @ x

    def _point(
        self, x: FloatVector, theta: FloatVector, rows: FloatVector, pull: FloatVector | None
    ) -> Point:
        gradient = rows + (self.linear + self.ridge * theta)
        if self.mixing is not None:
            gradient = self.mixing.T @ gradient
        if self.curvature is not None:
            gradient = gradient + (self.curvature * x if self.curvature.ndim == 1 else self.curvature @ x)
        pull = self.shape.pull(x, gradient, pull)
        residual = math.inf
        if pull is not None:
            left = gradient + pull
            norm = float(np.linalg.norm(left if self.to_theta is None else self.to_theta(left)))
            residual = norm if math.isfinite(norm) else math.inf
        return Point(x, theta, gradient, pull, residual)


def _added(matrix: FloatMatrix, quadratic: FloatMatrix | FloatVector) -> FloatMatrix:
    if quadratic.ndim == 2:
        return matrix + quadratic
    total = matrix.copy()
    total[np.diag_indices_from(total)] += quadratic
    return total
