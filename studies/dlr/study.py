"""The DLR paper: one logistic regression of several data holders."""

from __future__ import annotations

from studies.dlr.fits import work
from studies.dlr.grid import FULL, QUICK, SIMULATED, jobs
from studies.dlr.page import sections
from studies.dlr.tables import GUSTO, absence
from studies.page import Paper
from studies.study import Study

PAPER = Paper(
    "Puyu Wang, Hai Zhang",
    "Distributed logistic regression with differential privacy",
    "Scientia Sinica Informationis 50(10)",
    2020,
)
STUDY = Study(
    name="dlr",
    title="DLR: one model of many data holders",
    about="Noisy consensus, output perturbation and pooled fits beside one curator, and the paper's times.",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: (SIMULATED, *((GUSTO,) if grid.regions else ())),
    absence=absence,
    stages=(lambda grid, tables, _: jobs(grid, tables),),
    work=work,
    sections=sections,
    paper=PAPER,
)
