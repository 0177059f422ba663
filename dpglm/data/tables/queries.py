"""Tables that are computed when they are read: datasets of Arrow, and queries of polars, DuckDB and dask.

A query runs anew at each pass, and a few chunks of its rows are in memory at a time. Types are told by their
names: none of these packages is imported. What a query does with the rows is its owner's: each row of it must
follow from the rows of one person, and it must give the same rows in the same order each time.
"""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dpglm.data.schema.schema import text_of_name
from dpglm.data.tables.source import JoinedSource, PiecewiseSource, Source, frame_of_arrow
from dpglm.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

_Result = TypeVar("_Result")
# Formats whose files say the types of their columns. Readers of others guess types by the rows.
_TYPED_FORMATS: Final = ("ParquetFileFormat", "IpcFileFormat", "FeatherFileFormat", "OrcFileFormat")


def is_query(data: object) -> bool:
    """Whether data are a dataset or a query, told by the name of the type."""
    return _opener(data) is not None


def open_query(data: object) -> Source | None:
    """The rows of a dataset or query, of which the names of the columns are asked; None for all else.

    Raises
    ------
    SchemaError
        If the names cannot be told, or a dataset has a filter, files without types, one file twice or one
        that lacks a column.
    """
    opener = _opener(data)
    return None if opener is None else opener(data)


def _opener(data: object) -> Callable[[Any], Source] | None:
    openers: dict[tuple[str, str], Callable[[Any], Source]] = {
        ("pyarrow", "Dataset"): _open_dataset,
        ("polars", "LazyFrame"): PolarsSource,
        ("duckdb", "DuckDBPyRelation"): DuckSource,
        ("dask", "DataFrame"): PartitionSource,
    }
    for kind in type(data).__mro__:
        package = kind.__module__.partition(".")[0].removeprefix("_")
        if (package, kind.__name__) in openers:
            return openers[package, kind.__name__]
    return None


class QuerySource(PiecewiseSource):
    """A query, and what becomes of its errors: their texts may quote cells, and so may its warnings."""

    kind: str  # in the words of an error

    def __init__(self, data: Any) -> None:
        self._data = data
        names: list[Any] | None = _attempted(lambda: list(self._names()))
        if names is None:
            raise self._failed("whose columns cannot be told")
        self.column_names = tuple(names)

    def frames(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """All rows of a run of the query."""
        parts = self._frames(tuple(columns))
        while (part := _attempted(lambda: (next(parts, None),))) is not None:
            (frame,) = part
            if frame is None:
                return
            yield frame
        raise self._failed("which failed while it was read")

    @abstractmethod
    def _names(self) -> Sequence[str]: ...
    @abstractmethod
    def _frames(self, columns: tuple[str, ...]) -> Iterator[pd.DataFrame]: ...

    def _failed(self, what: str) -> SchemaError:
        return SchemaError(
            f"{self.kind}, {what}",
            expected="a query that can be run again and again, whatever stands in its rows",
            remedy="Run it by itself, away from analysts: its own message says more and may quote a cell.",
        )


class PolarsSource(QuerySource):
    """A lazy frame of polars, collected in batches."""

    kind = "a LazyFrame"

    def _names(self) -> Sequence[str]:
        names: list[str] = self._data.collect_schema().names()
        return names

    def _frames(self, columns: tuple[str, ...]) -> Iterator[pd.DataFrame]:
        import pyarrow as pa

        query = self._data
        if not any(name == "*" or name.startswith("^") for name in columns):  # patterns, to polars
            query = query.select(columns)
        if hasattr(query, "collect_batches"):
            batches = query.collect_batches(chunk_size=self.chunk_rows, maintain_order=True, lazy=True)
        else:  # older than batches
            batches = [query.collect()]
        for batch in batches:
            yield frame_of_arrow(pa.table(batch))


class DuckSource(QuerySource):
    """A relation of DuckDB, whose connection gives one result at a time."""

    kind = "a relation of DuckDB"

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self._open: _Batches | None = None

    def _names(self) -> Sequence[str]:
        names: list[str] = self._data.columns
        self._data.limit(0).fetchall()  # no row, but a closed or busy connection is found before a charge
        return names

    def _frames(self, columns: tuple[str, ...]) -> Iterator[pd.DataFrame]:
        import pyarrow as pa

        if self._open is not None:  # two passes side by side: the first one is finished in memory
            self._open.keep()
        quoted = (name.replace('"', '""') for name in columns)
        query = self._data.project(", ".join(f'"{name}"' for name in quoted))
        reading = self._open = _Batches(pa.RecordBatchReader.from_stream(query))
        try:
            for batch in reading:
                yield frame_of_arrow(batch)
        finally:
            reading.close()
            if self._open is reading:
                self._open = None


class _Batches:
    """Batches of a reader, which can be read to its end before they are asked for."""

    def __init__(self, reader: Any) -> None:
        self._reader: Any = reader
        self._kept: deque[Any] = deque()

    def __iter__(self) -> Iterator[Any]:
        while self._kept or self._reader is not None:
            batch = self._kept.popleft() if self._kept else next(self._reader, None)
            if batch is None:
                return
            yield batch

    def keep(self) -> None:
        """Read what is left."""
        if self._reader is not None:
            self._kept.extend(self._reader)
        self.close()

    def close(self) -> None:
        """Let go of the reader, and so of the connection."""
        self._reader = None


class PartitionSource(QuerySource):
    """A frame of dask, whose partitions are computed one by one in this thread, without a cluster."""

    kind = "a frame of dask"

    def _names(self) -> Sequence[str]:
        self._own = {text_of_name(name): name for name in self._data.columns}
        return [name for name in map(text_of_name, self._data.columns) if isinstance(name, str)]

    def _frames(self, columns: tuple[str, ...]) -> Iterator[pd.DataFrame]:
        query = self._data[[self._own[name] for name in columns]]
        for place in range(query.npartitions):
            frame = query.get_partition(place).compute(scheduler="synchronous")
            yield frame.set_axis(list(columns), axis="columns")


class DatasetSource(QuerySource):
    """A dataset of Arrow in memory, or one file of a dataset by the types that are stored there.

    Under the types of the whole dataset, whether a cell can be converted would decide about an error.
    """

    kind = "a dataset"

    def __init__(self, data: Any, *, name: str = "", keys: Sequence[Any] = ()) -> None:
        self.kind = name or self.kind
        self._keys = keys  # fields whose value is in the path of the file
        super().__init__(data)

    def _names(self) -> Sequence[str]:
        self._schema = getattr(self._data, "physical_schema", None)
        if self._schema is not None:
            for field in self._keys:
                if field.name not in self._schema.names:
                    self._schema = self._schema.append(field)
        names: list[str] = (self._schema or self._data.schema).names
        return names

    def _frames(self, columns: tuple[str, ...]) -> Iterator[pd.DataFrame]:
        types = {} if self._schema is None else {"schema": self._schema}
        for batch in self._data.to_batches(
            columns=list(columns), batch_size=self.chunk_rows, batch_readahead=2, **types
        ):
            yield frame_of_arrow(batch)


def _open_dataset(data: Any) -> Source:
    """The files of a dataset, one below the other."""
    import pyarrow.dataset as arrow

    files: list[Any] | None = _attempted(lambda: list(data.get_fragments()))
    if files is None:
        raise SchemaError(
            "a dataset with a filter",
            expected="a dataset whose files are read as they are",
            remedy="Filter it by a query of polars or DuckDB, or save the rows that you need.",
        )
    if isinstance(data, arrow.InMemoryDataset):  # how many pieces it has may follow from its rows
        return DatasetSource(data)
    parts: list[tuple[str, PiecewiseSource]] = []
    paths: set[str] = set()
    for file in files:
        kind = type(getattr(file, "format", None)).__name__
        if kind not in _TYPED_FORMATS:
            raise SchemaError(
                "a dataset whose files do not store the types of their columns",
                expected="Parquet files: of others Arrow guesses types by some rows, and fails at the rest",
                remedy="Give the paths of CSV files themselves, as a folder or a list.",
            )
        name = f"the file {os.path.basename(file.path)} of a dataset"
        if file.path in paths:
            raise SchemaError(
                f"{name}, which is there twice",
                expected="each file once: whose row is read twice is protected half as much",
                remedy="Leave one of them out.",
            )
        paths.add(file.path)
        keys = arrow.get_partition_keys(file.partition_expression)
        part = DatasetSource(file, name=name, keys=[field for field in data.schema if field.name in keys])
        parts.append((name, part))
    if not parts:
        raise SchemaError(
            "a dataset without files", expected="at least one file", remedy="Correct the path of the dataset."
        )
    return JoinedSource(parts)


def _attempted(action: Callable[[], _Result]) -> _Result | None:
    """What the action gives, or None where it fails; it warns of nothing, since that may quote a cell.

    The panics of polars are no Exceptions; those that end the program or the reading go on.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        return None
