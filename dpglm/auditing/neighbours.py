"""Worst-case neighbouring tables of coded rows, made from what is declared; no private table is touched."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical
from dpglm.glm.families import Family
from dpglm.mechanisms.base import Release
from dpglm.optim.rows import ArrayChunk, RowChunk
from dpglm.privacy.budget import Relation
from dpglm.typing import FloatBlock, FloatMatrix, FloatVector

# Rows that hold a fit where the row that differs has its largest slope.
REST = 200
# Rows at ends of declared ranges that are looked at; drawn where there are more.
_CORNERS = 512
_SEED = 20_240_229
# Two rows less opposite than this (a cosine) can both have slopes near 1.
_OPPOSITE = -0.75


class Table:
    """Given coded rows as a release reads them."""

    def __init__(self, block: RowChunk) -> None:
        self._block = block

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return int(self._block.X.shape[0])

    def chunks(self) -> Iterator[RowChunk]:
        """The rows in one block."""
        yield self._block

    def row_count(self) -> int:
        """Number of rows."""
        return int(self._block.y.shape[0])


@dataclass(frozen=True)
class Neighbours:
    """Two tables that differ in one row."""

    label: str  # what they are, in words
    first: Table
    second: Table
    direction: FloatVector | None = None  # where the output of the first release differs most, if known
    at: FloatVector | None = None  # a point for releases that are evaluated somewhere


def release_neighbours(
    release: Release, relation: Relation, size: int, axes: FloatMatrix | None = None
) -> Neighbours:
    """The release's own worst case, with offsets that keep slopes or weights at their largest.

    ``axes``, shape (p, k), are declared rows that stand for the unit vectors of ``size`` columns, where the
    release reads rows and nothing else.
    """
    case = release.worst_case(relation, size)
    if axes is None or not release.turns:
        tables = Table(case.first), Table(case.second)
        return Neighbours("rows of norm 1 with offsets", *tables, case.direction, case.at)
    count = axes.shape[1]
    first, second = (
        Table(ArrayChunk((axes @ block.X[:count]).astype(np.float32), block.y, block.offset))
        for block in (case.first, case.second)
    )
    direction = case.direction
    if len(direction) == size:
        direction = axes @ direction[:count]
    else:
        square = direction.reshape(size, size)[:count, :count]
        direction = (axes @ square @ axes.T).ravel()
    return Neighbours("longest declared rows with offsets", first, second, direction, case.at)


def declared_axes(schema: Schema, coding: Coding) -> FloatMatrix:
    """The longest declared row and, in models of more than one column, one at a wide angle; shape (p, k)."""
    X = corners(schema, coding)[0].astype(np.float64)
    places = [_longest(X)]
    if len(X) > 1:
        places.append(_widest(X, places[0]))
    return np.ascontiguousarray(X[:, places])


def declared_neighbours(
    schema: Schema, coding: Coding, family: Family, relation: Relation
) -> list[Neighbours]:
    """Pairs of tables of rows that the schema allows.

    The longest declared row against none or against the opposite response, alone and beside a rest that
    holds the fit where its slope is largest; under replace-one also against the row that is most unlike it.
    """
    X, offsets = corners(schema, coding)
    longest = _longest(X)
    low, high = family.worst_case_responses

    def table(rows: Sequence[tuple[int, float]], rest: Sequence[tuple[int, float]] = ()) -> Table:
        count = REST // len(rest) if rest else 0
        listed = [*rows, *(row for row in rest for _ in range(count))]
        places = np.array([place for place, _ in listed], dtype=np.intp)
        y = np.array([answer for _, answer in listed], dtype=np.float64)
        X_ = np.ascontiguousarray(X[:, places])
        return Table(ArrayChunk(X_, y, None if offsets is None else offsets[places]))

    row, flipped = (longest, high), (longest, low)
    pairs: list[tuple[str, list[tuple[int, float]], list[tuple[int, float]], Sequence[tuple[int, float]]]]
    if relation == "add-remove":
        pairs = [
            ("longest declared row or none, empty rest", [row], [], ()),
            ("longest declared row or none, small rest", [row], [], (flipped,)),
        ]
    else:
        other = _most_unlike(X, longest)
        answer, against = (high, low) if other[1] > 0 else (low, high)
        rest = (flipped, (other[0], against))
        wide = _widest(X, longest)
        pairs = [
            ("longest declared row, two responses, empty rest", [row], [flipped], ()),
            ("longest declared row or one at a wide angle, empty rest", [row], [(wide, high)], ()),
            ("longest declared row or the one most unlike it, empty rest", [row], [(other[0], answer)], ()),
            ("longest declared row or the one most unlike it, small rest", [row], [(other[0], answer)], rest),
        ]
    return [Neighbours(label, table(a, rest), table(b, rest)) for label, a, b, rest in pairs]


def corners(schema: Schema, coding: Coding) -> tuple[FloatBlock, FloatVector | None]:
    """Coded rows at ends and middles of declared ranges and at levels, shape (p, k), and their offsets."""
    values: dict[str, NDArray[Any]] = {}
    for name in coding.columns:
        variable = schema.variables[name]
        if isinstance(variable, Categorical):
            values[name] = np.arange(len(variable.levels))
        else:
            middle = 0.5 * variable.low + 0.5 * variable.high
            values[name] = np.array([variable.low, variable.high, middle])
    generator = np.random.default_rng(_SEED)
    if math.prod(len(column) for column in values.values()) <= _CORNERS:
        listed = list(itertools.product(*values.values()))
        columns = {
            name: np.array(column) for name, column in zip(values, zip(*listed, strict=True), strict=True)
        }
    else:
        columns = {name: generator.choice(column, _CORNERS) for name, column in values.items()}
    X, offsets, usable = coding.encode(columns or {"": np.zeros(1)})
    usable_rows = np.flatnonzero(usable)
    return np.ascontiguousarray(X[:, usable_rows]), None if offsets is None else offsets[usable_rows]


def _longest(X: NDArray[Any]) -> int:
    return int(np.argmax(np.square(X, dtype=np.float64).sum(axis=0)))


def _widest(X: NDArray[Any], longest: int) -> int:
    """The row whose product x x' is farthest from that of the longest one."""
    wide = X.astype(np.float64)
    own = np.square(wide).sum(axis=0)
    return int(np.argmax(own**2 - 2.0 * (wide.T @ wide[:, longest]) ** 2))


def _most_unlike(X: FloatBlock, longest: int) -> tuple[int, int]:
    """A row and the sign of its response: far from the first one in score, and both slopes can be near 1."""
    wide = X.astype(np.float64)
    products = wide.T @ wide[:, longest]
    square = float(products[longest])
    own = np.square(wide).sum(axis=0)
    best = (longest, 1, -math.inf)
    for sign in (1, -1):
        apart = square + own - 2.0 * sign * products
        allowed = sign * products > _OPPOSITE * math.sqrt(square) * np.sqrt(own) - 1e-9
        index = int(np.argmax(np.where(allowed, apart, -math.inf)))
        if allowed[index] and apart[index] > best[2]:
            best = (index, sign, float(apart[index]))
    return best[0], best[1]
