"""Rows of a table's columns as vectors of norm at most 1, whose products `SecondMoments` sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dpglm.factor_rows import contrasts, squares
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.column_sums import codes_of
from dpglm.mechanisms.mapped import RowMapping
from dpglm.mechanisms.rows import SHRINK, RowView, shares_alone
from dpglm.mechanisms.span import Span
from dpglm.privacy.events import Fact
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatBlock, FloatMatrix, FloatVector

PRODUCTS: Final = "products of columns"


@dataclass(frozen=True)
class ColumnVectors(RowMapping):
    """Numbers in [-1, 1] and, for each factor of L levels, the L - 1 coordinates of a level's corner.

    All are scaled so that no row is longer than 1. The response is 1, and 0 for a row without a value in one
    of the columns, which becomes zeros. A row of the table holds its group, then numbers, and then codes.

    Parameters
    ----------
    numbers : int
        How many numbers there are.
    levels : tuple of int
        Number of levels of each factor; the group comes first where it is ``grouped``.
    grouped : bool
        Whether the group is one of the factors.

    Examples
    --------
    >>> vectors = ColumnVectors(1, (3,), grouped=False)
    >>> vectors.size, round(1.0 / vectors.unit**2, 4)  # 1 for the number, 2/3 for the factor
    (3, 1.6667)
    """

    numbers: int
    levels: tuple[int, ...]
    grouped: bool

    label = PRODUCTS

    @property
    def fact(self) -> Fact:
        return Fact("Rows", "numbers between their bounds, and corners of levels; a constant response")

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.numbers + sum(self.levels) - len(self.levels)

    @property
    def unit(self) -> float:
        """What coordinates are multiplied by."""
        square = self.numbers + sum(1.0 - 1.0 / count for count in self.levels)
        return SHRINK / math.sqrt(square)

    @cached_property
    def span(self) -> Span:
        """All symmetric matrices: nothing is known of products without a constant among the columns."""
        one = np.eye(self.size)
        return Span((TermColumns("columns", "other", 0, self.size, 1.0, one, np.ones(self.size)),))

    @cached_property
    def corners(self) -> tuple[FloatMatrix, ...]:
        """Of each factor, orthonormal contrasts of its indicators, shape (levels, levels - 1)."""
        return tuple(contrasts(count) for count in self.levels)

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return _Vectors(rows, self), None

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return None

    def width(self, size: int) -> int:
        return self.size

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """A row at upper ends and in first levels, and one at ends that alternate and in last levels."""
        count, first_one = rows.count, rows.X[0] > 0.5
        group = np.zeros((0 if self.grouped else 1, count))
        numbers = np.where(first_one, 1.0, (-1.0) ** np.arange(self.numbers)[:, None])
        codes = [np.where(first_one, 0, levels - 1) for levels in self.levels]
        first, rest = codes[: int(self.grouped)], codes[int(self.grouped) :]
        found = np.vstack([group, *first, numbers, *rest])
        return ArrayChunk(found.astype(np.float32), np.zeros(count), None)


class _Vectors(RowView):
    """Vectors of columns; zeros for a row that has not all of them."""

    def __init__(self, rows: Rows, vectors: ColumnVectors) -> None:
        super().__init__(rows)
        self._vectors = vectors

    @property
    def size(self) -> int:
        return self._vectors.size

    def view(self, chunk: RowChunk) -> RowChunk:
        vectors, grouped, share = self._vectors, int(self._vectors.grouped), shares_alone(chunk)
        numbers = chunk.X[1 : 1 + vectors.numbers]
        codes = [*chunk.X[:grouped], *chunk.X[1 + vectors.numbers :]]
        complete = np.isfinite(numbers).all(axis=0)
        parts: list[FloatBlock | FloatMatrix] = [np.clip(numbers, -1.0, 1.0)]
        for column, corners in zip(codes, vectors.corners, strict=True):
            level, there = codes_of(column, len(corners))
            complete &= there
            parts.append(corners[level].T)
        wide = vectors.unit * np.vstack(parts).astype(np.float64)
        X: FloatBlock = np.ascontiguousarray(wide, dtype=np.float32)
        X[:, ~complete] = 0.0
        fits = squares(np.ones(len(X)), X) <= 1.0 - len(X) * 2.0**-50
        X[:, ~fits] = 0.0
        return ArrayChunk(X, (complete & fits).astype(np.float64), None, share, share)
