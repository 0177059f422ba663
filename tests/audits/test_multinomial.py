"""The claim of all equations of a multinomial fit stands on raw tables; where each has the whole budget, not.

The neighbours are raw tables that differ in one row, which is at the baseline and far from it in log odds, so
that every equation reads it with a slope of 1. Each equation codes them by itself; all that is released is
looked at side by side, with the likelihood ratio where the law of a release is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.draws import Act
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import SeededNoise
from tests.audits.harness import FAILURE, claimed

LEVELS = ["office", "care", "mine", "farm"]
FAR = 30.0


@dataclass(frozen=True)
class LevelActs:
    """All releases of all equations, each on the rows as that equation codes them."""

    plan: dpglm.LevelPlan
    pair: Neighbours  # raw tables

    @property
    def releases(self) -> tuple[Release, ...]:
        return tuple(release for plan in self.plan.equations.values() for release in plan.releases.releases)

    @cached_property
    def _coded(self) -> list[tuple[Act, Neighbours]]:
        found = []
        for plan in self.plan.equations.values():
            coded = plan.specification.coded_model
            first, second = (
                Table(*coded.design(frame).chunks())  # type: ignore[arg-type]
                for frame in (self.pair.first, self.pair.second)
            )
            act = Act(plan.releases, plan.problem, plan.specification.method)
            found.append((act, Neighbours("coded", first, second)))
        return found

    def draw(self, table: Any, noise: Any, count: int, pair: Any, step: Any) -> list[Any]:
        drawn = []
        for _ in range(count):
            all_answers, ratio = [], 0.0
            for act, coded in self._coded:
                read = coded.first if table is self.pair.first else coded.second
                answers, points = act.once(read, noise, None)
                ratio += act._log_ratio(answers, points, coded)
                all_answers += answers
            drawn.append([*all_answers, np.array([ratio])])
        return [np.array(answers) for answers in zip(*drawn, strict=True)]


def jobs(of_ana: list[tuple[str, float, float]]) -> pd.DataFrame:
    """Ana, or nobody, between one at each level, whose numbers are 0."""
    rows = [("office", 0.0, 0.0), ("care", 0.0, 0.0), *of_ana, ("mine", 0.0, 0.0), ("farm", 0.0, 0.0)]
    return pd.DataFrame(rows, columns=["job", "x", "z"])


def planned(privacy: dpglm.Privacy, goal: str) -> dpglm.LevelPlan:
    schema = dpglm.Schema.of({"job": LEVELS, "x": (-1, 1), "z": (-FAR, FAR)}, rows=10)
    options: dict[str, Any] = {"penalty": "none", "goal": goal, "privacy": privacy}
    found = dpglm.plan("job ~ x - 1 + offset(z)", schema, family="multinomial", **options)
    assert isinstance(found, dpglm.LevelPlan)
    return found


def greedy(privacy: dpglm.Privacy, goal: str) -> dpglm.LevelPlan:
    """The twin: each equation has the whole budget."""
    whole = {
        level: dpglm.plan(
            "job ~ x - 1 + offset(z)",
            dpglm.Schema.of({"job": ["office", level], "x": (-1, 1), "z": (-FAR, FAR)}, rows=10),
            penalty="none",
            goal=goal,  # type: ignore[arg-type]
            privacy=privacy,
        )
        for level in LEVELS[1:]
    }
    return replace(planned(privacy, goal), equations=whole)


def refuted(plan: dpglm.LevelPlan, privacy: dpglm.Privacy, seed: int, trials: int = 2000) -> bool:
    """Whether what is released on two tables that differ in Ana's row contradicts the claim."""
    instead = [] if privacy.relation == "add-remove" else [("office", -1.0, FAR)]
    first, second = jobs([("office", 1.0, FAR)]), jobs(instead)
    pair = Neighbours("raw tables", first, second)  # type: ignore[arg-type]
    act: Any = LevelActs(plan, pair)
    found = bounded(act, [pair], claimed(privacy), SeededNoise(seed), trials=trials, failure=FAILURE)
    return found.bound.refuted


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("goal", ["predict", "explain"])
@pytest.mark.parametrize("delta", [0.0, 1e-2])
def test_all_equations_cost_what_is_claimed_and_more_where_each_has_the_whole_budget(
    relation: Any, goal: str, delta: float
) -> None:
    """With intervals a part of the budget goes to releases that this row moves less: no twin is seen."""
    privacy = dpglm.Privacy(1.0, delta, relation=relation)
    assert not refuted(planned(privacy, goal), privacy, 1)
    if goal == "predict":
        assert refuted(greedy(privacy, goal), privacy, 2)
