"""In a real Jupyter kernel: short tracebacks, tables in place of screens of digits, bars and plots."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="no nbformat on this machine")
nbclient = pytest.importorskip("nbclient", reason="no nbclient on this machine")
pytest.importorskip("ipykernel", reason="no ipykernel on this machine")
pytestmark = pytest.mark.slow

START = """
import dpglm
women = dpglm.load_data("fair")
schema = dpglm.Schema.of(women.attrs["dpglm.schema"])
ledger = dpglm.Ledger("women.db", budget=(3.0, 1e-5), dataset="<b>women</b>")
plan = dpglm.plan("affair ~ age + religious + C(occupation)", schema, n=6366, privacy=(2.0, 1e-6))
fit = plan.fit(women, ledger=ledger)
profile = dpglm.describe(women, schema=schema, by="occupation", privacy=(0.5, 1e-6))
"""
# What a user looks at, the words that must be seen, and the most characters of its plain text.
SHOWN = {
    "plan": "epsilon",
    "plan.expected()": "detectable",
    "plan.description": "perturbed minimiser",
    "schema": "Fair (1978) code book",
    "fit": "Differential privacy with epsilon = 2",
    "fit.summary()": "Differential privacy with epsilon = 2",
    "fit.privacy": "Differential privacy with epsilon = 2",
    "fit.ledger": "epsilon = 1",
    "ledger": "&lt;b&gt;women&lt;/b&gt;",
    "fit.path('l1')": "enters at strength",
    "fit.spend": "perturbed minimiser",
    "fit.wald_test('age')": "chi2",
    "fit.anova()": "C(occupation)",
    "fit.margins('occupation')": "estimate",
    "profile": "occupation",
    "dpglm.Schema.from_csv_dictionary('book.csv')": "to declare",
}
PLAIN = {"plan.problem": 120, "plan.releases": 900, "dpglm.Privacy(1.0)": 120}
BOOK = "variable,label,values,min,max\nill,Is ill,0=no;1=yes;9=unknown,,\nage,<i>Age</i>,,18,999\n"


def run(folder: Path, *cells: str) -> list[list[Any]]:
    """The outputs of each cell, in one kernel that works in ``folder``."""
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        page, timeout=120, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [list(cell.outputs) for cell in page.cells]


def test_what_is_looked_at_is_a_table_of_few_lines(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    outputs = run(tmp_path, START, *SHOWN, *PLAIN)
    assert outputs[0] == []
    for (what, words), output in zip(SHOWN.items(), outputs[1:], strict=False):
        assert [one["output_type"] for one in output] == ["execute_result"], f"{what}: {output}"
        page, plain = output[0]["data"]["text/html"], output[0]["data"]["text/plain"]
        assert words in page, what
        assert "<script" not in page
        assert "<b>women" not in page
        assert "<i>Age" not in page
        # A screen of digits is what nobody reads: 25 numbers of ten digits in a row of text.
        assert len(re.findall(r"\d\.\d{9,}", plain)) < 25, what
        assert len(plain.splitlines()) <= 45, f"{what}: {plain}"
        assert len(plain) <= 4000, what
    for (what, most), output in zip(PLAIN.items(), outputs[1 + len(SHOWN) :], strict=True):
        assert len(output[0]["data"]["text/plain"]) <= most, what


BAD = {
    'dpglm.fit("affair ~ center(age)", women, privacy=1.0)': "FormulaError",
    "def model(epsilon):\n    return dpglm.fit('affair ~ agee', women, privacy=epsilon)\n"
    "model(1.0)": "FormulaError",
    'dpglm.fit("affair ~ age", women, privacy=(9.0, 1e-6), ledger=ledger)': "BudgetExceeded",
    'dpglm.fit("affair ~ age", women, privacy=-1)': "PrivacyError",
    "fit.plot('nonsense')": "MethodError",
}


def test_an_error_shows_its_message_and_the_users_lines_alone(tmp_path: Path) -> None:
    outputs = run(tmp_path, START, *BAD, "1 / 0")
    for (code, name), output in zip(BAD.items(), outputs[1:-1], strict=True):
        (error,) = output
        assert error["ename"] == name
        lines = "\n".join(error["traceback"]).splitlines()
        assert len(lines) <= 14, lines
        assert any(line.startswith("Remedy: ") for line in lines)
        assert lines[0] == f"line {len(code.splitlines())}: {code.splitlines()[-1]}"
        assert not any("dpglm/" in line for line in lines)
        assert ("line 2 in model: " in "\n".join(lines)) is ("def model" in code)
    # Errors of others keep their frames.
    assert any("ZeroDivisionError" in line for line in outputs[-1][0]["traceback"])


def test_a_plot_is_one_picture_of_the_size_of_its_figure(tmp_path: Path) -> None:
    outputs = run(
        tmp_path,
        f"%matplotlib inline\n{START}",
        "%config InlineBackend.print_figure_kwargs = {'bbox_inches': None}",
        "fit.plot('effects');",
        "fit.plot('effects', 'age');",
        "profile.plot();",
    )
    for output in outputs[2:]:
        (drawn,) = output
        picture = base64.b64decode(drawn["data"]["image/png"])
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 5000


def test_a_bar_leaves_no_warning_behind(tmp_path: Path) -> None:
    outputs = run(
        tmp_path,
        START,
        'dpglm.fit("affair ~ age", women, privacy=1.0, progress=True);',
        'small = dpglm.plan("y ~ x", {"y": (0, 1), "x": (0, 9)}, n=99, privacy=1.0, family="gaussian")\n'
        "found = small.audit(trials=400)",
    )
    for output in outputs[1:]:
        text = "".join(one.get("text", "") for one in output)
        assert "Warning" not in text, text
        assert "%|" in text or "/3 |" in text, text  # of draws in percent, of steps by name
        assert all(one["output_type"] != "error" for one in output), output
