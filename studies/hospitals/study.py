"""The STACK paper's table 2 again: a main hospital and its branches."""

from __future__ import annotations

from studies.hospitals.fits import work
from studies.hospitals.grid import FULL, QUICK, jobs
from studies.hospitals.page import sections
from studies.hospitals.tables import missing
from studies.stacking.study import PAPER
from studies.study import Study

STUDY = Study(
    name="hospitals",
    title="STACK: a main hospital and its branches, table 2 again",
    about="What a branch gains from the private model of a main hospital, on three networks (STACK paper).",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.tables,
    absence=missing,
    stages=(lambda grid, tables, _: jobs(grid, tables),),
    work=work,
    sections=sections,
    paper=PAPER,
)
