"""Coverage study: printed intervals against known coefficients, on ten tables, and of five linear
regressions, three of counts, three models of ordered levels and three of levels without an order.

The rows of real tables stay as they are; only the response is drawn again, from a model with known
coefficients. All budgets see the same responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from studies.coverage import grid as cells
from studies.coverage.cell import study_cell
from studies.coverage.counts import ReadyCounts
from studies.coverage.grid import DECLARED, Cell, Grid, cells_of
from studies.coverage.levels import ReadyLevels
from studies.coverage.page import lines
from studies.coverage.ready import ReadyTable
from studies.coverage.tables import (
    BINARY,
    COUNTS,
    NUMERIC,
    ORDERED,
    TABLES,
    UNORDERED,
    absence,
    design,
    table,
)
from studies.coverage.tables_page import sections
from studies.coverage.unordered import ReadyUnordered
from studies.jobs import Job, Result
from studies.study import Study

EPSILONS = (0.5, 1.0, 4.0)
TRUTH = "truth"

FULL = Grid(
    (
        *cells_of([one.name for one in BINARY], EPSILONS),
        *cells_of(("fair", "randhie"), EPSILONS, "pure"),
        *cells_of([one.name for one in NUMERIC], EPSILONS),
        *cells_of([one.name for one in NUMERIC], (1.0, 4.0), scales=DECLARED),
        *(Cell(one.name, epsilon) for one in (*COUNTS, *ORDERED, *UNORDERED) for epsilon in (1.0, 4.0)),
    ),
    replications=300,
    others={
        "gusto: Killip": 200,
        "diabetes130: readmitted": 100,
        "sim_levels": 200,
        **{one.name: 200 for one in (*COUNTS, *UNORDERED)},
    },
)
QUICK = Grid((Cell("fair", 1.0), Cell("randhie: disea", 4.0)), replications=2)


def work(job: Job) -> Result:
    """What is true of a table, or one cell."""
    ready = ready_table(job["table"])
    if job.get("what") == TRUTH:
        return ready.to_json()
    return study_cell(ready, Cell.of(job), job["replications"])


@lru_cache(maxsize=2)
def ready_table(name: str) -> ReadyTable:
    """A table with its truths; the last two stay in memory."""
    found = table(name)
    kinds = {"poisson": ReadyCounts, "ordinal": ReadyLevels, "multinomial": ReadyUnordered}
    return kinds.get(found.family, ReadyTable).of(found)


def truths(grid: Grid, names: Sequence[str], results: Sequence[Result]) -> list[Job]:
    """What is true of each table."""
    return [{"what": TRUTH, "table": name, "design": design(name)} for name in names]


STUDY = Study(
    name="coverage",
    title="Coverage of printed intervals",
    about="Do printed 95 % intervals cover, on the rows of ten tables, at several budgets?",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.names,
    absence=absence,
    stages=(truths, lambda grid, names, _: cells.jobs(grid, names, design)),
    work=work,
    sections=sections,
    part=lambda grid, asked: cells.part(
        grid, asked, {name: (one.family, "seen" if one.seen else "unseen") for name, one in TABLES.items()}
    ),
    lines=lines,
)
