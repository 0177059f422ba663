"""Fits that protect persons: all rows with the same text in a column, together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import dpglm
from dpglm.errors import MethodError, PrivacyError, StoreError
from dpglm.methods.base import methods
from dpglm.spec.planned_again import plan_of

COLUMNS: dict[str, Any] = {
    "x": (-4, 4),
    "z": (-4, 4),
    "ill": ["no", "yes"],
    "days": (0, 20),
    "pain": (-10, 10),
}
BUDGET = dpglm.Privacy(2.0, 1e-6, relation="add-remove")
FORMULAS = {"binomial": "ill ~ x + z", "gaussian": "pain ~ x + z", "poisson": "days ~ x + z"}


def people(count: int, seed: int = 1) -> pd.DataFrame:
    """One row of each person."""
    random = np.random.default_rng(seed)
    x, z = random.normal(size=(2, count))
    eta = -0.3 + 0.8 * x - 0.5 * z
    return pd.DataFrame(
        {
            "who": [f"p{number}" for number in range(count)],
            "x": x,
            "z": z,
            "ill": np.where(random.random(count) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no"),
            "days": random.poisson(np.exp(0.3 * eta)),
            "pain": eta + random.normal(size=count),
        }
    )


def fit(table: pd.DataFrame, unit: Any, family: str = "binomial", **chosen: Any) -> dpglm.FitResult:
    schema = dpglm.Schema.of(COLUMNS, unit=unit)
    chosen = {"privacy": BUDGET, "seed": 3, "progress": False} | chosen
    found = dpglm.fit(FORMULAS[family], table, schema=schema, family=family, **chosen)
    assert isinstance(found, dpglm.FitResult)
    return found


@pytest.mark.parametrize("privacy", [BUDGET, replace(BUDGET, relation="replace-one"), dpglm.Privacy(2.0)])
@pytest.mark.parametrize("family", FORMULAS)
def test_a_person_with_the_same_row_several_times_counts_once(family: str, privacy: dpglm.Privacy) -> None:
    once = people(1500)
    random = np.random.default_rng(5)
    often = once.loc[np.repeat(once.index, random.choice([1, 2, 4], len(once)))].sample(
        frac=1.0, random_state=2
    )
    first, second = (fit(table, {"column": "who"}, family, privacy=privacy) for table in (once, often))
    np.testing.assert_allclose(second.params, first.params, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second.bse, first.bse, rtol=1e-4)


@pytest.mark.parametrize("privacy", [BUDGET, dpglm.Privacy(2.0), dpglm.Privacy.gdp(0.5)])
@pytest.mark.parametrize("family", FORMULAS)
def test_one_row_a_person_changes_nothing_where_nobody_has_more(family: str, privacy: dpglm.Privacy) -> None:
    if family == "poisson" and privacy.mu is not None:
        pytest.skip("counts have no claim in Gaussian differential privacy by default")
    table = people(900)
    plain, person = (
        fit(table, unit, family, privacy=privacy) for unit in (None, {"column": "who", "rows": 1})
    )
    np.testing.assert_array_equal(person.params, plain.params)
    np.testing.assert_array_equal(person.bse, plain.bse)
    assert person.n_rows == plain.n_rows


@pytest.mark.parametrize("strength", [None, 0.1])
def test_perturbed_outputs_take_one_row_a_person_with_a_strength_of_their_own(strength: float | None) -> None:
    """The number of persons is public, and so is that of rows."""
    table = people(500)
    chosen: Any = {"method": "output", "penalty": "l2", "strength": strength}
    exchanged = {"privacy": dpglm.Privacy(2.0, 1e-6)}
    plain, person = (fit(table, unit, **chosen, **exchanged) for unit in (None, {"column": "who", "rows": 1}))
    np.testing.assert_array_equal(person.params, plain.params)
    if strength is not None:
        for rows, privacy in ((2, exchanged), (1, {})):
            with pytest.raises((MethodError, PrivacyError)):
                fit(table, {"column": "who", "rows": rows}, **chosen, **privacy)


def saved(table: pd.DataFrame, path: Path, unit: Any) -> dict[str, dict[str, Any]]:
    """A fit and a profile as their files hold them."""
    schema = dpglm.Schema.of(COLUMNS, unit=unit)
    results: dict[str, Any] = {
        "fit": fit(table, unit, seed=None),
        "profile": dpglm.describe(table, schema=schema, privacy=BUDGET, columns=["x"]),
    }
    for name, result in results.items():
        result.save(path / f"{name}.json")
    return {name: json.loads((path / f"{name}.json").read_text(encoding="utf-8")) for name in results}


@pytest.mark.parametrize(
    "unit",
    [None, "one patient", {"rows": 1}, {"column": 3}, {"column": "x"}, {"column": "who", "rows": "many"}],
)
def test_a_saved_result_keeps_the_column_that_its_promise_is_about(unit: Any, tmp_path: Path) -> None:
    for name, document in saved(people(200), tmp_path, {"column": "who"}).items():
        schema = document["specification"]["schema"] if name == "fit" else document["schema"]
        assert schema["unit"] == {"column": "who"}
        schema["unit"] = unit
        for persons in (True, False):
            document["guarantee"]["persons"] = persons
            (tmp_path / "changed.json").write_text(json.dumps(document), encoding="utf-8")
            with pytest.raises(StoreError):
                dpglm.load(tmp_path / "changed.json")


def test_a_plan_counts_what_weighs_the_same(tmp_path: Path) -> None:
    """Persons, or rows that are each a part of one; so does a declared number of rows."""
    units = [{"column": "who"}, {"column": "who", "rows": 4, "weights": "row"}, {"column": "who", "rows": 4}]
    sizes: dict[str, list[float]] = {"n": [], "rows": []}
    for unit, n in zip(units, (1000, 4000, 1000), strict=True):
        for declared in sizes:
            schema = dpglm.Schema.of(COLUMNS, unit=unit, rows=n if declared == "rows" else None)
            plan = dpglm.plan(FORMULAS["binomial"], schema, n=n if declared == "n" else None, privacy=BUDGET)
            sizes[declared] += plan.expected().tidy()["std_error"].tolist()
    assert sizes["n"] == sizes["rows"] == sizes["n"][:3] * 3
    table = people(1000)
    four = table.loc[np.repeat(table.index, 4)]
    found = fit(four, units[1])
    np.testing.assert_allclose(found.bse, sizes["n"][:3], rtol=0.5)


def test_strengths_are_per_person_or_per_row_that_weighs_the_same() -> None:
    table = people(1000)
    four = table.loc[np.repeat(table.index, 4)]
    chosen: Any = {"penalty": "l2", "strength": 0.2}
    schemas = [
        (table, dpglm.Schema.of(COLUMNS, unit={"column": "who"}, rows=1000)),
        (four, dpglm.Schema.of(COLUMNS, unit={"column": "who", "rows": 4, "weights": "row"}, rows=4000)),
    ]
    found = [
        dpglm.fit(FORMULAS["binomial"], data, schema=schema, privacy=BUDGET, seed=1, progress=False, **chosen)
        for data, schema in schemas
    ]
    np.testing.assert_allclose(found[1].params, found[0].params, rtol=1e-4, atol=1e-5)


def test_words_for_persons_need_the_column() -> None:
    words = "one patient (all rows with the same who)"
    with pytest.raises(PrivacyError, match="words alone"):
        fit(people(50), None, privacy=replace(BUDGET, unit=words))
    with pytest.raises(PrivacyError, match="words alone"):
        fit(people(50), words)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_report_speaks_of_persons(relation: Any, tmp_path: Path) -> None:
    found = fit(people(300), {"column": "who"}, privacy=replace(BUDGET, relation=relation), seed=None)
    page = found.report(tmp_path / "r.html").read_text(encoding="utf-8")
    for words in ("Several persons at once", "Testing for one person", "a guess about one person"):
        assert words in page
    for words in (
        "Several rows at once",
        "test for one row",
        "about one row",
        "whether one row",
        "own row makes",
    ):
        assert words not in page


def test_of_a_person_the_declared_number_of_rows_is_read() -> None:
    table = people(600)
    more = table.assign(x=4.0, z=4.0, ill="no")  # never the first row of anybody
    both = pd.concat([table, more, more])
    np.testing.assert_array_equal(
        fit(both, {"column": "who", "rows": 1}).params, fit(table, {"column": "who", "rows": 1}).params
    )
    assert (
        np.abs(fit(both, {"column": "who", "rows": 2}).params - fit(table, {"column": "who"}).params).max()
        > 0.1
    )


@pytest.mark.parametrize("weights", ["unit", "row"])
def test_without_privacy_rows_weigh_their_shares(weights: str) -> None:
    table = people(800)
    random = np.random.default_rng(2)
    table["who"] = random.integers(0, 300, len(table))
    # Shares are exact where everybody has a power of two of rows.
    table = table.groupby("who").filter(lambda own: len(own) in (1, 2, 4))
    rows = table.groupby("who")["x"].transform("size")
    share = 1.0 / rows if weights == "unit" else np.full(len(table), 0.25)
    found = fit(
        table, {"column": "who", "rows": 4, "weights": weights}, privacy=None, penalty="none", seed=None
    )
    X = sm.add_constant(table[["x", "z"]])
    exact = sm.GLM(table["ill"] == "yes", X, family=sm.families.Binomial(), freq_weights=share).fit()
    np.testing.assert_allclose(found.params, exact.params, rtol=1e-5)


@pytest.mark.parametrize(("penalty", "strength"), [("l1", 0.02), ("l2", 0.02), ("scad", 0.02)])
def test_without_privacy_strengths_are_per_person(penalty: str, strength: float) -> None:
    once = people(500)
    thrice = pd.concat([once] * 3)
    chosen: Any = {"privacy": None, "penalty": penalty, "strength": strength, "seed": None}
    chosen["method"] = dpglm.methods.NonPrivate(path=True)
    first, second, parts = (
        fit(table, unit, **chosen)
        for table, unit in (
            (once, None),
            (thrice, {"column": "who"}),
            (thrice, {"column": "who", "rows": 4, "weights": "row"}),
        )
    )
    for found in (second, parts):
        # Three equal shares of 4,096 parts do not add up to all of them.
        np.testing.assert_allclose(found.params, first.params, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(second.path().strengths, first.path().strengths, rtol=1e-3)
    np.testing.assert_allclose(parts.path().strengths, 0.75 * first.path().strengths, rtol=1e-3)


def test_the_promise_is_about_persons_and_no_number_of_rows_is_told(tmp_path: Path) -> None:
    table = people(500)
    table["who"] = np.arange(500) // 3
    unit = {"column": "who", "rows": 3, "name": "one patient"}
    rows = dpglm.Ledger(tmp_path / "rows.db", budget=replace(BUDGET, epsilon=4.0), dataset="visits")
    with pytest.raises(PrivacyError, match="one row"):  # a row more changes the shares of the others
        fit(table, unit, seed=None, ledger=rows)
    budget = replace(BUDGET, epsilon=4.0, unit="one patient (all rows with the same who)")
    ledger = dpglm.Ledger(tmp_path / "l.db", budget=budget, dataset="visits")
    found = fit(table, unit, privacy=replace(BUDGET, relation="add-remove"), seed=None, ledger=ledger)
    words = "one patient (all rows with the same who)"
    assert found.privacy.unit == words
    statement = found.privacy.statement()
    assert (
        f"when they differ in {words}, present or absent (the number of persons is private too)" in statement
    )
    assert found.n_rows is None
    printed = " ".join(str(found.summary()).split())
    assert f"when they differ in {words}" in printed
    assert "Persons weigh the same" in printed
    assert words in str(ledger.entries)
    found.save(tmp_path / "fit.json")
    loaded = dpglm.load(tmp_path / "fit.json")
    assert loaded.privacy == found.privacy
    page = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "all rows with the same who" in page
    exchanged = fit(table, unit, privacy=replace(BUDGET, relation="replace-one"))
    assert exchanged.n_rows is None


def test_a_promise_for_rows_is_refused_where_a_column_tells_persons() -> None:
    with pytest.raises(PrivacyError, match="one visit"):
        fit(people(50), {"column": "who"}, privacy=dpglm.Privacy(1.0, 1e-6, unit="one visit"))
    with pytest.raises(PrivacyError, match="whose a row is"):
        fit(people(50), None, privacy=dpglm.Privacy(1.0, 1e-6, unit_rows=3))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("name", list(methods))
def test_a_method_covers_persons_or_refuses_them(name: str, rows: int) -> None:
    """A method that reads parts of the rows by place never runs where persons move them."""
    table = people(400)
    table["who"] = np.arange(400) // 2
    try:
        found = fit(table, {"column": "who", "rows": rows}, method=name, privacy=dpglm.Privacy(2.0, 1e-6))
    except (MethodError, PrivacyError):
        return
    releases = plan_of(found).releases.releases
    assert all(
        release.covers == "all rows" or (rows == 1 and release.covers == "one row") for release in releases
    )


@pytest.mark.papers
@pytest.mark.parametrize("rows", [1, 3])
def test_a_ranking_by_blocks_of_rows_does_not_run_where_persons_move_them(rows: int) -> None:
    table = people(400)
    table["who"] = np.arange(400) // 2
    columns = {name: COLUMNS[name] for name in ("ill", "x", "z")}
    schema = dpglm.Schema.of(columns, unit={"column": "who", "rows": rows})
    privacy = dpglm.Privacy(4.0, 1e-6, relation="replace-one")
    with pytest.raises(MethodError, match="several rows of one person"):
        dpglm.rank_features("ill ~ x + z", table, schema=schema, privacy=privacy, method="fwell-block")
    dpglm.rank_features("ill ~ x + z", table, schema=schema, privacy=privacy, method="fwell")


def test_the_default_methods_cover_persons() -> None:
    table = people(400)
    for goal in ("explain", "predict", "select"):
        for family in FORMULAS:
            fit(table, {"column": "who"}, family, goal=goal)


def test_a_profile_counts_persons() -> None:
    table = people(2000)
    often = pd.concat([table, table[table["x"] > 0.0]])
    profile = dpglm.describe(
        often, schema=dpglm.Schema.of(COLUMNS, unit={"column": "who"}), privacy=(3.0, 1e-6), seed=1, by="ill"
    )
    assert profile.n_rows == pytest.approx(2000, abs=40)
    tidy = profile.tidy()
    means = tidy[(tidy["column"] == "x") & (tidy["statistic"] == "mean") & (tidy["group"] == "overall")]
    assert float(means["estimate"].iloc[0]) == pytest.approx(table["x"].mean(), abs=0.15)
    assert "persons" in str(profile.summary())
    assert profile.privacy.unit == "all rows with the same who"


def test_a_profile_of_rows_is_refused_in_a_fit_for_persons() -> None:
    table = people(300)
    profile = dpglm.describe(table, schema=COLUMNS, privacy=(3.0, 1e-6), seed=1)
    with pytest.raises(dpglm.errors.SchemaError, match="unit"):
        fit(table, {"column": "who"}, profile=profile)
    own = dpglm.describe(table, schema=dpglm.Schema.of(COLUMNS, unit={"column": "who"}), privacy=(3.0, 1e-6))
    assert fit(table, {"column": "who"}, profile=own).n_rows is None


@pytest.mark.parametrize("goal", ["explain", "predict", "select"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0, 20.0, 60.0, 900.0])
def test_budgets_of_any_size_are_planned_or_refused(goal: Any, relation: Any, epsilon: float) -> None:
    schema = dpglm.Schema.of(COLUMNS, unit={"column": "who"})
    for family in FORMULAS:
        try:
            privacy = dpglm.Privacy(epsilon, 1e-6, relation=relation)
            plan = dpglm.plan(FORMULAS[family], schema, family=family, goal=goal, privacy=privacy, n=1000)
        except MethodError:
            assert epsilon > 8.0
            continue
        assert plan.guarantee.persons


@pytest.mark.parametrize("privacy", [dpglm.Privacy.gdp(0.3), dpglm.Privacy.zcdp(0.05)])
@pytest.mark.parametrize("goal", ["explain", "predict", "select"])
def test_gaussian_budgets_cover_persons(goal: Any, privacy: dpglm.Privacy) -> None:
    schema = dpglm.Schema.of(COLUMNS, unit={"column": "who"})
    assert dpglm.plan(FORMULAS["binomial"], schema, goal=goal, privacy=privacy, n=1000).guarantee.mu
