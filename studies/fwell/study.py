"""The FWELL paper's two experiments again, and designs that say which ranking sees what."""

from __future__ import annotations

from studies.fwell.fits import work
from studies.fwell.grid import FULL, QUICK, jobs
from studies.fwell.page import sections
from studies.fwell.tables import missing
from studies.page import Paper
from studies.study import Study

STUDY = Study(
    name="fwell",
    title="FWELL: private feature selection, figures 1 to 24 again",
    about="Features ranked by local margins: the original, as printed, corrected, and two plain rankings.",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.tables,
    absence=missing,
    stages=(lambda grid, tables, _: jobs(grid, tables),),
    work=work,
    sections=sections,
    paper=Paper(
        "Jun Yang, Yun Li",
        "Differentially Private Feature Selection",
        "International Joint Conference on Neural Networks (IJCNN)",
        2014,
    ),
)
