"""Fits of times and events against statsmodels' Logit on rows of persons and periods, made here by a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import expit

import dpglm
from tests.silence import Silence

WEEKS = 6
SCHEMA: dict[str, Any] = {"week": (1, WEEKS), "left": ["no", "yes"], "x": (-3, 3), "arm": ["a", "b", "c"]}
FORMULA = "Surv(week, left) ~ x + C(arm)"
PEER = "y ~ C(week) + x + C(arm)"
HAZARDS = np.array([-2.2, -1.8, -1.6, -1.9, -2.0, -1.7])


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)


def people(count: int, seed: int = 1) -> pd.DataFrame:
    """One row of each person, some of whom are lost."""
    random = np.random.default_rng(seed)
    x, arm = np.clip(random.normal(size=count), -3, 3), random.choice(["a", "b", "c"], count)
    lost = random.integers(1, WEEKS + 4, count)
    week, left = np.minimum(lost, WEEKS), np.full(count, "no", dtype=object)
    at_risk = np.ones(count, dtype=bool)
    for period, hazard in enumerate(HAZARDS, start=1):
        happens = random.random(count) < expit(hazard + 0.6 * x - 0.4 * (arm == "b"))
        now = at_risk & happens & (lost >= period)
        week[now], left[now] = period, "yes"
        at_risk &= ~now & (lost > period)
    return pd.DataFrame({"week": week, "left": left, "x": x, "arm": arm})


def by_period(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each person and period, by the definition."""
    rows = [
        {"week": period, "x": x, "arm": arm, "y": float(period == week and left == "yes")}
        for week, left, x, arm in table.itertuples(index=False)
        for period in range(1, week + 1)
    ]
    return pd.DataFrame(rows)


def logit(table: pd.DataFrame, formula: str = PEER) -> Any:
    return smf.logit(formula, by_period(table)).fit(disp=0, tol=1e-13, maxiter=100)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(2500)


@pytest.mark.parametrize(
    ("formula", "peer"),
    [
        (FORMULA, PEER),
        ("Surv(week, left) ~ 0 + x", "y ~ 0 + C(week) + x"),
        ("Surv(week, left) ~ x * C(week)", "y ~ x * C(week)"),
        ("Surv(week, left) ~ week + I(week ** 2) + x", "y ~ week + I(week ** 2) + x"),
    ],
)
@pytest.mark.usefixtures("noiseless")
def test_a_noiseless_release_is_the_estimate_of_logit(formula: str, peer: str, table: pd.DataFrame) -> None:
    expected = logit(table, peer)
    for privacy in (1e12, None):
        found = dpglm.fit(
            formula, table, schema=SCHEMA, penalty="none", goal="predict", privacy=privacy, progress=False
        )
        assert list(found.names) == list(expected.params.index)
        # Both solvers stop at 1e-8 or better; rows are float32.
        np.testing.assert_allclose(found._record.estimates, expected.params.to_numpy(), rtol=1e-6, atol=1e-6)


def test_without_privacy_errors_and_criteria_are_those_of_logit(table: pd.DataFrame) -> None:
    expected = logit(table)
    found = dpglm.fit(FORMULA, table, schema=SCHEMA, privacy=None)
    np.testing.assert_allclose(found.bse.to_numpy(), expected.bse.to_numpy(), rtol=1e-6)
    numbers = [found.llf, found.aic, found.bic, found.n_rows]
    np.testing.assert_allclose(numbers, [expected.llf, expected.aic, expected.bic, expected.nobs], rtol=1e-8)


@pytest.mark.usefixtures("noiseless")
def test_the_part_of_sampling_in_errors_is_that_of_logit(table: pd.DataFrame) -> None:
    """With a dispersion of 1, as of rows that may depend on one another, it would be 2.4 times as large."""
    expected = logit(table)
    method = dpglm.methods.Objective(scales="declared")  # measured ones give long rows less weight
    # No claim about persons holds at the epsilon of 1e12 that other oracles take.
    found = dpglm.fit(FORMULA, table, schema=SCHEMA, privacy=(20.0, 1e-6), method=method, progress=False)
    # The weights of the estimate still allow for the noise that was not drawn: a few per cent.
    np.testing.assert_allclose(found.tidy()["sampling_se"], expected.bse.to_numpy(), rtol=0.05)


@pytest.mark.parametrize("rows", [{"arm": ["a", "b"], "x": [-1.0, 2.0]}, {}])
def test_curves_and_their_errors_are_those_of_the_delta_method(
    rows: dict[str, Any], table: pd.DataFrame
) -> None:
    expected = logit(table)
    found = dpglm.fit(FORMULA, table, schema=SCHEMA, privacy=None).survival(rows)
    first = WEEKS  # points of the first curve
    at = found.iloc[:first]
    names = list(expected.params.index)

    def curve(params: Any) -> Any:
        design = np.zeros((first, len(names)))
        design[:, 0] = 1.0
        for period in range(1, WEEKS):
            design[period, names.index(f"C(week)[T.{period + 1}]")] = 1.0
        design[:, names.index("x")] = at["x"]
        return np.cumprod(1.0 - expit(design @ np.asarray(params)))

    np.testing.assert_allclose(at["estimate"], curve(expected.params), rtol=1e-6)
    steps = 1e-5 * np.eye(len(names))
    centre = expected.params.to_numpy()
    gradient = np.array([(curve(centre + step) - curve(centre - step)) / 2e-5 for step in steps])
    errors = np.sqrt(np.einsum("ij,ik,kj->j", gradient, expected.cov_params().to_numpy(), gradient))
    np.testing.assert_allclose(at["std_error"], errors, rtol=1e-5)  # differences of second order
    reach = 1.959964 * errors / np.abs(at["estimate"] * np.log(at["estimate"]))
    for name, sign in (("conf_low", 1.0), ("conf_high", -1.0)):
        np.testing.assert_allclose(at[name], at["estimate"] ** np.exp(sign * reach), rtol=1e-5)


def test_shares_that_follow_from_the_time_are_not_those_of_hazards() -> None:
    """One hazard of .1 in two periods: the share 1/T of `Unit` finds h (3 - h) / 2, and `Surv` finds h."""
    hazard, count = 0.1, 200_000
    random = np.random.default_rng(4)
    first, second = random.random((2, count)) < hazard
    table = pd.DataFrame(
        {"week": np.where(first, 1, 2), "left": np.where(first | second, "yes", "no"), "who": range(count)}
    )
    rows = table.loc[table.index.repeat(table["week"])].reset_index(drop=True)
    period = rows.groupby("who").cumcount() + 1
    rows["now"] = np.where((period == rows["week"]) & (rows["left"] == "yes"), "yes", "no")
    shared = dpglm.Schema.of({"now": ["no", "yes"]}, unit={"column": "who"})
    wrong = dpglm.fit("now ~ 1", rows, schema=shared, privacy=None).params["Intercept"]
    schema = {"week": (1, 2), "left": ["no", "yes"]}
    right = dpglm.fit("Surv(week, left) ~ 1", table, schema=schema, privacy=None)
    # Six standard errors of a share of .1 in 200,000 rows and more.
    assert abs(expit(wrong) - hazard * (3.0 - hazard) / 2.0) < 0.005
    np.testing.assert_allclose(right.predict({"week": [1, 2]}), [hazard, hazard], atol=0.005)


@pytest.mark.parametrize("rounded_up", [False, True])
def test_who_is_lost_within_a_period_biases_hazards_as_the_proof_says(rounded_up: bool) -> None:
    hazard, lost, count = 0.1, 0.2, 200_000
    random = np.random.default_rng(5)
    event = random.geometric(hazard, count) - random.random(count)
    gone = random.exponential(-1.0 / np.log1p(-lost), count)
    time = np.minimum(event, gone)
    table = pd.DataFrame(
        {"week": np.ceil(time) if rounded_up else time, "left": np.where(event <= gone, "yes", "no")}
    )
    schema = {"week": (1, 3), "left": ["no", "yes"]}
    found = dpglm.fit("Surv(week, left) ~ 1", table, schema=schema, privacy=None)
    expected = hazard * (1.0 - lost / 2.0 if rounded_up else 1.0 + lost / 2.0)
    np.testing.assert_allclose(found.predict({"week": [1, 2, 3]}), expected, atol=0.004)


def test_hazards_of_the_whole_table_are_shares_of_those_at_risk(table: pd.DataFrame) -> None:
    found = dpglm.fit("Surv(week, left) ~ 1", table, schema=SCHEMA, privacy=None)
    hazards = by_period(table).groupby("week")["y"].mean()
    np.testing.assert_allclose(found.predict({"week": list(range(1, WEEKS + 1))}), hazards, rtol=1e-6)
    kaplan_meier = sm.SurvfuncRight(table["week"], table["left"] == "yes").surv_prob
    np.testing.assert_allclose(found.survival()["estimate"], kaplan_meier, rtol=1e-6)


def test_ordered_levels_are_stages_at_which_everybody_stays_but_at_the_last_one() -> None:
    """Continuation ratios of four grades: the recipe of ``docs/methods.md``."""
    random = np.random.default_rng(6)
    x = random.normal(size=3000).clip(-3, 3)
    grade = 1 + sum((random.random(3000) < expit(0.2 + 0.5 * x)).astype(int) for _ in range(3))
    table = pd.DataFrame({"grade": grade, "stays": "yes", "x": x})
    schema = {"grade": (1, 3), "stays": ["no", "yes"], "x": (-3, 3)}
    found = dpglm.fit("Surv(grade, stays) ~ x", table, schema=schema, privacy=None)
    stages = pd.concat(
        [
            pd.DataFrame(
                {"y": (grade == stage)[grade >= stage] * 1.0, "x": x[grade >= stage], "grade": stage}
            )
            for stage in (1, 2, 3)
        ]
    )
    expected = smf.logit("y ~ C(grade) + x", stages).fit(disp=0, tol=1e-13)
    np.testing.assert_allclose(found.params, expected.params[found.params.index], rtol=1e-6, atol=1e-6)
    above = dpglm.fit("Surv(grade, stays) ~ 1", table, schema=schema, privacy=None).survival()
    np.testing.assert_allclose(above["estimate"], [(grade > stage).mean() for stage in (1, 2, 3)], rtol=1e-6)
