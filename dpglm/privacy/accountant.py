"""Accountant: the privacy loss of several releases together, for parameters fixed before data are read.

Each event is a promise about one release, whatever was released before it. What is said here is valid for
releases that depend on earlier results as long as their *parameters* were fixed in advance: a plan. Budgets
that were themselves chosen after looking at earlier results are the ledger's matter, and the ledger sums.

Three ways lead to a price, all of them upper bounds:

* closed forms, where everything is Gaussian, pure, or one event;
* one integral for a perturbed minimiser beside Gaussian releases (``joint_profile.py``);
* sums of privacy losses for everything else (``loss_distribution.py``), convolved by dp-accounting, which is
  imported only then: that alone takes .7 to .9 s.

Losses of releases on random samples hold at all epsilons at once, so they add up, adaptively too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from dpglm.privacy.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PointEvent,
    PureEvent,
    SampledGaussianEvent,
    gaussian_mu,
    require,
)
from dpglm.privacy.gdp import conservative_root, gdp_delta, gdp_epsilon, log_ratio
from dpglm.privacy.loss_distribution import LossSum, privacy_loss
from dpglm.typing import FloatVector

Counted: TypeAlias = tuple[tuple[Event, int], ...]
_FREE = (PureEvent(0.0), GaussianEvent(0.0), ApproximateEvent(0.0, 0.0))
# A larger mu is accounted as if all rows were read.
_MOST_MU = 20.0
# Far more than closed forms of single profiles are off, relative.
_MARGIN = 1e-6
# Losses with so small a part of delta are not told apart from infinite ones.
_UNFELT = 1e-10
# Epsilons at which a curve of delta is as sharp as it can be.
_SHARP = 6
# Most cells of the range of losses of point events, whose grid is as fine as it can be.
_POINT_CELLS = 2**18


def compose(events: Iterable[Event], *, delta: float) -> float:
    """An epsilon at which all ``events`` together are (epsilon, ``delta``)-DP; never above the plain sums.

    Delta is in [0, 1), 0 for pure events only; ``inf`` where no epsilon has so small a delta. A PrivacyError
    if delta is out of range, or there are samples beside a perturbed minimiser.

    Examples
    --------
    >>> compose([PureEvent(0.5), PureEvent(0.25)], delta=0.0)
    0.75
    >>> round(compose([GaussianEvent(0.3), GaussianEvent(0.4)], delta=1e-6), 3)  # as one event of mu = 0.5
    2.254
    """
    require(0.0 <= delta < 1.0, f"delta={delta!r}", "0 <= delta < 1")
    planned = [event for event in events if event not in _FREE]
    if not planned:
        return 0.0
    points, smooth = _split(planned)
    basic = basic_composition(planned, delta)
    if delta == 0.0 or not points:
        return basic
    if smooth.sampled:
        return min(basic, _epsilon(_counted([*points, *smooth.events]), delta))
    if len(planned) == 1:
        return min(basic, _point_epsilon(points[0], delta))
    # What the perturbed events are shifted by, and a factor of delta, apart: the rest of them is Gaussian.
    rest = _counted([*points, GaussianEvent(smooth.mu)])
    return min(basic, smooth.shift + _epsilon(rest, delta / smooth.factor))


def basic_composition(events: Sequence[Event], delta: float) -> float:
    """Sum of the epsilons; Gaussian and perturbed events are one, at the delta that the others leave.

    Valid, never better than `compose`, and fast: it needs no accounting library, but for samples. Those are
    refused beside a perturbed minimiser.

    Examples
    --------
    >>> basic_composition([ApproximateEvent(1.0, 1e-6), PureEvent(0.25)], 1e-6)
    1.25
    """
    points, smooth = _split(events)
    left = delta - math.fsum(event.delta for event in points)
    return math.inf if left < 0.0 else math.fsum(event.epsilon for event in points) + smooth.epsilon(left)


def composed_profile(events: Sequence[Event], epsilons: Sequence[float]) -> FloatVector:
    """Privacy profile: a bound on delta at each epsilon for all events together, all valid at once; (k,).

    Gaussian, sampled and perturbed events count exactly as in `basic_composition`; point events shift
    epsilon, each by its own, and add their deltas.

    Examples
    --------
    >>> composed_profile([GaussianEvent(0.3), GaussianEvent(0.4)], [1.0, 2.254]).round(6)
    array([6.83e-03, 1.00e-06])
    """
    points, smooth = _split(events)
    left = np.asarray(epsilons, dtype=np.float64) - math.fsum(event.epsilon for event in points)
    deltas = smooth.deltas(np.maximum(left, 0.0).tolist()) + math.fsum(event.delta for event in points)
    return np.where(left < 0.0, 1.0, np.minimum(1.0, deltas))


class _Smooth:
    """Events that hold at all epsilons: Gaussian ones, perturbed minimisers, releases on samples."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.sampled = any(isinstance(event, SampledGaussianEvent) for event in events)
        self.perturbed = [event for event in events if isinstance(event, PerturbedEvent)]
        gaussian = [event.mu for event in events if isinstance(event, GaussianEvent)]
        self.beside = math.hypot(*gaussian)
        self.least_mu = math.hypot(*gaussian, *(event.least_mu for event in self.perturbed))
        self.shift = math.fsum(event.shift for event in self.perturbed)
        self.factor = math.prod(event.factor for event in self.perturbed)

    @cached_property
    def mu(self) -> float:
        """Of the Gaussian profile that is shifted."""
        return math.hypot(self.beside, *(event.total_mu for event in self.perturbed))

    def epsilon(self, delta: float) -> float:
        """An epsilon at which all of them have this delta."""
        if not self.sampled and self.least_mu == 0.0:
            return 0.0
        if delta == 0.0:
            return math.inf
        if self.sampled:
            return _epsilon(_counted(self.events), delta)
        shifted = gdp_epsilon(self.mu, delta / self.factor) + self.shift
        if len(self.perturbed) != 1:
            return shifted
        return conservative_root(
            lambda epsilon: log_ratio(self._delta(epsilon), delta),
            shifted,
            gdp_epsilon(self.least_mu, delta),
            close=1e-10,
        )

    def deltas(self, epsilons: Sequence[float]) -> FloatVector:
        """Bounds on delta at epsilons >= 0."""
        if self.sampled:
            return np.array(_deltas(_counted(self.events), tuple(epsilons)))
        return np.array([self._delta(epsilon) for epsilon in epsilons])

    def _delta(self, epsilon: float) -> float:
        if len(self.perturbed) == 1:
            return self.perturbed[0].delta(epsilon, self.beside)
        return self.factor * gdp_delta(epsilon - self.shift, self.mu)


def _split(events: Iterable[Event]) -> tuple[list[PointEvent], _Smooth]:
    """Point events, and the others; a sample of all rows is the Gaussian mechanism."""
    points: list[PointEvent] = []
    smooth: list[Event] = []
    for event in events:
        if isinstance(event, PointEvent):
            points.append(event)
        else:
            mu = gaussian_mu(event)
            smooth.append(event if mu is None else GaussianEvent(mu))
    return points, _Smooth(smooth)


def _point_epsilon(event: PointEvent, delta: float) -> float:
    """The least epsilon on the profile ``d + (1 - d) (e^E - e^epsilon) / (1 + e^E)`` of an (E, d) event."""
    if delta < event.delta:
        return math.inf
    share = (delta - event.delta) / (1.0 - event.delta)
    if share >= math.tanh(event.epsilon / 2.0):
        return 0.0
    return event.epsilon + math.log1p(-share * (1.0 + math.exp(-event.epsilon)))


def _counted(events: Sequence[Event]) -> Counted:
    """Distinct events and their numbers, Gaussian ones as one, in an order of their own."""
    others: Counter[Event] = Counter(event for event in events if not isinstance(event, GaussianEvent))
    for event in others:
        known = isinstance(event, SampledGaussianEvent | PointEvent)
        require(known, f"a {type(event).__name__} beside releases on samples", "Gaussian or point events")
    relations = {event.relation for event in others if isinstance(event, SampledGaussianEvent)}
    require(len(relations) < 2, "samples under both relations", "events of one relation")
    total = math.hypot(*(event.mu for event in events if isinstance(event, GaussianEvent)))
    if total > 0.0:
        others[GaussianEvent(total)] = 1
    return tuple(sorted(others.items(), key=repr))


@lru_cache(maxsize=256)
def _epsilon(key: Counted, delta: float) -> float:
    """An epsilon > 0 at which sampled Gaussian, Gaussian and point events together have this delta > 0."""
    mu = _mu_on_all_rows(key)
    most = gdp_epsilon(mu, delta) if mu < math.inf else math.inf
    # Deltas at epsilon 0 add up: all that is needed where samples are rare.
    if _delta_at_zero(key) * (1.0 + _MARGIN) <= delta:
        return 0.0
    if all(isinstance(event, PointEvent) and event.epsilon == 0.0 for event, _ in key):
        return math.inf
    goal = delta / (1.0 + 2.0 * _MARGIN)
    if _is_one_sample(key):
        ((event, _),) = key
        return conservative_root(lambda e: log_ratio(_one_delta(event, e), goal), most, 0.0, close=1e-9)
    sums = _sums(key, spare=_UNFELT * goal)
    return min(most, max((total.tail(goal).epsilon(goal, most) for total in sums), default=math.inf))


@lru_cache(maxsize=256)
def _deltas(key: Counted, epsilons: tuple[float, ...]) -> tuple[float, ...]:
    """Bounds on delta at epsilons >= 0."""
    mu, summed = _mu_on_all_rows(key), _delta_at_zero(key) * (1.0 + _MARGIN)
    most = np.array([min(summed, gdp_delta(epsilon, mu)) for epsilon in epsilons])
    points = sorted(set(epsilons))
    sharp = points[:: max(1, math.ceil(len(points) / _SHARP))]
    if _is_one_sample(key):
        bounds = [np.array([_one_delta(key[0][0], epsilon) for epsilon in epsilons])]
    else:
        bounds = [np.min([total.tail_at(e).deltas(epsilons) for e in sharp], axis=0) for total in _sums(key)]
    if not bounds:
        return tuple(most.tolist())
    return tuple(np.minimum(most, np.max(bounds, axis=0) * (1.0 + _MARGIN)).tolist())


def _mu_on_all_rows(key: Counted) -> float:
    """The mu of all events if each read all rows, which is never better; infinite beside point events."""
    mus = (math.inf if isinstance(event, PointEvent) else event.mu for event, _ in key)
    return math.sqrt(sum(count * mu**2 for mu, (_, count) in zip(mus, key, strict=True)))


def _is_one_sample(key: Counted) -> bool:
    """Whether nothing has to be composed: the profile of one release on a sample is known."""
    (event, times), *others = key
    return not others and times == 1 and isinstance(event, SampledGaussianEvent) and event.mu <= _MOST_MU


def _one_delta(event: Event, epsilon: float) -> float:
    """Of one event, the larger of both orders of the neighbours."""
    at = np.array([epsilon])
    return max(float(privacy_loss(event, added=added).profile(at)[0]) for added in (False, True))


def _delta_at_zero(key: Counted) -> float:
    """The sum of the deltas at epsilon 0, which is a delta of all of them."""
    if any(isinstance(event, SampledGaussianEvent) and event.mu > _MOST_MU for event, _ in key):
        return 1.0
    return sum(count * _one_delta(event, 0.0) for event, count in key)


def _sums(key: Counted, *, spare: float = 0.0) -> tuple[LossSum, ...]:
    """The losses of all events, one sum for each order of the neighbours; none where a mu is too large."""
    samples = [event for event, _ in key if isinstance(event, SampledGaussianEvent)]
    smooth = [event for event, _ in key if isinstance(event, GaussianEvent | SampledGaussianEvent)]
    if samples and any(event.mu > _MOST_MU for event in smooth):
        return ()
    ways = (False, True) if any(event.relation == "add-remove" for event in samples) else (False,)
    cell = None if samples else _point_cell(key)
    return tuple(
        LossSum([(privacy_loss(event, added=way), count) for event, count in key], cell, spare)
        for way in ways
    )


def _point_cell(key: Counted) -> float | None:
    """A fine cell for point events; one that divides the only loss, to the last bit, rounds nothing."""
    points = {event.epsilon: count for event, count in key if isinstance(event, PointEvent)}
    mu = math.hypot(*(event.mu for event, _ in key if isinstance(event, GaussianEvent)))
    # Losses stay within the sum of the point events and about 10 standard deviations of the Gaussian one.
    span = sum(epsilon * count for epsilon, count in points.items()) + mu * (10.0 + mu / 2.0)
    cell = max(span / _POINT_CELLS, min(1e-4, min(points) / 100.0))
    if len(points) == 1 and mu == 0.0:
        (epsilon,) = points
        least = math.floor(epsilon / cell) + 1
        counts = (n for n in range(least, 2 * least) if epsilon / (epsilon / n) == n)
        cell = epsilon / next(counts, least)
    return cell or None
