"""Classes of numbers between released edges, as levels of factors that `ColumnSums` counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.mechanisms.base import Rows, release_error
from dpglm.mechanisms.mapped import RowMapping
from dpglm.mechanisms.rows import RowView
from dpglm.privacy.events import Fact
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True)
class NumberClasses(RowMapping):
    """For each number the class that it lies in: class k holds numbers above edge k - 1 and up to edge k.

    The edges are ``at``: ``numbers`` times as many as there are classes less 1, made of public and released
    numbers. A row of the table holds its group, and then the numbers in [-1, 1].

    Parameters
    ----------
    numbers : int
        How many numbers are classed, >= 1.
    classes : int
        How many classes each has, >= 2.
    round : int
        Which of several counts this is, from 1 on.
    """

    numbers: int
    classes: int
    round: int

    @property
    def label(self) -> str:  # type: ignore[override]  # of every round another
        return f"classes of numbers, round {self.round}"

    @property
    def fact(self) -> Fact:
        return Fact("Levels", f"{self.classes} classes of each number")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        if at is None or len(at) != self.numbers * (self.classes - 1):
            raise release_error("no classes", "an edge between each two classes of every number")
        # Whoever made them: only between rising edges is a row's class its own.
        return _ClassedRows(rows, np.sort(at.reshape(self.numbers, -1), axis=1)), None

    def before(self, at: FloatVector | None, size: int) -> FloatVector:
        return np.tile(self._equal[1:-1], self.numbers)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Numbers in the middle of classes of equal width."""
        middle = 0.5 * (self._equal[:-1] + self._equal[1:])
        numbers = middle[rows.X[1:].astype(np.intp)]
        return ArrayChunk(np.vstack([rows.X[:1], numbers]).astype(np.float32), rows.y, None)

    @property
    def _equal(self) -> FloatVector:
        return np.linspace(-1.0, 1.0, self.classes + 1)


class _ClassedRows(RowView):
    """A group and codes of classes, -1 where there is no number."""

    def __init__(self, rows: Rows, edges: FloatMatrix) -> None:
        super().__init__(rows)
        self._edges = edges

    @property
    def size(self) -> int:
        return 1 + len(self._edges)

    def view(self, chunk: RowChunk) -> RowChunk:
        codes = [
            np.where(np.isfinite(number), np.searchsorted(edges, number), -1)
            for edges, number in zip(self._edges, chunk.X[1 : self.size], strict=True)
        ]
        found = np.array([chunk.X[0], *codes], dtype=np.float32)
        return ArrayChunk(found, chunk.y, None, chunk.share, chunk.share)
