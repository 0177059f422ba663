"""Bounded functions of rows plus calibrated noise, each with its proof beside it."""

from dpglm.releases.base import Release, Rows, WorstCase
from dpglm.releases.blocks import BlockMinimisers
from dpglm.releases.curvature import Curvature
from dpglm.releases.exact import ExactMinimiser
from dpglm.releases.gradient import Gradient
from dpglm.releases.meta import MetaMinimiser
from dpglm.releases.minimiser import PerturbedMinimiser
from dpglm.releases.moments import MomentSums, SecondMoments
from dpglm.releases.output import PerturbedOutput
from dpglm.releases.parts import OnPart, Part
from dpglm.releases.printed import PrintedDPSC, PrintedMPADMM
from dpglm.releases.shortened import Shortened, ShortenedMinimiser, length_sensitivity
from dpglm.releases.span import Span, SpanVariances

__all__ = [
    "BlockMinimisers",
    "Curvature",
    "ExactMinimiser",
    "Gradient",
    "MetaMinimiser",
    "MomentSums",
    "OnPart",
    "Part",
    "PerturbedMinimiser",
    "PerturbedOutput",
    "PrintedDPSC",
    "PrintedMPADMM",
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
