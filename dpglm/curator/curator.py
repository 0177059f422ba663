"""The curator, the only reader of private rows, and the priced releases that it may run, each once."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, TypeVar

import numpy as np

from dpglm.errors import MethodError, PermitError, PrivacyError
from dpglm.mechanisms.base import WHY_AFTERWARDS, Release, Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.secure_sum import masked, share
from dpglm.mechanisms.whole_sums import Whole
from dpglm.privacy.accountant import basic_composition, composed_profile
from dpglm.privacy.budget import Privacy, Relation, pure_curve
from dpglm.privacy.events import Event, PureEvent, ReleaseDescription, SampledGaussianEvent, gaussian_mu
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatVector

Kind = TypeVar("Kind", bound=Release)
Costs: TypeAlias = tuple[tuple[str, Event], ...]


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"<PricedReleases: {len(self.releases)}; {self.guarantee.statement()}>"

    def __post_init__(self) -> None:
        if self.privacy is None:
            return
        if self.privacy.persons or self.privacy.shared:
            self._require_persons(self.privacy)
        # The calibration found the noise; this reads the price off the releases themselves.
        for releases in self._read_together():
            events = [event for _, event in _costs(releases, self.privacy.relation)]
            self._check(events, self.privacy)
            self._check_curve(releases, self.privacy.relation)

    def _require_persons(self, privacy: Privacy) -> None:
        """Refuse releases whose proof is not about the rows of a person, wherever they stand.

        One person's rows, exchanged for another's, may move those of everybody else.
        """
        periods = not privacy.persons  # no column tells persons: a row of the table becomes several
        for release in self.releases:
            if release.covers == "nothing" or (privacy.shared and release.covers == "one row"):
                one = "" if periods else "; some methods take a unit of which rows: 1 is read"
                raise MethodError(
                    f"several {'periods' if periods else 'rows'} of one person, "
                    f"for the release of a {release.name!r}",
                    expected="releases whose proof is about all rows of a person that are read",
                    remedy=f"Leave method out{one}.",
                )

    def _check(self, events: Sequence[Event], privacy: Privacy) -> None:
        """Refuse releases of which one row may be in all, and that cost more than the budget."""
        fields = ("epsilon", "delta", "definition", "relation", "persons")
        agrees = all(getattr(self.guarantee, name) == getattr(privacy, name) for name in fields)
        agrees = agrees and self.guarantee.rho in (None, privacy.rho)
        mu = privacy.mu if self.guarantee.mu is None else self.guarantee.mu
        pair = privacy.delta > 0.0 and mu is None
        if not pair and any(isinstance(event, SampledGaussianEvent) and event.rate < 1.0 for event in events):
            raise PrivacyError(
                "releases on random samples of the rows under a pure, GDP or zCDP budget",
                expected="an (epsilon, delta) budget: the gain by sampling is in no other terms",
                remedy="Use privacy=(1.0, 1e-6), or read all rows each time.",
            )
        if not agrees or (mu is not None and not _is_gdp(events, mu)):
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

    def of_kind(self, kind: type[Kind], place: int = 0) -> tuple[Kind, ...]:
        """The releases of one class, in order, on mapped rows or not, for the method that planned them.

        Where one of several is run it is that at this place among them.
        """
        run = (each.options[place if len(each.options) > 1 else 0].inside for each in self.releases)
        return tuple(each for each in run if isinstance(each, kind))

    @property
    def on_mapped_rows(self) -> bool:
        """Whether the last release reads rows through a map."""
        return bool(self.releases) and self.releases[-1].inside is not self.releases[-1]

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
    requested = np.asarray(epsilons, dtype=np.float64)
    known = releases[0].profile(requested, relation) if len(releases) == 1 else None
    if known is not None:
        return known
    events = tuple(event for _, event in _costs(releases, relation))
    if all(isinstance(event, PureEvent) for event in events):
        return pure_curve(requested, basic_composition(events, 0.0))
    return _composed(events, tuple(requested.tolist()))


_composed = lru_cache(maxsize=8)(composed_profile)  # a plan's curve is worked out and then checked


def _is_gdp(events: Sequence[Event], mu: float) -> bool:
    """Whether events together are mu-GDP."""
    mus = [each_mu for each_mu in map(gaussian_mu, events) if each_mu is not None]
    return len(mus) == len(events) and math.hypot(*mus) <= mu * (1.0 + 1e-9)


class Permit:
    """Counts down the releases of a plan.

    Examples
    --------
    >>> from dpglm.privacy.guarantee import Guarantee
    >>> Permit(PricedReleases((), Guarantee.none("no privacy asked"), None)).left
    0
    """

    def __init__(self, plan: PricedReleases) -> None:
        self._waiting = deque(plan.releases)

    @property
    def left(self) -> int:
        """Number of releases that may still be run."""
        return len(self._waiting)

    def use(self, release: Release) -> None:
        """Cross the release off; one that is not the next of the plan is a PermitError."""
        if not self._waiting or self._waiting[0] is not release:
            planned = repr(self._waiting[0].name) if self._waiting else "no further release"
            raise PermitError(
                f"a release of {release.name!r}",
                expected=f"{planned}, as planned and charged",
                remedy="Plan every release before the fit: what was not paid for is not run.",
            )
        # Crossed off before it runs: an interrupt loses the release, never the count.
        self._waiting.popleft()


class Curator:
    """Holds the coded rows and runs the releases of one plan on them, each once and with fresh noise.

    A method is handed ``ask`` and nothing else: whatever it does with the answers is post-processing.
    """

    def __init__(self, rows: Rows, plan: PricedReleases, noise: NoiseSource) -> None:
        self._rows, self._noise = rows, noise
        self._permit = Permit(plan)

    def ask(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """Run a planned release; before a row is read, any other than the next one is a PermitError."""
        self._permit.use(release)  # proof: order
        # Overflow warnings would tell about rows; the arithmetic is finite for coded rows.
        with np.errstate(all="ignore"):  # proof: silence
            return release.run(self._rows, at, self._noise)

    def share(
        self, release: Release, at: FloatVector | None, mask: Callable[[int], Whole], *, holders: int
    ) -> Whole:
        """This holder's message for a planned release that several form together: its share under a mask.

        ``mask`` makes so many numbers of it; crossing off is as in `ask`. Shape (m,), from 0 to 2^128 - 1.
        """
        self._permit.use(release)  # proof: order
        assert release.summed is not None, "planned as a sum"
        with np.errstate(all="ignore"):  # proof: silence
            own = share(release.summed, self._rows, at, self._noise, holders=holders)
            return masked(own, mask(len(own)))
