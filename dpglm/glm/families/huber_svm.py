"""The huberised hinge: a linear support vector machine whose corner is rounded by a parabola."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.families.base import families
from dpglm.glm.families.margin import MarginLoss
from dpglm.typing import FloatVector


@families.register("huber_svm", "huberised_hinge")
@dataclass(frozen=True)
class HuberSvm(MarginLoss):
    r"""0 for margins m > 1 + h, (1 + h - m)^2 / (4h) for \|m - 1\| <= h and 1 - m below, h the width.

    At most h/4 above the hinge max(0, 1 - m), and nowhere below it. Slopes in m are in [-1, 0], the curvature
    is 1/(2h) on an interval of length 2h and 0 elsewhere: ``mechanisms/objective_perturbation.md`` uses
    nothing else. Where
    few rows have margins in that interval the minimiser without a ridge need not be unique, as for any
    support vector machine.

    Parameters
    ----------
    width : float
        h, at least 0.5, in units of the margin.

    References
    ----------
    Chapelle (2007), "Training a support vector machine in the primal", Neural Computation 19(5);
    Chaudhuri, Monteleoni and Sarwate (2011), "Differentially private empirical risk minimization", JMLR 12,
    section 3.4.2.

    Examples
    --------
    >>> import numpy as np
    >>> eta, y = np.array([0.0, 1.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 0.0])
    >>> HuberSvm().loss(eta, y)
    array([1.   , 0.125, 0.   , 3.   ])
    >>> HuberSvm().slope(eta, y)
    array([-1. , -0.5, -0. ,  1. ])
    """

    name: ClassVar[str] = "huber_svm"
    least_width: ClassVar[float] = 0.5

    @property
    def curvature_max(self) -> float:
        """1 / (2h)."""
        return 1.0 / (2.0 * self.width)

    def _loss(self, short: FloatVector) -> FloatVector:
        share = self._share(short)
        return self.width * share * share + np.maximum(short - self.width, 0.0)

    def _share(self, short: FloatVector) -> FloatVector:
        return np.minimum(np.maximum((short + self.width) / (2.0 * self.width), 0.0), 1.0)

    def _curvature(self, short: FloatVector) -> FloatVector:
        return np.where(np.abs(short) <= self.width, self.curvature_max, 0.0)
