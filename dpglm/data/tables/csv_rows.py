"""Rows of a CSV file: a row is a line, and no line can change how another one is read.

Arrow's parser reads whole chunks, or that of pandas, which takes more kinds of lines; what a single line
could do to its neighbours is repaired before:

* a row is what stands between two line feeds; an empty line is not a row, unless the file has one column,
  of which it is an empty field: the number of rows does not depend on what a cell holds;
* a field may stand in double quotes, doubled inside; in a line whose quotes do not pair (a field that
  spans two lines, an inch sign) the quote characters are dropped;
* a carriage return before the line feed belongs to the line end; NUL becomes the replacement character,
  as do bytes that are not UTF-8;
* fields that a line lacks are missing, fields beyond the header's are ignored;
* an empty field is a missing value, and nothing else is: ``NA`` and ``None`` are texts, which a
  categorical column may have as levels and a numeric column takes for missing.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np

from dpglm.data.schema.dates import DateReading
from dpglm.data.schema.readings import NumberReading
from dpglm.data.tables.cells import numbers_of_texts
from dpglm.errors import SchemaError, shown
from dpglm.typing import FloatVector, IntVector

if TYPE_CHECKING:
    import pandas as pd

_EMPTY_LINES: Final = (b"\n", b"\r\n", b"\r")  # the last one at the end of the file
_HEADER_BYTES: Final = 2**20
# Bytes that are read at a time.
_BLOCK: Final = 2**20
_LINE_FEED: Final = 10
_SEPARATORS: Final = (",", ";", "\t", "|")
# One byte is one letter there, and those of ASCII are what they are: no byte can change how another is read.
_ENCODINGS: Final = ("utf-8", "iso8859-1", "iso8859-15", "cp1252", "cp850", "mac-roman", "koi8-r", "cp1251")
# What no column is called, and cells are: 1'000, 31.03.2015, 12:30, 5%; and times as ISO 8601 writes them.
_DIGITS_ALONE: Final = re.compile(r"[\W_]*\d[\W\d_]*")
_ANY_TIME: Final = DateReading("1970-01-01", zone="UTC")
# Lines whose fields are without quotes or in a pair of them: such a line leaves the parser outside of quotes.
_PAIRED: Final = {
    separator: re.compile(
        rb'(?:(?:[^"%b\n]*+|"(?:[^"\n]++|"")*+")[%b\n])*+' % ((re.escape(separator.encode()),) * 2)
    )
    for separator in _SEPARATORS
}


@dataclass(frozen=True)
class CsvFile(os.PathLike[str]):
    """A CSV file that is not comma-separated UTF-8; a path like any other, which fits and profiles take.

    Parameters
    ----------
    path : str or PathLike
        Ends in ``.csv`` or ``.csv.gz``.
    separator : {",", ";", "\\t", "|"}
        What stands between fields.
    encoding : str
        UTF-8, or an encoding of one byte a letter: Latin-1, Latin-9, Windows-1252, and others of that kind.
    decimal : {".", ","}
        The decimal mark of the file: of all columns that are declared with bounds, but for those that declare
        marks of their own or dates.

    Raises
    ------
    SchemaError
        Another separator or mark, one for both, or an encoding in which a byte may change how another one is
        read.

    Examples
    --------
    >>> CsvFile("visits.csv", separator=";", encoding="latin-1").encoding
    'iso8859-1'
    """

    path: str | os.PathLike[str]
    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise SchemaError(
                f"a CSV file of type {type(self.path).__name__}",
                expected="a path",
                remedy='Write CsvFile("visits.csv", separator=";").',
            )
        if self.separator not in _SEPARATORS:
            raise SchemaError(
                f"separator={shown(self.separator)}",
                expected="a comma, a semicolon, a tab or a vertical bar",
                remedy="Use one of these, or save the file again.",
            )
        mark: object = self.decimal
        if not isinstance(mark, str) or mark not in (".", ",") or mark == self.separator:
            raise SchemaError(
                f"decimal={shown(self.decimal)} beside separator={shown(self.separator)}",
                expected="a point, or a comma where no comma separates fields",
                remedy='Write CsvFile("visits.csv", separator=";", decimal=",").',
            )
        try:
            name = codecs.lookup(self.encoding).name
        except (LookupError, TypeError, ValueError):
            name = ""
        if name not in _ENCODINGS:
            raise SchemaError(
                f"encoding={shown(self.encoding)}",
                expected=f"one of {', '.join(_ENCODINGS)}",
                remedy="Save the file as UTF-8.",
            )
        object.__setattr__(self, "encoding", name)

    def __fspath__(self) -> str:
        return os.fspath(self.path)


def read_header(file: CsvFile) -> tuple[str, ...]:
    """Column names in the first line, in order; empty where a column has none.

    A line that holds a number, a date or digits without a letter, as the first row of a file without names
    does, is refused and not shown.
    """
    path = Path(file)
    try:
        with _opened(path) as stream:
            line = stream.readline(_HEADER_BYTES)
    except (EOFError, OSError, zlib.error):
        line = None
    if line is None:  # what the system says may quote bytes or a checksum of the file
        raise _damage_error(path)
    if len(line) >= _HEADER_BYTES:
        raise _header_error(f"the CSV file {path.name}, whose first line is longer than 1 MiB")
    codec = "utf-8-sig" if file.encoding == "utf-8" else file.encoding
    text = line.decode(codec, "replace").strip("\r\n")
    if not text:
        raise _header_error(f"the CSV file {path.name}, whose first line is empty")
    # With carriage returns for line ends the whole file is one line: print nothing of it.
    if "\r" in text:
        raise SchemaError(
            f"a carriage return within the first line of the CSV file {path.name}",
            expected="lines that end in a line feed",
            remedy="Save the file again with line ends of Unix or Windows.",
        )
    names: tuple[str, ...] = ()
    with suppress(csv.Error):
        names = tuple(next(csv.reader([text], delimiter=file.separator)))
    if not names:
        why = "is not CSV, or has a name longer than 131072 characters"
        raise _header_error(f"the CSV file {path.name}, whose first line {why}")
    # Without a header line the first row would be printed as names: refuse, and print nothing of it.
    spelled = [*names, *map(with_comma, names)]
    numbers = [*numbers_of_texts(spelled), *_ANY_TIME.numbers(names)]
    if not np.isnan(numbers).all() or any(_DIGITS_ALONE.fullmatch(name) for name in names):
        raise _header_error(f"a number or a date in the first line of the CSV file {path.name}")
    return names


def line_chunks(file: CsvFile, rows: int, *, width: int) -> Iterator[bytes]:
    """Repaired lines after the header in UTF-8, ``rows`` at a time, the last chunk fewer.

    ``width`` is the number of columns.
    """
    path, damaged = Path(file), False
    try:
        with _opened(path) as stream:
            stream.readline(_HEADER_BYTES)
            for chunk in _cut(stream, rows, empty=width == 1):
                if file.encoding != "utf-8":
                    chunk = chunk.decode(file.encoding, "replace").encode()
                yield _repaired(chunk if chunk.endswith(b"\n") else chunk + b"\n", file.separator)
    except (EOFError, OSError, zlib.error):
        damaged = True
    if damaged:
        raise _damage_error(path)


def _cut(stream: BinaryIO, rows: int, *, empty: bool) -> Iterator[bytes]:
    """The lines of a stream, ``rows`` at a time, each with its end; those that are ``empty`` if asked for."""
    taken: list[bytes] = []  # whole lines of the next chunk, and how many it still lacks
    lacking = rows
    begun: list[bytes] = []  # pieces of a line
    while block := stream.read(_BLOCK):
        cut = block.rfind(b"\n") + 1
        begun.append(block[:cut] if cut else block)
        if not cut:
            continue
        lines, begun = b"".join(begun), [block[cut:]]
        ends = _ends(lines)
        if not empty and np.diff(ends, prepend=0).min() <= 2:  # perhaps an empty one
            lines = b"".join(line for line in io.BytesIO(lines) if line not in _EMPTY_LINES)
            ends = _ends(lines)
        first = start = 0
        while len(ends) - first >= lacking:
            first += lacking
            end = int(ends[first - 1])
            yield b"".join([*taken, lines[start:end]])
            start, taken, lacking = end, [], rows
        taken.append(lines[start:])
        lacking -= len(ends) - first
    last = b"".join(begun)
    if empty or last not in _EMPTY_LINES:
        taken.append(last)
    if chunk := b"".join(taken):
        yield chunk


def _ends(lines: bytes) -> IntVector:
    """Where each line ends, its line feed included."""
    return np.flatnonzero(np.frombuffer(lines, dtype=np.uint8) == _LINE_FEED) + 1


def with_comma(text: str) -> str:
    """A number with a decimal comma in the spelling of program code; of other texts one that spells none."""
    return NumberReading(",", "", (), infinite=False).respelled(text)


def parse_lines(
    lines: bytes, file: CsvFile, *, width: int, positions: Collection[int], floats: Collection[int]
) -> pd.DataFrame:
    """A frame of the columns at ``positions``, named by these, of repaired lines with ``width`` columns.

    Those among ``floats`` are float64 where every field is a number, and all others text.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv as arrow

    header, table = list(map(str, range(width))), None
    names = [header[at] for at in sorted(positions)]
    if b"\r" not in lines:  # to Arrow it ends a line
        # Arrow drops one such mark at the start of what it reads.
        marked = codecs.BOM_UTF8 + lines if lines.startswith(codecs.BOM_UTF8) else lines
        with suppress(pa.ArrowInvalid, OverflowError):  # lines are not all alike, or not UTF-8, or 2 GiB
            table = arrow.read_csv(
                pa.BufferReader(marked),
                arrow.ReadOptions(use_threads=False, block_size=len(marked), column_names=header),
                arrow.ParseOptions(delimiter=file.separator, ignore_empty_lines=False),
                arrow.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=names,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
    if table is None:
        # A first line with the right number of fields settles the shape before any private line is seen.
        first = file.separator.encode() * (width - 1) + b"\n"
        frame = pd.read_csv(
            io.BytesIO(first + lines),
            sep=file.separator,
            header=None,
            names=header,
            index_col=False,
            usecols=names,
            dtype="str",
            keep_default_na=False,
            na_values=[""],
            skip_blank_lines=False,
            lineterminator="\n",
            encoding="utf-8",
            encoding_errors="replace",
            low_memory=False,
        )
        table = pa.table({name: pa.array(frame[name].iloc[1:], pa.string()) for name in names})
    columns: dict[int, Any] = {}
    for name, texts in zip(names, table.columns, strict=True):
        numbers = _numbers(texts, file.decimal) if int(name) in floats else None
        columns[int(name)] = pd.arrays.ArrowExtensionArray(texts) if numbers is None else numbers
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)


def _numbers(texts: Any, decimal: str) -> FloatVector | None:
    """The numbers of an Arrow column, if every text is one."""
    import pyarrow as pa
    from pyarrow import compute

    if decimal == ",":
        if compute.any(compute.match_substring(texts, ".")).as_py():
            return None
        texts = compute.replace_substring(texts, ",", ".")
    for padded in (False, True):
        with suppress(pa.ArrowInvalid):
            plain = compute.ascii_trim_whitespace(texts) if padded else texts
            return np.asarray(plain.cast(pa.float64()).to_numpy())
    return None


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
        expected="a line of column names, none of them a number, a date or digits without a letter",
        remedy="Let the file begin with a line of column names; use CsvFile(path, separator=';') for others.",
    )


def _repaired(lines: bytes, separator: str) -> bytes:
    """Whole lines, changed where a line would reach beyond its end in the parser."""
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n")
    if b"\0" in lines:
        lines = lines.replace(b"\0", "\ufffd".encode())
    paired = _PAIRED[separator]
    if b'"' not in lines or paired.fullmatch(lines):
        return lines
    each = io.BytesIO(lines)  # splitlines() would take a carriage return for an end
    return b"".join(line if paired.fullmatch(line) else line.replace(b'"', b"") for line in each)
