"""Coded rows of which factors with many levels stay codes: products with coefficients, without a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpglm import row_loops
from dpglm.row_loops import STRETCH
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector, IntVector

# Up to so many levels products are made with a table of the columns: one call, of few numbers.
_TABLE: Final = 256

Values = TypeVar("Values", bound="NDArray[Any] | FactorRows")


def _running(values: NDArray[Any]) -> NDArray[Any]:
    """Running sums, each of at most `_roundings` additions: of stretches, and within the last one.

    Examples
    --------
    >>> _running(np.arange(6.0))
    array([ 0.,  1.,  3.,  6., 10., 15.])
    """
    width = max(math.isqrt(len(values)), 1)
    stretches = np.zeros((-(-len(values) // width), width), dtype=values.dtype)
    stretches.ravel()[: len(values)] = values
    inside = np.cumsum(stretches, axis=1)
    inside[1:] += np.cumsum(inside[:-1, -1])[:, None]
    return inside.ravel()[: len(values)]


def _roundings(count: int) -> int:
    """At most so many additions make a running sum of ``count`` numbers."""
    return 2 * math.isqrt(count) + 3


def squares(weights: FloatVector, X: FloatBlock | FloatMatrix | FactorRows) -> FloatVector:
    """Weighted sum of squares of each row, shape (p, k), added coordinate by coordinate; shape (k,).

    What is added to what does not depend on where a row stands.
    """
    if isinstance(X, FactorRows):
        found = squares(weights[X.places], X.numbers)
        for corners, codes in zip(X.factors, X.codes, strict=True):
            found += corners.squares(weights[corners.start : corners.stop]).take(codes)
        return found
    return row_loops.squares(weights, X)


def contrasts(count: int) -> FloatMatrix:
    """Orthonormal columns that add up to 0, shape (count, count - 1): contrasts of the indicators of levels.

    Examples
    --------
    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    from scipy.linalg import helmert

    return np.asarray(helmert(count).T)


@dataclass(frozen=True, eq=False)
class SimplexColumns:
    """Coded columns ``start`` to ``stop`` of a factor with L levels: the corners of a simplex.

    Column j of a row of level l holds ``before[j]`` if l <= j, ``own[j]`` if l = j + 1 and 0 if l > j + 1.

    Parameters
    ----------
    start : int
        Place of the first column in a row.
    before, own : ndarray, shape (L - 1,)
        In float32 where they are columns of rows that are read.

    Examples
    --------
    >>> corners = SimplexColumns(0, np.float32([-3, -1]), np.float32([3, 2]))
    >>> corners.at(np.array([0, 1, 2, 3])).T  # code L is no level
    array([[-3., -1.],
           [ 3., -1.],
           [ 0.,  2.],
           [ 0.,  0.]], dtype=float32)
    >>> corners.values(np.array([1.0, 10.0])), corners.sums(np.array([1.0, 1.0, 1.0]))
    (array([-13.,  -7.,  20.,   0.]), array([0., 0.]))
    """

    start: int
    before: NDArray[Any]
    own: NDArray[Any]

    def scaled(self, scale: float, dtype: np.dtype[Any]) -> SimplexColumns:
        """The columns times a number, rounded once."""
        return SimplexColumns(
            self.start, *((each.astype(np.float64) * scale).astype(dtype) for each in (self.before, self.own))
        )

    def __abs__(self) -> SimplexColumns:
        return SimplexColumns(self.start, np.abs(self.before), np.abs(self.own))

    @property
    def levels(self) -> int:
        """Number of levels, which is also the code of a row of zeros."""
        return len(self.before) + 1

    @property
    def stop(self) -> int:
        """One past the last column."""
        return self.start + len(self.before)

    def values(self, theta: NDArray[Any]) -> NDArray[Any]:
        """Columns times ``theta``, shape (L - 1,), at each level and at none, shape (L + 1,).

        Each is a sum of products in some order, at the precision of ``theta``.
        """
        if self.levels <= _TABLE:
            return np.asarray(theta @ self._table.astype(theta.dtype, copy=False))
        values = np.zeros(self.levels + 1, dtype=theta.dtype)
        values[:-2] = _running((self.before * theta)[::-1])[::-1]
        values[1:-1] += self.own * theta
        return values

    def sums(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Columns of each level times ``sums``, shape (L,) or longer, added over levels; shape (L - 1,)."""
        if self.levels <= _TABLE:
            return np.asarray(self._table[:, : len(sums)].astype(sums.dtype, copy=False) @ sums)
        below = _running(sums[: self.levels - 1])
        return np.asarray(self.before * below + self.own * sums[1 : self.levels])

    def squares(self, weights: FloatVector) -> FloatVector:
        """Weighted sum of squares at each level and at none, shape (L + 1,): the same on every machine."""
        if self.levels <= _TABLE:  # not a product of matrices, which each processor adds in its own order
            return np.asarray((weights[:, None] * self._squared._table).sum(axis=0))
        return self._squared.values(weights)

    @cached_property
    def _squared(self) -> SimplexColumns:
        before, own = (np.square(each, dtype=np.float64) for each in (self.before, self.own))
        return SimplexColumns(self.start, before, own)

    @cached_property
    def _table(self) -> FloatMatrix:
        """The columns at each level and at none, shape (L - 1, L + 1)."""
        return self.at(np.arange(self.levels + 1)).astype(np.float64)

    def at(self, codes: IntVector) -> NDArray[Any]:
        """The columns of rows with these levels, shape (L - 1, k)."""
        if self.levels <= _TABLE < len(codes) - 1:
            return np.take(self._table.astype(self.before.dtype), codes, axis=1)
        places = np.arange(len(self.before))[:, None]
        held = np.where(codes <= places, self.before[:, None], self.before.dtype.type(0.0))
        known = np.flatnonzero((codes > 0) & (codes < self.levels))
        held[codes[known] - 1, known] = self.own[codes[known] - 1]
        return held


@dataclass(frozen=True, eq=False)
class FactorRows:
    """Coded rows, shape (p, k), as numbers in some columns and levels of factors in the others.

    ``theta @ rows`` and ``rows @ values`` are what they are for the matrix `dense`, but for rounding, at the
    precision of the vector: see `depth`.

    Parameters
    ----------
    numbers : ndarray, shape (q, k)
        Columns ``places``, float32, or the same numbers at the precision of products.
    places : ndarray, shape (q,)
    factors : tuple of SimplexColumns
    codes : tuple of ndarray, shape (k,)
        The level of each factor in each row; its number of levels stands for zeros.

    Examples
    --------
    >>> corners = SimplexColumns(1, np.float32([-1, -1]), np.float32([1, 2]))
    >>> rows = FactorRows(np.float32([[5, 6]]), np.array([0]), (corners,), (np.array([2, 0]),))
    >>> rows.dense()
    array([[ 5.,  6.],
           [ 0., -1.],
           [ 2., -1.]], dtype=float32)
    >>> np.ones(3) @ rows, rows @ np.ones(2)
    (array([7., 4.]), array([11., -1.,  1.]))
    """

    numbers: FloatBlock
    places: IntVector
    factors: tuple[SimplexColumns, ...]
    codes: tuple[IntVector, ...]

    __array_ufunc__ = None  # so that numpy leaves ``theta @ rows`` to `__rmatmul__`

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of columns p and of rows k."""
        return len(self.places) + sum(len(each.before) for each in self.factors), self.numbers.shape[1]

    @property
    def depth(self) -> int:
        """Each summand of a linear predictor is rounded at most so often, by its product and additions."""
        levels = [corners.levels for corners in self.factors]
        longest = max((each if each <= _TABLE else _roundings(each) for each in levels), default=0)
        return max(len(self.places), longest + 2) + len(self.factors)

    @property
    def additions(self) -> int:
        """A sum of rows takes each summand through at most so many additions, before those over levels."""
        return STRETCH + -(-self.shape[1] // STRETCH)

    def __rmatmul__(self, theta: NDArray[Any]) -> NDArray[Any]:
        """Linear predictors, shape (k,)."""
        eta = row_loops.predictors(theta[self.places], self.numbers)
        for corners, codes in zip(self.factors, self.codes, strict=True):
            eta = eta + corners.values(theta[corners.start : corners.stop]).take(codes)
        return np.asarray(eta)

    def __matmul__(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of rows times ``values``, shape (p,)."""
        score = np.zeros(self.shape[0], dtype=values.dtype)
        score[self.places] = row_loops.score(self.numbers, values)
        for corners, codes in zip(self.factors, self.codes, strict=True):
            sums = row_loops.scattered(values, codes, corners.levels + 1).sum(axis=0)
            score[corners.start : corners.stop] = corners.sums(sums)
        return score

    def __getitem__(self, at: int) -> FloatBlock:
        """One of the columns that are numbers, shape (k,)."""
        place = int(np.searchsorted(self.places, at))
        assert self.places[place] == at, "a column of numbers"
        return np.asarray(self.numbers[place])

    def dense(self) -> FloatBlock:
        """The rows as a matrix, shape (p, k), float32: the very numbers that the products read."""
        held = np.empty(self.shape, dtype=np.float32)
        held[self.places] = self.numbers
        for corners, codes in zip(self.factors, self.codes, strict=True):
            held[corners.start : corners.stop] = corners.at(codes)
        return held

    def rows_at(self, places: slice | BoolVector | IntVector) -> FactorRows:
        """Some rows: a view for a slice, else a copy."""
        return replace(self, numbers=self.numbers[:, places], codes=tuple(one[places] for one in self.codes))

    def copy(self) -> FactorRows:
        """The same rows in memory of their own."""
        return replace(self, numbers=self.numbers.copy(), codes=tuple(each.copy() for each in self.codes))

    @staticmethod
    def joined(parts: Sequence[FactorRows]) -> FactorRows:
        """Rows of one coding, one part after the other."""
        codes = tuple(np.concatenate(each) for each in zip(*(part.codes for part in parts), strict=True))
        return replace(parts[0], numbers=np.hstack([part.numbers for part in parts]), codes=codes)


def blanked(values: Values, unusable: BoolVector | IntVector) -> Values:
    """A copy with zeros in some rows: of numbers, shape (..., k), or of numbers and codes."""
    blank = cast(Values, values.copy())
    if isinstance(blank, FactorRows):
        blank.numbers[:, unusable] = 0.0
        for corners, codes in zip(blank.factors, blank.codes, strict=True):
            codes[unusable] = corners.levels
    else:
        blank[..., unusable] = 0.0
    return blank


def multiplied(factors: Iterable[SimplexColumns], matrix: FloatMatrix) -> tuple[SimplexColumns, ...] | None:
    """The factors in rows times a matrix, rounded, if it multiplies each by a number and mixes none in."""
    rest, found, square = matrix.copy(), [], matrix.shape[0] == matrix.shape[1]
    for corners in factors:
        own = slice(corners.start, corners.stop)
        times = float(matrix[corners.start, corners.start]) if square else 0.0
        np.fill_diagonal(rest[own, own], rest[own, own].diagonal() - times)
        if not square or rest[own].any() or rest[:, own].any():
            return None
        found.append(corners.scaled(times, np.dtype(np.float32)))
    return tuple(found)
