"""One bound: some draws choose tables, statistic and events, the others are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from dpglm.auditing.draws import Act
from dpglm.auditing.neighbours import Neighbours
from dpglm.auditing.statistics import Statistic, along, digits, flat, learned, log_ratio
from dpglm.mechanisms.noise import NoiseSource
from dpglm.privacy.guarantee import Guarantee
from dpglm.threads import ONE_THREAD_EACH
from dpglm.typing import FloatMatrix, FloatVector

# Fewest draws on each table for each pair of tables: below it nothing can be learned.
LEAST = 20
# How much surer than of a known statistic the draws have to be of a learned one.
_CAUTION = 1.3


@dataclass(frozen=True)
class Found:
    """A bound and where it comes from: the pair of tables and the statistics of its events."""

    bound: Bound
    tables: str
    statistics: tuple[str, ...]


@ONE_THREAD_EACH
def bounded(
    act: Act,
    pairs: Sequence[Neighbours],
    claim: Guarantee,
    noise: NoiseSource,
    *,
    trials: int,
    failure: float,
    known: Mapping[str, Statistic] = MappingProxyType({}),
    step: Callable[[], None] = lambda: None,
) -> Found:
    """Draw, choose, draw again and count; wrong with probability at most ``failure``.

    Of the ``trials`` draws on each table of a pair half, split evenly over the pairs, choose the pair that
    promises most. For a single pair a quarter chooses statistic and events. ``known`` holds further
    statistics of all outputs side by side, chosen without any draw; ``step`` is called at each draw.
    """
    each = max(trials // 4 if len(pairs) == 1 else trials // (2 * len(pairs)), LEAST)
    each = min(each, trials // (len(pairs) + 1))  # some are left
    fresh = trials - each * len(pairs)
    best = None
    for pair in pairs:
        fit = each // 2
        outputs = [act.draw(table, noise, each, pair, step) for table in (pair.first, pair.second)]
        first, second = (np.concatenate(answers, axis=1) for answers in outputs)
        sizes = [answers.shape[1] for answers in outputs[0]]
        given = {**known, **known_statistics(act, pair, first, sizes)}
        with np.errstate(all="ignore"):
            trained = learned(first[:fit], second[:fit]) | digits(first[:fit], second[:fit])
        level = failure / (2 * EVENTS)
        choice = better(
            chosen_events(given, first, second, claim, level, fresh),
            chosen_events(trained, first[fit:], second[fit:], claim, level, fresh, _CAUTION),
        )
        promise = choice[0][0] if choice else -math.inf
        if best is None or promise > best[0]:
            events = tuple(dict.fromkeys(event for _, event in choice))
            best = promise, pair, {**trained, **given}, events
    assert best is not None, "at least one pair of tables"
    _, pair, statistics, events = best
    first, second = (
        np.concatenate(act.draw(table, noise, fresh, pair, step), axis=1)
        for table in (pair.first, pair.second)
    )
    bound = counted(events, statistics, first, second, claim, failure)
    return Found(bound, pair.label, tuple(dict.fromkeys(event.statistic for event in events)))


def known_statistics(
    act: Act, pair: Neighbours, outputs: FloatMatrix, sizes: Sequence[int]
) -> dict[str, Statistic]:
    """Statistics of all outputs side by side that no draw has chosen."""
    statistics: dict[str, Statistic] = {}
    if pair.direction is not None:
        statistics["direction"] = along(pair.direction)
        if len(sizes) > 1 and set(sizes[: len(act.releases)]) == {len(pair.direction)}:
            statistics["direction, summed"] = along(np.tile(pair.direction, len(act.releases)))
    if len(sizes) > len(act.releases) > 1:  # the draws of a whole plan end in it
        statistics["likelihood ratio"] = lambda z: flat(z[:, -1])
        return statistics
    edges = np.cumsum(sizes)[:-1]

    def ratio(z: FloatMatrix) -> FloatVector:
        with np.errstate(all="ignore"):
            known = log_ratio(act.releases, np.split(z, edges, axis=1), pair.first, pair.second, pair.at)
        assert known is not None, "tried on one output"
        return flat(known)

    split = np.split(outputs[:1], edges, axis=1)
    if act.releases and log_ratio(act.releases, split, pair.first, pair.second, pair.at) is not None:
        statistics["likelihood ratio"] = ratio
    return statistics


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
    """What draws showed of one claim."""

    epsilon: float  # lower bound at the claimed delta, >= 0
    delta: float  # lower bound at the claimed epsilon, >= 0
    # By how much the least probability found on one table exceeds what the claim allows.
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

    Statistics are fixed before these draws, outputs on the two tables of shape (k, m). ``failure`` is that of
    each bound in the end, ``trials`` the number of draws that will be counted. ``caution`` is more than 1 for
    statistics that are looked at because draws spoke for them. Given are what to expect, and the event, for
    the verdict, for epsilon and for delta.
    """
    # As uncertain as the counts to come will be: rare events that looked well by chance are not preferred.
    size = len(first)
    level = min(float(ndtr(ndtri(failure) * caution * math.sqrt(size / trials))), 0.4)
    bound_of = cache(partial(_bound, trials=size, claim=claim, failure=level))  # few counts are possible
    best: list[tuple[float, Event]] = []
    for name, statistic in statistics.items():
        first_values, second_values = statistic(first), statistic(second)
        both = np.concatenate([first_values, second_values])
        if not np.isfinite(both).all():
            continue
        for line in np.unique(np.quantile(both, _THRESHOLDS)):
            for side in (1, -1):
                event = Event(name, float(line), side)
                bound = bound_of(*times(event, first_values, second_values))
                epsilon = bound.epsilon if bound.epsilon > 0.0 else bound.delta - 1.0
                values = [(value, event) for value in (bound.margin, epsilon, bound.delta)]
                best = better(best, values)
    return best


def better(best: Choice, other: Choice) -> Choice:
    """The better event for each purpose."""
    if not best or not other:
        return best or other
    return [max(pair, key=lambda choice: choice[0]) for pair in zip(best, other, strict=True)]


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
        statistic = statistics[event.statistic]
        bound = _bound(*times(event, statistic(first), statistic(second)), trials, claim, each)
        epsilon, delta = max(epsilon, bound.epsilon), max(delta, bound.delta)
        margin = max(margin, bound.margin)
    return Bound(epsilon, delta, margin)


def times(event: Event, first: FloatVector, second: FloatVector) -> tuple[int, int]:
    """How many times the event happens on the table it is meant for, and on the other."""
    if event.side == 1:
        return int(np.count_nonzero(first > event.line)), int(np.count_nonzero(second > event.line))
    return int(np.count_nonzero(second < event.line)), int(np.count_nonzero(first < event.line))


def _bound(often: int, seldom: int, trials: int, claim: Guarantee, failure: float) -> Bound:
    """What counts of one event, fixed beforehand, say of a claim."""
    low = clopper_pearson(often, trials, failure)[0]
    high = clopper_pearson(seldom, trials, failure)[1]
    excess = low - claim.delta
    epsilon = math.log(excess / high) if excess > 0.0 else 0.0
    delta = low - math.exp(min(claim.epsilon, 700.0)) * high
    return Bound(max(epsilon, 0.0), max(delta, 0.0), low - claim.true_positive_rate(high))
