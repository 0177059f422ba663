"""Coverage study on simulated designs: cases in which intervals broke, and many others.

Rows are drawn once and stay; in every replication the responses are drawn again, and so is the noise. All
budgets see the same responses, and so does the non-private fit that widths are compared with.
"""

from __future__ import annotations

from functools import lru_cache

from studies.coverage import grid as cells
from studies.coverage.cell import study_cell
from studies.coverage.designs.design import ReadyDesign
from studies.coverage.designs.page import sections
from studies.coverage.designs.registry import DESIGNS
from studies.coverage.grid import Cell, Grid, cells_of
from studies.coverage.page import lines
from studies.jobs import Job, Result
from studies.study import Study

EPSILONS = (0.5, 1.0, 4.0)
# Pure epsilon is for few coefficients.
PURE_UP_TO = 20

FULL = Grid(
    tuple(
        cell
        for one in DESIGNS.values()
        for definition in ("approximate", *(("pure",) if one.p <= PURE_UP_TO else ()))
        for cell in cells_of([one.name], EPSILONS, definition)
    ),
    replications=300,
)
QUICK = Grid((Cell("rows_500", 4.0), Cell("rows_1500", 4.0)), replications=2)


def work(job: Job) -> Result:
    """One cell."""
    return study_cell(ready_design(job["table"]), Cell.of(job), job["replications"])


@lru_cache(maxsize=2)
def ready_design(name: str) -> ReadyDesign:
    """A design with its rows and truth; the last two stay in memory."""
    return ReadyDesign.of(DESIGNS[name])


STUDY = Study(
    name="coverage_designs",
    title="Coverage of printed intervals on simulated designs",
    about="Do printed 95 % intervals cover where they are known to break, and on designs of many kinds?",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.names,
    absence=lambda name: None,
    stages=(lambda grid, names, _: cells.jobs(grid, names, lambda name: DESIGNS[name].fingerprint),),
    work=work,
    sections=sections,
    part=lambda grid, asked: cells.part(
        grid, asked, {name: (one.kind, one.half) for name, one in DESIGNS.items()}
    ),
    lines=lines,
)
