"""A table that can be printed, shown in a notebook, or put into a paper: its words and its plain text."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dpglm.tables.markup import render_html, render_latex, render_markdown

if TYPE_CHECKING:
    from statsmodels.iolib.table import SimpleTable

Fact: TypeAlias = tuple[str, str]  # label and value, both as they will be read

# Joiners change the shape of letters in Persian, Hindi and others, and carry no layout.
JOINERS = "\u200c\u200d"
MIN_WIDTH = 78
GAP = 2


@dataclass(frozen=True)
class Column:
    """A column's heading, and on which side its cells line up."""

    heading: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True, repr=False)
class Table:
    """The words of a table: title, facts above, columns and rows, notes below.

    Every text becomes one line: line breaks, control characters and characters that turn the direction of
    writing are shown as escapes, so that a variable's name cannot forge a line of the table. The same table
    gives the same bytes: no date, no path, no object id.

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
    >>> table = Table("Doses", (Column("drug", "left"), Column("mg")), (("a\\nb", "100"),))
    >>> table.rows
    (('a\\\\nb', '100'),)
    >>> print(table.to_markdown())
    **Doses**
    <BLANKLINE>
    | drug | mg |
    |:--|--:|
    | a\\\\nb | 100 |
    <BLANKLINE>
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
        for field in fields(self):
            object.__setattr__(self, field.name, _on_one_line(getattr(self, field.name)))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts above the rows, in reading order."""
        return self.wide + self.left + self.right

    def __str__(self) -> str:
        """The look of a statsmodels summary, without a trailing line break."""
        cells = [tuple(column.heading for column in self.columns), *self.rows]
        widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
        total = max(MIN_WIDTH, sum(widths) + GAP * (len(widths) - 1))
        # The first column takes what is left over, so that the rules end where the rows end.
        widths[0] += total - sum(widths) - GAP * (len(widths) - 1)

        double, single = "=" * total, "-" * total
        heading, *rows = [_row(row, widths, self.columns) for row in cells]
        banner = _banner(self.alarm, total) if self.alarm else []
        facts = [*_facts(self, total), double] if self.facts else []
        notes = [line for note in self.notes for line in _wrapped(note, total)]
        lines = [_centred(self.title, total), *banner, double, *facts, heading, single, *rows, double]
        return "\n".join(line.rstrip() for line in [*lines, *notes, *banner])

    def __repr__(self) -> str:
        return f"<Table {self.title!r}: {len(self.rows)} rows>" + (f" {self.alarm}" if self.alarm else "")

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """A fragment of HTML: escaped, with captions and header scopes, without script or style."""
        return render_html(self)

    def to_latex(self) -> str:
        """A LaTeX ``table`` environment; the preamble needs ``\\usepackage{booktabs}``."""
        return render_latex(self)

    def to_markdown(self) -> str:
        """A Markdown table with pipes, its facts as a list above it."""
        return render_markdown(self)

    def as_simple_table(self) -> SimpleTable:
        """The rows as statsmodels' ``SimpleTable``, for code that expects one; imports statsmodels.

        Facts and notes have no place there; an alarm is kept in the title.
        """
        from statsmodels.iolib.table import SimpleTable

        return SimpleTable(
            [list(row[1:]) for row in self.rows],
            headers=[column.heading for column in self.columns[1:]],
            stubs=[row[0] for row in self.rows],
            title=" - ".join(part for part in (self.alarm, self.title) if part),
        )


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


def _on_one_line(value: Any) -> Any:
    """Every text in ``value`` by `one_line`."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Column):
        return Column(one_line(value.heading), value.align)
    return tuple(map(_on_one_line, value))


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal: wide East Asian characters two, combining marks none.

    Examples
    --------
    >>> width("abc"), width("年齢"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    visible = [char for char in text if not (unicodedata.combining(char) or char in JOINERS)]
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in visible)


def _row(row: tuple[str, ...], widths: list[int], columns: tuple[Column, ...]) -> str:
    return (" " * GAP).join(
        _padded(cell, size, column.align) for cell, size, column in zip(row, widths, columns, strict=True)
    )


def _padded(text: str, size: int, align: str = "left") -> str:
    """``text`` in ``size`` terminal columns; ``str.ljust`` would count characters instead."""
    blank = " " * max(0, size - width(text))
    return text + blank if align == "left" else blank + text


def _centred(text: str, total: int) -> str:
    return " " * max(0, (total - width(text)) // 2) + text


def _banner(alarm: str, total: int) -> list[str]:
    return ["*" * total, *(_centred(line, total) for line in _wrapped(alarm, total)), "*" * total]


def _wrapped(text: str, total: int) -> list[str]:
    # A hyphen in "replace-one" or "(epsilon, delta)-DP" is part of the word.
    return textwrap.wrap(text, total, break_on_hyphens=False) or [""]


def _facts(table: Table, total: int) -> list[str]:
    """Facts across the whole width, then two columns of them, each wrapped in its half."""
    half = (total - GAP) // 2
    first = _indent(table.wide + table.left)
    left = _labelled(table.left, half, first)
    right = _labelled(table.right, total - GAP - half, _indent(table.right))
    pairs = zip_longest(left, right, fillvalue="")
    return _labelled(table.wide, total, first) + [
        _padded(left_line, half + GAP) + right_line for left_line, right_line in pairs
    ]


def _indent(facts: tuple[Fact, ...]) -> int:
    """Where the values begin: after the longest label, its colon and a gap."""
    return max((width(label) for label, _ in facts), default=0) + 1 + GAP


def _labelled(facts: tuple[Fact, ...], total: int, indent: int) -> list[str]:
    lines = []
    for label, value in facts:
        first, *rest = _wrapped(value, max(total - indent, 20))
        lines.append(_padded(f"{label}:", indent) + first)
        lines += [" " * indent + line for line in rest]
    return lines
