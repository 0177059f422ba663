"""One of several releases that cost the same: what was answered before says which."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.mechanisms.base import Covered, Release, Rows, WorstCase, release_error
from dpglm.mechanisms.mapped import Wrapper
from dpglm.mechanisms.noise import NoiseSource
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.events import (
    ApproximateEvent,
    Event,
    Fact,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    ReleaseDescription,
)
from dpglm.typing import FloatMatrix, FloatVector

_WHY = (
    "Where one of several releases is run, which one follows from numbers that were released before. None "
    "costs more than the first, which is paid."
)
# Of these a smaller number is a stronger promise.
_ORDERED = (ApproximateEvent, GaussianEvent, PureEvent, PerturbedEvent)


@dataclass(frozen=True, eq=False)
class Either(Wrapper):
    """One of several releases: the last number of ``at`` is the place of the one that is run, ``inner`` at 0.

    All are planned, one is run, and the price is that of ``inner``, which no other one's exceeds.

    Parameters
    ----------
    inner : Release
    others : tuple of Release
        On the same rows; as cheap as ``inner`` or cheaper, event by event.
    fact : Fact
        What the choice is about, for the description of a release.
    """

    others: tuple[Release, ...]
    fact: Fact

    name: ClassVar[str] = "one of several releases"
    premises: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.inner.name)
        for other in self.others:
            for relation in STEPS:
                costs = other.events(relation), self.inner.events(relation)
                alike = len(costs[0]) == len(costs[1])
                if not alike or not all(map(_is_no_dearer, *costs)):  # proof: price
                    raise release_error("releases of which the first costs less", "the dearest one first")
            promises = ("assumptions", "covers", "weighs", "reads", "shortens")
            if any(getattr(self.inner, name) != getattr(other, name) for name in promises):  # proof: alike
                raise release_error("releases that promise different things", "some that promise the same")

    @property
    def inside(self) -> Release:
        return self.inner.inside

    @property
    def options(self) -> tuple[Release, ...]:
        return self.inner, *self.others

    @property
    def covers(self) -> Covered:
        return self.inner.covers

    @property
    def weighs(self) -> bool:
        return self.inner.weighs

    @property
    def shortens(self) -> bool:
        return self.inner.shortens

    @property
    def reads(self) -> tuple[tuple[float, ...], int] | None:
        return self.inner.reads

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        return self.inner.events(relation)  # proof: price

    def describe(self, relation: Relation) -> ReleaseDescription:
        described = self.inner.describe(relation)
        return replace(described, facts=(*described.facts, self.fact))

    def why(self, relation: Relation) -> tuple[str, ...]:
        return *self.inner.why(relation), _WHY

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        if at is None:  # an audit of a whole plan does not know the choice
            return None
        one, _ = self._chosen(at[0])
        return one.log_ratio(answers, first, second, at[:, :-1] if at.shape[1] > 1 else None)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        one, before = self._chosen(at)  # proof: choice
        return one.run(rows, before, noise)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """That of the last release, whose place it has."""
        worst = self.options[-1].worst_case(relation, size)
        before = np.zeros(0) if worst.at is None else worst.at
        return replace(worst, at=np.append(before, float(len(self.others))))

    def _chosen(self, at: FloatVector | None) -> tuple[Release, FloatVector | None]:
        if at is None or not len(at) or at[-1] not in range(len(self.options)):
            raise release_error("no number that says which release", "the place of one, behind the point")
        return self.options[int(at[-1])], at[:-1] if len(at) > 1 else None


def choosing(release: Release, at: FloatVector | None, place: int) -> FloatVector | None:
    """What a release is asked at, with the number that says which where a plan has several."""
    if len(release.options) == 1:
        return at
    return np.append(np.zeros(0) if at is None else at, float(place))


def _is_no_dearer(one: tuple[str, Event], other: tuple[str, Event]) -> bool:
    """Whether an event promises at least as much as another one, which has its name and kind."""
    (name, event), (called, against) = one, other
    if name != called or type(event) is not type(against) or not isinstance(event, _ORDERED):
        return False
    pairs = zip(astuple(event), astuple(against), strict=True)
    return all(a == b if isinstance(a, str) else a <= b for a, b in pairs)
