"""Fits of Surv(time, event): what they promise, refuse, keep and say."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import DpglmError, FormulaError, MethodError, PrivacyError
from dpglm.spec.profiled import known_moments
from tests.oracles.test_survival import FORMULA, SCHEMA, WEEKS, people

BUDGET = dpglm.Privacy(4.0, 1e-6, relation="add-remove")


def fitted(table: pd.DataFrame, formula: str = FORMULA, **chosen: Any) -> dpglm.FitResult:
    options: dict[str, Any] = {"schema": SCHEMA, "privacy": BUDGET, "seed": 1, "progress": False}
    found = dpglm.fit(formula, table, **(options | chosen))
    assert isinstance(found, dpglm.FitResult)
    return found


@pytest.fixture(scope="module")
def fit() -> dpglm.FitResult:
    return fitted(people(8000))


def test_the_price_is_that_of_persons_and_neighbours_differ_in_a_row() -> None:
    plan = dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET, n=8000)
    assert plan.guarantee.unit == "one row"
    assert not plan.guarantee.persons
    assert "when they differ in one row, present or absent" in plan.guarantee.statement()
    assert "for persons" in plan.guarantee.theorem
    privacy = plan.specification.privacy
    assert privacy is not None
    assert privacy.shared
    assert privacy.unit_rows == WEEKS
    assert not dpglm.ModelSpec.of(FORMULA, SCHEMA, privacy=1.0).rows_are_public


@pytest.mark.parametrize(
    "formula", ["(Surv(week, left)) ~ x", "Surv (week, left) ~ x", "Surv(\nweek,\nleft) ~ x"]
)
def test_the_price_is_that_of_persons_however_the_time_is_written(formula: str) -> None:
    """A plan that missed the time would promise the price of one row for all rows of a person."""
    plan = dpglm.plan(formula, SCHEMA, privacy=BUDGET)
    privacy = plan.specification.privacy
    assert privacy is not None
    assert privacy.shared
    assert {release.covers for release in plan.releases.releases} == {"all rows"}
    text = str(fitted(people(500), formula).summary())
    assert "log odds of the hazard" in " ".join(text.split())


def test_a_budget_for_another_number_of_rows_is_refused_where_plans_are_made() -> None:
    spec = dpglm.ModelSpec.of(FORMULA, SCHEMA, privacy=BUDGET)
    object.__setattr__(spec, "privacy", BUDGET)
    with pytest.raises(PrivacyError, match="a price of 1 rows"):
        spec.problem()


def test_more_periods_cost_nothing_in_the_plan_but_weigh_less() -> None:
    """The noise is that of one row a person, whatever K is; a period is one part in K."""
    scales = []
    for last in (2, 20):
        plan = dpglm.plan("Surv(week, left) ~ x", SCHEMA | {"week": (1, last)}, privacy=BUDGET)
        scales.append(plan.releases.releases[2].inside.scale)  # type: ignore[attr-defined]
    # The ridge, which follows from the number of columns, moves the noise a little.
    np.testing.assert_allclose(scales[0], scales[1], rtol=0.05)


def test_the_first_row_of_each_person_is_read_where_a_column_tells_persons() -> None:
    table = people(3000).assign(who=[f"p{k}" for k in range(3000)])
    twice = pd.concat([table, table.assign(x=0.0, week=1)])
    once = dpglm.Schema.of(SCHEMA, unit={"column": "who", "rows": 1})
    first, alone = fitted(twice, schema=once), fitted(table)
    np.testing.assert_array_equal(first.params, alone.params)
    assert "exchanged" not in first.privacy.statement()
    plan = dpglm.plan(FORMULA, once, privacy=BUDGET)
    assert plan.guarantee.persons
    assert "all rows with the same who" in plan.guarantee.statement()
    several = dpglm.Schema.of(SCHEMA, unit={"column": "who"})
    with pytest.raises(PrivacyError, match="rows: 1"):
        dpglm.plan(FORMULA, several, privacy=BUDGET)
    with pytest.raises(PrivacyError, match="rows: 1"):  # their shares would be lost without a word
        fitted(twice, schema=several, privacy=None, seed=None)


def test_levels_and_bounds_give_the_same_fit(fit: dpglm.FitResult) -> None:
    levels = [str(week) for week in range(1, WEEKS + 1)]
    assert fitted(people(8000), schema=SCHEMA | {"week": levels}).params.equals(fit.params)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("Surv(week) ~ x", "lacks event"),
        ("Surv(np.log(week), left) ~ x", "two columns"),
        ("Surv(week, week) ~ x", "same column"),
        ("Surv(half, left) ~ x", "whole periods"),
        ("Surv(many, left) ~ x", "more than 100 periods"),
        ("Surv(huge, left) ~ x", "whole periods"),
        ("Surv(week, left) ~ x + left", "both sides"),
        ("Surv(week, x) ~ arm", "two levels"),
        ("Surv(wek, left) ~ x", "Did you mean week"),
    ],
)
def test_times_without_public_periods_are_refused(formula: str, words: str) -> None:
    schema = SCHEMA | {"half": (0.5, 6), "many": (1, 101), "huge": (2**53, 2**53 + 2)}
    with pytest.raises(DpglmError, match=words):
        dpglm.plan(formula, schema, privacy=BUDGET)
    assert dpglm.plan("Surv(many, left) ~ x", SCHEMA | {"many": (1, 100)}, privacy=BUDGET).names


@pytest.mark.parametrize(
    "chosen",
    [
        {"method": "dpsgd", "schema": dpglm.Schema.of(SCHEMA, rows=3000)},
        {"method": "dpsc"},
        {"method": "pst-s", "privacy": (1.0, 1e-6)},
        {"family": "poisson"},
        {"family": "huber_svm"},
        {"penalty": "l2", "strength": 0.1},
    ],
)
def test_what_has_no_proof_for_several_periods_is_refused(chosen: dict[str, Any]) -> None:
    with pytest.raises((MethodError, PrivacyError)):
        fitted(people(100), **chosen)


@pytest.mark.papers
def test_a_refusal_says_what_there_is_more_of() -> None:
    schema = dpglm.Schema.of(SCHEMA, rows=3000)
    with pytest.raises(MethodError, match="several periods of one person"):
        dpglm.plan(FORMULA, schema, method="dpsgd", privacy=BUDGET)


def test_a_profile_of_times_tells_the_periods_of_rows() -> None:
    """Nearly all are seen to the end: the mean of times is near 12, and that of the periods of rows 6.5."""
    week = {"bounds": (1, 12), "mean": 11.4, "sd": 1.9}
    schema = dpglm.Schema.of({**SCHEMA, "week": week, "x": {"bounds": (-3, 3), "mean": 0, "sd": 1}})
    known = dataclasses.replace(schema, moments="known")
    model = dpglm.ModelSpec.of("Surv(week, left) ~ week + x", known, privacy=BUDGET).coded_model
    moments = known_moments(model)
    assert moments is not None
    np.testing.assert_allclose(moments["week"], (6.5, np.sqrt((12**2 - 1) / 12)), rtol=0.06)
    np.testing.assert_allclose(moments["x"], (0.0, 1.0), atol=0.01)


def test_a_ranking_of_columns_is_refused() -> None:
    with pytest.raises(FormulaError, match="times"):
        dpglm.rank_features(FORMULA, people(100), schema=SCHEMA, privacy=(1.0, 1e-6))


def test_a_table_on_a_cluster_is_refused() -> None:
    dask = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**options), pytest.raises(MethodError, match="cluster"):
        fitted(dask.from_pandas(people(100), npartitions=2))


def test_files_and_saved_results_give_the_same(fit: dpglm.FitResult, tmp_path: Path) -> None:
    people(8000).to_csv(tmp_path / "people.csv", index=False)
    np.testing.assert_array_equal(fitted(tmp_path / "people.csv").params, fit.params)  # type: ignore[arg-type]
    fit.save(tmp_path / "fit.json")
    again = dpglm.load(tmp_path / "fit.json")
    assert isinstance(again, dpglm.FitResult)
    pd.testing.assert_frame_equal(again.survival({"arm": None}), fit.survival({"arm": None}))
    assert "differs" not in str(dpglm.verify(tmp_path / "fit.json")).lower()


def test_summary_report_and_hints_say_what_a_coefficient_is(fit: dpglm.FitResult, tmp_path: Path) -> None:
    text = " ".join(str(fit.summary()).split())
    assert "Discrete-time survival regression" in text
    assert "Coefficients are log odds of the hazard" in text
    fit.report(tmp_path / "fit.html")
    assert "log odds of the hazard" in (tmp_path / "fit.html").read_text(encoding="utf-8")
    for name in ("survfit", "coxph"):
        with pytest.raises(AttributeError, match=r"Surv\(time, event\)"):
            getattr(fit, name)


def test_curves_fall_and_stay_within_their_intervals(fit: dpglm.FitResult) -> None:
    curves = fit.survival({"arm": None, "x": [-1.0, 1.0]})
    assert len(curves) == 3 * 2 * WEEKS
    assert list(curves["week"].unique()) == list(range(1, WEEKS + 1))
    for _, curve in curves.groupby(["arm", "x"]):
        assert (np.diff(curve["estimate"]) <= 0.0).all()
        assert ((curve["conf_low"] <= curve["estimate"]) & (curve["estimate"] <= curve["conf_high"])).all()
    inside = curves[["conf_low", "conf_high"]].to_numpy()
    assert ((inside > 0.0) & (inside < 1.0)).all()
    hazards = fit.predict({"week": [1], "arm": ["a"], "x": [-1.0]}, se=True)["mean"]
    at = curves[(curves["week"] == 1) & (curves["arm"] == "a") & (curves["x"] == -1.0)]
    np.testing.assert_allclose(1.0 - at["estimate"], hazards, rtol=1e-9)
    pd.testing.assert_frame_equal(fit.survival(fit.grid(arm=None)), fit.survival({"arm": None}))


@pytest.mark.parametrize("rows", [{"week": 2}, {"who": 1}, {"arm": "z"}, 5, people(10).iloc[:0]])
def test_rows_that_are_none_are_refused(rows: Any, fit: dpglm.FitResult) -> None:
    with pytest.raises(MethodError):
        fit.survival(rows)


def test_a_curve_for_each_row_that_the_formula_tells_apart(fit: dpglm.FitResult) -> None:
    rows = fit.grid(arm=["a", "b"]).assign(week=[2, 3], who=[1, 2])
    twice = pd.concat([rows, rows.assign(who=[3, 4])])[["who", "arm", "x", "week"]]
    pd.testing.assert_frame_equal(
        fit.survival(twice)[fit.survival({"arm": ["a"]}).columns], fit.survival({"arm": ["a", "b"]})
    )
    assert "who" not in fit.survival(twice)
    alone = fitted(people(500), "Surv(week, left) ~ 1")
    assert len(alone.survival(people(9))) == WEEKS


def test_none_stands_for_all_periods_and_a_time_that_is_not_named_is_the_first(fit: dpglm.FitResult) -> None:
    assert list(fit.grid(week=None)["week"]) == list(range(1, WEEKS + 1))
    assert list(fit.grid(arm=None)["week"]) == [1, 1, 1]
    assert len(fit.margins("week")) == WEEKS


def test_areas_under_curves_of_levels_are_refused(fit: dpglm.FitResult) -> None:
    with pytest.raises(MethodError, match="hazards"):
        fit.auc(people(50))


def test_other_fits_have_no_survival() -> None:
    with pytest.raises(MethodError, match="discrete times"):
        fitted(people(500), "left ~ x").survival()


def test_survival_is_drawn_with_its_intervals(fit: dpglm.FitResult) -> None:
    axes = fit.plot("survival", grid=fit.grid(arm=["a", "b"]))
    assert axes.get_legend_handles_labels()[1] == ["arm a", "arm b"]
    assert axes.get_ylim() == (0.0, 1.0)
    assert fit.plot("survival").get_lines()
    with pytest.raises(MethodError, match="8"):
        fit.plot("survival", grid=fit.grid(x=[0.1 * k for k in range(9)]))
    with pytest.raises(MethodError, match="grid"):
        fit.plot("coef", grid=fit.grid(arm=None))


def test_terms_are_dropped_but_not_the_baseline() -> None:
    exact = fitted(people(2000), "Surv(week, left) ~ x + C(arm)", privacy=None, seed=None)
    with pytest.raises(MethodError, match="baseline"):
        exact.refit(drop="C(week)")


def test_periods_are_not_merged() -> None:
    """Somebody is at risk in each of two periods: a curve would count one of them."""
    levels = [str(week) for week in range(1, WEEKS + 1)]
    found = fitted(people(2000), schema=SCHEMA | {"week": levels})
    with pytest.raises(MethodError, match="whose levels are periods"):
        found.refit(merge={"week": {"first": ["1", "2"]}})


def test_a_plan_expects_what_a_fit_finds(fit: dpglm.FitResult) -> None:
    """Within a third of it, from declared shares alone: half of the persons at risk have the event."""
    week = {"bounds": (1, WEEKS), "mean": 3.4, "sd": 1.9}
    schema = SCHEMA | {"week": week, "x": {"bounds": (-3, 3), "sd": 1}}
    plan = dpglm.plan(FORMULA, schema, privacy=BUDGET, n=8000)
    apart = np.log(plan.expected(rate=0.5).std_error / fit.bse.to_numpy())
    assert np.median(np.abs(apart)) < np.log(4.0 / 3.0)
