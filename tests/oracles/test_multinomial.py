"""Multinomial fits against statsmodels: Logit on the rows of two levels, and MNLogit of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.special import softmax

import dpglm
from tests.silence import Silence

LEVELS = ["office", "care", "mine", "farm"]
SCHEMA: dict[str, Any] = {"job": LEVELS, "x": (-3, 3), "arm": ["a", "b", "c"]}
FORMULA = "job ~ x + C(arm)"
# Log odds of each level against the first: intercept, arm b, arm c, x.
TRUTH = np.array([[0.2, 0.5, 0.0, 0.8], [-0.4, -0.5, 0.3, -0.6], [-0.1, 0.0, -0.4, 0.3]])


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)


def people(count: int, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x, arm = np.clip(random.normal(size=count), -3, 3), random.choice(["a", "b", "c"], count)
    X = np.column_stack([np.ones(count), arm == "b", arm == "c", x])
    shares = softmax(np.column_stack([np.zeros(count), X @ TRUTH.T]), axis=1)
    place = (shares.cumsum(axis=1) < random.random((count, 1))).sum(axis=1)
    return pd.DataFrame({"job": np.array(LEVELS)[place], "x": x, "arm": arm})


def logit(table: pd.DataFrame, level: str, right: str = "C(arm) + x") -> Any:
    two = table[table["job"].isin([LEVELS[0], level])]
    two = two.assign(y=(two["job"] == level).astype(float))
    return smf.logit(f"y ~ {right}", two).fit(disp=0, tol=1e-13, maxiter=100)


def fitted(table: Any, formula: str = FORMULA, **chosen: Any) -> dpglm.LevelFits:
    options: dict[str, Any] = {"schema": SCHEMA, "family": "multinomial", "progress": False}
    found = dpglm.fit(formula, table, **(options | chosen))
    assert isinstance(found, dpglm.LevelFits)
    return found


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(4000)


@pytest.mark.parametrize(
    ("formula", "peer"),
    [(FORMULA, "C(arm) + x"), ("job ~ 1", "1"), ("job ~ 0 + x", "0 + x"), ("job ~ x * arm", "C(arm) * x")],
)
@pytest.mark.usefixtures("noiseless")
def test_noiseless_equations_are_those_of_logit_on_two_levels(
    formula: str, peer: str, table: pd.DataFrame
) -> None:
    for privacy in (1e12, None):
        found = fitted(table, formula, privacy=privacy, penalty="none")
        assert list(found) == LEVELS[1:]
        for level, fit in found.items():
            expected = logit(table, level, peer)
            np.testing.assert_allclose(
                fit.params.to_numpy(), expected.params.to_numpy(), rtol=1e-6, atol=1e-6
            )


def test_without_privacy_errors_are_those_of_logit(table: pd.DataFrame) -> None:
    found = fitted(table, privacy=None)
    for level in LEVELS[1:]:
        np.testing.assert_allclose(found.bse[level], logit(table, level).bse, rtol=1e-6)


def test_all_equations_are_near_the_joint_likelihood_and_nearly_as_efficient(table: pd.DataFrame) -> None:
    """MNLogit is another estimator of the same coefficients: apart by less than their own errors."""
    joint = smf.mnlogit("code ~ C(arm) + x", table.assign(code=table["job"].map(LEVELS.index))).fit(disp=0)
    found = fitted(table, privacy=None)
    apart = (found.params.to_numpy() - joint.params.to_numpy()) / joint.bse.to_numpy()
    assert np.abs(apart).max() < 0.5
    assert (found.bse.to_numpy() / joint.bse.to_numpy()).max() < 1.1


def test_probabilities_are_those_of_the_log_odds(table: pd.DataFrame) -> None:
    found = fitted(table, privacy=None)
    new = pd.DataFrame({"x": [-1.0, 0.0, 2.0, None], "arm": ["a", "b", "c", "a"]}, index=[7, 8, 9, 10])
    peers = np.column_stack([logit(table, level).predict(new.iloc[:3]) for level in LEVELS[1:]])
    expected = softmax(np.column_stack([np.zeros(3), np.log(peers / (1.0 - peers))]), axis=1)
    predicted = found.predict(new)
    assert list(predicted.columns) == LEVELS
    assert list(predicted.index) == [7, 8, 9, 10]
    np.testing.assert_allclose(predicted.iloc[:3], expected, rtol=1e-6)
    assert predicted.iloc[3].isna().all()
    classes = found.predict(new, what="class")
    assert list(classes.iloc[:3]) == [LEVELS[place] for place in expected.argmax(axis=1)]
    assert pd.isna(classes.iloc[3])


def test_odds_beyond_all_numbers_are_still_shares() -> None:
    """Slopes of a hundred in log odds: one level has all of it, and nothing is NaN or warns."""
    x = np.repeat([-3.0, 3.0], 300)
    job = np.where(x > 0, "care", np.tile(LEVELS, 150))
    found = fitted(pd.DataFrame({"job": job, "x": x, "arm": "a"}), "job ~ x", privacy=1e12, penalty="none")
    shares = found.predict({"x": [-3.0, 0.0, 3.0]})
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert shares.to_numpy().min() >= 0.0
