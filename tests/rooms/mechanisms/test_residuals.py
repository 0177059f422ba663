"""Residuals on standardised rows: what they are, and what every row of them keeps, whatever its content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpglm.auditing.neighbours import Table
from dpglm.errors import MethodError
from dpglm.mechanisms.residuals import LogCounts, ResidualClasses, Residuals
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector

MATRIX = np.array([[1.0, 0.0, 0.0], [-2.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
POINT = np.array([0.3, 0.1, -0.2])
UNIT = 0.5


def at(matrix: FloatMatrix = MATRIX, point: FloatVector = POINT, unit: float = UNIT) -> FloatVector:
    return np.concatenate([matrix.ravel(), point, [unit]])


def mapped(X: Any, y: Any, offset: Any = None, where: FloatVector | None = None) -> RowChunk:
    chunk = ArrayChunk(np.asarray(X, dtype=np.float32), np.asarray(y, dtype=np.float64), offset)
    rows, inside = Residuals("residuals").mapped(Table(chunk), at() if where is None else where)
    assert inside is None
    (found,) = rows.chunks()
    return found


def some(count: int = 200) -> tuple[FloatMatrix, FloatVector]:
    generator = np.random.default_rng(3)
    X = generator.uniform(-0.5, 0.5, (3, count)).astype(np.float32)
    X[0] = 0.5
    return X.astype(np.float64), generator.uniform(-1.0, 1.0, count)


def test_rows_and_residuals_are_shortened_alike_and_no_offset_is_left() -> None:
    X, y = some()
    offset = np.linspace(-0.5, 0.5, len(y))
    found = mapped(X, y, offset)
    long = MATRIX @ X
    factor = np.minimum(1.0, 1.0 / np.linalg.norm(long, axis=0))
    assert 0.1 < (factor < 1.0).mean() < 0.9
    residual = np.clip((y - offset - POINT @ long) / UNIT, -1.0, 1.0)
    assert 0.05 < (np.abs(residual) == 1.0).mean() < 0.95
    np.testing.assert_allclose(found.X, factor * long, atol=2e-6)
    np.testing.assert_allclose(found.y, factor * residual, atol=2e-6)
    assert found.offset is None
    assert found.weight is None


def test_normal_equations_of_them_are_those_of_weighted_least_squares_at_the_point() -> None:
    X, y = some()
    found = mapped(X, y, where=at(unit=100.0))
    long = MATRIX @ X
    weight = np.minimum(1.0, 1.0 / np.square(long).sum(axis=0))
    wide = found.X.astype(np.float64)
    np.testing.assert_allclose(wide @ wide.T, (long * weight) @ long.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        100.0 * wide @ found.y, (long * weight) @ (y - POINT @ long), rtol=1e-4, atol=1e-4
    )


WILD = [0.0, -0.0, 1e-300, 1e300, -1e300, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("response", WILD)
@pytest.mark.parametrize("entry", [0.0, 0.5, 1e-30, 1e30, np.inf, np.nan])
@pytest.mark.parametrize("point", [0.0, 1e300, np.inf, np.nan])
def test_no_row_is_longer_than_one_or_has_a_larger_residual(
    response: float, entry: float, point: float
) -> None:
    X = np.array([[0.5, 0.5, 0.0], [entry, 0.1, 0.0], [0.2, -entry, 0.0]])
    where = at(point=np.array([0.1, point, -point]))
    found = mapped(X, [response, 0.3, response], np.array([0.0, response, 0.0]), where)
    assert np.isfinite(found.X).all()
    assert np.isfinite(found.y).all()
    assert (np.square(found.X.astype(np.float64)).sum(axis=0) <= 1.0).all()
    assert (np.abs(found.y) <= 1.0).all()
    # A row that cannot be used is a row of zeros with the response 0.
    assert not found.y[~found.X.any(axis=0)].any()
    assert not found.X[:, 2].any()


@pytest.mark.parametrize("response", WILD)
@pytest.mark.parametrize("entry", [0.0, 0.5, 1e-30, 1e30, np.inf, np.nan])
@pytest.mark.parametrize("point", [0.0, 1e300, np.inf, np.nan])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_no_row_of_counts_is_longer_than_one_or_has_a_larger_residual(
    response: float, entry: float, point: float, spread: float
) -> None:
    X = np.array([[0.5, 0.5, 0.0], [entry, 0.1, 0.0], [0.2, -entry, 0.0]])
    chunk = ArrayChunk(
        X.astype(np.float32), np.array([response, 0.3, response]), np.array([0.0, response, 0.0])
    )
    where = np.concatenate([MATRIX.ravel(), [0.1, point, -point], [spread, 0.3, 2.5]])
    rows, _ = Residuals("residuals", 1e6).mapped(Table(chunk), where)
    (found,) = rows.chunks()
    assert np.isfinite(found.X).all()
    assert np.isfinite(found.y).all()
    assert (np.square(found.X.astype(np.float64)).sum(axis=0) <= 1.0).all()
    assert (np.abs(found.y) <= 1.0).all()
    assert not found.y[~found.X.any(axis=0)].any()
    assert not found.X[:, 2].any()


def test_a_worst_case_is_that_of_the_release_inside() -> None:
    X = np.array([[0.6], [0.8]], dtype=np.float32)
    chunk = ArrayChunk(X, np.array([0.7]), None)
    for bound in (0.25, 1.0, 40.0):
        mapping = Residuals("residuals", bound)
        rows, _ = mapping.mapped(Table(mapping.unmapped(chunk, 2)), mapping.before(None, 2))  # type: ignore[arg-type]
        (found,) = rows.chunks()
        np.testing.assert_allclose(found.X, X, rtol=1e-5)
        np.testing.assert_allclose(found.y, [0.7], rtol=1e-5)
        logs = LogCounts(Residuals("residuals"), bound, (-1.0, 2.0))
        rows, _ = logs.mapped(Table(logs.unmapped(chunk, 2)), logs.before(None, 2))  # type: ignore[arg-type]
        (found,) = rows.chunks()
        np.testing.assert_allclose(found.y, [0.7], rtol=1e-5)


def test_classes_are_of_residuals_in_their_unit_and_of_rows_that_can_be_used() -> None:
    edges = (0.25, 0.5, 1.0)
    classes = ResidualClasses(edges, (0, 0.5))
    X = np.zeros((3, 6))
    X[0, :5] = 0.5
    y = np.array([0.05, -0.15, 0.3, -0.9, 7.0, 0.0])
    chunk = ArrayChunk(X.astype(np.float32), y, None)
    where = at(matrix=np.eye(3), point=np.zeros(3))
    rows, _ = classes.mapped(Table(chunk), where)
    (found,) = rows.chunks()
    assert found.X[0].tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, -1.0]
    assert found.X[1, :5].tolist() == [3.0, 2.0, 5.0, 0.0, 6.0]


@pytest.mark.parametrize("given", [None, at()[:-1], at(unit=0.0), at(unit=np.inf), at(unit=np.nan)])
def test_a_place_that_is_none_is_a_fault_of_the_method(given: Any) -> None:
    table = Table(ArrayChunk(np.zeros((3, 1), dtype=np.float32), np.zeros(1), None))
    for mapping in (Residuals("residuals"), ResidualClasses((1.0,), (0, 0.5))):
        with pytest.raises(MethodError):
            mapping.mapped(table, given)
