"""What SCAD and MCP share: a knot beyond which nothing is shrunk, and so a scale of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, cast

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import within
from dpglm.glm.penalties.separable import Separable, plain_tuple
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class Folded(Separable):
    """A folded concave penalty: slope ``strength`` at zero, none beyond a knot, of ``scale`` per unit.

    The textbook penalty p_lambda(b) supposes a loss of second derivative 1, such as a mean of squares over
    standardised columns. For a loss of second derivative ``scale`` it is ``scale * p_(strength / scale)(b)``:
    then a coefficient alone is treated as in the textbook, in units of ``strength / scale``. With the wrong
    scale it is a lasso, or best-subset selection.

    Parameters
    ----------
    strength : float or None
        Slope of the penalty at zero, >= 0, per row, on the scaled coefficients.
    scale : float, sequence of float, or None
        Second derivative of the loss that the knots suppose, > 0: one number or one for each penalised
        coefficient. None leaves it to the method, which takes the released curvature; the penalty alone then
        counts it as 1.
    weights : sequence of float, or None
        Adaptive weights, one for each penalised coefficient.
    """

    scale: float | tuple[float, ...] | None = field(default=None, kw_only=True)

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is None:
            return
        scales = plain_tuple(self.scale)
        if not all(within(one, 0.0, math.inf) and 0.0 < one < math.inf for one in scales):
            raise MethodError(
                f"scale={self.scale!r} for the {self.name} penalty",
                expected="a finite number > 0, one for each penalised coefficient, or None",
                remedy="Leave scale= out: the method takes the released curvature.",
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
