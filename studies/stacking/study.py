"""The STACK paper's figures 1 to 4 again, by methods whose claims hold."""

from __future__ import annotations

from studies.page import Paper
from studies.stacking.fits import work
from studies.stacking.grid import FULL, QUICK, jobs
from studies.stacking.page import sections
from studies.stacking.tables import missing
from studies.study import Study

PAPER = Paper(
    "Quanming Yao, Xiawei Guo, James T. Kwok, Wei-Wei Tu, Yuqiang Chen, Wenyuan Dai, Qiang Yang",
    "Privacy-preserving Stacking with Application to Cross-organizational Diabetes Prediction",
    "International Joint Conference on Artificial Intelligence (IJCAI)",
    2019,
)
STUDY = Study(
    name="stacking",
    title="STACK: private stacking, figures 1 to 4 again",
    about="Stacks of models per group of columns or per part of the rows, against one model (STACK paper).",
    full=FULL,
    quick=QUICK,
    tables=lambda grid: grid.tables,
    absence=missing,
    stages=(lambda grid, tables, _: jobs(grid, tables),),
    work=work,
    sections=sections,
    paper=PAPER,
)
