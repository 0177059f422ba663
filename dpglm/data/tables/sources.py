"""Sources of rows: frames in memory, files, queries, with their schemas.

A source knows its column names, which are public, and hands out the rows as often as asked, in the same
order and in chunks of the same size, whatever they came from.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dpglm.data.schema.schema import Declarations, Schema, text_of_name
from dpglm.data.tables.dask_frame import DaskSource, client_of_process, is_dask_frame
from dpglm.data.tables.file_lists import DATA_ENDS, file_marks, is_data_file, is_paths, schema_beside
from dpglm.data.tables.files import open_files
from dpglm.data.tables.queries import is_query, open_query
from dpglm.data.tables.source import CHUNK_ROWS, PiecewiseSource, Source, frame_of_arrow, require_distinct
from dpglm.data.tables.spark_frame import SparkSource, is_spark_frame
from dpglm.errors import SchemaError
from dpglm.kept_rows import BESIDE_SCRATCH

if TYPE_CHECKING:
    import pandas as pd


# What a frame that speaks Arrow can do, and a mapping of tables cannot.
FRAMES: Final = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
_Frame = TypeVar("_Frame")
_ATTRIBUTE: Final = "dpglm.schema"  # of a frame that carries its schema


# Bytes of coded rows that stay in memory beside a frame there, at most.
MOST_BESIDE_FRAME: Final = 2**27


class FrameSource(PiecewiseSource):
    """A frame in memory, with columns of pandas or Arrow; its chunks are views."""

    def __init__(self, frame: pd.DataFrame, *, chunk_rows: int = CHUNK_ROWS) -> None:
        self._frame = frame.copy(deep=False)
        self._frame.attrs = {}  # pandas copies them with every slice
        names: list[Any] = list(frame.columns)
        texts = [text_of_name(name) for name in names]
        if any(text is not name for text, name in zip(texts, names, strict=True)):
            self._frame.columns = names = texts
        self.chunk_rows = chunk_rows
        self.column_names = tuple(name for name in names if isinstance(name, str))
        # Half of what a frame of numbers has itself.
        self.kept_bytes = max(BESIDE_SCRATCH, min(4 * frame.size, MOST_BESIDE_FRAME))

    def frames(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """The frame itself, with all its columns."""
        yield self._frame


def open_source(data: object) -> Source:
    """Rows of a pandas frame, any Arrow-capable frame, files, or a query.

    Parameters
    ----------
    data : DataFrame, Arrow-capable frame, path, list of paths, dataset or query
        pandas frames are sliced, never copied. Frames that speak Arrow (polars, pyarrow, ``__dataframe__``)
        stay in their memory; a ``RecordBatchReader`` can be read once only and is therefore read here.
        Paths end in ``.csv``, ``.csv.gz`` or ``.parquet`` and are streamed; a `dpglm.CsvFile` is a path with
        a separator and an encoding. What a row of a CSV file is says :mod:`dpglm.data.tables.csv_rows`. A
        folder, a pattern or a list of such paths is one table: :mod:`dpglm.data.tables.file_lists`. Datasets
        of Arrow, and queries of polars, DuckDB and dask, run anew at each pass:
        :mod:`dpglm.data.tables.queries`.

    Raises
    ------
    SchemaError
        If a file does not exist or lacks a column of the first one, the kind is not known, or two columns
        have the same name. Nothing that stands in a row is a reason.

    Examples
    --------
    >>> import pandas as pd
    >>> source = open_source(pd.DataFrame({"age": [30, 40], "y": ["no", "yes"]}))
    >>> source.column_names, [len(chunk) for chunk in source.chunks(["age"])]
    (('age', 'y'), [2])
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        source: Source = FrameSource(data)
    elif is_paths(data):
        source = open_files(data)
    elif is_dask_frame(data) and client_of_process() is not None:
        source = DaskSource(data, client_of_process())
    elif is_spark_frame(data):
        source = SparkSource(data)
    else:
        source = open_query(data) or FrameSource(_foreign_frame(data))
    require_distinct(source.column_names)
    return source


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


def is_table(value: object) -> bool:
    """Whether this may be a table: a text that names no file of a known kind may be a cell."""
    import pandas as pd

    if isinstance(value, str):
        return value.endswith(DATA_ENDS) or os.path.isdir(value)
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(is_paths(item) and is_table(item) for item in value)
    if isinstance(value, pd.DataFrame | os.PathLike) or is_query(value) or is_spark_frame(value):
        return True
    return not isinstance(value, pd.Series | type) and any(hasattr(value, name) for name in FRAMES)


def rows_in_memory(data: object) -> int | None:
    """How many rows a frame in memory has; None of files and queries, which would have to be read."""
    import pandas as pd

    known = isinstance(data, pd.DataFrame) or not is_query(data)  # of a query it would run it
    counted = getattr(data, "shape", (None,))[0] if known else None
    return counted if isinstance(counted, int) else None


def require_rows(data: object) -> None:
    """Refuse a frame in memory without rows; only where the number of rows is public may it be asked."""
    if rows_in_memory(data) == 0:
        raise SchemaError(
            "a table without rows",
            expected="one row or more; nothing was charged",
            remedy="Look at the filter or the join that made the table.",
        )


def marks_of(data: object) -> list[object]:
    """What two tables have in common that are one in part: their files, or the object in memory."""
    return file_marks(data) if is_paths(data) else [id(data)]


def find_schema(data: object, schema: Declarations | None = None, formula: str | None = None) -> Schema:
    """The schema of a table: the argument, what the frame carries, or ``name.schema.yaml`` beside the files.

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
    beside = schema_beside(data) if is_paths(data) else None
    action = "attach it by dpglm.declare(frame, schema) or pass it as schema="
    if beside is not None:
        if os.path.isfile(beside):  # unlike Path.is_file it takes names that are too long
            return Schema.from_yaml(beside)
        action = f"save it as {beside.name} beside the data"
    raise SchemaError(
        "no schema for this table",
        expected="public bounds or levels of the columns, declared by you; none is ever read off the data",
        remedy=f"Fill in this template for the columns you use, and {action}:\n"
        + Schema.template(open_source(data).column_names, formula=formula),
    )


def schema_of(declared: Any, formula: str | None = None) -> Schema:
    """A schema in any of its forms, or that of a table; a path is one of a table by its name."""
    plain = isinstance(declared, Schema | Mapping | str | os.PathLike) and not is_data_file(declared)
    return Schema.of(declared) if plain else find_schema(declared, None, formula)


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
            remedy="Convert the table to pandas, or save it as Parquet.",
        )
    require_distinct(table.column_names)
    return frame_of_arrow(table)
