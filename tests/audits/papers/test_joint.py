"""Joint methods keep their claims against who sees all that leaves a site; with less noise they are caught.

Two sites take part. The tables of the first differ in one row, those of the second do not. What is looked
at is the whole transcript of the first: all noisy messages of all rounds, in which the second site, with
noise of its own, has its share, since rounds begin at what both have sent. Of DLP that is the final vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Table, release_neighbours
from dpglm.curator.curator import Curator
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.methods.joint import JointMethod, Party
from dpglm.papers.dlr.dlvp import DLP, DLVP
from dpglm.papers.radmm.admm import DPADMM
from dpglm.rows import ArrayChunk, JoinedRows
from dpglm.spec.joint import problem_of_all
from dpglm.spec.plan import Plan
from dpglm.typing import FloatVector
from tests.audits.harness import (
    FAILURE,
    RELATIONS,
    Case,
    Outcome,
    check,
    claimed,
    with_less_noise,
)

SCHEMA = dpglm.Schema.of({"y": ["no", "yes"], "x": (0, 1), "z": (-1, 1)}, rows=2)
OTHER = Table(ArrayChunk(np.array([[0.9, -0.4]], dtype=np.float32), np.array([1.0, 0.0]), None))
# Rows whose slopes are 0 or 1 wherever the coefficients are: they leave the minimiser free to move.
FAR = Table(ArrayChunk(OTHER._blocks[0].X, np.array([1.0, 0.0]), np.array([1e3, 1e3])))


@dataclass(frozen=True)
class Transcript:
    """Draws of all that the first of two sites releases, round by round."""

    plan: Plan

    @property
    def releases(self) -> tuple[Release, ...]:
        return self.plan.releases.releases

    def draw(self, table: Any, noise: NoiseSource, count: int, pair: Any, step: Any) -> list[Any]:
        return [
            np.array(answers)
            for answers in zip(*(self.once(table, noise) for _ in range(count)), strict=True)
        ]

    def once(self, table: Any, noise: NoiseSource) -> list[FloatVector]:
        sent: list[FloatVector] = []
        problem, method = self.plan.problem, self.plan.specification.method
        assert isinstance(method, JointMethod)
        held = JoinedRows((table, FAR)) if method.reads_together else table
        own, other = (Curator(rows, self.plan.releases, noise) for rows in (held, OTHER))

        def seen(release: Release, at: FloatVector | None = None) -> FloatVector:
            sent.append(own.ask(release, at))
            return sent[-1]

        parties = {"attacked": Party(problem, self.plan.releases, seen)}
        if not method.reads_together:
            parties["other"] = Party(problem, self.plan.releases, other.ask)
        method.join(problem_of_all([problem] * len(parties)), parties)
        assert len(sent) == len(self.releases)
        return sent


def of_transcript(title: str, method: JointMethod, privacy: dpglm.Privacy, *, trials: int) -> Case:
    """A case of a joint method at two sites, on the worst case of its first release."""
    plan = dpglm.plan("y ~ x - 1 + offset(z)", SCHEMA, n=2, method=method, penalty="none", privacy=privacy)
    pair = release_neighbours(plan.releases.releases[0], privacy.relation, 1)
    claim = claimed(privacy)

    def run(share: float, seed: int, trials: int) -> Outcome:
        act: Any = Transcript(plan if share == 1.0 else with_less_noise(plan, share))
        found = bounded(act, [pair], claim, SeededNoise(seed), trials=trials, failure=FAILURE)
        return Outcome(found.bound.epsilon, found.bound.refuted)

    return Case(type(method), f"{title} {privacy.relation}", claim, trials, run)


def cases() -> list[Case]:
    found = []
    for relation in RELATIONS:
        gdp = dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation)
        found += [
            of_transcript("transcript, Gaussian", DLVP(steps=3), gdp, trials=8000),
            of_transcript("transcript, Gaussian", DPADMM(steps=2, parties=1), gdp, trials=8000),
            of_transcript("output, Gaussian", DLP(), gdp, trials=8000),
            of_transcript("output, pure", DLP(), dpglm.Privacy(2.0, relation=relation), trials=8000),
        ]
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
