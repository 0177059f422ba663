"""What many Gaussian releases on fresh random samples of the rows cost together, and the noise they need.

Losses of single releases are in ``sampled_loss.py``; they hold at all epsilons at once, so they add up,
adaptively too (``loss_sum.py``). Nothing here is an approximation but on the safe side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np

from dpglm.privacy.accounting import SAFETY, gdp_delta, gdp_epsilon, gdp_mu
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SampledGaussianEvent,
    Sampling,
    gaussian_mu,
    require,
)
from dpglm.privacy.loss_sum import LossSum, Tail
from dpglm.privacy.sampled_loss import loss_of
from dpglm.privacy.search import last_kept, log_ratio
from dpglm.typing import FloatVector

Counted: TypeAlias = tuple[tuple[Event, int], ...]
# A larger mu is accounted as if all rows were read.
_MOST_MU = 20.0
# Far more than profiles and sums are off, relative.
_MARGIN = 1e-6
# A calibration looks no closer: far less than noise is overstated anyway.
_CLOSE = 1e-5
# Where a curve of delta is sharp.
_AROUND = (1e-2, 1e-8, 1e-18)


def sampled_epsilon(events: Sequence[Event], delta: float) -> float:
    """An epsilon at which sampled Gaussian, Gaussian and point events together are (epsilon, ``delta``)-DP.

    Equal events are counted: thousands of them cost no more time than one.

    Parameters
    ----------
    events : sequence of SampledGaussianEvent, GaussianEvent, PureEvent or ApproximateEvent
    delta : float
        In [0, 1). At 0 the answer is ``inf``.

    Raises
    ------
    PrivacyError
        Another kind of event, or events of both relations.

    Examples
    --------
    >>> event = SampledGaussianEvent(0.25, 0.01, "poisson", "add-remove")
    >>> round(sampled_epsilon([event] * 1000, 1e-6), 3)
    0.319
    """
    key = _counted(events)
    if not key:
        return 0.0
    return _epsilon(key, delta) if delta > 0.0 else math.inf


def sampled_profile(events: Sequence[Event], epsilons: Sequence[float]) -> FloatVector:
    """Bounds on delta at epsilons >= 0, shape (k,), valid all at once; events as in `sampled_epsilon`.

    Examples
    --------
    >>> event = SampledGaussianEvent(0.25, 0.01, "poisson", "add-remove")
    >>> round(float(sampled_profile([event] * 1000, [0.3])[0]), 7)
    2.6e-06
    """
    key = _counted(events)
    return _deltas(key, tuple(epsilons), _AROUND) if key else np.zeros(len(epsilons))


def sampled_scale(
    epsilon: float,
    delta: float,
    *,
    rate: float,
    steps: int,
    sampling: Sampling,
    relation: Relation,
    sensitivity: float = 1.0,
) -> float:
    """The least standard deviation of noise for ``steps`` sums over random samples, rounded up.

    Parameters
    ----------
    epsilon, delta : float
        What all of them together may cost; both > 0.
    rate, sampling, relation
        As of a `SampledGaussianEvent`.
    steps : int
        Number of releases, each on a fresh sample.
    sensitivity : float
        Largest change of the *sum* over a sample that holds the row, by one neighbour: C (add-remove) or
        2 C (replace-one) where rows are cut to norm C. Sum units: nothing is divided by the size of a sample.

    Raises
    ------
    PrivacyError
        A number out of range, delta 0 among them: no noise is enough there.

    Examples
    --------
    >>> scale = sampled_scale(1.0, 1e-6, rate=0.01, steps=1000, sampling="poisson", relation="add-remove")
    >>> full = full_batch_scale(1.0, 1e-6, steps=1000)  # on all rows: a hundred times the sum
    >>> round(scale, 2), round(full, 1)
    (1.56, 133.6)
    """
    most = full_batch_scale(epsilon, delta, steps=steps, sensitivity=sensitivity) / sensitivity
    SampledGaussianEvent(1.0, rate, sampling, relation)  # checked before any work
    if rate == 1.0:
        return most * sensitivity

    goal = delta / (1.0 + 2.0 * _MARGIN)  # as `sampled_epsilon` asks for

    def excess(scale: float) -> float:
        event = SampledGaussianEvent(1.0 / scale, rate, sampling, relation)
        return log_ratio(float(_deltas(((event, steps),), (epsilon,), (goal,))[0]), goal)

    kept = most * (1.0 + 10.0 * _MARGIN)
    broken = kept / 2.0
    while excess(broken) <= 0.0:
        kept, broken = broken, broken / 2.0
    found = last_kept(excess, kept, broken, close=_CLOSE) * (1.0 + SAFETY)
    return min(found, most) * sensitivity


def full_batch_scale(epsilon: float, delta: float, *, steps: int, sensitivity: float = 1.0) -> float:
    """The least standard deviation of noise for ``steps`` sums over all rows: sensitivity sqrt(steps) / mu.

    Examples
    --------
    >>> round(full_batch_scale(1.0, 1e-6, steps=4, sensitivity=2.0), 3)
    16.899
    """
    good = steps >= 1 and int(steps) == steps and 0.0 < sensitivity < math.inf and epsilon > 0.0
    require(good, f"{epsilon=}, {steps=}, {sensitivity=}", "epsilon > 0, whole steps >= 1, sensitivity > 0")
    return sensitivity * math.sqrt(steps) / gdp_mu(epsilon, delta) * (1.0 + SAFETY)


def _counted(events: Sequence[Event]) -> Counted:
    """Distinct events and their numbers, Gaussian ones as one, in an order of their own."""
    mus = [mu for mu in map(gaussian_mu, events) if mu is not None]
    others = Counter(event for event in events if gaussian_mu(event) is None)
    for event in others:
        known = isinstance(event, SampledGaussianEvent | PureEvent | ApproximateEvent)
        require(known, f"a {type(event).__name__} beside releases on samples", "Gaussian or point events")
    relations = {event.relation for event in others if isinstance(event, SampledGaussianEvent)}
    require(len(relations) < 2, "samples under both relations", "events of one relation")
    total = math.hypot(*mus)
    if total > 0.0:
        others[GaussianEvent(total)] = 1
    return tuple(sorted(others.items(), key=repr))


def _epsilon(key: Counted, delta: float) -> float:
    mu = _whole_mu(key)
    most = gdp_epsilon(mu, delta) if mu is not None else math.inf
    goal = delta / (1.0 + 2.0 * _MARGIN)
    found = 0.0 if _sums(key) else math.inf
    for total in _sums(key):
        tail = total.tail(goal)
        kept = min(most, total.chernoff(goal) * (1.0 + _MARGIN) + _MARGIN * total.size)
        while tail.delta(kept) > goal:
            if kept >= most or tail.infinite >= goal:
                return most
            kept = min(most, 1.1 * kept)
        excess = partial(_log_excess, tail, goal)
        found = max(found, last_kept(excess, kept, 0.0, close=1e-9))
    return min(found, most)


def _log_excess(tail: Tail, goal: float, epsilon: float) -> float:
    return log_ratio(tail.delta(epsilon), goal)


@lru_cache(maxsize=256)
def _cached_deltas(key: Counted, epsilons: tuple[float, ...], around: tuple[float, ...]) -> tuple[float, ...]:
    mu = _whole_mu(key)
    most = np.array([1.0 if mu is None else gdp_delta(epsilon, mu) for epsilon in epsilons])
    if not _sums(key):
        return tuple(most.tolist())
    worst = np.zeros(len(epsilons))
    for total in _sums(key):
        tails = [total.tail(delta).deltas(epsilons) for delta in around]
        worst = np.maximum(worst, np.min(tails, axis=0))
    return tuple(np.minimum(most, worst * (1.0 + _MARGIN)).tolist())


def _deltas(key: Counted, epsilons: tuple[float, ...], around: tuple[float, ...]) -> FloatVector:
    """Bounds on delta, sharpest where it is one of ``around``."""
    return np.array(_cached_deltas(key, epsilons, around))


def _whole_mu(key: Counted) -> float | None:
    """The mu of all events if each read all rows, which is never better. None beside point events."""
    squares = 0.0
    for event, count in key:
        if isinstance(event, PureEvent | ApproximateEvent):
            return None
        assert isinstance(event, GaussianEvent | SampledGaussianEvent)
        squares += count * event.mu**2
    return math.sqrt(squares)


@lru_cache(maxsize=32)
def _sums(key: Counted) -> tuple[LossSum, ...]:
    """The losses of all events, one sum for each order of the neighbours; none where a mu is too large."""
    if any(not isinstance(event, PureEvent | ApproximateEvent) and event.mu > _MOST_MU for event, _ in key):
        return ()
    added = any(
        isinstance(event, SampledGaussianEvent) and event.relation == "add-remove" for event, _ in key
    )
    ways = (False, True) if added else (False,)
    return tuple(LossSum([(loss_of(event, added=way), count) for event, count in key]) for way in ways)
