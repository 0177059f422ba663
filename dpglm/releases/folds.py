"""Folds of a table for cross-validation, which is never part of a private plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpglm.optim.rows import Block, Piece
from dpglm.releases.base import Rows

# Numbers of a fold that are kept in memory instead of being cut out of the table at each read: 256 MiB.
_KEPT = 2**26


@dataclass(frozen=True)
class Fold:
    """Every ``folds``-th row of a table, or all the others."""

    rows: Rows
    folds: int
    fold: int
    held: bool

    @property
    def size(self) -> int:
        return self.rows.size

    def row_count(self) -> int:
        return sum(len(block.y) for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        first = 0
        for block in self.rows.blocks():
            place = (first + np.arange(len(block.y))) % self.folds == self.fold
            keep = place if self.held else ~place
            first += len(block.y)
            offset = None if block.offset is None else block.offset[keep]
            yield Piece(np.ascontiguousarray(block.X[:, keep]), block.y[keep], offset)


@dataclass(frozen=True)
class Kept:
    """Rows in memory."""

    size: int
    pieces: tuple[Block, ...]

    def row_count(self) -> int:
        return sum(len(block.y) for block in self.pieces)

    def blocks(self) -> tuple[Block, ...]:
        return self.pieces


def fold(rows: Rows, folds: int, place: int, *, held: bool) -> Rows:
    """One fold of a table, or what is left without it; in memory if it is small."""
    part = Fold(rows, folds, place, held)
    if part.row_count() * part.size > _KEPT:
        return part
    return Kept(part.size, tuple(part.blocks()))
