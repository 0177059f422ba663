"""Fits of ordered levels against statsmodels' Logit on rows of persons and stages, made here by a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.special import expit

import dpglm
from tests.silence import Silence

LEVELS = ["poor", "fair", "good", "best"]
SCHEMA: dict[str, Any] = {
    "grade": {"levels": LEVELS, "ordered": True},
    "x": (-3, 3),
    "arm": ["a", "b", "c"],
}
FORMULA = "grade ~ x + C(arm)"
STAGES = np.array([0.9, 0.2, -0.6])  # log odds of a level above, old arm, x = 0


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)


def people(count: int, seed: int = 1) -> pd.DataFrame:
    """One row of each person."""
    random = np.random.default_rng(seed)
    x, arm = np.clip(random.normal(size=count), -3, 3), random.choice(["a", "b", "c"], count)
    level, goes_on = np.zeros(count, dtype=int), np.ones(count, dtype=bool)
    for stage in STAGES:
        goes_on &= random.random(count) < expit(stage + 0.6 * x - 0.4 * (arm == "b"))
        level += goes_on
    return pd.DataFrame({"grade": np.array(LEVELS)[level], "x": x, "arm": arm})


def stacked(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each stage that a person reached: whether the person is above it."""
    rows = [
        {"stage": stage, "x": x, "arm": arm, "y": float(LEVELS.index(grade) > stage)}
        for grade, x, arm in table.itertuples(index=False)
        for stage in range(min(LEVELS.index(grade) + 1, len(LEVELS) - 1))
    ]
    return pd.DataFrame(rows)


def logit(table: pd.DataFrame, right: str) -> Any:
    return smf.logit(f"y ~ {right}", stacked(table)).fit(disp=0, tol=1e-13, maxiter=100)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(2500)


@pytest.mark.parametrize(
    ("formula", "peer"),
    [
        (FORMULA, "0 + C(stage) + C(arm) + x"),
        ("grade ~ 1", "0 + C(stage)"),
        ("grade ~ 0 + x", "0 + C(stage) + x"),
        ("grade ~ x * C(grade)", "0 + C(stage) + x + x:C(stage)"),
        ("grade ~ x:grade + arm", "0 + C(stage) + C(arm) + x:C(stage)"),
    ],
)
@pytest.mark.usefixtures("noiseless")
def test_a_noiseless_release_is_the_estimate_of_logit_on_stacked_rows(
    formula: str, peer: str, table: pd.DataFrame
) -> None:
    expected = logit(table, peer)
    for privacy in (1e12, None):
        found = dpglm.fit(
            formula, table, schema=SCHEMA, family="ordinal", privacy=privacy, penalty="none", progress=False
        )
        assert list(found.params.index[:3]) == [f"Intercept[above {level}]" for level in LEVELS[:-1]]
        np.testing.assert_allclose(found.params.to_numpy(), expected.params.to_numpy(), rtol=1e-6, atol=1e-6)


def test_without_privacy_errors_and_criteria_are_those_of_logit(table: pd.DataFrame) -> None:
    expected = logit(table, "0 + C(stage) + C(arm) + x")
    found = dpglm.fit(FORMULA, table, schema=SCHEMA, family="ordinal", privacy=None)
    np.testing.assert_allclose(found.bse.to_numpy(), expected.bse.to_numpy(), rtol=1e-6)
    numbers = [found.llf, found.aic, found.bic, found.n_rows]
    np.testing.assert_allclose(numbers, [expected.llf, expected.aic, expected.bic, expected.nobs], rtol=1e-8)


@pytest.mark.usefixtures("noiseless")
def test_the_part_of_sampling_in_errors_is_that_of_logit(table: pd.DataFrame) -> None:
    expected = logit(table, "0 + C(stage) + C(arm) + x")
    method = dpglm.methods.Objective(scales="declared")  # measured ones give long rows less weight
    options: dict[str, Any] = {"schema": SCHEMA, "family": "ordinal", "method": method, "progress": False}
    found = dpglm.fit(FORMULA, table, privacy=(20.0, 1e-6), **options)
    # The weights of the estimate still allow for the noise that was not drawn: a few per cent.
    np.testing.assert_allclose(found.tidy()["sampling_se"], expected.bse.to_numpy(), rtol=0.05)


def test_probabilities_of_levels_are_those_of_the_stages(table: pd.DataFrame) -> None:
    expected = logit(table, "0 + C(stage) + C(arm) + x")
    found = dpglm.fit(FORMULA, table, schema=SCHEMA, family="ordinal", privacy=None)
    new = pd.DataFrame({"x": [-1.0, 0.0, 2.0], "arm": ["a", "b", "c"]}, index=[7, 8, 9])
    above = np.column_stack([expected.predict(new.assign(stage=stage)) for stage in range(3)])
    by_hand = np.column_stack(
        [
            1.0 - above[:, 0],
            above[:, 0] * (1.0 - above[:, 1]),
            above[:, 0] * above[:, 1] * (1.0 - above[:, 2]),
            above.prod(axis=1),
        ]
    )
    predicted = found.predict(new)
    assert list(predicted.columns) == LEVELS
    assert list(predicted.index) == [7, 8, 9]
    np.testing.assert_allclose(predicted, by_hand, rtol=1e-6)
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0, rtol=1e-12)
    curves = found.survival(new)["estimate"].to_numpy().reshape(3, 3)
    np.testing.assert_allclose(curves, np.cumprod(above, axis=1), rtol=1e-6)
    assert list(found.predict(new, "class")) == [LEVELS[place] for place in by_hand.argmax(axis=1)]


def test_a_whole_table_has_the_shares_of_its_levels(table: pd.DataFrame) -> None:
    found = dpglm.fit("grade ~ 1", table, schema=SCHEMA, family="ordinal", privacy=None)
    shares = table["grade"].value_counts(normalize=True)[LEVELS]
    np.testing.assert_allclose(found.predict({"x": [0.0]}).iloc[0], shares, rtol=1e-6)


def test_levels_are_times_at_which_everybody_stays_with_the_other_sign(table: pd.DataFrame) -> None:
    """The recipe that was there before: staying is the event, and the highest level is beyond the periods."""
    times = table.assign(time=table["grade"].map(LEVELS.index) + 1, stays="yes")
    schema = {"time": (1, 3), "stays": ["no", "yes"], "x": (-3, 3), "arm": ["a", "b", "c"]}
    stays = dpglm.fit("Surv(time, stays) ~ 0 + C(time) + C(arm) + x", times, schema=schema, privacy=None)
    found = dpglm.fit(FORMULA, table, schema=SCHEMA, family="ordinal", privacy=None)
    np.testing.assert_allclose(found.params.to_numpy(), -stays.params.to_numpy(), rtol=1e-8)
    for name in ("estimate", "std_error", "conf_low", "conf_high"):
        rows = {"arm": "b", "x": [-1.0, 1.0]}
        np.testing.assert_allclose(found.survival(rows)[name], stays.survival(rows)[name], rtol=1e-6)
