"""Parts of a table, dealt by place: what is run on different parts is paid for once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.mechanisms.base import CERTIFICATE, CHOSEN, TAIL, Rows, WorstCase
from dpglm.mechanisms.mapped import Wrapper
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.rows import RowSubset
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import BoolVector, FloatVector, IntVector

# Multiples of the golden ratio, modulo 1, fill [0, 1) evenly: parts of any share, whatever recurs in a table.
_GOLDEN = (5.0**0.5 - 1.0) / 2.0

# Why releases on different parts are paid for once.
APART = (
    "Rows are dealt to parts by their place, which is public where the number of rows is: a row that is "
    "exchanged stays in its part, so that releases on different parts are paid for once."
)


@dataclass(frozen=True)
class Part:
    """One part of a table.

    Parameters
    ----------
    edges : tuple of float
        0 = e_0 < e_1 < ... < e_m = 1: part i has a share of e_{i+1} - e_i of the places.
    index : int
        i.

    Raises
    ------
    MethodError
        Edges that do not deal out all rows, or no such part.

    Examples
    --------
    >>> halves = [Part((0.0, 0.5, 1.0), index).holds(0, 8) for index in (0, 1)]
    >>> [half.astype(int).tolist() for half in halves]
    [[1, 0, 1, 0, 1, 1, 0, 1], [0, 1, 0, 1, 0, 0, 1, 0]]
    """

    edges: tuple[float, ...]
    index: int

    def __post_init__(self) -> None:
        ends = self.edges[0], self.edges[-1]
        if ends != (0.0, 1.0) or not all(low < high for low, high in pairwise(self.edges)):
            raise MethodError(
                "edges that do not deal out all rows",
                expected="increasing shares from 0 to 1",
                remedy="Let a method deal the rows.",
            )
        if not 0 <= self.index < len(self.edges) - 1:
            raise MethodError("a part that is not there", expected="a place", remedy="Let a method deal.")

    @property
    def share(self) -> float:
        """Of the places, in (0, 1]."""
        return self.edges[self.index + 1] - self.edges[self.index]

    def holds(self, first: int, count: int) -> BoolVector:
        """Whether it holds rows ``first``, ..., ``first + count - 1``, shape (count,)."""
        turn = (first + np.arange(count)) * _GOLDEN % 1.0  # proof: place
        return np.asarray((self.edges[self.index] <= turn) & (turn < self.edges[self.index + 1]))


@dataclass(frozen=True, eq=False)
class OnPart(Wrapper):
    """A release run on one part of the rows.

    Parameters
    ----------
    inner : Release
    part : Part

    Raises
    ------
    MethodError
        By `events`, under add-remove: there a row more or less moves the places of all rows after it.

    References
    ----------
    ``parts.md`` beside this file.
    """

    part: Part

    name: ClassVar[str] = "part of the rows"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL)

    @property
    def reads(self) -> tuple[tuple[float, ...], int]:
        return self.part.edges, self.part.index

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        if relation == "add-remove":  # proof: places
            raise MethodError(
                "parts of the rows by place under add-remove",
                expected="replace-one, where the number of rows and their places are public",
                remedy="Use privacy=dpglm.Privacy(1.0, relation='replace-one').",
            )
        return self.inner.events(relation)

    def describe(self, relation: Relation) -> ReleaseDescription:
        described = self.inner.describe(relation)
        rows = Fact("Rows read", f"a part of {self.part.share:.3g} of the rows, dealt by place")
        return replace(
            described,
            theorem=f"{described.theorem}, on a part of the rows (parts.md)",
            facts=(*described.facts, rows),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return *self.inner.why(relation), APART

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """What the inner release answers on the part."""
        return self.inner.run(RowSubset(rows, self.part.holds), at, noise)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """The inner release's, its rows at places of the part, rows of zeros at the others."""
        case = self.inner.worst_case(relation, size)
        count = max(len(case.first.y), len(case.second.y))
        length = 1
        while int(self.part.holds(0, length).sum()) < count:
            length += 1
        held = np.flatnonzero(self.part.holds(0, length))
        first, second = (_spread(block, held, length) for block in (case.first, case.second))
        return WorstCase(first, second, case.direction, case.at)


def _spread(block: RowChunk, held: IntVector, length: int) -> ArrayChunk:
    """A block with its rows at the places ``held`` of ``length``."""
    count = len(block.y)
    X = np.zeros((block.X.shape[0], length), dtype=np.float32)
    y, offset = np.zeros(length), np.zeros(length)
    X[:, held[:count]], y[held[:count]] = block.X, block.y
    if block.offset is not None:
        offset[held[:count]] = block.offset
    return ArrayChunk(X, y, offset)
