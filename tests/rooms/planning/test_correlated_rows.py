"""Plans with a profile that released correlations: rows overlap as they do, and errors are those of fits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.data.formula.parse import parse
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.factor_rows import contrasts
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import LikelyFits
from dpglm.planning.correlated_rows import (
    SHARES,
    CorrelatedRows,
    Margin,
    likely_effects,
    probabilities,
    shrunk,
    smoothed,
)
from dpglm.planning.expectation import Expectation
from dpglm.postprocessing.correlations import ColumnProducts, ProfiledColumn
from dpglm.spec.model_spec import ModelSpec
from dpglm.typing import FloatMatrix
from studies.real_tables import require

ROWS = 20_000
LEVELS = list("pqrs")


def table() -> pd.DataFrame:
    """Two numbers correlated .9, a factor that repeats the first of them, and a response."""
    draw = np.random.default_rng(3)
    a, left = draw.normal(size=ROWS), draw.normal(size=(3, ROWS))
    b = 0.9 * a + math.sqrt(1.0 - 0.81) * left[0]
    f = np.digitize(a + 0.3 * left[1], [-1.5, 0.0, 1.8])
    eta = 1.2 * a - 0.8 * b + 0.7 * (f == 3) - 1.0
    y = draw.random(ROWS) < 1.0 / (1.0 + np.exp(-eta))
    return pd.DataFrame(
        {
            "a": np.clip(a, -5, 5),
            "b": np.clip(b, -5, 5),
            "f": np.array(LEVELS)[f],
            "y": np.where(y, "yes", "no"),
        }
    )


def declared(frame: pd.DataFrame) -> dpglm.Schema:
    shares = frame["f"].value_counts(normalize=True)
    variables = {
        name: Numeric(-5, 5, mean=float(frame[name].mean()), sd=float(frame[name].std(ddof=0)))
        for name in "ab"
    }
    rate = float((frame["y"] == "yes").mean())
    return dpglm.Schema(
        {
            **variables,
            "f": Categorical(LEVELS, shares=[float(shares[level]) for level in LEVELS]),
            "y": Categorical(["no", "yes"], shares=[1.0 - rate, rate]),
        }
    )


def released(frame: pd.DataFrame, noise: float = 1e-6, seed: int = 0) -> ColumnProducts:
    """Products of the columns with noise of this standard deviation, per row."""
    codes = frame["f"].map(LEVELS.index).to_numpy()
    u = np.vstack(
        [
            frame[["a", "b"]].to_numpy().T / 5.0,
            contrasts(4)[codes].T,
            contrasts(2)[(frame["y"] == "yes") * 1].T,
        ]
    )
    columns = (
        ProfiledColumn("a", False, -5.0, 5.0),
        ProfiledColumn("b", False, -5.0, 5.0),
        ProfiledColumn("f", False, levels=tuple(LEVELS)),
        ProfiledColumn("y", False, levels=("no", "yes")),
    )
    error = np.random.default_rng(seed).normal(size=(6, 6))
    rows, deviation = float(len(frame)), noise * len(frame)
    products = u @ u.T + deviation * (error + error.T) / 2.0
    return ColumnProducts(columns, products, u.sum(axis=1), rows, np.array([deviation, 1e-9, 1e-9]))


FRAME = table()
SCHEMA = declared(FRAME)
PRODUCTS = released(FRAME)


def spec(
    formula: str = "y ~ a + b + f", products: ColumnProducts | None = PRODUCTS, **options: Any
) -> ModelSpec:
    return ModelSpec.of(formula, SCHEMA, privacy=(1.0, 1e-6), products=products, **options)


def rows_of(asked: ModelSpec) -> tuple[FloatMatrix, FloatMatrix]:
    chunks = list(asked.coded_model.design(FRAME).chunks())
    X = np.concatenate([np.asarray(chunk.X, dtype=np.float64) for chunk in chunks], axis=1)
    return X, np.concatenate([chunk.y for chunk in chunks])


def drawn(asked: ModelSpec) -> CorrelatedRows:
    assert asked.products is not None
    found = CorrelatedRows.of(asked.coded_model, asked.products)
    assert found is not None
    return found


def test_moments_are_those_of_the_rows() -> None:
    asked = spec()
    X, _ = rows_of(asked)
    assert drawn(asked).moments == pytest.approx(X @ X.T / ROWS, abs=2e-4)


def test_the_information_is_that_of_the_rows() -> None:
    asked = spec()
    X, y = rows_of(asked)
    beta = np.zeros(len(X))
    for _ in range(20):
        q = 1.0 / (1.0 + np.exp(-beta @ X))
        beta += np.linalg.solve((X * q * (1.0 - q)) @ X.T, X @ (y - q))
    exact = (X * q * (1.0 - q)) @ X.T / ROWS
    found = drawn(asked).logistic_curvature(float(y.mean()))
    errors = [np.sqrt(np.diag(np.linalg.inv(each))) for each in (found, exact)]
    assert errors[0] / errors[1] == pytest.approx(1.0, abs=0.1)
    guessed = Expectation(spec(products=None).plan(n=ROWS), ROWS, float(y.mean())).rows.information / ROWS
    assert np.abs(np.log(np.sqrt(np.diag(np.linalg.inv(guessed))) / errors[1])).max() > 0.3
    # The share of the response's variance that the best linear predictor explains.
    design = np.vstack(
        [np.ones(ROWS), FRAME[["a", "b"]].T, *[FRAME["f"] == level for level in "qrs"]]
    ).astype(float)
    linear = np.linalg.lstsq(design.T, y, rcond=None)[0] @ design
    assert drawn(asked).explained == pytest.approx(linear.var() / y.var(), abs=0.01)


def test_products_of_columns_and_curves_keep_what_they_add() -> None:
    asked = spec("y ~ a * f + I(b ** 2)")
    X, _ = rows_of(asked)
    plain = Expectation(spec("y ~ a * f + I(b ** 2)", None).plan(n=ROWS), ROWS, 0.3).moments
    found, exact, guessed = (
        np.sqrt(np.diag(np.linalg.inv(each))) for each in (drawn(asked).moments, X @ X.T / ROWS, plain)
    )
    # Levels that follow a number are drawn as if their chances were linear in it.
    assert np.abs(np.log(found / exact)).max() < 1.0
    assert np.abs(np.log(found / exact)).mean() < 0.75 * np.abs(np.log(guessed / exact)).mean()


def test_what_the_profile_does_not_know_is_left_aside() -> None:
    unknown = spec(
        "y ~ a + b + f",
        replace(PRODUCTS, columns=tuple(replace(c, name=c.name * 2) for c in PRODUCTS.columns)),
    )
    expected = unknown.plan(n=ROWS).expected()
    assert expected.drawn is None
    assert (expected.std_error == spec(products=None).plan(n=ROWS).expected().std_error).all()
    columns = list(PRODUCTS.columns)
    columns[3] = replace(columns[3], name="z")  # the response
    assert drawn(spec(products=replace(PRODUCTS, columns=tuple(columns)))).explained is None
    columns[1] = replace(columns[1], high=6.0)  # b, of which other bounds are declared
    partly = spec(products=replace(PRODUCTS, columns=tuple(columns)))
    found = drawn(partly)
    assert found.moments.shape == (6, 6)
    # Only where it knows all of them is nothing taken to overlap besides.
    assert not found.complete
    assert not partly.plan(n=ROWS).expected().rows.correlated
    assert spec().plan(n=ROWS).expected().rows.correlated
    assert not spec(products=None).plan(n=ROWS).expected().rows.correlated


def test_a_plan_is_the_same_whatever_is_expected_of_it() -> None:
    assert spec().plan(n=ROWS).fingerprint == spec(products=None).plan(n=ROWS).fingerprint
    assert spec() == spec(products=None)
    assert "as the profile released" in str(spec().plan(n=ROWS).summary()).replace("\n", " ")
    assert "correlation 0.5" in str(spec(products=None).plan(n=ROWS).summary()).replace("\n", " ")
    curve = spec().plan(n=ROWS).expected().curve("n", [ROWS, 2 * ROWS])
    own = spec().plan(n=2 * ROWS).expected().std_error[1:]
    assert curve["median"].to_numpy()[1] == pytest.approx(float(np.median(own)))


def test_what_is_lost_in_noise_changes_no_expectation() -> None:
    # Columns that look independent, and explain nothing, would promise smaller errors than no profile does.
    without = spec(products=None).plan(n=ROWS).expected()
    for noise, rows in ((0.2, float(ROWS)), (3.0, float(ROWS)), (0.01, 1.0)):
        lost = released(FRAME, noise, seed=1)
        expected = spec(products=replace(lost, rows=rows)).plan(n=ROWS).expected()
        assert expected.drawn is None
        assert expected.std_error == pytest.approx(without.std_error)
    assert spec(products=released(FRAME, 0.01)).plan(n=ROWS).expected().drawn is not None


def test_rare_levels_are_merged_in_what_was_released() -> None:
    schema = dpglm.Schema({**SCHEMA.variables, "f": Categorical(LEVELS, shares=[0.97, 0.01, 0.01, 0.01])})
    asked = ModelSpec.of("y ~ a + f", schema, privacy=(1.0, 1e-6), products=PRODUCTS)
    mergers = asked.plan(n=3000).expected().mergers
    assert [set(merger.levels) for merger in mergers] == [{"q", "r", "s"}]
    assert mergers[0].after < mergers[0].before


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-6.0, 3.0), st.sampled_from([0.0, 1.0, 1e3]))
def test_whatever_was_released_leads_to_rows(seed: int, magnitude: float, rows: float) -> None:
    products = replace(released(FRAME, 10.0**magnitude, seed), rows=rows)
    columns = [Margin.of(name, SCHEMA.variables[name]) for name in "abf"]
    found = smoothed(products.covariance[:5, :5], columns, products.noise)
    values = np.linalg.eigvalsh(found)
    assert values[0] > -1e-12
    assert found[:2, :2].diagonal() == pytest.approx(
        [float(m.covariance[0, 0]) for m in columns[:2]], rel=1e-3
    )
    assert found[2:, 2:] == pytest.approx(columns[2].covariance, abs=1e-6)
    errors = spec(products=products).plan(n=ROWS).expected().std_error
    assert np.isfinite(errors).all()
    assert (errors > 0.0).all()


def test_covariances_below_their_noise_are_none() -> None:
    columns = [Margin.of(name, SCHEMA.variables[name]) for name in "abf"]
    own = np.zeros((5, 5))
    assert not shrunk(own, columns, 1.0).any()
    kept = shrunk(PRODUCTS.covariance[:5, :5], columns, 1e-9)
    assert kept[0, 1] == pytest.approx(PRODUCTS.covariance[0, 1], rel=1e-3)


def test_effects_are_least_squares_without_noise_and_unknown_with_too_much() -> None:
    covariance, slopes = np.array([[1.0, 0.5], [0.5, 2.0]]), np.array([1.0, -2.0])
    found, explained = likely_effects(covariance, covariance @ slopes, 1e-6, 20.0)
    assert found == pytest.approx(slopes, rel=1e-3)
    assert explained == pytest.approx(slopes @ covariance @ slopes / 20.0, rel=1e-3)
    found, explained = likely_effects(covariance, covariance @ slopes, 1e6, 20.0)
    assert np.abs(found).max() < 1e-3
    assert explained == pytest.approx(float(SHARES.mean()), rel=1e-3)


@pytest.mark.parametrize("explained", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("rate", [0.001, 0.5, 0.93])
def test_probabilities_have_the_rate_and_explain_what_they_can(explained: float, rate: float) -> None:
    direction = np.random.default_rng(0).normal(size=4000)
    direction = (direction - direction.mean()) / direction.std()
    q = probabilities(direction, np.full(4000, 1.0 / 4000), rate, explained)
    assert q.mean() == pytest.approx(rate, rel=1e-2)
    if explained == 0.3 and rate == 0.5:
        assert float(q @ direction / 4000) == pytest.approx(math.sqrt(explained * 0.25), rel=1e-3)


def test_expected_errors_are_those_of_fits() -> None:
    # Nine of ten within a factor of 1.5; without correlations half of those of this table are.
    women = dpglm.load_data("fair")
    formula = "affair ~ rate_marriage + age + yrs_married + children + religious + educ"
    shares = []
    for correlations in (True, False):
        profile = dpglm.describe(women, correlations=correlations, privacy=(1.0, 1e-6), seed=2)
        fit = dpglm.fit(formula, women, profile=profile, privacy=(4.0, 1e-6), seed=1)
        expected = dpglm.plan(formula, women, n=len(women), profile=profile, privacy=(4.0, 1e-6)).expected()
        ratio = expected.std_error / fit.tidy()["std_error"].to_numpy()
        shares.append(float(((ratio > 1.0 / 1.5) & (ratio < 1.5)).mean()))
    assert shares[0] >= 0.85
    assert shares[0] >= shares[1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "calm_at_most"), [("adult", 0.8), ("gusto", 0.95)])
def test_expected_errors_are_those_of_fits_where_noise_hides_how_columns_overlap(
    name: str, calm_at_most: float
) -> None:
    # Without the noise of the information, which leaves coefficients to the priors of others, Adult fails.
    real = require(name)
    frame, formula, words = real.frame(), real.formula(), {"schema": real.schema()}
    columns = [*(model := parse(formula, words["schema"])).columns, model.response]
    budget = dpglm.Privacy(2.0, 1e-6, relation="add-remove")
    told: Any = {"columns": columns, "correlations": True, "privacy": budget, "seed": 3, **words}
    words |= {"profile": dpglm.describe(frame, **told), "privacy": replace(budget, epsilon=1.0)}
    fits = [
        dpglm.fit(formula, frame, penalty="none", seed=seed, progress=False, **words).tidy()
        for seed in range(3)
    ]
    errors = np.array([fit["std_error"].where(fit["reliable"]) for fit in fits], dtype=np.float64)
    reliable = np.isfinite(errors).sum(axis=0) >= 2
    expected = dpglm.plan(formula, n=len(frame), penalty="none", **words).expected()
    spec = expected.plan.specification
    calm = spec.method.expected(expected.plan.problem, expected.plan.releases, expected.rows)
    assert isinstance(calm, Contrasts)
    np.testing.assert_allclose(LikelyFits.of(calm, [np.zeros_like(calm.model.design)]).parts, calm.parts)
    shares = []
    for deviations in (expected.std_error, calm.deviations):
        ratio = deviations[reliable] / np.nanmedian(errors[:, reliable], axis=0)
        shares.append(float(np.mean((ratio > 1.0 / 1.5) & (ratio < 1.5))))
    assert shares[0] >= 0.9
    assert shares[0] >= shares[1]
    assert shares[1] <= calm_at_most
