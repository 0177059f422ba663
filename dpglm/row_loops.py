"""Inner loops over coded rows, in a small compiled file where it was built, else in numpy.

But for `score`, both give the same bits: what is added to what, and in which order, is part of what each loop
is. So a row's numbers depend on that row alone, wherever it stands and on whatever machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.typing import FloatBlock, FloatMatrix, FloatVector, IntVector

# Rows that are added one by one; then such sums are.
STRETCH: Final = 512
# Of the compiled file that these loops go with.
_VERSION: Final = 4
_compiled: Any
try:
    from dpglm import _row_loops as _compiled
except ImportError:  # there was no compiler where the package was installed
    _compiled = None
if _compiled is not None and (_compiled.VERSION != _VERSION or np.dtype(np.intp).char != "l"):
    _compiled = None  # left from another version; or places are not what it reads


def _read(X: NDArray[Any], *vectors: NDArray[Any]) -> bool:
    """Whether the compiled file reads these rows, and vectors of doubles beside them."""
    return (
        _compiled is not None
        and X.dtype == np.float32
        and (X.shape[1] < 2 or X.strides[1] == 4)
        and all(vector.dtype == np.float64 for vector in vectors)
    )


def _solid(array: NDArray[Any], spread: bool = False) -> NDArray[Any]:
    """The array, aligned, which arrays from elsewhere may not be; and in one piece unless ``spread``."""
    sound = array.flags.aligned and (spread or array.flags.c_contiguous)
    sound = sound and array.strides[0] % array.itemsize == 0
    return array if sound else array.copy()


def bounded(
    columns: Sequence[FloatVector], limits: FloatMatrix, out: FloatVector | None = None
) -> FloatMatrix:
    """Numbers of m columns, cut to bounds, shape (m, k); NaN stays.

    ``limits`` has the bounds of each column, and 1 where an infinity is no number either; shape (m, 3). The
    numbers stand at the beginning of ``out`` if it is given.

    Examples
    --------
    >>> bounded([np.array([-3.0, np.nan, 0.5, np.inf])], np.array([[0.0, 1.0, 1.0]]))
    array([[0. , nan, 0.5, nan]])
    """
    count, size = len(columns), len(columns[0]) if columns else 0
    values = np.empty((count, size)) if out is None else out[: count * size].reshape(count, size)
    if _compiled is not None and all(column.dtype == np.float64 for column in columns):
        _compiled.bounded(
            limits.reshape(-1, 3), tuple(_solid(column, spread=True) for column in columns), values
        )
        return values
    for row, column, (low, high, finite) in zip(values, columns, limits.reshape(-1, 3).tolist(), strict=True):
        with np.errstate(invalid="ignore"):
            np.maximum(column, low, out=row)
            np.minimum(row, high, out=row)
        if finite:
            np.copyto(row, np.nan, where=np.isinf(column))
    return values


def affine(column: NDArray[Any], shift: float, scale: float, out: NDArray[Any]) -> None:
    """Write ``(column - shift) * scale`` in double precision, rounded once, to ``out``, shape (k,).

    Examples
    --------
    >>> out = np.empty(2, dtype=np.float32)
    >>> affine(np.array([20.0, 80.0]), 50.0, 1 / 60, out)
    >>> out
    array([-0.5,  0.5], dtype=float32)
    """
    if _compiled is not None and column.dtype == np.float64 and out.dtype == np.float32:
        _compiled.affine(np.array([shift, scale]), _solid(column), out)
    else:
        np.multiply(column - shift, scale, out=out, casting="same_kind")


def predictors(at: NDArray[Any], X: NDArray[Any]) -> FloatVector:
    """x'at of each row, coordinate by coordinate, at the precision of ``at``; X has shape (p, k).

    A product of matrices may round a row differently in another place, and so let one row touch others.

    Examples
    --------
    >>> predictors(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [0.5, 3.0]]))
    array([2.5, 3. ])
    """
    eta = np.zeros(X.shape[1], dtype=at.dtype)
    if _read(X, at):
        _compiled.predictors(_solid(at), _solid(X, True), eta)
        return eta
    term = np.empty_like(eta)
    for value, column in zip(at, X, strict=True):
        eta += np.multiply(value, column, out=term, dtype=eta.dtype)
    return eta


def squares(weights: FloatVector, X: NDArray[Any]) -> FloatVector:
    """Weighted sum of squares of each row, coordinate by coordinate; X has shape (p, k).

    Examples
    --------
    >>> squares(np.array([1.0, 0.5]), np.array([[3.0, 1.0], [4.0, 2.0]]))
    array([17.,  3.])
    """
    total = np.zeros(X.shape[1])
    if _read(X, weights):
        _compiled.squares(_solid(weights), _solid(X, True), total)
        return total
    term = np.empty_like(total)
    for weight, entries in zip(weights.tolist(), X, strict=True):
        term[:] = entries  # one coordinate at a time: a wide copy of all is fresh memory for each chunk
        np.square(term, out=term)
        if weight != 1.0:
            term *= weight
        total += term
    return total


def product(matrix: FloatMatrix, X: FloatBlock) -> FloatBlock:
    """``matrix @ X`` of rows, shape (p, k), coordinate by coordinate, rounded to float32.

    Zeros of the matrix are left out, for speed; they are public.

    Examples
    --------
    >>> product(np.array([[2.0, 0.0], [1.0, -1.0]]), np.float32([[1, 2], [3, 4]]))
    array([[ 2.,  4.],
           [-2., -2.]], dtype=float32)
    """
    mapped = np.empty((len(matrix), X.shape[1]), dtype=np.float32)
    used = matrix != 0.0
    if _read(X, matrix):
        places, ends = np.ascontiguousarray(np.nonzero(used)[1]), np.cumsum(used.sum(axis=1))
        _compiled.product(matrix[used], places, ends, _solid(X, True), mapped)
        return mapped
    wide = X.astype(np.float64)
    for out, row, chosen in zip(mapped, matrix, used, strict=True):
        out[:] = predictors(row[chosen], wide[chosen])
    return mapped


def score(X: FloatBlock, values: NDArray[Any]) -> FloatVector:
    """The sum of rows, shape (p, k), times ``values``, at their precision, in some order.

    A summand goes through at most `STRETCH` + k / `STRETCH` additions, the second rounded up.

    Examples
    --------
    >>> score(np.float32([[1, 2], [3, 4]]), np.array([1.0, -1.0]))
    array([-1., -1.])
    """
    total = np.zeros(len(X), dtype=values.dtype)
    if not _read(X, values):
        for first in range(0, len(values), STRETCH):
            part = slice(first, first + STRETCH)
            total += X[:, part].astype(values.dtype, copy=False) @ values[part]
        return total
    _compiled.score(_solid(values), _solid(X, True), total)
    return total


def scattered(values: NDArray[Any], codes: NDArray[Any], width: int) -> NDArray[Any]:
    """Sums of ``values`` with each code below ``width``, at their precision; shape (parts, width).

    A part is the sum of `STRETCH` rows, one by one.

    Examples
    --------
    >>> scattered(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0], dtype=np.uint8), 3)
    array([[5., 0., 2.]])
    """
    sums = np.zeros((max(-(-len(values) // STRETCH), 1), width), dtype=values.dtype)
    if _compiled is not None and values.dtype == np.float64 and codes.dtype.char in "BHI":
        _compiled.scattered(_solid(values), _solid(codes), sums)
        return sums
    for each, first in zip(sums, range(0, len(values), STRETCH), strict=False):
        part = slice(first, first + STRETCH)
        np.add.at(each, codes[part], values[part])
    return sums


def whole_terms(X: NDArray[Any], values: FloatVector, scale: float) -> FloatVector:
    """The sum of rows times ``values`` times ``scale``, each cut to a whole number, towards zero; shape (p,).

    Doubles hold the sums if no row of the k has one larger than 2^53 / k.

    Examples
    --------
    >>> whole_terms(np.float32([[1, 2, 3]]), np.array([0.5, 0.7, -0.5]), 2.0)  # 1 + 2 - 3
    array([0.])
    """
    total = np.empty(len(X))
    if _read(X, values):
        _compiled.whole_terms(_solid(values), _solid(X, True), np.array([scale]), total)
        return total
    terms = X.astype(np.float64)
    terms *= values
    terms *= scale
    return np.asarray(np.trunc(terms, out=terms).sum(axis=1))


def halved(X: FloatBlock, values: NDArray[Any], width: int) -> FloatVector:
    """The sum of rows times ``values``, at their precision: one half is added to the other, again and again.

    There are at most ``width`` rows, a power of 2; rows of zeros make up what is missing.

    Examples
    --------
    >>> halved(np.float32([[1, 2, 3]]), np.ones(3), 4)
    array([6.])
    """
    total = np.empty(len(X), dtype=values.dtype)
    if _read(X, values):
        _compiled.halved(_solid(values), _solid(X, True), np.empty(width), total)
        return total
    wide = np.zeros((len(X), width), dtype=values.dtype)
    wide[:, : X.shape[1]] = X
    wide[:, : X.shape[1]] *= values
    while wide.shape[1] > 1:
        half = wide.shape[1] // 2
        wide = wide[:, :half] + wide[:, half:]
    return wide[:, 0]


def steps(X: FloatBlock, counted: NDArray[np.bool_], grid: int) -> IntVector:
    """Of each coordinate, over counted rows: finite numbers, sum of their places, of squares; shape (p, 3).

    Places are whole steps of 1 / ``grid``, a power of 2, from -1 to 1, to which numbers are cut.

    Examples
    --------
    >>> steps(np.float32([[0.5, np.nan, 7, 0.1]]), np.array([True, True, True, False]), 4)
    array([[ 2,  6, 20]])
    """
    if _read(X):
        sums = np.empty(3 * len(X))
        _compiled.steps(counted.astype(np.float32), _solid(X, True), np.array([float(grid)]), sums)
        return sums.astype(np.int64).reshape(-1, 3)
    present = np.isfinite(X) & counted
    places = np.rint(np.clip(np.where(present, X, 0.0), -1.0, 1.0) * grid).astype(np.float64)
    squared = np.einsum("ij,ij->i", places, places)
    return np.stack([present.sum(axis=1), places.sum(axis=1), squared], axis=1).astype(np.int64)
