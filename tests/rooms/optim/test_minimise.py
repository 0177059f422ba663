"""Every problem is solved to its certificate, and the certificate is true."""

import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.glm.families.binomial import Binomial
from dpglm.glm.penalties.base import Penalty
from dpglm.glm.penalties.elastic_net import L1, ElasticNet
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import ArrayChunk

FAMILY = Binomial()


def rows(seed, n, p):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X = (X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True) * 1.0001)).astype(np.float32)
    return X, (rng.random(n) < 0.5).astype(float)


def block_loss(X, y, offset=None, size=512):
    blocks = [
        ArrayChunk(
            np.ascontiguousarray(X[first : first + size].T),
            y[first : first + size],
            None if offset is None else offset[first : first + size],
        )
        for first in range(0, len(y), size)
    ]
    return ChunkLoss(lambda: blocks, FAMILY, X.shape[1])


def residual(X, y, offset, *, linear, ridge, mixing, l1, penalised, found):
    """The certificate, computed from its definition by code of its own."""
    wide = X.astype(np.float64)
    eta = wide @ found.theta + (0.0 if offset is None else offset)
    gradient = wide.T @ FAMILY.slope(eta, y) + linear + ridge * found.theta
    scaled = mixing.T @ gradient
    weights = np.where(penalised, l1, 0.0)
    nonzero = found.gamma != 0
    left = np.where(nonzero, scaled + weights * np.sign(found.gamma), scaled)
    left = np.where(nonzero, left, np.sign(scaled) * np.maximum(np.abs(scaled) - weights, 0.0))
    return np.linalg.norm(np.linalg.solve(mixing.T, left))


@st.composite
def problems(draw):
    seed, n, p = draw(st.integers(0, 99_999)), draw(st.integers(0, 60)), draw(st.integers(1, 12))
    rng = np.random.default_rng(seed)
    X, y = rows(seed, n, p)
    kind = draw(st.sampled_from(["random", "separable", "one class", "duplicates", "empty rows"]))
    if kind == "separable":
        y = (X[:, 0] > 0).astype(float)
    elif kind == "one class":
        y = np.ones(n)
    elif kind == "duplicates":
        X[:, -1] = X[:, 0]
    elif kind == "empty rows":
        X[::2] = 0.0
    offset = None
    if draw(st.booleans()):
        offset = rng.standard_normal(n) * 10.0 ** draw(st.integers(0, 4))
    mixing = np.eye(p) + 0.3 * rng.standard_normal((p, p))
    if not np.linalg.cond(mixing) < 1e3:
        mixing = np.eye(p)
    ridge = 10.0 ** draw(st.floats(-2.0, 2.0)) * (
        np.ones(p) if draw(st.booleans()) else rng.uniform(0.5, 2.0, p)
    )
    return {
        "X": X,
        "y": y,
        "offset": offset,
        "linear": rng.standard_normal(p) * 10.0 ** draw(st.floats(-1.0, 4.0)),
        "ridge": ridge,
        "mixing": mixing,
        "l1": draw(st.sampled_from([0.0, 0.0, 0.01 * n, 0.05 * n, 0.25 * n])),
        "penalised": rng.random(p) < 0.8,
    }


def solve(problem, **more):
    loss = block_loss(problem["X"], problem["y"], problem["offset"], size=16)
    known = {key: problem[key] for key in ("linear", "ridge", "mixing", "penalised")}
    known["penalty"] = L1(problem["l1"])
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        return minimise(loss, **(known | more))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(problem=problems())
def test_every_problem_reaches_a_certificate_that_is_true(problem):
    found = solve(problem)
    assert found.certified
    assert found.residual <= 1e-8
    # The definition, recomputed, differs by rounding of terms as large as the linear one.
    slack = 1e-13 * (60 + np.abs(problem["linear"]).sum()) * np.linalg.cond(problem["mixing"])
    assert residual(**problem, found=found) == pytest.approx(found.residual, abs=slack)
    np.testing.assert_allclose(problem["mixing"] @ found.gamma, found.theta, rtol=1e-9, atol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(problem=problems(), strength=st.floats(0.01, 10.0))
def test_a_penalty_known_by_its_prox_only_gives_the_same_answer(problem, strength):
    @dataclass(frozen=True)
    class Opaque(Penalty):
        name = "opaque"
        convex = True

        def value(self, beta):
            return ElasticNet(self.strength).value(beta)

        def prox(self, v, step):
            return ElasticNet(self.strength).prox(v, step)

        def strength_max(self, gradient_at_zero):
            return float("inf")

    problem = problem | {"l1": 0.0, "linear": problem["linear"] / 100.0}
    opaque = solve(problem, penalty=Opaque(strength), tolerance=1e-7)
    known = solve(problem, penalty=ElasticNet(strength), tolerance=1e-9)
    assert opaque.certified
    assert known.certified
    # Both are within residual / ridge of the same minimiser.
    assert np.linalg.norm(opaque.theta - known.theta) <= 1.1e-7 / problem["ridge"].min()


@pytest.mark.parametrize("l1", [0.0, 20.0])
@pytest.mark.parametrize("kind", ["random", "separable", "one class", "constant column", "huge offsets"])
def test_many_rows_with_next_to_no_ridge(kind, l1):
    X, y = rows(4, 6000, 8)
    offset = None
    if kind == "separable":
        y = (X[:, 0] > 0).astype(float)
    elif kind == "one class":
        y = np.zeros(6000)
    elif kind == "constant column":
        X[:, 3] = 0.25
        X[:, 4] = 0.25
    elif kind == "huge offsets":
        offset = 1e3 * np.random.default_rng(1).standard_normal(6000)
    problem = {
        "X": X,
        "y": y,
        "offset": offset,
        "linear": np.random.default_rng(2).standard_normal(8),
        "ridge": np.full(8, 1e-2),
        "mixing": np.eye(8),
        "l1": l1,
        "penalised": np.arange(8) > 0,
    }
    found = solve(problem)
    assert found.certified
    assert residual(**problem, found=found) <= 1.1e-8


def test_no_ridge_and_separable_rows_still_end():
    X, y = rows(4, 300, 3)
    y = (X[:, 0] > 0).astype(float)
    found = minimise(block_loss(X, y), linear=np.zeros(3), ridge=0.0)
    assert found.certified
    assert np.isfinite(found.theta).all()


def test_all_rows_empty_leaves_the_public_quadratic():
    b = np.array([3.0, -4.0])
    for n in (0, 50):
        loss = block_loss(np.zeros((n, 2), np.float32), np.ones(n))
        np.testing.assert_allclose(minimise(loss, linear=b, ridge=2.0).theta, -b / 2.0, rtol=1e-12)
        np.testing.assert_allclose(
            minimise(loss, linear=b, ridge=2.0, penalty=L1(3.5)).gamma, [0.0, 0.25], rtol=1e-12
        )


def test_no_coefficients_is_no_problem():
    found = minimise(block_loss(np.zeros((5, 0), np.float32), np.ones(5)), linear=np.zeros(0), ridge=1.0)
    assert found.theta.shape == (0,)
    assert found.certified


def test_few_reads_and_one_hessian_when_rows_are_many(monkeypatch):
    reads = Counter()

    def counted(name):
        method = getattr(ChunkLoss, name)

        def count(loss, *arguments, **more):
            reads[name] += loss.factor == 1.0  # a thinned loss weighs its rows
            return method(loss, *arguments, **more)

        monkeypatch.setattr(ChunkLoss, name, count)

    counted("gradient")
    counted("gradient_and_hessian")
    X, y = rows(6, 20_000, 10)
    y = (np.random.default_rng(0).random(20_000) < 1 / (1 + np.exp(-4.0 * X[:, 0]))).astype(float)
    b = np.random.default_rng(1).standard_normal(10) * 3.0
    for l1 in (0.0, 30.0):
        reads.clear()
        found = minimise(block_loss(X, y), linear=b, ridge=10.0, penalty=L1(l1), tolerance=1e-10 * len(y))
        assert found.certified
        assert reads.total() <= 10
        assert reads["gradient_and_hessian"] == 1


def test_zeros_are_exact_and_the_start_does_not_matter():
    X, y = rows(7, 500, 9)
    y = (X[:, 0] + 0.3 * X[:, 1] > 0.1).astype(float)
    known = {"linear": np.zeros(9), "ridge": 1e-2, "penalty": L1(strength=15.0)}
    found = minimise(block_loss(X, y), **known)
    assert 0 < np.count_nonzero(found.gamma) < 9
    again = minimise(block_loss(X, y), start=np.linspace(-3, 3, 9), **known)
    np.testing.assert_array_equal(found.gamma == 0, again.gamma == 0)
    np.testing.assert_allclose(found.gamma, again.gamma, atol=2e-6)  # tolerance 1e-8 over ridge 1e-2


def test_same_blocks_give_the_same_bits():
    X, y = rows(9, 3000, 5)
    known = {"linear": np.ones(5), "ridge": 1.0, "penalty": L1(4.0)}
    assert (
        minimise(block_loss(X, y), **known).theta.tobytes()
        == minimise(block_loss(X, y), **known).theta.tobytes()
    )


def test_impossible_tolerance_is_reported_not_raised():
    X, y = rows(9, 3000, 5)
    found = minimise(block_loss(X, y), linear=1e3 * np.ones(5), ridge=1e-2, tolerance=1e-30)
    assert not found.certified
    assert found.residual < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("l1", [0.0, 3.0])
def test_more_coefficients_than_a_matrix_should_hold(l1):
    rng = np.random.default_rng(3)
    p = 2300
    X = (rng.standard_normal((400, p)) / np.sqrt(p) / 1.2).astype(np.float32)
    y = (rng.random(400) < 1 / (1 + np.exp(-X[:, :5].sum(axis=1) * 60))).astype(float)
    found = minimise(block_loss(X, y), linear=np.zeros(p), ridge=1.0, penalty=L1(l1))
    identity = {
        "linear": np.zeros(p),
        "ridge": 1.0,
        "l1": l1,
        "penalised": np.ones(p, bool),
        "mixing": np.eye(p),
    }
    assert found.certified
    assert residual(X, y, None, found=found, **identity) <= 1.1e-8


@pytest.mark.parametrize(
    "kind", ["random", "separable", "correlated", "weights and offsets", "next to no ridge"]
)
def test_many_coefficients_need_no_matrix_and_give_the_minimiser_that_one_finds(kind, monkeypatch):
    rng = np.random.default_rng(11)
    n, p, ridge = 900, 320, 0.5
    X = rng.standard_normal((n, p))
    if kind == "correlated":
        X = 0.05 * X + rng.standard_normal((n, 1))
    if kind == "next to no ridge":
        ridge = 1e-4
    X = (X / np.linalg.norm(X, axis=1).max() / 1.01).astype(np.float32)
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ rng.standard_normal(p) * 5))).astype(float)
    if kind == "separable":
        y = (X[:, 0] > 0).astype(float)
    offset, weight = None, None
    if kind == "weights and offsets":
        offset, weight = rng.standard_normal(n), rng.random(n)
    chunks = [
        ArrayChunk(
            np.ascontiguousarray(X[at].T),
            y[at],
            None if offset is None else offset[at],
            None if weight is None else weight[at],
        )
        for at in (slice(0, 400), slice(400, 401), slice(401, n))
    ]
    loss = ChunkLoss(lambda: chunks, FAMILY, p)
    penalty = ElasticNet(0.0 if kind == "next to no ridge" else 0.2, l1_ratio=0.0)
    known = {"linear": 3.0 * rng.standard_normal(p), "ridge": ridge, "penalty": penalty}
    with monkeypatch.context() as patched:
        patched.setattr("dpglm.optim.minimise._SPARSE_SIZE", p)
        expected = minimise(loss, **known)
    matrices = []
    of_loss = ChunkLoss.gradient_and_hessian
    monkeypatch.setattr(
        ChunkLoss, "gradient_and_hessian", lambda *args, **more: matrices.append(1) or of_loss(*args, **more)
    )
    found = minimise(loss, **known)
    assert expected.certified
    assert found.certified
    assert bool(matrices) == (kind == "next to no ridge")
    # Both are within residual / ridge of the same minimiser.
    assert np.linalg.norm(found.theta - expected.theta) <= 2e-8 / ridge


@pytest.mark.parametrize("l1", [0.3, 3.0, 20.0])
@pytest.mark.parametrize("kind", ["random", "separable", "correlated", "one class"])
def test_a_list_needs_no_matrix_either(kind, l1, monkeypatch):
    rng = np.random.default_rng(12)
    X, y = rows(13, 400, 40)
    if kind == "correlated":
        X = (0.05 * X + 0.9 * X[:, :1]).astype(np.float32)
    elif kind == "separable":
        y = (X[:, 0] > 0).astype(float)
    elif kind == "one class":
        y = np.zeros(400)
    mixing = np.eye(40) + 0.05 * rng.standard_normal((40, 40))
    problem = {
        "linear": 5.0 * rng.standard_normal(40),
        "ridge": np.full(40, 0.3),
        "mixing": mixing,
        "penalised": np.arange(40) != 2,
    }
    expected = minimise(block_loss(X, y), **problem, penalty=L1(l1))
    monkeypatch.setattr("dpglm.optim.minimise.MOST_DENSE", 0)
    monkeypatch.setattr(ChunkLoss, "gradient_and_hessian", None)
    found = minimise(block_loss(X, y), **problem, penalty=L1(l1))
    assert found.certified
    assert residual(X, y, None, found=found, l1=l1, **problem) <= 1.1e-8
    np.testing.assert_array_equal(found.gamma == 0.0, expected.gamma == 0.0)


def test_products_are_those_of_the_second_derivative():
    X, y = rows(3, 700, 30)
    theta, direction = np.random.default_rng(8).standard_normal((2, 30))
    loss = block_loss(X, y, size=300)
    expected = loss.hessian(theta, precise=True) @ direction
    found = loss.products(theta)(1e30 * direction) / 1e30  # far beyond what float32 holds squared
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert not loss.products(theta)(np.zeros(30)).any()


@pytest.mark.parametrize("mixed", [False, True])
def test_working_set_finds_the_few_of_many(mixed):
    rng = np.random.default_rng(5)
    p = 350
    X = (rng.standard_normal((800, p)) / np.sqrt(p) / 1.2).astype(np.float32)
    y = (rng.random(800) < 1 / (1 + np.exp(-X[:, :4].sum(axis=1) * 30))).astype(float)
    mixing = np.eye(p) + 0.01 * rng.standard_normal((p, p)) if mixed else np.eye(p)
    problem = {
        "linear": rng.standard_normal(p),
        "ridge": np.full(p, 1.0),
        "penalised": np.arange(p) != 7,
        "mixing": mixing,
    }
    given = problem if mixed else problem | {"mixing": None}
    found = minimise(block_loss(X, y), **given, penalty=L1(4.0))
    assert found.certified
    assert residual(X, y, None, found=found, l1=4.0, **problem) <= 1.1e-8
    assert 4 <= np.count_nonzero(found.gamma) < 150
