"""Minimisers of weighted rows against scikit-learn's and statsmodels' weights, and their certificates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpglm.auditing.neighbours import Table
from dpglm.glm.families import families
from dpglm.glm.penalties.elastic_net import L1
from dpglm.mechanisms.rows import DownWeightedRows
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector
from tests.oracles.peers import logistic

# Two columns measured in other units than a third of their spread: most rows are long in them.
SCALES = np.array([[1.0, 0.0, 0.0, 0.0], [-3.0, 30.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0], [1.0, 0.0, 0.0, 5.0]])


def table(seed: int, n: int) -> tuple[FloatMatrix, FloatVector]:
    """Coded rows of norm at most 1 as columns, and responses that depend on them."""
    generator = np.random.default_rng(seed)
    X = np.vstack([np.full(n, 0.5), generator.uniform(-0.5, 0.5, (3, n))])
    eta = np.array([0.2, 1.5, -1.0, 0.5]) @ X
    return X, (generator.random(n) < 1 / (1 + np.exp(-2 * eta))).astype(float)


def weighted_rows(seed: int, n: int) -> tuple[ChunkLoss, FloatMatrix, FloatVector, FloatVector]:
    """The loss of down-weighted rows, and their numbers, responses and weights."""
    X, y = table(seed, n)
    view = DownWeightedRows(Table(ArrayChunk(X.astype(np.float32), y, None)), SCALES)
    (chunk,) = view.chunks()
    assert chunk.weight is not None
    assert np.mean(chunk.weight < 1.0) > 0.3
    return ChunkLoss(view.chunks, families["binomial"](), 4), chunk.X.T.astype(np.float64), y, chunk.weight


@pytest.mark.parametrize("n", [300, 8000])
@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_a_ridge_fit_is_that_of_scikit_learn(n: int, ridge: float) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    loss, X, y, weight = weighted_rows(1, n)
    peer = linear_model.LogisticRegression(
        C=1 / ridge, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=500
    ).fit(X, y, sample_weight=weight)
    found = minimise(loss, linear=np.zeros(4), ridge=ridge)
    assert found.certified
    np.testing.assert_allclose(found.theta, peer.coef_[0], atol=1e-6)
    plain = linear_model.LogisticRegression(C=1 / ridge, fit_intercept=False).fit(X, y)
    assert np.abs(plain.coef_[0] - found.theta).max() > 1e-3


def test_a_lasso_fit_is_that_of_scikit_learn() -> None:
    loss, X, y, weight = weighted_rows(2, 5000)
    strength = 0.3 * float(np.abs(X.T @ (weight * (y - 0.5))).max())
    peer = logistic(
        l1_ratio=1.0, C=1 / strength, fit_intercept=False, solver="liblinear", tol=1e-12, max_iter=100_000
    ).fit(X, y, sample_weight=weight)
    found = minimise(loss, linear=np.zeros(4), ridge=0.0, penalty=L1(strength))
    np.testing.assert_allclose(found.gamma, peer.coef_[0], atol=1e-5)


def test_a_fit_without_ridge_and_its_information_are_those_of_statsmodels() -> None:
    statsmodels: Any = pytest.importorskip("statsmodels.api")
    loss, X, y, weight = weighted_rows(3, 3000)
    peer = statsmodels.GLM(y, X, family=statsmodels.families.Binomial(), freq_weights=weight).fit(tol=1e-13)
    found = minimise(loss, linear=np.zeros(4), ridge=0.0)
    np.testing.assert_allclose(found.theta, peer.params, atol=1e-7)
    errors = np.sqrt(np.diag(np.linalg.inv(loss.hessian(found.theta, precise=True))))
    np.testing.assert_allclose(errors, peer.bse, rtol=1e-6)


@pytest.mark.parametrize("name", ["binomial", "poisson", "huber_svm"])
@pytest.mark.parametrize("seed", range(8))
def test_fits_of_rows_of_all_lengths_are_certified(name: str, seed: int) -> None:
    """Lengths to 1e6, tilts to 1e3, ridges from .01, separable responses and identical rows."""
    generator = np.random.default_rng(seed)
    n, size = (40, 3000)[seed % 2], 3
    X = generator.normal(size=(size, n))
    X /= np.linalg.norm(X, axis=0)
    if seed >= 6:
        X[:] = X[:, :1]
    scales = np.diag(10.0 ** generator.uniform(0.0, 6.0, size))
    y = (generator.random(n) < 0.5).astype(float)
    if seed % 4 >= 2:
        y = (X[0] > 0).astype(float)
    offset = generator.normal(scale=(0.0, 1000.0)[seed // 4], size=n)
    view = DownWeightedRows(Table(ArrayChunk(X.astype(np.float32), y, offset)), scales)
    family = families[name]().with_bound(20.0)
    for ridge, tilt in ((0.01, 1.0), (1.0, 1e3), (5.0, 10.0)):
        linear = tilt * generator.normal(size=size)
        loss = ChunkLoss(view.chunks, family, size)
        found = minimise(loss, linear=linear, ridge=ridge, tolerance=1e-7)
        assert found.certified
        residual = loss.gradient(found.theta) + linear + ridge * found.theta
        assert np.linalg.norm(residual) <= 1e-7
