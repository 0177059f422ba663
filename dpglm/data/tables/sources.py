"""Sources of rows: frames in memory, Arrow tables, CSV and Parquet files, with their schemas.

A source knows its column names, which are public, and hands out the rows as often as asked, in the same
order and in chunks of the same size, whatever they came from.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dpglm.data.schema.schema import Declarations, Schema, text_of_name
from dpglm.data.tables.cells import looks_numeric
from dpglm.data.tables.csv_rows import CsvFile, line_chunks, parse_lines, read_header, with_comma
from dpglm.data.tables.dask_frame import DaskSource, client_of_process
from dpglm.data.tables.source import CHUNK_ROWS, Source, frame_of_arrow
from dpglm.data.tables.spark_frame import SparkSource, is_spark_frame
from dpglm.errors import SchemaError, shown

if TYPE_CHECKING:
    import pandas as pd


_Frame = TypeVar("_Frame")
_CSV_ENDS: Final = (".csv.gz", ".csv")
_PARQUET_ENDS: Final = (".parquet", ".pq")
_ATTRIBUTE: Final = "dpglm.schema"  # of a frame that carries its schema


class FrameSource(Source):
    """A frame in memory, with columns of pandas or Arrow; its chunks are views."""

    def __init__(self, frame: pd.DataFrame, *, chunk_rows: int = CHUNK_ROWS) -> None:
        self._frame = frame.copy(deep=False)
        self._frame.attrs = {}  # pandas copies them with every slice
        names: list[Any] = list(frame.columns)
        texts = [text_of_name(name) for name in names]
        if any(text is not name for text, name in zip(texts, names, strict=True)):
            self._frame.columns = names = texts
        self._chunk_rows = chunk_rows
        self.column_names = tuple(name for name in names if isinstance(name, str))

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Slices of the frame, with all its columns."""
        for start in range(0, len(self._frame), self._chunk_rows):
            yield self._frame.iloc[start : start + self._chunk_rows]


class ParquetSource(Source):
    """A Parquet file, decoded a few batches at a time."""

    def __init__(self, path: Path, *, chunk_rows: int = CHUNK_ROWS) -> None:
        import pyarrow.parquet as pq

        self._path, self._chunk_rows = path, chunk_rows
        try:
            self.column_names = tuple(pq.read_schema(path).names)
        except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
            raise _parquet_error(f"the file {path.name}, which cannot be read as Parquet") from error

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Batches of the file as frames of Arrow columns."""
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self._path) as file:
                batches = file.iter_batches(batch_size=self._chunk_rows, columns=list(columns))
                for table in _even(batches, self._chunk_rows):
                    yield frame_of_arrow(table)
        except Exception as error:  # its text may quote a cell, and its traceback must not show it either
            why = f"cannot be read to its end ({type(error).__name__})"
            raise _parquet_error(f"the file {self._path.name}, which {why}") from None


def _parquet_error(found: str) -> SchemaError:
    return SchemaError(
        found,
        expected="a whole Parquet file",
        remedy="Copy the file again from its source, or save the table as CSV.",
    )


class CsvSource(Source):
    """A CSV file, plain or gzipped, with a header line; read in chunks of lines."""

    def __init__(self, file: CsvFile, *, chunk_rows: int = CHUNK_ROWS) -> None:
        self._file, self._chunk_rows = file, chunk_rows
        self._header = read_header(file)
        _require_distinct(self._header, by_position=True)
        self.column_names = tuple(name for name in self._header if name)

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Frames of the columns asked for; a ``numeric`` one is float64 if every field of the chunk is."""
        width, separator, decimal = len(self._header), self._file.separator, self._file.decimal
        spelled = with_comma if decimal == "," else str
        positions = {self._header.index(name): name for name in columns}
        floats = {position for position, name in positions.items() if name in numeric}
        for lines in line_chunks(self._file, self._chunk_rows, width=width):
            try:
                frame = parse_lines(
                    lines, separator, width=width, positions=positions, floats=floats, decimal=decimal
                )
            except ValueError:
                # Some field is not a number. Columns that hold one are read as text from here on: slower, and
                # equal to the last bit.
                frame = parse_lines(lines, separator, width=width, positions=positions, floats=())
                texts = {position: map(spelled, frame[position].dropna().unique()) for position in floats}
                floats = {position for position in floats if all(map(looks_numeric, texts[position]))}
            yield self.respelled(frame.rename(columns=positions), numeric)

    def respelled(self, frame: pd.DataFrame, numeric: Collection[str]) -> pd.DataFrame:
        """The frame with a point in place of the comma in these columns, where they are read as text."""
        if self._file.decimal == ",":
            for name in frame.columns.intersection(list(numeric)):
                if frame[name].dtype != "float64":
                    frame[name] = frame[name].map(with_comma, na_action="ignore")
        return frame


def open_source(data: object) -> Source:
    """Rows of a pandas frame, any Arrow-capable frame, or a CSV or Parquet file.

    Parameters
    ----------
    data : DataFrame, Arrow-capable frame, str or PathLike
        pandas frames are sliced, never copied. Frames that speak Arrow (polars, pyarrow, ``__dataframe__``)
        stay in their memory; a ``RecordBatchReader`` can be read once only and is therefore read here.
        Paths end in ``.csv``, ``.csv.gz`` or ``.parquet`` and are streamed; a `dpglm.CsvFile` is a path with
        a separator and an encoding. What a row of a CSV file is says :mod:`dpglm.data.tables.csv_rows`.

    Raises
    ------
    SchemaError
        If the file does not exist, the kind is not known, or two columns have the same name. Nothing that
        stands in a row is a reason.

    Examples
    --------
    >>> import pandas as pd
    >>> source = open_source(pd.DataFrame({"age": [30, 40], "y": ["no", "yes"]}))
    >>> source.column_names, [len(chunk) for chunk in source.chunks(["age"])]
    (('age', 'y'), [2])
    """
    import pandas as pd

    source: Source
    if isinstance(data, pd.DataFrame):
        source = FrameSource(data)
    elif isinstance(data, str | os.PathLike):
        source = _file_source(data)
    elif type(data).__module__.startswith("dask") and client_of_process() is not None:
        source = DaskSource(data, client_of_process())
    elif is_spark_frame(data):
        source = SparkSource(data)
    else:
        source = FrameSource(_foreign_frame(data))
    _require_distinct(source.column_names)
    return source


def _require_distinct(names: Sequence[str], *, by_position: bool = False) -> None:
    """Refuse repeated names, told by position where they may be a row's values: a file without a header."""
    count = Counter(name for name in names if name)
    positions = {position: name for position, name in enumerate(names, 1) if count[name] > 1}
    if positions:
        repeated = f"named {', '.join(sorted(set(positions.values())))}"
        if by_position:
            repeated = f"of the same name, among columns {', '.join(map(str, [*positions][:20]))}"
        raise SchemaError(
            f"more than one column {repeated}",
            expected="columns with different names",
            remedy="Rename or drop the repeated column; a file without column names needs a line of them.",
        )


def declare(frame: _Frame, schema: Declarations) -> _Frame:
    """The frame with a public schema attached, so that ``dpglm.fit(formula, frame, ...)`` finds it.

    Parameters
    ----------
    frame : pandas.DataFrame
        Not changed: a shallow copy is returned, and copies of that one keep the schema.
    schema : Schema, dict or path
        As :meth:`Schema.of` takes it.

    Raises
    ------
    SchemaError
        If the declaration contradicts itself, or the frame is not a pandas DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = declare(pd.DataFrame({"y": ["no", "yes"]}), {"y": ["no", "yes"]})
    >>> declared(frame).variables["y"].labels
    ('no', 'yes')
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise SchemaError(
            f"a frame of type {type(frame).__name__}",
            expected="a pandas DataFrame, which can carry a schema",
            remedy="Pass schema= to the fit instead.",
        )
    marked = frame.copy(deep=False)
    marked.attrs = {**frame.attrs, _ATTRIBUTE: Schema.of(schema).to_dict()}
    return marked


def declared(frame: object) -> Schema | None:
    """The schema that :func:`declare` attached, or None."""
    attached = getattr(frame, "attrs", None)
    declarations = attached.get(_ATTRIBUTE) if isinstance(attached, Mapping) else None
    return None if declarations is None else Schema.from_dict(declarations)


def is_data_file(path: object) -> bool:
    """Whether a path names a table by its ending."""
    return isinstance(path, str | os.PathLike) and str(path).endswith((*_CSV_ENDS, *_PARQUET_ENDS))


def find_schema(data: object, schema: Declarations | None = None, formula: str | None = None) -> Schema:
    """The schema of a table: the argument, what the frame carries, or ``name.schema.yaml`` beside the file.

    Raises
    ------
    SchemaError
        If there is none; the text is a template with the column names of the table, or of the formula.
    """
    if schema is not None:
        return Schema.of(schema)
    attached = declared(data)
    if attached is not None:
        return attached
    if isinstance(data, str | os.PathLike):
        file = Path(data)
        known = (end for end in (*_CSV_ENDS, *_PARQUET_ENDS) if file.name.endswith(end))
        stem = file.name.removesuffix(next(known, file.suffix))
        sidecar = file.parent / f"{stem}.schema.yaml"  # the name may be empty, which with_name refuses
        if file.name and os.path.isfile(sidecar):  # unlike Path.is_file it takes names that are too long
            return Schema.from_yaml(sidecar)
        action = f"save it as {sidecar.name} beside the file"
    else:
        action = "attach it by dpglm.declare(frame, schema) or pass it as schema="
    raise SchemaError(
        "no schema for this table",
        expected="public bounds or levels of the columns, declared by you; none is ever read off the data",
        remedy=f"Fill in this template for the columns you use, and {action}:\n"
        + Schema.template(open_source(data).column_names, formula=formula),
    )


def _foreign_frame(data: Any) -> pd.DataFrame:
    """The columns of a frame that speaks Arrow, in their memory."""
    import pandas as pd

    table: Any = None
    try:
        if isinstance(data, pd.Series):
            pass  # it speaks Arrow, but is one column
        elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            import pyarrow as pa

            table = pa.table(data)
        elif hasattr(data, "__dataframe__"):
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(data)
    except Exception:  # its text may quote a cell
        table = None
    if table is None:
        raise SchemaError(
            f"data of type {type(data).__name__}",
            expected="a pandas DataFrame, a frame that speaks Arrow (polars), or a path to CSV or Parquet",
            remedy="Convert the table to pandas (a lazy frame: collect() it first), or save it as Parquet.",
        )
    _require_distinct(table.column_names)
    return frame_of_arrow(table)


def _file_source(data: str | os.PathLike[str]) -> Source:
    path = Path(data)
    if not os.path.isfile(path):  # unlike Path.is_file it does not raise on a name that is too long
        raise SchemaError(
            f"no file {shown(str(path))}",
            expected="a path to a CSV or Parquet file",
            remedy="Correct the path.",
        )
    if path.name.endswith(_CSV_ENDS):
        return CsvSource(data if isinstance(data, CsvFile) else CsvFile(path))
    if path.name.endswith(_PARQUET_ENDS):
        return ParquetSource(path)
    raise SchemaError(
        f"the file {path.name!r}",
        expected="a name that ends in .csv, .csv.gz or .parquet",
        remedy="Save the table as CSV or Parquet, or read it into a DataFrame.",
    )


def _even(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Tables of ``rows`` rows, the last one fewer, whatever the sizes of the batches."""
    import pyarrow as pa

    waiting: list[Any] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, rows)
            waiting = table.slice(rows).to_batches()
            count -= rows
    if count:
        yield pa.Table.from_batches(waiting)
