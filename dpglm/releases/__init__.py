"""Bounded functions of rows plus calibrated noise, each with its proof beside it."""

from dpglm.releases.base import Release, Rows, WorstCase
from dpglm.releases.curvature import Curvature
from dpglm.releases.exact import ExactMinimiser
from dpglm.releases.minimiser import PerturbedMinimiser
from dpglm.releases.moments import MomentSums, SecondMoments
from dpglm.releases.shortened import Shortened, ShortenedMinimiser, length_sensitivity
from dpglm.releases.span import Span, SpanVariances

__all__ = [
    "Curvature",
    "ExactMinimiser",
    "MomentSums",
    "PerturbedMinimiser",
    "Release",
    "Rows",
    "SecondMoments",
    "Shortened",
    "ShortenedMinimiser",
    "Span",
    "SpanVariances",
    "WorstCase",
    "length_sensitivity",
]
