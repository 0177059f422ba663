"""A table as LaTeX with the rules of booktabs."""

from __future__ import annotations

import re

from dpglm.tables.content import Column, Fact, TableContent

# Braces after each command keep it from swallowing the space that follows. The second half of the list is
# harmless alone but makes an optional argument (\\ [2pt]), a curly quote, or another glyph in old font
# encodings (< prints as an inverted exclamation mark).
ESCAPES = str.maketrans(
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


def render_latex(content: TableContent) -> str:
    """``content`` as a ``table`` environment; the preamble needs ``\\usepackage{booktabs}``."""
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{escape(content.title)}}}"]
    if content.alarm:
        lines.append(_alarm(content.alarm))
    if content.facts:
        lines += _facts(content.facts)
    lines.append(rf"\begin{{tabular}}{{{''.join(column.align[0] for column in content.columns)}}}")
    lines.append(r"\toprule")
    lines.append(_line(tuple(column.heading for column in content.columns), content.columns))
    lines.append(r"\midrule")
    lines += [_line(row, content.columns) for row in content.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {escape(note)}\par}}" for note in content.notes]
    if content.alarm:
        lines.append(_alarm(content.alarm))
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """``text`` so that LaTeX prints it as it stands.

    Examples
    --------
    >>> print(escape("C(job)[T.R&D]"))
    C(job){[}T.R\\&D{]}
    """
    return LIGATURE.sub(r"\1{}", text.translate(ESCAPES))


def _facts(facts: tuple[Fact, ...]) -> list[str]:
    # A paragraph column lets a long formula or theorem break over lines.
    rows = [rf"{escape(label)} & {escape(value)} \\" for label, value in facts]
    return [
        r"\begin{tabular}{lp{0.7\linewidth}}",
        r"\toprule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
    ]


def _line(cells: tuple[str, ...], columns: tuple[Column, ...]) -> str:
    shown = (_cell(cell, column) for cell, column in zip(cells, columns, strict=True))
    return " & ".join(shown) + r" \\"


def _cell(text: str, column: Column) -> str:
    """A cell; negative numbers get a minus sign instead of a hyphen."""
    if column.align == "right" and NUMBER.fullmatch(text):
        mantissa, e, exponent = text.partition("e")
        return mantissa.replace("-", "$-$") + e + exponent.replace("-", "$-$")
    return escape(text)


def _alarm(alarm: str) -> str:
    return rf"\par\textbf{{{escape(alarm)}}}\par"
