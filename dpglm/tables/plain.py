"""The plain text of a table, with the look of a statsmodels summary."""

from __future__ import annotations

import textwrap
import unicodedata
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from dpglm.typing import JOINERS

if TYPE_CHECKING:
    from dpglm.tables.table import Table

Fact: TypeAlias = tuple[str, str]  # label and value, both as they will be read

MIN_WIDTH = 78
GAP = 2
INDENT = "  "


def render_text(table: Table) -> str:
    """``table`` with the look of a statsmodels summary, without a trailing line break."""
    bodies = [table] if table.below is None else [table, table.below]
    total = max(MIN_WIDTH, *(sum(sizes) + GAP * (len(sizes) - 1) for sizes in map(_widths, bodies)))
    double = "=" * total
    banner = _banner(table.alarm, total) if table.alarm else []
    lines = [_centred(table.title, total), *banner, double]
    if table.facts:
        lines += [*_facts(table, total), double]
    lines += [*_body(table, total), double]
    if table.below is not None:
        lines += [_centred(table.below.title, total), double, *_body(table.below, total), double]
    notes = [line for note in table.notes for line in _wrapped(note, total)]
    return "\n".join(line.rstrip() for line in [*lines, *notes, *banner])


def _cells(table: Table) -> list[tuple[str, ...]]:
    rows = [
        (f"{INDENT}{row[0]}", *row[1:]) if place in table.indented else row
        for place, row in enumerate(table.rows)
    ]
    return [tuple(column.heading for column in table.columns), *rows]


def _widths(table: Table) -> list[int]:
    return [max(map(width, column)) for column in zip(*_cells(table), strict=True)]


def _body(table: Table, total: int) -> list[str]:
    """Headings and rows; the first column takes what is left over, so that the rules end where rows end."""
    widths = _widths(table)
    widths[0] += total - sum(widths) - GAP * (len(widths) - 1)
    sides = [column.align for column in table.columns]
    heading, *rows = [(" " * GAP).join(map(_padded, row, widths, sides)) for row in _cells(table)]
    return [heading, "-" * total, *rows]


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
