"""Coverage study: do printed 95 % intervals cover, on real designs and on simulated ones?

The rows of each table stay as they are and only the response is drawn again, from a logistic model with known
coefficients: those of a non-private fit, with |z| < 2 set to exactly zero. A response belongs to a table and
a replication: all budgets see the same ones, and so does the non-private fit that widths are compared with.
Results hold coefficient-level numbers only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

from dpglm.privacy.budget import Privacy
from studies.coverage import grid as cells
from studies.coverage.fits import nonprivate_fit, private_fit
from studies.coverage.grid import FULL, LINEAR, QUICK, TRUTH, Cell, Grid, seed_of
from studies.coverage.linear import LinearTruth
from studies.coverage.page import sections
from studies.coverage.summary import summaries
from studies.coverage.tables import absence, table
from studies.coverage.truth import Prepared
from studies.jobs import Job, Result
from studies.study import Study


def work(job: Job) -> Result:
    """One job: the truths of a table, one replication of a cell, or a cell of the linear regressions."""
    start = time.perf_counter()
    if job["what"] == LINEAR:
        found = _linear(job["table"]).study(job["epsilon"], job["relation"], job["replications"])
    elif job["what"] == TRUTH:
        found = prepared(job["table"]).truth.to_json()
    else:
        found = _replicate(Cell.of(job), job["number"])
    return {**found, "seconds": time.perf_counter() - start}


def _replicate(cell: Cell, number: int) -> Result:
    """One replication of one cell: arrays of shape (p,) by name."""
    ready = prepared(cell.table)
    rows = ready.rows.answered(ready.response(number))
    if cell.epsilon is None:
        return dict(nonprivate_fit(rows, ready.theta))
    privacy = Privacy(cell.epsilon, cell.delta, cell.relation)
    return dict(private_fit(rows, privacy, seed_of(cell.table, number, "noise", cell.key)))


@lru_cache(maxsize=2)
def prepared(name: str) -> Prepared:
    """A table with its truths; the last two stay in memory."""
    return Prepared.of(table(name))


@lru_cache(maxsize=1)
def _linear(name: str) -> LinearTruth:
    return LinearTruth(name)


def continued(grid: Grid, tables: Sequence[str], results: Sequence[Result]) -> list[Job]:
    """More replications of the cells in which a coefficient is below its bar."""
    low = [cell for cell, summary in summaries(results).items() if not summary.met]
    whole = dict.fromkeys([*(Cell(cell.table) for cell in low), *low])
    more = range(grid.replications, grid.continued)
    return [job for cell in whole for job in cells.replications(cell, more)]


STUDY = Study(
    name="coverage",
    title="Coverage of printed intervals",
    about="Do printed 95 % intervals cover, on the rows of ten tables, at several budgets?",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: list(dict.fromkeys(cell.table for cell in grid.cells)),
    absence=absence,
    stages=(
        lambda grid, tables, _: [*cells.truths(grid, tables), *cells.linear(grid, tables)],
        lambda grid, tables, _: cells.fits(grid, tables),
        continued,
    ),
    work=work,
    sections=sections,
)
