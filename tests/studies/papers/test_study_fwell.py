"""The study of the FWELL paper: its quick run, what it skips, how it judges, and what its page says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_rel

from studies import __main__ as command
from studies import real_tables
from studies.fwell import claims, fits, page, tables
from studies.fwell.grid import (
    BUDGETED,
    DESIGNS,
    FULL,
    METHODS,
    NOT_PRIVATE,
    ORIGINAL,
    PRINTED,
    QUICK,
    RANDOM,
    WITNESS,
    jobs,
    seed_of,
)
from studies.fwell.study import STUDY
from studies.fwell.summary import Runs
from studies.fwell.tables import LARGEST, TABLES, Sample, folds, missing, sample
from studies.jobs import Job, Result, key_of
from studies.page import anchor
from studies.study import Findings

everywhere = pytest.mark.parametrize("name", list(TABLES))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fwell")
    assert command.main(["run", "fwell", "--quick", "--out", str(out)]) == 0
    return out


@pytest.mark.audit
def test_a_quick_run_makes_a_page_with_all_its_figures(quick: Path) -> None:
    page = (quick / "fwell.html").read_text(encoding="utf-8")
    here = [name for name in QUICK.tables if missing(name) is None]
    assert page.count("<svg") == 1 + 4 * bool(here)
    text = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert "QUICK RUN" in text
    assert not re.search(r"\bnan\b|None|inf\b", text), "a number that the page states was not found"
    assert not re.search(r"<script|<link|<img|src=|http", text)
    # A line for every figure of the paper, whether its table is here or not.
    assert [int(found) for found in re.findall(r"<td>Figure (\d+):", text)] == list(range(1, 25))


@pytest.mark.audit
def test_every_ranking_of_a_quick_run_ran(quick: Path) -> None:
    here = [name for name in QUICK.tables if missing(name) is None]
    found = STUDY.findings(quick, quick=True).results
    assert len(found) == len(jobs(QUICK, here))
    assert [one for one in found if "refused" in one] == []
    for one in found:
        if one["study"] == "fold":
            assert all(len(values) == len(one["counts"]) for values in one["accuracy"].values())
        if one["study"] == "design":
            assert (one["recall"] * one["active"]).is_integer()
    # With all features all rankings are one.
    last: dict[Any, set[Any]] = {}
    for one in found:
        if "accuracy" in one:
            values = tuple(round(value[-1], 12) for value in one["accuracy"].values())
            last.setdefault((one["table"], one["fold"]), set()).add(values)
    assert all(len(values) == 1 for values in last.values())


def test_tables_that_are_not_here_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(real_tables.VARIABLE, str(tmp_path))
    study = replace(STUDY, work=_stand_in)
    assert study.run(tmp_path / "out", quick=True) == []
    study.write(tmp_path / "fwell.html", study.findings(tmp_path / "out", quick=True))
    text = (tmp_path / "fwell.html").read_text(encoding="utf-8")
    # The page is about what margins see, where no table is.
    assert "real table 'sonar' not found" in capsys.readouterr().err
    assert "none: real table &#39;sonar&#39; not found" in text
    assert text.count("<svg") == 1


def test_without_scikit_learn_tables_are_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    reason = missing("wdbc")
    assert reason is not None
    assert "scikit-learn is not installed" in reason


def test_one_row_breaks_the_printed_promise() -> None:
    found = fits.broken_promise()
    assert (found["rows"], found["changed"]) == (1000, 999)
    assert found["claimed"] == pytest.approx(0.02)
    assert found["apart"] > 1.0
    assert found["loss"] == pytest.approx(found["epsilon"] * found["apart"] / found["claimed"])


def test_classifiers_see_the_first_features_of_a_ranking_and_no_others() -> None:
    """One factor is the class, the other columns are noise: one feature is enough, or worth nothing."""
    random = np.random.default_rng(4)
    y = np.arange(200) % 2.0
    X = np.column_stack([random.random(200), y, 1.0 - y, random.random((200, 2))])
    rows = Sample(None, None, "", X, y, np.array([0, 1, 1, 2, 3]), tuple("abcd"))  # type: ignore[arg-type]
    (train, test), *_ = folds(y, 0, 2)
    best = fits.accuracies(rows, ["b", "a", "c", "d"], [1, 4], train, test)
    worst = fits.accuracies(rows, ["a", "c", "d", "b"], [1, 4], train, test)
    assert best["SVM"][0] == best["3-NN"][0] == 1.0
    assert best["SVM"][1] == worst["SVM"][1]
    # .5 with a standard error of .05.
    assert abs(worst["SVM"][0] - 0.5) < 0.25
    assert abs(worst["3-NN"][0] - 0.5) < 0.25


@everywhere
def test_tables_are_the_ones_of_the_papers_table_with_two_classes(name: str) -> None:
    if (absence := missing(name)) is not None:
        pytest.skip(absence)
    if TABLES[name].large:
        real_tables.arrays(name).check()
        page = (Path(__file__).parents[3] / "data" / "SOURCES.md").read_text(encoding="utf-8")
        assert real_tables.arrays(name).sha256 in page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    rows = sample(name, None)
    _, samples, features = TABLES[name].printed
    if name != "lung_gordon":
        assert len(rows.y) == samples
    assert abs(len(rows.features) - features) <= max(1, features // 100)
    assert set(np.unique(rows.y)) == {0.0, 1.0}
    assert 0.0 <= rows.X.min() <= rows.X.max() <= 1.0
    assert rows.X.shape == (len(rows.y), len(rows.owner))
    if name == "soybean":
        assert int(rows.y.sum()) == 40 * len(LARGEST)
    if name == "basehock":
        assert set(np.unique(rows.X)) == {0.0, 1.0}
    sample.cache_clear()


def test_the_whole_study_has_the_papers_settings_and_its_jobs_are_distinct() -> None:
    found = jobs(FULL, list(TABLES))
    assert len({key_of(job) for job in found}) == len({seed_of(job) for job in found}) == len(found)
    assert {0.01, 1.0} <= set(FULL.epsilons) & set(FULL.large_epsilons)
    assert FULL.folds == 10
    printed = {job["epsilon"] for job in found if job.get("method") == PRINTED}
    assert min(printed) == 1e-8
    assert set(FULL.designs) | set(FULL.judged) == set(DESIGNS)
    private = [name for name in BUDGETED if METHODS[name].promise != NOT_PRIVATE]
    assert private == ["fwell", "fwell-kmeans", "fwell-block", "objective", "marginal"]


def _stand_in(job: Job) -> Result:
    """Numbers as rankings give them: FWELL is good, and noise hides it below epsilon 1."""
    if job["study"] == WITNESS:
        return {"rows": 10, "changed": 9, "apart": 1.0, "claimed": 0.1, "epsilon": 0.1, "loss": 1.0}
    method, epsilon = job["method"], job.get("epsilon")
    if job["study"] == "time":
        return {"processor": 2.0, "wall": 3.0, "gigabytes": 0.5}
    if job["study"] == "design":
        return {"recall": 1.0 if method == ORIGINAL else 0.25, "active": 4, "seconds": 1.0}
    wiggle = 0.001 * ((7 * job["fold"] + job["repeat"]) % 5)
    good = 0.9 if method == ORIGINAL or (epsilon or 0.0) >= 1.0 else 0.6
    best_of = {one: [good + wiggle] * 5 + [0.9] for one in fits.CLASSIFIERS}
    return {"counts": fits.counts_of(30), "accuracy": best_of, "size": 100, "majority": 0.5, "seconds": 1.0}


def test_verdicts_follow_from_the_intervals() -> None:
    runs = Runs([{**job, **_stand_in(job)} for job in jobs(FULL, ["wdbc", "sonar"])])
    said = {line[0]: (line[2], line[4]) for line in claims.lines(runs)}
    assert said["Figures 1 to 12: at epsilon 1 accuracy is similar to FWELL's"] == ("holds", "holds")
    assert said["Figures 1 to 12: accuracy falls as epsilon falls"] == ("holds", "holds")
    close = "Figures 13 to 24: at epsilon .01 accuracy is very close to FWELL's in most cases"
    assert said[close] == ("does not hold", "does not hold")
    assert len(said) == 4, "claims of privacy and recalls of designs have no verdict here"
    assert runs.threshold("wdbc", "fwell") == 1.0
    (witnessed,) = claims.witnessed(runs)
    assert "one row changes 9 of 10 margins" in witnessed


def test_every_line_of_the_list_of_figures_leads_to_a_section() -> None:
    results = [{**job, **_stand_in(job)} for job in jobs(FULL, ["wdbc", "sonar"])]
    sections = page.sections(Findings(FULL, quick=False, results=results, absent={}))
    headings = {anchor(one.heading) for one in sections}
    (listed,) = (one.tables[0] for one in sections if one.heading == page.PLACES)
    assert len(listed.rows) == 25
    found = [re.search('href="#(.*?)"', str(row[1])) for row in listed.rows]
    assert {one[1] for one in found if one is not None} <= headings
    assert sum(one is not None for one in found) == 1 + 2 * 2 * 2


def test_differences_are_paired_over_folds_and_deals() -> None:
    random = np.random.default_rng(2)
    values: dict[str, list[float]] = {ORIGINAL: [], RANDOM: []}
    results: list[Result] = []
    for job in jobs(FULL, ["wdbc"]):
        if job.get("method") in values and "strength" not in job and job["study"] == "fold":
            values[job["method"]].append(float(random.random()))
            accuracy = {one: [values[job["method"]][-1]] * 3 for one in fits.CLASSIFIERS}
            results.append({**job, "counts": [1, 3, 30], "accuracy": accuracy})
    found = Runs(results[::-1]).gap("wdbc", (ORIGINAL, None), (RANDOM, None), "SVM", 3)
    assert found is not None
    expected = ttest_rel(values[ORIGINAL], values[RANDOM]).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.count == FULL.folds * FULL.repeats == 30
