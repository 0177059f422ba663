"""The RADMM paper's figures 1 to 4 again, with claims that hold."""

from __future__ import annotations

from studies.page import Paper
from studies.radmm.codings import codings
from studies.radmm.fits import work
from studies.radmm.grid import FULL, QUICK, coding_jobs, jobs
from studies.radmm.page import sections
from studies.radmm.tables import TITLES, missing
from studies.study import Study

PAPER = Paper(
    "Chen Chen, Jaewoo Lee",
    "Rényi Differentially Private ADMM for Non-Smooth Regularized Optimization",
    "ACM Conference on Data and Application Security and Privacy (CODASPY)",
    2020,
)
STUDY = Study(
    name="radmm",
    title="RADMM: private stochastic ADMM, figures 1 to 4 again",
    about="Private ADMM on gradients, DP-SGD and the default, on two tables and a simulation (RADMM paper).",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: list(TITLES),
    absence=missing,
    stages=(
        lambda grid, tables, _: coding_jobs(grid, tables),
        lambda grid, tables, results: jobs(grid, tables, codings(results)),
    ),
    work=work,
    sections=sections,
    paper=PAPER,
)
