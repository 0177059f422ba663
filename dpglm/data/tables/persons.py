"""Whose each row is, and what share of its person a row has.

A share follows from the rows of that person alone: another one's rows change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from dpglm.data.schema.unit import Unit
from dpglm.data.tables.cells import Blank, StoredCell, written
from dpglm.data.tables.cluster import ClusterRows, ClusterSource, Encode
from dpglm.data.tables.columns import stored_cells_of_column
from dpglm.data.tables.instants import Instant
from dpglm.data.tables.source import Chunk, Source
from dpglm.typing import SHARES, FloatVector, IntVector


class PersonRows:
    """The rows of a source that count, with their shares; memory is of the order of persons.

    Parameters
    ----------
    source : Source
    unit : Unit or None
        None: all rows count, each for itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpglm.data.tables.sources import open_source
    >>> visits = pd.DataFrame({"id": ["a", "b", "a", None], "x": [1, 2, 3, 4]})
    >>> rows = PersonRows(open_source(visits), Unit("id"))
    >>> [(kept, share) for frame, kept, share in rows.chunks(["x"])]
    [(array([0, 1, 2]), array([0.5, 1. , 0.5]))]
    """

    def __init__(self, source: Source, unit: Unit | None) -> None:
        self._source, self._unit = source, unit
        self._places: dict[str, int] = {}  # of persons, in the order in which they come
        self._counts: IntVector | None = None  # rows of each

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that are read for it."""
        return () if self._unit is None else (self._unit.column,)

    def chunks(
        self, columns: Sequence[str], *, numeric: Collection[str] = ()
    ) -> Iterator[tuple[Chunk, IntVector | None, FloatVector | None]]:
        """Chunks as `Source.chunks` gives them, places of the rows that count or None, and their shares.

        Rows are not taken out of frames: whether a library can do that with a column may depend on its type,
        and it would do it only where some row does not count.
        """
        unit = self._unit
        if unit is None:
            for frame in self._source.chunks(columns, numeric=numeric):
                yield frame, None, None
            return
        if self._counts is None:
            self._counts = self._counted(unit)
        needed = tuple(dict.fromkeys((*columns, unit.column)))
        texts = set(numeric) - {unit.column}  # read alike each time: as a number "07" would be "7"
        seen = np.zeros(len(self._places), dtype=np.int64)
        shares = _shares(self._counts, unit)
        most = np.minimum(self._counts, unit.rows)  # also of a query that now gives more rows than before
        for frame in self._source.chunks(needed, numeric=texts):
            person = self._persons(frame[unit.column])
            kept = np.flatnonzero(person >= 0)
            kept = kept[seen[person[kept]] + _earlier(person[kept]) < most[person[kept]]]
            seen += np.bincount(person[person >= 0], minlength=len(seen))
            if unit.column in numeric:
                frame = self._source.respelled(frame, (unit.column,))
            yield frame, kept, shares[person[kept]] if unit.shared else None

    def coded(self, columns: Sequence[str], encode: Encode) -> ClusterRows | None:
        """The rows that count, coded by the cluster that holds them; None for a source that is here.

        Of rows elsewhere the column of persons alone is read here.
        """
        if not isinstance(self._source, ClusterSource):
            return None
        # Of one computation: places found in another one may be those of other rows.
        with self._source.held(tuple(dict.fromkeys((*columns, *self.columns)))) as held:
            rows = PersonRows(held, self._unit)
            kept = None if self._unit is None else ((places, share) for _, places, share in rows.chunks(()))
            return held.coded(columns, encode, kept)

    def _counted(self, unit: Unit) -> IntVector:
        """Rows of each person, in one read of the column."""
        counts = np.zeros(0, dtype=np.int64)
        for frame in self._source.chunks((unit.column,)):
            person = self._persons(frame[unit.column])
            found = np.bincount(person[person >= 0], minlength=len(self._places))
            found[: len(counts)] += counts
            counts = found
        return counts

    def _persons(self, column: Any) -> IntVector:
        """The place of each row's person, -1 for nobody's; new persons are added until they are counted."""
        cells, index = stored_cells_of_column(column)
        used = np.zeros(len(cells), dtype=bool)
        used[index] = True
        texts = [_text(cell) if there else None for cell, there in zip(cells, used.tolist(), strict=True)]
        if self._counts is None:
            for text in texts:
                if text is not None:
                    self._places.setdefault(text, len(self._places))
        found = [-1 if text is None else self._places.get(text, -1) for text in texts]
        return np.array([*found, -1], dtype=np.intp)[index]


def _text(cell: StoredCell) -> str | None:
    """Who this is; blanks at the ends of a text say nothing, bytes all count."""
    if isinstance(cell, Blank):
        return None
    if isinstance(cell, bytes):
        return f" {cell.hex()}"  # the blank is a mark that no other text begins with
    if isinstance(cell, Instant):
        return cell.text
    return (cell.strip() if isinstance(cell, str) else written(cell)) or None


def _earlier(person: IntVector) -> IntVector:
    """How many rows before each one are the same person's, shape (k,)."""
    order = np.argsort(person, kind="stable")
    together = person[order]
    first = np.flatnonzero(np.concatenate([[True], together[1:] != together[:-1]])) if len(order) else order
    lengths = np.diff(np.append(first, len(order)))
    earlier = np.empty(len(order), dtype=np.int64)
    earlier[order] = np.arange(len(order)) - np.repeat(first, lengths)
    return earlier


def _shares(counts: IntVector, unit: Unit) -> FloatVector:
    """The share of each row of each person: whole multiples of one part in `SHARES`, rounded down."""
    if unit.weights == "row":
        return np.full(len(counts), SHARES // unit.rows) / SHARES
    return np.floor(SHARES / np.clip(counts, 1, unit.rows)) / SHARES
