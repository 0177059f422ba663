r"""Lower bounds on a privacy loss from draws on two neighbouring tables.

An event S, fixed before the draws that count it, has probability p on one table and q on the other. A
release that is (epsilon, delta)-DP keeps :math:`p \le e^\epsilon q + delta` for every S. With p at least
``low`` and q at most ``high``, both by Clopper and Pearson, any claim that does not allow (high, low) is
refuted, wrongly with at most the probability that one of these bounds fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatMatrix, FloatVector

Statistic = Callable[[FloatMatrix], FloatVector]

# Thresholds tried for each statistic: as many quantiles of its values on both tables, tails included.
_QUANTILES = np.concatenate([np.geomspace(5e-4, 0.02, 10), np.linspace(0.03, 0.97, 60)])
_THRESHOLDS = np.concatenate([_QUANTILES, 1.0 - _QUANTILES[:10]])
# Events counted in the end: the best one for the verdict, for epsilon and for delta.
EVENTS = 3


@dataclass(frozen=True)
class Event:
    """Outputs whose statistic is above ``line`` (``side`` 1), or below it (-1).

    Side 1 compares the first table with the second, side -1 the second with the first.
    """

    statistic: str
    line: float
    side: int


Choice = list[tuple[float, Event]]


@dataclass(frozen=True)
class Bound:
    """What draws showed of one claim.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at the claimed delta, >= 0.
    delta : float
        Lower bound on delta at the claimed epsilon, >= 0.
    margin : float
        By how much the least probability found on one table exceeds what the claim allows; above 0 the claim
        is refuted.
    """

    epsilon: float
    delta: float
    margin: float

    @property
    def refuted(self) -> bool:
        """Whether the claim does not allow what was seen."""
        return self.margin > 0.0


def clopper_pearson(count: int, trials: int, failure: float) -> tuple[float, float]:
    """Bounds on a probability, each wrong with probability at most ``failure``.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 1000, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.003)
    """
    low = float(betaincinv(count, trials - count + 1, failure)) if count else 0.0
    high = float(betaincinv(count + 1, trials - count, 1.0 - failure)) if count < trials else 1.0
    return low, high


def chosen_events(
    statistics: Mapping[str, Statistic],
    first: FloatMatrix,
    second: FloatMatrix,
    claim: Guarantee,
    failure: float,
    trials: int,
    caution: float = 1.0,
) -> Choice:
    """The events that promise most on draws that are not counted later, and how much they promise.

    Parameters
    ----------
    statistics : mapping of str to callable
        Fixed before these draws.
    first, second : ndarray, shape (k, m)
        Outputs on the two tables.
    claim : Guarantee
    failure : float
        Of each bound in the end.
    trials : int
        Number of draws that will be counted.
    caution : float
        More than 1 for statistics that are looked at because draws spoke for them.

    Returns
    -------
    Choice
        For the verdict, for epsilon and for delta: what to expect, and the event.
    """
    # As uncertain as the counts to come will be: rare events that looked well by chance are not preferred.
    size = len(first)
    level = min(float(ndtr(ndtri(failure) * caution * math.sqrt(size / trials))), 0.4)
    best: list[tuple[float, Event]] = []
    for name, statistic in statistics.items():
        one, other = statistic(first), statistic(second)
        both = np.concatenate([one, other])
        if not np.isfinite(both).all():
            continue
        for line in np.unique(np.quantile(both, _THRESHOLDS)):
            for side in (1, -1):
                event = Event(name, float(line), side)
                p, q = shares(event, one, other)
                found = _bound(round(p * size), round(q * size), size, claim, level)
                epsilon = found.epsilon if found.epsilon > 0.0 else found.delta - 1.0
                values = [(value, event) for value in (found.margin, epsilon, found.delta)]
                best = better(best, values)
    return best


def better(one: Choice, other: Choice) -> Choice:
    """The better event for each purpose."""
    if not one or not other:
        return one or other
    return [max(pair, key=lambda choice: choice[0]) for pair in zip(one, other, strict=True)]


def counted(
    events: Sequence[Event],
    statistics: Mapping[str, Statistic],
    first: FloatMatrix,
    second: FloatMatrix,
    claim: Guarantee,
    failure: float,
) -> Bound:
    """Bounds from fresh draws; all hold together but for a probability of at most ``failure``."""
    each = failure / (2 * EVENTS)
    trials = len(first)
    epsilon, delta, margin = 0.0, 0.0, -math.inf
    for event in events:
        p, q = shares(event, statistics[event.statistic](first), statistics[event.statistic](second))
        found = _bound(round(p * trials), round(q * trials), trials, claim, each)
        epsilon, delta = max(epsilon, found.epsilon), max(delta, found.delta)
        margin = max(margin, found.margin)
    return Bound(epsilon, delta, margin)


def shares(event: Event, first: FloatVector, second: FloatVector) -> tuple[float, float]:
    """How often the event happens on the table it is meant for, and on the other."""
    if event.side == 1:
        return float(np.mean(first > event.line)), float(np.mean(second > event.line))
    return float(np.mean(second < event.line)), float(np.mean(first < event.line))


def _bound(often: int, seldom: int, trials: int, claim: Guarantee, failure: float) -> Bound:
    """What counts of one event, fixed beforehand, say of a claim."""
    low = clopper_pearson(often, trials, failure)[0]
    high = clopper_pearson(seldom, trials, failure)[1]
    excess = low - claim.delta
    epsilon = math.log(excess / high) if excess > 0.0 else 0.0
    delta = low - math.exp(min(claim.epsilon, 700.0)) * high
    return Bound(max(epsilon, 0.0), max(delta, 0.0), low - claim.true_positive_rate(high))
