"""Rows of a CSV file: a row is a line, and no line can change how another one is read.

The C parser of pandas reads whole chunks; what a single line could do to its neighbours is repaired before:

* a row is what stands between two line feeds; an empty line is not a row;
* a field may stand in double quotes, doubled inside; in a line whose quotes do not pair (a field that
  spans two lines, an inch sign) the quote characters are dropped;
* a carriage return before the line feed belongs to the line end; NUL becomes the replacement character,
  as do bytes that are not UTF-8;
* fields that a line lacks are missing, fields beyond the header's are ignored;
* an empty field is a missing value, and nothing else is: ``NA`` and ``None`` are texts, which a
  categorical column may have as levels and a numeric column takes for missing.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import numpy as np

from dpglm.data.tables.cells import numbers_of_texts
from dpglm.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

_EMPTY_LINES: Final = (b"\n", b"\r\n", b"\r")  # the last one at the end of the file
_HEADER_BYTES: Final = 2**20
# Lines whose fields are without quotes or in a pair of them: such a line leaves the parser outside of quotes.
_PAIRED: Final = re.compile(rb'(?:(?:[^",\n]*+|"(?:[^"\n]++|"")*+")[,\n])*+')


def read_header(path: Path) -> tuple[str, ...]:
    """Column names in the first line, in order; empty where a column has none.

    A line that holds a number, as the first row of a file without names does, is refused and not shown.
    """
    try:
        with _opened(path) as stream:
            line = stream.readline(_HEADER_BYTES)
    except (EOFError, OSError, zlib.error) as error:
        raise _damage_error(path) from error
    if len(line) >= _HEADER_BYTES:
        raise _header_error("a first line longer than 1 MiB")
    text = line.decode("utf-8-sig", "replace").strip("\r\n")
    if not text:
        raise _header_error("a CSV file whose first line is empty")
    # With carriage returns for line ends the whole file is one line: print nothing of it.
    if "\r" in text:
        raise SchemaError(
            "a carriage return within the first line of the CSV file",
            expected="lines that end in a line feed",
            remedy="Save the file again with line ends of Unix or Windows.",
        )
    try:
        names = tuple(next(csv.reader([text])))
    except csv.Error:
        raise _header_error("a first line that is not CSV, or a name longer than 131072 characters") from None
    # Without a header line the first row would be printed as names: refuse, and print nothing of it.
    if not np.isnan(numbers_of_texts(names)).all():
        raise _header_error("a number in the first line of the CSV file")
    return names


def line_chunks(path: Path, rows: int) -> Iterator[bytes]:
    """Repaired lines after the header, ``rows`` at a time, the last chunk fewer."""
    try:
        with _opened(path) as stream:
            stream.readline(_HEADER_BYTES)
            lines = (line for line in stream if line not in _EMPTY_LINES)
            while chunk := b"".join(itertools.islice(lines, rows)):
                yield _repaired(chunk if chunk.endswith(b"\n") else chunk + b"\n")
    except (EOFError, OSError, zlib.error) as error:
        raise _damage_error(path) from error


def parse_lines(
    lines: bytes, *, width: int, positions: Collection[int], floats: Collection[int]
) -> pd.DataFrame:
    """A frame of the columns at ``positions``, named by these, of repaired lines with ``width`` columns.

    Columns are read as float64 if among ``floats``, otherwise as text (not as categories, whose type pandas
    infers from all of them together). A field of ``floats`` that is not a number is a ValueError, for callers
    inside the room, which then read it as text.
    """
    import pandas as pd

    # A first line with the right number of fields settles the shape before any private line is seen.
    first = b"," * (width - 1) + b"\n"
    frame = pd.read_csv(
        io.BytesIO(first + lines),
        header=None,
        names=range(width),
        index_col=False,
        usecols=sorted(positions),
        dtype={position: "float64" if position in floats else "str" for position in positions},
        keep_default_na=False,
        na_values=[""],
        skip_blank_lines=False,
        lineterminator="\n",
        encoding="utf-8",
        encoding_errors="replace",
        low_memory=False,
    )
    return frame.iloc[1:]


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.endswith(".gz") else path.open("rb")


def _damage_error(path: Path) -> SchemaError:
    return SchemaError(
        f"the file {path.name}, which cannot be read to its end",
        expected="a whole CSV file, plain or compressed by gzip",
        remedy="Copy the file again from its source.",
    )


def _header_error(found: str) -> SchemaError:
    return SchemaError(
        found,
        expected="a line of column names, none of them a number",
        remedy="Let the file begin with a line of column names, separated by commas.",
    )


def _repaired(lines: bytes) -> bytes:
    """Whole lines, changed where a line would reach beyond its end in the parser."""
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n")
    if b"\0" in lines:
        lines = lines.replace(b"\0", "\ufffd".encode())
    if b'"' not in lines or _PAIRED.fullmatch(lines):
        return lines
    each = io.BytesIO(lines)  # splitlines() would take a carriage return for an end
    return b"".join(line if _PAIRED.fullmatch(line) else line.replace(b'"', b"") for line in each)
