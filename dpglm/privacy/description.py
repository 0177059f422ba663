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
    """What one release lets out, and why that is private.

    Attributes
    ----------
    name : str
        Of the release, as in the ledger's and the spend's lines.
    released : str
        What leaves the curator, in words.
    sensitivity : float
        Largest change by one neighbour of what the noise hides, Euclidean norm.
    noise : str
        Law of the noise, in words.
    scale : float
        Scale of the noise, in the law's own terms.
    theorem : str
        The mechanism and its theorem, in words that can be searched for, with the file of the proof.
    times : int
        Number of equal releases that this stands for.
    facts : tuple of Fact
        Further public numbers.
    """

    name: str
    released: str
    sensitivity: float
    noise: str
    scale: float
    theorem: str
    times: int = 1
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class MethodDescription:
    """How a method works, from public facts only.

    Attributes
    ----------
    algorithm : str
        In words.
    releases : tuple of ReleaseDescription
        In their order, equal ones once; empty for a fit without privacy.
    penalty_applied : str
        Where the penalty acts: inside the objective, between releases, or afterwards.
    why : str
        Why the guarantee holds, in a few sentences.
    interval_method : str
        How standard errors and intervals are made; empty where there are none.
    facts : tuple of Fact
        Further public numbers of the method, in reading order.
    """

    algorithm: str
    releases: tuple[ReleaseDescription, ...]
    penalty_applied: str = ""
    why: str = ""
    interval_method: str = ""
    facts: tuple[Fact, ...] = ()
