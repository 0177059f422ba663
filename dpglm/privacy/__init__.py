"""What is asked, what is promised, and the accounting in between."""

from dpglm.privacy.budget import Definition, Privacy, Relation
from dpglm.privacy.composition import (
    ApproximateEvent,
    BoundedSlopeEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    SampledGaussianEvent,
    basic_composition,
    compose,
)
from dpglm.privacy.guarantee import Guarantee

__all__ = [
    "ApproximateEvent",
    "BoundedSlopeEvent",
    "Definition",
    "Event",
    "GaussianEvent",
    "Guarantee",
    "PerturbedEvent",
    "Privacy",
    "PureEvent",
    "Relation",
    "SampledGaussianEvent",
    "basic_composition",
    "compose",
]
