"""Folded concave penalties: SCAD and MCP, which leave large coefficients as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

import numpy as np

from dpglm.glm.penalties.base import penalties, within
from dpglm.glm.penalties.separable import Separable, plain_tuple
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class FoldedConcave(Separable):
    """A folded concave penalty: slope ``strength`` at zero, none beyond a knot, of ``scale`` per unit.

    The textbook penalty p_lambda(b) supposes a loss of second derivative 1, such as a mean of squares over
    standardised columns. For a loss of second derivative ``scale`` it is ``scale * p_(strength / scale)(b)``:
    then a coefficient alone is treated as in the textbook, in units of ``strength / scale``. With the wrong
    scale it is a lasso, or best-subset selection.

    Parameters
    ----------
    scale : float, sequence of float, or None
        Second derivative of the loss that the knots suppose, > 0: one number or one for each penalised
        coefficient. None leaves it to the method, which takes the released information; the penalty
        alone then counts it as 1.
    """

    scale: float | tuple[float, ...] | None = field(default=None, kw_only=True)

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is None:
            return
        scales = plain_tuple(self.scale)
        if not all(within(value, 0.0, math.inf) and 0.0 < value < math.inf for value in scales):
            raise self.option_error(
                "scale",
                "a finite number > 0, one for each penalised coefficient, or None",
                "Leave scale= out: the method takes the released information.",
            )
        if not within(self.scale, 0.0, math.inf):
            object.__setattr__(self, "scale", scales)

    def with_scale(self, curvature: FloatVector) -> Self:
        """The same penalty with these scales, unless it has one; shape (p,), those not positive raised."""
        if self.scale is not None:
            return self
        # A coefficient without curvature has no scale; the least that keeps all quotients finite will do.
        least = 1e-12 * float(np.max(curvature, initial=0.0))
        return replace(self, scale=tuple(np.maximum(curvature, least if least > 0.0 else 1.0).tolist()))

    def scales(self) -> FloatVector:
        """The scale, shape () or (p,); broadcasts against coefficients."""
        return np.array(1.0 if self.scale is None else cast(float, self.scale), dtype=np.float64)


@penalties.register("scad")
@dataclass(frozen=True)
class SCAD(FoldedConcave):
    r"""The smoothly clipped absolute deviation penalty: a lasso near zero, no shrinkage far from it.

    Its slope is ``strength`` up to ``|b| = strength / scale``, falls linearly to zero at ``a`` times that and
    stays there. Not convex.

    Parameters
    ----------
    strength, weights : see `Separable`
    a : float
        Where shrinkage ends, > 2, in units of ``strength / scale``.
    scale : float, sequence of float, or None
        Second derivative of the loss that the knots suppose; None leaves it to the method (alone: 1).

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
            raise self.option_error("a", "a finite number > 2", "Use a=3.7, or leave it out.")

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


@penalties.register("mcp")
@dataclass(frozen=True)
class MCP(FoldedConcave):
    r"""The minimax concave penalty: a slope that falls linearly from ``strength`` to zero, and stays there.

    It ends at ``|b| = gamma * strength / scale``. Not convex.

    Parameters
    ----------
    strength, weights : see `Separable`
    gamma : float
        Where shrinkage ends, > 1, in units of ``strength / scale``; towards 1 it is hard thresholding,
        towards infinity the lasso.
    scale : float, sequence of float, or None
        Second derivative of the loss that the knot supposes; None leaves it to the method (alone: 1).

    Raises
    ------
    MethodError
        If ``strength`` or a weight is not a finite number >= 0, ``scale`` not > 0 or ``gamma`` not > 1.

    Notes
    -----
    With :math:`l` = ``strength / scale`` and :math:`s` = ``step * scale``, in the prox, if
    :math:`s < \gamma`: 0 up to :math:`|v| = s l`, then :math:`(v \mp s l) / (1 - s / \gamma)` up to
    :math:`\gamma l`, then v itself. With a larger step it is the hard threshold
    :math:`l \sqrt{s \gamma}`.

    References
    ----------
    .. [1] Zhang (2010), "Nearly unbiased variable selection under minimax concave penalty", Annals of
       Statistics 38(2), equation (2.1); gamma = 3 is the default of Breheny and Huang's ncvreg.

    Examples
    --------
    >>> MCP(strength=1.0).prox(np.array([0.9, 2.0, 4.0]), step=1.0)
    array([0. , 1.5, 4. ])
    """

    gamma: float = 3.0

    name: ClassVar[str] = "mcp"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (within(self.gamma, 1.0, math.inf) and 1.0 < self.gamma < math.inf):
            raise self.option_error("gamma", "a finite number > 1", "Use gamma=3.0, or leave it out.")

    def terms(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        scale = self.scales()
        near = np.minimum(size, self.gamma * strength / scale)
        return near * (strength - scale * near / (2.0 * self.gamma))

    def slope(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        return np.maximum(strength - self.scales() * size / self.gamma, 0.0)

    def curvature(self, size: FloatVector, strength: FloatVector) -> FloatVector:
        scale = self.scales()
        return np.where(scale * size < self.gamma * strength, -scale / self.gamma, 0.0)

    def shrink(self, size: FloatVector, strength: FloatVector, step: FloatVector) -> FloatVector:
        scale = self.scales()
        knot, s = strength / scale, step * scale
        room = self.gamma - s
        middle = size - s * (self.gamma * knot - size) / np.where(room > 0.0, room, 1.0)
        middle = np.clip(middle, 0.0, size)
        smooth = np.where(size <= s * knot, 0.0, np.where(size <= self.gamma * knot, middle, size))
        hard = np.where(size > np.sqrt(s * self.gamma) * knot, size, 0.0)
        return np.where(room > 0.0, smooth, hard)

    def least_strength(self, gradient: FloatVector, step: FloatVector) -> FloatVector:
        return gradient * np.sqrt(np.maximum(step * self.scales() / self.gamma, 1.0))
