"""Neighbouring tables of coded rows, and those on which a release has its worst case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpglm.mechanisms.base import Release
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector


class Table:
    """Given coded rows as a release reads them, in one block or several."""

    def __init__(self, *blocks: RowChunk) -> None:
        self._blocks = blocks

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return int(self._blocks[0].X.shape[0])

    def chunks(self) -> Iterator[RowChunk]:
        """The rows, block by block."""
        yield from self._blocks

    def row_count(self) -> int:
        """Number of rows."""
        return sum(len(block.y) for block in self._blocks)


@dataclass(frozen=True)
class Neighbours:
    """Two tables that differ in one row."""

    label: str  # what they are, in words
    first: Table
    second: Table
    direction: FloatVector | None = None  # where the output of the first release differs most, if known
    at: FloatVector | None = None  # a point for releases that are evaluated somewhere


def release_neighbours(
    release: Release, relation: Relation, size: int, axes: FloatMatrix | None = None
) -> Neighbours:
    """The release's own worst case, with offsets that keep slopes or weights at their largest.

    ``axes``, shape (p, k), are declared rows that stand for the unit vectors of ``size`` columns, where the
    release reads rows and nothing else.
    """
    case = release.worst_case(relation, size)
    if axes is None or not release.turns:
        tables = Table(case.first), Table(case.second)
        return Neighbours("rows of norm 1 with offsets", *tables, case.direction, case.at)
    count = axes.shape[1]
    first, second = (
        Table(ArrayChunk((axes @ block.X[:count]).astype(np.float32), block.y, block.offset))
        for block in (case.first, case.second)
    )
    square, line = np.split(case.direction, [len(case.direction) // size**2 * size**2])
    parts = []
    if square.size:  # products of rows
        parts.append((axes @ square.reshape(size, size)[:count, :count] @ axes.T).ravel())
    if line.size:  # rows, alone or behind them
        parts.append(axes @ line[:count])
    return Neighbours("longest declared rows with offsets", first, second, np.concatenate(parts), case.at)
