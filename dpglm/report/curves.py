"""The numbers behind the figures: trade-off curve, privacy profile, spend. Public quantities only."""

from __future__ import annotations

import math
from typing import TypeAlias

from dpglm.postprocessing.spending import LedgerState
from dpglm.privacy.accounting import gdp_delta
from dpglm.privacy.guarantee import Guarantee

Points: TypeAlias = tuple[tuple[float, float], ...]

FALSE_ALARMS = (0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
PROFILE_POINTS = 25


def trade_off(guarantee: Guarantee) -> Points:
    """Type I errors and the least type II error that goes with each, for a reader who tells neighbours apart.

    Parameters
    ----------
    guarantee : Guarantee
        A private one.

    Returns
    -------
    tuple of (type I, type II)
        From (0, 1 - delta) to (1, 0). The corner of the (epsilon, delta) curve is among the points.
    """
    corner = (1.0 - guarantee.delta) / (1.0 + math.exp(min(guarantee.epsilon, 700.0)))
    rates = sorted({*FALSE_ALARMS, corner})
    return tuple((rate, max(0.0, 1.0 - guarantee.true_positive_rate(rate))) for rate in rates)


def privacy_profile(guarantee: Guarantee) -> Points:
    """Points (epsilon, delta) that the guarantee implies, all at once, by growing epsilon.

    At each epsilon the least of: the Gaussian profile where there is a mu, and what each promised pair
    implies, which at smaller epsilons is randomised response that fails with chance delta.
    """
    known = [(guarantee.epsilon, guarantee.delta), *guarantee.curve]
    profile = []
    for at in _grid(guarantee):
        deltas = [delta + (1.0 - delta) * _response(at, epsilon) for epsilon, delta in known]
        if guarantee.mu is not None:
            deltas.append(gdp_delta(at, guarantee.mu))
        profile.append((at, min(deltas)))
    return tuple(profile)


def cumulative(ledger: LedgerState) -> tuple[str, tuple[float, ...]]:
    """What was spent after each entry of a ledger, and the name of the measure.

    Epsilons add up in a ledger of epsilon. In a ledger of Gaussian DP they do not, the squares of mu do;
    the measure is then ``"mu"``.
    """
    charged = [entry for entry in ledger.entries if entry.status == "charged"]
    total = sum(float(entry.epsilon) for entry in charged)
    additive = math.isclose(total, ledger.spent_epsilon, rel_tol=1e-6, abs_tol=1e-12)
    if additive or any(entry.mu is None for entry in charged):
        return "epsilon", _running(ledger, power=1, key="epsilon")
    return "mu", _running(ledger, power=2, key="mu")


def _running(ledger: LedgerState, *, power: int, key: str) -> tuple[float, ...]:
    spent, total = [], 0.0
    for entry in ledger.entries:
        if entry.status == "charged":
            cost = float(getattr(entry, key) or 0.0)
            total = math.hypot(total, cost) if power == 2 else total + cost
        spent.append(total)
    return tuple(spent)


def _response(epsilon: float, limit: float) -> float:
    """Delta at ``epsilon`` of randomised response with parameter ``limit``."""
    if epsilon >= limit:
        return 0.0
    # Divided by exp(limit): both exponentials stay finite for any limit.
    return -math.expm1(epsilon - limit) / (1.0 + math.exp(-limit))


def _grid(guarantee: Guarantee) -> list[float]:
    """Zero, the declared epsilon, and where the curve has points; without one, even steps."""
    ends = {0.0, guarantee.epsilon}
    if guarantee.curve:
        # Between the points of a curve less is known than at them, and the drawing would have teeth.
        found = sorted({epsilon for epsilon, _ in guarantee.curve})
        return sorted(ends | set(found[:: 1 + len(found) // (2 * PROFILE_POINTS)]))
    top = guarantee.epsilon if guarantee.mu is None else 1.5 * guarantee.epsilon
    return sorted(ends | {top * k / (PROFILE_POINTS - 1) for k in range(PROFILE_POINTS)})
