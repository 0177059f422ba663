"""The STACK paper as printed: ridge logistic regressions without noise, and the printed noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from studies.hospitals.paper_table import AREAS, COLUMNS
from studies.stacking.grid import K
from studies.stacking.printed import Fitted, Rows, longest, perturbed, plr, split, stacked

RANDOM = np.random.default_rng(20_261_125)
X = RANDOM.uniform(-0.5, 0.5, (600, 4))
SIGNS = np.where(RANDOM.random(600) < expit(6.0 * X[:, 0] - 3.0 * X[:, 2]), 1.0, -1.0)
ROWS = Rows(X, SIGNS)


@pytest.mark.parametrize("centre", [None, np.array([1.0, 0.0, -1.0, 2.0])])
def test_without_noise_a_model_is_ridge_regression_around_its_centre(centre: np.ndarray | None) -> None:
    from sklearn.linear_model import LogisticRegression

    strength = 0.01
    found = plr(ROWS, 1e9, strength, np.random.default_rng(1), centre)
    if centre is None:
        peer = LogisticRegression(C=1.0 / (len(X) * strength), fit_intercept=False, tol=1e-8)
        np.testing.assert_allclose(found, peer.fit(X, SIGNS).coef_[0], atol=2e-3)
    margins = SIGNS * (X @ found)
    slope = -(SIGNS * expit(-margins)) @ X / len(X)
    away = found if centre is None else found - centre
    np.testing.assert_allclose(slope + strength * away, 0.0, atol=1e-4)


def test_the_noise_has_the_printed_law() -> None:
    """Where a strong ridge rules, the minimiser is -b over n times it: |b| has mean 2 d / epsilon."""
    ridge, epsilon, draws = 1e6, 0.5, 400
    noise = np.random.default_rng(2)
    found = np.array([perturbed(ROWS, epsilon, 0.0, ridge, noise) for _ in range(draws)])
    slope = -(SIGNS * 0.5) @ X / len(X)
    b = -len(X) * (ridge * found + slope)
    lengths = np.linalg.norm(b, axis=1)
    # Six standard errors of the mean of a gamma law with shape 4 and scale 2 / epsilon.
    assert abs(lengths.mean() - 2.0 * 4 / epsilon) < 6.0 * np.sqrt(4.0) * 2.0 / epsilon / np.sqrt(draws)


def test_a_small_budget_adds_the_printed_ridge_and_halves_the_epsilon() -> None:
    noise = np.random.default_rng(3)
    found = [np.linalg.norm(plr(ROWS, 0.01, 1e-6, noise)) for _ in range(200)]
    more = 1.0 / (4.0 * len(X) * np.expm1(0.01 / 4.0))
    # Where noise rules, |w| is |b| / (n ridge), and |b| has mean 2 d / (epsilon / 2).
    assert np.mean(found) == pytest.approx(4 * 2.0 / 0.005 / (len(X) * more), rel=0.2)


def test_a_stack_has_groups_scaled_to_their_shares() -> None:
    shares = np.array([0.7, 0.3])
    columns = [np.array([0, 1]), np.array([2, 3])]
    stack = stacked(ROWS, columns, shares, 1e9, 1e-3, np.random.default_rng(4))
    assert isinstance(stack, Fitted)
    for own, scale, share in zip(stack.columns, stack.scales, shares, strict=True):
        assert scale * longest(X[:, own]) == pytest.approx(share)
    scores = stack.scores(X)
    assert np.corrcoef(scores, 6.0 * X[:, 0] - 3.0 * X[:, 2])[0, 1] > 0.95


def test_rows_that_choose_strengths_are_not_fitted() -> None:
    checked, fitted = split(Rows(np.arange(30.0)[:, None], np.ones(30)), np.random.default_rng(5))
    assert (len(checked.X), len(fitted.X)) == (10, 20)
    assert not set(checked.X[:, 0]) & set(fitted.X[:, 0])


def test_the_papers_table_has_sixteen_branches_and_its_best_method_first() -> None:
    assert [len(AREAS[method]) for method in COLUMNS] == [16] * 4
    assert all(np.mean(AREAS["pst-h-w"]) > np.mean(AREAS[method]) for method in COLUMNS[1:])
    assert K == 5
