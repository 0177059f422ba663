"""A table as plain text, and as statsmodels' SimpleTable for those who ask for one."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

from dpglm.tables.content import Column, Fact, TableContent, width

if TYPE_CHECKING:
    from statsmodels.iolib.table import SimpleTable

MIN_WIDTH = 78
GAP = 2


def render_text(content: TableContent) -> str:
    """``content`` in the look of a statsmodels summary, without a trailing line break."""
    cells = [tuple(column.heading for column in content.columns), *content.rows]
    widths = [max(width(row[j]) for row in cells) for j in range(len(content.columns))]
    total = max(MIN_WIDTH, sum(widths) + GAP * (len(widths) - 1))
    # The first column takes what is left over, so that the rules end where the rows end.
    widths[0] += total - sum(widths) - GAP * (len(widths) - 1)

    double, single = "=" * total, "-" * total
    lines = [_centred(content.title, total)]
    if content.alarm:
        lines += _banner(content.alarm, total)
    lines.append(double)
    if content.facts:
        lines += [*_facts(content, total), double]
    lines += [_row(cells[0], widths, content.columns), single]
    lines += [_row(row, widths, content.columns) for row in content.rows]
    lines.append(double)
    for note in content.notes:
        lines += _wrapped(note, total)
    if content.alarm:
        lines += _banner(content.alarm, total)
    return "\n".join(line.rstrip() for line in lines)


def simple_table(content: TableContent) -> SimpleTable:
    """The rows of ``content`` as statsmodels' ``SimpleTable``; alarm and title become its title."""
    from statsmodels.iolib.table import SimpleTable

    return SimpleTable(
        [list(row[1:]) for row in content.rows],
        headers=[column.heading for column in content.columns[1:]],
        stubs=[row[0] for row in content.rows],
        title=" - ".join(part for part in (content.alarm, content.title) if part),
    )


def _row(row: tuple[str, ...], widths: list[int], columns: tuple[Column, ...]) -> str:
    return (" " * GAP).join(
        _padded(cell, size, column.align) for cell, size, column in zip(row, widths, columns, strict=True)
    )


def _padded(text: str, size: int, align: str) -> str:
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


def _facts(content: TableContent, total: int) -> list[str]:
    """Facts across the whole width, then two columns of them, each wrapped in its half."""
    half = (total - GAP) // 2
    first = _indent(content.wide + content.left)
    lines = _labelled(content.wide, total, first)
    left = _labelled(content.left, half, first)
    right = _labelled(content.right, total - GAP - half, _indent(content.right))
    return lines + [
        _padded(one, half + GAP, "left") + other for one, other in zip_longest(left, right, fillvalue="")
    ]


def _indent(facts: tuple[Fact, ...]) -> int:
    """Where the values begin: after the longest label, its colon and a gap."""
    return max((width(label) for label, _ in facts), default=0) + 1 + GAP


def _labelled(facts: tuple[Fact, ...], total: int, indent: int) -> list[str]:
    lines = []
    for label, value in facts:
        first, *rest = _wrapped(value, max(total - indent, 20))
        lines.append(_padded(f"{label}:", indent, "left") + first)
        lines += [" " * indent + line for line in rest]
    return lines
