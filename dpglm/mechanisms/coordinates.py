"""Numbers of coded rows as `ColumnSums` reads them: within declared ranges, or within closer ones."""

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
class Coordinates(RowMapping):
    """Numbers from coded rows, behind a group; not of rows of zeros.

    Within declared ranges a number lies in [-1, 1]. Within closer ranges ``at`` holds a middle m and half a
    width h > 0 for each number, one number after the other, and z becomes (z - m) / h, which `ColumnSums`
    cuts.

    Parameters
    ----------
    constant : (int, float)
        Column of the constant and its value in every row that can be used.
    columns : tuple of (int, float)
        Columns of the numbers and their value per declared range, the middle being 0.
    response : bool
        Whether the response, less its offset, is one more number, the last.
    closer : bool
        Whether ranges are closer than declared.
    """

    constant: tuple[int, float]
    columns: tuple[tuple[int, float], ...]
    response: bool = False
    closer: bool = False

    @property
    def label(self) -> str:  # type: ignore[override]
        return "means and standard deviations" + (" in closer ranges" if self.closer else "")

    @property
    def fact(self) -> Fact:
        return Fact("Numbers", "in ranges that were released before" if self.closer else "in declared ranges")

    @property
    def numbers(self) -> int:
        """How many there are."""
        return len(self.columns) + self.response

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        if not self.closer:
            return _Coordinates(rows, self, None), at
        paired = at is not None and len(at) == 2 * self.numbers
        if at is None or not (paired and np.isfinite(at).all() and (at[1::2] > 0.0).all()):
            raise release_error("no closer ranges", "a middle and half a width above 0 for each number")
        return _Coordinates(rows, self, at.reshape(-1, 2)), None

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return np.tile([0.0, 1.0], self.numbers) if self.closer else at

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        X = np.zeros((size, len(rows.y)), dtype=np.float32)
        X[self.constant[0]] = self.constant[1]
        for (at, value), numbers in zip(self.columns, rows.X[1:], strict=False):
            X[at] = 0.5 * value * numbers
        return ArrayChunk(X, rows.X[-1].astype(np.float64) if self.response else rows.y, None)


class _Coordinates(RowView):
    def __init__(self, rows: Rows, mapping: Coordinates, closer: FloatMatrix | None) -> None:
        super().__init__(rows)
        self._mapping, self._closer = mapping, closer

    @property
    def size(self) -> int:
        return 1 + self._mapping.numbers

    def view(self, chunk: RowChunk) -> RowChunk:
        at, value = self._mapping.constant
        with np.errstate(all="ignore"):
            coordinates = np.empty((self.size, chunk.count), dtype=np.float32)
            coordinates[0] = np.where(chunk.entries[at] > 0.5 * value, 0.0, -1.0)
            for k, (column, each) in enumerate(self._mapping.columns):
                middle, half = (0.0, 1.0) if self._closer is None else self._closer[k].tolist()
                np.multiply(2.0 / (each * half), chunk.entries[column], out=coordinates[1 + k])
                if middle:
                    coordinates[1 + k] -= middle / half
            if self._mapping.response:
                response = chunk.y if chunk.offset is None else chunk.y - chunk.offset
                if self._closer is not None:
                    # Beyond its bounds it is no further away than they are.
                    response = (np.clip(response, -1.0, 1.0) - self._closer[-1, 0]) / self._closer[-1, 1]
                coordinates[-1] = response
        return ArrayChunk(coordinates, chunk.y, None, chunk.share, chunk.share)
