"""The least noise for two releases on one budget: a perturbed minimiser and the curvature at its answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpglm.errors import MethodError
from dpglm.privacy.accounting import SAFETY, gdp_mu
from dpglm.privacy.budget import Relation
from dpglm.privacy.calibration import MOST_NOISE
from dpglm.privacy.search import last_kept, log_ratio
from dpglm.privacy.staged import staged_delta
from dpglm.privacy.theorems import steps_of

# How close the noise is to the least one, relative; what is left is on the safe side.
_CLOSE = 1e-6


@dataclass(frozen=True)
class PairCalibration:
    """Noise of a perturbed minimiser, of the curvature after it and of the solver's residual.

    Parameters
    ----------
    score_scale : float
        Standard deviation of each coordinate of the tilt.
    information_scale : float
        Standard deviation of the diagonal of the curvature's noise.
    residual_mu : float
        What the solver's residual may cost: the blur's scale is ``2 * tolerance / least ridge /
        residual_mu``.
    theorem : str
        The one that the claim leans on.
    reach : float
        x' P^-1 x at most, at this noise; the release must be given a ridge of no larger reach.
    least_ridge : float
        The claim holds for ridges of at least this only; 0 where the reach alone decides.
    """

    score_scale: float
    information_scale: float
    residual_mu: float
    theorem: str
    max_leverage: float
    least_ridge: float = 0.0


@dataclass(frozen=True)
class PurePairCalibration:
    """Scales 1 / rate of noise with density exp(-rate * norm), for the same three.

    Parameters
    ----------
    score_scale, information_scale : float
    residual_epsilon : float
        What the solver's residual may cost: the blur's scale is
        ``2 * tolerance / least ridge / residual_epsilon``.
    ridge_factor : float
        At least 1; every ridge is to be multiplied by it, for the Jacobian to cost nothing (Theorem A1).
    theorem : str
    """

    score_scale: float
    information_scale: float
    residual_epsilon: float
    ridge_factor: float
    theorem: str = "Theorem A1"


def calibrate_pair(
    epsilon: float,
    delta: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
    uniform: bool = False,
) -> PairCalibration:
    """The least Gaussian noise for a minimiser and its curvature, (epsilon, delta)-DP together.

    Parameters
    ----------
    epsilon, delta : float
        For all of it.
    max_leverage_of : callable
        ``score_scale -> sup of x' P^-1 x`` for the ridge P that goes with this noise; from public numbers.
        Should not increase.
    relation : {"replace-one", "add-remove"}
    information_sensitivity : float
        ``Information.sensitivity(relation)``.
    share : float
        Part of mu squared that the curvature gets, of what the blur leaves.
    residual_share : float
        Part of mu squared for the solver's residual.
    uniform : bool
        Whether the ridge is one number for all coordinates (and the reach its inverse).

    Raises
    ------
    MethodError
        If no noise is enough at so small a ridge, or a number is out of range.

    Examples
    --------
    >>> found = calibrate_pair(
    ...     1.0, 1e-6, max_leverage_of=lambda scale: 0.4, relation="add-remove", information_sensitivity=0.25
    ... )
    >>> round(found.score_scale, 2), round(found.information_scale, 2), found.theorem  # Gaussian: 6.00, 1.50
    (6.01, 1.5, 'Theorem B')
    """
    steps = steps_of(relation, epsilon=epsilon, information_sensitivity=information_sensitivity)
    check_shares(share, residual_share)

    def price(mu: float) -> float:
        score, *others = stages_of(mu, share, residual_share)
        max_leverage = max_leverage_of(steps / score)
        return staged_delta(epsilon, score / steps, max_leverage, steps, math.hypot(*others), uniform=uniform)

    ideal = gdp_mu(epsilon, delta)
    mu = largest_mu(price, delta, ideal, epsilon)
    score, curvature, blur = stages_of(mu, share, residual_share)
    max_leverage = max_leverage_of(steps / score)
    total = math.hypot(score, curvature, blur)
    shifted = gdp_mu(max(epsilon - math.log1p(max_leverage / 4.0), 0.0), delta)
    return PairCalibration(
        score_scale=steps / score,
        information_scale=information_sensitivity / curvature,
        residual_mu=blur,
        theorem="Theorem A2'" if total <= shifted else "Theorem B",
        max_leverage=max_leverage,
    )


def calibrate_pair_gdp(
    mu: float,
    *,
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> PairCalibration:
    """The least Gaussian noise for a minimiser and its curvature, mu-GDP together: Theorem A2.

    Needs a ridge of at least `PairCalibration.least_ridge` in every coordinate, ``2 score_scale**2``.

    Examples
    --------
    >>> found = calibrate_pair_gdp(0.25, relation="add-remove", information_sensitivity=0.25)
    >>> round(found.score_scale, 3), round(found.least_ridge, 2)
    (5.685, 64.65)
    """
    steps = steps_of(relation, mu=mu, information_sensitivity=information_sensitivity)
    check_shares(share, residual_share)
    score, curvature, blur = stages_of(mu * (1.0 - SAFETY), share, residual_share)
    scale = steps / score
    least = 2.0 * scale**2 * (1.0 + SAFETY)
    return PairCalibration(
        scale, information_sensitivity / curvature, blur, "Theorem A2", 1.0 / least, least_ridge=least
    )


def calibrate_pair_pure(
    epsilon: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> PurePairCalibration:
    """Noise of density exp(-norm / scale) for a minimiser and its curvature, epsilon-DP together: Theorem A1.

    Parameters
    ----------
    epsilon : float
    max_leverage_of : callable
        ``score_scale -> sup of x' P^-1 x`` for the ridge P that goes with this scale, before it is multiplied
        by ``ridge_factor``.
    relation, information_sensitivity, share, residual_share
        As in `calibrate_pair`; shares of epsilon.

    Examples
    --------
    >>> calibrate_pair_pure(
    ...     1.0, max_leverage_of=lambda scale: 0.99, relation="add-remove", information_sensitivity=0.25
    ... ).ridge_factor.__round__(6)
    2.0
    """
    steps = steps_of(relation, epsilon=epsilon, information_sensitivity=information_sensitivity)
    check_shares(share, residual_share)
    blur = epsilon * residual_share
    left = epsilon * (1.0 - residual_share) * (1.0 - SAFETY)
    rate = left * (1.0 - share) / steps
    factor = max(1.0, max_leverage_of(1.0 / rate) / rate * (1.0 + SAFETY))
    return PurePairCalibration(1.0 / rate, information_sensitivity / (left * share), blur, factor)


def stages_of(mu: float, share: float, residual_share: float) -> tuple[float, float, float]:
    """mu of the tilt, the curvature and the blur out of a total of ``mu``."""
    left = mu * math.sqrt(1.0 - residual_share)
    return left * math.sqrt(1.0 - share), left * math.sqrt(share), mu * math.sqrt(residual_share)


def largest_mu(price: Callable[[float], float], delta: float, ideal: float, epsilon: float) -> float:
    """The largest mu up to ``ideal`` whose price is below delta, to a millionth and never above."""
    low = 0.9 * ideal
    while price(low) > delta:
        low *= 0.7
        if low < ideal / MOST_NOISE:
            raise no_useful_noise(epsilon)
    mu = last_kept(lambda mu: log_ratio(price(mu), delta), low, ideal, close=_CLOSE)
    return mu * (1.0 - SAFETY)


def no_useful_noise(epsilon: float) -> MethodError:
    """Refuse a ridge at which no noise that is good for anything keeps the claim."""
    return MethodError(
        f"a ridge too small for epsilon={epsilon:g}: at no useful noise is the claim kept",
        expected="a ridge that bounds how far one row can move the minimiser",
        remedy="Use a larger ridge, or leave ridge out.",
    )


def check_shares(share: float, residual_share: float, *, alone: bool = False) -> None:
    """Refuse shares that leave a stage nothing; ``alone`` allows none for the curvature."""
    if not ((0.0 < share < 1.0 or (alone and share == 0.0)) and 0.0 < residual_share < 1.0):
        raise MethodError(
            f"share={share!r}, residual_share={residual_share!r}",
            expected="numbers between 0 and 1" + (", share 0 for a minimiser by itself" if alone else ""),
            remedy="Leave them out.",
        )
