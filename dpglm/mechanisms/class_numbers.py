"""Rows of the unit box as `ColumnSums` reads them: the class as the group, and numbers in [-1, 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.mapped import RowMapping
from dpglm.mechanisms.rows import RowView
from dpglm.privacy.events import Fact
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class ClassNumbers(RowMapping):
    """The response as the group, -1 where there is none; columns between -1 and 1 instead of 0 and 1."""

    label = "class means and standard deviations"

    @property
    def fact(self) -> Fact:
        return Fact("Numbers", "in the unit box, by class")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return ClassNumbersView(rows), at

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return at

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        X = np.asarray(0.5 + 0.5 * rows.X[1 : 1 + size], dtype=np.float32)
        return ArrayChunk(X, rows.X[0].astype(np.float64), None, rows.weight, rows.share)


class ClassNumbersView(RowView):
    @property
    def size(self) -> int:
        return 1 + self._rows.size

    def view(self, chunk: RowChunk) -> RowChunk:
        X = np.empty((self.size, chunk.count), dtype=np.float32)
        X[0] = chunk.y
        np.multiply(chunk.X, 2.0, out=X[1:])
        X[1:] -= 1.0
        return ArrayChunk(X, chunk.y, None, chunk.share, chunk.share)
