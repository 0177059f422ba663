"""Design: coded rows and responses in chunks, which a release may read, and the public model behind them.

The chunks are float32, which *is* the design: the coding is row-wise and public, so rounding it changes no
privacy argument. They are coded once and kept, as `KeptRows` says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.person_periods import PersonPeriods, require_one_row
from dpglm.data.coding.response import Response
from dpglm.data.coding.row_weights import RowWeights
from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.schema.variables import within
from dpglm.data.tables.cluster import ClusterSource
from dpglm.data.tables.persons import PersonRows
from dpglm.data.tables.source import Source
from dpglm.errors import MethodError
from dpglm.factor_rows import FactorRows, blanked, squares
from dpglm.kept_rows import KeptRows, is_here, lock, of_owner
from dpglm.rows import ROWS, ArrayChunk, Home, Later, LazyChunk, RowChunk
from dpglm.typing import BoolVector, FloatBlock, FloatVector, IntVector

# Numbers that a thread keeps room for, 16 MiB: of 260 columns and the rows of a chunk.
_LARGEST_ROOM: Final = 2**21


class Design:
    """A private table, coded, in chunks of at most 8,000 rows. Only the curator may hold one.

    ``memory_limit`` bounds the bytes of coded rows that stay in memory, None as `KeptRows` has it. Besides,
    memory holds a few chunks, however many rows there are. The source is read once, or at each pass where
    neither memory nor a scratch file takes all rows. ``periods`` say which rows each row of it becomes,
    ``weights`` what each row counts.

    A column that is not declared, or absent from the source, is a SchemaError before any row is read.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpglm.data.formula.parse import parse
    >>> from dpglm.data.tables.sources import open_source
    >>> schema = Schema.of({"age": (20, 80), "ill": ["no", "yes"]})
    >>> frame = pd.DataFrame({"age": [20, 50, None], "ill": ["no", "yes", "yes"]})
    >>> coding = Coding.of(parse("ill ~ age", schema))
    >>> design = Design(open_source(frame), schema, coding, Response.of(schema, "ill", "binary"))
    >>> [(chunk.X.shape, chunk.y) for chunk in design.chunks()]
    [((2, 3), array([0., 1., 0.]))]
    """

    def __init__(
        self,
        source: Source,
        schema: Schema,
        coding: Coding,
        response: Response,
        *,
        periods: PersonPeriods | None = None,
        weights: RowWeights | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self._rows_of, self._schema = PersonRows(source, schema.unit_column), schema
        self._periods, self._weights = periods, weights
        if periods is not None:
            require_one_row(schema.unit_column)
            self._schema = periods.reading(schema)
        if isinstance(source, ClusterSource) and (periods is not None or weights is not None):
            # Where a piece has as many coded rows as rows, and shares of persons alone.
            what = "weights" if periods is None else "Surv(time, event), or an ordinal response,"
            raise MethodError(
                f"{what} on a table that a cluster holds",
                expected="a frame in memory, or files, which are read here",
                remedy="Write the table to Parquet files and give their folder.",
            )
        self._coding, self._response = coding, response
        self._answer = response.name if periods is None else periods.event
        time = () if periods is None else (periods.periods.column,)
        counted = () if weights is None else (weights.column,)
        self._columns = tuple(dict.fromkeys((*coding.columns, response.name, *time, *counted)))
        schema.require(self._columns)
        require_columns((*self._columns, *self._rows_of.columns), source.column_names)
        self._kept = KeptRows(of_owner(self._made), memory_limit, source.kept_bytes)
        self._rows: int | None = None
        self._rooms: threading.local | None = threading.local()

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent: how rows are coded, and none of them."""
        away = dict.fromkeys(("_rows_of", "_kept", "_rows", "_rooms"))
        return {**self.__dict__, **away}

    @property
    def size(self) -> int:
        """Number of coded variables, p. Public."""
        return self._coding.size

    def row_count(self) -> int:
        """Number of rows, usable or not. **Private under add-remove**: it may leave only by a release.

        Under replace-one it is public, unless a person may have several.
        """
        if self._rows is None:
            for chunk in self.chunks():
                _ = is_here(chunk) and chunk.y  # made, and so kept for the next pass
        assert self._rows is not None
        return self._rows

    def chunks(self) -> Iterator[RowChunk]:
        """All rows in order, in chunks of 8,000 rows or fewer; the same at each call."""
        rows = 0
        for chunk in self._kept.chunks():
            rows += chunk.count
            yield chunk
        self._rows = rows  # only a pass that ran to its end tells

    def _made(self) -> Iterator[RowChunk]:
        elsewhere = self._rows_of.coded(self._columns, self._coded_frame)
        if elsewhere is not None:
            yield from elsewhere.chunks()
            return
        for piece, (count, coded) in enumerate(self._coded()):
            for place, first in enumerate(range(0, count, ROWS)):
                made = partial(_at, coded, place)
                yield LazyChunk(min(ROWS, count - first), made, Home(None, piece))

    def _coded(self) -> Iterator[tuple[int, Later[list[RowChunk]]]]:
        """How many rows a frame of the source has, and its chunks, made by the thread that reads them."""
        numeric = self._schema.plain_numbers(self._columns)
        for frame, kept, share in self._rows_of.chunks(self._columns, numeric=numeric):
            # Here and not in a thread: pandas changes the filters of warnings, which all threads share.
            for columns, shares in self._read(frame, kept, share):
                yield len(columns[self._response.name]), Later(partial(self._chunks_of, columns, shares))

    def _coded_frame(self, frame: Any, kept: IntVector | None, share: FloatVector | None) -> list[RowChunk]:
        ((columns, shares),) = self._read(frame, kept, share)  # without periods
        return self._chunks_of(columns, shares)

    def _read(
        self, frame: Any, kept: IntVector | None, share: FloatVector | None
    ) -> Iterator[tuple[Mapping[str, NDArray[Any]], FloatVector | None]]:
        """Columns, read, and shares: of the rows of a frame, or of their periods, with shares alike."""
        columns = self._schema.read(frame, self._columns, kept)
        if self._periods is None:
            yield columns, share
        else:
            yield from self._periods.pieces(within(self._schema.variables, columns))

    def _chunks_of(self, columns: Mapping[str, NDArray[Any]], share: FloatVector | None) -> list[RowChunk]:
        return list(self._encoded(columns, share))

    def _cleaned(
        self, columns: Mapping[str, NDArray[Any]], room: FloatVector | None = None
    ) -> dict[str, NDArray[Any]]:
        # Periods come cleaned.
        cut = self._periods is None
        return within(self._schema.variables, columns, room) if cut else dict(columns)

    def _room(self, size: int) -> FloatVector | None:
        """Where a thread writes the numbers of a part, over those of the part before; None if they are many.

        Fresh pages of memory would cost more than to read a table. Every number is written before it is read,
        and what is kept of a part is none of them: coded rows, responses, offsets and shares are copies.
        """
        if size > _LARGEST_ROOM or self._rooms is None:  # a worker of a cluster has none
            return None
        room: FloatVector | None = getattr(self._rooms, "room", None)
        if room is None or room.size < size:
            room = self._rooms.room = np.empty(size)
        return room

    def _encoded(self, columns: Mapping[str, NDArray[Any]], share: FloatVector | None) -> Iterator[RowChunk]:
        rows = len(columns[self._response.name])
        counts = None
        room = self._room(len(columns) * min(rows, ROWS))
        if self._weights is not None:
            weights = self._cleaned({self._weights.column: columns[self._weights.column]})
            share, counts = self._weights.shares(weights[self._weights.column], share)
        for start in range(0, rows, ROWS):
            part = {name: column[start : start + ROWS] for name, column in columns.items()}
            part = self._cleaned(part, room)
            X, offset, usable = self._coding.encoded(part)
            y, answered = self._response.code(part[self._answer])
            unusable = ~(usable & answered & _bounded(X))
            if counts is not None:
                unusable |= ~counts[start : start + ROWS]
            if offset is not None:
                with np.errstate(all="ignore"):
                    offset = offset / self._response.unit
                unusable |= ~np.isfinite(offset)
            if unusable.any():
                X, y = blanked(X, unusable), blanked(y, unusable)
                offset = None if offset is None else blanked(offset, unusable)
            # Copies: views would keep columns of the whole frame alive.
            shares = None if share is None else share[start : start + ROWS].copy()
            X = X.copy() if isinstance(X, FactorRows) else X
            chunk = ArrayChunk(X, y.copy(), offset, shares, shares)
            lock(chunk)
            yield chunk


def _at(chunks: Later[list[RowChunk]], place: int) -> RowChunk:
    return chunks()[place]


def _bounded(X: FloatBlock | FactorRows) -> BoolVector:
    """Which rows have norm at most 1, judged on the float32 numbers that releases read; NaN is not bounded.

    The coding keeps every row inside. This is what the privacy of a release leans on, so it is looked at too.
    """
    if isinstance(X, FactorRows):
        # A sum of p squares is off by less than (p + 2) 2^-52 of itself.
        return np.asarray(squares(np.ones(X.shape[0]), X) <= 1.0 - (X.shape[0] + 4) * 2.0**-52)
    # A float32 sum of p squares is off by less than p 2^-23 of itself; closer to 1 it is summed in float64.
    bounded: BoolVector = np.einsum("ij,ij->j", X, X) <= 1.0 - (len(X) + 4) * 2.0**-23
    doubtful = np.flatnonzero(~bounded)
    if doubtful.size:
        bounded[doubtful] = np.square(X[:, doubtful], dtype=np.float64).sum(axis=0) <= 1.0
    return bounded
