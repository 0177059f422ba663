"""Releases without a claim: exact answers, and printed algorithms whose noise does not keep their promise."""

from __future__ import annotations

import math
from typing import ClassVar

from dpglm.mechanisms.base import Release, WorstCase
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, ReleaseDescription


class UnclaimedRelease(Release):
    """A release that promises nothing: no private plan has it."""

    premises: ClassVar[tuple[str, ...]] = ()

    def sensitivity(self, relation: Relation) -> float:
        return math.inf

    def exactly(self, released: str) -> ReleaseDescription:
        """What an answer without noise says of itself."""
        return ReleaseDescription(
            name=self.name,
            released=released,
            sensitivity=math.inf,
            noise="none",
            scale=0.0,
            theorem="none: NOT PRIVATE",
        )

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        raise AssertionError(f"{self.name} has no price: it is never part of a private plan")

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        raise AssertionError(f"{self.name} makes no claim to be audited")
