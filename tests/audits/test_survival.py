"""The claim of a fit of times and events stands on raw tables; where each period counts in full it falls.

The neighbours are raw tables that differ in one row, through a whole plan: cleaning, periods, shares,
releases and rounding. The person of that row is at risk in all periods, in a model of one column, so that all
rows that it becomes point one way.
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


def people(ana: list[tuple[float, str]], others: int) -> pd.DataFrame:
    """Ana, or nobody, among others who have the event at once, the more the nearer her hazard is to 1."""
    return pd.DataFrame([*[AT_ONCE] * others, *ana, (2.0, "no")], columns=["week", "ill"])


def refuted(relation: Any, method: str, seed: int, trials: int = 1500, others: int = 1) -> bool:
    """Whether fits on two tables that differ in Ana's row contradict the claim."""
    privacy = dpglm.Privacy(1.0, relation=relation)
    schema = dpglm.Schema.of({"week": (1, PERIODS), "ill": ["no", "yes"]}, rows=10)
    plan = dpglm.plan(FORMULA, schema, method=method, penalty="none", goal="predict", privacy=privacy)
    instead = [] if relation == "add-remove" else [AT_ONCE]
    pair = Neighbours("raw tables", people([NEVER], others), people(instead, others))  # type: ignore[arg-type]
    act: Any = Fits(plan)
    return bounded(
        act, [pair], claimed(privacy), SeededNoise(seed), trials=trials, failure=FAILURE
    ).bound.refuted


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_person_at_risk_in_all_periods_costs_what_is_claimed_and_more_where_each_counts_in_full(
    relation: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not refuted(relation, method, 1)
    # The twin: rows of persons and periods as if each were somebody's own.
    monkeypatch.setattr(PersonPeriods, "shares", lambda self, count: np.ones(count))
    assert refuted(relation, method, 2)


@pytest.mark.audit
def test_shares_twice_as_large_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(self: PersonPeriods, count: int) -> FloatVector:
        return np.full(count, 2.0 * self.share)

    monkeypatch.setattr(PersonPeriods, "shares", doubled)
    assert refuted("add-remove", "objective", 3, 4000, others=60)
