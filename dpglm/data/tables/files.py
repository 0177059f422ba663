"""CSV and Parquet files as sources of rows, which are read again at each pass, a few chunks at a time."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dpglm.data.tables import source
from dpglm.data.tables.csv_rows import CsvFile, line_chunks, parse_lines, read_header, with_comma
from dpglm.data.tables.file_lists import CSV_ENDS, FilePaths, table_files
from dpglm.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd


def open_files(data: FilePaths) -> source.Source:
    """The rows of one file, or of several as one table; see `table_files`.

    Raises
    ------
    SchemaError
        If one of them cannot be opened, or lacks a column that the first one has; before a row is read.
    """
    parts: list[FileSource] = []
    for file in table_files(data):
        if Path(file).name.endswith(CSV_ENDS):
            parts.append(CsvSource(file if isinstance(file, CsvFile) else CsvFile(file)))
        else:
            parts.append(ParquetSource(Path(file)))
    return (
        parts[0]
        if len(parts) == 1
        else source.JoinedSource([(f"the file {part.name}", part) for part in parts])
    )


class FileSource(source.PiecewiseSource):
    """A file that stays as it is while it is read again and again.

    Raises
    ------
    SchemaError
        At a pass, where its size or the time of its last change is another one than when it was opened.
    """

    def __init__(self, path: Path, *, chunk_rows: int = source.CHUNK_ROWS) -> None:
        self._path, self.chunk_rows = path, chunk_rows
        self._state = self._state_now()

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self._path.name

    def frames(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """All rows, of a file that was the same before and after."""
        self._require_unchanged()
        yield from self._frames(columns, numeric)
        self._require_unchanged()

    @abstractmethod
    def _frames(self, columns: Sequence[str], numeric: Collection[str]) -> Iterator[pd.DataFrame]: ...

    def _state_now(self) -> tuple[int, int] | None:
        with suppress(OSError):
            status = os.stat(self._path)
            return status.st_size, status.st_mtime_ns
        return None

    def _require_unchanged(self) -> None:
        state = self._state_now()
        if state is None or state != self._state:
            what = "is no longer there" if state is None else "has changed since it was opened"
            raise SchemaError(
                f"the file {self.name}, which {what}",
                expected="a file that stays as it is while it is read, which is more than once",
                remedy="Use a copy that nobody changes.",
            )


class ParquetSource(FileSource):
    """A Parquet file, decoded a few batches at a time."""

    def __init__(self, path: Path, *, chunk_rows: int = source.CHUNK_ROWS) -> None:
        import pyarrow.parquet as pq

        super().__init__(path, chunk_rows=chunk_rows)
        names = None
        with suppress(OSError, ValueError):  # pyarrow's errors are ValueErrors
            names = pq.read_schema(path).names
        if names is None:
            raise _parquet_error(f"the file {path.name}, which cannot be read as Parquet")
        self.column_names = tuple(names)
        source.require_distinct(self.column_names)

    def _frames(self, columns: Sequence[str], numeric: Collection[str]) -> Iterator[pd.DataFrame]:
        """Batches of the file as frames of Arrow columns."""
        import pyarrow.parquet as pq

        failure = ""
        try:
            # Read as it is decoded: by default the whole file would be in memory first.
            with pq.ParquetFile(self._path, pre_buffer=False, buffer_size=2**18) as file:
                for batch in file.iter_batches(batch_size=self.chunk_rows, columns=list(columns)):
                    yield source.frame_of_arrow(batch)
        except Exception as error:  # its text may quote a cell, and its traceback must not show it either
            failure = type(error).__name__
        if failure:
            raise _parquet_error(f"the file {self.name}, which cannot be read to its end ({failure})")


def _parquet_error(found: str) -> SchemaError:
    return SchemaError(
        found,
        expected="a whole Parquet file",
        remedy="Copy the file again from its source, or save the table as CSV.",
    )


class CsvSource(FileSource):
    """A CSV file, plain or gzipped, with a header line; read in chunks of lines."""

    def __init__(self, file: CsvFile, *, chunk_rows: int = source.CHUNK_ROWS) -> None:
        super().__init__(Path(file), chunk_rows=chunk_rows)
        self._file = file
        self._header = read_header(file)
        source.require_distinct(self._header, of_file=self.name)
        self.column_names = tuple(name for name in self._header if name)

    def _frames(self, columns: Sequence[str], numeric: Collection[str]) -> Iterator[pd.DataFrame]:
        """Frames of the columns asked for; a ``numeric`` one is float64 if every field of the chunk is."""
        width = len(self._header)
        positions = {self._header.index(name): name for name in columns}
        floats = {position for position, name in positions.items() if name in numeric}
        for lines in line_chunks(self._file, self.chunk_rows, width=width):
            frame = parse_lines(lines, self._file, width=width, positions=positions, floats=floats)
            yield self._respelled(frame.rename(columns=positions), numeric)

    def respelled(self, chunk: source.Chunk, numeric: Collection[str]) -> source.Chunk:
        """The chunk with a point in place of the comma in these columns, where they are read as text."""
        if isinstance(chunk, source.Stacked):
            return source.Stacked(tuple(self._respelled(frame, numeric) for frame in chunk.frames))
        return self._respelled(chunk, numeric)

    def _respelled(self, frame: pd.DataFrame, numeric: Collection[str]) -> pd.DataFrame:
        if self._file.decimal == ",":
            for name in frame.columns.intersection(list(numeric)):
                if frame[name].dtype != "float64":
                    frame = frame.assign(**{name: frame[name].map(with_comma, na_action="ignore")})
        return frame
