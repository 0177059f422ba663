"""Rows with weights: each bounded by its own bits, counted by releases that read them, refused elsewhere."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpglm.auditing.neighbours import Table
from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.moments import SecondMoments
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.rows import (
    LONGEST,
    DownWeightedRows,
    FirstRows,
    ShortenedRows,
    WithinLeverage,
    unweighted,
)
from dpglm.mechanisms.span import Span
from dpglm.optim.loss import ChunkLoss
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector

FAMILY = families["binomial"]()


def chunk(X: FloatMatrix, offset: FloatVector | None = None) -> ArrayChunk:
    count = X.shape[1]
    return ArrayChunk(np.ascontiguousarray(X, dtype=np.float32), (np.arange(count) % 2).astype(float), offset)


def weighted(X: FloatMatrix, scales: FloatMatrix | None = None) -> RowChunk:
    (found,) = DownWeightedRows(Table(chunk(X)), np.eye(len(X)) if scales is None else scales).chunks()
    return found


def shortened(X: FloatMatrix, scales: FloatMatrix | None = None) -> RowChunk:
    (found,) = ShortenedRows(Table(chunk(X)), np.eye(len(X)) if scales is None else scales).chunks()
    return found


def squared(column: Any) -> Fraction:
    """The exact squared norm of float32 numbers."""
    return sum((Fraction(float(value)) ** 2 for value in column), Fraction(0))


def rows_of_all_lengths(size: int) -> FloatMatrix:
    generator = np.random.default_rng(5)
    lengths = np.concatenate([10.0 ** generator.uniform(-20.0, 6.0, 150), 1.0 + 2e-7 * np.arange(-40, 40)])
    X = generator.normal(size=(size, len(lengths)))
    return np.asarray(lengths * X / np.linalg.norm(X, axis=0))


@pytest.mark.parametrize("size", [1, 3, 40])
def test_weight_times_squared_norm_is_at_most_one_exactly(size: int) -> None:
    found = weighted(rows_of_all_lengths(size))
    assert found.weight is not None
    for column, weight in zip(found.X.T, found.weight.tolist(), strict=True):
        square, exact = squared(column), Fraction(weight)
        assert 0 < exact <= 1
        assert square > 0  # no row of this table is lost
        assert exact * square <= 1
        assert exact * exact * square <= 1
        # And little more is taken than must be.
        assert exact >= min(Fraction(1), 1 / square) * (1 - Fraction(1, 2**19))


@pytest.mark.parametrize("size", [1, 3, 40])
def test_shortened_rows_are_no_longer_than_one_exactly_and_keep_their_direction(size: int) -> None:
    X = rows_of_all_lengths(size).astype(np.float32)
    found = shortened(X)
    assert found.weight is None
    for column, given in zip(found.X.T, X.T, strict=True):
        square = squared(column)
        assert square <= 1
        # And little more is taken than must be.
        assert square >= min(Fraction(1), squared(given)) * (1 - Fraction(1, 2**17))
        wide, long = column.astype(np.float64), given.astype(np.float64)
        cosine = wide @ long / np.linalg.norm(wide) / np.linalg.norm(long)
        assert cosine > 1 - 1e-12


def test_shortened_rows_that_are_no_numbers_are_zeros() -> None:
    X = np.array([[0.5, np.nan, np.inf, -np.inf, 0.0], [0.5, 0.0, 0.0, np.inf, 0.0]])
    np.testing.assert_array_equal(shortened(X).X[:, 1:], 0.0)
    np.testing.assert_allclose(shortened(1e15 * X[:, :1]).X, np.sqrt(0.5), rtol=1e-5)


def test_rows_that_are_no_numbers_are_zeros_of_full_weight() -> None:
    X = np.array([[0.5, np.nan, np.inf, -np.inf, 1e38, 0.0], [0.5, 0.0, 0.0, np.inf, 1e38, 0.0]])
    found = weighted(X, np.array([[1.0, 0.0], [1e5, 2.0]]))
    assert found.weight is not None
    np.testing.assert_array_equal(found.X[:, 1:], 0.0)
    np.testing.assert_array_equal(found.weight[1:], 1.0)
    assert 0.0 < found.weight[0] < 1e-9
    # So that they are not felt by a sum.
    loss = ChunkLoss(lambda: [found], FAMILY, 2)
    alone = ChunkLoss(lambda: [weighted(X[:, :1], np.array([[1.0, 0.0], [1e5, 2.0]]))], FAMILY, 2)
    np.testing.assert_array_equal(loss.gradient(np.ones(2)), alone.gradient(np.ones(2)))
    assert np.isfinite(loss.hessian(np.ones(2))).all()


def test_a_row_and_its_weight_do_not_depend_on_other_rows_or_on_its_place() -> None:
    generator = np.random.default_rng(6)
    X = generator.normal(size=(7, 101)).astype(np.float32) / 8
    scales = generator.normal(size=(5, 7)) * 10.0 ** generator.uniform(0, 3, (5, 1))
    scales[1, 3] = 0.0
    whole = weighted(X, scales)
    assert whole.weight is not None
    for places in (slice(50, 51), slice(3, 100), generator.permutation(101)):
        part = weighted(X[:, places], scales)
        assert part.weight is not None
        assert part.X.tobytes() == np.ascontiguousarray(whole.X[:, places]).tobytes()
        assert part.weight.tobytes() == whole.weight[places].tobytes()
    np.testing.assert_allclose(whole.X, scales @ X, rtol=1e-5, atol=1e-2)


def test_leverage_is_that_of_the_weighted_row() -> None:
    X = np.array([[20.0, 20.0, 0.6, 3.0], [0.0, 40.0, 0.6, 4.0]])
    view = DownWeightedRows(Table(chunk(X)), np.eye(2))
    ridge = np.array([1.0, 4.0])
    (found,) = WithinLeverage(view, ridge, 0.6).chunks()
    # w x'P^-1 x: 1, (400 + 400) / 2000 = .4, .36 + .09 = .45 at full weight, (9 + 4) / 25 = .52.
    np.testing.assert_array_equal(found.X.any(axis=0), [False, True, True, True])
    (tighter,) = WithinLeverage(view, ridge, 0.42).chunks()
    np.testing.assert_array_equal(tighter.X.any(axis=0), [False, True, False, False])
    assert tighter.weight is not None
    (own,) = view.chunks()
    np.testing.assert_array_equal(tighter.weight, own.weight)


def test_the_number_of_rows_is_not_the_sum_of_weights() -> None:
    rows = DownWeightedRows(Table(chunk(np.full((1, 5), 30.0))), np.eye(1))
    assert rows.row_count() == 5
    (found,) = rows.chunks()
    assert ChunkLoss(lambda: [found], FAMILY, 1).row_count == 5


@pytest.mark.parametrize(
    "scales",
    [np.eye(3), np.ones(2), np.array([[1.0, np.nan]]), np.array([[1.0, np.inf]]), 1.01 * LONGEST * np.eye(2)],
)
def test_maps_that_cannot_be_are_refused(scales: Any) -> None:
    with pytest.raises(MethodError, match="map of rows"):
        DownWeightedRows(Table(chunk(np.zeros((2, 1)))), scales)


def test_releases_whose_proofs_have_no_weights_refuse_them() -> None:
    rows = DownWeightedRows(Table(chunk(np.full((2, 3), 5.0))), np.eye(2))
    block = TermColumns("x", "other", 0, 2, 1.0, np.eye(2), np.ones(2))
    moments = object.__new__(SecondMoments)
    object.__setattr__(moments, "span", Span((block,)))
    reads = [
        lambda: list(unweighted(rows)),
        lambda: [chunk.X for chunk in FirstRows(rows, 2).chunks()],
        lambda: [chunk.X for chunk in ShortenedRows(rows, np.eye(2)).chunks()],
        lambda: [chunk.X for chunk in DownWeightedRows(rows, np.eye(2)).chunks()],
        lambda: moments._sums(rows),
    ]
    for read in reads:
        with pytest.raises(AssertionError, match="weights"):
            read()


def minimiser(size: int) -> PerturbedMinimiser:
    return PerturbedMinimiser(
        family=FAMILY,
        ridge=np.linspace(1.0, 2.0, size),
        law="gaussian",
        scale=1.5,
        tolerance=1e-9,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(size),
        penalised=np.ones(size, dtype=bool),
        residual_noise_scale=1e-7,
        max_leverage=1.0,
    )


def test_the_law_of_the_minimiser_is_that_of_weighted_rows() -> None:
    """Its log ratio, from the gradient of the weighted loss and a numeric Jacobian."""
    generator = np.random.default_rng(8)
    X = generator.normal(size=(2, 6)) * np.array([0.2, 0.5, 2.0, 5.0, 20.0, 0.1])
    scales = np.eye(2)
    both = DownWeightedRows(Table(chunk(X, generator.normal(size=6))), scales)
    fewer = DownWeightedRows(Table(chunk(X[:, :4], np.zeros(4))), scales)
    release = minimiser(2)
    theta = generator.normal(size=(5, 2))

    def log_density(rows: DownWeightedRows, point: FloatVector) -> float:
        loss = ChunkLoss(rows.chunks, FAMILY, 2)

        def noise(at: FloatVector) -> FloatVector:
            return -loss.gradient(at) - release.ridges * at

        steps = 1e-5 * np.eye(2)
        jacobian = np.array([(noise(point + step) - noise(point - step)) / 2e-5 for step in steps])
        return float(-0.5 * np.sum(noise(point) ** 2) / 1.5**2 + np.log(abs(np.linalg.det(jacobian))))

    expected = [log_density(both, point) - log_density(fewer, point) for point in theta]
    np.testing.assert_allclose(release.log_ratio(theta, both, fewer, None), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("what", ["curvature", "score"])
def test_an_information_matrix_counts_weights(what: Any) -> None:
    """Each row's part has a norm of at most 1/4, or 1, however long the row is; its law says the same."""
    generator = np.random.default_rng(9)
    X = generator.normal(size=(2, 30)) * 10.0 ** generator.uniform(-1.0, 5.0, 30)
    block = TermColumns("x", "other", 0, 2, 1.0, np.eye(2), np.ones(2))
    release = Information(FAMILY, 1e-9, "gaussian", Span((block,)), what)
    at = generator.normal(size=2) * 1e-5
    rows = DownWeightedRows(Table(chunk(X)), np.eye(2))
    (found,) = rows.chunks()
    assert found.weight is not None
    wide = found.X.astype(np.float64)
    eta = at @ wide
    each = FAMILY.curvature(eta, found.y) * found.weight
    if what == "score":
        each = np.square(FAMILY.slope(eta, found.y) * found.weight)
    norms = each * np.square(wide).sum(axis=0)
    assert norms.max() <= release.weight_max * (1.0 + 1e-12)
    assert norms.max() > 0.1
    drawn = release.run(rows, at, SeededNoise(1))
    np.testing.assert_allclose(drawn, ((wide * each) @ wide.T).ravel(), rtol=1e-6, atol=1e-6)
    none = DownWeightedRows(Table(chunk(X[:, :0])), np.eye(2))
    ratio = release.log_ratio(drawn[None, :], rows, none, at[None, :])
    assert ratio is not None
    assert ratio[0] > 1e6  # of noise this small
