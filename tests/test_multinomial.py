"""Fits of family="multinomial": what they read, promise, refuse, keep and say."""

from __future__ import annotations

import warnings
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.data.schema.variables import Categorical
from dpglm.errors import BudgetExceeded, DpglmError, MethodError, SchemaError
from dpglm.spec.levels import _between
from tests.oracles.test_multinomial import FORMULA, LEVELS, SCHEMA, TRUTH, fitted, noiseless, people

__all__ = ["noiseless"]
BUDGET = dpglm.Privacy(2.0, 1e-6, relation="add-remove")
BUDGETS = {
    "pure": dpglm.Privacy(2.0),
    "approximate": dpglm.Privacy(1.0, 1e-6),
    "large": dpglm.Privacy(8.0, 1e-5, relation="add-remove"),
    "Gaussian": dpglm.Privacy.gdp(0.7),
    "concentrated": dpglm.Privacy.zcdp(0.2),
}
CELLS = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "A", " b ", "B", "1", "01", "1.0", "2", "nine", "", "zzz"]),
    st.sampled_from([0, 1, 2, 3, 9, 1.0, 2.0, 9.0, 2.5, True, False, None, np.nan, np.inf]),
    st.floats(allow_nan=True),
    st.text(max_size=2),
)
RESPONSES = [
    {"levels": ["a", "b", "c", "d"]},
    {"levels": [1, 2, 3]},
    {"levels": ["a", 1, "c", 2.5], "aliases": {"b": 1, "nine": "c", 2: "a"}},
    {"levels": ["a", "b", "c"], "missing_codes": [9, "1"], "strip": True, "ignore_case": True},
    {"levels": ["b", "1", "A"], "aliases": {"a": "b", "2": "1"}},
    {"levels": [False, True, 2], "aliases": {"a": 2, "b": True}, "ignore_case": True},
    {"levels": ["a", "b", "c"], "ordered": True, "other": "omit", "level_labels": {"a": "first"}},
]


def plan(formula: str = FORMULA, schema: Any = SCHEMA, **chosen: Any) -> dpglm.LevelPlan:
    options: dict[str, Any] = {"privacy": BUDGET, "family": "multinomial"}
    found = dpglm.plan(formula, schema, **(options | chosen))
    assert isinstance(found, dpglm.LevelPlan)
    return found


@pytest.fixture(scope="module")
def fits() -> dpglm.LevelFits:
    return fitted(people(9000), privacy=BUDGET, seed=1)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(RESPONSES), st.lists(CELLS, min_size=1, max_size=12))
def test_an_equation_reads_its_two_levels_as_the_whole_response_does(declared: Any, cells: list[Any]) -> None:
    """And nothing else: cells at other levels, however they are spelled, are missing."""
    whole = Categorical(**declared)
    column = pd.Series(cells, dtype=object)
    codes = whole.clean(column)
    for place in range(1, len(whole.levels)):
        expected = np.where(codes == 0, 0, np.where(codes == place, 1, -1))
        np.testing.assert_array_equal(_between(whole, place).clean(column), expected)


def test_levels_that_are_the_same_number_are_refused_before_anything_is_read() -> None:
    with pytest.raises(SchemaError, match="different numbers"):
        plan(schema=SCHEMA | {"job": ["office", "1", "01"]})


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("title", BUDGETS)
@pytest.mark.parametrize("levels", [3, 7])
def test_all_equations_cost_what_was_asked_at_most_and_nearly_all_of_it(
    title: str, relation: str, levels: int
) -> None:
    privacy = replace(BUDGETS[title], relation=relation)  # type: ignore[arg-type]
    found = plan("job ~ x", SCHEMA | {"job": [f"l{k}" for k in range(levels)]}, privacy=privacy)
    whole = found.guarantee
    assert (whole.relation, whole.definition) == (relation, privacy.definition)
    assert whole.epsilon <= privacy.epsilon * (1.0 + 1e-12)
    assert whole.delta <= privacy.delta
    each = [equation.guarantee for equation in found.equations.values()]
    assert len(each) == levels - 1
    if privacy.definition == "pure":
        np.testing.assert_allclose([one.epsilon for one in each], 2.0 / (levels - 1))
    elif privacy.mu is not None:
        assert sum(one.mu**2 for one in each) <= privacy.mu**2 * (1.0 + 1e-9)  # type: ignore[operator]
    else:
        # A share of epsilon by the number of equations would be 1 / (levels - 1).
        assert each[0].epsilon * (levels - 1) > privacy.epsilon
        assert whole.epsilon > 0.95 * privacy.epsilon


@pytest.mark.parametrize("delta", [0.05, 0.1])
def test_where_a_large_delta_does_not_compose_both_numbers_are_divided(delta: float) -> None:
    found = plan("job ~ x", SCHEMA | {"job": list(range(7))}, privacy=(1.0, delta), method="output")
    each = [equation.guarantee for equation in found.equations.values()]
    assert found.guarantee.epsilon <= 1.0
    assert found.guarantee.delta <= delta
    assert sum(one.epsilon for one in each) >= 1.0 - 1e-9
    wide = plan("job ~ x", SCHEMA | {"job": list(range(7))}, privacy=(1.0, delta))
    assert wide.guarantee.epsilon <= 1.0
    assert wide.guarantee.delta <= delta


def test_a_ledger_has_one_line_of_what_all_equations_cost(tmp_path: Path) -> None:
    table, planned = people(600), plan(schema=dpglm.Schema.of(SCHEMA))
    ledger = dpglm.Ledger(tmp_path / "ledger.jsonl", budget=replace(BUDGET, epsilon=5.0, delta=1e-5))
    found = planned.fit(table, ledger=ledger, progress=False)
    assert len(ledger.entries) == 1
    spent = ledger.entries[0]
    assert (spent.epsilon, spent.delta) == (found.privacy.epsilon, found.privacy.delta)
    assert "3 equations of a multinomial fit" in spent.what
    assert {fit._record.ledger for fit in found.values()} == {found["care"]._record.ledger}
    planned.fit(table, ledger=ledger, progress=False)
    with pytest.raises(BudgetExceeded):
        planned.fit(table, ledger=ledger, progress=False)
    assert [entry.status for entry in ledger.entries] == ["charged", "charged", "refused"]


def test_a_key_gives_the_same_answer_and_is_charged_once(tmp_path: Path) -> None:
    table, ledger = people(600), dpglm.Ledger(tmp_path / "ledger.jsonl", budget=replace(BUDGET, epsilon=9.0))
    options: dict[str, Any] = {"privacy": BUDGET, "ledger": ledger, "key": "table 2"}
    first, second = (fitted(table, **options) for _ in range(2))
    assert len(ledger.entries) == 1
    assert first == second
    pd.testing.assert_frame_equal(first.params, second.params)


def test_equations_have_noise_of_their_own_and_a_seed_repeats_all(fits: dpglm.LevelFits) -> None:
    """Levels that are alike to the row have equations that differ by nothing but noise."""
    twice = pd.DataFrame({"job": ["office", "care", "mine", "farm"] * 300, "x": 0.5, "arm": "a"})
    found = fitted(twice, privacy=BUDGET, seed=1)
    assert found.params["care"]["x"] != found.params["mine"]["x"]
    pd.testing.assert_frame_equal(fitted(twice, privacy=BUDGET, seed=1).params, found.params)
    assert "NOT PRIVATE" in found.alarm
    assert not fits["care"].private
    free = fitted(twice, privacy=BUDGET)
    assert free.alarm == ""
    assert free.params["care"]["x"] != fitted(twice, privacy=BUDGET).params["care"]["x"]


def test_estimates_are_near_what_was_drawn(fits: dpglm.LevelFits) -> None:
    """Five standard errors, of twelve estimates: missed with probability below 1e-5."""
    apart = (fits.tidy()["estimate"].to_numpy().reshape(3, 4) - TRUTH) / fits.bse.to_numpy().T
    assert np.abs(apart).max() < 5.0


def test_saved_equations_are_put_together_again(fits: dpglm.LevelFits, tmp_path: Path) -> None:
    paths = [fit.save(tmp_path / f"{level}.json") for level, fit in fits.items()]
    loaded = [dpglm.load(path) for path in reversed(paths)]
    again = dpglm.LevelFits.of(loaded)  # type: ignore[arg-type]
    assert again == fits
    assert (again.baseline, again.levels) == ("office", tuple(LEVELS))
    new = people(20)
    pd.testing.assert_frame_equal(again.predict(new), fits.predict(new))
    for some in (loaded[:2], [*loaded, loaded[0]], [], [fits["care"].refit("l1")] * 3):
        with pytest.raises(MethodError, match="equations of one multinomial fit"):
            dpglm.LevelFits.of(some)  # type: ignore[arg-type]
    other = fitted(people(900), "job ~ x", privacy=BUDGET, seed=1)
    with pytest.raises(MethodError, match="equations of one multinomial fit"):
        dpglm.LevelFits.of([fits["care"], fits["mine"], other["farm"]])


def test_a_file_and_a_report_of_one_equation_say_what_all_promise(tmp_path: Path) -> None:
    """Of a fit without a seed, and of a submodel: reading one price alone would mislead."""
    fits = fitted(people(9000), privacy=BUDGET)
    fit, whole = fits["care"], f"This is one of 3 equations of one fit. Together: {fits.privacy.statement()}"
    small = fit.refit(merge={"arm": {"old": ["a", "c"]}})
    assert len(small.params) == 3
    for each in (fit, small):
        path = each.save(tmp_path / "mine.json")
        assert "differs" not in str(dpglm.verify(path)).lower()
        assert whole in unescape(each.to_html())
        assert whole in " ".join(str(each.summary()).split())
        for kind in ("dpia", "methods", "registry"):
            text = each.export(kind, tmp_path / "export").read_text(encoding="utf-8")
            assert "one of 3 equations" in text
        assert "log odds of care against office; beside it: mine, farm" in str(each.summary())
    text = fit.save(tmp_path / "mine.json").read_text(encoding="utf-8")
    for old, new in (('"care", "mine"', '"sea", "mine"'), ('"care", "mine"', '"mine"')):
        found = old if old in text else old.replace(", ", ",")
        assert found in text
        (tmp_path / "changed.json").write_text(text.replace(found, new), encoding="utf-8")
        with pytest.raises(DpglmError):
            dpglm.load(tmp_path / "changed.json")


@pytest.mark.usefixtures("noiseless")
def test_submodels_of_all_equations_are_one_fit_again(tmp_path: Path) -> None:
    fits = fitted(people(9000), privacy=BUDGET)
    small = fits.refit(merge={"arm": {"old": ["a", "c"]}})
    assert (small.privacy, small.params.shape) == (fits.privacy, (3, 3))
    again = dpglm.LevelFits.of(map(dpglm.load, small.save(tmp_path / "small").iterdir()))
    assert again == small
    pd.testing.assert_frame_equal(again.predict(people(9)), small.predict(people(9)))
    with pytest.raises(MethodError, match="equations of one multinomial fit"):
        dpglm.LevelFits.of([fits["care"], fits["mine"], small["farm"]])


@pytest.mark.usefixtures("noiseless")
def test_a_ledger_is_checked_for_the_charge_of_all_equations(tmp_path: Path) -> None:
    whole = dpglm.Privacy(5.0, 1e-5, "add-remove")
    ledger = dpglm.Ledger(tmp_path / "a.db", budget=whole, dataset="people")
    other = dpglm.Ledger(tmp_path / "b.db", budget=whole, dataset="people")
    fits = fitted(people(9000), privacy=BUDGET, ledger=ledger)
    fitted(people(9000), privacy=dpglm.Privacy(1.0, 1e-6, "add-remove"), ledger=other)
    for fit in (fits["care"], fits["care"].refit(merge={"arm": {"old": ["a", "c"]}})):
        path = fit.save(tmp_path / "care.json")
        assert dpglm.verify(path, ledger=ledger).passed
        assert not dpglm.verify(path, ledger=other).passed


def test_free_answers_of_an_equation_are_those_of_a_logistic_fit(fits: dpglm.LevelFits) -> None:
    fit = fits["care"]
    assert list(fit.anova()["term"]) == ["C(arm)", "x"]
    assert set(fit.refit("l1", strength=1e6).params[["x"]]) == {0.0}
    low, high = fit.predict({"x": [-2.0, 2.0], "arm": "a"})
    assert low < high  # .8 when drawn


def test_tables_have_a_column_of_levels(fits: dpglm.LevelFits) -> None:
    found = fits.tidy()
    assert list(found["level"].unique()) == LEVELS[1:]
    assert len(found) == 12
    broom = fits.tidy(style="broom")
    assert list(broom.columns[:2]) == ["y.level", "term"]
    text = " ".join(str(fits.summary()).split())
    for words in ("Multinomial logistic regression of job", "Baseline", "office", "Begg and Gray"):
        assert words in text
    assert text.count("NOT PRIVATE") >= 1
    assert fits.privacy.statement()[:40] in text


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (["no", "yes"], "family='binomial'"),
        ((0, 3), "levels"),
        ({"levels": LEVELS, "missing": "farm"}, "read as a level"),
        ({"levels": LEVELS, "other": "farm"}, "read as a level"),
    ],
)
def test_responses_without_three_levels_or_with_missing_ones_are_refused(job: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        plan(schema=SCHEMA | {"job": job})


@pytest.mark.parametrize("formula", ["Surv(x, job) ~ arm", "np.log(x) ~ arm", "jo ~ x", "job ~ x + job"])
def test_formulas_without_a_response_of_levels_are_refused(formula: str) -> None:
    with pytest.raises(DpglmError):
        plan(formula)


def test_tables_by_site_and_other_outputs_are_refused(fits: dpglm.LevelFits) -> None:
    with pytest.raises(MethodError, match="by site"):
        fitted({"north": people(60), "south": people(60)}, privacy=BUDGET)
    with pytest.raises(MethodError, match="log odds"):
        fits.predict({"x": 0.0, "arm": "a"}, what="link")  # type: ignore[arg-type]


@pytest.mark.papers
@pytest.mark.parametrize("method", ["dpsgd", "pst-f", "pst-s", "dlvp", "dpsc", "dp-admm"])
def test_methods_whose_promise_is_not_what_their_releases_cost_are_refused(method: str) -> None:
    with pytest.raises(MethodError, match="multinomial"):
        plan(schema=dpglm.Schema.of(SCHEMA, rows=2000), method=method, privacy=(2.0, 1e-6))


def test_rows_without_a_declared_level_or_without_a_baseline_tell_nobody() -> None:
    table = people(900)
    lost = pd.DataFrame({"job": ["Office", None, "", 7.0, np.nan, "sea "], "x": 3.0, "arm": "c"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted(pd.concat([table, lost]), privacy=BUDGET, seed=1)
        none = fitted(table[table["job"] != "office"], privacy=BUDGET, seed=1)
        empty = fitted(table[:0], privacy=BUDGET, seed=1)
    pd.testing.assert_frame_equal(found.params, fitted(table, privacy=BUDGET, seed=1).params)
    assert np.isfinite(none.params).all(axis=None)
    assert np.isfinite(empty.params).all(axis=None)


def test_files_frames_and_parquet_give_the_same(tmp_path: Path) -> None:
    table = people(3000)
    table.to_csv(tmp_path / "people.csv", index=False)
    table.to_parquet(tmp_path / "people.parquet")
    expected = fitted(table, privacy=BUDGET, seed=1).params
    for file in ("people.csv", "people.parquet"):
        pd.testing.assert_frame_equal(fitted(tmp_path / file, privacy=BUDGET, seed=1).params, expected)


def test_persons_of_several_rows_and_weights_keep_their_price() -> None:
    table = people(2000).assign(w=2.0)
    often = pd.concat([table.assign(who=range(2000))] * 3)
    schema = dpglm.Schema.of(SCHEMA | {"w": (0, 4)}, unit={"column": "who"})
    planned = plan(schema=schema)
    assert planned.guarantee.persons
    assert planned.guarantee.epsilon <= BUDGET.epsilon
    found = planned.fit(often, seed=1, progress=False)
    np.testing.assert_allclose(found.params.loc["x"], [0.8, -0.6, 0.3], atol=0.5)
    privacy = replace(BUDGET, epsilon=20.0)
    assumed = plan(schema=SCHEMA | {"w": (0, 4)}, weights="w").guarantee.assumptions
    assert any("weight of a row" in text for text in assumed)
    weighted = fitted(table, schema=SCHEMA | {"w": (0, 4)}, weights="w", privacy=privacy, seed=1)
    np.testing.assert_allclose(weighted.params.loc["x"], [0.8, -0.6, 0.3], atol=0.3)


@pytest.mark.parametrize("options", [{"goal": "predict"}, {"goal": "select"}, {"penalty": "l1/2"}])
def test_goals_and_penalties_predict_nearly_as_well_as_the_truth(options: dict[str, Any]) -> None:
    """With a shifted loss too, whose coefficients are no log odds. Right guesses of 4,000 new rows."""
    found, new = fitted(people(9000), privacy=BUDGET, seed=1, **options), people(4000, seed=2)
    assert found.privacy.epsilon <= BUDGET.epsilon
    X = np.column_stack([np.ones(4000), new["arm"] == "b", new["arm"] == "c", new["x"]])
    best = np.column_stack([np.zeros(4000), X @ TRUTH.T]).argmax(axis=1)
    most = float(np.mean(new["job"].map(LEVELS.index) == best))
    assert np.mean(found.predict(new, what="class") == new["job"]) > most - 0.03
    np.testing.assert_allclose(
        found.predict(new).mean(), new["job"].value_counts(normalize=True)[LEVELS], atol=0.05
    )


def test_a_refit_of_all_equations_is_free(fits: dpglm.LevelFits) -> None:
    small = fits.refit("l1", strength=1e6)
    assert small.params.loc["x"].eq(0.0).all()
    assert small.privacy == fits.privacy
    assert dpglm.LevelFits.of(small.values()) == small


def test_a_plan_expects_what_a_fit_finds(fits: dpglm.LevelFits) -> None:
    """Within a third of it in the middle, from declared shares and spreads."""
    shares = people(9000)["job"].value_counts(normalize=True)[LEVELS].round(2)
    shares = (shares / shares.sum()).tolist()
    schema = SCHEMA | {"job": {"levels": LEVELS, "shares": shares}, "x": {"bounds": (-3, 3), "sd": 1}}
    planned = plan(schema=schema, n=9000)
    expected = np.array([equation.expected().std_error for equation in planned.equations.values()]).T
    apart = np.log(expected / fits.bse.to_numpy())
    assert np.median(np.abs(apart)) < np.log(4.0 / 3.0)
    text = " ".join(str(planned.summary()).split())
    assert "3 equations of a multinomial fit" in text
    assert len(planned.summary().rows) == 4
    assert planned.fingerprint == plan(schema=schema, n=9000).fingerprint
    assert planned.fingerprint != plan(schema=schema, n=9000, privacy=1.0).fingerprint


def test_a_plan_that_was_approved_is_the_fit_that_is_charged() -> None:
    table, planned = people(900), plan()
    pd.testing.assert_frame_equal(
        planned.fit(table, seed=1, progress=False).params, fitted(table, privacy=BUDGET, seed=1).params
    )
