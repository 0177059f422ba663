"""Which files a table is made of: one, those of a folder or a pattern, or a list of them.

The order of the rows is that of the names of the files, or of the list. Only names are looked at.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias, TypeGuard

from dpglm.data.tables.csv_rows import CsvFile
from dpglm.errors import SchemaError, shown

CSV_ENDS: Final = (".csv.gz", ".csv")
PARQUET_ENDS: Final = (".parquet", ".pq")
DATA_ENDS: Final = (*CSV_ENDS, *PARQUET_ENDS)
_SCHEMA_END: Final = ".schema.yaml"
_PATTERN_MARKS: Final = "*?["
_HIDDEN: Final = ("_", ".")

FilePath: TypeAlias = str | os.PathLike[str]
FilePaths: TypeAlias = FilePath | Sequence[FilePath]


def is_data_file(path: object) -> TypeGuard[FilePath]:
    """Whether a path names a table: by its ending, as a folder, or as a pattern of names."""
    if not isinstance(path, str | os.PathLike):
        return False
    text = os.fspath(path)
    return text.endswith(DATA_ENDS) or os.path.isdir(text) or _is_pattern(text)


def is_paths(data: object) -> TypeGuard[FilePaths]:
    """Whether data are a path, or a list or tuple of nothing but paths."""
    items = data if isinstance(data, list | tuple) else (data,)
    return all(isinstance(item, str | os.PathLike) for item in items)


def table_files(data: FilePaths) -> list[Path | CsvFile]:
    """The files of a table in the order of its rows, all of one kind, each once.

    Parameters
    ----------
    data : path or sequence of paths
        A file, a folder, a pattern such as ``"visits/*.parquet"``, or a list of these. Files of a folder or a
        pattern come in the order of their names, by code points: ``part-10`` before ``part-2``. Names that
        begin with a dot or an underscore, and schemas, are passed over; any other file that is neither CSV
        nor Parquet is refused, and so is a folder within one. A `dpglm.CsvFile` may be any of these.

    Raises
    ------
    SchemaError
        If there is no such file, none at all, another kind, two kinds or decimal marks, or one file twice:
        each row of it would count twice.
    """
    if isinstance(data, str | os.PathLike):
        files = [*_files_at(data)]
    else:
        files = [file for place, path in enumerate(data, 1) for file in _files_at(path, place)]
        if not files:
            raise _nothing("an empty list of files")
    kinds = {Path(file).name.endswith(CSV_ENDS): file for file in reversed(files)}
    if len(kinds) > 1:
        names = " and ".join(Path(file).name for file in kinds.values())
        raise SchemaError(
            f"files of two kinds in one table: {names}",
            expected="either CSV files or Parquet files",
            remedy="Name those of one kind: 'visits/*.parquet'.",
        )
    _require_each_once(files)
    marks = {file.decimal if isinstance(file, CsvFile) else "." for file in files}
    if len(marks) > 1:
        raise SchemaError(
            "CSV files with a decimal point and with a decimal comma in one table",
            expected="one decimal mark",
            remedy="Save the files alike.",
        )
    return files


def file_marks(data: FilePaths) -> list[object]:
    """By what files are known, whatever their names; a file that is gone by now has no mark."""
    return [mark for mark in map(_mark, table_files(data)) if mark is not None]


def schema_beside(data: FilePaths) -> Path | None:
    """Where the schema of files is looked for: ``name.schema.yaml`` beside the file or the folder.

    Of several files it is that of the folder in which all of them are; None where there is no such folder.
    """
    if isinstance(data, str | os.PathLike) and not _is_pattern(os.fspath(data)):
        path, is_folder = Path(data), os.path.isdir(os.fspath(data))
    else:
        folders = {os.path.dirname(os.path.abspath(file)) for file in table_files(data)}
        if len(folders) > 1:
            return None
        path, is_folder = Path(folders.pop()), True
    if is_folder:
        path = Path(os.path.abspath(path))
    known = (end for end in DATA_ENDS if path.name.endswith(end))
    stem = path.name.removesuffix(next(known, "" if is_folder else path.suffix))
    # The name may be empty, which with_name refuses.
    return path.parent / f"{stem}{_SCHEMA_END}" if path.name else None


def _is_pattern(text: str) -> bool:
    """Whether this is a pattern of names; a file of that very name is itself."""
    return any(mark in text for mark in _PATTERN_MARKS) and not os.path.isfile(text)


def _files_at(data: FilePath, place: int | None = None) -> Iterator[Path | CsvFile]:
    """The files that a path stands for; ``place`` is that of an item of a list, whose texts may be cells."""
    text = os.fspath(data)
    if os.path.isfile(text):  # unlike Path.is_file it does not raise on a name that is too long
        paths = [_checked(Path(text))]
    elif os.path.isdir(text):
        paths = _kept(os.path.join(glob.escape(text), "*"))
    elif _is_pattern(text):
        paths = _kept(text)
    else:
        raise SchemaError(
            f"no file {shown(text)}" if place is None else f"a list of files whose item {place} is no file",
            expected="a path to a CSV or Parquet file, to a folder of them, or a pattern of their names",
            remedy="Correct the path.",
        )
    if not paths:
        where = "in the folder" if os.path.isdir(text) else "of the name"
        raise _nothing(f"no file {where} {shown(text)}" if place is None else f"no file at item {place}")
    for path in paths:
        yield replace(data, path=path) if isinstance(data, CsvFile) else path


def _kept(pattern: str) -> list[Path]:
    """The tables of these names, sorted; nothing else is silently left out."""
    found: list[str] = []
    with suppress(OSError, ValueError):  # as if nothing were there
        found = sorted(glob.iglob(pattern, recursive=True))
    kept = []
    for path in map(Path, found):
        if os.path.isdir(path):
            raise SchemaError(
                f"the folder {path.name.partition('=')[0]!r} among the files of a table",
                expected="CSV or Parquet files alone: no column is made of the names of folders",
                remedy="Name the files by a pattern, 'visits/**/*.parquet', or give a dataset of pyarrow.",
            )
        if not path.name.startswith(_HIDDEN) and not path.name.endswith(_SCHEMA_END):
            kept.append(_checked(path))
    return kept


def _checked(path: Path) -> Path:
    if not path.name.endswith(DATA_ENDS):
        raise SchemaError(
            f"the file {path.name!r}",
            expected="a name that ends in .csv, .csv.gz or .parquet",
            remedy="Save the table as CSV or Parquet, or read it into a DataFrame; of a folder with other "
            "files, name those of the table: 'visits/*.parquet'.",
        )
    return path


def _nothing(found: str) -> SchemaError:
    return SchemaError(
        found, expected="at least one CSV or Parquet file, with or without rows", remedy="Correct the path."
    )


def _require_each_once(files: Sequence[FilePath]) -> None:
    """Refuse one file under two names: everybody in it would have each row twice."""
    names: dict[tuple[int, int], str] = {}
    for file in files:
        mark, name = _mark(file), os.path.basename(os.fspath(file))
        if mark in names:
            raise SchemaError(
                f"one file twice in a table, as {names[mark]} and {name}",
                expected="each file once: whose row is read twice is protected half as much",
                remedy="Leave one of them out.",
            )
        if mark is not None:
            names[mark] = name


def _mark(file: FilePath) -> tuple[int, int] | None:
    with suppress(OSError):
        status = os.stat(file)
        return status.st_dev, status.st_ino
    return None
