"""The softplus hinge: a logistic loss of the shortfall of the margin, close to a support vector machine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.families.base import families
from dpglm.glm.families.margin import MarginLoss
from dpglm.typing import FloatVector


@families.register("softplus_hinge")
@dataclass(frozen=True)
class SoftplusHinge(MarginLoss):
    r"""h log(1 + exp((1 - m)/h)) for margins m, h the width: at most h log 2 above the hinge, never below.

    The slope in m is -a, a = sigmoid((1 - m)/h), and the curvature a(1 - a)/h, at most 1/(4h). It is smooth,
    and with a ridge its minimiser is unique.

    Parameters
    ----------
    width : float
        h, at least 0.25, in units of the margin.

    References
    ----------
    Zhang, Jin, Yang and Hauptmann (2003), "Modified logistic regression: an approximation to SVM and its
    applications in large-scale text categorization", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> eta, y = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])
    >>> SoftplusHinge().loss(eta, y).round(4)
    array([1.0635, 0.3466, 2.0091])
    >>> SoftplusHinge().slope(eta, y).round(4)
    array([-0.8808, -0.5   ,  0.982 ])
    """

    name: ClassVar[str] = "softplus_hinge"
    least_width: ClassVar[float] = 0.25

    @property
    def curvature_max(self) -> float:
        """1 / (4h)."""
        return 0.25 / self.width

    @property
    def third_derivative_bound(self) -> float:
        """1 / h."""
        return 1.0 / self.width

    def _loss(self, short: FloatVector) -> FloatVector:
        return np.maximum(short, 0.0) + self.width * np.log1p(np.exp(-np.abs(short) / self.width))

    def _share(self, short: FloatVector) -> FloatVector:
        return 0.5 + 0.5 * np.tanh(short * (0.5 / self.width))

    def _curvature(self, short: FloatVector) -> FloatVector:
        # a (1 - a) loses all digits far out; exp(-|.|) keeps them.
        tail = np.exp(-np.abs(short) / self.width)
        return tail / (1.0 + tail) ** 2 / self.width
