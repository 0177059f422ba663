"""Vectors of columns are no longer than 1, each from its own row, and move moments no more than claimed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.auditing.neighbours import Table
from dpglm.factor_rows import contrasts
from dpglm.mechanisms.column_vectors import ColumnVectors
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.moments import SecondMoments
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk
from dpglm.spec.profile_plan import PRODUCT_WEIGHTS
from dpglm.typing import FloatMatrix
from tests.silence import Silence

law = settings(max_examples=200, deadline=None)
NUMBER = st.one_of(
    st.floats(-1.0, 1.0, width=32), st.sampled_from([math.nan, math.inf, -math.inf, 1.5, -7.0, 1e30])
)
CODE = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0, 0.5, math.nan, math.inf, 9.0])
VECTORS = [
    ColumnVectors(1, (), grouped=False),
    ColumnVectors(2, (2,), grouped=False),
    ColumnVectors(1, (3, 2), grouped=True),
    ColumnVectors(0, (2, 4), grouped=False),
    ColumnVectors(3, (3,), grouped=True),
]


@st.composite
def tables(draw: Any) -> tuple[ColumnVectors, FloatMatrix]:
    """Vectors with rows of a group, numbers and codes, of which some are none."""
    vectors = draw(st.sampled_from(VECTORS))
    count = draw(st.integers(1, 6))
    group = st.sampled_from([0.0, 1.0, 2.0, -1.0]) if vectors.grouped else st.just(0.0)
    cells = [group, *[NUMBER] * vectors.numbers, *[CODE] * (len(vectors.levels) - vectors.grouped)]
    rows = [[draw(cell) for cell in cells] for _ in range(count)]
    return vectors, np.array(rows, dtype=np.float32).T


def vectors_of(vectors: ColumnVectors, X: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    mapped, at = vectors.mapped(Table(ArrayChunk(X, np.zeros(X.shape[1]), None)), None)
    assert at is None
    assert mapped.size == vectors.size
    (chunk,) = mapped.chunks()
    return np.asarray(chunk.X, dtype=np.float64), chunk.y


@law
@given(tables())
def test_each_row_is_its_own_and_no_longer_than_1(given_rows: Any) -> None:
    vectors, X = given_rows
    found, response = vectors_of(vectors, X)
    assert found.shape == (vectors.size, X.shape[1])
    assert (np.square(found).sum(axis=0) <= 1.0).all()
    assert set(response.tolist()) <= {0.0, 1.0}
    assert not found[:, response == 0.0].any()
    for place in range(X.shape[1]):
        alone, own = vectors_of(vectors, X[:, [place]])
        assert (alone[:, 0] == found[:, place]).all()
        assert own[0] == response[place]


@law
@given(tables())
def test_a_row_counts_where_it_has_all_of_its_values(given_rows: Any) -> None:
    vectors, X = given_rows
    _, response = vectors_of(vectors, X)
    numbers = np.isfinite(X[1 : 1 + vectors.numbers]).all(axis=0)
    codes = [*X[: int(vectors.grouped)], *X[1 + vectors.numbers :]]
    known = [np.isin(code, np.arange(levels)) for code, levels in zip(codes, vectors.levels, strict=True)]
    assert (response == np.logical_and.reduce([numbers, *known])).all()


def test_an_end_of_every_range_in_any_levels_is_as_long_as_a_row_can_be() -> None:
    for vectors in VECTORS:
        X = np.array([[0.0] * 3, *[[1.0, -1.0, 1.0]] * vectors.numbers, *[[0.0, 1.0, 1.0]] * 3])
        X = X[: 1 + vectors.numbers + len(vectors.levels) - vectors.grouped].astype(np.float32)
        found, _ = vectors_of(vectors, X)
        assert np.square(found).sum(axis=0) == pytest.approx(1.0, abs=1e-5)


@law
@given(tables(), st.sampled_from(["add-remove", "replace-one"]))
def test_a_row_moves_the_moments_no_more_than_their_sensitivity(given_rows: Any, relation: Relation) -> None:
    vectors, X = given_rows
    release = SecondMoments(vectors.span, "gaussian", 1.0, *PRODUCT_WEIGHTS)
    found, response = vectors_of(vectors, X[:, :2])

    def phi(place: int) -> FloatMatrix:
        x, y = found[:, place], response[place]
        gram, cross, square, count = PRODUCT_WEIGHTS
        return np.concatenate([gram * np.outer(x, x).ravel(), cross * x * y, [square * y * y, count * y]])

    second = phi(1) if relation == "replace-one" and X.shape[1] > 1 else np.zeros_like(phi(0))
    assert np.linalg.norm(phi(0) - second) <= release.sensitivity(relation) * (1.0 + 1e-9)


def test_the_moments_are_those_of_numbers_and_contrasts() -> None:
    draw = np.random.default_rng(0)
    vectors = ColumnVectors(2, (3,), grouped=False)
    numbers, codes = draw.uniform(-1.0, 1.0, (2, 50)), draw.integers(0, 3, 50)
    X = np.vstack([np.zeros(50), numbers, codes]).astype(np.float32)
    release = Mapped(SecondMoments(vectors.span, "gaussian", 1.0, *PRODUCT_WEIGHTS), vectors)
    told = release.run(Table(ArrayChunk(X, np.zeros(50), None)), None, Silence())
    u = vectors.unit * np.vstack([numbers, contrasts(3)[codes].T])
    gram = (u @ u.T)[np.triu_indices(4)]
    assert told == pytest.approx(np.concatenate([gram, u.sum(axis=1), [50.0, 50.0]]), abs=1e-4)
