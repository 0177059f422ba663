"""Gaussian responses with the identity link: linear regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.families.base import Family, families
from dpglm.typing import FloatVector


@families.register("gaussian", "normal", "linear")
@dataclass(frozen=True)
class Gaussian(Family):
    """A numeric response with mean ``eta`` and one variance for all rows.

    The loss is half the squared residual. Its slope has no bound, so no perturbed objective takes it; its
    minimiser needs second moments only, which are bounded for bounded rows and responses.

    Examples
    --------
    >>> Gaussian().slope(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    array([ 0.5, -0.5])
    """

    name: ClassVar[str] = "gaussian"
    link: ClassVar[str] = "identity"
    slope_max: ClassVar[float | None] = None
    curvature_max: ClassVar[float | None] = 1.0
    fixed_dispersion: ClassVar[bool] = False
    third_derivative_bound: ClassVar[float] = 0.0

    def loss(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return 0.5 * (eta - y) ** 2

    def slope(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return eta - y

    def curvature(self, eta: FloatVector, y: FloatVector) -> FloatVector:
        return np.ones_like(eta)

    def mean(self, eta: FloatVector) -> FloatVector:
        return np.asarray(eta, dtype=np.float64)
