"""What a table says, before anybody decides how it looks."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal, TypeAlias

Fact: TypeAlias = tuple[str, str]  # label and value, both as they will be read

# Joiners change the shape of letters in Persian, Hindi and others, and carry no layout.
JOINERS = "\u200c\u200d"


@dataclass(frozen=True)
class Column:
    """A column's heading, and on which side its cells line up."""

    heading: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class TableContent:
    """Words of a table: title, facts above, columns and rows, notes below.

    Every text becomes one line: line breaks, control characters and characters that turn the direction of
    writing are shown as escapes, so that a variable's name cannot forge a line of the table.

    Parameters
    ----------
    title : str
        What the table shows.
    columns : tuple of Column
        The first column names the rows.
    rows : tuple of tuple of str
        Formatted cells, one per column.
    wide, left, right : tuple of (label, value)
        Facts above the rows: across the whole width, then in two columns.
    notes : tuple of str
        Sentences below the rows.
    alarm : str
        A warning that no output may omit, such as ``"NOT PRIVATE: seeded"``; shown first and last.

    Examples
    --------
    >>> content = TableContent("Doses", (Column("drug", "left"), Column("mg")), (("a\\nb", "10"),))
    >>> content.rows
    (('a\\\\nb', '10'),)
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: tuple[Fact, ...] = ()
    left: tuple[Fact, ...] = ()
    right: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    alarm: str = ""

    def __post_init__(self) -> None:
        assert self.columns, "a table has columns"
        assert all(len(row) == len(self.columns) for row in self.rows), "one cell per column"
        for name in ("title", "alarm"):
            object.__setattr__(self, name, one_line(getattr(self, name)))
        columns = tuple(Column(one_line(column.heading), column.align) for column in self.columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", tuple(tuple(map(one_line, row)) for row in self.rows))
        for name in ("wide", "left", "right"):
            facts = tuple((one_line(label), one_line(value)) for label, value in getattr(self, name))
            object.__setattr__(self, name, facts)
        object.__setattr__(self, "notes", tuple(map(one_line, self.notes)))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts above the rows, in reading order."""
        return self.wide + self.left + self.right


def one_line(text: str) -> str:
    r"""``text`` with every character that is not plainly visible written as an escape.

    Examples
    --------
    >>> print(one_line("a\nb\u202ec"))
    a\nb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in JOINERS else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal: wide East Asian characters two, combining marks none.

    Examples
    --------
    >>> width("abc"), width("年齢"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(char) or char in JOINERS
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )
