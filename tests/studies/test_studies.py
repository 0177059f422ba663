"""The machinery of the studies: jobs run once, are kept and resumed; pages and index say what is there."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studies
from studies import __main__ as command
from studies import index
from studies.jobs import Job, JobStore, Result, key_of
from studies.page import Section, Table, write
from studies.paired import auc
from studies.study import PAGES, Findings, Study

OF_PAPERS = ("dpsc", "radmm", "stacking", "hospitals", "fwell", "dlr", "predictions")
# Their pages are written on an idle machine.
LATER = ("speed",)
JOBS: list[Job] = [{"number": number} for number in range(5)]


def square(job: Job) -> Result:
    """The work of a study that takes no time."""
    if job["number"] < 0:
        raise ArithmeticError("no root")
    return {"square": job["number"] ** 2, "odd": np.arange(4) % 2 == 1, "halves": np.arange(3) / 2.0}


def sections(findings: Findings[int]) -> list[Section]:
    rows = [(str(one["number"]), str(one["square"])) for one in findings.results]
    return [Section("", [*findings.notes(), "`x < 1`"], tables=[Table("Squares.", ("n", "square"), rows)])]


TOY = Study(
    name="squares",
    title="Squares & roots",
    about="Numbers.",
    full=5,
    quick=2,
    tables=lambda grid: ("here", "away"),
    absence=lambda name: None if name == "here" else "no file",
    stages=(
        lambda grid, tables, _: [{"number": number} for number in range(grid)],
        lambda grid, tables, results: [{"number": 10 + one["square"]} for one in results],
    ),
    work=square,
    sections=sections,
)


def test_columns_of_numbers_are_told_from_columns_of_words(tmp_path: Path) -> None:
    rows = [
        (
            "one",
            "0.665 ± 0.033 *",
            "+0.150 [+0.026, +0.274]",
            "0 / 4 / 8 (-0.139 to +0.035)",
            "holds: .3",
            "-",
        ),
        ("two", "-", "5.1 %", "11.06 s", "1e-06", ".845 (.002)"),
    ]
    write(tmp_path / "page.html", "Numbers", [Section("", tables=[Table("All.", tuple("abcdef"), rows)])])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<table class="n2 n3 n4 n6">' in text
    assert ".n6 td:nth-child(6) { white-space: nowrap; }" in text


def test_kept_results_are_gone_on_from_where_nothing_else_is_left(tmp_path: Path) -> None:
    kept = tmp_path / "tree" / "squares.jsonl.gz"
    first = JobStore(tmp_path / "first.jsonl", kept)
    first.run(JOBS, square)
    assert first.keep(JOBS[:3]) == 3
    written = kept.read_bytes()
    again = JobStore(tmp_path / "again.jsonl", kept)
    assert [one["square"] for one in again.results(JOBS)] == [0, 1, 4]
    assert again.results(JOBS)[1]["halves"].tolist() == [0.0, 0.5, 1.0]
    ran: list[int] = []

    def noted(job: Job) -> Result:
        ran.append(job["number"])
        return square(job)

    again.run(JOBS, noted)
    assert ran == [3, 4]
    assert again.keep(JOBS) == 5
    assert kept.read_bytes() != written
    assert first.keep(JOBS) == 5
    assert len(JobStore(tmp_path / "none.jsonl", kept).results(JOBS)) == 5


def test_results_are_kept_and_jobs_that_are_done_are_not_run_again(tmp_path: Path) -> None:
    store, ran = JobStore(tmp_path / "new" / "results.jsonl"), []

    def counted(job: Job) -> Result:
        ran.append(job["number"])
        return square(job)

    assert store.run(JOBS[:3], counted) == []
    lines = store.path.read_text("utf-8").splitlines(keepends=True)
    store.path.write_text("".join(lines[:-1]) + lines[-1][:20], encoding="utf-8")  # a stop cut the last one
    assert len(store.read()) == 2
    assert store.run(JOBS, counted) == []
    assert ran == [0, 1, 2, 2, 3, 4]
    assert [one["square"] for one in store.results(JOBS)] == [0, 1, 4, 9, 16]
    assert [one["square"] for one in store.results(JOBS[::-2])] == [16, 4, 0]
    last = store.results(JOBS)[-1]
    assert last["odd"].tolist() == [False, True, False, True]
    assert last["halves"].tolist() == [0.0, 0.5, 1.0]


def test_a_job_that_fails_is_named_and_the_others_run(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "results.jsonl")
    (failure,) = store.run([{"number": -1}, *JOBS], square)
    assert '{"number": -1}' in failure
    assert "no root" in failure
    assert len(store.read()) == len(JOBS)


@pytest.mark.audit
def test_workers_give_the_same_results_as_one_process(tmp_path: Path) -> None:
    one, two = JobStore(tmp_path / "one.jsonl"), JobStore(tmp_path / "two.jsonl")
    jobs: list[Mapping[str, Any]] = [*JOBS, {"number": -1}]
    failures = [store.run(jobs, square, processes=count) for store, count in ((one, 1), (two, 2))]
    assert failures[0] == failures[1] != []
    assert str(one.results(JOBS)) == str(two.results(JOBS))


def test_a_study_runs_its_stages_and_its_page_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert TOY.run(tmp_path, quick=True) == []
    assert "skipped: away: no file" in capsys.readouterr().err
    found = TOY.findings(tmp_path, quick=True)
    assert [one["number"] for one in found.results] == [0, 1, 10, 11]
    assert (found.missing, found.absent) == (0, {"away": "no file"})
    store = TOY.store(tmp_path)
    store.path.write_text("".join(store.path.read_text("utf-8").splitlines(keepends=True)[:3]), "utf-8")
    TOY.write(tmp_path / "page.html", TOY.findings(tmp_path, quick=True))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Squares &amp; roots</h1>" in text
    assert "QUICK RUN" in text
    assert "INCOMPLETE: 1 jobs" in text
    assert "Left out: away: no file." in text
    assert "<code>x &lt; 1</code>" in text
    assert "<td>10</td><td>100</td>" in text
    assert "<td>11</td>" not in text


@pytest.mark.papers
def test_the_command_lists_the_studies(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == list(index.STUDIES)


def test_the_command_runs_and_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = replace(TOY, name="coverage")
    monkeypatch.setattr(index, "study", lambda name: toy)
    out = ["--quick", "--out", str(tmp_path)]
    assert command.main(["page", "coverage", *out]) == 0
    assert "INCOMPLETE: 2 jobs" in (tmp_path / "coverage.html").read_text("utf-8")
    assert command.main(["run", "coverage", *out]) == 0
    assert "INCOMPLETE" not in (tmp_path / "coverage.html").read_text("utf-8")
    assert f"wrote {tmp_path / 'coverage.html'}" in capsys.readouterr().out
    monkeypatch.setattr(index, "study", lambda name: replace(toy, work=lambda job: square({"number": -1})))
    (tmp_path / "coverage.jsonl").unlink()
    assert command.main(["run", "coverage", *out]) == 1
    assert "no root" in capsys.readouterr().err


@pytest.mark.papers
def test_the_index_lists_every_page_of_the_folder(tmp_path: Path) -> None:
    text = (PAGES / index.NAME).read_text(encoding="utf-8")
    linked = re.findall(r'<a href="([^"]+)">', text)
    assert sorted(linked) == sorted(path.name for path in PAGES.glob("*.html") if path.name != index.NAME)
    assert {f"{name}.html" for name in index.STUDIES if name not in LATER} <= set(linked)
    for name in linked:
        (tmp_path / name).write_bytes((PAGES / name).read_bytes())
    assert index.write(tmp_path).read_text(encoding="utf-8") == text, "run make reports"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.papers) if name in OF_PAPERS else name for name in index.STUDIES],
)
def test_pages_have_the_title_of_their_study_and_need_no_network(name: str) -> None:
    if name in LATER and not (PAGES / f"{name}.html").exists():
        pytest.skip(f"no page yet: python -m studies run {name}")
    text = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    assert f"<h1>{index.study(name).title}</h1>" in text
    assert f"python -m studies run {name}" in text
    assert not re.search(r"<script|<link|<img|src=", text)
    assert "http" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    random = np.random.default_rng(3)
    scores = random.integers(0, 6, size=60).astype(float)
    positive = random.random(60) < 0.3
    pairs = [(one > other) + 0.5 * (one == other) for one in scores[positive] for other in scores[~positive]]
    assert auc(positive, scores) == pytest.approx(np.mean(pairs))
    assert np.isnan(auc(np.ones(3, dtype=bool), np.arange(3.0)))


@pytest.mark.parametrize("of_papers", [False, pytest.param(True, marks=pytest.mark.papers)])
def test_examples_run(of_papers: bool) -> None:
    own = (*OF_PAPERS, "papers")
    rooms = [room for room in pkgutil.iter_modules(studies.__path__) if (room.name in own) is of_papers]
    names = [f"studies.{room.name}" for room in rooms]
    for room in rooms:
        if room.ispkg:
            folder = str(Path(studies.__path__[0]) / room.name)
            names += [module.name for module in pkgutil.walk_packages([folder], f"studies.{room.name}.")]
    assert names
    skipped = ("__main__", ".predictions.peer", "real_tables")
    for name in names:
        if not name.endswith(skipped):
            assert doctest.testmod(importlib.import_module(name)).failed == 0, name


@pytest.mark.papers
@pytest.mark.parametrize("name", OF_PAPERS)
def test_jobs_of_a_study_are_distinct_json(name: str) -> None:
    study = index.study(name)
    jobs = study.stages[0](study.full, study.tables(study.full), [])
    keys = [key_of(job) for job in jobs]
    assert len(set(keys)) == len(keys)
    assert [json.loads(key) for key in keys] == [dict(job) for job in jobs]
