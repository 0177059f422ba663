"""Coverage study on simulated designs: cases in which intervals broke, and many others.

Rows are drawn once and stay; in every replication the responses are drawn again, and so is the noise. All
budgets see the same responses, and so does the non-private fit that widths are compared with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

import dpglm
from studies.coverage.designs import grid as cells
from studies.coverage.designs.design import Prepared
from studies.coverage.designs.fits import nonprivate_fit, private_fit
from studies.coverage.designs.grid import FULL, QUICK, Grid
from studies.coverage.designs.page import sections
from studies.coverage.designs.registry import DESIGNS
from studies.coverage.designs.summary import code, line, stale, summaries
from studies.coverage.grid import TRUTH, Cell, seed_of
from studies.jobs import Job, Result
from studies.study import Findings, Study


def work(job: Job) -> Result:
    """The truth of a design, or one replication of one cell."""
    start = time.perf_counter()
    ready = prepared(job["table"])
    if job["what"] == TRUTH:
        return {"names": list(ready.names), "beta": ready.beta.tolist()}
    cell, number = Cell.of(job), job["number"]
    y = ready.response(number)
    if cell.epsilon is None:
        found = nonprivate_fit(ready, y)
    else:
        privacy = dpglm.Privacy(cell.epsilon, cell.delta, cell.relation)
        found = private_fit(ready, y, privacy, seed_of("designs", cell.table, number, "noise", cell.key))
    return {**found, "seconds": time.perf_counter() - start, "code": code()}


@lru_cache(maxsize=2)
def prepared(name: str) -> Prepared:
    """A design with its rows and truth; the last two stay in memory."""
    return Prepared.of(DESIGNS[name])


def lines(findings: Findings[Grid]) -> Sequence[str]:
    """One line per cell, and a warning where results are of other code."""
    found = [line(cell, one) for cell, one in summaries(findings.results).items()]
    return [*found, *stale(findings)]


STUDY = Study(
    name="coverage_designs",
    title="Coverage of printed intervals on simulated designs",
    about="Do printed 95 % intervals cover where they are known to break, and on designs of many kinds?",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.names,
    absence=lambda name: None,
    stages=(
        lambda grid, names, _: cells.truths(grid, names),
        lambda grid, names, _: cells.fits(grid, names),
    ),
    work=work,
    sections=sections,
    part=cells.part,
    lines=lines,
)
