"""Bounded functions of rows plus calibrated noise, each with its proof beside it."""

from dpglm.releases.base import Release, Rows, WorstCase
from dpglm.releases.exact import ExactMinimiser
from dpglm.releases.minimiser import PerturbedMinimiser

__all__ = ["ExactMinimiser", "PerturbedMinimiser", "Release", "Rows", "WorstCase"]
