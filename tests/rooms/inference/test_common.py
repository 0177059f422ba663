"""Numbers that are strong together: the prior has one more direction, that of the first released point."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import dpglm
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.linear_model import LinearModel

pytestmark = pytest.mark.filterwarnings("ignore::dpglm.errors.PlanningAdvice")
SLOPES, ROWS = 20, 10_000
BUDGET = dpglm.Privacy(0.3, 1e-6, relation="add-remove")
NAMES = [f"x{j}" for j in range(SLOPES)]


def fitted(
    seed: int,
    slope: float,
    intercept: float = -2.0,
    *,
    family: str = "binomial",
    rows: int = ROWS,
    budget: dpglm.Privacy = BUDGET,
) -> dpglm.FitResult:
    random = np.random.default_rng([seed, 1])
    X = random.normal(size=(rows, SLOPES)).clip(-3, 3)
    eta = intercept + slope * X @ np.where(np.arange(SLOPES) % 2, -1.0, 1.0)
    frame, bounds = pd.DataFrame(X, columns=NAMES), dict.fromkeys(NAMES, (-3, 3))
    if family == "binomial":
        frame["y"] = np.where(random.random(rows) < expit(eta), "yes", "no")
        bounds["y"] = ["no", "yes"]
    else:
        frame["y"] = (eta + random.normal(size=rows)).clip(-12, 12)
        bounds["y"] = (-12, 12)
    formula = f"y ~ {' + '.join(NAMES)}"
    return dpglm.fit(formula, frame, schema=bounds, privacy=budget, family=family, seed=seed, progress=False)


def test_a_constant_is_covered_beside_many_numbers_that_are_strong_together() -> None:
    """Where the prior knows numbers one by one, told intercepts cover .21 (60 fits), now all do.

    Four misses or fewer of 12 that are told then have a probability of 8e-4; at .94 more of 20 have .006.
    """
    told, misses = 0, 0
    for seed in range(20):
        fit = fitted(seed, 0.8)
        row = fit.tidy().set_index("term").loc["Intercept"]
        told += row.reliable
        misses += row.reliable and not row.conf_low <= -2.0 <= row.conf_high
    assert told >= 12
    assert misses <= 4


def test_a_pool_covers_the_constant_too() -> None:
    """Where the prior knows numbers one by one, told intercepts cover .21 (28 of 30 pools), now .76 (29).

    Five misses or fewer of 12 that are told then have a probability of .005; more have .05 now.
    """
    told, misses = 0, 0
    for seed in range(12):
        sites = {place: fitted(100 * seed + at, 0.8, rows=5_000) for at, place in enumerate("ab")}
        row = dpglm.pool(sites).tidy().set_index("term").loc["Intercept"]
        told += row.reliable
        misses += row.reliable and not row.conf_low <= -2.0 <= row.conf_high
    assert told >= 10
    assert misses <= 5


def test_a_joint_test_sees_many_numbers_that_are_strong_together() -> None:
    """Each term is as far from a straight line as by itself: all at once would leave no test at all."""
    fit = fitted(3, 0.8, budget=dpglm.Privacy(1.0, 1e-6, relation="add-remove"))
    truth = 0.8 * np.where(np.arange(SLOPES) % 2, -1.0, 1.0)
    assert fit.wald_test(", ".join(NAMES)).p_value < 1e-3
    assert fit.wald_test((np.eye(SLOPES + 1)[1:], truth)).p_value > 0.05
    # The same space in other words.
    random = np.random.default_rng(5).normal(size=(SLOPES, SLOPES)) @ np.eye(SLOPES + 1)[1:]
    one, other = (fit.wald_test((rows, 0.0)).statistic for rows in (np.eye(SLOPES + 1)[1:], random))
    assert one == pytest.approx(other, rel=1e-6)


def test_nothing_changes_where_numbers_are_weak_or_the_model_is_linear() -> None:
    strong, weak = fitted(1, 0.8)._record.contrasts, fitted(1, 0.1)._record.contrasts
    assert strong is not None
    assert weak is not None
    common, t = strong.model.common, strong.model.released.centre
    assert common.any()
    assert common[0] == 0.0  # the constant keeps its prior
    np.testing.assert_allclose(common[1:] / common[1], t[1:] / t[1])
    assert not weak.model.common.any()
    linear = fitted(1, 0.8, family="gaussian")._record.contrasts
    assert linear is not None
    assert not linear.model.common.any()


def test_estimates_are_those_of_the_whole_prior() -> None:
    """Each function is fixed, what is orthogonal to it in the prior is random."""
    contrasts = fitted(2, 0.8)._record.contrasts
    assert contrasts is not None
    model, rows = contrasts.model, contrasts.rows
    prior = np.diag(model.released.prior_variance) + np.outer(model.common, model.common)
    noise = model.omega - model.sampling
    for j in (0, 1, 7):
        unit = prior @ rows[j] / (rows[j] @ prior @ rows[j])
        others = prior - np.outer(unit, unit) * (rows[j] @ prior @ rows[j])
        inverse = np.linalg.inv(noise + model.design @ others @ model.design)
        weights = inverse @ (model.design @ unit)
        weights /= weights @ model.design @ unit
        assert contrasts.estimates[j] == pytest.approx(weights @ model.response, rel=1e-5)
        spread = weights @ (model.omega + model.design @ others @ model.design) @ weights
        assert contrasts.linear_variances[j] == pytest.approx(spread, rel=1e-5)
    alone = Contrasts(model.like(model.released, model.gap, common=0.0 * model.common), rows)
    assert (np.abs(alone.estimates[1:]) < np.abs(contrasts.estimates[1:])).mean() > 0.8
    assert not LinearModel(model.released).common.any()
