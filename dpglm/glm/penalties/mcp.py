"""The minimax concave penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import penalties, within
from dpglm.glm.penalties.folded import Folded
from dpglm.typing import FloatVector


@penalties.register("mcp")
@dataclass(frozen=True)
class MCP(Folded):
    r"""The minimax concave penalty: a slope that falls linearly from ``strength`` to zero, and stays there.

    It ends at ``|b| = gamma * strength / scale``. Not convex.

    Parameters
    ----------
    strength : float or None
        Slope at zero, >= 0, per row, on the scaled coefficients.
    gamma : float
        Where shrinkage ends, > 1, in units of ``strength / scale``; towards 1 it is hard thresholding,
        towards infinity the lasso.
    scale : float, sequence of float, or None
        Second derivative of the loss that the knot supposes; None leaves it to the method (alone: 1).
    weights : sequence of float, or None
        Adaptive weights, one for each penalised coefficient.

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
            raise MethodError(
                f"gamma={self.gamma!r} for the mcp penalty",
                expected="a finite number > 1",
                remedy="Use gamma=3.0, or leave it out.",
            )

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
