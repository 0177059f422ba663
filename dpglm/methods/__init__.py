"""Algorithms, one file each: they plan releases, ask for them, and make coefficients of the answers."""

from dpglm.methods.auto import auto
from dpglm.methods.base import Estimate, Method, Problem, methods
from dpglm.methods.dp_admm import DPADMM
from dpglm.methods.dpsc import DPSC
from dpglm.methods.dpsgd import DPSGD
from dpglm.methods.moments import Moments
from dpglm.methods.mpadmm import MPADMM
from dpglm.methods.nonprivate import NonPrivate
from dpglm.methods.objective import Objective
from dpglm.methods.output import Output
from dpglm.methods.pst_f import PSTF
from dpglm.methods.pst_s import PSTS
from dpglm.methods.ssadmm import SSADMM
from dpglm.methods.transfer import PPHTL, PSTH

__all__ = [
    "DPADMM",
    "DPSC",
    "DPSGD",
    "MPADMM",
    "PPHTL",
    "PSTF",
    "PSTH",
    "PSTS",
    "SSADMM",
    "Estimate",
    "Method",
    "Moments",
    "NonPrivate",
    "Objective",
    "Output",
    "Problem",
    "auto",
    "methods",
]
