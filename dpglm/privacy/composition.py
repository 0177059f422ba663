"""The price of several releases together, for parameters fixed before the data are read.

Each event is a promise about one release, whatever was released before it. ``compose`` is valid for releases
that depend on earlier results as long as their *parameters* were fixed in advance: a plan. Budgets that were
themselves chosen after looking at earlier results are the ledger's matter, and the ledger sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dpglm.errors import PrivacyError
from dpglm.privacy.accounting import gdp_epsilon

# The accountant rounds losses up to a grid: finer than its default 1e-4 where the events are small, and at
# most this many cells for the sum of all losses.
_CELLS = 200_000


@dataclass(frozen=True)
class PureEvent:
    """A promise: the release is ``epsilon``-DP (delta 0) given all earlier releases.

    Examples
    --------
    >>> PureEvent(0.5)
    PureEvent(epsilon=0.5)
    """

    epsilon: float

    def __post_init__(self) -> None:
        _require(
            0.0 <= self.epsilon < math.inf, f"PureEvent(epsilon={self.epsilon!r})", "a finite epsilon >= 0"
        )


@dataclass(frozen=True)
class GaussianEvent:
    """A promise: the release is ``mu``-GDP, for *every* real epsilon at once, given all earlier releases.

    True for the Gaussian mechanism (mu = sensitivity / scale) and for Theorem A2. A release accounted by
    Theorem A2' or Theorem B is Gaussian at some epsilons only: describe it by an ``ApproximateEvent``.

    Examples
    --------
    >>> GaussianEvent(0.5)
    GaussianEvent(mu=0.5)
    """

    mu: float

    def __post_init__(self) -> None:
        _require(0.0 <= self.mu < math.inf, f"GaussianEvent(mu={self.mu!r})", "a finite mu >= 0")


@dataclass(frozen=True)
class ApproximateEvent:
    """A promise: the release is (``epsilon``, ``delta``)-DP at this one point, given all earlier releases.

    Examples
    --------
    >>> ApproximateEvent(1.0, 1e-6)
    ApproximateEvent(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        good = 0.0 <= self.epsilon < math.inf and 0.0 <= self.delta <= 1.0
        _require(
            good,
            f"ApproximateEvent(epsilon={self.epsilon!r}, delta={self.delta!r})",
            "epsilon >= 0, 0 <= delta <= 1",
        )


Event: TypeAlias = PureEvent | GaussianEvent | ApproximateEvent


def compose(events: Iterable[Event], *, delta: float) -> float:
    """An epsilon at which all ``events`` together are (epsilon, ``delta``)-DP.

    Closed forms for one event and for Gaussian events; for the rest the numeric composition of
    ``dp-accounting``, pessimistic throughout, and never worse than adding the epsilons and deltas.

    Parameters
    ----------
    events : iterable of PureEvent, GaussianEvent or ApproximateEvent
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
        If delta is out of range.

    Examples
    --------
    >>> compose([PureEvent(0.5), PureEvent(0.25)], delta=0.0)
    0.75
    >>> round(compose([GaussianEvent(0.3), GaussianEvent(0.4)], delta=1e-6), 3)  # as one event of mu = 0.5
    2.254
    """
    _require(0.0 <= delta < 1.0, f"delta={delta!r}", "0 <= delta < 1")
    planned = [event for event in events if event not in (PureEvent(0.0), GaussianEvent(0.0))]
    planned = [event for event in planned if event != ApproximateEvent(0.0, 0.0)]
    if not planned:
        return 0.0
    basic = basic_composition(planned, delta)
    if delta == 0.0 or all(isinstance(event, GaussianEvent) for event in planned):
        return basic
    if len(planned) == 1:
        return min(basic, _single(planned[0], delta))
    return min(basic, _numeric(planned, delta))


def basic_composition(events: Sequence[Event], delta: float) -> float:
    """Sum of the epsilons; all Gaussian events are one, at the delta that the others leave.

    Valid, never better than `compose`, and fast: needs no accounting library.

    Examples
    --------
    >>> basic_composition([ApproximateEvent(1.0, 1e-6), PureEvent(0.25)], 1e-6)
    1.25
    """
    epsilon = math.fsum(event.epsilon for event in events if not isinstance(event, GaussianEvent))
    left = delta - math.fsum(event.delta for event in events if isinstance(event, ApproximateEvent))
    mu = math.hypot(*(event.mu for event in events if isinstance(event, GaussianEvent)))
    if left < 0.0 or (mu > 0.0 and left == 0.0):
        return math.inf
    return epsilon + (gdp_epsilon(mu, left) if mu > 0.0 else 0.0)


def _single(event: Event, delta: float) -> float:
    """The least epsilon on the profile ``d + (1 - d) (e^E - e^epsilon) / (1 + e^E)`` of an (E, d) event."""
    if isinstance(event, GaussianEvent):
        return gdp_epsilon(event.mu, delta)
    own = event.delta if isinstance(event, ApproximateEvent) else 0.0
    if delta < own:
        return math.inf
    share = (delta - own) / (1.0 - own)
    if share >= math.tanh(event.epsilon / 2.0):
        return 0.0
    return event.epsilon + math.log1p(-share * (1.0 + math.exp(-event.epsilon)))


def _numeric(events: list[Event], delta: float) -> float:
    """Composition of the privacy loss distributions, losses rounded up."""
    from dp_accounting.pld import common, privacy_loss_distribution

    pld = privacy_loss_distribution
    mu = math.hypot(*(event.mu for event in events if isinstance(event, GaussianEvent)))
    points = Counter(
        (event.epsilon, event.delta if isinstance(event, ApproximateEvent) else 0.0)
        for event in events
        if not isinstance(event, GaussianEvent)
    )
    # Losses stay within the sum of the point events and about 10 standard deviations of the Gaussian one.
    span = sum(epsilon * count for (epsilon, _), count in points.items()) + mu * (10.0 + mu / 2.0)
    cell = max(span / _CELLS, min(1e-4, min(epsilon for epsilon, _ in points) / 100.0))
    if len(points) == 1 and mu == 0.0:  # a cell that divides the only loss rounds nothing
        epsilon = next(iter(points))[0]
        cell = epsilon / max(1, math.floor(epsilon / cell)) if epsilon > 0.0 else cell
    parts = [
        pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, own), value_discretization_interval=cell
        ).self_compose(count)
        for (epsilon, own), count in points.items()
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


def _require(good: bool, found: str, expected: str) -> None:
    if not good:
        raise PrivacyError(found, expected=expected, remedy="Use the parameters of the planned release.")
