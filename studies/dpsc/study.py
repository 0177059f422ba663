"""Runs what is missing of a study."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from studies import jobs as runner
from studies.dpsc.fits import EXACT, PENALTIES, work
from studies.dpsc.grid import Study
from studies.dpsc.summary import Found
from studies.dpsc.tables import SIMULATION, absence

FILE = "results.jsonl"
# Entries of a result that are its job's.
JOB = frozenset(
    ("table", "columns", "kind", "penalty", "rows", "set", "strength", "iterations", "inner", "c", "alpha")
) | {"epsilon", "draw"}


def run(study: Study, out: Path, *, processes: int = 1) -> Found:
    """Results of all experiments whose table is on this machine; the others are named on the console.

    Parameters
    ----------
    out : Path
        Folder of the results; what is there already is not run again.
    """
    tables = list(dict.fromkeys(grid.table for grid in study.grids.values()))
    absent = {table: reason for table in tables if (reason := absence(table)) is not None}
    for reason in absent.values():
        print(f"skipped: {reason}", file=sys.stderr)
    present = [table for table in tables if table not in absent]
    tuned = runner.run(study.tuning(present), work, out / FILE, processes=processes, title="strengths")
    chosen = strengths(tuned)
    asked = {name: grid.jobs(chosen) for name, grid in study.grids.items() if grid.table not in absent}
    jobs = {runner.key_of(job): job for grid in asked.values() for job in grid}
    order = sorted(jobs.values(), key=_turn)
    results = runner.run(order, work, out / FILE, processes=processes, title="fits")
    return _found(asked, tuned, results, absent)


def so_far(study: Study, out: Path) -> Found:
    """What a folder of results holds of a study, without running anything."""
    done = runner.read(out / FILE)
    tables = list(dict.fromkeys(grid.table for grid in study.grids.values()))
    tuned = [
        {**job, **done[runner.key_of(job)]} for job in study.tuning(tables) if runner.key_of(job) in done
    ]
    chosen = strengths(tuned)
    complete = [table for table in tables if all((table, penalty) in chosen for penalty in PENALTIES)]
    asked = {name: grid.jobs(chosen) for name, grid in study.grids.items() if grid.table in complete}
    jobs = {runner.key_of(job): job for grid in asked.values() for job in grid}
    results = [{**job, **done[key]} for key, job in jobs.items() if key in done]
    return _found(asked, tuned, results, {table: "not run yet" for table in tables if table not in complete})


def strengths(tuned: Sequence[runner.Result]) -> dict[tuple[str, str], float]:
    """The strength of least cross-validated loss, the larger one of two, by table and penalty.

    Examples
    --------
    >>> one = {"table": "simulation", "penalty": "l1"}
    >>> strengths([{**one, "strength": 0.1, "loss": 0.5}, {**one, "strength": 0.01, "loss": 0.4}])
    {('simulation', 'l1'): 0.01}
    """
    best: dict[tuple[str, str], runner.Result] = {}
    for one in sorted(tuned, key=lambda one: (one["loss"], -one["strength"])):
        best.setdefault((str(one["table"]), str(one["penalty"])), one)
    return {which: float(one["strength"]) for which, one in best.items()}


def _turn(job: runner.Job) -> tuple[float, bool, int, int]:
    """First draws before second ones, so that what a stop leaves can be looked at.

    LHA takes minutes on rows of KDD Cup: it waits for all first draws.
    """
    kdd = job["table"] != SIMULATION
    late = kdd and job["kind"] == EXACT and job["penalty"] == "l1/2"
    return (0.5 if late else float(job.get("draw", 0)), kdd, int(job["set"]), int(job["rows"]))


def _found(
    asked: Mapping[str, Sequence[runner.Job]],
    tuned: Sequence[runner.Result],
    results: Sequence[runner.Result],
    absent: Mapping[str, str],
) -> Found:
    own = {runner.key_of({name: one[name] for name in one if name in JOB}): one for one in results}
    fits = {
        name: [own[key] for job in grid if (key := runner.key_of(job)) in own] for name, grid in asked.items()
    }
    seconds = sum(float(one["seconds"]) for one in [*tuned, *results])
    missing = len({runner.key_of(job) for grid in asked.values() for job in grid} - own.keys())
    return Found(fits=fits, tuned=tuned, absent=absent, seconds=seconds, missing=missing)
