"""Designs too wide for a matrix are coded as narrower ones are, and what would need a matrix is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.formula import wide_factors
from dpglm.data.formula.parse import parse
from dpglm.errors import FormulaError, MethodError, StoreError
from dpglm.inference.coefficients import Scaling
from dpglm.wide_maps import wide_map

MANY = {"c": [f"c{k}" for k in range(180)], "d": [f"d{k}" for k in range(150)]}
SCHEMA = dpglm.Schema.of({**MANY, "e": ["a", "b", "c"], "x": (-4, 4), "w": (-1, 2), "y": [0, 1]})
FORMULAS = (
    "y ~ c + x + d + e",
    "y ~ x*e + C(c, Treatment('c7')) + w + I(x**2) + C(d, Treatment('d0'))",
    "y ~ c + w + e:w + e",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_maps_norm_and_rows_are_those_of_a_matrix(formula: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = Coding.of(parse(formula, SCHEMA))
    monkeypatch.setattr(wide_factors, "MOST_DENSE", 150)
    wide = Coding.of(parse(formula, SCHEMA))
    assert wide_map(wide.coded_from_user) is not None
    assert wide_map(dense.coded_from_user) is None
    assert wide.names == dense.names
    assert wide.terms == dense.terms
    assert wide.row_norm == pytest.approx(dense.row_norm, rel=1e-12)
    np.testing.assert_array_equal(wide.penalised, dense.penalised)
    assert sorted(group.label for group in wide.groups) == sorted(group.label for group in dense.groups)
    rng = np.random.default_rng(0)
    beta = rng.normal(size=dense.size)
    theta = wide.coded_from_user @ beta
    np.testing.assert_allclose(wide.user_from_coded @ theta, beta, atol=1e-10)
    frame = pd.DataFrame(
        {
            **{
                name: rng.choice([*levels, "none"], 50)
                for name, levels in {**MANY, "e": ["a", "b", "c"]}.items()
            },
            "x": rng.uniform(-4, 4, 50),
            "w": rng.uniform(-1, 2, 50),
        }
    )
    columns = SCHEMA.clean(frame, wide.columns)
    expected, _, usable = dense.encode(columns)
    found, _, own = wide.encode(columns)
    np.testing.assert_array_equal(own, usable)
    assert 0 < usable.sum() < 50
    np.testing.assert_allclose(theta @ found, dense.coded_from_user @ beta @ expected, atol=2e-5)
    scaling, matrices = Scaling.of(wide), Scaling.of(dense)
    np.testing.assert_allclose(scaling.lengths, matrices.lengths, rtol=1e-10)
    np.testing.assert_allclose(scaling.shares, matrices.shares, atol=1e-12)
    scaled = scaling.from_user(beta)
    np.testing.assert_allclose(scaled, matrices.from_user(beta), atol=1e-9)
    np.testing.assert_allclose(scaling.coded(scaled), theta, atol=1e-9)
    np.testing.assert_allclose(scaling.user(scaling.scaled(theta)), beta, atol=1e-9)


LEVELS = [f"l{k}" for k in range(6000)]
WIDE = dpglm.Schema.of({"c": LEVELS, "x": (-4, 4), "y": [0, 1]})


def rows(count: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    x = rng.normal(size=count)
    y = (rng.random(count) < 1 / (1 + np.exp(-2 * x))).astype(int)
    return pd.DataFrame({"c": rng.choice([*LEVELS[:30], LEVELS[-1]], count), "x": x, "y": y})


@pytest.mark.parametrize("privacy", [1000.0, (1000.0, 1e-6)])
def test_a_factor_of_thousands_of_levels_is_fitted(privacy: Any) -> None:
    frame = rows()
    fit = dpglm.fit("y ~ c + x", frame, schema=WIDE, penalty="l2", privacy=privacy, seed=1, progress=False)
    assert tuple(fit.params.index[:3]) == ("Intercept", "c[T.l1]", "c[T.l2]")
    assert len(fit.params) == 6001
    assert fit.params["x"] == pytest.approx(2.0, abs=0.3)
    beta = fit.params
    eta = beta["Intercept"] + beta["x"] * frame["x"].clip(-4, 4)
    eta += frame["c"].map({level: beta.get(f"c[T.{level}]", 0.0) for level in LEVELS})
    np.testing.assert_allclose(fit.predict(frame, what="link"), eta, atol=1e-9)
    unknown = pd.DataFrame({"c": ["l3", "no level", None], "x": [0.0, 0.0, np.nan]})
    assert np.isnan(fit.predict(unknown)).tolist() == [False, True, True]
    assert "c[T.l5999]" in str(fit.summary())
    with pytest.raises(StoreError, match="tidy"):
        fit.save("/nowhere/fit.json")


def test_plans_of_wide_designs_print_their_price_and_expect_nothing() -> None:
    plan = dpglm.plan("y ~ c + x", WIDE, n=4000, penalty="l2", privacy=1.0)
    assert "perturbed minimiser" in str(plan.summary())
    with pytest.raises(MethodError, match="6,001 columns"):
        plan.expected()


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"method": "dp-admm"}, marks=pytest.mark.papers),
        {"method": "output"},
        {"method": "secure-sum"},
        pytest.param({"method": "dpsgd"}, marks=pytest.mark.papers),
        {"penalty": "group"},
        {"penalty": "l2", "method": dpglm.methods.Objective(coding="clipped")},
        {"privacy": None},
    ],
    ids=str,
)
def test_what_would_need_a_matrix_is_refused_before_the_charge(asked: dict[str, Any], tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(10.0, 1e-5))
    asked = {"privacy": (1.0, 1e-6)} | asked
    with pytest.raises(MethodError, match="at most 5,000 columns"):
        dpglm.fit("y ~ c + x", rows(10), schema=WIDE, ledger=ledger, **asked)
    assert not ledger.entries


@pytest.mark.parametrize("formula", ["y ~ 0 + c", "y ~ c*x", "y ~ C(c, Sum)", "y ~ c + c:x", "y ~ c + x:w"])
def test_formulas_that_need_a_matrix_are_refused(formula: str) -> None:
    schema = dpglm.Schema.of({"c": LEVELS, "w": (0, 1), "x": (-4, 4), "y": [0, 1]})
    with pytest.raises(FormulaError):
        Coding.of(parse(formula, schema))


def test_the_limit_on_columns_is_told() -> None:
    schema = dpglm.Schema.of({"c": [f"l{k}" for k in range(100_001)], "y": [0, 1]})
    with pytest.raises(FormulaError, match="at most 5,000; or 100,000 beside an intercept"):
        parse("y ~ c", schema)
