"""The first rows of a table, as many as were declared, without offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpglm.mechanisms.base import Rows
from dpglm.optim.rows import ArrayChunk, RowChunk


@dataclass(frozen=True)
class FirstRows:
    """Rows up to a public place; what comes after is not there.

    Parameters
    ----------
    rows : Rows
    most : int
    """

    rows: Rows
    most: int

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return self.rows.size

    def row_count(self) -> int:
        """At most ``most``."""
        return min(self.most, self.rows.row_count())

    def chunks(self) -> Iterator[RowChunk]:
        """The rows in order; offsets are not read."""
        left = self.most
        for block in self.rows.chunks():
            count = min(left, len(block.y))
            yield ArrayChunk(block.X[:, :count], block.y[:count], None)
            left -= count
