"""Secure sums keep their claim against a coalition, and shares with less noise are caught.

Three sites take part. The tables of the first differ in one row. The coalition is whoever adds up, with every
message, and the last site, or the last two, with all that they know: their rows, noise and masks. What it can
learn of the others is their total, which is all messages less its own sites' part of them.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, Table, release_neighbours
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.curator.secure_site import SecureSite
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.mechanisms.pairwise_masks import numbers
from dpglm.mechanisms.secure_sum import masked, shared_step, total
from dpglm.mechanisms.whole_sums import Whole
from dpglm.methods.moments import Moments
from dpglm.methods.secure_sum import SecureSum
from dpglm.privacy.guarantee import Guarantee
from dpglm.rows import ArrayChunk
from dpglm.spec.plan import Plan
from dpglm.typing import FloatVector
from tests.audits.harness import FAILURE, LESS, RELATIONS, Case, Outcome, check, quieter

NAMES = ("attacked", "b", "c")
SCHEMA = dpglm.Schema.of({"y": (-1, 1), "x": (-1, 1)}, sites="disjoint", rows=3)


class Telling(Curator):
    """The curator of a site that tells the coalition what it sends, without its mask."""

    told: Whole

    def share(self, release: Release, at: Any, mask: Callable[[int], Whole], *, holders: int) -> Whole:
        self.told = super().share(release, at, lambda count: np.zeros(count, dtype=object), holders=holders)
        return masked(self.told, mask(len(self.told)))


@dataclass(frozen=True)
class View:
    """Draws of what a coalition of whoever adds up and the last ``colluding`` sites sees of the others."""

    plan: PricedReleases
    colluding: int
    runs: list[int] = field(default_factory=lambda: [0])

    @property
    def releases(self) -> tuple[Release, ...]:
        return self.plan.releases

    @cached_property
    def other(self) -> Table:
        return Table(ArrayChunk(np.full((self._size, 1), 0.1, dtype=np.float32), np.array([0.3]), None))

    @property
    def _size(self) -> int:
        (release,) = self.plan.releases
        return int(release.size)  # type: ignore[attr-defined]

    def draw(self, table: Any, noise: NoiseSource, count: int, pair: Any, step: Any) -> list[Any]:
        return [np.array([self.once(table, noise) for _ in range(count)])]

    def once(self, table: Any, noise: NoiseSource) -> FloatVector:
        (release,) = self.plan.releases
        summed = release.summed
        assert summed is not None
        curators = [Telling(rows, self.plan, noise) for rows in (table, self.other, self.other)]
        self.runs[0] += 1
        sites = [
            SecureSite(name, curator, self.plan, sites=3, run=f"run {self.runs[0]}")
            for name, curator in zip(NAMES, curators, strict=True)
        ]
        keys = [site.public_key() for site in sites]
        for site in sites:
            site.meet(keys)
        messages = [numbers_of(site.masked(0)) for site in sites]
        told = [curator.told for curator in curators[len(NAMES) - self.colluding :]]
        seen = total([*messages, *(-own for own in told)]).astype(np.float64)
        return summed.finished(seen * shared_step(summed.sum_noise, len(NAMES), len(seen)))


def numbers_of(message: bytes) -> Whole:
    return numbers(base64.b64decode(json.loads(message)["sum"]))


def planned(relation: Any, allowed: int) -> Plan:
    return dpglm.plan(
        "y ~ x",
        SCHEMA,
        n=3,
        family="gaussian",
        penalty="none",
        method=SecureSum(Moments(scales="declared"), sites=3, colluding=allowed),
        privacy=dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation),
    )


def with_noise(plan: PricedReleases, share: float) -> PricedReleases:
    """The releases with this share of their noise, which no plan would take."""
    twin = copy.copy(plan)
    object.__setattr__(twin, "releases", tuple(quieter(release, share) for release in plan.releases))
    return twin


def of_view(relation: Any, allowed: int, colluding: int, *, trials: int, part: float | None) -> Case:
    plan = planned(relation, allowed)
    (release,) = plan.releases.releases
    pair: Neighbours = release_neighbours(release, relation, release.size)  # type: ignore[attr-defined]
    claim: Guarantee = plan.guarantee

    def run(share: float, seed: int, trials: int) -> Outcome:
        act: Any = View(with_noise(plan.releases, share), colluding)
        found = bounded(act, [pair], claim, SeededNoise(seed), trials=trials, failure=FAILURE)
        return Outcome(found.bound.epsilon, found.bound.refuted)

    return Case(SecureSum, f"coalition with {colluding} of 3 sites {relation}", claim, trials, run, part)


CASES = [
    of_view(relation, colluding, colluding, trials=8000, part=LESS)
    for relation in RELATIONS
    for colluding in (1, 2)
]


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
def test_shares_counted_as_if_all_were_honest_are_caught_by_two_of_three_sites(relation: Any) -> None:
    """The price against them is sqrt(3) times the one that is claimed."""
    found = of_view(relation, 0, 2, trials=4000, part=None).run(1.0, 3, 4000)
    assert found.refuted
