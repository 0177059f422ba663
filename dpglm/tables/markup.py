"""Markup of a table: HTML, LaTeX with the rules of booktabs, Markdown with pipes; every text escaped."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from dpglm.errors import MethodError

if TYPE_CHECKING:
    from great_tables import GT
    from jinja2 import Environment, FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    from dpglm.tables.table import Table

# Braces after each command keep it from swallowing the space that follows. Some characters are harmless alone
# but make an optional argument (\\ [2pt]), a curly quote, or another glyph in old font encodings (< prints as
# an inverted exclamation mark).
LATEX_ESCAPES: Final = str.maketrans(
    {char: f"\\{char}" for char in "{}$&%#_"}
    | {char: f"{{{char}}}" for char in "'[]*"}
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        '"': r"{\char34}",
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


@cache
def environment(package: str, finalize: Callable[[object], object] | None = None) -> Environment:
    """The templates of a package; ``finalize`` sees every value before it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Autoescape is set for every template, not by file ending: an unescaped name would be a hole.
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )


def _compiled() -> FileSystemBytecodeCache | None:
    """Where jinja2 keeps templates that it compiled, as Python keeps modules; None where it may not write."""
    from jinja2 import FileSystemBytecodeCache

    class Kept(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):  # a full disk is no reason for no page
                super().dump_bytecode(bucket)

    try:
        return None if sys.dont_write_bytecode else Kept()
    except (OSError, RuntimeError):
        return None


def render_html(table: Table) -> str:
    """``table`` as two ``<table>`` elements, facts and rows, with captions and header scopes."""
    return environment("dpglm.tables").get_template("table.html").render(table=table)


def render_gt(table: Table) -> GT:
    """The rows as a ``great_tables.GT``, for its styles and formats; facts and notes stand below them.

    An alarm is the subtitle and the last note. A second table is one of its own: ``table.below.to_gt()``.

    Raises
    ------
    MethodError
        great_tables is not installed.
    """
    import pandas as pd

    try:
        import great_tables
    except ImportError:
        raise MethodError(
            "to_gt() without the package great_tables",
            expected="great_tables, which is optional",
            remedy="Run pip install 'dpglm[gt]', or use to_html(), to_latex() or to_markdown().",
        ) from None
    names = [f"column {k}" for k in range(len(table.columns))]
    made = great_tables.GT(pd.DataFrame(table.rows, columns=names), rowname_col=names[0])
    made = made.tab_header(table.title, table.alarm or None).tab_stubhead(table.columns[0].heading)
    if table.indented:
        made = made.tab_stub_indent(list(table.indented), indent=2)
    for name, column in zip(names[1:], table.columns[1:], strict=True):
        made = made.cols_label({name: column.heading}).cols_align(column.align, [name])
    facts = [f"{label}: {value}" for label, value in table.facts]
    for note in (*facts, *table.notes, *([table.alarm] if table.alarm else ())):
        made = made.tab_source_note(note)
    return made


def render_latex(table: Table) -> str:
    """``table`` as a ``table`` environment; the preamble needs ``\\usepackage{booktabs}``."""
    alarm = [rf"\par\textbf{{{latex_text(table.alarm)}}}\par"] if table.alarm else []
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(table.title)}}}", *alarm]
    if table.facts:
        # A paragraph column lets a long formula or theorem break over lines.
        lines += [r"\begin{tabular}{lp{0.7\linewidth}}", r"\toprule"]
        lines += [rf"{latex_text(label)} & {latex_text(value)} \\" for label, value in table.facts]
        lines += [r"\bottomrule", r"\end{tabular}", r"\par\smallskip"]
    lines += _latex_rows(table)
    if table.below is not None:
        lines += [rf"\par\smallskip {latex_text(table.below.title)}\par\smallskip", *_latex_rows(table.below)]
    lines += [rf"\par\smallskip{{\footnotesize {latex_text(note)}\par}}" for note in table.notes]
    return "\n".join([*lines, *alarm, r"\end{table}"]) + "\n"


def _latex_rows(table: Table) -> list[str]:
    """A ``tabular`` environment of headings and rows."""
    sides = [column.align for column in table.columns]
    headings = [column.heading for column in table.columns]
    lines = [rf"\begin{{tabular}}{{{''.join(side[0] for side in sides)}}}", r"\toprule"]
    lines += [_latex_line(headings, sides), r"\midrule"]
    for place, row in enumerate(table.rows):
        lines.append((r"\quad " if place in table.indented else "") + _latex_line(row, sides))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def latex_text(text: str) -> str:
    """``text`` so that LaTeX prints it as it stands.

    Examples
    --------
    >>> print(latex_text("C(job)[T.R&D]"))
    C(job){[}T.R\\&D{]}
    """
    return LIGATURE.sub(r"\1{}", text.translate(LATEX_ESCAPES))


def _latex_line(cells: Sequence[str], sides: Sequence[str]) -> str:
    """Cells of a row; negative numbers get a minus sign instead of a hyphen."""
    shown = (
        cell.replace("-", "$-$") if side == "right" and NUMBER.fullmatch(cell) else latex_text(cell)
        for cell, side in zip(cells, sides, strict=True)
    )
    return " & ".join(shown) + r" \\"


def render_markdown(table: Table) -> str:
    """``table`` as a bold title, a list of facts, a table with pipes and a paragraph per note."""
    alarm = [_bold(table.alarm)] if table.alarm else []
    facts = [f"- {_bold(label)}: {markdown_text(value)}" for label, value in table.facts]
    blocks = [_bold(table.title), *alarm, *(["\n".join(facts)] if facts else []), _markdown_rows(table)]
    if table.below is not None:
        blocks += [_bold(table.below.title), _markdown_rows(table.below)]
    # A note that cannot be taken for a list, a heading or a block of code.
    blocks += [LIST_MARK.sub(r"\1\\\2", markdown_text(note.strip())) for note in table.notes]
    return "\n\n".join([*blocks, *alarm]) + "\n"


def _markdown_rows(table: Table) -> str:
    """Headings and rows with pipes."""
    rule = "|" + "|".join(":--" if column.align == "left" else "--:" for column in table.columns) + "|"
    lines = [_markdown_line([column.heading for column in table.columns]), rule]
    for place, row in enumerate(table.rows):
        line = _markdown_line(row)
        lines.append(line.replace("| ", "| &emsp;", 1) if place in table.indented else line)
    return "\n".join(lines)


def markdown_text(text: str) -> str:
    """``text`` so that Markdown prints it as it stands.

    Examples
    --------
    >>> print(markdown_text("C(job)[a|b]"))
    C(job)\\[a\\|b\\]
    """
    return AUTOLINK.sub(r"\\\g<0>", text.translate(MARKDOWN_ESCAPES))


def _bold(text: str) -> str:
    return f"**{markdown_text(text)}**"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"
