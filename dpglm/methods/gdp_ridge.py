"""Gaussian differential privacy at every epsilon: the ridge and the noise of a minimiser that composes."""

from __future__ import annotations

from dpglm.methods.perturbed_objective import RESIDUAL_SHARE
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate

# More noise than the Gaussian mechanism's, as a share, that a smaller ridge is worth.
WORTH = 1.03


def gdp_ridge(target: Target, ridge: float | None = None, *, times: int = 1) -> tuple[float, Calibration]:
    """The ridge, sum units, and the noise of each of ``times`` minimisers that are mu-GDP together.

    Without ``ridge`` the least of half of, once and twice the squared scale whose noise is within 3 % of the
    Gaussian mechanism's; at twice it is that mechanism's (Theorem A2).

    Raises
    ------
    MethodError
        If no noise is enough at so small a ridge.

    Examples
    --------
    >>> ridge, scales = gdp_ridge(Target("replace-one", mu=0.2))
    >>> round(ridge, 1), round(scales.score_scale, 2)
    (50.5, 10.32)
    """
    if ridge is not None:
        return ridge, _at(target, ridge, times)
    gaussian = calibrate(Minimisers(None, residual_share=RESIDUAL_SHARE, times=times), target)
    for factor in (0.5, 1.0):
        ridge = factor * gaussian.score_scale**2
        scales = _at(target, ridge, times)
        if scales.score_scale <= WORTH * gaussian.score_scale:
            return ridge, scales
    return gaussian.least_ridge, gaussian


def _at(target: Target, ridge: float, times: int) -> Calibration:
    return calibrate(
        Minimisers(lambda scale: 1.0 / ridge, residual_share=RESIDUAL_SHARE, times=times), target
    )
