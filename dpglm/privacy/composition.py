"""The price of several releases together, for parameters fixed before the data are read.

Each event is a promise about one release, whatever was released before it. ``compose`` is valid for releases
that depend on earlier results as long as their *parameters* were fixed in advance: a plan. Budgets that were
themselves chosen after looking at earlier results are the ledger's matter, and the ledger sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dpglm.privacy.accounting import gdp_delta, gdp_epsilon
from dpglm.privacy.events import (
    ApproximateEvent,
    BoundedSlopeEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    SampledGaussianEvent,
    require,
)
from dpglm.privacy.search import last_kept, log_ratio
from dpglm.privacy.subsampled import sampled_epsilon, sampled_profile
from dpglm.typing import FloatVector

__all__ = [
    "ApproximateEvent",
    "BoundedSlopeEvent",
    "Event",
    "GaussianEvent",
    "PerturbedEvent",
    "PureEvent",
    "SampledGaussianEvent",
    "basic_composition",
    "compose",
    "composed_profile",
]

# The accountant rounds losses up to a grid: finer than its default 1e-4 where the events are small, and at
# most this many cells for the sum of all losses.
_CELLS = 200_000


def compose(events: Iterable[Event], *, delta: float) -> float:
    """An epsilon at which all ``events`` together are (epsilon, ``delta``)-DP.

    Closed forms for one event and for Gaussian events, one integral for a perturbed minimiser beside Gaussian
    ones, sums of losses for releases on samples (``subsampled.py``); for the rest the numeric composition of
    ``dp-accounting``, pessimistic throughout, and never worse than adding the epsilons and deltas.

    Parameters
    ----------
    events : iterable of Event
        With parameters fixed before any of the releases.
    delta : float
        Total delta, in [0, 1). 0 is possible for pure events only.

    Returns
    -------
    float
        ``inf`` where no epsilon has so small a delta.

    Raises
    ------
    PrivacyError
        If delta is out of range, or there are samples beside a perturbed minimiser.

    Examples
    --------
    >>> compose([PureEvent(0.5), PureEvent(0.25)], delta=0.0)
    0.75
    >>> round(compose([GaussianEvent(0.3), GaussianEvent(0.4)], delta=1e-6), 3)  # as one event of mu = 0.5
    2.254
    """
    require(0.0 <= delta < 1.0, f"delta={delta!r}", "0 <= delta < 1")
    planned = [event for event in _plain(events) if event not in (PureEvent(0.0), GaussianEvent(0.0))]
    planned = [event for event in planned if event != ApproximateEvent(0.0, 0.0)]
    if not planned:
        return 0.0
    basic = basic_composition(planned, delta)
    points = [event for event in planned if isinstance(event, PureEvent | ApproximateEvent)]
    if delta == 0.0 or not points:
        return basic
    if any(isinstance(event, SampledGaussianEvent) for event in planned):
        return min(basic, sampled_epsilon(planned, delta))
    if len(planned) == 1:
        (only,) = points
        return min(basic, _single(only, delta))
    perturbed = [event for event in planned if isinstance(event, PerturbedEvent)]
    shift = math.fsum(event.shift for event in perturbed)
    factor = math.prod(event.factor for event in perturbed)
    return min(basic, shift + _numeric(points, _total_mu(planned), delta / factor))


def basic_composition(events: Sequence[Event], delta: float) -> float:
    """Sum of the epsilons; Gaussian and perturbed events are one, at the delta that the others leave.

    Valid, never better than `compose`, and fast: needs no accounting library. Releases on samples are
    composed with the Gaussian ones by their losses.

    Raises
    ------
    PrivacyError
        If there are samples beside a perturbed minimiser.

    Examples
    --------
    >>> basic_composition([ApproximateEvent(1.0, 1e-6), PureEvent(0.25)], 1e-6)
    1.25
    """
    events = _plain(events)
    points = [event for event in events if isinstance(event, PureEvent | ApproximateEvent)]
    epsilon = math.fsum(event.epsilon for event in points)
    left = delta - math.fsum(event.delta for event in points if isinstance(event, ApproximateEvent))
    mu = _total_mu(events)
    sampled = any(isinstance(event, SampledGaussianEvent) for event in events)
    if left < 0.0 or ((mu > 0.0 or sampled) and left == 0.0):
        return math.inf
    if sampled:
        smooth = [event for event in events if not isinstance(event, PureEvent | ApproximateEvent)]
        return epsilon + sampled_epsilon(smooth, left)
    if mu == 0.0:
        return epsilon
    perturbed = [event for event in events if isinstance(event, PerturbedEvent)]
    factor = math.prod(event.factor for event in perturbed)
    shifted = gdp_epsilon(mu, left / factor) + math.fsum(event.shift for event in perturbed)
    if len(perturbed) == 1:
        gaussian = gdp_epsilon(mu, left)
        beside = math.hypot(*(event.mu for event in events if isinstance(event, GaussianEvent)))
        return epsilon + _least(lambda e: perturbed[0].delta(e, beside), left, gaussian, shifted)
    return epsilon + shifted


def composed_profile(events: Sequence[Event], epsilons: Sequence[float]) -> FloatVector:
    """A bound on delta at each epsilon for all events together, valid at all epsilons at once; shape (k,).

    Gaussian, sampled and perturbed events count exactly as in `basic_composition`; point events shift
    epsilon, each by its own, and add their deltas.

    Examples
    --------
    >>> composed_profile([GaussianEvent(0.3), GaussianEvent(0.4)], [1.0, 2.254]).round(6)
    array([6.83e-03, 1.00e-06])
    """
    events = _plain(events)
    points = [event for event in events if isinstance(event, PureEvent | ApproximateEvent)]
    moved = math.fsum(event.epsilon for event in points)
    own = math.fsum(event.delta for event in points if isinstance(event, ApproximateEvent))
    if any(isinstance(event, SampledGaussianEvent) for event in events):
        left_of = np.asarray(epsilons, dtype=np.float64) - moved
        smooth = [event for event in events if not isinstance(event, PureEvent | ApproximateEvent)]
        found = sampled_profile(smooth, np.maximum(left_of, 0.0).tolist())
        return np.where(left_of < 0.0, 1.0, np.minimum(1.0, found + own))
    perturbed = [event for event in events if isinstance(event, PerturbedEvent)]
    beside = math.hypot(*(event.mu for event in events if isinstance(event, GaussianEvent)))
    mu = _total_mu(events)
    deltas = []
    for epsilon in epsilons:
        left = epsilon - moved
        if left < 0.0:
            delta = 1.0
        elif len(perturbed) == 1:
            delta = perturbed[0].delta(left, beside)
        else:
            factor = math.prod(event.factor for event in perturbed)
            delta = factor * gdp_delta(left - math.fsum(event.shift for event in perturbed), mu)
        deltas.append(min(1.0, delta + own))
    return np.array(deltas)


def _plain(events: Iterable[Event]) -> list[Event]:
    """The events, a sample of all rows as the Gaussian mechanism that it is."""
    return [
        GaussianEvent(event.mu) if isinstance(event, SampledGaussianEvent) and event.rate == 1.0 else event
        for event in events
    ]


def _least(profile: Callable[[float], float], delta: float, low: float, high: float) -> float:
    """An epsilon with a profile of at most delta, between ``low`` and ``high``, where that is known."""
    return last_kept(lambda epsilon: log_ratio(profile(epsilon), delta), high, low, close=1e-10)


def _total_mu(events: Sequence[Event]) -> float:
    """Of the Gaussian events and of the Gaussian parts of the perturbed ones."""
    gaussian = [event.mu for event in events if isinstance(event, GaussianEvent)]
    return math.hypot(*gaussian, *(event.total_mu for event in events if isinstance(event, PerturbedEvent)))


def _single(event: PureEvent | ApproximateEvent, delta: float) -> float:
    """The least epsilon on the profile ``d + (1 - d) (e^E - e^epsilon) / (1 + e^E)`` of an (E, d) event."""
    own = event.delta if isinstance(event, ApproximateEvent) else 0.0
    if delta < own:
        return math.inf
    share = (delta - own) / (1.0 - own)
    if share >= math.tanh(event.epsilon / 2.0):
        return 0.0
    return event.epsilon + math.log1p(-share * (1.0 + math.exp(-event.epsilon)))


def _numeric(events: Sequence[PureEvent | ApproximateEvent], mu: float, delta: float) -> float:
    """Composition of the privacy loss distributions and a Gaussian one, losses rounded up."""
    from dp_accounting.pld import common, privacy_loss_distribution

    pld = privacy_loss_distribution
    points = Counter(
        (event.epsilon, event.delta if isinstance(event, ApproximateEvent) else 0.0) for event in events
    )
    # Losses stay within the sum of the point events and about 10 standard deviations of the Gaussian one.
    span = sum(epsilon * times for (epsilon, _), times in points.items()) + mu * (10.0 + mu / 2.0)
    if span == 0.0:  # deltas alone, which add up
        return math.inf
    cell = max(span / _CELLS, min(1e-4, min(epsilon for epsilon, _ in points) / 100.0))
    if len(points) == 1 and mu == 0.0:  # a cell that divides the only loss, to the last bit, rounds nothing
        ((epsilon, _),) = points
        least = math.floor(epsilon / cell) + 1
        whole = (n for n in range(least, 2 * least) if epsilon / (epsilon / n) == n)
        cell = epsilon / next(whole, least)
    parts = [
        pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, own), value_discretization_interval=cell
        ).self_compose(times)
        for (epsilon, own), times in points.items()
    ]
    if mu > 0.0:
        parts.append(
            pld.from_gaussian_mechanism(
                1.0 / mu, pessimistic_estimate=True, value_discretization_interval=cell
            )
        )
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return float(total.get_epsilon_for_delta(delta))
