"""Names that try to be LaTeX, Markdown, escape sequences or spreadsheet formulas: shown, and no more."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.ledger.ledger import Ledger
from dpglm.results.compare import compare
from dpglm.tables.markup import LATEX_ESCAPES, markdown_text
from dpglm.tables.table import Column, Table, one_line
from dpglm.typing import JOINERS
from tests.attacks.ledgers import TAGS, pure
from tests.rooms.report.specimen import interval
from tests.rooms.report.test_escaping import FIELDS, hostile

LATEX = [
    r"\write18{touch ran}",
    r"\immediate\write18{touch ran}",
    r"\input{/etc/passwd}",
    r"\include{x}",
    r"\openin5=x",
    r"\catcode`\%=12",
    r"\def\x{}\x",
    r"\csname input\endcsname{x}",
    "^^5cinput{x}",
    "^^^^005cinput",
    "%\\",
    r"\\[2pt]",
    r"\end{tabular}\end{table}",
    r"\directlua{os.execute('x')}",
    r"\href{javascript:x}{y}",
    r"\verb|x|",
    "{",
    "}",
    "$x$",
    "#1",
    "~",
    "&",
    "\\\n\\input{x}",
    "a\r\\write18{x}",
    "\u2028\\input{x}",
    r"\ ",
    "--- ,, << ?` !`",
]
MARKDOWN = [
    "[click](javascript:alert(1))",
    "![](http://127.0.0.1:9/x.png)",
    "<http://127.0.0.1:9>",
    "http://127.0.0.1:9/x",
    "https://evil.example/?q=1",
    "www.evil.example",
    "WWW.evil.example",
    "someone@evil.example",
    "[x]: http://evil",
    "a|b",
    "\\|",
    "\\\\|",
    "`code`",
    "```",
    "~~~",
    "~~x~~",
    "***x***",
    "__x__",
    "# x",
    "> x",
    "- x",
    "1. x",
    "1) x",
    "|:--|",
    "---",
    "===",
    "<script>alert(1)</script>",
    "<!--",
    "&lt;b&gt;",
    "$x$",
    "$$x$$",
    "a\n\n# b",
    "a  \nb",
    "[^1]",
    "{.class}",
    "{{< include /etc/passwd >}}",
    "ftp://evil.example",
    "@someone",
    "&#x3c;b>",
]
SCREEN = [
    "\x1b[2J",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1bc",
    "\x1b[6n",
    "\x9b31m",
    "\x08\x08\x08",
    "a\rb",
    "a\nb",
    "a\x0bb",
    "a\x0cb",
    "a\x85b",
    "a\u2028b",
    "\x07",
    "\x00",
    "\u202eabc",
    "\u2066abc\u2069",
    "\u200b",
    "\ufeff",
    "\u061c",
    "\ud800",
    "\x7f",
    "\U000e0041",
]


def tables(text: str) -> list[Table]:
    """Tables with one text at every place: made by hand, of a fit, of a comparison."""
    everywhere = hostile(dict.fromkeys(FIELDS, text), private=True)
    alarmed = hostile(dict.fromkeys(FIELDS, text), private=False)
    made = Table(
        title=text,
        columns=(Column(text, "left"), Column(text)),
        rows=((text, text),),
        wide=((text, text),),
        left=((text, text),),
        right=((text, text),),
        notes=(text,),
        alarm=text,
    )
    summaries: list[Any] = [result.summary() for result in (everywhere, alarmed)]
    return [made, *summaries, compare({text or "a": everywhere, "other": everywhere})]


@pytest.mark.parametrize("text", LATEX)
def test_no_command_of_a_name_reaches_latex(text: str) -> None:
    for table in tables(text):
        source = table.to_latex()
        commands = set(re.findall(r"\\([A-Za-z]+|.)", source))
        ours = set(re.findall(r"\\([A-Za-z]+|.)", "".join(LATEX_ESCAPES.values()))) | {"\\"}
        words = {
            "begin",
            "end",
            "centering",
            "caption",
            "toprule",
            "midrule",
            "bottomrule",
            "par",
            "smallskip",
        }
        assert commands <= ours | words | {"footnotesize", "textbf", "linewidth"}
        assert "^^" not in source
        assert not re.search(r"(?<!\\)%", source)
        assert source.count(r"\begin{tabular}") == source.count(r"\end{tabular}") in (1, 2)
        assert all(letter.isprintable() or letter in JOINERS for letter in source.replace("\n", ""))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_prints_all_names_and_writes_nothing_else(tmp_path: Path) -> None:
    body = "\n".join(tables(text)[0].to_latex() for text in LATEX)
    page = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "page.tex").write_text(page)
    command = ["pdflatex", "-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120).returncode == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", MARKDOWN)
def test_no_link_image_or_markup_of_a_name_reaches_markdown(text: str) -> None:
    plain = [table.to_markdown() for table in tables("word")]
    for table, expected in zip(tables(text), plain, strict=True):
        source = table.to_markdown()
        bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", source)  # without what is escaped
        assert not re.search(r"[\[\]<>`!]", bare)
        assert "://" not in bare
        assert not re.search(r"www\.", bare, re.I)
        assert "@" not in bare
        assert source.count("\n") == expected.count("\n")
        rows = [line for line in bare.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) == 1


def test_markdown_is_read_as_text_by_a_reader_of_its_own() -> None:
    for text in MARKDOWN:
        shown = one_line(text)
        read = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown_text(shown))
        assert read.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == shown


@pytest.mark.parametrize("text", SCREEN, ids=ascii)
def test_no_escape_sequence_of_a_name_reaches_a_screen(text: str, tmp_path: Path) -> None:
    shown = [str(table) for table in tables(text)] + [repr(table) for table in tables(text)]
    fit = hostile(dict.fromkeys(FIELDS, text), private=True)
    shown += [repr(fit), str(fit), repr(dpglm.Schema.of({f"a{text}": (0, 1)}))]
    shown += [table.to_html() for table in tables(text)] + [table.to_markdown() for table in tables(text)]
    shown.append(fit.to_html())
    model = interval()._record.released
    assert model is not None
    shown.append(str(interval(names=tuple(f"{text}{k}" for k in range(6))).summary()))
    for words in shown:
        assert all(letter.isprintable() or letter in JOINERS for letter in words.replace("\n", ""))


def test_a_ledger_prints_one_line_for_each_entry_whatever_its_purpose(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a.ledger", 1.0, dataset="<img src=x onerror=alert(1)>")
    for text in (
        "<script>alert(1)</script>",
        "a\n2  2024  forged  charged",
        "</pre><b>",
        "=cmd|' /C calc'!A0",
    ):
        ledger.charge(pure(0.01), what=text)
    assert len(str(ledger).splitlines()) == 3 + 4
    page = ledger._repr_html_()
    assert set(re.findall(r"</?([^\s>]*)", page)) == TAGS


def test_no_export_for_spreadsheets_exists() -> None:
    """A name such as ``=1+1`` would be a formula there; ``tidy().to_csv()`` is pandas's, and no help."""
    fit = hostile(dict.fromkeys(FIELDS, "=1+1"), private=True)
    for thing in (fit, fit.summary(), dpglm.Ledger, dpglm.Schema, dpglm):
        offered = [name for name in dir(thing) if re.search("csv|excel|xls|clipboard", name, re.I)]
        assert set(offered) <= {"CsvFile", "from_csv_dictionary"}  # which are read, and never written
