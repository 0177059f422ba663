"""Columns of a table as numbers in [-1, 1] and codes of levels, in chunks: what sums over columns read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.data.tables.cluster import ElsewhereChunk
from dpglm.data.tables.persons import PersonRows
from dpglm.data.tables.source import Source
from dpglm.rows import ROWS, ArrayChunk, LazyChunk, RowChunk
from dpglm.typing import FloatVector, IntVector


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """The numbers and factors of a table, unread. Only the curator may hold one.

    Parameters
    ----------
    source : Source
    schema : Schema
    numbers, factors : tuple of str
        Columns declared with bounds, and with levels.
    by : str or None
        The factor whose levels are groups; None for one group.

    Raises
    ------
    SchemaError
        If a column is not declared, or declared but absent from the source; before any row is read.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpglm.data.tables.sources import open_source
    >>> schema = Schema.of({"age": (20, 80), "ill": ["no", "yes"]})
    >>> frame = pd.DataFrame({"age": [20, 50, None], "ill": ["no", "yes", "yes"]})
    >>> table = ColumnTable(open_source(frame), schema, ("age",), ("ill",), None)
    >>> next(table.chunks()).X  # group, age, ill
    array([[ 0.,  0.,  0.],
           [-1.,  0., nan],
           [ 0.,  1.,  1.]], dtype=float32)
    """

    source: Source
    schema: Schema
    numbers: tuple[str, ...]
    factors: tuple[str, ...]
    by: str | None
    _rows: int | None = field(default=None, init=False)
    _rows_of: PersonRows = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows_of", PersonRows(self.source, self.schema.unit_column))
        self.schema.require(self._columns)
        require_columns((*self._columns, *self._rows_of.columns), self.source.column_names)

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent: the columns, and none of the rows."""
        return {**self.__dict__, "source": None, "_rows_of": None, "_elsewhere": None}

    @property
    def _columns(self) -> tuple[str, ...]:
        grouping = () if self.by is None else (self.by,)
        return tuple(dict.fromkeys((*grouping, *self.numbers, *self.factors)))

    @property
    def size(self) -> int:
        """Number of columns of a chunk's rows: the group, numbers and factors."""
        return 1 + len(self.numbers) + len(self.factors)

    def row_count(self) -> int:
        """Number of rows. **Private under add-remove**, public under replace-one."""
        if self._rows is None:
            for _ in self.chunks():
                pass
        assert self._rows is not None
        return self._rows

    def chunks(self) -> Iterator[RowChunk]:
        """All rows in order: the group's code, numbers in [-1, 1] or NaN, and codes of levels or -1."""
        elsewhere = self._elsewhere
        if elsewhere is not None:
            yield from elsewhere
            return
        total = 0
        numeric = self.schema.plain_numbers(self.numbers)
        for frame, kept, share in self._rows_of.chunks(self._columns, numeric=numeric):
            # Here and not in a thread: pandas changes the filters of warnings, which all threads share.
            columns = self.schema.clean(frame, self._columns, kept)
            count = len(frame) if kept is None else len(kept)
            total += count
            for first in range(0, count, ROWS):
                part = slice(first, first + ROWS)
                some = {name: values[part] for name, values in columns.items()}
                size, shares = min(ROWS, count - first), None if share is None else share[part]
                yield LazyChunk(size, partial(self._coded, some, shares, size))
        object.__setattr__(self, "_rows", total)  # only a pass that ran to its end knows

    @cached_property
    def _elsewhere(self) -> list[ElsewhereChunk] | None:
        """Chunks that the workers of a cluster hold; None for rows that are here."""
        coded = self._rows_of.coded(self._columns, self._coded_frame)
        if coded is None:
            return None
        chunks = coded.chunks()
        object.__setattr__(self, "_rows", sum(chunk.count for chunk in chunks))
        return chunks

    def _coded_frame(self, frame: Any, kept: IntVector | None, share: FloatVector | None) -> list[RowChunk]:
        columns = self.schema.clean(frame, self._columns, kept)
        return [self._coded(columns, share, len(frame) if kept is None else len(kept))]

    def _coded(self, columns: Mapping[str, NDArray[Any]], share: FloatVector | None, count: int) -> RowChunk:
        group = np.zeros(count) if self.by is None else columns[self.by]
        numbers = [self._on_unit(name, columns[name]) for name in self.numbers]
        rows = [group, *numbers, *(columns[name] for name in self.factors)]
        with np.errstate(all="ignore"):
            X = np.array(rows, dtype=np.float32).reshape(self.size, count)
        return ArrayChunk(X, np.zeros(count), None, share, share)

    def _on_unit(self, name: str, values: FloatVector) -> FloatVector:
        """Values between the bounds on [-1, 1]; halved first, since bounds may be as large as numbers get."""
        variable = self.schema.variables[name]
        assert isinstance(variable, Numeric)
        middle = 0.5 * variable.low + 0.5 * variable.high
        half = max(0.5 * variable.high - 0.5 * variable.low, float(np.finfo(np.float64).tiny))
        with np.errstate(all="ignore"):
            return np.asarray((values - middle) / half)


def may_be_missing(variable: Numeric | Categorical) -> bool:
    """Whether a row may have no value of this column after what the schema says of missing ones."""
    return isinstance(variable.missing, str) and variable.missing == "omit"
