"""Counts in two stages: prices, where they are used, what they give without noise, wild answers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.auditing.neighbours import Table
from dpglm.inference.contrasts import Contrasts
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.residuals import UNSHORTENED, Residuals
from dpglm.methods.counts import best_length, solve_counts, unlogged
from dpglm.methods.objective import Objective
from dpglm.planning.expected_rows import expected_moments, expected_rows
from dpglm.privacy.gdp import gdp_mu
from dpglm.rows import ArrayChunk
from tests.oracles.test_statsmodels import Silence

SCHEMA = dpglm.Schema.of({"y": (0, 300), "x": (-8, 8), "t": (0.2, 5), "g": ["a", "b", "c"]})
BUDGETS = {
    "approximate": dpglm.Privacy(1.0, 1e-6),
    "add-remove": dpglm.Privacy(1.0, 1e-6, relation="add-remove"),
    "gdp": dpglm.Privacy.gdp(0.3),
    "zcdp": dpglm.Privacy.zcdp(0.05),
}
SEVEN = [
    "means and standard deviations",
    "means and standard deviations in closer ranges",
    "classes of row length",
    "second moments of the response",
    "classes of residual size",
    "second moments of residuals",
    "second moments of residuals at the second point",
]


def planned(formula: str = "y ~ x + g", privacy: Any = BUDGETS["approximate"], **more: Any) -> dpglm.Plan:
    return dpglm.plan(formula, SCHEMA, family="poisson", privacy=privacy, **more)


def names(plan: dpglm.Plan) -> list[str]:
    return [release.name for release in plan.releases.releases]


def table(n: int, seed: int = 1, spread: float = 0.0) -> pd.DataFrame:
    """Counts of mean 2 per unit of exposure; their variance is mean + spread * mean^2."""
    random = np.random.default_rng(seed)
    x, g = random.standard_normal(n), random.integers(0, 3, n)
    exposure = np.exp(np.clip(random.normal(0.0, 0.5, n), -1.6, 1.6))
    mean = np.exp(0.6 + 0.4 * x + np.array([0.0, 0.3, -0.5])[g]) * exposure
    if spread:
        mean = mean * random.gamma(1.0 / spread, spread, n)
    return pd.DataFrame({"x": x, "g": np.array(list("abc"))[g], "t": exposure, "y": random.poisson(mean)})


FORMULA, TRUTH = "y ~ g + x + offset(np.log(t))", np.array([0.6, 0.3, -0.5, 0.4])


def fitted(frame: pd.DataFrame, privacy: Any, **more: Any) -> dpglm.FitResult:
    return dpglm.fit(FORMULA, frame, schema=SCHEMA, family="poisson", privacy=privacy, **more)


@pytest.mark.parametrize("privacy", BUDGETS.values(), ids=BUDGETS.keys())
@pytest.mark.parametrize("formula", ["y ~ x + g", "y ~ g", "y ~ 1", FORMULA])
def test_all_of_the_budget_is_spent_and_no_more(formula: str, privacy: dpglm.Privacy) -> None:
    plan = planned(formula, privacy)
    spent = sum(
        event.mu**2  # type: ignore[attr-defined]
        for release in plan.releases.releases
        for _, event in release.events(privacy.relation)
    )
    mu = gdp_mu(privacy.epsilon, privacy.delta) if privacy.mu is None else privacy.mu
    assert 0.999999 * mu**2 < spent <= mu**2


def test_it_is_for_gaussian_noise_a_constant_and_intervals() -> None:
    assert names(planned()) == SEVEN
    assert names(planned("y ~ g")) == [*SEVEN[:2], *SEVEN[3:]]
    assert names(planned(penalty="l1")) == SEVEN
    assert SEVEN[-1] not in names(planned(privacy=dpglm.Privacy(1.0)))
    others: list[dict[str, Any]] = [
        {"formula": "y ~ x + g - 1"},
        {"method": Objective(scales="declared")},
        {"goal": "predict"},
        {"goal": "select"},
    ]
    for more in others:
        assert SEVEN[-1] not in names(planned(**more))


def test_the_plan_expects_about_what_fits_have() -> None:
    errors = fitted(table(20_000), BUDGETS["add-remove"], seed=3).bse.to_numpy()
    schema = SCHEMA.to_dict()
    schema["variables"]["y"] |= {"mean": 2.0, "sd": 1.7}
    schema["variables"]["x"] |= {"mean": 0.0, "sd": 1.0}
    plan = dpglm.plan(FORMULA, schema, n=20_000, family="poisson", privacy=BUDGETS["add-remove"])
    expected = plan.specification.method.expected(
        plan.problem,
        plan.releases,
        expected_rows(
            plan.specification.coded_model,
            20_000,
            0.5,
            expected_moments(plan.specification.schema, plan.specification.coded_model.coding),
        ),
    )
    assert isinstance(expected, Contrasts)
    assert (np.abs(np.log(expected.deviations / errors)) < math.log(2.0)).all()


def test_a_wide_bound_of_counts_costs_next_to_nothing() -> None:
    frame = table(20_000)
    widths = []
    for bound in (60, 3000):
        schema = SCHEMA.to_dict()
        schema["variables"]["y"]["bounds"] = [0, bound]
        fit = dpglm.fit(FORMULA, frame, schema=schema, family="poisson", privacy=(1.0, 1e-6), seed=3)
        widths.append(fit.bse.to_numpy())
        assert (np.abs(fit.params.to_numpy() - TRUTH) < 4.0 * widths[-1]).all()
    assert (widths[1] < 1.3 * widths[0]).all()


def test_overdispersed_counts_have_wider_intervals() -> None:
    errors = {}
    for spread in (0.0, 1.0):
        fit = fitted(table(50_000, spread=spread), (8.0, 1e-6), seed=3)
        errors[spread] = fit.bse.to_numpy()
        assert (np.abs(fit.params.to_numpy() - TRUTH) < 4.0 * errors[spread]).all()
    assert (errors[1.0] > 1.4 * errors[0.0]).all()


def test_without_noise_it_is_nearly_poisson_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)
    frame = table(20_000)
    fit = fitted(frame, (1e6, 1e-6))
    levels = pd.get_dummies(frame["g"], dtype=float)[["b", "c"]]
    X = sm.add_constant(pd.concat([levels, frame[["x"]]], axis=1))
    peer = sm.GLM(frame["y"], X, family=sm.families.Poisson(), offset=np.log(frame["t"])).fit(tol=1e-14)
    # Two Newton steps, the second in a design that takes predictors to be normal.
    assert (np.abs(fit.params.to_numpy() - peer.params.to_numpy()) < 0.2 * peer.bse.to_numpy()).all()
    np.testing.assert_allclose(fit.bse.to_numpy(), peer.bse.to_numpy(), rtol=0.05)


@pytest.mark.parametrize("cut", [1.5, 1e6])
def test_moments_of_residuals_are_the_score_and_information_at_the_point(cut: float) -> None:
    frame = table(500)
    X = np.array([np.full(500, 0.5), 0.1 * frame["x"]]).astype(np.float32)
    y, offset, point = frame["y"].to_numpy(float), np.log(frame["t"].to_numpy()), np.array([1.0, 3.0])
    where = np.concatenate([np.eye(2).ravel(), point, [0.2, UNSHORTENED, cut]])
    mapped, _ = Residuals("residuals", 300.0).mapped(Table(ArrayChunk(X, y, offset)), where)
    (chunk,) = mapped.chunks()
    mean = np.exp(X.T @ point + offset)
    deviation = np.sqrt(mean + 0.2 * mean**2)
    weight = mean / deviation**2
    rows = UNSHORTENED * chunk.X.astype(float)
    np.testing.assert_allclose(rows @ rows.T, (X * weight * mean) @ X.T, rtol=1e-5)
    residual = np.clip((y - mean) / deviation, -cut, cut)
    np.testing.assert_allclose(cut * rows @ chunk.y, X @ (mean / deviation * residual), rtol=1e-5)


def test_logarithms_of_counts_tell_the_level_and_the_factor() -> None:
    random = np.random.default_rng(4)
    for level, deviation in ((0.5, 0.4), (-1.0, 0.8), (3.0, 0.3)):
        x = random.standard_normal(400_000)
        logs = np.log(random.poisson(np.exp(level + deviation * x)) + 0.5)
        slope = float(np.mean(logs * x))
        found = unlogged(float(logs.mean()), slope)
        assert found == pytest.approx((level, deviation / slope, deviation), abs=0.02)
    for mean, slope in ((1e30, 1.0), (-1e30, 1e30), (0.0, 0.0), (0.3, 1e-300)):
        assert all(math.isfinite(number) for number in unlogged(mean, slope))


def test_rows_are_shortened_more_where_noise_is_larger() -> None:
    squares = np.exp(np.linspace(-4.0, 4.0, 30))
    lengths = [best_length(squares, 1000.0, noise) for noise in (1e-6, 10.0, 1e6)]
    assert lengths[0] == pytest.approx(math.sqrt(squares.max()), rel=0.3)
    assert lengths[0] > lengths[1] > lengths[2]


def test_a_fit_is_saved_and_read_again(tmp_path: Path) -> None:
    frame = table(5000)
    fit = fitted(frame, (4.0, 1e-6), seed=3)
    again = dpglm.load(fit.save(tmp_path / "fit.json"))
    assert str(again.summary()) == str(fit.summary())
    assert "Pearson residuals beyond" in str(again.summary()).replace("\n", " ")
    np.testing.assert_array_equal(again.predict(frame), fit.predict(frame))
    np.testing.assert_array_equal(again.conf_int(), fit.conf_int())
    np.testing.assert_array_equal(again.refit("l1").params, fit.refit("l1").params)


ANSWERS = st.sampled_from([0.0, 1.0, -1.0, 1e-9, 1e9, -1e9, 1e15, -1e15, 50.0, -50.0])


@settings(deadline=None, max_examples=60)
@given(st.lists(ANSWERS, min_size=8, max_size=8), st.sampled_from(["y ~ x + g", "y ~ g", "y ~ 1", FORMULA]))
def test_no_answer_makes_a_fault_or_a_number_that_is_none(answers: list[float], formula: str) -> None:
    plan = planned(formula)
    asked: list[str] = []

    def ask(release: Any, at: Any = None) -> Any:
        inner, size = release.inside, len(plan.problem.geometry.names)
        count = inner.size if isinstance(inner, ColumnSums) else size * (size + 3) // 2 + 2
        if at is not None:
            assert np.isfinite(at).all()
            assert at[-1] > 0.0 or "residual" not in release.name
        asked.append(release.name)
        return np.resize(answers, count)

    released, _, _ = solve_counts(plan.problem, plan.releases, ask)
    assert asked == names(plan)
    for found in (released.score, released.centre, released.information, released.score_scale):
        assert np.isfinite(found).all()
    assert released.dispersion > 0.0
