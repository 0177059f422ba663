"""Releases without a claim: exact answers, and printed algorithms whose noise does not keep their promise."""

from __future__ import annotations

import math
from typing import ClassVar

from dpglm.mechanisms.base import Release, WorstCase
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event


class UnclaimedRelease(Release):
    """A release that promises nothing: no private plan has it."""

    premises: ClassVar[tuple[str, ...]] = ()

    def sensitivity(self, relation: Relation) -> float:
        return math.inf

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        raise AssertionError(f"{self.name} has no price: it is never part of a private plan")

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        raise AssertionError(f"{self.name} makes no claim to be audited")
