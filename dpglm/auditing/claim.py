"""What is promised of each release by itself: its own events, as a guarantee."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.mechanisms.base import Release
from dpglm.privacy.accounting import gdp_epsilon
from dpglm.privacy.composition import Event, PureEvent, basic_composition, composed_profile
from dpglm.privacy.events import gaussian_mu
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.number import budget

# Points of a profile that is neither pure nor Gaussian.
_POINTS = 21


def whole_claim(plan: PricedReleases) -> Guarantee:
    """What the plan promises; the numbers are audited even where a seed took the promise away."""
    return replace(plan.guarantee, private=True, reason="")


def release_claim(plan: PricedReleases, release: Release) -> Guarantee:
    """What one release of the plan promises, given all earlier ones.

    Examples
    --------
    >>> import dpglm
    >>> plan = dpglm.plan("y ~ x", {"y": (0, 1), "x": (0, 9)}, privacy=1.0, family="gaussian")
    >>> release_claim(plan.releases, plan.releases.releases[0]).epsilon
    1.0
    """
    whole = whole_claim(plan)
    if len(plan.releases) == 1:
        return whole
    events: list[Event] = [event for _, event in release.events(whole.relation)]
    common = {"relation": whole.relation, "unit": whole.unit}
    if all(isinstance(event, PureEvent) for event in events):
        return Guarantee(basic_composition(events, 0.0), 0.0, "pure", **common)  # type: ignore[arg-type]
    mus = [found for found in map(gaussian_mu, events) if found is not None]
    delta = whole.delta
    if len(mus) == len(events):
        mu = math.hypot(*mus)
        return Guarantee(gdp_epsilon(mu, delta), delta, "gdp", mu=mu, **common)  # type: ignore[arg-type]
    epsilon = basic_composition(events, delta)
    grid = np.linspace(0.0, 1.5 * epsilon, _POINTS)
    curve = tuple(zip(grid.tolist(), composed_profile(events, grid.tolist()).tolist(), strict=True))
    return Guarantee(epsilon, delta, "approximate", curve=curve, **common)  # type: ignore[arg-type]


def words(claim: Guarantee) -> str:
    """The claim as it stands in a table.

    Examples
    --------
    >>> words(Guarantee(1.0, 1e-6, "approximate", "replace-one", "one row"))
    'epsilon 1, delta 1e-6'
    """
    if claim.definition == "pure":
        return f"epsilon {budget(claim.epsilon)}"
    pair = f"epsilon {budget(claim.epsilon)}, delta {budget(claim.delta)}"
    return pair if claim.mu is None else f"mu {budget(claim.mu)} ({pair})"
