"""Exports and ledgers on the command line, as an officer types who never opens Python."""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner, Result

import dpglm
from dpglm.cli import main
from dpglm.report.exports import ExportKind

TEXTS = [kind for kind in get_args(ExportKind) if kind != "ro-crate"]


@cache
def private() -> dpglm.FitResult:
    women = dpglm.load_data("fair")
    fit = dpglm.fit("affair ~ age + religious", women, privacy=(1.0, 1e-6), progress=False)
    assert isinstance(fit, dpglm.FitResult)
    return fit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    private().save("fit.json")
    Path("report.yaml").write_text("organisation: Ward 7\n", encoding="utf-8")
    return tmp_path


def run(*words: str, given: str | None = None, status: int = 0) -> Result:
    done = CliRunner().invoke(main, list(words), input=given)
    assert done.exit_code == status, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_printed_or_written_as_python_writes_it(kind: Any) -> None:
    expected = private().export(kind, "expected", facts="report.yaml").read_text(encoding="utf-8")
    words = ("export", kind, "fit.json", "--facts", "report.yaml")
    assert run(*words).stdout == expected
    assert run("export", kind, "-", *words[3:], given=Path("fit.json").read_text("utf-8")).stdout == expected
    assert json.loads(run(*words, "--json").stdout)["text"] == expected
    assert run(*words, "-o", "out").output == "wrote out\n"
    assert Path("out").read_text(encoding="utf-8") == expected


def test_a_crate_needs_a_file() -> None:
    assert "-o fit.zip" in run("export", "ro-crate", "fit.json", status=2).output
    found = json.loads(run("export", "ro-crate", "fit.json", "-o", "crate.zip", "--json").stdout)
    assert found == {"kind": "export", "of": "ro-crate", "text": None, "wrote": ["crate.zip"]}
    assert zipfile.is_zipfile("crate.zip")


@pytest.mark.parametrize("output", [".", "none/out", "fit.json", "report.yaml"])
def test_a_target_that_cannot_be_written_is_one_message(output: str) -> None:
    before = Path("fit.json").read_bytes()
    words = ("export", "methods", "fit.json", "--facts", "report.yaml", "-o", output)
    assert "Remedy:" in run(*words, status=2).output
    assert Path("fit.json").read_bytes() == before


@pytest.mark.parametrize("file", ["none.json", ".", "", "report.yaml"])
def test_a_file_that_holds_no_fit_is_one_message(file: str) -> None:
    said = run("export", "methods", file, status=2).output
    assert all(part in said for part in ("Found:", "Expected:", "Remedy:"))


def test_what_is_not_private_is_not_filed() -> None:
    women = dpglm.load_data("fair")
    dpglm.fit("affair ~ age", women, privacy=1.0, penalty="l2", seed=1).save("seeded.json")
    assert "NOT PRIVATE" in run("export", "dpia", "seeded.json", "-o", "out", status=1).output
    assert not Path("out").exists()


def test_a_ledger_says_which_of_its_lines_paid_for_which_fit() -> None:
    women = dpglm.load_data("fair")
    ledger = dpglm.Ledger("fair.db", budget=(5.0, 1e-5), dataset="fair")
    for name, formula in (("one", "affair ~ age"), ("two", "affair ~ educ")):
        fit = dpglm.fit(
            formula, women, penalty="l2", goal="predict", privacy=1.0, ledger=ledger, key=name, progress=False
        )
        assert isinstance(fit, dpglm.FitResult)
        fit.save(f"{name}.json")
    said = " ".join(run("compare", "two.json", "fit.json", "--ledger", "fair.db").output.split())
    assert "two on line 2; fit on none" in said
    assert run("ledger", "show", "fair.db").output.splitlines()[3].startswith("2 ")
    assert "Charged for other releases: line 1" in said
    found = json.loads(run("compare", "two.json", "fit.json", "--ledger", "fair.db", "--json").stdout)
    assert found["paid_by"] == {"two": [2], "fit": []}
    assert found["ledger"]["remaining_epsilon"] == 3.0
    alone = json.loads(run("compare", "--ledger", "fair.db", "--json").stdout)
    assert alone["paid_by"] == {"one": [1], "two": [2]}
    assert [*alone["fits"]] == ["one", "two"]
    assert "Name saved fits" in run("compare", status=2).output
    assert "Remedy:" in run("compare", "one.json", "--ledger", "one.json", status=2).output
    dpglm.Ledger("empty.db", budget=1.0, dataset="empty")
    assert "keeps no fit" in run("compare", "--ledger", "empty.db", status=1).output
