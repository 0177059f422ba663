"""Files of code books: text in whatever encoding, CSV in whatever separator, each of a bounded size."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from dpglm.errors import SchemaError, shown

SIZE_LIMIT: Final = 2**25
_MOST_ROWS: Final = 200_000


class Readable(Protocol):
    """An open file, or a text in memory: `io.StringIO`."""

    def read(self, size: int = ..., /) -> Any:
        """At most ``size`` characters or bytes."""


Book: TypeAlias = "str | os.PathLike[str] | Readable"


@dataclass(frozen=True)
class BookText:
    """The text of a code book with its name, empty for one in memory, and remarks on how it was read."""

    text: str
    name: str
    remarks: tuple[str, ...] = ()

    def source(self, kind: str) -> str:
        """Words for the ``source`` of a column: "REDCap dictionary visits.csv"."""
        return f"{kind} {self.name}".rstrip()


def existing(book: object, what: str) -> Path:
    """The path of a code book that is there."""
    if not isinstance(book, str | os.PathLike) or not os.path.isfile(book):
        raise SchemaError(
            f"no code book {shown(str(book)) if isinstance(book, str | os.PathLike) else shown(book)}",
            expected=f"the path of {what}",
            remedy="Correct the path.",
        )
    return Path(book)


def opened(book: Book, what: str) -> BookText:
    """The text of a code book: UTF-8 or UTF-16 by its mark, otherwise Windows-1252.

    Raises
    ------
    SchemaError
        No such file, one of more than 32 MiB, or one that is not text.
    """
    if isinstance(book, str | os.PathLike):
        path = existing(book, what)
        name = path.name
        try:
            with path.open("rb") as stream:
                content: Any = stream.read(SIZE_LIMIT + 1)
        except OSError as error:
            raise SchemaError(
                f"a code book that cannot be read ({type(error).__name__})",
                expected="a file that you may read",
                remedy="Change its permissions, or copy it.",
            ) from None
    elif hasattr(book, "read"):
        content, name = book.read(SIZE_LIMIT + 1), ""
    else:
        existing(book, what)
    if not isinstance(content, str | bytes) or len(content) > SIZE_LIMIT:
        raise SchemaError(
            f"a code book larger than {SIZE_LIMIT >> 20} MiB"
            if isinstance(content, str | bytes)
            else "no text",
            expected=what,
            remedy="Check that the path is that of the code book and not that of the data.",
        )
    text, remarks = (content, ()) if isinstance(content, str) else _decoded(content)
    if "\0" in text:
        raise SchemaError(
            "a code book with zero bytes, which is not text",
            expected=what,
            remedy="Save it as text in UTF-8; a spreadsheet as CSV.",
        )
    return BookText(text.removeprefix("\ufeff"), name, remarks)


def _decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace"), ()
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), ("The code book is not UTF-8: read as Windows-1252.",)


def records(text: str, what: str) -> tuple[list[str], Iterator[dict[str, str]]]:
    """The header of a CSV text, and its rows by heading; separators are commas, semicolons, tabs or bars.

    A row has all headings, with empty texts where its fields end. Empty rows are left out.
    """
    text = re.sub(r"\Asep=.\r?\n", "", text.lstrip("\r\n"))  # a spreadsheet's own line
    first = text.split("\n", 1)[0]
    separator = max(",;\t|", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        rows = [[field.strip() for field in row] for row in itertools.islice(lines, _MOST_ROWS) if row]
        longer = next(lines, None) is not None
    except csv.Error:
        longer, rows = True, []
    if longer:
        raise SchemaError(
            f"a code book that is not CSV, or with more than {_MOST_ROWS} lines or 131072 letters in a field",
            expected=what,
            remedy="Save it again as CSV with a line of headings; the data are no code book.",
        )
    if not rows:
        raise SchemaError("an empty code book", expected=what, remedy="Check the path.")
    header = rows[0]
    padded = (row + [""] * (len(header) - len(row)) for row in rows[1:] if any(row))
    return header, (dict(zip(header, row, strict=False)) for row in padded)


def headings(header: Sequence[str], names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Which heading of a file is which column of a dictionary, by usual names; letters and digits count.

    Examples
    --------
    >>> headings(["Variable / Field Name", "Type"], {"name": ["variablefieldname"], "type": ["type"]})
    {'name': 'Variable / Field Name', 'type': 'Type'}
    """
    spelt: dict[str, str] = {}
    for heading in header:
        spelt.setdefault("".join(letter for letter in heading.lower() if letter.isalnum()), heading)
    found: dict[str, str] = {}
    for column, usual in names.items():
        free = [spelt[name] for name in usual if name in spelt and spelt[name] not in found.values()]
        if free:
            found[column] = free[0]
    return found
