"""Some of the rows of a table, chosen by place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpglm.mechanisms.base import Rows
from dpglm.optim.rows import ArrayChunk, RowChunk
from dpglm.typing import BoolVector


@dataclass(frozen=True)
class RowSubset:
    """The rows at places that are held; cut out of the table at each read.

    Parameters
    ----------
    rows : Rows
    holds : callable
        A place and a number k to whether the k rows from there on are held, shape (k,).
    """

    rows: Rows
    holds: Callable[[int, int], BoolVector]

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return self.rows.size

    def row_count(self) -> int:
        """Number of rows held."""
        return int(self.holds(0, self.rows.row_count()).sum())

    def chunks(self) -> Iterator[RowChunk]:
        """The rows in order, the same at each call."""
        first = 0
        for block in self.rows.chunks():
            held = self.holds(first, len(block.y))
            first += len(block.y)
            offset = None if block.offset is None else block.offset[held]
            yield ArrayChunk(np.ascontiguousarray(block.X[:, held]), block.y[held], offset)
