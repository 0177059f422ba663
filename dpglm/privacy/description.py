"""Descriptions of releases and methods: what leaves the curator, its sensitivity, noise and theorem.

They are written once, by the release and the method themselves. Summaries, plans, reports and audits print
them as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

FactValue: TypeAlias = float | int | str | tuple[float, ...] | tuple[str, ...] | None


@dataclass(frozen=True)
class Fact:
    """A public number or text with the label that a reader sees.

    Examples
    --------
    >>> Fact("ridge", 2.0).label
    'ridge'
    """

    label: str
    value: FactValue


@dataclass(frozen=True)
class ReleaseDescription:
    """What one release lets out, and why that is private."""

    name: str  # as in the ledger's and the spend's lines
    released: str  # what leaves the curator, in words
    sensitivity: float  # largest change by one neighbour of what the noise hides, Euclidean norm
    noise: str  # its law, in words
    scale: float  # in the law's own terms
    theorem: str  # with the mechanism, in words that can be searched for, and the file of the proof
    times: int = 1  # how many equal releases this stands for
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class MethodDescription:
    """How a method works, from public facts only."""

    algorithm: str  # in words
    releases: tuple[ReleaseDescription, ...]  # in their order, equal ones once; empty without privacy
    penalty_applied: str = ""  # where the penalty acts: inside the objective, between releases, or afterwards
    why: str = ""  # why the guarantee holds, in a few sentences
    interval_method: str = ""  # how standard errors and intervals are made; empty where there are none
    facts: tuple[Fact, ...] = ()  # in reading order
