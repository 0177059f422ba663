"""The sum over blocks equals the sum over rows, however the rows are cut."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.glm.families.binomial import Binomial
from dpglm.optim.loss import ChunkLoss
from dpglm.rows import ArrayChunk

FAMILY = Binomial()


def table(seed, n, p, *, offset=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)).astype(np.float32)
    y = (rng.random(n) < 0.4).astype(float)
    return X, y, rng.standard_normal(n) if offset else None


def cut(X, y, offset, size):
    pieces = [slice(first, first + size) for first in range(0, len(y), size)]
    return [
        ArrayChunk(
            np.ascontiguousarray(X[part].T), y[part].copy(), None if offset is None else offset[part].copy()
        )
        for part in pieces
    ]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 999),
    n=st.integers(0, 70),
    p=st.integers(1, 6),
    size=st.integers(1, 80),
    offset=st.booleans(),
)
def test_gradient_and_hessian_equal_the_dense_ones(seed, n, p, size, offset):
    X, y, o = table(seed, n, p, offset=offset)
    theta = np.random.default_rng(seed).standard_normal(p)
    loss = ChunkLoss(lambda: cut(X, y, o, size), FAMILY, p)
    eta = X.astype(float) @ theta + (0.0 if o is None else o)
    wide = X.astype(float)
    np.testing.assert_allclose(loss.gradient(theta), wide.T @ FAMILY.slope(eta, y), atol=1e-12)
    expected = (wide.T * FAMILY.curvature(eta, y)) @ wide
    gradient, hessian = loss.gradient_and_hessian(theta, precise=True)
    np.testing.assert_allclose(hessian, expected, atol=1e-12)
    np.testing.assert_allclose(gradient, loss.gradient(theta), atol=1e-12)
    np.testing.assert_allclose(loss.hessian(theta), expected, atol=1e-5 * (1 + np.abs(expected).max()))
    some = np.arange(0, p, 2)
    np.testing.assert_allclose(
        loss.hessian(theta, variables=some, precise=True), expected[np.ix_(some, some)], atol=1e-12
    )
    assert loss.row_count == n


@pytest.mark.parametrize(
    ("n", "size", "step"), [(0, 5, 3), (17, 5, 3), (5000, 2048, 7), (5000, 1, 2), (9, 4, 20)]
)
def test_thinned_rows_are_every_stepth_weighted(n, size, step):
    X, y, o = table(3, n, 4)
    theta = np.linspace(-1.0, 1.0, 4)
    thin = ChunkLoss(lambda: cut(X, y, o, size), FAMILY, 4).thinned(step)
    kept = X[::step].astype(float)
    expected = step * kept.T @ FAMILY.slope(kept @ theta + o[::step], y[::step])
    np.testing.assert_allclose(thin.gradient(theta), expected, atol=1e-9)
    assert thin.row_count == len(y[::step])


def test_rows_of_zeros_contribute_exactly_nothing():
    X, y, o = table(5, 40, 3)
    X[10:30] = 0.0
    left = np.r_[0:10, 30:40]
    theta = np.array([0.3, -2.0, 1.0])
    other = y.copy()
    other[10:30] = 1.0 - y[10:30]
    loss = ChunkLoss(lambda: cut(X, y, o, 40), FAMILY, 3)
    flipped = ChunkLoss(lambda: cut(X, other, o, 40), FAMILY, 3)
    np.testing.assert_array_equal(loss.gradient(theta), flipped.gradient(theta))
    shorter = ChunkLoss(lambda: cut(X[left], y[left], o[left], 40), FAMILY, 3)
    np.testing.assert_allclose(loss.gradient(theta), shorter.gradient(theta), atol=1e-14)


def test_compensated_sum_keeps_what_the_plain_one_loses():
    # One block of huge slopes, many of small ones, one that cancels the first: the small ones must survive.
    class Raw(Binomial):
        def slope(self, eta, y):
            return y

    small = [ArrayChunk(np.ones((1, 1), np.float32), np.array([1.0]), None) for _ in range(1000)]
    blocks = [ArrayChunk(np.ones((1, 1), np.float32), np.array([1e17]), None), *small]
    blocks.append(ArrayChunk(np.ones((1, 1), np.float32), np.array([-1e17]), None))
    loss = ChunkLoss(lambda: blocks, Raw(), 1)
    assert loss.gradient(np.zeros(1))[0] == 1000.0
    plain, _ = loss.gradient_and_hessian(np.zeros(1))
    assert plain[0] != 1000.0


def test_same_blocks_give_the_same_bits():
    X, y, o = table(8, 5000, 7)
    theta = np.ones(7)
    first = ChunkLoss(lambda: cut(X, y, o, 2048), FAMILY, 7).gradient(theta)
    second = ChunkLoss(lambda: cut(X, y, o, 2048), FAMILY, 7).gradient(theta)
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize(("n", "size"), [(30, 30), (31, 7), (5000, 2048)])
def test_weights_multiply_the_loss_of_each_row(n, size):
    X, y, o = table(9, n, 3)
    weights = np.random.default_rng(9).random(n)
    theta = np.array([0.3, -1.0, 0.5])
    chunks = cut(X, y, o, size)
    firsts = np.cumsum([0, *(len(chunk.y) for chunk in chunks)])
    own = [
        replace(chunk, weight=weights[a:][: len(chunk.y)]) for chunk, a in zip(chunks, firsts, strict=False)
    ]
    loss, wide = ChunkLoss(lambda: own, FAMILY, 3), X.astype(float)
    eta = wide @ theta + o
    gradient = wide.T @ (weights * FAMILY.slope(eta, y))
    hessian = (wide.T * (weights * FAMILY.curvature(eta, y))) @ wide
    np.testing.assert_allclose(loss.gradient(theta), gradient, atol=1e-10)
    np.testing.assert_allclose(loss.gradient_and_hessian(theta)[0], gradient, atol=1e-10)
    np.testing.assert_allclose(loss.hessian(theta, precise=True), hessian, atol=1e-10)
    np.testing.assert_allclose(loss.hessian(theta), hessian, rtol=1e-4)
    some = np.array([2, 0])
    part = loss.hessian(theta, variables=some, precise=True)
    np.testing.assert_allclose(part, hessian[np.ix_(some, some)], atol=1e-10)
    thin = 4.0 * wide[::4].T @ (weights[::4] * FAMILY.slope(eta[::4], y[::4]))
    np.testing.assert_allclose(loss.thinned(4).gradient(theta), thin, atol=1e-10)
    assert loss.row_count == n
    assert loss.thinned(4).row_count == len(y[::4])


def test_light_long_rows_precondition_in_float32():
    """A long row counts by its curvature, not by its weight: x x' / |x|^2 is of size 1."""
    lengths = np.array([1e3, 1e6, 1e15])
    X = lengths.astype(np.float32)[None, :]
    chunk = ArrayChunk(X, np.zeros(3), None, lengths**-2.0)
    loss = ChunkLoss(lambda: [chunk], FAMILY, 1)
    np.testing.assert_allclose(loss.hessian(np.zeros(1)), [[0.75]], rtol=1e-5)
