"""Folds of a table: which rows they hold, and that they are cut out once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.folds import fold
from dpglm.mechanisms.rows import RowSubset
from dpglm.rows import ArrayChunk, RowChunk


class Wide:
    """Rows of which each tells its number in the response; columns take no memory, however many."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size, self.read = count, size, 0

    def row_count(self) -> int:
        return self.count

    def chunks(self) -> Iterator[RowChunk]:
        self.read += 1
        for first in range(0, self.count, 7):
            y = np.arange(first, min(first + 7, self.count), dtype=np.float64)
            yield ArrayChunk(np.broadcast_to(np.float32(0.5), (1, len(y))), y, -y)


def responses(rows: Rows) -> list[float]:
    blocks = list(rows.chunks())
    y = np.concatenate([block.y for block in blocks])
    offsets = np.concatenate([block.offset for block in blocks if block.offset is not None])
    np.testing.assert_array_equal(offsets, -y)
    return [float(value) for value in y]


def test_folds_and_what_is_left_share_the_rows_out() -> None:
    table = Wide(23, 1)
    for place in range(4):
        inside, outside = (fold(table, 4, place, held=held) for held in (True, False))
        assert responses(inside) == [row for row in range(23) if row % 4 == place]
        assert sorted(responses(inside) + responses(outside)) == list(range(23))
        assert inside.row_count() + outside.row_count() == 23


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 23])
def test_as_many_rows_are_counted_as_are_read(count: int) -> None:
    for place in range(3):
        rows = RowSubset(Wide(count, 1), lambda first, k, at=place: (first + np.arange(k)) % 3 == at)  # type: ignore[misc]
        assert rows.row_count() == sum(len(block.y) for block in rows.chunks()) == len(range(place, count, 3))


def test_a_fold_is_cut_out_of_the_table_once() -> None:
    table = Wide(40, 1)
    part = fold(table, 2, 0, held=True)
    before = table.read
    assert responses(part) == responses(part) == list(range(0, 40, 2))
    assert table.read == before + 1
