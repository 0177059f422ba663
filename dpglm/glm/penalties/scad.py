"""The SCAD penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import penalties, within
from dpglm.glm.penalties.folded import Folded
from dpglm.typing import FloatVector


@penalties.register("scad")
@dataclass(frozen=True)
class SCAD(Folded):
    r"""The smoothly clipped absolute deviation penalty: a lasso near zero, no shrinkage far from it.

    Its slope is ``strength`` up to ``|b| = strength / scale``, falls linearly to zero at ``a`` times that and
    stays there. Not convex.

    Parameters
    ----------
    strength : float or None
        Slope at zero, >= 0, per row, on the scaled coefficients.
    a : float
        Where shrinkage ends, > 2, in units of ``strength / scale``.
    scale : float, sequence of float, or None
        Second derivative of the loss that the knots suppose; None leaves it to the method (alone: 1).
    weights : sequence of float, or None
        Adaptive weights, one for each penalised coefficient.

    Raises
    ------
    MethodError
        If ``strength`` or a weight is not a finite number >= 0, ``scale`` not > 0 or ``a`` not > 2.

    Notes
    -----
    With :math:`l` = ``strength / scale`` and :math:`s` = ``step * scale``, in the prox, if :math:`s < a - 1`:
    soft-thresholding at :math:`s l` up to :math:`|v| = l + s l`, then
    :math:`((a - 1) v \mp s a l) / (a - 1 - s)` up to :math:`a l`, then v itself. With a larger step the
    middle part is concave and holds no minimiser: the soft threshold and v are compared by value.

    References
    ----------
    .. [1] Fan and Li (2001), "Variable selection via nonconcave penalized likelihood and its oracle
       properties", JASA 96(456), equation (2.7); a = 3.7 is theirs.

    Examples
    --------
    >>> SCAD(strength=1.0).prox(np.array([0.9, 1.5, 3.0, 4.0]), step=1.0).round(3)
    array([0.   , 0.5  , 2.588, 4.   ])
    """

    a: float = 3.7

    name: ClassVar[str] = "scad"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (within(self.a, 2.0, math.inf) and 2.0 < self.a < math.inf):
            raise MethodError(
                f"a={self.a!r} for the scad penalty",
                expected="a finite number > 2",
                remedy="Use a=3.7, or leave it out.",
            )

    def terms(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        scale = self.scales()
        knot = strength / scale
        middle = np.clip(size, knot, self.a * knot) - knot
        return strength * (np.minimum(size, knot) + middle) - scale * middle**2 / (2.0 * (self.a - 1.0))

    def slope(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        scale = self.scales()
        middle = (self.a * strength - scale * size) / (self.a - 1.0)
        return np.clip(middle, 0.0, strength)

    def curvature(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        scale = self.scales()
        falling = (scale * size >= strength) & (scale * size < self.a * strength)
        return np.where(falling, -scale / (self.a - 1.0), 0.0)

    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        scale = self.scales()
        knot, s = strength / scale, step * scale
        room = self.a - 1.0 - s
        near = np.maximum(size - s * knot, 0.0)
        middle = size - s * (self.a * knot - size) / np.where(room > 0.0, room, 1.0)
        middle = np.clip(middle, np.minimum(knot, size), size)
        smooth = np.where(size <= knot + s * knot, near, np.where(size <= self.a * knot, middle, size))
        # No local minimiser lies between the knots once the penalty bends more than the quadratic.
        even = np.where(size <= s * knot, np.sqrt(s * (self.a + 1.0)), 0.5 * (self.a + 1.0 + s)) * knot
        far = (size >= self.a * knot) & (size > even)
        return np.where(room > 0.0, smooth, np.where(far, size, near))

    def least_strength(self, gradient: FloatVector, step: FloatVector) -> FloatVector:
        return gradient * np.sqrt(np.maximum(step * self.scales() / (self.a + 1.0), 1.0))
