"""The DPSC paper's figures 1 to 10: as printed, corrected, and by the default."""

from __future__ import annotations

from collections.abc import Sequence

from studies.dpsc.fits import work
from studies.dpsc.grid import FULL, QUICK, Design, strengths
from studies.dpsc.page import sections
from studies.dpsc.tables import absence
from studies.jobs import Job, Result
from studies.page import Paper
from studies.study import Study


def _tuning(design: Design, tables: Sequence[str], _: Sequence[Result]) -> list[Job]:
    return design.tuning(tables)


def _fits(design: Design, tables: Sequence[str], tuned: Sequence[Result]) -> list[Job]:
    return design.fits(tables, strengths(tuned))


PAPER = Paper(
    "Puyu Wang, Hai Zhang",
    "Differential Privacy for Sparse Classification Learning",
    "arXiv:1908.00780",
    2019,
)
STUDY = Study(
    name="dpsc",
    title="DPSC: ten figures as printed, corrected, and by the default",
    about="Private ADMM by objective perturbation: the printed algorithm, its corrections, and the default.",
    full=FULL,
    quick=QUICK,
    tables=lambda design: list(dict.fromkeys(one.table for one in design.experiments.values())),
    absence=absence,
    stages=(_tuning, _fits),
    work=work,
    sections=sections,
    paper=PAPER,
)
