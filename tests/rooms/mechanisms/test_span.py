"""The projection onto the span of declared rows, against least squares over many declared rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.span import Span

Array = NDArray[np.float64]
SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "x": (1, 5),
        "z": (-2, 3),
        "b": ["u", "v"],
        "g": ["a", "b", "c"],
        "h": ["p", "q", "r", "s", "t"],
    }
)
FORMULAS = [
    "1", "x", "b", "g", "h", "b + g", "g + h + x", "b + g + h + x + z", "g * x + b", "g:x + h", "0 + x + z",
]  # fmt: skip


def declared(formula: str, count: int) -> tuple[Span, Array]:
    """The span of a formula and coded rows, shape (count, p), of random values within the declared bounds."""
    model = parse(f"y ~ {formula}", SCHEMA)
    coding = Coding.of(model)
    rng = np.random.default_rng(5)
    columns = {
        "x": rng.uniform(1, 5, count),
        "z": rng.uniform(-2, 3, count),
        "b": rng.integers(0, 2, count).astype(np.int32),
        "g": rng.integers(0, 3, count).astype(np.int32),
        "h": rng.integers(0, 5, count).astype(np.int32),
        "y": np.zeros(count, np.int32),
    }
    return Span(coding.term_columns), coding.coded(columns)[0]


def in_coordinates(matrices: Array) -> Array:
    """Symmetric matrices as vectors of the same Euclidean norm."""
    size = matrices.shape[-1]
    above = np.triu_indices(size, 1)
    diagonal = matrices[..., np.arange(size), np.arange(size)]
    return np.concatenate([diagonal, np.sqrt(2.0) * matrices[..., above[0], above[1]]], axis=-1)


def of_random_symmetric(size: int, seed: int) -> Array:
    matrix = np.random.default_rng(seed).normal(size=(size, size))
    return matrix + matrix.T


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_projection_is_that_of_least_squares_over_declared_rows(formula: str) -> None:
    span, rows = declared(formula, 4000)
    products = in_coordinates(rows[:, :, None] * rows[:, None, :])
    left, values, _ = np.linalg.svd(products.T, full_matrices=False)
    rank = int((values > 1e-9 * values[0]).sum())
    basis = left[:, :rank]
    smallest = all(block.kind != "other" for block in span.term_columns)
    for seed in range(3):
        matrix = of_random_symmetric(span.size, seed)
        found = span.matrix(span.coordinates(matrix))
        np.testing.assert_allclose(found, found.T, atol=0.0)
        np.testing.assert_allclose(span.matrix(span.coordinates(found)), found, atol=1e-12)
        if smallest:
            expected = basis @ (basis.T @ in_coordinates(matrix))
            np.testing.assert_allclose(in_coordinates(found), expected, atol=1e-10)
    if smallest:
        assert span.dimension == rank
    for row in rows[:20]:  # whatever the blocks are, declared rows are kept
        product = np.outer(row, row)
        np.testing.assert_allclose(span.matrix(span.coordinates(product)), product, atol=1e-12)


@pytest.mark.parametrize("formula", FORMULAS)
def test_coordinates_are_orthonormal(formula: str) -> None:
    """Noise on them is as strong in every direction, and a matrix is as long as its coordinates."""
    span, rows = declared(formula, 5)
    units = np.array([span.matrix(unit).ravel() for unit in np.eye(span.dimension)])
    np.testing.assert_allclose(units @ units.T, np.eye(span.dimension), atol=1e-12)
    flat = np.arange(1.0, span.dimension + 1)
    np.testing.assert_allclose(span.coordinates(span.matrix(flat)), flat, rtol=1e-11)
    for row in rows:
        assert np.linalg.norm(span.coordinates(np.outer(row, row))) == pytest.approx(row @ row, rel=1e-6)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_dimension_is_the_rank_of_the_projection(formula: str) -> None:
    span, _ = declared(formula, 1)
    units = []
    diagonal = [(i, i) for i in range(span.size)]
    for i, j in diagonal + list(itertools.combinations(range(span.size), 2)):
        unit = np.zeros((span.size, span.size))
        unit[i, j] = unit[j, i] = 1.0 if i == j else np.sqrt(0.5)
        units.append(in_coordinates(span.matrix(span.coordinates(unit))))
    matrix = np.array(units)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)  # orthogonal, in orthonormal coordinates
    assert span.dimension == pytest.approx(np.trace(matrix), abs=1e-9)


def test_variances_of_the_tied_numbers_are_those_of_projected_noise() -> None:
    span, _ = declared("b + g + h + x", 1)
    size = span.size
    blocks = {block.label: block for block in span.term_columns}
    constant = blocks["Intercept"].table[0, 0]
    levels = {tie.columns.start: 1.0 / span._contrast_length(tie) ** 2 for tie in span._ties}
    # Exact: the projection is linear, and the noise of orthonormal coordinates is standard.
    total = 0.0
    contrasts = {label: np.zeros(blocks[label].stop - blocks[label].start) for label in ("b", "g", "h")}
    totals = np.zeros(5)
    for i, j in itertools.combinations_with_replacement(range(size), 2):
        unit = np.zeros((size, size))
        unit[i, j] = unit[j, i] = 1.0 if i == j else np.sqrt(0.5)
        projected = span.matrix(span.coordinates(unit))
        whole = projected[0, 0] / constant**2
        total += whole**2
        for label, squares in contrasts.items():
            block = blocks[label]
            stretch = np.sqrt((block.table**2).sum() / block.table.shape[1])
            contrast = projected[0, block.columns] / (constant * stretch)
            squares += contrast**2
            if label == "h":
                totals += (whole / 5 + block.table / stretch @ contrast) ** 2
    assert (1.0 / span._total_length**2) == pytest.approx(total, rel=1e-9)
    for label, squares in contrasts.items():
        np.testing.assert_allclose(squares, levels[blocks[label].start], rtol=1e-9)
    expected = (1.0 / span._total_length**2) / 25 + levels[blocks["h"].start] * (1 - 1 / 5)
    np.testing.assert_allclose(totals, expected, rtol=1e-9)


def test_tables_that_are_no_simplex_and_gaps_are_refused() -> None:
    one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.array([1.0]))
    bad = TermColumns("g", "levels", 1, 3, 0.5, np.eye(3)[:, :2], np.ones(2))
    with pytest.raises(MethodError, match="centred simplex"):
        Span((one, bad))
    with pytest.raises(MethodError, match="gaps"):
        Span((bad,))


def test_without_an_intercept_nothing_is_tied() -> None:
    span, rows = declared("0 + x + z", 50)
    gram = rows.T @ rows
    np.testing.assert_allclose(span.matrix(span.coordinates(gram)), gram, rtol=1e-14)
    assert span.dimension == span.size * (span.size + 1) // 2
    assert span._ties == ()
