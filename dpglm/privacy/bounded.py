r"""A perturbed minimiser of losses with bounded slopes: Theorem C, and the least noise it allows.

.. math:: w^* = \arg\min_w \sum_i \phi_i(w \cdot x_i) + b \cdot w + r(w), \qquad \|x_i\| \le 1,

with Gaussian ``b``. Each :math:`\phi_i` is convex with slopes in an interval of length 1 that holds 0, one
for each row, and curvature in [0, 1]; nothing ties the two together, as for counts, whose slope and curvature
are largest at once. With :math:`\mu = 1/scale`, Q the supremum of :math:`x'P^{-1}x` over rows, P the ridge,
and :math:`J = \log(1 + Q)`, the profile in both directions is, at every real epsilon, at most

* :math:`G(\epsilon - J; \mu)` for a row added or removed,
* :math:`e^J G(\epsilon - J; 2\mu)` for a row replaced,

G the Gaussian profile; beside Gaussian releases of total mu nu the same with nu added to mu (or 2 mu) in
squares. Noise of density exp(-rate |b|) gives pure epsilon-DP with ``rate + J``, or ``2 rate + J``. Proof:
``mechanisms/objective_perturbation.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpglm.privacy.accounting import SAFETY, gdp_delta, gdp_mu
from dpglm.privacy.budget import Relation
from dpglm.privacy.calibration import MOST_NOISE
from dpglm.privacy.pair import (
    PairCalibration,
    PurePairCalibration,
    check_shares,
    largest_mu,
    no_useful_noise,
    stages_of,
)
from dpglm.privacy.search import last_kept
from dpglm.privacy.theorems import steps_of

THEOREM = "Theorem C"


def bounded_shift(max_leverage: float) -> float:
    """J, the log of the largest Jacobian factor of one row.

    Examples
    --------
    >>> round(bounded_shift(0.1), 4)
    0.0953
    """
    return math.log1p(max_leverage)


def bounded_delta(epsilon: float, mu: float, max_leverage: float, steps: int, beside: float) -> float:
    """A bound on delta at ``epsilon`` for such a minimiser and Gaussian releases after it.

    Parameters
    ----------
    epsilon : float
        Any real number.
    mu : float
        Largest row norm over the scale of the noise, > 0.
    reach : float
        Supremum of x' P^-1 x over the rows, P the ridge, > 0.
    steps : int
        1 where a row is added or removed, 2 where one is replaced.
    beside : float
        Root of the sum of the squared mu of the Gaussian releases, each for the same relation, >= 0.

    Examples
    --------
    >>> round(bounded_delta(1.0, 0.2, 0.05, 1, 0.2), 8), round(gdp_delta(1.0, math.hypot(0.2, 0.2)), 8)
    (4.51e-05, 2.345e-05)
    """
    shift = bounded_shift(max_leverage)
    factor = 1.0 + max_leverage if steps == 2 else 1.0
    return min(1.0, factor * gdp_delta(epsilon - shift, math.hypot(steps * mu, beside)))


def calibrate_bounded(
    epsilon: float,
    delta: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> PairCalibration:
    """The least Gaussian noise for a minimiser, and its curvature, (epsilon, delta)-DP together.

    Parameters
    ----------
    epsilon, delta : float
        For all of it.
    max_leverage_of : callable
        ``score_scale -> sup of x' P^-1 x`` for the ridge P that goes with this noise, from public numbers;
        must not increase.
    relation : {"replace-one", "add-remove"}
    information_sensitivity : float
        ``Information.sensitivity(relation)``.
    share : float
        Part of mu squared that the curvature gets, of what the blur leaves; 0 for a minimiser alone, whose
        ``information_scale`` is infinite.
    residual_share : float
        Part of mu squared for the solver's residual.

    Raises
    ------
    MethodError
        If the ridge is too small for so small an epsilon, or a number is out of range.

    Examples
    --------
    >>> found = calibrate_bounded(
    ...     1.0, 1e-6, max_leverage_of=lambda scale: 0.05, relation="replace-one",
    information_sensitivity=2**0.5
    ... )
    >>> round(found.score_scale, 2), round(found.information_scale, 2)  # Gaussian: 12.01, 8.49
    (12.61, 8.92)
    """
    steps = steps_of(relation, epsilon=epsilon, information_sensitivity=information_sensitivity)
    check_shares(share, residual_share, alone=True)

    def price(mu: float) -> float:
        score, *others = stages_of(mu, share, residual_share)
        max_leverage = max_leverage_of(steps / score)
        return bounded_delta(epsilon, score / steps, max_leverage, steps, math.hypot(*others))

    mu = largest_mu(price, delta, gdp_mu(epsilon, delta), epsilon)
    score, curvature, blur = stages_of(mu, share, residual_share)
    return PairCalibration(
        score_scale=steps / score,
        information_scale=information_sensitivity / curvature if share else math.inf,
        residual_mu=blur,
        theorem=THEOREM,
        max_leverage=max_leverage_of(steps / score),
    )


def calibrate_bounded_pure(
    epsilon: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> PurePairCalibration:
    """Noise of density exp(-norm / scale) for a minimiser, and its curvature, epsilon-DP together.

    Parameters
    ----------
    epsilon : float
    max_leverage_of, relation, information_sensitivity, share, residual_share
        As in `calibrate_bounded`; shares of epsilon.

    Examples
    --------
    >>> found = calibrate_bounded_pure(
    ...     1.0, max_leverage_of=lambda scale: 0.05, relation="replace-one", information_sensitivity=2**0.5
    ... )
    >>> round(1 / found.score_scale, 4)  # a quarter but for the blur and J
    0.2231
    """
    steps = steps_of(relation, epsilon=epsilon, information_sensitivity=information_sensitivity)
    check_shares(share, residual_share, alone=True)
    left = epsilon * (1.0 - residual_share) * (1.0 - SAFETY)

    def excess(rate: float) -> float:
        return steps * rate + bounded_shift(max_leverage_of(1.0 / rate)) - left * (1.0 - share)

    high = left * (1.0 - share) / steps
    low = 0.5 * high
    while excess(low) > 0.0:
        low *= 0.5
        if low < high / MOST_NOISE:
            raise no_useful_noise(epsilon)
    rate = last_kept(excess, low, high, close=1e-9)
    scale = information_sensitivity / (left * share) if share else math.inf
    return PurePairCalibration(1.0 / rate, scale, epsilon * residual_share, 1.0, THEOREM)
