"""What a fit will release and what that costs, known before any row is read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, TypeVar

import numpy as np

from dpglm.errors import PrivacyError
from dpglm.mechanisms.base import WHY_AFTERWARDS, Release
from dpglm.privacy.accountant import basic_composition, composed_profile
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.description import ReleaseDescription
from dpglm.privacy.events import Event, PureEvent, SampledGaussianEvent, gaussian_mu, pure_curve
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatVector

Kind = TypeVar("Kind", bound=Release)
Costs: TypeAlias = tuple[tuple[str, Event], ...]


@dataclass(frozen=True)
class PricedReleases:
    """The releases of one fit, in order, and the guarantee they add up to.

    ``guarantee`` is what is promised for all of them together, ``privacy`` what was asked; None for a fit
    without privacy. Each release may be run once. Releases that cost more than was asked, by their own
    events, are a PrivacyError.

    Examples
    --------
    >>> PricedReleases((), Guarantee.none("no privacy asked"), None).parallel()
    ()
    """

    releases: tuple[Release, ...]
    guarantee: Guarantee
    privacy: Privacy | None

    def __post_init__(self) -> None:
        if self.privacy is None:
            return
        # The calibration found the noise; this reads the price off the releases themselves.
        for releases in self._read_together():
            events = [event for _, event in _costs(releases, self.privacy.relation)]
            self._check(events, self.privacy)
            self._check_curve(releases, self.privacy.relation)

    def _check(self, events: Sequence[Event], privacy: Privacy) -> None:
        """Refuse releases of which one row may be in all, and that cost more than the budget."""
        asked = ("epsilon", "delta", "definition", "relation")
        kept = all(getattr(self.guarantee, name) == getattr(privacy, name) for name in asked)
        kept = kept and self.guarantee.rho in (None, privacy.rho)
        mu = privacy.mu if self.guarantee.mu is None else self.guarantee.mu
        pair = privacy.delta > 0.0 and mu is None
        if not pair and any(isinstance(event, SampledGaussianEvent) and event.rate < 1.0 for event in events):
            raise PrivacyError(
                "releases on random samples of the rows under a pure, GDP or zCDP budget",
                expected="an (epsilon, delta) budget: the gain by sampling is in no other terms",
                remedy="Use privacy=(1.0, 1e-6), or read all rows each time.",
            )
        if not kept or (mu is not None and not _is_gdp(events, mu)):
            raise PrivacyError(
                "a guarantee that is not the budget that was asked for, or a mu that releases do not keep",
                expected="the budget's epsilon, delta and relation, and Gaussian releases of that mu",
                remedy="State the budget of the plan.",
            )
        spent = basic_composition(events, privacy.delta)
        if not spent <= privacy.epsilon * (1.0 + 1e-9):
            raise PrivacyError(
                f"releases that cost epsilon {spent:.6g} at delta {privacy.delta:g}",
                expected=f"at most the epsilon {privacy.epsilon:g} that was asked for",
                remedy="Calibrate the releases to the budget.",
            )

    def _check_curve(self, releases: tuple[Release, ...], relation: Relation) -> None:
        """Refuse points (epsilon, delta) of the guarantee that the releases do not keep."""
        if not self.guarantee.curve:
            return
        epsilons, deltas = zip(*self.guarantee.curve, strict=True)
        needed = releases_profile(releases, relation, epsilons)
        if not np.all(np.asarray(deltas) >= needed * (1.0 - 1e-9)):
            raise PrivacyError(
                "a guarantee with a curve that its releases do not keep",
                expected="at each epsilon of the curve at least the delta of the releases",
                remedy="State the curve of the releases.",
            )

    def parallel(self) -> tuple[Costs, ...]:
        """Named events of the releases that a single row can be in, a tuple for each part of the rows."""
        return tuple(_costs(releases, self._relation) for releases in self._read_together())

    def _read_together(self) -> tuple[tuple[Release, ...], ...]:
        """Releases that a single row can be in, for each part of the rows; those on all rows in every tuple.

        Parts of two dealings, which may overlap, are a PrivacyError.
        """
        if self.privacy is None:
            return ()
        read = [release.reads for release in self.releases]
        if len({part[0] for part in read if part is not None}) > 1:
            raise PrivacyError(
                "releases on parts of two dealings",
                expected="one way to deal the rows, whose parts share none",
                remedy="Deal the rows once in a plan.",
            )
        parts: list[object] = list(dict.fromkeys(part for part in read if part is not None)) or [None]
        return tuple(
            tuple(release for release in self.releases if release.reads in (None, part)) for part in parts
        )

    def of_kind(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """The releases of one class, in order, for the method that planned them."""
        return tuple(release for release in self.releases if isinstance(release, kind))

    @property
    def _relation(self) -> Relation:
        return "replace-one" if self.privacy is None else self.privacy.relation

    def describe(self) -> tuple[ReleaseDescription, ...]:
        """What each release says of itself, equal ones once."""
        counts = Counter(release.describe(self._relation) for release in self.releases)
        return tuple(replace(description, times=times) for description, times in counts.items())

    def why(self) -> str:
        """Why the guarantee holds, a step per line; empty without one."""
        steps = [step for release in self.releases for step in release.why(self._relation)]
        return "\n".join([*dict.fromkeys(steps), WHY_AFTERWARDS]) if steps else ""


def _costs(releases: Sequence[Release], relation: Relation) -> Costs:
    return tuple(cost for release in releases for cost in release.events(relation))


def releases_profile(
    releases: tuple[Release, ...], relation: Relation, epsilons: Sequence[float]
) -> FloatVector:
    """A bound on delta at each epsilon, all valid at once, of releases that one row may be in all; (k,)."""
    asked = np.asarray(epsilons, dtype=np.float64)
    known = releases[0].profile(asked, relation) if len(releases) == 1 else None
    if known is not None:
        return known
    events = tuple(event for _, event in _costs(releases, relation))
    if all(isinstance(event, PureEvent) for event in events):
        return pure_curve(asked, basic_composition(events, 0.0))
    return _composed(events, tuple(asked.tolist()))


@lru_cache(maxsize=8)  # a plan's curve is worked out and then checked
def _composed(events: tuple[Event, ...], epsilons: tuple[float, ...]) -> FloatVector:
    return composed_profile(events, epsilons)


def _is_gdp(events: Sequence[Event], mu: float) -> bool:
    """Whether events together are mu-GDP."""
    mus = [found for found in map(gaussian_mu, events) if found is not None]
    return len(mus) == len(events) and math.hypot(*mus) <= mu * (1.0 + 1e-9)
