"""The optimiser against scikit-learn and against a dense Newton method written from the definition."""

import numpy as np
import pytest

from dpglm.glm.families.binomial import Binomial
from dpglm.glm.penalties.elastic_net import L1, L2, ElasticNet
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import ArrayChunk
from tests.oracles.peers import logistic


def table(seed, n, p):
    """Rows of norm at most 1, exactly representable in float32, and responses that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p)) / np.sqrt(p))
    X = (X / (1.0001 * np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)))).astype(np.float32)
    weights = np.where(np.arange(p) < 4, 3.0, 0.0)
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ weights))).astype(float)


def block_loss(X, y, offset=None):
    blocks = [
        ArrayChunk(
            np.ascontiguousarray(X[first : first + 1000].T),
            y[first : first + 1000],
            None if offset is None else offset[first : first + 1000],
        )
        for first in range(0, len(y), 1000)
    ]
    return ChunkLoss(lambda: blocks, Binomial(), X.shape[1])


def dense_newton(X, y, offset, *, linear, ridge):
    """Newton on the whole matrix, halving on the objective; stops when steps are rounding."""
    wide, theta = X.astype(np.float64), np.zeros(X.shape[1])

    def objective(theta):
        eta = wide @ theta + offset
        return np.logaddexp(0.0, eta).sum() - y @ eta + linear @ theta + 0.5 * ridge @ theta**2

    for _ in range(100):
        mean = 1 / (1 + np.exp(-(wide @ theta + offset)))
        gradient = wide.T @ (mean - y) + linear + ridge * theta
        step = np.linalg.solve((wide.T * (mean * (1 - mean))) @ wide + np.diag(ridge), gradient)
        length = 1.0
        while objective(theta - length * step) > objective(theta) + 1e-9 and length > 1e-6:
            length /= 2
        theta = theta - length * step
        if np.linalg.norm(step) < 1e-13 * (1 + np.linalg.norm(theta)):
            break
    return theta


@pytest.mark.parametrize("n", [400, 8000])  # below and above 200 rows a coefficient
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_smooth_minimiser_equals_dense_newton(seed, n):
    rng = np.random.default_rng(seed + 100)
    X, y = table(seed, n, 6)
    offset, linear = rng.standard_normal(n), 10.0 * rng.standard_normal(6)
    ridge = rng.uniform(0.5, 5.0, 6)
    mixing = np.eye(6) + 0.3 * rng.standard_normal((6, 6))
    found = minimise(block_loss(X, y, offset), linear=linear, ridge=ridge, mixing=mixing, tolerance=1e-10)
    expected = dense_newton(X, y, offset, linear=linear, ridge=ridge)
    np.testing.assert_allclose(found.theta, expected, atol=1e-9)
    np.testing.assert_allclose(mixing @ found.gamma, expected, atol=1e-9)


def test_ridge_on_gamma_equals_dense_newton_in_gamma():
    X, y = table(5, 500, 5)
    rng = np.random.default_rng(3)
    mixing = np.eye(5) + 0.3 * rng.standard_normal((5, 5))
    found = minimise(
        block_loss(X, y),
        linear=np.zeros(5),
        ridge=0.0,
        mixing=mixing,
        penalty=L2(3.0),
        penalised=np.arange(5) != 2,
    )
    mixed = X.astype(np.float64) @ mixing
    ridge = np.where(np.arange(5) != 2, 3.0, 0.0)
    expected = dense_newton(mixed, y, np.zeros(500), linear=np.zeros(5), ridge=ridge)
    np.testing.assert_allclose(found.gamma, expected, atol=1e-8)


@pytest.mark.parametrize("n", [500, 6000])
@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_ridge_equals_scikit_learn(n, ridge):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = table(7, n, 8)
    peer = linear_model.LogisticRegression(
        C=1 / ridge, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=500
    ).fit(X.astype(np.float64), y)
    found = minimise(block_loss(X, y), linear=np.zeros(8), ridge=ridge)
    np.testing.assert_allclose(found.theta, peer.coef_[0], atol=1e-6)
    by_penalty = minimise(block_loss(X, y), linear=np.zeros(8), ridge=0.0, penalty=L2(ridge))
    np.testing.assert_allclose(by_penalty.gamma, peer.coef_[0], atol=1e-6)


@pytest.mark.parametrize("n", [500, 6000])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_lasso_equals_scikit_learn(n, share):
    X, y = table(8, n, 8)
    strength = share * np.abs(X.T @ (y - 0.5)).max()
    peer = logistic(
        l1_ratio=1.0, C=1 / strength, fit_intercept=False, solver="liblinear", tol=1e-12, max_iter=100_000
    ).fit(X.astype(np.float64), y)
    found = minimise(block_loss(X, y), linear=np.zeros(8), ridge=0.0, penalty=L1(strength))
    np.testing.assert_allclose(found.gamma, peer.coef_[0], atol=1e-5)
    np.testing.assert_array_equal(found.gamma == 0, peer.coef_[0] == 0)


def test_elastic_net_with_a_free_intercept_equals_scikit_learn():
    X, y = table(9, 700, 6)
    X[:, 0] = 0.5
    strength, ratio = 4.0, 0.4
    peer = logistic(
        l1_ratio=ratio, C=1 / strength, fit_intercept=True, solver="saga", tol=1e-12, max_iter=20_000
    ).fit(X[:, 1:].astype(np.float64), y)
    found = minimise(
        block_loss(X, y),
        linear=np.zeros(6),
        ridge=0.0,
        penalty=ElasticNet(strength, l1_ratio=ratio),
        penalised=np.arange(6) > 0,
    )
    np.testing.assert_allclose(found.gamma[1:], peer.coef_[0], atol=1e-5)
    np.testing.assert_allclose(0.5 * found.gamma[0], peer.intercept_[0], atol=1e-5)


@pytest.mark.parametrize("penalty", [L2(900.0), L1(30.0), ElasticNet(20.0)])
def test_a_neighbour_on_a_path_spares_second_derivatives_and_changes_no_minimum(penalty, monkeypatch):
    X, y = table(7, 8000, 5)
    loss = block_loss(X, y)
    options = {"linear": np.zeros(5), "ridge": 1e-8, "mixing": np.diag([1.0, 2.0, 3.0, 4.0, 5.0])}
    near = minimise(loss, penalty=penalty, **options)
    weaker = penalty.with_strength(0.8 * penalty.weight)
    expected = minimise(loss, penalty=weaker, **options)
    second = []
    derivative = ChunkLoss.gradient_and_hessian
    monkeypatch.setattr(
        ChunkLoss, "gradient_and_hessian", lambda *args, **more: second.append(1) or derivative(*args, **more)
    )
    found = minimise(loss, penalty=weaker, start=near.gamma, metric=near.metric, **options)
    assert found.certified
    assert not second
    assert np.linalg.norm(near.gamma - expected.gamma) > 1e-3
    np.testing.assert_allclose(found.gamma, expected.gamma, atol=1e-9)
