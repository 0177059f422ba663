"""The README and the vignettes run as they stand, and print what they show."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import dpglm
from dpglm.curator import padded_time
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.methods.base import methods
from tests.browser.signed import assert_signed
from vignettes import demo, pages

ROOT = Path(__file__).parents[1]
TOLD = re.compile(
    r"Told:\s+\d+ of (\d+)\s+coefficients"
    r"(;\s+half\s+of\s+the\s+others\s+would\s+take\s+[\d.,]+\s+times\s+the\s+rows\s+or\s+epsilon)?"
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = tuple(sorted((ROOT / "docs").glob("*.md")))
OF_PAPERS = ("guide", "holders", "methods", "learning_across_hospitals", "which_private_solver")


def marked(pages_run: Iterable[Path]) -> list[Any]:
    """Pages for a test that runs them; those with methods of the papers are marked as such."""
    return [
        pytest.param(path, marks=pytest.mark.papers) if path.stem in OF_PAPERS else path for path in pages_run
    ]


def test_the_demo_prints_intervals_and_writes_both_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "FOLDER", tmp_path / "demo")
    demo.main()
    printed = capsys.readouterr().out
    for name in ("fair", "randhie"):
        assert f"wrote the privacy report to reports/demo/{name}.html" in printed
        page = (tmp_path / "demo" / f"{name}.html").read_text(encoding="utf-8")
        assert "Privacy report" in page
        assert "NOT PRIVATE" not in page
    assert printed.count("[0.025") == 2
    assert " ".join(printed.split()).count("60 % of the budget") == 2


@pytest.mark.parametrize("path", marked([ROOT / "README.md", *DOCS]), ids=lambda path: path.stem)
def test_every_python_block_of_the_readme_and_the_docs_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    minutes = itertools.count(step=60.0)  # a block of padded time is over at once
    monkeypatch.setattr(padded_time, "time", SimpleNamespace(monotonic=minutes.__next__))
    ages = [20 + place % 70 for place in range(300)]
    pd.DataFrame(
        {"readmitted": ["no", "yes", "no"] * 100, "age": ages, "ward": ["A", "B", "C"] * 100}
    ).to_csv("patients.csv", index=False)
    scope: dict[str, object] = {}
    for block in pages.blocks(path.read_text(encoding="utf-8")):
        exec(block.code, scope)
    if path.stem == "README":
        assert (tmp_path / "fair.html").exists()
    if path.stem == "guide":
        ledger = scope["ledger"]
        assert isinstance(ledger, dpglm.Ledger)
        assert ledger.spent.epsilon == 1.0


def test_the_plan_of_the_guide_says_which_levels_to_merge(capsys: pytest.CaptureFixture[str]) -> None:
    (plan, *_) = pages.blocks((ROOT / "docs" / "guide.md").read_text(encoding="utf-8"))
    exec(plan.code, {})
    assert "Merge levels sea and mine of job" in capsys.readouterr().out


def test_the_docs_name_every_family_penalty_and_method() -> None:
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    for registry in (families, penalties, methods):
        for name in registry:
            assert f'"{name}"' in text, name


def test_the_readme_shows_the_table_that_its_first_block_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(next(iter(pages.blocks(README))).code, {})
    shown = re.search(r"```\n( +Differentially private .*?)```", README, flags=re.DOTALL)
    assert shown is not None
    # Facts, terms and the guarantee are the same every time; numbers, and which intervals there are, are not.
    printed = capsys.readouterr().out
    for part in (_facts, _terms, _guarantee):
        assert part(shown[1]) == part(printed)


def _facts(table: str) -> list[str]:
    # Of how many coefficients a fit tells, and how far it is from the others, is not the same every time.
    facts, told = re.subn(TOLD, r"Told: some of \1 coefficients", table.partition("=\nterm")[0])
    assert told == 1, table
    return facts.replace("=", "").split()


def _terms(table: str) -> list[str]:
    rows = table.split("=\nterm")[1].split("\n=")[0].splitlines()[2:]
    return [row.split("  ")[0] for row in rows]


def _guarantee(table: str) -> list[str]:
    return table[table.index("Differential privacy with") :].partition("Rows with numbers")[0].split()


@pytest.mark.slow
@pytest.mark.parametrize("path", marked(pages.PAGES), ids=lambda path: path.stem)
def test_a_vignette_runs_and_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    printed = pages.outputs(path, tmp_path)
    shown = list(pages.blocks(page))
    assert any(block.text for block in shown)
    for block, now in zip(shown, printed, strict=True):
        if block.text is None:
            assert now == "", f"{path.name}, line {block.line}: prints what the page does not show"
        else:
            assert pages.agrees(block.text, now), f"{path.name}, line {block.line}: now prints\n{now}"
    for figure in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page):
        assert (path.parent / figure).is_file()
        assert (tmp_path / figure).is_file()


def test_the_four_commands_of_the_whole_analysis_run(tmp_path: Path) -> None:
    path = pages.FOLDER / "from_code_book_to_methods.md"
    files = next(iter(pages.blocks(path.read_text(encoding="utf-8"))))
    subprocess.run([sys.executable, "-c", files.code], cwd=tmp_path, check=True)
    draft = dpglm.Schema.from_redcap(tmp_path / "dictionary.csv")
    (tmp_path / "schema.yaml").write_text(draft.to_yaml().replace("HIGH", "260"), encoding="utf-8")
    page = path.read_text(encoding="utf-8")
    (stated,) = re.findall(r'"""\\\n(organisation: .*?)"""', page, flags=re.DOTALL)
    (tmp_path / "study.report.yaml").write_text(stated, encoding="utf-8")
    (console,) = re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    commands = [shlex.split(line.removeprefix("$ dpglm ")) for line in console.splitlines()]
    assert len(commands) == 4
    printed = []
    for words in commands:
        run = [sys.executable, "-m", "dpglm.cli", *words]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout)
    assert "No things to correct." in printed[0]
    assert "Differential privacy with epsilon = 1, delta = 1e-6" in printed[2]
    assert "NOT PRIVATE" not in "".join(printed)
    assert dpglm.Ledger(tmp_path / "study.db").spent.epsilon == 1.0
    assert_signed(tmp_path / "study.html", tmp_path / "study.db")


def test_every_vignette_with_a_seed_says_that_it_is_not_private() -> None:
    assert len(pages.PAGES) >= 2
    for path in pages.PAGES:
        before, _, _ = path.read_text(encoding="utf-8").partition("seed=")
        assert "**not private**" in " ".join(before.split()), path.name


@pytest.mark.parametrize("of_papers", [False, pytest.param(True, marks=pytest.mark.papers)])
def test_links_between_documents_lead_somewhere(of_papers: bool) -> None:
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS, *pages.PAGES):
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            if ("/papers/" in target) is of_papers:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("x  0.2500\n", "x 0.2501\n", True),
        ("x  0.2500\n", "x 0.2530\n", False),
        ("x -0.25\n", "x 0.25\n", False),
        ("1,204 rows\n", "1204 rows\n", True),
        ("12 of 17\n", "13 of 17\n", False),
        ("95%\n", "NaN\n", False),
        ("a 1\n", "b 1\n", False),
    ],
)
def test_texts_agree_up_to_the_last_digit_and_no_further(shown: str, printed: str, same: bool) -> None:
    assert pages.agrees(shown, printed) is same
