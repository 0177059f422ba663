"""Coded rows of which factors with many levels stay codes: products with coefficients, without a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.typing import BoolVector, FloatBlock, FloatVector, IntVector


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
            self.start, (self.before * scale).astype(dtype), (self.own * scale).astype(dtype)
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
        values = np.zeros(self.levels + 1, dtype=theta.dtype)
        values[:-2] = _running((self.before * theta)[::-1])[::-1]
        values[1:-1] += self.own * theta
        return values

    def sums(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Columns of each level times ``sums``, shape (L,) or longer, added over levels; shape (L - 1,)."""
        below = _running(sums[: self.levels - 1])
        return np.asarray(self.before * below + self.own * sums[1 : self.levels])

    def squares(self) -> FloatVector:
        """Squared norm at each level and at none, shape (L + 1,)."""
        squares = np.zeros(self.levels + 1)
        squares[:-2] = _running(np.square(self.before, dtype=np.float64)[::-1])[::-1]
        squares[1:-1] += np.square(self.own, dtype=np.float64)
        return squares

    def at(self, codes: IntVector) -> NDArray[Any]:
        """The columns of rows with these levels, shape (L - 1, k)."""
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
        Columns ``places``, float32.
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
        longest = max((_roundings(corners.levels) for corners in self.factors), default=0)
        return max(len(self.places), longest + 2) + len(self.factors)

    def __rmatmul__(self, theta: NDArray[Any]) -> NDArray[Any]:
        """Linear predictors, shape (k,)."""
        eta = theta[self.places] @ self.numbers.astype(theta.dtype)
        for corners, codes in zip(self.factors, self.codes, strict=True):
            eta = eta + corners.values(theta[corners.start : corners.stop])[codes]
        return np.asarray(eta)

    def __matmul__(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of rows times ``values``, shape (p,)."""
        score = np.zeros(self.shape[0], dtype=values.dtype)
        score[self.places] = self.numbers.astype(values.dtype) @ values
        for corners, codes in zip(self.factors, self.codes, strict=True):
            sums = np.zeros(corners.levels + 1, dtype=values.dtype)
            np.add.at(sums, codes, values)
            score[corners.start : corners.stop] = corners.sums(sums)
        return score

    def squares(self) -> FloatVector:
        """Squared norm of each row, by itself; shape (k,)."""
        squares = np.square(self.numbers, dtype=np.float64).sum(axis=0)
        for corners, codes in zip(self.factors, self.codes, strict=True):
            squares += corners.squares()[codes]
        return np.asarray(squares)

    def bounded(self) -> BoolVector:
        """Which rows have norm at most 1, shape (k,); NaN is not bounded."""
        # A sum of p squares is off by less than (p + 2) 2^-52 of itself.
        bounded: BoolVector = self.squares() <= 1.0 - (self.shape[0] + 4) * 2.0**-52
        return bounded

    def dense(self) -> FloatBlock:
        """The rows as a matrix, shape (p, k), float32: the very numbers that the products read."""
        held = np.empty(self.shape, dtype=np.float32)
        held[self.places] = self.numbers
        for corners, codes in zip(self.factors, self.codes, strict=True):
            held[corners.start : corners.stop] = corners.at(codes)
        return held

    def rows_at(self, places: slice | BoolVector | IntVector) -> FactorRows:
        """Some rows: a view for a slice, else a copy."""
        codes = tuple(each[places] for each in self.codes)
        return FactorRows(self.numbers[:, places], self.places, self.factors, codes)

    def copy(self) -> FactorRows:
        """The same rows in memory of their own."""
        return FactorRows(
            self.numbers.copy(), self.places, self.factors, tuple(each.copy() for each in self.codes)
        )

    @classmethod
    def joined(cls, parts: Sequence[FactorRows]) -> FactorRows:
        """Rows of one coding, one part after the other."""
        codes = tuple(np.concatenate(each) for each in zip(*(part.codes for part in parts), strict=True))
        numbers = np.concatenate([part.numbers for part in parts], axis=1)
        return cls(numbers, parts[0].places, parts[0].factors, codes)

    def blanked(self, unusable: BoolVector) -> FactorRows:
        """A copy with zeros in some rows, shape (k,)."""
        blank = self.copy()
        blank.numbers[:, unusable] = 0.0
        for corners, codes in zip(self.factors, blank.codes, strict=True):
            codes[unusable] = corners.levels
        return blank
