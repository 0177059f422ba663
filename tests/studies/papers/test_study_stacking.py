"""The study of the STACK figures: a quick run makes its page, goes on where it stopped, and counts well."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from studies import __main__ as command
from studies import real_tables
from studies.jobs import Result, key_of
from studies.paired import Claim
from studies.stacking import claims
from studies.stacking.grid import (
    EPSILON,
    FULL,
    METHODS,
    QUICK,
    VARIANCE,
    K,
    cell,
    jobs,
    method_of,
    seed_of,
)
from studies.stacking.study import STUDY
from studies.stacking.summary import Areas
from studies.stacking.tables import CLIP, COHORT, DESIGNS, missing, projected, sample

REAL = [name for name in DESIGNS if name != COHORT]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stack")
    assert command.main(["run", "stacking", "--quick", "--out", str(out)]) == 0
    return out


@pytest.mark.audit
def test_a_quick_run_makes_a_page_with_all_its_figures(quick: Path) -> None:
    page = (quick / "stacking.html").read_text(encoding="utf-8")
    assert re.findall(r"<figcaption>Figure (\d):", page) == ["1", "2", "3", "4"]
    assert page.count("<svg") == 4
    for name in QUICK.tables:
        assert (DESIGNS[name].title + ", pure" in page) == (missing(name) is None)
    text = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert "QUICK RUN" in text
    assert not re.search(r"\bnan\b|None|inf\b", text), "a number that the page states was not found"
    # Nothing but text, styles and pictures of its own: no scripts, no other files.
    assert not re.search(r"<script|<link|<img|src=", page)
    assert "http" not in text


@pytest.mark.audit
def test_every_fit_of_a_quick_run_ran_and_knows_what_it_measured(quick: Path) -> None:
    here = [name for name in QUICK.tables if missing(name) is None]
    found = STUDY.findings(quick, quick=True).results
    assert len(found) == len(jobs(QUICK, here))
    assert [one for one in found if "refused" in one] == []
    for one in found:
        assert 0.0 <= one["auc"] <= 1.0
        if "alone" in one:
            assert sorted(one["alone"]) == [f"C-{place}" for place in range(K)]
            assert all(0.0 <= area <= 1.0 for area in one["alone"].values())
    assert {one["table"] for one in found if "alone" in one} == set(here)


def test_tables_that_are_not_here_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(real_tables.VARIABLE, str(tmp_path))
    study = replace(STUDY, work=_stand_in)
    assert study.run(tmp_path / "out", quick=True) == []
    study.write(tmp_path / "stacking.html", study.findings(tmp_path / "out", quick=True))
    text = (tmp_path / "stacking.html").read_text(encoding="utf-8")
    told = capsys.readouterr().err
    for name in QUICK.tables[:-1]:
        assert f"real table {name!r} not found" in told
        assert f"{name}&#39; not found" in text
        assert DESIGNS[name].title + ", pure" not in text
    assert DESIGNS[COHORT].title + ", pure" in text


@pytest.mark.parametrize("name", REAL)
def test_arrays_are_the_ones_the_figures_were_made_with(name: str) -> None:
    real = real_tables.arrays(name)
    if not real_tables.available(name):
        pytest.skip(real_tables.absence(name))
    real.check()
    page = (Path(__file__).parents[3] / "data" / "SOURCES.md").read_text(encoding="utf-8")
    assert real.sha256 in page.split(f"\n## {name}\n")[1].split("\n## ")[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_components_come_from_rows_that_are_not_fitted(name: str) -> None:
    if (absence := missing(name)) is not None:
        pytest.skip(absence)
    found, design = projected(name, 10), DESIGNS[name]
    rows = real_tables.arrays(name).rows
    assert found.scores.shape == (rows - design.public, 10)
    assert len(found.scores) >= design.train + design.test
    # Fresh rows vary as public ones do: six standard errors of a deviation, heavy tails allowed for.
    ratio = found.scores.std(axis=0) / found.deviations
    assert (np.abs(np.log(ratio)) < 0.35).all()
    one, other = (sample(name, repeat, columns=10, rows=200) for repeat in (0, 1))
    assert not one.train.equals(other.train)
    assert not set(map(tuple, one.train.to_numpy())) & set(map(tuple, one.test.to_numpy()))
    assert one.schema.rows == 200
    for column, variable in one.schema.variables.items():
        if column != "y":
            assert variable.high >= CLIP * np.sqrt(one.importance[column])
            assert variable.high <= 1.1 * CLIP * np.sqrt(one.importance[column])
    weights = list(one.importance.values())
    assert weights == sorted(weights, reverse=True)
    common = sample(name, 0, columns=10, rows=200, common=True)
    assert len({variable.high for key, variable in common.schema.variables.items() if key != "y"}) == 1
    assert common.train.equals(one.train)


def test_the_simulated_hospital_is_handed_over_in_the_middle_of_its_bounds() -> None:
    rows = sample(COHORT, 0, columns=10, rows=2_000)
    glucose = rows.schema.variables["glucose_fasting"]
    assert (glucose.low, glucose.high) == (-1.0, 1.0)
    # Bounds are three standard deviations: the standard error of a mean of 2,000 is .0075.
    assert abs(rows.train["glucose_fasting"].mean()) < 0.05
    assert (len(rows.train), len(rows.test), rows.schema.rows) == (2_000, 1_000, 2_000)
    assert not set(rows.train.index) & set(rows.test.index)
    assert rows.positive.tolist() == (rows.test["diabetes"] == "yes").tolist()


def test_weights_are_variances_or_powers_of_alpha_and_groups_follow_their_order() -> None:
    importance = {"a": 4.0, "b": 2.0, "c": 1.0, "d": 0.5}
    expected = {VARIANCE: (6.0, 1.5), 0.5: (0.75, 0.1875), 2.0: (6.0, 24.0)}
    for weights, (first, second) in expected.items():
        job = {"repeat": 0, **cell("pst-f-w", "pure", 1.0, models=2, weights=weights)}
        method = method_of(job, importance, "public data: a test")
        assert isinstance(method, dpglm.methods.PSTF)
        assert method.groups == {"C-0": ["a", "b"], "C-1": ["c", "d"]}
        assert method.importance == {"C-0": first, "C-1": second}
        assert method.provenance == "public data: a test"
    uniform = method_of({"repeat": 3, **cell("pst-f-u", "pure", 1.0, models=10)}, importance, "")
    assert isinstance(uniform, dpglm.methods.PSTF)
    assert (uniform.groups, uniform.split_seed, uniform.importance) == (10, 3, None)


def test_the_whole_study_is_the_papers_and_its_jobs_are_distinct() -> None:
    found = jobs(FULL, list(DESIGNS))
    assert len({key_of(job) for job in found}) == len(found)
    assert len({seed_of(job) for job in found}) == len(found)
    assert (K, FULL.repeats, FULL.columns, FULL.rows) == (5, 10, 100, None)
    assert {DESIGNS["mnist_0v8"].train, DESIGNS["mnist_0v8"].test} == {3_000, 2_000}
    assert DESIGNS["newsgroups_sci_talk"].train == 4_321
    # Whole repeats first, so that a stopped run has some.
    repeats = [job["repeat"] for job in found]
    assert repeats == sorted(repeats)


def _stand_in(job: Any) -> Result:
    """Areas as a fit gives them: PST-F(W) is best, PST-S worst, the wrong weights are worse than none."""
    base = {"pst-f-w": 0.9, "pst-f-u": 0.8, "plr": 0.7, "pst-s": 0.6, "auto": 0.95}.get(job["method"], 0.85)
    if job["weights"] not in (None, VARIANCE) and job["weights"] > 1.0:
        base = 0.5
    found: Result = {"auc": base + 0.001 * job["repeat"] + 0.001 * (job["epsilon"] or 0.0), "seconds": 1.0}
    if job["method"] == "pst-f-w" and job["combine"] == "model":
        alone = {f"C-{place}": 0.85 - 0.1 * place for place in range(K)}
        found |= {"alone": alone, "majority": 0.6, "weighted": found["auc"] + (-1) ** job["repeat"] * 0.01}
    return found


def test_verdicts_follow_from_the_intervals() -> None:
    planned = jobs(FULL, list(DESIGNS))
    areas = Areas([{**job, **_stand_in(job)} for job in planned])
    asked: list[Claim] = [
        *claims.figure_1(areas, FULL),
        *claims.figure_3(areas, FULL),
        *claims.figure_4(areas),
        *claims.beyond(areas, FULL),
    ]
    verdicts = {claim.statement: claim.verdict for claim in asked}
    assert verdicts["PST-F(W) is better than PST-F(U)"] == "holds"
    assert verdicts["PST-F(W) is better than the default"] == "does not hold"
    assert verdicts["The area of PLR grows with epsilon"] == "holds"
    assert verdicts["Weights the wrong way round lower the area"] == "holds"
    assert verdicts["The high-level model is better than majority voting"] == "holds"
    assert verdicts["The high-level model is better than weighted voting"] == "not told apart"
    assert verdicts["C-0, with the most important columns, is the best single model"] == "holds"
    gap = areas.gap(COHORT, cell("pst-f-w", "pure", EPSILON), cell("plr", "pure", EPSILON))
    assert gap is not None
    assert (gap.count, gap.mean) == (FULL.repeats, pytest.approx(0.2))


def test_every_method_is_in_a_legend_or_a_table() -> None:
    assert {job["method"] for job in jobs(FULL, list(DESIGNS))} == set(METHODS)
