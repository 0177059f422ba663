"""Margin rows: how much nearer a row is to its own class than to the other one, feature by feature.

A near hit and a near miss among the private rows would make each margin depend on other people. Here both are
released prototypes or rows of a public reference table, so that a margin depends on its own row alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpglm.factor_rows import squares
from dpglm.mechanisms.base import Rows, release_error
from dpglm.mechanisms.mapped import RowMapping
from dpglm.mechanisms.rows import SHRINK, RowView
from dpglm.privacy.events import Fact
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector

# Box rows x, shape (size, k), and whether each is of the second class, to margins, shape (size, k).
Margins: TypeAlias = Callable[[FloatMatrix, BoolVector], FloatMatrix]
# Prototypes that are nearer than this are one: all margins are 0 then.
LEAST_DISTANCE = 1e-6
# Numbers that are mapped at a time.
_ENTRIES = 2**22


class MarginRows(RowView):
    """Rows of norm at most 1 and response 1 from box rows, each from itself alone; zeros without a class.

    ``margins`` is elementwise or compares a row with public ones; a margin of a missing value is 0.
    """

    holds = True

    def __init__(self, rows: Rows, margins: Margins) -> None:
        super().__init__(rows)
        self._margins = margins

    def view(self, chunk: RowChunk) -> RowChunk:
        z = np.empty(chunk.X.shape, dtype=np.float32)
        width = max(1, _ENTRIES // len(chunk.X))
        for first in range(0, len(chunk.y), width):
            part = slice(first, first + width)
            z[:, part] = self._margins(chunk.X[:, part].astype(np.float64), chunk.y[part] == 1.0)
        z = bounded(z, chunk.y >= 0.0)
        return ArrayChunk(z, np.ones(len(chunk.y)), None, chunk.share, chunk.share)


def bounded(z: FloatBlock, usable: BoolVector) -> FloatBlock:
    """Margins without missing ones; zeros where a row is not usable or not of norm at most 1, in place."""
    with np.errstate(all="ignore"):
        np.copyto(z, 0.0, where=np.isnan(z))
        within = squares(np.ones(len(z)), z) <= 1.0 - len(z) * 2.0**-50  # proof: norm
    z[:, np.flatnonzero(~(within & usable))] = 0.0
    return z


class MarginMapping(RowMapping):
    """Box rows to margin rows; a subclass says what they are compared with."""

    label = "margin weights"

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return MarginRows(rows, self._margins_at(at, rows.size)), None

    @abstractmethod
    def _margins_at(self, at: FloatVector | None, size: int) -> Margins:
        """The margins of ``size`` columns, at what was released before."""


@dataclass(frozen=True)
class PrototypeMargins(MarginMapping):
    """Margins between released prototypes: for each column a few points of either class.

    The distance to a class is that to its nearest point in this column, so that a pair of points sees a class
    that lies at both ends of a column. ``at`` is ``2 * prototypes + 1`` times as many numbers as there are
    columns: the points of the first class and of the second, and what a column is divided by.

    Parameters
    ----------
    prototypes : int
        Points of each class in each column, >= 1.
    """

    prototypes: int

    @property
    def fact(self) -> Fact:
        return Fact("Rows", f"margins between {self.prototypes} released points of either class")

    def _margins_at(self, at: FloatVector | None, size: int) -> Margins:
        if at is None or len(at) != (2 * self.prototypes + 1) * size:
            raise release_error("no prototypes", "points of either class, and units, for every column")
        points = np.clip(np.nan_to_num(at[:-size]), 0.0, 1.0).reshape(2, self.prototypes, size, 1)
        units = np.nan_to_num(at[-size:], nan=1.0, posinf=1.0, neginf=1.0)[:, None]
        units = np.maximum(units, LEAST_DISTANCE)
        length = float(np.linalg.norm(hausdorff(*points) / units))
        if not length > LEAST_DISTANCE:
            return lambda x, second: np.zeros(x.shape)
        divisor = units * (length / SHRINK)

        def margins(x: FloatMatrix, second: BoolVector) -> FloatMatrix:
            nearer = nearest(x, points[0]) - nearest(x, points[1])  # proof: lipschitz
            return np.where(second, nearer, -nearer) / divisor  # proof: divided

        return margins

    def before(self, at: FloatVector | None, size: int) -> FloatVector:
        """Prototypes at 0 and 1: a margin is then the same share of any column."""
        return np.repeat([*[0.0] * self.prototypes, *[1.0] * self.prototypes, 1.0], size)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Rows of the second class at 1 where a margin is positive, at 0 where negative, else between."""
        X = (0.5 + 0.5 * np.sign(rows.X) * (2.0 * rows.y - 1.0)).astype(np.float32)
        return ArrayChunk(X, np.ones(X.shape[1]), None, rows.weight, rows.share)


def nearest(x: FloatMatrix, points: FloatMatrix) -> FloatMatrix:
    """Distance of each coordinate to the nearest of its points, shape (m, size, 1), by itself."""
    distance: FloatMatrix = np.abs(x - points[0])
    for point in points[1:]:
        np.minimum(distance, np.abs(x - point), out=distance)
    return distance


def hausdorff(first: FloatMatrix, second: FloatMatrix) -> FloatVector:
    """The largest difference of distances to two sets of points, in each column; shapes (m, size, 1).

    Examples
    --------
    >>> first, second = np.array([[[0.0]], [[1.0]]]), np.array([[[0.5]], [[0.6]]])
    >>> hausdorff(first, second)
    array([[0.5]])
    """
    return np.asarray(
        np.maximum(
            np.max([nearest(point, second) for point in first], axis=0),
            np.max([nearest(point, first) for point in second], axis=0),
        )
    )


def near_margins(first: FloatMatrix, second: FloatMatrix) -> Margins:
    """Margins between near hit and near miss among points, shapes (m, size) and (m', size) by class."""
    from scipy.spatial.distance import cdist

    def apart(points: FloatMatrix) -> float:
        return float(cdist(points, second, "euclidean").max(initial=0.0))

    def nearest_of(rows: FloatMatrix, table: FloatMatrix) -> FloatMatrix:
        places = [cdist(part, table, "cityblock").argmin(axis=1) for part in _parts(rows, table)]
        return np.asarray(table[np.concatenate(places)])

    length = max(map(apart, _parts(first, second)), default=0.0)
    if not length > LEAST_DISTANCE:
        return lambda x, second: np.zeros(x.shape)

    def margins(x: FloatMatrix, is_second: BoolVector) -> FloatMatrix:
        rows = np.where(np.isnan(x), 0.5, x).T  # proof: reference
        away, near = (np.abs(rows - nearest_of(rows, table)) for table in (first, second))
        z = np.where(is_second[:, None], away - near, near - away).T * (SHRINK / length)
        return np.where(np.isnan(x), np.nan, z)

    return margins


def _parts(rows: FloatMatrix, table: FloatMatrix) -> list[FloatMatrix]:
    """Rows by parts whose distances to those of a table fit into memory."""
    width = max(1, _ENTRIES // max(len(table), 1))
    return [rows[first : first + width] for first in range(0, max(len(rows), 1), width)]


@dataclass(frozen=True, eq=False)
class ReferenceMargins(MarginMapping):
    """Margins between the near hit and the near miss of a public labelled table: the real FWELL, row by row.

    Parameters
    ----------
    first, second : ndarray, shapes (m, size) and (m', size)
        Public rows of either class in the unit box, at least one of each.
    """

    first: FloatMatrix
    second: FloatMatrix

    @property
    def fact(self) -> Fact:
        count = len(self.first) + len(self.second)
        return Fact("Rows", f"margins between near hit and near miss among {count} public rows")

    def _margins_at(self, at: FloatVector | None, size: int) -> Margins:
        assert at is None, "what rows are compared with is public"
        return near_margins(self.first, self.second)

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return None
