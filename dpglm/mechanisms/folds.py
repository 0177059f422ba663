"""Folds of a table for cross-validation, which is never part of a private plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.row_subset import RowSubset
from dpglm.optim.rows import RowChunk
from dpglm.typing import BoolVector

# Numbers of a fold that are kept in memory instead of being cut out of the table at each read: 256 MiB.
_KEPT = 2**26


@dataclass(frozen=True)
class Kept:
    """Rows in memory."""

    size: int
    pieces: tuple[RowChunk, ...]

    def row_count(self) -> int:
        return sum(len(block.y) for block in self.pieces)

    def chunks(self) -> tuple[RowChunk, ...]:
        return self.pieces


def fold(rows: Rows, folds: int, place: int, *, held: bool) -> Rows:
    """Every ``folds``-th row of a table from ``place`` on, or all others; in memory if it is small."""

    def holds(first: int, count: int) -> BoolVector:
        inside: BoolVector = (first + np.arange(count)) % folds == place
        return inside if held else ~inside

    part = RowSubset(rows, holds)
    if part.row_count() * part.size > _KEPT:
        return part
    return Kept(part.size, tuple(part.chunks()))
