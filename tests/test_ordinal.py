"""Fits of family="ordinal": what they promise, refuse, keep and say."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import DpglmError, FormulaError, MethodError, PrivacyError, SchemaError
from tests.oracles.test_ordinal import FORMULA, LEVELS, SCHEMA, people

BUDGET = dpglm.Privacy(4.0, 1e-6, relation="add-remove")
INTERCEPTS = [f"Intercept[above {level}]" for level in LEVELS[:-1]]


def fitted(table: Any, formula: str = FORMULA, **chosen: Any) -> dpglm.FitResult:
    options: dict[str, Any] = {"schema": SCHEMA, "privacy": BUDGET, "seed": 1, "progress": False}
    found = dpglm.fit(formula, table, family="ordinal", **(options | chosen))
    assert isinstance(found, dpglm.FitResult)
    return found


def plan(formula: str = FORMULA, schema: Any = SCHEMA, **chosen: Any) -> dpglm.Plan:
    options: dict[str, Any] = {"privacy": BUDGET}
    return dpglm.plan(formula, schema, family="ordinal", **(options | chosen))


@pytest.fixture(scope="module")
def fit() -> dpglm.FitResult:
    return fitted(people(8000))


def test_the_price_is_that_of_persons_and_neighbours_differ_in_a_row() -> None:
    planned = plan(n=8000)
    assert planned.guarantee.unit == "one row"
    assert "when they differ in one row, present or absent" in planned.guarantee.statement()
    assert "for persons" in planned.guarantee.theorem
    assert {release.covers for release in planned.releases.releases} == {"all rows"}
    privacy = planned.specification.privacy
    assert privacy is not None
    assert privacy.shared
    assert privacy.unit_rows == len(LEVELS) - 1


def test_a_budget_for_another_number_of_rows_is_refused_where_plans_are_made() -> None:
    spec = dpglm.ModelSpec.of(FORMULA, SCHEMA, family="ordinal", privacy=BUDGET)
    object.__setattr__(spec, "privacy", BUDGET)
    with pytest.raises(PrivacyError, match="a price of 1 rows"):
        spec.problem()


def test_a_specification_in_a_file_has_the_same_price() -> None:
    spec = dpglm.ModelSpec.of(FORMULA, SCHEMA, family="ordinal", privacy=BUDGET)
    again = dpglm.ModelSpec.from_json(spec.to_json())
    assert again.plan().fingerprint == spec.plan().fingerprint
    assert again.privacy == spec.privacy


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        (LEVELS, "without an order"),
        ({"levels": LEVELS}, "without an order"),
        ({"levels": LEVELS, "ordered": False}, "without an order"),
        ({"levels": ["no", "yes"], "ordered": True}, "family='binomial'"),
        ((0, 3), "List the values as levels"),
        ({"levels": list(range(102)), "ordered": True}, "102 levels"),
        ({"levels": LEVELS, "ordered": "yes"}, "true or false"),
        ({"bounds": (0, 3), "ordered": True}, "ordered"),
    ],
)
def test_what_is_no_order_of_three_levels_or_more_is_refused(grade: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        plan(schema=SCHEMA | {"grade": grade})


def test_a_hundred_and_one_levels_are_a_hundred_stages() -> None:
    grade = {"levels": list(range(101)), "ordered": True}
    assert len(plan(schema=SCHEMA | {"grade": grade}).names) == 100 + 3


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("Surv(grade, arm) ~ x", "single column"),
        ("np.log(x) ~ arm", "single column"),
        ("grad ~ x", "Did you mean grade"),
        ("grade ~ x - C(grade)", "intercept for each level"),
        ("grade ~ x + grade", "combinations"),
    ],
)
def test_formulas_without_a_response_of_levels_are_refused(formula: str, words: str) -> None:
    with pytest.raises(FormulaError, match=words):
        plan(formula)


@pytest.mark.parametrize("right", ["x", "0 + x", "1 + x", "x + 1", "x - 1", "x + C(grade)"])
def test_intercepts_of_stages_are_always_there(right: str) -> None:
    assert list(plan(f"grade ~ {right}").names) == [*INTERCEPTS, "x"]


def test_a_quoted_response_is_the_same() -> None:
    schema = {"the grade": SCHEMA["grade"], "x": (-3, 3)}
    assert list(plan('Q("the grade") ~ x', schema).names) == [*INTERCEPTS, "x"]


@pytest.mark.parametrize(
    "chosen",
    [
        {"method": "dpsgd", "schema": dpglm.Schema.of(SCHEMA, rows=3000)},
        {"method": "dpsc"},
        {"method": "pst-s", "privacy": (1.0, 1e-6)},
        {"penalty": "l2", "strength": 0.1},
    ],
)
def test_what_has_no_proof_for_several_stages_is_refused(chosen: dict[str, Any]) -> None:
    with pytest.raises((MethodError, PrivacyError)):
        fitted(people(100), **chosen)


def test_very_wide_designs_are_refused_before_a_charge() -> None:
    with pytest.raises(MethodError, match="an ordinal response with"):
        plan("grade ~ x + z", SCHEMA | {"z": list(range(6000))})


def test_the_first_row_of_each_person_is_read_where_a_column_tells_persons() -> None:
    table = people(3000).assign(who=[f"p{k}" for k in range(3000)])
    twice = pd.concat([table, table.assign(x=0.0, grade="best")])
    once = dpglm.Schema.of(SCHEMA, unit={"column": "who", "rows": 1})
    np.testing.assert_array_equal(fitted(twice, schema=once).params, fitted(table).params)
    assert "all rows with the same who" in plan(schema=once).guarantee.statement()
    several = dpglm.Schema.of(SCHEMA, unit={"column": "who"})
    with pytest.raises(PrivacyError, match="rows: 1"):
        plan(schema=several)
    with pytest.raises(PrivacyError, match="rows: 1"):
        fitted(twice, schema=several, privacy=None, seed=None)


def test_who_has_no_declared_level_contributes_nothing_and_nobody_is_told() -> None:
    table = people(3000)
    lost = pd.DataFrame({"grade": ["Best", None, "", 7.0, np.nan, "poor "], "x": 3.0, "arm": "c"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted(pd.concat([table, lost]))
        only = fitted(lost)
    np.testing.assert_array_equal(found.params, fitted(table).params)
    assert np.isfinite(only.params).all()
    kept = fitted(pd.concat([table, lost]), schema=SCHEMA | {"grade": SCHEMA["grade"] | {"other": "poor"}})
    assert not np.array_equal(kept.params, found.params)


def test_a_positive_slope_means_higher_levels_and_the_summary_says_so(fit: dpglm.FitResult) -> None:
    assert fit.params["x"] > 0.4  # 0.6 when drawn
    low, high = fit.predict({"x": [-2.0, 2.0], "arm": "a"}).to_numpy()
    assert low[0] > high[0]
    assert low[-1] < high[-1]
    text = " ".join(str(fit.summary()).split())
    assert "rdinal regression" in text
    assert "a positive one means higher levels, towards best" in text


def test_files_and_saved_results_give_the_same(fit: dpglm.FitResult, tmp_path: Path) -> None:
    people(8000).to_csv(tmp_path / "people.csv", index=False)
    np.testing.assert_array_equal(fitted(tmp_path / "people.csv").params, fit.params)
    fit.save(tmp_path / "fit.json")
    again = dpglm.load(tmp_path / "fit.json")
    assert isinstance(again, dpglm.FitResult)
    new = people(20).drop(columns="grade")
    pd.testing.assert_frame_equal(again.predict(new), fit.predict(new))
    new.to_csv(tmp_path / "new.csv", index=False)
    from_file = again.predict(str(tmp_path / "new.csv"))
    np.testing.assert_allclose(from_file, fit.predict(new), rtol=1e-9)  # as far as the file has digits
    pd.testing.assert_frame_equal(again.survival({"arm": None}), fit.survival({"arm": None}))
    assert "differs" not in str(dpglm.verify(tmp_path / "fit.json")).lower()
    fit.report(tmp_path / "fit.html")
    assert "higher levels" in (tmp_path / "fit.html").read_text(encoding="utf-8")


def test_the_response_of_new_rows_is_not_read(fit: dpglm.FitResult) -> None:
    new = people(20)
    expected = fit.predict(new)
    for grade in ("best", "strange", None):
        pd.testing.assert_frame_equal(fit.predict(new.assign(grade=grade)), expected)
        assert fit.survival(new.assign(grade=grade)).equals(fit.survival(new))


def test_predictions_are_frames_of_levels_and_rows_without_one_are_nan(fit: dpglm.FitResult) -> None:
    new = {"x": [0.0, None], "arm": ["a", "b"]}
    found, link = fit.predict(new), fit.predict(new, "link")
    assert list(found.columns) == LEVELS
    assert list(link.columns) == LEVELS[:-1]
    np.testing.assert_allclose(found.iloc[0].sum(), 1.0)
    assert found.iloc[1].isna().all()
    np.testing.assert_allclose(link.iloc[0], fit.params[INTERCEPTS], rtol=1e-9)
    most = fit.predict(new, "class")
    assert most.iloc[0] == found.columns[found.iloc[0].argmax()]
    assert pd.isna(most.iloc[1])


@pytest.mark.parametrize("chosen", [{"interval": 0.9}, {"se": True}, {"what": "odds"}])
def test_what_predictions_have_not_is_refused(chosen: dict[str, Any], fit: dpglm.FitResult) -> None:
    with pytest.raises(MethodError):
        fit.predict({"x": 0.0, "arm": "a"}, **chosen)


def test_higher_levels_have_intervals_and_a_figure(fit: dpglm.FitResult) -> None:
    curves = fit.survival({"arm": None, "x": [-1.0, 1.0]})
    assert list(curves["grade"].unique()) == LEVELS[:-1]
    assert ((curves["conf_low"] <= curves["estimate"]) & (curves["estimate"] <= curves["conf_high"])).all()
    at = curves[(curves["arm"] == "a") & (curves["x"] == 1.0)]["estimate"].to_numpy()
    levels = fit.predict({"x": 1.0, "arm": "a"}).to_numpy()[0]
    # Points with intervals are debiased, predictions are those of the coefficients as released.
    np.testing.assert_allclose(at, levels[::-1].cumsum()[::-1][1:], rtol=1e-3)
    axes = fit.plot("survival", grid=fit.grid(arm=["a", "b"]))
    assert axes.get_legend_handles_labels()[1] == ["arm a", "arm b"]
    assert axes.get_ylabel() == "above the level"
    with pytest.raises(MethodError, match="response"):
        fit.survival({"grade": "best"})


def test_stages_are_a_grid_and_the_highest_level_is_none(fit: dpglm.FitResult) -> None:
    assert list(fit.grid(grade=None)["grade"]) == LEVELS[:-1]
    margins = fit.margins("grade")
    assert list(margins["grade"]) == LEVELS[:-1]
    assert (np.diff(margins["estimate"]) < 0.0).all()
    with pytest.raises(MethodError, match="best"):
        fit.grid(grade="best")
    with pytest.raises(MethodError, match="levels"):
        fit.auc(people(50))


def test_tests_and_penalties_leave_intercepts_alone(fit: dpglm.FitResult) -> None:
    assert list(fit.anova()["term"]) == ["C(arm)", "x"]
    assert fit.wald_test(f"{INTERCEPTS[0]} = {INTERCEPTS[1]}").p_value < 1e-3
    none = fit.refit("l1", strength=1e6)
    assert none.params[["x", "C(arm)[T.b]", "C(arm)[T.c]"]].eq(0.0).all()
    assert (np.diff(none.params[INTERCEPTS]) < 0.0).all()
    # Those of the model without slopes: the shares of levels, up to the noise of either.
    shares = fitted(people(8000), "grade ~ 1", privacy=None, seed=None).params
    np.testing.assert_allclose(none.params[INTERCEPTS], shares, atol=0.1)
    assert set(fit.select("fdr", q=0.1).params.index) == set(fit.names)
    assert fit.path("l1").counts.max() == 3


@pytest.mark.parametrize("goal", ["predict", "select"])
def test_goals_find_the_same_direction(goal: str) -> None:
    found = fitted(people(8000), goal=goal)
    np.testing.assert_allclose(found.params["x"], 0.6, atol=0.15)
    np.testing.assert_allclose(found.params[INTERCEPTS], [0.9, 0.2, -0.6], atol=0.35)


def test_a_penalty_without_privacy_shrinks_slopes_towards_the_shares_of_levels() -> None:
    table = people(4000)
    found = fitted(table, privacy=None, seed=None, penalty="l1", strength=10.0)
    shares = fitted(table, "grade ~ 1", privacy=None, seed=None).params
    assert found.params[["x", "C(arm)[T.b]"]].eq(0.0).all()
    np.testing.assert_allclose(found.params[INTERCEPTS], shares, atol=1e-5)


def test_terms_are_dropped_but_no_stages() -> None:
    table = people(2000).assign(noise=np.random.default_rng(2).normal(size=2000))
    options: dict[str, Any] = {"schema": SCHEMA | {"noise": (-4, 4)}, "privacy": None, "seed": None}
    exact = fitted(table, "grade ~ x + noise", **options)
    small, dropped = fitted(table, "grade ~ x", **options), exact.refit(drop="noise")
    assert list(dropped.params.index) == [*INTERCEPTS, "x"]
    np.testing.assert_allclose(dropped.params, small.params, atol=0.005)
    with pytest.raises(MethodError, match="grade"):
        exact.refit(drop="grade")
    with pytest.raises(MethodError, match="stages"):
        exact.refit(merge={"grade": {"low": ["poor", "fair"]}})


def test_levels_of_a_factor_that_do_not_differ_are_merged(fit: dpglm.FitResult) -> None:
    merged = fit.refit(merge={"arm": {"old": ["a", "c"]}})  # alike when drawn
    assert list(merged.params.index) == [*INTERCEPTS, "C(arm)[T.b]", "x"]
    np.testing.assert_allclose(merged.params["x"], fit.params["x"], atol=0.02)
    assert list(merged.predict({"x": 0.0, "arm": "old"}).columns) == LEVELS


def test_fits_of_two_hospitals_are_pooled() -> None:
    halves = {site: fitted(people(4000, seed), seed=seed) for seed, site in enumerate(["north", "south"], 1)}
    pooled = dpglm.pool(halves)
    assert isinstance(pooled, dpglm.FitResult)
    assert list(pooled.params.index[:3]) == INTERCEPTS
    assert list(pooled.predict(people(3)).columns) == LEVELS


def test_a_plan_expects_what_a_fit_finds(fit: dpglm.FitResult) -> None:
    """Within a third of it, from declared shares alone."""
    shares = (people(8000)["grade"].value_counts(normalize=True)[LEVELS]).round(2).tolist()
    schema = SCHEMA | {"grade": SCHEMA["grade"] | {"shares": shares}, "x": {"bounds": (-3, 3), "sd": 1}}
    apart = np.log(plan(schema=schema, n=8000).expected().std_error / fit.bse.to_numpy())
    assert np.median(np.abs(apart)) < np.log(4.0 / 3.0)


def test_other_families_do_not_take_more_than_two_levels() -> None:
    with pytest.raises(DpglmError, match="family='ordinal'"):
        dpglm.plan(FORMULA, SCHEMA, privacy=BUDGET)
