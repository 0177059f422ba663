"""Inner loops: the compiled file gives the bits of numpy, whatever the numbers and wherever a row stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpglm import row_loops

needs_compiled = pytest.mark.skipif(
    row_loops._compiled is None, reason="no compiled loops: no C compiler where the package was installed"
)
SINGLE = st.floats(width=32, allow_nan=True, allow_infinity=True)
DOUBLE = st.floats(allow_nan=True, allow_infinity=True)
SIZES = st.tuples(st.integers(1, 11), st.integers(0, 13))


def both(loop: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """What the compiled file gives, and what numpy gives."""
    compiled = loop(*arguments, **options)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(row_loops, "_compiled", None)
        return compiled, loop(*arguments, **options)


def same_bits(found: Any, expected: Any) -> None:
    """To the last bit, the sign of zero included; NaN is NaN."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    there = ~np.isnan(found)
    assert found[there].tobytes() == expected[there].tobytes()


@st.composite
def rows_and_values(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Rows, shape (p, k), as they are or as a part of longer ones; and doubles, shapes (p,) and (k,)."""
    p, k = draw(SIZES)
    X = draw(arrays(np.float32, (p, k + 3), elements=SINGLE))
    X = X[:, 1 : k + 1] if draw(st.booleans()) else np.ascontiguousarray(X[:, :k])
    return X, draw(arrays(np.float64, p, elements=DOUBLE)), draw(arrays(np.float64, k, elements=DOUBLE))


def unaligned(array: Any) -> Any:
    """The same numbers, at an odd place in memory, as arrays that came over a network may be."""
    moved = np.frombuffer(b"." + array.tobytes(), dtype=array.dtype, offset=1).reshape(array.shape)
    assert not moved.flags.aligned
    return moved


def long_rows(p: int = 9, k: int = 2_111) -> tuple[Any, Any, Any]:
    """More rows than the loops take at a time."""
    random = np.random.default_rng(1)
    return random.normal(size=(p, k)).astype(np.float32), random.normal(size=p), random.normal(size=k)


@needs_compiled
@settings(max_examples=300)
@given(rows_and_values())
def test_predictors_have_the_bits_of_numpy(drawn: tuple[Any, Any, Any]) -> None:
    same_bits(*both(row_loops.predictors, drawn[1], drawn[0]))


@needs_compiled
@settings(max_examples=300)
@given(rows_and_values(), st.booleans())
def test_squares_have_the_bits_of_numpy(drawn: tuple[Any, Any, Any], ones: bool) -> None:
    same_bits(*both(row_loops.squares, np.ones(len(drawn[0])) if ones else drawn[1], drawn[0]))


@needs_compiled
@settings(max_examples=300)
@given(rows_and_values(), st.data())
def test_products_have_the_bits_of_numpy(drawn: tuple[Any, Any, Any], data: st.DataObject) -> None:
    X, some = drawn[0], st.one_of(st.just(0.0), st.floats(-1e6, 1e6))
    same_bits(*both(row_loops.product, data.draw(arrays(np.float64, (4, len(X)), elements=some)), X))


@needs_compiled
@settings(max_examples=300)
@given(rows_and_values())
def test_halved_sums_have_the_bits_of_numpy(drawn: tuple[Any, Any, Any]) -> None:
    same_bits(*both(row_loops.halved, drawn[0], drawn[2], 16))


@needs_compiled
@settings(max_examples=300)
@given(rows_and_values(), st.data())
def test_steps_are_those_of_numpy(drawn: tuple[Any, Any, Any], data: st.DataObject) -> None:
    counted = data.draw(arrays(np.bool_, drawn[0].shape[1]))
    same_bits(*both(row_loops.steps, drawn[0], counted, 2**16))


@needs_compiled
@settings(max_examples=300)
@given(arrays(np.float64, st.integers(0, 9), elements=DOUBLE), DOUBLE, st.booleans())
def test_bounded_numbers_are_those_of_numpy(column: Any, low: float, infinite: bool) -> None:
    low = min(max(low, -1e300), 1e300) if low == low else 0.0
    limits = np.array([[low, low + abs(low) + 1.0, float(infinite)], [-1.0, 1.0, 1.0]])
    for values in (column, column[::2], column[::-1]):
        # A zero may lose its sign.
        np.testing.assert_array_equal(*both(row_loops.bounded, [values, values[::-1]], limits))


@needs_compiled
@settings(max_examples=300)
@given(arrays(np.float64, st.integers(0, 9), elements=DOUBLE), DOUBLE, DOUBLE)
def test_affine_maps_have_the_bits_of_numpy(column: Any, shift: float, scale: float) -> None:
    def coded(values: Any) -> Any:
        out = np.empty(len(values), dtype=np.float32)
        row_loops.affine(values, shift, scale, out)
        return out

    for values in (column, column[::2]):
        same_bits(*both(coded, values))


@needs_compiled
@settings(max_examples=300)
@given(st.integers(0, 1_700), st.sampled_from([np.uint8, np.uint16, np.uint32]), st.randoms())
def test_scattered_sums_have_the_bits_of_numpy(count: int, kind: Any, seed: Any) -> None:
    random = np.random.default_rng(seed.randrange(2**32))
    codes = random.integers(0, 7, size=count).astype(kind)
    same_bits(*both(row_loops.scattered, random.normal(size=count), codes, 7))


@needs_compiled
@settings(max_examples=300)
@given(rows_and_values(), st.sampled_from([1.0, 2.0**40, 0.7 * 2.0**40]))
def test_whole_terms_are_those_of_numpy(drawn: tuple[Any, Any, Any], scale: float) -> None:
    with np.errstate(all="ignore"):
        X, values = (np.clip(np.nan_to_num(each), -1.0, 1.0) for each in (drawn[0], drawn[2]))
    np.testing.assert_array_equal(*both(row_loops.whole_terms, X, values, scale))


@needs_compiled
def test_many_rows_have_the_bits_of_numpy() -> None:
    X, at, values = long_rows()
    same_bits(*both(row_loops.predictors, at, X))
    same_bits(*both(row_loops.squares, at, X))
    same_bits(*both(row_loops.product, np.outer(at, at), X))
    same_bits(*both(row_loops.halved, X, values, 4096))
    same_bits(*both(row_loops.steps, X, values > 0.0, 2**16))
    same_bits(*both(row_loops.whole_terms, X, values, 2.0**38))


@needs_compiled
def test_rows_of_another_kind_are_refused() -> None:
    X, at, values = long_rows(2, 5)
    for wrong in (X.astype(np.float64), X[:, ::2], X[0], at):
        with pytest.raises(ValueError, match=r"another kind|fit together"):
            row_loops._compiled.predictors(at, wrong, np.empty(5))
    with pytest.raises(ValueError, match="fit together"):
        row_loops._compiled.predictors(at, X, np.empty(4))
    places, ends = np.array([0, 2]), np.array([1, 2])  # there is no coordinate 2
    with pytest.raises(ValueError, match="fit together"):
        row_loops._compiled.product(at, places, ends, X, np.empty((2, 5), dtype=np.float32))
    with pytest.raises(ValueError, match="fit together"):
        row_loops._compiled.halved(values, X, np.empty(6), np.empty(2))  # no power of 2
    with pytest.raises(ValueError, match="fit together"):  # a code beyond the sums
        row_loops._compiled.scattered(values, np.array([0, 1, 2, 3, 1], dtype=np.uint8), np.zeros((1, 3)))
    locked = np.empty(5)
    locked.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        row_loops._compiled.predictors(at, X, locked)


@pytest.mark.parametrize("p", [1, 4, 9])
def test_a_score_is_the_sum_of_rows_times_values(p: int) -> None:
    X, _, values = long_rows(p)
    exact = (X.astype(np.longdouble) * values).sum(axis=1)
    size = (np.abs(X.astype(np.float64)) * np.abs(values)).sum(axis=1)
    for found in both(row_loops.score, X, values):
        assert np.all(np.abs(found - exact) <= len(values) * 2.0**-53 * size)


def test_rows_at_odd_places_in_memory_give_the_same_bits() -> None:
    X, at, values = (unaligned(array) for array in long_rows())
    sound = long_rows()
    same_bits(row_loops.predictors(at, X), row_loops.predictors(sound[1], sound[0]))
    same_bits(row_loops.squares(at, X), row_loops.squares(sound[1], sound[0]))
    same_bits(row_loops.product(np.outer(at, at), X), row_loops.product(np.outer(at, at), sound[0]))
    same_bits(row_loops.score(X, values), row_loops.score(sound[0], sound[2]))
    same_bits(row_loops.halved(X, values, 4096), row_loops.halved(sound[0], sound[2], 4096))
    cut = row_loops.bounded([values], np.array([[-0.5, 0.5, 0.0]]))[0]
    same_bits(cut, np.clip(sound[2], -0.5, 0.5))


def test_a_row_does_not_depend_on_its_neighbours_or_its_place() -> None:
    X, at, _ = long_rows()
    matrix = np.outer(at, at)
    for first in (0, 1, 513, 1_030):
        part = X[:, first : first + 700]
        kept = slice(first, first + part.shape[1])
        same_bits(row_loops.predictors(at, part), row_loops.predictors(at, X)[kept])
        same_bits(row_loops.squares(at, part), row_loops.squares(at, X)[kept])
        same_bits(row_loops.product(matrix, part), row_loops.product(matrix, X)[:, kept])


@needs_compiled
def test_a_checkout_has_the_loops_of_its_own_source() -> None:
    """A stale file would go on with what its source no longer says: the two carry one number."""
    assert row_loops._compiled.VERSION == row_loops._VERSION
