"""Weights of rows: what they are equal to, promise, refuse, keep and say."""

from __future__ import annotations

import dataclasses
import decimal
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import dpglm
from dpglm.auditing.raw_tables import declared_neighbours
from dpglm.data.coding.row_weights import RowWeights
from dpglm.errors import DpglmError, MethodError, PlanningAdvice, SchemaError
from dpglm.mechanisms.score_norms import SPREAD
from dpglm.methods.base import Estimate
from dpglm.methods.information import weighting
from dpglm.spec.weighting import OWN
from dpglm.typing import SHARES

HIGH = 8.0
SCHEMA: dict[str, Any] = {
    "x": (-3, 3),
    "g": ["a", "b", "c"],
    "w": (0, HIGH),
    "ill": ["no", "yes"],
    "pain": (-8, 8),
    "visits": (0, 30),
    "who": (0, 10_000),
}
FAMILIES = {"binomial": "ill", "gaussian": "pain", "poisson": "visits"}
PEERS = {"binomial": sm.families.Binomial, "gaussian": sm.families.Gaussian, "poisson": sm.families.Poisson}
BUDGET = dpglm.Privacy(2.0, 1e-6)


def people(count: int, seed: int = 1) -> pd.DataFrame:
    """Rows whose weights are whole parts of the bound, so that no share is rounded."""
    random = np.random.default_rng(seed)
    x, g = random.normal(size=count).clip(-3, 3), random.choice(list("abc"), count)
    eta = -0.3 + 0.7 * x + 0.4 * (g == "b")
    return pd.DataFrame(
        {
            "x": x,
            "g": g,
            "w": HIGH / 64.0 * random.integers(1, 65, count),
            "ill": np.where(random.random(count) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no"),
            "pain": eta + random.normal(size=count),
            "visits": random.poisson(np.exp(eta)),
        }
    )


def fitted(table: object, response: str = "ill", **chosen: Any) -> dpglm.FitResult:
    options: dict[str, Any] = {"schema": SCHEMA, "weights": "w", "privacy": BUDGET, "seed": 1}
    if chosen.get("privacy", BUDGET) is None:
        options["seed"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningAdvice)
        found = dpglm.fit(f"{response} ~ g + x", table, progress=False, **(options | chosen))
    assert isinstance(found, dpglm.FitResult)
    return found


def peer(table: pd.DataFrame, family: str) -> Any:
    """statsmodels' weighted fit, with the sandwich of independent rows."""
    X = np.column_stack([np.ones(len(table)), table["g"] == "b", table["g"] == "c", table["x"]]).astype(float)
    y = (table["ill"] == "yes") if family == "binomial" else table[FAMILIES[family]]
    model = sm.GLM(y.astype(float), X, family=PEERS[family](), var_weights=table["w"])
    return model.fit(cov_type="HC0", tol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_privacy_the_fit_is_that_of_statsmodels(family: str, tmp_path: Path) -> None:
    table = people(2000)
    fit, other = fitted(table, FAMILIES[family], family=family, privacy=None), peer(table, family)
    # Both stop at residuals of 1e-9 of the score; rows here are in single precision, 6e-8.
    np.testing.assert_allclose(fit.params, other.params, atol=1e-6)
    np.testing.assert_allclose(fit.bse, other.bse, rtol=1e-5)
    again = dpglm.load(fit.save(tmp_path / "fit.json"))
    np.testing.assert_array_equal(again.bse, fit.bse)


def test_without_privacy_a_submodel_has_the_sandwich_of_its_own_terms() -> None:
    """Weights that depend on x, so that the sandwich has not the shape of the information."""
    table = people(4000).assign(g="a", w=lambda it: np.where(it["x"] > 0.8, HIGH, HIGH / 8.0))
    table["g"] = np.random.default_rng(3).choice(list("abc"), len(table))
    fit = fitted(table, "pain", family="gaussian", privacy=None)
    small, X = fit.refit(drop="g"), sm.add_constant(table["x"].to_numpy())
    other = sm.GLM(table["pain"], X, var_weights=table["w"]).fit(cov_type="HC0", tol=1e-12)
    assert not np.allclose(fit.bse / small.bse["x"], 1.0, rtol=0.2)
    np.testing.assert_allclose(small.params, other.params, atol=1e-5)
    np.testing.assert_allclose(small.bse, other.bse, rtol=0.02)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_weight_of_two_is_two_rows(family: str) -> None:
    table = people(600).assign(w=np.repeat([HIGH, HIGH / 2.0], 300))
    twice = pd.concat([table, table.iloc[:300]]).assign(w=HIGH / 2.0)
    first, second = (
        fitted(each, FAMILIES[family], family=family, privacy=None).params for each in (table, twice)
    )
    np.testing.assert_allclose(first, second, atol=1e-7)


@pytest.mark.parametrize(("family", "delta"), [*((each, 1e-6) for each in FAMILIES), ("poisson", 0.0)])
def test_with_next_to_no_noise_the_fit_is_that_of_statsmodels(family: str, delta: float) -> None:
    """At epsilon 5,000 what is left are cuts and rows far out, which weigh less."""
    table = people(20_000)
    budget = dpglm.Privacy(5000.0, delta)
    fit, other = fitted(table, FAMILIES[family], family=family, privacy=budget), peer(table, family)
    np.testing.assert_allclose(fit.params, other.params, atol=0.03)
    np.testing.assert_allclose(fit.bse, other.bse, rtol=0.25)


def test_full_weights_are_no_weights() -> None:
    table = people(3000).assign(w=2.0 * HIGH)  # beyond the bound, so at it
    weighted, plain = (fitted(table, weights=weights, privacy=None).params for weights in ("w", None))
    np.testing.assert_allclose(weighted, plain, atol=1e-8)


def test_numbers_of_one_column_may_be_weight_and_term() -> None:
    table = people(2000)
    fit = dpglm.fit("ill ~ x + w", table, schema=SCHEMA, weights="w", privacy=None)
    assert isinstance(fit, dpglm.FitResult)
    assert fit.names == ("Intercept", "x", "w")


def test_guarantee_and_noise_are_those_of_full_rows_but_for_what_measures_the_spread() -> None:
    """The spread of the score takes 2 % of mu squared, so other noise grows by about 1 %."""
    plain, weighted = (
        dpglm.plan("ill ~ x", SCHEMA, weights=weights, privacy=BUDGET, n=3000) for weights in (None, "w")
    )
    for plan in (plain, weighted):
        assert (plan.guarantee.epsilon, plan.guarantee.relation, plan.guarantee.unit) == (
            2.0,
            "replace-one",
            "one row",
        )
    assert "for persons" not in weighted.guarantee.theorem
    first, second = ({r.name: max(r.noise_scales) for r in p.releases.releases} for p in (plain, weighted))
    assert set(second) - set(first) == {SPREAD}
    for name, scale in first.items():
        assert scale <= second[name] < 1.02 * scale, name
    assert {release.weighs for release in weighted.releases.releases} == {True}
    assert OWN in weighted.guarantee.assumptions
    assert OWN not in plain.guarantee.assumptions


def test_rows_are_counted_but_what_they_weigh_is_private() -> None:
    fit, spec = fitted(people(3000)), dpglm.ModelSpec.of("ill ~ x", SCHEMA, privacy=BUDGET, weights="w")
    assert fit.n_rows == 3000
    assert spec.rows_are_public
    problem = spec.problem(n=3000)
    assert problem.count_rows is None
    assert problem.weighted
    with pytest.raises(MethodError, match="rows"):
        dpglm.plan("ill ~ x", SCHEMA, weights="w", privacy=BUDGET, penalty="l2", strength=0.1)


def test_the_weights_are_part_of_plan_fingerprint_file_summary_and_report(tmp_path: Path) -> None:
    table = people(4000)
    plain, plan = (dpglm.plan("ill ~ g + x", SCHEMA, privacy=BUDGET, weights=each) for each in (None, "w"))
    assert plan.fingerprint != plain.fingerprint
    assert "w / 8, at most 1" in str(plan.summary())
    assert plan.what.endswith("weights w]")
    again = dpglm.ModelSpec.from_json(plan.specification.to_json())
    assert again == plan.specification
    assert again.weights == "w"
    assert "weights" not in json.loads(plain.specification.to_json())

    ledger = dpglm.Ledger(tmp_path / "l.ledger", budget=(4.0, 1e-5))
    fit = fitted(table, seed=None, ledger=ledger)
    text = " ".join(str(fit.summary()).split())
    assert "Weights: w / 8, at most 1" in text
    assert "Rows count by w, those without a weight not at all" in text
    saved = fit.save(tmp_path / "fit.json")
    loaded = dpglm.load(saved)
    assert loaded.specification.weights == "w"
    assert loaded.params.equals(fit.params)
    assert dpglm.verify(saved).passed
    page = fit.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "Weights of rows" in page
    # Whoever takes the weights out of the file has another plan than the one that was charged.
    document = json.loads(saved.read_text(encoding="utf-8"))
    del document["specification"]["weights"]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document), encoding="utf-8")
    assert not dpglm.verify(other).passed


def test_a_result_without_weights_is_saved_as_before_there_were_any(tmp_path: Path) -> None:
    document = json.loads(fitted(people(2000), weights=None).save(tmp_path / "fit.json").read_text())
    assert "weights" not in document["specification"]
    assert "weighting" not in document["released"]
    assert "weighting" in json.loads(fitted(people(20_000)).save(tmp_path / "w.json").read_text())["released"]


def test_a_plan_with_weights_takes_no_others() -> None:
    plan = dpglm.plan("ill ~ x", SCHEMA, privacy=BUDGET, weights="w")
    with pytest.raises(MethodError, match="beside a plan"):
        dpglm.fit(plan, people(50), weights="w")


@pytest.mark.parametrize(
    ("weights", "declared"),
    [
        ("w", (-1, 8)),
        ("w", ["1", "2"]),
        ("w", {"bounds": (0, 8), "date": {"origin": "2015-01-01"}}),
        ("other", (0, 8)),
        ("", (0, 8)),
        (3, (0, 8)),
        (np.ones(50), (0, 8)),
    ],
)
def test_weights_that_are_no_declared_number_are_refused(weights: Any, declared: Any) -> None:
    with pytest.raises(SchemaError, match="weights"):
        dpglm.plan("ill ~ x", SCHEMA | {"w": declared}, privacy=1.0, weights=weights)


@pytest.mark.parametrize(
    "method",
    [
        "secure-sum",
        *(
            pytest.param(name, marks=pytest.mark.papers)
            for name in ("dpsgd", "mpadmm", "ssadmm", "pst-s", "pst-f", "plr", "dlvp")
        ),
    ],
)
def test_methods_about_full_rows_are_refused(method: str) -> None:
    schema = dpglm.Schema.of(SCHEMA, rows=4000)
    with pytest.raises(MethodError, match="weights"):
        dpglm.plan("ill ~ x", schema, privacy=(1.0, 1e-6), weights="w", method=method, penalty="none")


def test_sites_periods_and_stages_are_refused(tmp_path: Path) -> None:
    table = people(200)
    with pytest.raises(MethodError, match="tables by site"):
        dpglm.fit("ill ~ x", {"a": table, "b": table}, schema=SCHEMA, privacy=BUDGET, weights="w")
    schema = SCHEMA | {"week": (1, 4), "grade": {"levels": ["1", "2", "3"], "ordered": True}}
    with pytest.raises(MethodError, match="Surv"):
        dpglm.plan("Surv(week, ill) ~ x", schema, privacy=BUDGET, weights="w")
    with pytest.raises(MethodError, match="ordinal"):
        dpglm.plan("grade ~ x", schema, privacy=BUDGET, weights="w", family="ordinal")
    fits = {
        site: dpglm.load(fitted(people(4000, seed)).save(tmp_path / site))
        for seed, site in ((1, "a.json"), (2, "b.json"))
    }
    with pytest.raises(MethodError, match="weights"):
        dpglm.pool(fits)


# Cells of a weight that no code book has; none says anything but of its own row.
HOSTILE = [np.nan, np.inf, -np.inf, -5.0, 1e300, -0.0, 1e-300, "text", "", None, "7", "1e400", "0x1p3", True]
HOSTILE += [decimal.Decimal("sNaN"), b"\xff", object(), [1], pd.NaT, 2**70]


def chunk_of(table: pd.DataFrame, **unit: Any) -> Any:
    schema = dpglm.Schema.of(SCHEMA, **unit)
    spec = dpglm.ModelSpec.of("ill ~ g + x", schema, privacy=None, weights="w")
    (chunk,) = spec.coded_model.design(table).chunks()
    return chunk


@pytest.mark.parametrize("cell", HOSTILE, ids=lambda cell: type(cell).__name__ + str(cell)[:9])
def test_a_hostile_weight_changes_no_other_row_and_raises_nothing(cell: object) -> None:
    table = people(60)
    told = table["w"].astype(object)
    told.iloc[7] = cell
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, plain = chunk_of(table.assign(w=told)), chunk_of(table)
    others = np.arange(60) != 7
    np.testing.assert_array_equal(found.X[:, others], plain.X[:, others])
    np.testing.assert_array_equal(found.share[others], plain.share[others])
    np.testing.assert_array_equal(found.y[others], plain.y[others])
    assert 1.0 / SHARES <= found.share[7] <= 1.0
    counts = bool(found.X[:, 7].any())
    cleaned = np.asarray(dpglm.Schema.of(SCHEMA).variables["w"].clean([cell]), dtype=np.float64)
    value = RowWeights("w", HIGH).shares(cleaned)
    assert counts == bool(value[1][0])
    if not counts:
        assert not found.X[:, 7].any()
        assert found.y[7] == 0.0
        assert found.share[7] == 1.0 / SHARES
    assert fitted(table.assign(w=told)).params.notna().all()


def test_shares_are_whole_parts_at_most_one_and_near_the_weight() -> None:
    weights = np.concatenate([np.linspace(0.0, 1.0, 10_001) * HIGH, [3.0 * HIGH, np.inf, -1.0]])
    shares, counts = RowWeights("w", HIGH).shares(weights)
    assert (shares * SHARES == np.rint(shares * SHARES)).all()
    assert shares.max() == 1.0
    assert np.abs(shares - np.clip(weights / HIGH, 0.0, 1.0))[counts].max() <= 0.5 / SHARES
    assert not counts[weights <= 0.0].any()


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_shares_of_a_person_add_up_to_one_at_most(rows: int) -> None:
    random = np.random.default_rng(4)
    table = people(3000).assign(who=random.integers(0, 2, 3000) * random.integers(0, 40, 3000))
    table["w"] = np.where(random.random(3000) < 0.2, 0.0, table["w"])
    chunk = chunk_of(table, unit={"column": "who", "rows": rows})
    first = table.groupby("who").cumcount() < rows
    added = pd.Series(chunk.share * SHARES).groupby(table["who"][first].to_numpy()).sum()
    assert len(chunk.share) == first.sum()
    assert added.max() <= SHARES
    # One row of a person less leaves the shares of all others.
    plan = dpglm.plan(
        "ill ~ x", dpglm.Schema.of(SCHEMA, unit={"column": "who", "rows": rows}), privacy=BUDGET, weights="w"
    )
    assert ("for persons" in plan.guarantee.theorem) == (rows > 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_spread_of_the_score_is_the_trace_of_the_sandwich(family: str) -> None:
    """Without noise and without rows far out: sum s^2 e^2 |x|^2 over sum s v |x|^2, by hand."""
    table = people(20_000)
    fit = fitted(table, FAMILIES[family], family=family, privacy=dpglm.Privacy(5000.0, 1e-6))
    released = fit._record.released
    assert released is not None
    exact = fitted(table, FAMILIES[family], family=family, privacy=None)._record.released
    assert exact is not None
    share = table["w"] / HIGH
    kish = float((share**2).sum() / share.sum())
    assert exact.weighting == pytest.approx(kish, rel=0.05)  # where weights say nothing of the response
    assert released.weighting == pytest.approx(kish, rel=0.08)


def test_where_noise_hides_the_spread_errors_are_those_of_full_weights() -> None:
    fit = fitted(people(400), privacy=dpglm.Privacy(0.5, 1e-6))
    released = fit._record.released
    assert released is not None
    assert released.weighting == 1.0
    assert "too long rather than too short" in " ".join(str(fit.summary()).split())
    assert weighting((0.0, 0.0), 5.0) > 0.0


def test_a_submodel_keeps_the_weights() -> None:
    # The levels are shuffled: without an effect of theirs the submodel is near enough.
    table = people(20_000)
    fit = fitted(table.assign(g=np.random.default_rng(5).permutation(table["g"])))
    small = fit.refit(drop="g")
    assert small.specification.weights == "w"
    assert small._record.released is not None
    assert small._record.released.weighting == fit._record.released.weighting  # type: ignore[union-attr]


def test_counts_of_equal_rows_need_no_more_than_their_own_bound() -> None:
    estimate = {field.name for field in dataclasses.fields(Estimate)}
    assert "coded" in estimate  # what is released is the estimate, and no sum of weights
    with pytest.raises(DpglmError):
        dpglm.plan("ill ~ x", {"x": (0, 1), "ill": ["no", "yes"]}, privacy=1.0, weights="w")


def test_audits_have_rows_whose_weight_is_beyond_the_bound() -> None:
    model = dpglm.ModelSpec.of("ill ~ x", SCHEMA, privacy=1.0, weights="w").coded_model
    for pair in declared_neighbours(model, "add-remove"):
        for table in (pair.first, pair.second):
            for chunk in table.chunks():
                assert chunk.share is None or (np.asarray(chunk.share) <= 1.0).all()
    plan = dpglm.plan("ill ~ x", SCHEMA, n=500, privacy=1.0, weights="w", method="output")
    assert dpglm.audit(plan, trials=200, seed=1, progress=False).passed


@pytest.mark.audit
def test_a_default_plan_with_weights_passes_its_audit() -> None:
    plan = dpglm.plan("ill ~ x", SCHEMA, n=500, privacy=(1.0, 0.05), weights="w")
    assert dpglm.audit(plan, trials=500, seed=1, progress=False).passed
