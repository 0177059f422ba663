"""Markup of a table: HTML, LaTeX with the rules of booktabs, Markdown with pipes; every text escaped."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from dpglm.tables.content import Column, Fact, TableContent

if TYPE_CHECKING:
    from jinja2 import Template

# Braces after each command keep it from swallowing the space that follows. The second half of the list is
# harmless alone but makes an optional argument (\\ [2pt]), a curly quote, or another glyph in old font
# encodings (< prints as an inverted exclamation mark).
LATEX_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        "'": r"{'}",
        '"': r"{\char34}",
        "[": r"{[}",
        "]": r"{]}",
        "*": r"{*}",
    }
)
LIGATURE = re.compile(r"([-,])(?=\1)")
NUMBER = re.compile(r"-\d[\d.]*(e-?\d+)?")
# Entities for what HTML would read, backslashes for what Markdown, its tables or its mathematics would.
MARKDOWN_ESCAPES: Final = str.maketrans(
    {"<": "&lt;", ">": "&gt;", "&": "&amp;"} | {char: f"\\{char}" for char in "\\`*_{}[]#!|~$^"}
)
# What GitHub makes a link of although nobody marked it as one.
AUTOLINK = re.compile(r":(?=//)|(?<=[wW]{3})\.|@")
LIST_MARK = re.compile(r"^(\d*)([-+=.)])")


def render_html(content: TableContent) -> str:
    """``content`` as two ``<table>`` elements, facts and rows, with captions and header scopes."""
    return _template().render(table=content)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader

    # Autoescape is set for every template, not by file ending: an unescaped name would be a hole.
    environment = Environment(
        loader=PackageLoader("dpglm.tables"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("table.html")


def render_latex(content: TableContent) -> str:
    """``content`` as a ``table`` environment; the preamble needs ``\\usepackage{booktabs}``."""
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(content.title)}}}"]
    if content.alarm:
        lines.append(_latex_alarm(content.alarm))
    if content.facts:
        lines += _latex_facts(content.facts)
    lines.append(rf"\begin{{tabular}}{{{''.join(column.align[0] for column in content.columns)}}}")
    lines.append(r"\toprule")
    lines.append(_latex_line(tuple(column.heading for column in content.columns), content.columns))
    lines.append(r"\midrule")
    lines += [_latex_line(row, content.columns) for row in content.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {latex_text(note)}\par}}" for note in content.notes]
    if content.alarm:
        lines.append(_latex_alarm(content.alarm))
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """``text`` so that LaTeX prints it as it stands.

    Examples
    --------
    >>> print(latex_text("C(job)[T.R&D]"))
    C(job){[}T.R\\&D{]}
    """
    return LIGATURE.sub(r"\1{}", text.translate(LATEX_ESCAPES))


def _latex_facts(facts: tuple[Fact, ...]) -> list[str]:
    # A paragraph column lets a long formula or theorem break over lines.
    rows = [rf"{latex_text(label)} & {latex_text(value)} \\" for label, value in facts]
    return [
        r"\begin{tabular}{lp{0.7\linewidth}}",
        r"\toprule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
    ]


def _latex_line(cells: tuple[str, ...], columns: tuple[Column, ...]) -> str:
    shown = (_latex_cell(cell, column) for cell, column in zip(cells, columns, strict=True))
    return " & ".join(shown) + r" \\"


def _latex_cell(text: str, column: Column) -> str:
    """A cell; negative numbers get a minus sign instead of a hyphen."""
    if column.align == "right" and NUMBER.fullmatch(text):
        mantissa, e, exponent = text.partition("e")
        return mantissa.replace("-", "$-$") + e + exponent.replace("-", "$-$")
    return latex_text(text)


def _latex_alarm(alarm: str) -> str:
    return rf"\par\textbf{{{latex_text(alarm)}}}\par"


def render_markdown(content: TableContent) -> str:
    """``content`` as a bold title, a list of facts, a table with pipes and a paragraph per note."""
    blocks = [_bold(content.title)]
    if content.alarm:
        blocks.append(_bold(content.alarm))
    if content.facts:
        blocks.append(
            "\n".join(f"- {_bold(label)}: {markdown_text(value)}" for label, value in content.facts)
        )
    heading = _markdown_line(tuple(column.heading for column in content.columns))
    rule = "|" + "|".join(":--" if column.align == "left" else "--:" for column in content.columns) + "|"
    blocks.append("\n".join([heading, rule, *map(_markdown_line, content.rows)]))
    blocks += map(_paragraph, content.notes)
    if content.alarm:
        blocks.append(_bold(content.alarm))
    return "\n\n".join(blocks) + "\n"


def markdown_text(text: str) -> str:
    """``text`` so that Markdown prints it as it stands.

    Examples
    --------
    >>> print(markdown_text("C(job)[a|b]"))
    C(job)\\[a\\|b\\]
    """
    return AUTOLINK.sub(r"\\\g<0>", text.translate(MARKDOWN_ESCAPES))


def _paragraph(text: str) -> str:
    """A note that cannot be taken for a list, a heading or a block of code."""
    return LIST_MARK.sub(r"\1\\\2", markdown_text(text.strip()))


def _bold(text: str) -> str:
    return f"**{markdown_text(text)}**"


def _markdown_line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"
