"""Rows within the declared reach of a ridge matrix, looked at in the numbers that are read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.predictor import squares
from dpglm.optim.rows import ArrayChunk, RowChunk
from dpglm.typing import BoolVector, FloatBlock, FloatVector, IntVector


class WithinLeverage:
    """The same rows, but for those with ``x' P^-1 x`` above the largest leverage: these are read as zeros.

    The coding keeps every row within the bounds of its blocks. The price of a release leans on that, so every
    row is looked at, once, when it is first read.

    Parameters
    ----------
    rows : Rows
        Coded rows.
    ridge : ndarray, shape (p,)
        Diagonal of P, > 0.
    reach : float
        Public bound on ``x' P^-1 x``.
    """

    def __init__(self, rows: Rows, ridge: FloatVector, max_leverage: float) -> None:
        self._rows, self._weights = rows, 1.0 / (ridge * max_leverage)
        self._outside: list[IntVector] = []

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return self._rows.size

    def row_count(self) -> int:
        """Number of rows; public under replace-one, private under add-remove."""
        return self._rows.row_count()

    def chunks(self) -> Iterator[RowChunk]:
        """The rows in blocks, the same at each call."""
        for place, block in enumerate(self._rows.chunks()):
            if place == len(self._outside):
                self._outside.append(np.flatnonzero(~_within(block.X, self._weights)))
            outside = self._outside[place]
            yield _blanked(block, outside) if outside.size else block


def _within(X: FloatBlock, weights: FloatVector) -> BoolVector:
    """Which columns have a weighted sum of squares of at most 1; NaN has not."""
    within: BoolVector = squares(weights, X) <= 1.0 - len(X) * 2.0**-50
    return within


def _blanked(block: RowChunk, outside: IntVector) -> RowChunk:
    X = block.X.copy()
    X[:, outside] = 0.0
    return ArrayChunk(X, block.y, block.offset)
