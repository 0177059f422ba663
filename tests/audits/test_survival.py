"""Claims of fits of times and events, and of ordered levels, stand on raw tables; where each period, or
stage, counts in full they fall.

The neighbours are raw tables that differ in one row, through a whole plan: cleaning, periods, shares,
releases and rounding. The person of that row is at risk in all periods, in a model of one column, so that all
rows that it becomes point one way. Of levels the person is above all stages, and an offset keeps slopes at 1;
each stage has an intercept, so that rows point one way in part, the more the more numbers there are beside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours
from dpglm.data.coding.person_periods import PersonPeriods
from dpglm.mechanisms.noise import SeededNoise
from dpglm.typing import FloatVector
from tests.audits.harness import FAILURE, claimed
from tests.audits.test_persons import Fits

PERIODS = 8
# A hazard that hardly depends on the period: nearly a constant, of which the coding has no other column.
FORMULA = "Surv(week, ill) ~ 0 + maximum(week, 7.99)"
NEVER, AT_ONCE = (PERIODS + 1.0, "no"), (1.0, "yes")
STAGES = 20
# Above all stages where a level above is least expected, and at the lowest level where it is most.
HIGHEST, LOWEST = (str(STAGES), -30.0, 1.0), ("0", 30.0, 1.0)


def people(ana: list[tuple[float, str]], others: int) -> pd.DataFrame:
    """Ana, or nobody, among others who have the event at once, the more the nearer her hazard is to 1."""
    return pd.DataFrame([*[AT_ONCE] * others, *ana, (2.0, "no")], columns=["week", "ill"])


def graded(ana: list[tuple[str, float, float]]) -> pd.DataFrame:
    """Ana, or nobody, beside two at the lowest levels: level, offset, and two numbers alike."""
    rows = [("0", 0.0, 0.5), *ana, ("1", 0.0, 0.5)]
    return pd.DataFrame(rows, columns=["grade", "z", "x"]).assign(more=lambda table: table["x"])


def refuted(
    relation: Any, method: str, seed: int, trials: int = 1500, others: int = 1, ordinal: bool = False
) -> bool:
    """Whether fits on two tables that differ in Ana's row contradict the claim."""
    privacy = dpglm.Privacy(1.0, relation=relation)
    options: dict[str, Any] = {"method": method, "penalty": "none", "goal": "predict", "privacy": privacy}
    if ordinal:
        levels = {"levels": [str(level) for level in range(STAGES + 1)], "ordered": True}
        schema = dpglm.Schema.of({"grade": levels, "z": (-30, 30), "x": (0, 1), "more": (0, 1)}, rows=10)
        plan = dpglm.plan("grade ~ x + more + offset(z)", schema, family="ordinal", **options)
        first, second = graded([HIGHEST]), graded([] if relation == "add-remove" else [LOWEST])
    else:
        schema = dpglm.Schema.of({"week": (1, PERIODS), "ill": ["no", "yes"]}, rows=10)
        plan = dpglm.plan(FORMULA, schema, **options)
        instead = [] if relation == "add-remove" else [AT_ONCE]
        first, second = people([NEVER], others), people(instead, others)
    pair = Neighbours("raw tables", first, second)  # type: ignore[arg-type]
    act: Any = Fits(plan)
    return bounded(
        act, [pair], claimed(privacy), SeededNoise(seed), trials=trials, failure=FAILURE
    ).bound.refuted


@pytest.mark.audit
@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_person_at_risk_in_all_periods_costs_what_is_claimed_and_more_where_each_counts_in_full(
    relation: str, method: str, ordinal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not refuted(relation, method, 1, ordinal=ordinal)
    # The twin: rows of persons and periods as if each were somebody's own.
    monkeypatch.setattr(PersonPeriods, "shares", lambda self, count: np.ones(count))
    assert refuted(relation, method, 2, ordinal=ordinal)


@pytest.mark.audit
def test_shares_twice_as_large_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(self: PersonPeriods, count: int) -> FloatVector:
        return np.full(count, 2.0 * self.share)

    monkeypatch.setattr(PersonPeriods, "shares", doubled)
    assert refuted("add-remove", "objective", 3, 4000, others=60)
