"""The study of speed: a quick run with its page, verdicts of invented results, and its contestants."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.jobs import Result, key_of
from studies.speed import grid, machine, measure, simulated
from studies.speed.contest import Figure, best
from studies.speed.fit_rows import PATHS
from studies.speed.grid import FULL, QUICK, absence, jobs
from studies.speed.measure import CONTESTANTS, Contestant, Contestants, Seat, fresh
from studies.speed.page import lines, summary
from studies.speed.rows import KINDS, contest
from studies.speed.study import STUDY
from studies.speed.summary import points, table
from studies.study import Findings, Part

# Rows that no peer is needed for, and few processes.
ALONE = ("plan", "threads", "path", "cost_epsilon", "cost_threads")
USED = {"processor": "a fast one", "dpglm": "0, code 1"}


@pytest.fixture
def contestants() -> Iterator[Contestants]:
    yield CONTESTANTS
    CONTESTANTS.close()


def measured(number: int, own: dict[str, Any], peer: dict[str, Any], used: object = USED) -> Result:
    """One round of the row `plan`, which took no time."""
    job = {"row": "plan", "rows": 1_000, "columns": 40, "round": number}
    return {**job, "turns": {"plan": own, "l2 fit": peer}, "machine": used}


def findings(*results: Result, missing: int = 0) -> Findings[grid.Grid]:
    return Findings(FULL, False, results, {"kdd": "no such file"}, missing)


def test_a_quick_run_measures_and_writes_its_page(
    tmp_path: Path, contestants: Contestants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "core_count", lambda: 2)  # so that there is a curve against threads
    study = STUDY.narrowed(Part(only=ALONE, replications=1), quick=True)
    assert study.run(tmp_path, quick=True) == []
    found = study.findings(tmp_path, quick=True)
    assert found.missing == 0
    assert {name for one in found.results for name in one["turns"]} >= {"plan", "l2 fit", "default", "path"}
    assert all(turn["cpu"] > 0.0 for one in found.results for turn in one["turns"].values())
    study.write(tmp_path / "speed.html", found)
    text = (tmp_path / "speed.html").read_text(encoding="utf-8")
    assert "<h1>Speed and memory</h1>" in text
    assert "1,000 x 40: plan / its fit</td><td>0.5</td>" in text
    assert text.count("<svg") == 2
    assert f"<td>{machine.processor()}</td>" in text
    # What was measured is not measured again.
    monkeypatch.setattr(Contestants, "ask", lambda *_: pytest.fail("asked again"))
    assert study.run(tmp_path, quick=True) == []


@pytest.mark.audit
def test_every_row_of_a_quick_run_is_measured(tmp_path: Path, contestants: Contestants) -> None:
    assert STUDY.run(tmp_path, quick=True) == []
    found = STUDY.findings(tmp_path, quick=True)
    assert found.missing == 0
    assert {one["row"] for one in found.results} == set(QUICK.names) - set(found.absent)
    assert not [line for line in table(found.results) if math.isnan(line.value)]


@pytest.mark.parametrize(
    ("own", "other", "verdict"),
    [(0.5, 1.0, "met"), (0.51, 1.0, "MISSED"), (0.51, 1.03, "met")],
)
def test_a_goal_is_the_largest_ratio_allowed(own: float, other: float, verdict: str) -> None:
    (line,) = table([measured(0, {"cpu": own}, {"cpu": other})])
    assert (line.figure.goal, line.value, line.verdict) == (0.5, own / other, verdict)
    assert line.spread == "-"


def test_the_best_of_all_rounds_counts_and_single_rounds_are_shown() -> None:
    rounds = [(1.0, 4.0), (2.0, 1.0), (1.2, 2.0)]
    (line,) = table([measured(at, {"cpu": own}, {"cpu": peer}) for at, (own, peer) in enumerate(rounds)])
    assert line.value == 1.0  # not the best ratio of a round, .25
    assert (line.verdict, line.spread) == ("MISSED", "0.25 to 2")
    assert (line.seconds("plan"), line.seconds("l2 fit"), line.seconds("")) == ("1", "1", "-")
    turns = best([{"fit": {"cpu": 2.0, "megabytes": 9.0}}, {"fit": {"cpu": 3.0, "megabytes": 11.0}}])
    assert turns == {"fit": {"cpu": 2.0, "megabytes": 11.0}}


def test_figures_are_ratios_differences_or_what_was_measured() -> None:
    turns = {
        "a": {"cpu": 3.0, "wall": 8.0, "passes": 2.0, "megabytes": 512.4},
        "b": {"cpu": 1.0, "wall": 2.0},
    }
    assert Figure("", "a", "b").value(turns) == 3.0
    assert Figure("", "a", "b", by="wall").value(turns) == 4.0
    assert Figure("", "a", "b", passes=True).value(turns) == 1.5
    less = Figure("", "a", "b", goal=1.9, less=True)
    assert (less.value(turns), less.text(2.0), less.verdict(2.0)) == (2.0, "2 s", "MISSED")
    peak = Figure("", "a", goal=512.0, by="megabytes")
    assert (peak.value(turns), peak.text(512.4), peak.verdict(512.4)) == (512.4, "512 MB", "MISSED")
    assert Figure("", "a", "b").verdict(99.0) == "-"
    assert Figure("", "a", "b").text(0.05) == "0.05"


def test_what_was_refused_has_no_figure_and_its_reason_is_told(tmp_path: Path) -> None:
    found = findings(measured(0, {"refused": "too wide"}, {"cpu": 1.0}), missing=3)
    (line,) = table(found.results)
    assert math.isnan(line.value)
    assert (line.verdict, line.figure.text(line.value)) == ("refused", "-")
    assert summary([line]) == "0 of 1 goals that were measured are met; not met: 1,000 x 40: plan / its fit."
    assert "plan, rows 1,000, columns 40 : plan : too wide" in lines(found)
    STUDY.write(tmp_path / "speed.html", found)
    text = (tmp_path / "speed.html").read_text(encoding="utf-8")
    assert "INCOMPLETE: 3 jobs" in text
    assert "Left out: kdd: no such file." in text
    assert "<td>too wide</td>" in text
    assert "MIXED" not in text


def test_a_page_without_results_says_so(tmp_path: Path) -> None:
    STUDY.write(tmp_path / "speed.html", findings(missing=7))
    assert "INCOMPLETE: 7 jobs" in (tmp_path / "speed.html").read_text(encoding="utf-8")


def test_rounds_of_two_machines_are_told_apart(tmp_path: Path) -> None:
    one = measured(0, {"cpu": 1.0}, {"cpu": 4.0})
    two = measured(1, {"cpu": 1.0}, {"cpu": 4.0}, {**USED, "processor": "a slow one"})
    STUDY.write(tmp_path / "speed.html", findings(one, two))
    text = (tmp_path / "speed.html").read_text(encoding="utf-8")
    assert "MIXED: rounds were measured with 2 different sets" in text
    assert "<td>processor</td><td>a fast one</td><td>a slow one</td>" in text
    assert "1 of 1 goals that were measured are met." in text


def test_curves_have_a_point_for_each_size() -> None:
    found = [
        {
            "row": "cost_rows",
            "rows": rows,
            "columns": 3,
            "round": 0,
            "turns": {"l2": {"cpu": cpu, "wall": 1.0}},
        }
        for rows, cpu in ((1_000, 2.0), (100, 1.0))
    ]
    assert [(point.size, point.cpu) for point in points(found, "rows")] == [(100.0, 1.0), (1_000.0, 2.0)]
    assert points(found, "columns") == []


def test_jobs_of_the_whole_study_are_distinct_json_and_each_is_a_contest() -> None:
    for design in (FULL, QUICK):
        asked = jobs(design, design.names, ())
        assert len({key_of(job) for job in asked}) == len(asked)
        assert [json.loads(key_of(job)) for job in asked] == [dict(job) for job in asked]
        for job in asked:
            made = contest(job)
            names = [turn.name for turn in made.turns]
            assert len(set(names)) == len(names)
            assert {name for figure in made.figures for name in (figure.own, figure.other) if name} <= set(
                names
            )
            assert made.figures or KINDS[job["row"]].axis in job
    assert set(FULL.names) == set(KINDS)
    assert set(FULL.names) - set(QUICK.names) == {"kdd", "design_kdd"}
    assert {penalty for penalty, _, _ in PATHS} == {"l1", "group", "l1/2", "lq", "scad", "mcp"}


def test_more_threads_than_cores_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "core_count", lambda: 4)
    asked = [job["threads"] for job in jobs(FULL, ["cost_threads"], ())]
    assert sorted(set(asked)) == [1, 2, 4]


def test_a_row_without_its_peer_or_data_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "peers", lambda: {"diffprivlib": "1", "patsy": "1", "formulaic": "1"})
    assert absence("fit") == "skglm: not in .venv-peers, which make benchmark makes"
    monkeypatch.setattr(grid, "available", lambda name: False)
    assert "kddcup99" in str(absence("kdd"))
    monkeypatch.setattr(machine, "version", lambda name: None if name == "distributed" else "1")
    assert absence("dask") == "distributed: not installed"
    assert absence("plan") is None


def test_a_part_is_asked_for_by_rows_and_rounds() -> None:
    part = STUDY.narrowed(Part(only=("plan", "wide"), replications=7), quick=False).full
    assert {(entry.row, entry.rounds) for entry in part.entries} == {("plan", 7), ("wide", 7)}
    with pytest.raises(ValueError, match="nothing called"):
        STUDY.narrowed(Part(only=("haste",)), quick=False)
    with pytest.raises(ValueError, match="rows and rounds only"):
        STUDY.narrowed(Part(epsilons=(1.0,)), quick=False)


def test_simulated_rows_are_the_same_in_files_and_in_memory() -> None:
    rows = simulated.BLOCK + 5
    X, y = simulated.numbers(rows, 2)
    blocks = list(simulated.blocks(rows, 2))
    np.testing.assert_array_equal(X, np.concatenate([part for part, _ in blocks]))
    np.testing.assert_array_equal(y, np.concatenate([labels for _, labels in blocks]))
    assert [len(labels) for _, labels in blocks] == [simulated.BLOCK, 5]
    assert 0.4 < y.mean() < 0.6  # symmetric: five standard errors are .007
    assert abs(X).max() <= 1.0


ECHO = """
from studies.speed.timing import serve
def echo(word):
    print("noise of a library")
    return {"word": word}
def refuse():
    raise LookupError("not here")
def fail():
    raise ArithmeticError("no root")
def sleep():
    import time
    time.sleep(60)
serve({one.__name__: one for one in (echo, refuse, fail, sleep)}, refusals=(LookupError,))
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contestant:
    (tmp_path / "echo_contestant.py").write_text(ECHO, encoding="utf-8")
    env = measure.environment()
    return Contestant(
        sys.executable, "echo_contestant", env={**env, "PYTHONPATH": f"{measure.ROOT}:{tmp_path}"}
    )


def test_a_contestant_answers_refuses_fails_and_goes_on(echo: Contestant) -> None:
    with echo:
        assert echo.ask("echo", word="a") == {"word": "a"}
        assert echo.ask("refuse") == {"refused": "not here"}
        with pytest.raises(RuntimeError, match="ArithmeticError: no root"):
            echo.ask("fail")
        assert echo.ask("echo", word="b") == {"word": "b"}
    assert not echo.running


def test_a_contestant_that_takes_too_long_is_ended(echo: Contestant, monkeypatch: pytest.MonkeyPatch) -> None:
    seat, own = Seat(), Contestants()
    own._seated[seat] = echo
    assert own.ask(seat, "echo", word="a") == {"word": "a"}
    monkeypatch.setattr(measure, "LIMIT", 0.05)
    assert own.ask(seat, "sleep") == {"refused": "no answer within 0.05 s"}
    assert not echo.running
    own.close()


def test_processes_with_many_rows_end_when_they_have_no_turn(echo: Contestant) -> None:
    own, seat = Contestants(), Seat(alone="many rows")
    own._seated[seat] = echo
    own.leave({seat})
    assert echo.running
    own.leave({Seat()})
    assert not echo.running


def test_a_fresh_interpreter_is_timed_unless_it_times_itself() -> None:
    found = fresh("import sys; print(sys.argv[1])", "word")
    assert set(found) == {"cpu", "wall"}
    assert found["cpu"] > 0.0
    assert fresh('print("a")\nprint("{\\"cpu\\": 7.0}")')["cpu"] == 7.0
    with pytest.raises(RuntimeError, match="stopped with 3"):
        fresh("raise SystemExit(3)")


def test_threads_of_a_seat_are_those_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPGLM_THREADS", "9")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "9")
    assert "DPGLM_THREADS" not in measure.environment()
    found = measure.environment(2, 3)
    assert (found["OPENBLAS_NUM_THREADS"], found["DPGLM_THREADS"]) == ("2", "3")
    (free,) = (turn.seat for turn in contest({"row": "blas", "rows": 9, "columns": 2}).turns[1:])
    assert free == replace(Seat(), blas=0)
