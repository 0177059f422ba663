"""Grids, contrasts, means, tests of terms and submodels: what they say, refuse, and keep in a file."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import MethodError, StoreError
from dpglm.inference.restricted_model import LOGISTIC_LIMIT
from dpglm.postprocessing import store

SCHEMA = {
    "ill": ["no", "yes"],
    "age": {"bounds": (18, 95), "mean": 50, "sd": 16},
    "dose": (0, 8),
    "sex": ["F", "M"],
    "job": {"levels": ["a", "b", "c", "rare"], "aliases": {"bee": "b"}, "other": "c"},
}
FORMULA = "ill ~ age * sex + job + np.log1p(dose)"


def table(seed: int, n: int = 4000) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.uniform(18, 95, n),
            "dose": draw.uniform(0, 8, n),
            "sex": draw.choice(["F", "M"], n),
            "job": draw.choice(["a", "b", "c", "rare"], n, p=[0.4, 0.35, 0.245, 0.005]),
        }
    )
    eta = (frame["age"] - 50) / 50 + 0.5 * (frame["job"] == "b")
    return frame.assign(ill=np.where(draw.uniform(size=n) < 1 / (1 + np.exp(-eta)), "yes", "no"))


@pytest.fixture(scope="module")
def fit() -> dpglm.FitResult:
    return dpglm.fit(FORMULA, table(1), schema=SCHEMA, privacy=(2.0, 1e-6), seed=1)


@pytest.fixture(scope="module")
def exact() -> dpglm.FitResult:
    return dpglm.fit(FORMULA, table(1), schema=SCHEMA, privacy=None)


def test_a_grid_has_all_combinations_and_usual_values(fit: dpglm.FitResult) -> None:
    grid = fit.grid(age=[30, 60], job=None)
    assert len(grid) == 8
    assert set(grid.columns) == {"age", "sex", "job", "dose"}
    assert set(grid["job"]) == {"a", "b", "c", "rare"}
    assert set(grid["sex"]) == {"F"}  # the first level
    assert set(grid["dose"]) == {4.0}  # the middle of the bounds
    assert set(fit.grid()["age"]) == {50.0}  # the declared mean
    pd.testing.assert_frame_equal(fit.grid({"age": [30, 60]}, job=None), grid)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"age": None}, "for a number"),
        ({"age": 17}, "outside its bounds"),
        ({"age": "old"}, "no numbers"),
        ({"age": []}, "outside its bounds"),
        ({"job": "d"}, "not declared"),
        ({"job": []}, "not declared"),
        ({"ill": "yes"}, "does not read"),
        ({"age": list(range(20, 90)), "dose": np.linspace(0, 8, 2000)}, "rows"),
    ],
)
def test_a_grid_is_made_of_what_is_declared(fit: dpglm.FitResult, values: dict[str, Any], told: str) -> None:
    with pytest.raises(MethodError, match=told):
        fit.grid(values)


def test_new_rows_may_be_a_dict(fit: dpglm.FitResult) -> None:
    one = fit.predict({"age": [30, 60], "sex": "M", "job": "b", "dose": 2})
    two = fit.predict(pd.DataFrame({"age": [30, 60], "sex": "M", "job": "b", "dose": 2}))
    pd.testing.assert_series_equal(one, two)
    with pytest.raises(MethodError, match="different lengths"):
        fit.predict({"age": [30, 60], "sex": ["F", "M", "F"], "job": "b", "dose": 2})


def test_predictions_with_errors_say_which_are_reliable(fit: dpglm.FitResult) -> None:
    rows = fit.predict({"age": 50, "sex": "F", "job": ["a", "rare"], "dose": 4}, se=True)
    assert rows["reliable"].tolist() == [True, False]
    assert np.isnan(rows["se"][1])
    assert (rows["ci_lower"] < rows["mean"]).all()
    assert (rows["mean"] < rows["ci_upper"]).all()
    narrow = fit.predict({"age": 50, "sex": "F", "job": "a", "dose": 4}, se=True, interval=0.5)
    assert narrow["ci_lower"][0] > rows["ci_lower"][0]
    with pytest.raises(MethodError, match="what="):
        fit.predict({"age": 50, "sex": "F", "job": "a", "dose": 4}, "class", se=True)


def test_rows_that_cannot_be_predicted_are_absent_without_a_word(fit: dpglm.FitResult) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = fit.predict({"age": [np.nan, 40.0], "sex": ["F", "X"], "job": "a", "dose": 4}, se=True)
        means = fit.margins("sex", grid=fit.grid(sex=None).assign(age=[np.nan, 40.0]))
    assert rows[["mean", "se", "ci_lower", "ci_upper"]].isna().all(axis=None)
    assert not rows["reliable"].any()
    assert means["estimate"].isna().tolist() == [True, False]


def test_the_mean_of_one_row_is_its_prediction(fit: dpglm.FitResult) -> None:
    grid = fit.grid(age=[30, 80], job="b")
    means, rows = fit.margins("age", grid=grid), fit.predict(grid, se=True)
    np.testing.assert_allclose(means["estimate"], rows["mean"], rtol=1e-10)
    np.testing.assert_allclose(means[["conf_low", "conf_high"]], rows[["ci_lower", "ci_upper"]], rtol=1e-8)


def test_means_stay_within_the_range_of_responses(fit: dpglm.FitResult) -> None:
    means = fit.margins(["job", "sex"], level=0.9999)
    assert len(means) == 8
    assert means[["conf_low", "conf_high"]].apply(lambda end: end.between(0, 1)).all(axis=None)
    assert not means.set_index(["job", "sex"])["reliable"][("rare", "F")]


def test_a_contrast_of_coefficients_is_that_of_levels_and_agrees_with_its_test(fit: dpglm.FitResult) -> None:
    found = fit.contrast([{"job[T.b]": 1, "job[T.c]": -1}, {"job": {"b": 1, "c": -1}}])
    first, second = (found.loc[at].drop(["contrast", "reason"]).astype(float) for at in (0, 1))
    np.testing.assert_allclose(first, second, rtol=1e-8)
    assert found["p_value"][0] == pytest.approx(fit.wald_test("job[T.b] = job[T.c]").p_value)
    pairs = fit.contrast(fit.grid(job=["b", "c"]))
    np.testing.assert_allclose(pairs["estimate"][0], found["estimate"][0], rtol=1e-8)
    ratios = fit.contrast({"job": {"b": 1, "c": -1}}, exponentiate=True)
    assert ratios["estimate"][0] == pytest.approx(np.exp(found["estimate"][0]))


def test_a_contrast_of_one_coefficient_is_its_interval(fit: dpglm.FitResult) -> None:
    found = fit.contrast([{name: 1.0} for name in fit.names])
    np.testing.assert_allclose(found[["conf_low", "conf_high"]], fit.conf_int(), rtol=1e-8)
    np.testing.assert_allclose(found["p_value"], fit.pvalues, rtol=1e-8)
    assert found["reliable"].tolist() == fit.tidy()["reliable"].tolist()
    assert found["reason"].tolist() == fit.tidy()["reason"].tolist()


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ({}, "of type dict"),
        ([], "no contrast"),
        ("age", "of type str"),
        ({"height": 1}, "weights of height"),
        ({"age": "1"}, "a weight of type str"),
        ({"age": 0}, "nothing differs"),
        ({"job": {"a": 1, "d": -1}}, "not declared"),
        ({"hob": {"a": 1}}, "does not read"),
    ],
)
def test_contrasts_that_mean_nothing_are_refused(fit: dpglm.FitResult, what: Any, told: str) -> None:
    with pytest.raises(MethodError, match=told):
        fit.contrast(what)


def test_weights_of_a_contrast_are_short(fit: dpglm.FitResult) -> None:
    words = fit.contrast(
        [{"job[T.b]": 2 / 13, "age": -1 / 3}, {"age": 0.123456789, "job[T.c]": 12.5}, {"age": 40_000}]
    )["contrast"]
    assert words.tolist() == ["2/13*job[T.b] - 1/3*age", "12.5*job[T.c] + 0.123*age", "40000*age"]
    means = fit.contrast({"job": {"a": 1, "b": -0.6, "c": -0.4}})["contrast"].item()
    assert means == "job[a] - 0.6*job[b] - 0.4*job[c]"


def test_effects_are_differences_of_means(fit: dpglm.FitResult) -> None:
    effects = fit.margins(effect="job", what="link").set_index("change")
    contrasts = fit.contrast([{"job": {level: 1, "a": -1}} for level in ("b", "c")])
    np.testing.assert_allclose(effects["estimate"][:2], contrasts["estimate"], rtol=1e-8)
    np.testing.assert_allclose(effects["conf_low"][:2], contrasts["conf_low"], rtol=1e-8)
    per_unit = fit.margins("sex", effect="age", what="link")
    assert list(per_unit["sex"]) == ["F", "M"]
    slope = fit.contrast([{"age": 1}, {"age": 1, "age:sex[T.M]": 1}])["estimate"]
    np.testing.assert_allclose(per_unit["estimate"], slope, rtol=1e-6)
    for wrong in ({"by": "height"}, {"effect": "height"}, {"grid": 5}, {"what": "odds"}):
        with pytest.raises(MethodError):
            fit.margins(**wrong)


def test_values_asked_for_have_a_row_each_and_the_rest_is_averaged(fit: dpglm.FitResult) -> None:
    both = fit.margins(effect="dose", at={"sex": None, "age": [30, 60]})
    assert both[["sex", "age"]].to_numpy().tolist() == [["F", 30.0], ["M", 30.0], ["F", 60.0], ["M", 60.0]]
    means = fit.margins("job", at={"age": [30, 60], "sex": "F"})
    assert list(means.columns[:3]) == ["job", "age", "estimate"]
    for age, rows in means.groupby("age"):
        alone = fit.margins("job", at={"age": age, "sex": "F"})
        np.testing.assert_allclose(rows["estimate"], alone["estimate"], rtol=1e-12)
    slopes = fit.margins(effect="age", at={"age": [30, 60]})
    assert slopes["age"].tolist() == [30.0, 60.0]
    assert "job" not in fit.margins(effect="job", at={"job": ["a", "b"]})  # it is changed, from any of them
    whole = fit.margins(effect="dose", grid=fit.grid(sex=None, age=[30, 60], job=None))
    assert whole["estimate"].item() == pytest.approx(
        both["estimate"].mean(), rel=1e-3
    )  # each is weighted by itself


@pytest.mark.parametrize(
    ("asked", "call"),
    [
        ({"by": "age"}, "fit.margins(at={'age': [18, 95]})"),
        ({"by": ["job", "age"]}, "fit.margins(['job'], at={'age': [18, 95]})"),
        ({"by": "age", "effect": "dose"}, "fit.margins(effect='dose', at={'age': [18, 95]})"),
    ],
)
def test_means_by_a_number_are_refused_with_the_call_that_works(
    fit: dpglm.FitResult, asked: dict[str, Any], call: str
) -> None:
    with pytest.raises(MethodError, match=re.escape(f"Use {call}")) as refused:
        fit.margins(**asked)
    assert ("fit.margins(effect='age') is the effect of one unit" in str(refused.value)) == (len(asked) == 1)
    assert set(eval(call, {"fit": fit})["age"]) == {18.0, 95.0}


def test_a_rare_first_level_does_not_hide_a_term() -> None:
    turned = {**SCHEMA, "job": ["rare", "a", "b", "c"]}
    fit = dpglm.fit(FORMULA, table(1), schema=turned, privacy=(2.0, 1e-6), seed=1)
    test = fit.anova().set_index("term").loc["job"]
    assert test["df"] == 2
    assert "2 of 3 directions" in test["reason"]
    assert test["p_value"] < 0.01
    assert "2 of 3 directions" in str(fit.wald_test("job"))


def test_without_released_information_the_refusal_says_what_pays_for_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpglm.errors.PlanningAdvice)
        poor = dpglm.fit(FORMULA, table(1), schema=SCHEMA, privacy=1.0, seed=1, goal="predict")
    asked = (
        poor.anova,
        poor.margins,
        lambda: poor.contrast({"age": 1}),
        lambda: poor.predict(poor.grid(), se=True),
        lambda: poor.refit(drop="job"),
    )
    for ask in asked:
        with pytest.raises(MethodError, match="without standard errors"):
            ask()
    with pytest.raises(AttributeError, match="privacy=None"):
        _ = poor.aic


def test_a_submodel_says_what_it_is_and_costs_nothing(tmp_path: Path) -> None:
    fit = dpglm.fit(FORMULA, table(1), schema=SCHEMA, privacy=(8.0, 1e-6), seed=1)
    small = fit.refit(drop="np.log1p(dose)", merge={"job": {"other": ["c", "rare"]}})
    assert small.formula == "ill ~ sex + job + age + age:sex"
    assert small.specification.schema["variables"]["job"]["levels"] == ["a", "b", "other"]
    assert small.privacy == fit.privacy
    assert small.spend.equals(fit.spend)
    assert "job c, rare as other" in " ".join(str(small.summary()).split())
    levels = small.predict({"age": 50, "sex": "F", "job": ["c", "rare", "other", "b", "bee"]})
    assert levels[0] == levels[1] == levels[2] != levels[3] == levels[4]
    loaded = dpglm.load(small.save(tmp_path / "small.json"))
    assert loaded == small
    for old, new in (
        ('"matrix": {"shape": [8', '"matrix": {"shape": [9'),
        ('"rows": null', '"rows": "many"'),
    ):
        text = store.to_json(small._record)
        assert old in text
        with pytest.raises(StoreError):
            store.from_json(text.replace(old, new))
    np.testing.assert_allclose(loaded.conf_int(), small.conf_int(), rtol=1e-9)
    assert dpglm.audit(small, trials=200, progress=False, seed=1).passed  # the plan that was paid for
    again = small.refit(drop="age:sex")
    once = fit.refit(drop=["np.log1p(dose)", "age:sex"], merge={"job": {"other": ["c", "rare"]}})
    np.testing.assert_allclose(again.params, once.params, rtol=1e-6)
    assert small.refit("l1").formula == small.formula
    assert small.margins("job").shape == (3, 7)
    assert small.to_html()
    with pytest.raises(MethodError, match="submodel"):
        dpglm.pool({"here": small, "there": fit})


def test_dropping_a_term_drops_what_contains_it_and_a_column_all_its_terms(exact: dpglm.FitResult) -> None:
    assert exact.refit(drop="sex").formula == "ill ~ job + age + np.log1p(dose)"
    assert exact.refit(drop="dose").formula == "ill ~ sex + job + age + age:sex"
    assert exact.refit(drop="age:sex").formula == "ill ~ sex + job + age + np.log1p(dose)"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"drop": "height"}, "drop='height'"),
        ({"drop": "Intercept"}, "drop='Intercept'"),
        ({"drop": 3}, "drop of type int"),
        ({"merge": {"age": {"old": [60]}}}, "merge of 'age'"),
        ({"merge": {"job": {"other": ["d"]}}}, "level 'd' of job"),
        ({"merge": {"job": {"x": ["a", "b"], "y": ["b", "c"]}}}, "two groups"),
        ({"merge": {"job": {"x": ["a", "b", "c", "rare"]}}}, "merge of job"),
        ({"merge": {"job": ["a", "b"]}}, "merge of type dict"),
        ({"drop": "age"}, "too far from the fit"),
    ],
)
def test_submodels_that_mean_nothing_are_refused(
    exact: dpglm.FitResult, asked: dict[str, Any], told: str
) -> None:
    with pytest.raises(MethodError, match=told):
        exact.refit(**asked)


def test_a_submodel_that_is_too_far_says_how_far_and_what_would_do() -> None:
    women = dpglm.load_data("fair")
    formula = "affair ~ age + yrs_married + educ + children + religious + rate_marriage"
    fit = dpglm.fit(formula, women, privacy=(4.0, 1e-6), seed=1)
    tests, accepted = fit.anova().set_index("term")["statistic"], []
    for term in tests.index:
        try:
            fit.refit(drop=term)
            accepted.append(term)
        except MethodError as error:
            told = re.search(r"is (\S+) standard errors away.*distance is (\S+), ", error.found)
            limit = re.search(r"at most (\S+), which is about (\S+) standard errors", error.expected)
            assert told is not None
            assert limit is not None
            assert float(told[1]) == pytest.approx(np.sqrt(tests[term]), rel=0.05)  # of two digits
            assert float(told[2]) > float(limit[1]) == LOGISTIC_LIMIT
            assert float(limit[2]) < float(told[1])
            named = set(re.findall(r"'([^']+)'", error.remedy))
    assert 0 < len(accepted) < len(tests)
    assert named == set(accepted)
    with pytest.raises(MethodError, match=f"drop=.*'{accepted[0]}'"):
        fit.refit(drop=["rate_marriage", accepted[0]])
    with pytest.raises(MethodError, match="Not even drop='religious'"):
        dpglm.fit("affair ~ age + religious", women, privacy=(8.0, 1e-6), seed=1).refit(drop="age")
    bare = dpglm.fit("affair ~ 0 + age + religious", women, privacy=(8.0, 1e-6), seed=1)
    with pytest.raises(MethodError, match="a formula with an intercept"):
        bare.refit(drop="age")


def test_exact_numbers_are_never_beside_a_promise(exact: dpglm.FitResult, fit: dpglm.FitResult) -> None:
    text = store.to_json(exact._record)
    assert store.from_json(text) == exact._record
    with pytest.raises(StoreError):
        store.from_json(text.replace('"private": false', '"private": true'))
    assert str(exact.summary()).count("NOT PRIVATE") >= 2
    page = exact.to_html()
    assert "maximum likelihood on the rows themselves" in page
    assert "each with noise of known size" not in page
    assert exact.refit(drop="dose").privacy.private is False


def test_a_penalty_has_no_classical_standard_errors() -> None:
    for penalty in ("l1", "l2"):
        fit = dpglm.fit(FORMULA, table(1), schema=SCHEMA, penalty=penalty, strength=0.01, privacy=None)
        assert fit.bse.isna().all()
        with pytest.raises(AttributeError, match="no penalty"):
            _ = fit.bic
