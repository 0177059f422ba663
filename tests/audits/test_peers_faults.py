"""Faults that were found in other packages: each is caught by the audit, and our computation keeps its claim.

The faulty computations are written down in a few lines after the published code and issues; no peer is
imported. ``dpglm``'s side is its own audit of the same model. Each verdict is wrong with probability at most
1e-4; the seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpglm
from tests.audits.harness import FAILURE
from tests.audits.twins import gamma_noise, logistic_minimisers, pure, refuted, score

TRIALS = 4000


def ours_stands(formula: str, schema: dict[str, Any], family: str = "binomial", epsilon: float = 2.0) -> bool:
    study = dpglm.plan(
        formula, schema, n=1000, privacy=epsilon, family=family, goal="predict", penalty="none"
    )
    return dpglm.audit(study, trials=TRIALS, confidence=1 - FAILURE, seed=1, progress=False).passed


@pytest.mark.audit
def test_logistic_regression_whose_noise_ignores_the_norm_of_the_data() -> None:
    """diffprivlib, LogisticRegression(data_norm=4): noise for rows of norm 1 on rows of norm up to 4."""
    norm, epsilon, ridge = 4.0, 2.0, 1.0

    def faulty(table: Any, generator: np.random.Generator, count: int) -> Any:
        rows, y, times = table
        credited = epsilon - 2.0 * math.log1p(0.25 / ridge)  # Chaudhuri et al. (2011), rows of norm 1
        return logistic_minimisers(rows, y, times, gamma_noise(generator, count, 1, credited / 2.0), ridge)

    rows, times = np.array([[norm], [norm]]), np.array([50.0, 1.0])
    first, second = (rows, np.array([0.0, 1.0]), times), (rows, np.array([0.0, 0.0]), times)
    assert refuted(faulty, first, second, pure(epsilon))
    assert ours_stands("y ~ x - 1", {"y": [0, 1], "x": (-norm, norm)})


@pytest.mark.audit
def test_logistic_regression_whose_intercept_does_not_count_in_the_norm() -> None:
    """diffprivlib's default: a column of ones beside rows of norm 1, noise for norm 1.

    Two rows (1, x) at an obtuse angle; the rest of the table holds the fit where both slopes are near 1.
    """
    epsilon, ridge = 3.0, 10.0
    rows = np.array([[1.0, 1.0], [1.0, 0.6]])
    # With responses 1 and 0 the rows pull to (1, 1) and to (-1, -.6); the rest pulls the other way.
    rest = (rows, np.array([0.0, 1.0]), np.array([2e4, 2e4]))

    def table(row: int, answer: float) -> Any:
        X, y = np.vstack([rest[0], rows[row : row + 1]]), np.append(rest[1], answer)
        return X, y, np.append(rest[2], 1.0)

    first, second = table(0, 1.0), table(1, 0.0)

    def faulty(table: Any, generator: np.random.Generator, count: int) -> Any:
        credited = epsilon - 2.0 * math.log1p(0.25 / ridge)
        return logistic_minimisers(*table, gamma_noise(generator, count, 2, credited / 2.0), ridge)

    def ratio(theta: Any) -> Any:
        lengths = [np.linalg.norm(score(theta, *table, ridge), axis=1) for table in (first, second)]
        return lengths[1] - lengths[0]

    assert refuted(faulty, first, second, pure(epsilon), trials=40_000, known={"ratio": ratio})
    assert ours_stands("y ~ x", {"y": [0, 1], "x": (-1, 1)}, epsilon=epsilon)


@pytest.mark.audit
def test_linear_regression_without_noise_where_a_lower_bound_is_zero() -> None:
    """diffprivlib, LinearRegression: the sensitivity of sum x^2 is taken at the lower bound, twice."""
    low, high, epsilon = 0.0, 1.0, 2.0

    def faulty(table: Any, generator: np.random.Generator, count: int) -> Any:
        sensitivity = max(abs(low), abs(low)) ** 2
        return np.sum(np.square(table)) + sensitivity / epsilon * generator.laplace(size=count)

    assert refuted(faulty, np.array([high, 0.5]), np.array([0.2, 0.5]), pure(epsilon))
    assert ours_stands("y ~ x", {"y": (0, 1), "x": (low, high)}, "gaussian")


@pytest.mark.audit
def test_a_ridge_that_is_credited_and_not_used() -> None:
    """As in DPpack: the calibration credits a parameter that the objective does not have."""
    epsilon, credited_ridge, used_ridge = 2.0, 2.0, 1e-3

    def minimiser(ridge: float) -> Any:
        def mechanism(table: Any, generator: np.random.Generator, count: int) -> Any:
            credited = epsilon - 2.0 * math.log1p(0.25 / credited_ridge)
            tilt = gamma_noise(generator, count, 1, credited / 2.0)
            return logistic_minimisers(*table, tilt, ridge)

        return mechanism

    first = (np.ones((1, 1)), np.ones(1), np.ones(1))
    second = (np.zeros((1, 1)), np.ones(1), np.ones(1))
    assert refuted(minimiser(used_ridge), first, second, pure(epsilon))
    assert not refuted(minimiser(credited_ridge), first, second, pure(epsilon))
    assert ours_stands("y ~ x - 1", {"y": [0, 1], "x": (0, 1)})
