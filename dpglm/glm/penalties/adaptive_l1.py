"""The adaptive lasso penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dpglm.glm.penalties.base import penalties
from dpglm.glm.penalties.separable import Separable
from dpglm.typing import FloatVector


@penalties.register("adaptive_l1", "adaptive_lasso")
@dataclass(frozen=True)
class AdaptiveL1(Separable):
    """The adaptive lasso penalty, ``strength * sum_j weights_j |b_j|``: a lasso with weights of its own.

    Without weights it is the lasso. `from_estimates` makes the usual weights from a first estimate, which
    must be a released one. Every other penalty that acts coefficient by coefficient takes ``weights`` too.

    Parameters
    ----------
    strength : float or None
        Weight, >= 0, per row, on the scaled coefficients.
    weights : sequence of float, or None
        One for each penalised coefficient, >= 0; 0 leaves a coefficient free.

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
