"""Penalties that are a sum of one term for each coefficient; the simplest of them is the adaptive lasso."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Self, cast

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import Penalty, not_below, penalties, within
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True)
class Separable(Penalty):
    """``sum_j term(|b_j|, strength * weights_j)``; subclasses say what one term is.

    A subclass writes five functions of non-negative arrays that broadcast against each other: ``size`` is
    ``|b|`` or ``|v|``, ``strength`` already holds the weight of the coefficient.

    Parameters
    ----------
    weights : sequence of float, or None
        Adaptive weights, >= 0, one for each penalised coefficient; each multiplies ``strength``, 0 leaves a
        coefficient free. None is one everywhere.
    """

    weights: tuple[float, ...] | None = field(default=None, kw_only=True)

    @property
    def least_size(self) -> int:
        return 1 if self.weights is None else len(self.weights)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None:
            weights = plain_tuple(self.weights)
            if not all(within(weight, 0.0, math.inf) and weight < math.inf for weight in weights):
                raise self.option_error(
                    "weights",
                    "one finite number >= 0 for each penalised coefficient, or None",
                    "Use weights=(1.0, 2.0), say, or leave them out.",
                )
            object.__setattr__(self, "weights", weights)

    @abstractmethod
    def terms(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        """The penalty of each coefficient."""

    @abstractmethod
    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        """The minimiser b >= 0 of ``(b - size)^2 / 2 + step * term(b)``, of several the least."""

    @abstractmethod
    def slope(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        """First derivative of each term, where ``size`` > 0."""

    @abstractmethod
    def curvature(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        """Second derivative of each term, where ``size`` > 0; from the right at a knot."""

    @abstractmethod
    def least_strength(self, gradient: FloatVector, step: FloatVector) -> FloatVector:
        """Least strength at which ``shrink(step * gradient, strength, step)`` is zero; ``gradient`` >= 0."""

    def strengths_of(self, size: int) -> FloatVector:
        """The strength times the weights, shape (size,)."""
        return self.weight * self.weights_of(size)

    def weights_of(self, size: int) -> FloatVector:
        """The weights, shape (size,)."""
        if self.weights is None:
            return np.ones(size)
        if len(self.weights) != size:
            raise MethodError(
                f"{len(self.weights)} weights for the {self.name} penalty on {size} coefficients",
                expected="one weight for each penalised coefficient",
                remedy="Give as many weights as there are penalised coefficients, in their order.",
            )
        return np.array(self.weights, dtype=np.float64)

    def value(self, beta: FloatVector) -> float:
        return float(np.sum(self.terms(np.abs(beta), self.strengths_of(beta.size))))

    def values(self, betas: FloatMatrix, strengths: FloatVector) -> FloatVector:
        each = strengths[:, None] * self.weights_of(betas.shape[1])
        return np.asarray(self.terms(np.abs(betas), each).sum(axis=1), dtype=np.float64)

    def prox(self, v: FloatVector, step: float) -> FloatVector:
        mapped = self.shrink(np.abs(v), self.strengths_of(v.size), np.full(v.size, float(step)))
        # Adding zero turns -0.0 into 0.0.
        return np.sign(v) * mapped + 0.0

    def prox_rows(self, v: FloatMatrix, step: float, strengths: FloatVector) -> FloatMatrix:
        each = strengths[:, None] * self.weights_of(v.shape[1])
        return np.sign(v) * self.shrink(np.abs(v), each, np.full(v.shape, float(step))) + 0.0

    def derivatives(self, beta: FloatVector) -> tuple[FloatVector, FloatMatrix]:
        size, strength = np.where(beta == 0.0, 1.0, np.abs(beta)), self.strengths_of(beta.size)
        return np.sign(beta) * self.slope(size, strength), np.diag(self.curvature(size, strength))

    def strength_max(self, gradient_at_zero: FloatVector, step: float = 1.0) -> float:
        pull = np.abs(gradient_at_zero)
        weights = self.weights_of(pull.size)
        if not pull.any():
            return 0.0
        if (pull[weights == 0.0] > 0.0).any():
            return math.inf
        used = weights > 0.0
        least = self.least_strength(pull[used], np.full(int(used.sum()), float(step))) / weights[used]
        return not_below(self, float(least.max()), gradient_at_zero, step)


@penalties.register("adaptive_l1", "adaptive_lasso")
@dataclass(frozen=True)
class AdaptiveL1(Separable):
    """The adaptive lasso penalty, ``strength * sum_j weights_j |b_j|``: a lasso with weights of its own.

    Without weights it is the lasso. `from_estimates` makes the usual weights from a first estimate, which
    must be a released one. Every other penalty that acts coefficient by coefficient takes ``weights`` too.

    References
    ----------
    .. [1] Zou (2006), "The adaptive lasso and its oracle properties", JASA 101(476).

    Examples
    --------
    >>> AdaptiveL1(strength=1.0, weights=(0.5, 2.0)).prox(np.array([-3.0, 3.0]), step=1.0)
    array([-2.5,  1. ])
    """

    name: ClassVar[str] = "adaptive_l1"
    convex: ClassVar[bool] = True
    ridge_weight: ClassVar[float] = 0.0

    @classmethod
    def from_estimates(cls, estimates: FloatVector, *, power: float = 1.0, floor: float = 1e-6) -> Self:
        """Weights ``|estimate|^-power``, divided by the least of them.

        Parameters
        ----------
        estimates : ndarray, shape (p,)
            A first estimate of the penalised scaled coefficients, released numbers only.
        power : float
            Zou's gamma, > 0.
        floor : float
            Estimates below this part of the largest count as this part: weights stay finite.

        Examples
        --------
        >>> AdaptiveL1.from_estimates(np.array([2.0, -0.5])).weights
        (1.0, 4.0)
        """
        size = np.abs(np.asarray(estimates, dtype=np.float64))
        largest = float(size.max(initial=0.0))
        if largest == 0.0:
            return cls(weights=(1.0,) * size.size)
        ratio = np.maximum(size / largest, floor) ** -power
        return cls(weights=tuple(ratio.tolist()))

    def terms(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return strength * size

    def slope(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return strength + np.zeros_like(size)

    def curvature(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return np.zeros_like(size)

    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        return np.maximum(size - step * strength, 0.0)

    def least_strength(self, gradient: FloatVector, step: FloatVector) -> FloatVector:
        return gradient

    def l1_weights(self, size: int) -> FloatVector:
        return self.strengths_of(size)

    @property
    def l1_weight(self) -> float | None:
        """The strength where there are no weights, else None."""
        return self.weight if self.weights is None else None


def plain_tuple(values: object) -> tuple[float, ...]:
    """Numbers of any sequence or array as a tuple of plain floats; what is not a number stays."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (cast(float, values),)
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return tuple(float(value) if within(value, -math.inf, math.inf) else value for value in listed)
