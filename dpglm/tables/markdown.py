"""A table as Markdown with pipes, as GitHub, Quarto and Jupyter read it."""

from __future__ import annotations

import re

from dpglm.tables.content import TableContent

# Entities for what HTML would read, backslashes for what Markdown, its tables or its mathematics would.
ESCAPES = str.maketrans(
    {"<": "&lt;", ">": "&gt;", "&": "&amp;"} | {char: f"\\{char}" for char in "\\`*_{}[]#!|~$^"}
)
# What GitHub makes a link of although nobody marked it as one.
AUTOLINK = re.compile(r":(?=//)|(?<=[wW]{3})\.|@")
LIST_MARK = re.compile(r"^(\d*)([-+=.)])")


def render_markdown(content: TableContent) -> str:
    """``content`` as a bold title, a list of facts, a table with pipes and a paragraph per note."""
    blocks = [_bold(content.title)]
    if content.alarm:
        blocks.append(_bold(content.alarm))
    if content.facts:
        blocks.append("\n".join(f"- {_bold(label)}: {escape(value)}" for label, value in content.facts))
    heading = _line(tuple(column.heading for column in content.columns))
    rule = "|" + "|".join(":--" if column.align == "left" else "--:" for column in content.columns) + "|"
    blocks.append("\n".join([heading, rule, *map(_line, content.rows)]))
    blocks += map(_paragraph, content.notes)
    if content.alarm:
        blocks.append(_bold(content.alarm))
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """``text`` so that Markdown prints it as it stands.

    Examples
    --------
    >>> print(escape("C(job)[a|b]"))
    C(job)\\[a\\|b\\]
    """
    return AUTOLINK.sub(r"\\\g<0>", text.translate(ESCAPES))


def _paragraph(text: str) -> str:
    """A note that cannot be taken for a list, a heading or a block of code."""
    return LIST_MARK.sub(r"\1\\\2", escape(text.strip()))


def _bold(text: str) -> str:
    return f"**{escape(text)}**"


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(escape, cells)) + " |"
