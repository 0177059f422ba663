"""The l1/2 penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import penalties, within
from dpglm.glm.penalties.separable import Separable
from dpglm.typing import FloatVector

_ROUNDS = 10


@penalties.register("l1/2", "half", "l_half")
@dataclass(frozen=True)
class LHalf(Separable):
    r"""The l1/2 penalty, ``strength * sum(sqrt(|b_j|))``.

    Sparser than the lasso at the same fit, and it shrinks large coefficients less. It is not convex: the prox
    jumps at its threshold, and a quadratic plus this penalty may have several local minimisers.

    Parameters
    ----------
    strength : float or None
        Weight, >= 0, per row, on the scaled coefficients.
    weights : sequence of float, or None
        Adaptive weights, one for each penalised coefficient.
    reweighted : bool
        Replace the closed-form prox by 10 reweighted soft-thresholdings from 1. They find a *local*
        minimiser, which may be a non-zero one where zero is global and the other way round; it depends on
        the unit of the coefficients. For comparison with the literature, not for use.
    smoothing : float
        Keeps the weights ``(|z| + smoothing)^(-1/2) / 2`` of the reweighted iteration finite, > 0.

    Raises
    ------
    MethodError
        If ``strength`` or a weight is not a finite number >= 0, or ``smoothing`` is not positive.

    Notes
    -----
    With :math:`t` = ``step * strength``, entries with :math:`|v| \le T = \frac32 t^{2/3}` become 0,
    the others
    :math:`\frac23 v (1 + \cos(\frac{2\pi}{3} - \frac23 \arccos(2^{-1/2} (T / |v|)^{3/2})))`. At the threshold
    itself both 0 and the jump :math:`t^{2/3}` are minimisers; 0 is returned.

    The concave term lies below its tangent, whose slope is ``1/2 |z|^(-1/2)``. A weight without the 1/2
    solves the problem of twice the strength.

    References
    ----------
    .. [1] Xu, Chang, Xu and Zhang (2012), "L1/2 regularization: a thresholding representation theory and a
       fast solver", IEEE TNNLS 23(7). Their objective has no factor 1/2: their lambda is 2 t here.

    Examples
    --------
    >>> LHalf(strength=1.0).prox(np.array([1.4, 2.0]), step=1.0).round(3)
    array([0.   , 1.605])
    """

    reweighted: bool = False
    smoothing: float = 1e-6

    name: ClassVar[str] = "l1/2"
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (within(self.smoothing, 0.0, 1.0) and self.smoothing > 0.0):
            raise MethodError(
                f"smoothing={self.smoothing!r} for the l1/2 penalty",
                expected="a number above 0, up to 1",
                remedy="Use smoothing=1e-6, or leave it out.",
            )

    def terms(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return strength * np.sqrt(size)

    def slope(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return 0.5 * strength / np.sqrt(size)

    def curvature(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return -0.25 * strength / (size * np.sqrt(size))

    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        t = step * strength
        if self.reweighted:
            return self._reweighted(size, t)
        threshold = 1.5 * np.cbrt(t) ** 2
        mapped = np.zeros_like(size)
        kept = size > threshold
        v, least = size[kept], threshold[kept]
        angle = np.arccos(math.sqrt(0.5) * (least / v) ** 1.5)
        shrunk = (2.0 / 3.0) * v * (1.0 + np.cos((2.0 / 3.0) * (math.pi - angle)))
        mapped[kept] = np.where(least == 0.0, v, np.minimum(shrunk, v))
        return mapped

    def _reweighted(self, size: FloatVector, t: FloatVector) -> FloatVector:
        found = np.ones_like(size)
        for _ in range(_ROUNDS):
            found = np.maximum(size - 0.5 * t / np.sqrt(found + self.smoothing), 0.0)
        return found

    def least_strength(self, gradient: FloatVector, step: FloatVector) -> FloatVector:
        if not self.reweighted:
            return (gradient * step / 1.5) ** 1.5 / step
        low, high = np.zeros_like(gradient), np.ones_like(gradient)
        v = step * gradient
        while (self._reweighted(v, step * high) > 0.0).any():
            high *= 2.0
        for _ in range(120):  # bisection to the last bit
            middle = 0.5 * (low + high)
            zero = self._reweighted(v, step * middle) == 0.0
            low, high = np.where(zero, low, middle), np.where(zero, middle, high)
        return high
