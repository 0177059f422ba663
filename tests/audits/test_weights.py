"""Claims of fits with weights stand on raw tables; where a weight beyond its bound counts for more, not.

The neighbours are raw tables that differ in one row, whose weight is thirty times the declared bound, through
a whole plan: cleaning, shares, coding, releases and rounding. The twin forgets the cap: that row then counts
for thirty. The release of the score's spread is drawn on coded rows, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.auditing.bounds import bounded
from dpglm.auditing.neighbours import Neighbours, release_neighbours
from dpglm.data.coding.row_weights import RowWeights
from dpglm.data.schema.variables import Numeric
from dpglm.glm.families import families
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.residuals import Residuals
from dpglm.mechanisms.score_norms import SPREAD, ResidualNorms, ScoreNorms, spread_of_score
from dpglm.privacy.gdp import gdp_mu
from dpglm.typing import BoolVector, FloatVector
from tests.audits.harness import FAILURE, Case, check, claimed, of_plan, of_releases, under_both
from tests.audits.test_persons import Fits

HIGH = 8.0


def people(of_ana: list[tuple[float, str, float]]) -> pd.DataFrame:
    """Ana, or nobody, between two others: number, response and weight."""
    rows = [(0.0, "no", HIGH), *of_ana, (0.0, "yes", HIGH)]
    return pd.DataFrame(rows, columns=["x", "ill", "w"])


def refuted(relation: Any, method: str, seed: int, weight: float = 30.0 * HIGH, unit: Any = None) -> bool:
    """Whether fits on two tables that differ in Ana's row contradict the claim."""
    privacy = dpglm.Privacy(1.0, relation=relation)
    schema = dpglm.Schema.of({"x": (-1, 1), "ill": ["no", "yes"], "w": (0, HIGH)}, rows=10, unit=unit)
    options: dict[str, Any] = {"method": method, "penalty": "none", "goal": "predict", "privacy": privacy}
    plan = dpglm.plan("ill ~ x - 1", schema, weights="w", **options)
    instead = [] if relation == "add-remove" else [(1.0, "no", weight)]
    first, second = people([(1.0, "yes", weight)]), people(instead)
    if unit is not None:
        first, second = (table.assign(who=np.arange(len(table))) for table in (first, second))
    pair = Neighbours("raw tables", first, second)  # type: ignore[arg-type]
    act: Any = Fits(plan)
    return bounded(
        act, [pair], claimed(privacy), SeededNoise(seed), trials=1500, failure=FAILURE
    ).bound.refuted


def forget_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights as they are written, divided by the bound: neither cleaned nor cut."""
    filled = Numeric.filled

    def written(self: Numeric, values: FloatVector, numbers: FloatVector) -> FloatVector:
        return numbers if self.high == HIGH else filled(self, values, numbers)

    def uncut(
        self: RowWeights, weights: FloatVector, of_persons: FloatVector | None = None
    ) -> tuple[FloatVector, BoolVector]:
        return weights / self.high, np.ones(len(weights), dtype=np.bool_)

    monkeypatch.setattr(Numeric, "filled", written)
    monkeypatch.setattr(RowWeights, "shares", uncut)


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_weight_beyond_its_bound_costs_what_is_claimed_and_more_where_the_cap_is_forgotten(
    relation: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not refuted(relation, method, 1)
    forget_the_cap(monkeypatch)
    assert refuted(relation, method, 2)


@pytest.mark.audit
def test_a_person_of_one_row_with_a_weight_keeps_the_claim_too(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = {"column": "who", "rows": 1}
    assert not refuted("add-remove", "objective", 3, unit=unit)
    forget_the_cap(monkeypatch)
    assert refuted("add-remove", "objective", 4, unit=unit)


def spreads() -> list[Case]:
    """Of rows with a slope of 1, or a residual that becomes 1, against none: no exchange does more."""
    found = []
    for title, privacy in under_both():
        if privacy.relation == "replace-one":
            continue
        pure = privacy.definition == "pure"
        price = privacy.epsilon if pure else gdp_mu(privacy.epsilon, privacy.delta)
        mappings = {
            "scores": ScoreNorms(families["binomial"]()),
            "scores of counts": ScoreNorms(families["poisson"]().with_bound(20.0)),
            "residuals": ResidualNorms(Residuals(SPREAD)),
            "counts": ResidualNorms(Residuals(SPREAD, 20.0)),
        }
        for words, mapping in mappings.items():
            release = spread_of_score(mapping, price, privacy.relation, "gamma" if pure else "gaussian")
            near = [release_neighbours(release, privacy.relation, 2)]
            what = f"spread of {words}, {title}"
            found.append(of_releases(Mapped, what, privacy, [release], near, trials=9000))
    return found


def plans() -> list[Case]:
    """All releases of plans with weights, on the raw tables that `dpglm.audit` makes."""
    schema = {"x": (0, 1), "w": (0, HIGH), "ill": ["no", "yes"], "pain": (0, 1), "visits": (0, 20)}
    found = []
    for response, family in (("ill", "binomial"), ("pain", "gaussian"), ("visits", "poisson")):
        privacy = dpglm.Privacy(2.0, 0.3, relation="add-remove")
        plan = dpglm.plan(f"{response} ~ x", schema, n=1000, family=family, privacy=privacy, weights="w")
        found.append(of_plan(f"weights, {family}", plan, trials=1000, part=None))
    pure = dpglm.Privacy(2.0, relation="add-remove")
    plan = dpglm.plan("visits ~ x", schema, n=1000, family="poisson", privacy=pure)
    assert SPREAD in [release.name for release in plan.releases.releases]
    found.append(of_plan("counts, pure epsilon", plan, trials=1000, part=None))
    return found


@pytest.mark.audit
@pytest.mark.parametrize("case", [*spreads(), *plans()], ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
