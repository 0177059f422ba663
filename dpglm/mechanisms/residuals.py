"""Residuals at a released point, on standardised rows: a response of small range, and classes of its size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.mechanisms.base import Rows, release_error
from dpglm.mechanisms.mapped import ClassRows, RowMapping
from dpglm.mechanisms.rows import MappedRows, finite, predictor, shortened
from dpglm.optim.rows import ArrayChunk, RowChunk
from dpglm.privacy.events import Fact
from dpglm.typing import FloatVector, IntVector


@dataclass(frozen=True)
class Residuals(RowMapping):
    """Standardised rows, shortened to norm 1, with what a point leaves of the response, cut.

    A shortened row has its residual shortened alike: normal equations then weigh it by min(1, 1 / |x|^2).
    The first p * p numbers of ``at`` are the map of rows; p coefficients of mapped rows follow, and the
    residual that becomes 1. Larger ones are cut there.

    Parameters
    ----------
    label : str
        What the release is called.
    """

    label: str

    @property
    def fact(self) -> Fact:
        return Fact("Rows", "in standard deviations, with their residuals; longer than 1, both are shortened")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return ResidualRows.of(rows, at), None

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return _unmoved(size)


@dataclass(frozen=True)
class ResidualClasses(RowMapping):
    """Classes of residuals, as levels of a factor that `ColumnSums` counts; ``at`` as above.

    Parameters
    ----------
    edges : tuple of float, k of them
        Rising, in residuals that become 1. Class k holds those below the first one in absolute value, class
        k + j and class k - j those from edge j on, above and below 0.
    constant : (int, float)
        Column of the constant and its value in every coded row that can be used; others are left out.
    """

    label = "classes of residual size"

    edges: tuple[float, ...]
    constant: tuple[int, float]

    @property
    def fact(self) -> Fact:
        return Fact("Levels", "classes of residuals, in their standard deviations")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return ClassRows(rows, ResidualRows.of(rows, at), self.constant, self._class_of), None

    def _class_of(self, chunk: RowChunk) -> IntVector:
        away = np.searchsorted(np.array(self.edges), np.abs(chunk.y), side="right")
        return np.asarray(len(self.edges) + np.where(chunk.y < 0.0, -away, away))

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return _unmoved(size)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Rows of the constant alone, with responses in the middle of their classes."""
        at, value = self.constant
        X = np.zeros((size, len(rows.y)), dtype=np.float32)
        X[at] = value
        ends = np.array([*self.edges, 1.0])
        above = 0.5 * (ends[:-1] + ends[1:])
        return ArrayChunk(X, np.array([*-above[::-1], 0.0, *above])[rows.X[1].astype(np.intp)], None)


def _unmoved(size: int) -> FloatVector:
    """The point at which rows and responses stay as they are."""
    return np.concatenate([np.eye(size).ravel(), np.zeros(size), [1.0]])


class ResidualRows(MappedRows):
    """Mapped rows and residuals, both shortened where the row is longer than 1; no offset is left."""

    def __init__(self, rows: Rows, at: FloatVector) -> None:
        size = rows.size
        super().__init__(rows, at[: size * size].reshape(size, size))
        self._point, self._unit = finite(at[size * size : -1]), float(at[-1])

    @classmethod
    def of(cls, rows: Rows, at: FloatVector | None) -> ResidualRows:
        """The rows at ``at``, after its length was looked at."""
        if at is None or len(at) != rows.size * (rows.size + 1) + 1 or not 0.0 < at[-1] < np.inf:
            raise release_error("no map of rows", "a matrix of their columns, a point, and a length > 0")
        return cls(rows, at)

    def _bounded(self, chunk: RowChunk) -> ArrayChunk:
        with np.errstate(all="ignore"):
            X = self._mapped(chunk.X)
            residual = chunk.y - predictor(self._point, X.astype(np.float64))
            if chunk.offset is not None:
                residual -= chunk.offset
            residual = np.clip(residual / self._unit, -1.0, 1.0)
            shrunk, bounded = shortened(X)
            residual *= shrunk
        # A row of zeros cannot be used: it is not counted, whatever its response.
        out = ~(bounded & X.any(axis=0) & np.isfinite(residual))
        X[:, np.flatnonzero(out)] = 0.0
        residual[out] = 0.0
        return ArrayChunk(X, residual, None)
