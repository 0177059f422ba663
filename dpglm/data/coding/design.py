"""Design: coded rows and responses in chunks, which a release may read, and the public model behind them.

The chunks are float32, which *is* the design: the coding is row-wise and public, so rounding it changes no
privacy argument. They stay in memory while they fit, and are coded again at each pass otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.geometry import SHORTEST
from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.schema.variables import Categorical
from dpglm.data.tables.persons import PersonRows
from dpglm.data.tables.source import Source
from dpglm.errors import SchemaError
from dpglm.glm.families.base import ResponseKind
from dpglm.rows import ArrayChunk, Home, Later, LazyChunk, RowChunk
from dpglm.typing import BoolVector, FloatBlock, FloatVector, IntVector

_CHUNK_ROWS: Final = 2000  # a solver reads a chunk from one stretch of memory, in its cache
_ENCODED_ROWS: Final = 4 * _CHUNK_ROWS  # coded at once: few calls


@dataclass(frozen=True)
class Response:
    """The response of a model: which of two levels is a success, a number between bounds, or a count.

    A response y stands for ``shift + unit * coded``: fitted values go back to the user's scale that way.

    Parameters
    ----------
    name : str
        Column of the response.
    low, high : float
        Declared bounds, in units of the response; 0 and 1 for two levels.
    shift, unit : float
        The coded response is ``(y - shift) / unit``.
    coded_bounds : tuple of two float
        Bounds of the coded response.
    levels : tuple of two str, or None
        Failure, success; None for a number.

    Examples
    --------
    >>> schema = Schema.of({"affair": ["no", "yes"], "hours": (0, 80)})
    >>> response = Response.of(schema, "affair", "binary")
    >>> response.levels
    ('no', 'yes')
    >>> response.code(np.array([1, 0, -1]))
    (array([1., 0., 0.]), array([ True,  True, False]))
    >>> Response.of(schema, "hours", "number").code(np.array([0.0, 50.0, np.nan]))
    (array([-1.  ,  0.25,  0.  ]), array([ True,  True, False]))
    >>> Response.of(schema, "hours", "count").code(np.array([3.0, 90.0, np.nan]))
    (array([ 3., 80.,  0.]), array([ True,  True, False]))
    """

    name: str
    low: float
    high: float
    shift: float
    unit: float
    coded_bounds: tuple[float, float]
    levels: tuple[str, str] | None = None

    @classmethod
    def of(cls, schema: Schema, name: str, kind: ResponseKind, *, centred: bool = True) -> Response:
        """The response that the schema declares under ``name``, as a family of this kind needs it.

        A ``"binary"`` response needs two levels, a ``"number"`` bounds, and a ``"count"``, which stays in its
        own units, bounds from 0. ``centred`` subtracts the middle of a number's bounds, which a model with a
        constant gives back; otherwise a number is only divided by its largest absolute value. The square of
        what it is divided by must be a number, too.

        Raises
        ------
        SchemaError
            If the column is not declared, or not as this kind needs it.
        """
        schema.require([name])
        variable = schema.variables[name]
        if isinstance(variable, Categorical):
            if kind == "binary" and len(variable.levels) == 2:
                failure, success = variable.labels
                return cls(name, 0.0, 1.0, 0.0, 1.0, (0.0, 1.0), (failure, success))
            declared = f"{len(variable.levels)} levels"
        else:
            low, high = variable.low, variable.high
            if kind == "number":  # halved first: bounds may be as large as numbers get
                shift = 0.5 * low + 0.5 * high if centred else 0.0
                unit = 0.5 * high - 0.5 * low if centred else max(abs(low), abs(high))
                if SHORTEST <= unit <= 1.0 / SHORTEST:
                    return cls(name, low, high, shift, unit, (-1.0, 1.0))
            if kind == "count" and low == 0.0 and 1e-100 <= high <= 1e100:
                return cls(name, 0.0, high, 0.0, 1.0, (0.0, high))
            declared = f"bounds from {low:g} to {high:g}"
        expected, form, otherwise = _NEEDED[kind]
        raise SchemaError(
            f"the response {name} declared with {declared}",
            expected=expected,
            remedy=f"Write in the schema:\n  {name}: {{{form}}}\n{otherwise}",
        )

    def code(self, column: NDArray[Any]) -> tuple[FloatVector, BoolVector]:
        """Coded response and the mask of rows that have one, shapes (k,), from a cleaned column.

        The response lies within ``coded_bounds`` and is 0 in rows that cannot be used.
        """
        if self.levels:
            return (column == 1).astype(np.float64), column >= 0
        usable: BoolVector = np.isfinite(column)
        with np.errstate(all="ignore"):
            coded = np.where(usable, (column - self.shift) / self.unit, 0.0)
        return np.clip(coded, *self.coded_bounds), usable


# What a response of each kind needs, how that is written, and what else can be done.
_NEEDED: Final[dict[ResponseKind, tuple[str, str, str]]] = {
    "binary": (
        "two levels; the model gives the probability of the second one",
        "levels: [FAILURE, SUCCESS]",
        "with the two values as they stand in the data. If there is no such column, derive one first.",
    ),
    "number": (
        f"bounds {SHORTEST:g} to {1.0 / SHORTEST:g} apart, because this family has a numeric response",
        "bounds: [LOW, HIGH]",
        "or use family='binomial' for a response with two levels.",
    ),
    "count": (
        "bounds from 0 to the largest count that is distinguished",
        "bounds: [0, LARGEST]",
        "or use another family for a response that is not a count.",
    ),
}


class Design:
    """A private table, coded, in chunks of at most 2,000 rows. Only the curator may hold one.

    ``memory_limit`` bounds the bytes of coded rows that stay in memory. A larger table is read and coded
    again at each pass, and memory holds a few chunks however many rows there are.

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
        self, source: Source, schema: Schema, coding: Coding, response: Response, *, memory_limit: int = 2**29
    ) -> None:
        self._rows_of, self._schema = PersonRows(source, schema.unit_column), schema
        self._coding, self._response = coding, response
        self._memory_limit = memory_limit
        self._columns = tuple(dict.fromkeys((*coding.columns, response.name)))
        schema.require(self._columns)
        require_columns((*self._columns, *self._rows_of.columns), source.column_names)
        self._in_memory: list[RowChunk] | None = None
        self._rows: int | None = None

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent: how rows are coded, and none of them."""
        away = dict.fromkeys(("_rows_of", "_in_memory", "_rows"))
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
                _ = chunk.y  # made at once: what waits would hold all of the source
        assert self._rows is not None
        return self._rows

    def chunks(self) -> Iterator[RowChunk]:
        """All rows in order, in chunks of 2,000 rows or fewer; the same at each call."""
        if self._in_memory is not None:
            yield from self._in_memory
            return
        elsewhere = self._rows_of.coded(self._columns, self._coded_frame)
        if elsewhere is not None:
            self._in_memory = [*elsewhere.chunks()]
            self._rows = sum(chunk.count for chunk in self._in_memory)
            yield from self._in_memory
            return
        held: list[RowChunk] | None = []
        room, rows = self._memory_limit, 0
        for piece, (count, coded) in enumerate(self._coded()):
            for place, first in enumerate(range(0, count, _CHUNK_ROWS)):
                made = partial(_at, coded, place)
                chunk = LazyChunk(min(_CHUNK_ROWS, count - first), made, Home(None, piece))
                rows += chunk.count
                room -= chunk.count * self._row_bytes
                if room < 0:
                    held = None
                elif held is not None:
                    held.append(chunk)
                yield chunk
        # Only a pass that ran to its end says how many rows there are.
        self._rows, self._in_memory = rows, held

    @property
    def _row_bytes(self) -> int:
        """Bytes of a coded row, its response, offset and share."""
        return 4 * self.size + 24

    def _coded(self) -> Iterator[tuple[int, Later[list[RowChunk]]]]:
        """How many rows a frame of the source has, and its chunks, made by the thread that reads them."""
        numeric = self._schema.plain_numbers(self._columns)
        for frame, kept, share in self._rows_of.chunks(self._columns, numeric=numeric):
            # Here and not in a thread: pandas changes the filters of warnings, which all threads share.
            columns = self._schema.clean(frame, self._columns, kept)
            count = len(frame) if kept is None else len(kept)
            yield count, Later(partial(self._chunks_of, columns, share))

    def _coded_frame(self, frame: Any, kept: IntVector | None, share: FloatVector | None) -> list[RowChunk]:
        return self._chunks_of(self._schema.clean(frame, self._columns, kept), share)

    def _chunks_of(self, columns: Mapping[str, NDArray[Any]], share: FloatVector | None) -> list[RowChunk]:
        return list(self._encoded(columns, share))

    def _encoded(self, columns: Mapping[str, NDArray[Any]], share: FloatVector | None) -> Iterator[RowChunk]:
        rows = len(columns[self._response.name])
        for start in range(0, rows, _ENCODED_ROWS):
            part = {name: column[start : start + _ENCODED_ROWS] for name, column in columns.items()}
            X, offset, usable = self._coding.encode(part)
            y, answered = self._response.code(part[self._response.name])
            unusable = ~(usable & answered & _bounded(X))
            if offset is not None:
                with np.errstate(all="ignore"):
                    offset = offset / self._response.unit
                unusable |= ~np.isfinite(offset)
            if unusable.any():
                X, y = _blanked(X, unusable), _blanked(y, unusable)
                offset = None if offset is None else _blanked(offset, unusable)
            for first in range(0, len(y), _CHUNK_ROWS):
                rows_of = slice(first, first + _CHUNK_ROWS)
                # Copies: a view would keep the larger array alive, and rows of a chunk lie side by side.
                shares = None if share is None else share[start:][rows_of].copy()
                offsets = None if offset is None else offset[rows_of].copy()
                chunk = ArrayChunk(X[:, rows_of].copy(), y[rows_of].copy(), offsets, shares, shares)
                for array in (chunk.X, chunk.y, offsets, shares):
                    if array is not None:
                        array.flags.writeable = False
                yield chunk


def _at(chunks: Later[list[RowChunk]], place: int) -> RowChunk:
    return chunks()[place]


def _bounded(X: FloatBlock) -> BoolVector:
    """Which rows have norm at most 1, judged on the float32 numbers that releases read; NaN is not bounded.

    The coding keeps every row inside. This is what the privacy of a release leans on, so it is looked at too.
    """
    # A float32 sum of p squares is off by less than p 2^-23 of itself; closer to 1 it is summed in float64.
    bounded: BoolVector = np.einsum("ij,ij->j", X, X) <= 1.0 - (len(X) + 4) * 2.0**-23
    doubtful = np.flatnonzero(~bounded)
    if doubtful.size:
        bounded[doubtful] = np.square(X[:, doubtful], dtype=np.float64).sum(axis=0) <= 1.0
    return bounded


def _blanked(values: NDArray[Any], unusable: BoolVector) -> NDArray[Any]:
    """A copy, with zeros in rows that cannot be used."""
    values = values.copy()
    values[..., np.flatnonzero(unusable)] = 0.0
    return values
