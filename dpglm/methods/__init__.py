"""Algorithms, one file each: they plan releases, ask for them, and make coefficients of the answers."""

from dpglm.methods.auto import auto
from dpglm.methods.base import Estimate, Method, Problem, methods
from dpglm.methods.moments import Moments
from dpglm.methods.nonprivate import NonPrivate
from dpglm.methods.objective import Objective

__all__ = ["Estimate", "Method", "Moments", "NonPrivate", "Objective", "Problem", "auto", "methods"]
