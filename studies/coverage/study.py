"""Run the coverage study: ``python -m studies.coverage.study --cells fair:1:add-remove --jobs 2``.

The rows of each table stay as they are and only the response is drawn again, from a logistic model with known
coefficients: those of a non-private fit, with |z| < 2 set to exactly zero. A response belongs to a table and
a replication: all budgets see the same ones, and so does the non-private fit that widths are compared with.

What is done is on disk, in chunks of replications: a run that was stopped goes on where it was, and loses at
most the chunk that each worker was at. Results hold coefficient-level numbers only.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

from studies.coverage import private_step
from studies.coverage.cells import Cell, parse_cells, seed_of
from studies.coverage.nonprivate import nonprivate_fit
from studies.coverage.store import Arrays, missing_chunks, write_chunk
from studies.coverage.tables import table
from studies.coverage.truth import Prepared

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "studies" / "coverage" / "runs"
CHUNK = 10
# Rooms whose code decides the numbers; runs remember a hash of it.
ROOMS = ("data", "glm", "inference", "noise", "optim", "privacy", "releases")


@dataclass(frozen=True)
class Task:
    """Some replications of one cell."""

    cell: Cell
    numbers: range
    out: Path
    code: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing; 1 if a task failed, 2 if the cells make no sense, 130 if stopped by Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cells", default="all", help="table:epsilon:relation[:pure], ...; * is all of them")
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--chunk", type=int, default=CHUNK, help="replications a file")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the results")
    parser.add_argument("--nonprivate-only", action="store_true", help="only the yardstick of each table")
    options = parser.parse_args(arguments)
    try:
        cells = parse_cells(options.cells)
    except ValueError as error:
        parser.error(str(error))
    if options.nonprivate_only:
        cells = tuple(dict.fromkeys(Cell(cell.table) for cell in cells))
    out, jobs, chunk = options.out.resolve(), options.jobs, options.chunk
    try:
        failed = run(cells, options.replications, out=out, jobs=jobs, chunk=chunk, progress=True)
    except KeyboardInterrupt:
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    for text in failed:
        print(f"failed: {text}", file=sys.stderr)
    return 1 if failed else 0


def run(
    cells: Sequence[Cell],
    replications: int,
    *,
    out: Path,
    jobs: int = 1,
    chunk: int = CHUNK,
    progress: bool = False,
) -> list[str]:
    """Run what is not on disk yet, the non-private fit of each table included.

    Returns
    -------
    list of str
        What failed, a line each.
    """
    from tqdm import tqdm

    tasks = []
    code = code_hash()
    for name in dict.fromkeys(cell.table for cell in cells):
        reason = table(name).absence()
        if reason is not None:
            print(f"skipped: {name}: {reason}", file=sys.stderr)
            continue
        wanted = dict.fromkeys((Cell(name), *(cell for cell in cells if cell.table == name)))
        missing = [
            Task(cell, numbers, out, code)
            for cell in wanted
            for numbers in missing_chunks(out, cell, replications, chunk)
        ]
        if missing:
            prepared(name, out)  # truths are written once, here, before any worker reads them
            tasks += missing
    failed = []
    with tqdm(total=sum(len(task.numbers) for task in tasks), unit="fit", disable=not progress) as bar:
        for task, error in _results(tasks, jobs):
            bar.set_postfix_str(f"{task.cell.table} {task.cell.key}", refresh=False)
            bar.update(len(task.numbers))
            if error is not None:
                failed.append(f"{task.cell.table} {task.cell.key} {task.numbers}: {error}")
    return failed


def _results(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, str | None]]:
    """Tasks as they end, with the error of those that failed."""
    if jobs <= 1:
        for task in tasks:
            try:
                work(task)
            except Exception as error:  # one bad cell must not stop a night's run
                yield task, repr(error)
            else:
                yield task, None
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_follow_parent) as pool:
        futures: dict[Future[None], Task] = {pool.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                raised = future.exception()
                yield futures[future], None if raised is None else repr(raised)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)  # chunks that were begun are still finished
            raise


def _follow_parent() -> None:
    """Leave Ctrl-C to the process that started the worker, and end with it if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def work(task: Task) -> None:
    """Run one task and write its file."""
    ready = prepared(task.cell.table, task.out)
    start = time.perf_counter()
    fits = [replicate(ready, task.cell, number) for number in task.numbers]
    seconds = (time.perf_counter() - start) / len(fits)
    results = {name: np.stack([fit[name] for fit in fits]) for name in fits[0]}
    write_chunk(task.out, task.cell, task.numbers.start, results, {"seconds": seconds, "code": task.code})


def replicate(ready: Prepared, cell: Cell, number: int) -> Arrays:
    """One replication of one cell: arrays of shape (p,) by name."""
    y = ready.response(number)
    rows = ready.rows
    if cell.epsilon is None:
        return dict(nonprivate_fit(rows.answered(y), ready.theta))
    fit = private_step.private_fit(
        rows,
        rows.coding,
        y,
        cell.epsilon,
        cell.delta,
        cell.relation,
        seed_of(cell.table, number, "noise", cell.key),
    )
    found = {name: np.asarray(fit[name]) for name in private_step.FIELDS}
    for name, array in found.items():
        assert array.shape == (rows.size,), f"{name} has shape {array.shape}"
    return {**found, "printed": found["printed"].astype(np.bool_)}


@lru_cache(maxsize=2)
def prepared(name: str, out: Path) -> Prepared:
    """A table with its truths; the last two stay in memory."""
    return Prepared.of(table(name), out)


def code_hash() -> str:
    """Hash of the code that decides the numbers."""
    found = hashlib.sha256()
    paths = [path for room in ROOMS for path in sorted((ROOT / "dpglm" / room).rglob("*.py"))]
    own = ("private_step", "recipes", "nonprivate", "rows", "truth")
    for path in [*paths, *(ROOT / "studies" / "coverage" / f"{name}.py" for name in own)]:
        found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
