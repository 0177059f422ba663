"""Sums over rows without rounding, whatever the number of rows, and public linear maps of them.

A row's numbers are cut to a grid, towards zero: a map of the row alone, which makes nothing longer. Whole
numbers of steps of that grid are then added exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.row_loops import whole_terms
from dpglm.typing import FloatBlock, FloatMatrix, FloatVector

# Python's whole numbers, which have no bound, in an array of objects.
Whole: TypeAlias = NDArray[Any]

# Steps of a grid to the largest number, and how many rows are added in double precision: all that is added up
# there stays at or below 2^53 steps, in any order.
_FACTOR_BITS, _FACTOR_ROWS = 22, 2**9
_TERM_BITS, _TERM_ROWS = 40, 2**13
# Sums of at most 2^53 that are added in 64 bits.
_BLOCKS = 2**9
# Coefficients of public maps are rounded to 2^-60, and large tables of them to 2^-30.
FINE, TABLE = 60, 30


@dataclass(frozen=True)
class WholeNumbers:
    """The numbers ``whole * unit``, exactly, shape (m,); a unit > 0 of each, or one of all.

    Examples
    --------
    >>> np.asarray(WholeNumbers(np.array([3, 2**70 + 1], dtype=object), np.array([0.5, 2.0**-70])))
    array([1.5, 1. ])
    """

    whole: Whole
    unit: FloatVector | float

    def __len__(self) -> int:
        return len(self.whole)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatVector:
        return np.asarray(self.whole.astype(np.float64) * self.unit, dtype=dtype)

    def steps(self, step: float) -> Whole:
        """The nearest whole numbers of steps, rounded once, shape (m,)."""
        steps = np.empty(len(self), dtype=object)
        units = np.broadcast_to(self.unit, len(self))
        for unit in np.unique(units).tolist():
            here = units == unit
            top, bottom = (Fraction(unit) / Fraction(step)).as_integer_ratio()
            steps[here] = (2 * top * self.whole[here] + bottom) // (2 * bottom)
        return steps


class WholeSum:
    """A sum over rows of vectors, or of products x x' of them, in whole steps of a grid.

    ``largest`` bounds the size of every number that a row adds, or of every factor of one.

    Examples
    --------
    >>> total = WholeSum((2,), 1.0)
    >>> total.add_terms(np.array([[0.25, 0.5, 1.0], [-1.0, 1.0, 2.0**-50]]), np.ones(3))
    >>> total.floats()
    array([1.75, 0.  ])
    """

    def __init__(self, shape: tuple[int, ...], largest: float) -> None:
        squared = len(shape) == 2
        parts = (2 if squared else 1, *shape)
        self._total: Whole = np.zeros(parts, dtype=object)
        self._recent = np.zeros(parts, dtype=np.int64)
        self._blocks = 0
        self._largest = largest
        self.unit = largest**2 * 8.0**-_FACTOR_BITS if squared else largest * 2.0**-_TERM_BITS

    def add_terms(self, X: FloatMatrix | FloatBlock, values: FloatVector) -> None:
        """Add rows in columns, shape (m, k), times ``values``, shape (k,)."""
        for first in range(0, X.shape[1], _TERM_ROWS):
            part = slice(first, first + _TERM_ROWS)
            self._add(whole_terms(X[:, part], values[part], 2.0**_TERM_BITS / self._largest))

    def add_products(self, factors: FloatMatrix) -> None:
        """Add x x' of rows in columns, shape (m, k); they are changed in place."""
        factors *= 2.0**_FACTOR_BITS / self._largest
        for first in range(0, factors.shape[1], _FACTOR_ROWS):
            part = factors[:, first : first + _FACTOR_ROWS]
            high = np.trunc(part)
            low = part - high
            low *= 2.0**_FACTOR_BITS
            np.trunc(low, out=low)
            self._add(high @ high.T, high @ low.T)

    def __add__(self, other: WholeSum) -> WholeSum:
        """This sum, with the other one, on the same grid, added to it."""
        assert other.unit == self.unit, "sums on the same grid"
        other._flush()
        self._flush()
        self._total = self._total + other._total
        return self

    def total(self) -> Whole:
        """In whole multiples of ``unit``, of the given shape."""
        self._flush()
        if self._total.ndim == 2:
            return np.asarray(self._total[0])
        high, mixed = self._total
        return np.asarray((high << _FACTOR_BITS) + mixed + mixed.T)

    def floats(self) -> FloatMatrix:
        """The same in double precision."""
        return np.asarray(self.total().astype(np.float64) * self.unit)

    def _flush(self) -> None:
        self._total, self._blocks = self._total + self._recent, 0
        self._recent[...] = 0

    def _add(self, *blocks: FloatMatrix) -> None:
        if self._blocks == _BLOCKS:
            self._flush()
        for recent, block in zip(self._recent, blocks, strict=True):
            recent += block.astype(np.int64)
        self._blocks += 1


def fine(coefficient: float) -> int:
    """A public coefficient in whole multiples of 2^-60."""
    return round(Fraction(coefficient) * Fraction(2) ** FINE)


ROOT_TWO = math.isqrt(2 << (2 * FINE))


def product(table: FloatMatrix, whole: Whole) -> Whole:
    """``table @ whole`` without rounding; a table of at most 2^30 in size, shape (m, k), of whole numbers.

    Examples
    --------
    >>> product(np.array([[1.0, -2.0]]), np.array([[2**80], [3]], dtype=object)) - 2**80
    array([[-6]], dtype=object)
    """
    bits = 53 - TABLE - max(len(whole) - 1, 1).bit_length()
    total: Whole = np.zeros((len(table), *whole.shape[1:]), dtype=object)
    shift = 0
    while whole.any():
        # Digits from -2^(bits - 1) to 2^(bits - 1): products of a row add up to less than 2^53.
        rest = (whole + (1 << (bits - 1))) >> bits
        digits = (whole - (rest << bits)).astype(np.float64)
        total = total + ((table @ digits).astype(np.int64).astype(object) << shift)
        whole, shift = rest, shift + bits
    return total
