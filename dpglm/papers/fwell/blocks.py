"""Margins inside of blocks: near hits and misses among a few private rows, a margin row for each block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.mechanisms.base import CERTIFICATE, CHOSEN, TAIL, Release, Rows, WorstCase, release_error
from dpglm.mechanisms.mapped import Wrapper
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.rows import SHRINK, RowView
from dpglm.papers.fwell.margins import bounded
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatBlock, FloatMatrix, FloatVector, IntVector

# Multiples of the golden ratio, modulo 1, put neighbours in a sorted table into different blocks.
_GOLDEN = (5.0**0.5 - 1.0) / 2.0
WHY = (
    "Rows are dealt to blocks by their place, and near hits and misses are looked for inside of a block: a "
    "row that is exchanged changes the margin of one block, whose length is at most 1."
)


def dealt(count: int, size: int) -> list[IntVector]:
    """Places of the rows of each block: ``size`` rows or a few more, by a public rule.

    Examples
    --------
    >>> [block.tolist() for block in dealt(6, 3)]
    [[0, 5, 2], [4, 1, 3]]
    """
    order = np.argsort(np.arange(count) * _GOLDEN % 1.0, kind="stable")  # proof: places
    return np.array_split(order, max(count // size, 1))


@dataclass(frozen=True, eq=False)
class OnBlocks(Wrapper):
    """A release on one margin row for each block of rows.

    Parameters
    ----------
    inner : Release
        On rows of norm at most 1 and response 1.
    rows : int
        Of a block, >= 2.
    radius : float
        Margins are shortened to this length and divided by it, > 0.

    Raises
    ------
    MethodError
        By `events`, under add-remove: there a row more or less moves the places of all rows after it.
    """

    rows: int
    radius: float

    name: ClassVar[str] = "margin weights by blocks"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL)

    def __post_init__(self) -> None:
        if self.rows < 2 or not 0.0 < self.radius < np.inf:
            raise release_error("blocks of fewer than two rows, or no radius", "rows >= 2 and radius > 0")

    @property
    def inside(self) -> Release:
        return self.inner

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        if relation == "add-remove":  # proof: add-remove
            raise MethodError(
                "blocks of rows by place under add-remove",
                expected="replace-one, where the number of rows and their places are public",
                remedy="Use privacy=dpglm.Privacy(1.0, relation='replace-one'), or method='fwell'.",
            )
        return self.inner.events(relation)

    def describe(self, relation: Relation) -> ReleaseDescription:
        described = self.inner.describe(relation)
        facts = (Fact("Rows of a block", self.rows), Fact("Margins are shortened to", self.radius))
        return replace(
            described,
            name=self.name,
            theorem=f"{described.theorem}, on margins of blocks (blocks.md)",
            facts=(*described.facts, *facts),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return WHY, *self.inner.why(relation)

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        near, far = (BlockRows(rows, self.rows, self.radius) for rows in (first, second))
        return self.inner.log_ratio(answers, near, far, at)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """What the inner release answers on the blocks; the table is held in memory, once."""
        return self.inner.run(BlockRows(rows, self.rows, self.radius), at, noise)  # proof: rows

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """A row against its opposite, in a block with a row of either class."""
        first, second = np.full((size, 3), 0.5), np.full((size, 3), 0.5)
        first[0], second[0] = (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)
        y = np.array([1.0, 1.0, 0.0])
        one, other = (ArrayChunk(X.astype(np.float32), y, None) for X in (first, second))
        return WorstCase(one, other, np.eye(size)[0])


class BlockRows(RowView):
    """The mean margin of each block as a row of norm at most 1, with the response 1."""

    def __init__(self, rows: Rows, size: int, radius: float) -> None:
        super().__init__(rows)
        self._per_block, self._radius = size, radius
        self._margins: FloatBlock | None = None

    def row_count(self) -> int:
        return len(dealt(self._rows.row_count(), self._per_block))

    def chunks(self) -> Iterator[RowChunk]:
        if self._margins is None:
            self._margins = self._computed()
        count = self._margins.shape[1]
        yield ArrayChunk(self._margins, np.ones(count), None)

    def _computed(self) -> FloatBlock:
        chunks = list(self._rows.chunks())
        X = np.concatenate(
            [np.empty((self.size, 0)), *(chunk.X for chunk in chunks)], axis=1, dtype=np.float32
        )
        y = np.concatenate([np.empty(0), *(chunk.y for chunk in chunks)])
        blocks = dealt(len(y), self._per_block)
        z = np.zeros((len(X), len(blocks)), dtype=np.float32)
        for place, block in enumerate(blocks):
            mean = mean_margin(X[:, block].T.astype(np.float64), y[block])
            length = float(np.sqrt(np.sum(np.square(mean))))
            z[:, place] = mean * (SHRINK / max(length, self._radius))  # proof: shortened
        return bounded(z, np.ones(len(blocks), dtype=np.bool_))


def mean_margin(X: FloatMatrix, y: FloatVector) -> FloatVector:
    """Mean margin of the rows of a block that have both a hit and a miss in it, shape (size,).

    ``X``, shape (k, size), holds rows in the unit box, NaN where a value is missing; ``y`` is 0, 1 or -1.

    Examples
    --------
    >>> X = np.array([[0.0, 0.5], [0.0, 0.75], [1.0, 0.5], [1.0, 0.25]])
    >>> mean_margin(X, np.array([0.0, 0.0, 1.0, 1.0]))
    array([ 1.   , -0.125])
    """
    from scipy.spatial.distance import cdist

    if len(X) == 0:
        return np.zeros(X.shape[1])
    missing = np.isnan(X)
    filled = np.where(missing, 0.5, X)
    distances = cdist(filled, filled, "cityblock")
    alike = y[:, None] == y[None, :]
    np.fill_diagonal(distances, np.inf)
    some = (y >= 0.0)[:, None] & (y >= 0.0)[None, :]
    hits = np.where(alike & some, distances, np.inf)
    misses = np.where(~alike & some, distances, np.inf)
    usable = np.isfinite(hits.min(axis=1)) & np.isfinite(misses.min(axis=1))
    z = np.abs(filled - filled[misses.argmin(axis=1)]) - np.abs(filled - filled[hits.argmin(axis=1)])
    z[missing] = 0.0
    z[~usable] = 0.0
    return np.asarray(z.sum(axis=0) / max(int(usable.sum()), 1))
