"""A ridge and Gaussian noise whose release composes: Gaussian differential privacy at every epsilon."""

from __future__ import annotations

import math

from dpglm.privacy.budget import Relation
from dpglm.privacy.calibration import Calibration
from tests.calibrated import gaussian_scale_gdp

# More noise than the Gaussian mechanism's, as a share, that a smaller ridge is worth.
WORTH = 1.03


def composable(mu: float, relation: Relation, ridge: float | None = None) -> tuple[float, Calibration]:
    """The ridge, sum units, and the noise of a perturbed minimiser that is mu-GDP (Theorem A2).

    Without ``ridge`` the least of half of, once and twice the squared scale whose noise is within 3 % of the
    Gaussian mechanism's; at twice it is that mechanism's.

    Raises
    ------
    MethodError
        If no noise is enough at so small a ridge.

    Examples
    --------
    >>> ridge, found = composable(0.2, "replace-one")
    >>> round(ridge, 1), round(found.scale, 2)
    (50.0, 10.27)
    """
    if ridge is not None:
        return ridge, gaussian_scale_gdp(mu, ridge, relation=relation)
    ideal = gaussian_scale_gdp(mu, math.inf, relation=relation).scale
    for factor in (0.5, 1.0):
        found = gaussian_scale_gdp(mu, factor * ideal**2, relation=relation)
        if found.scale <= WORTH * ideal:
            return factor * ideal**2, found
    ridge = 2.0 * ideal**2 * (1.0 + 1e-6)
    return ridge, gaussian_scale_gdp(mu, ridge, relation=relation)
