"""Residuals at a released point, on standardised rows: a response of small range, and classes of its size.

Those of counts are Pearson's, with rows to match: least squares on them is Poisson regression around the
point. Before there is a point, a count is read as its logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.mechanisms.base import Rows, release_error
from dpglm.mechanisms.mapped import ClassRows, RowMapping
from dpglm.mechanisms.rows import LONGEST, MappedRows, RowView, finite, shortened
from dpglm.privacy.events import Fact
from dpglm.row_loops import predictors
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatBlock, FloatVector, IntVector

# The length of `CountRows` at which none is shortened.
UNSHORTENED = LONGEST


@dataclass(frozen=True)
class Residuals(RowMapping):
    """Standardised rows, shortened to norm 1, with what a point leaves of the response, cut.

    A shortened row has its residual shortened alike: normal equations then weigh it by min(1, 1 / |x|^2).
    The first p * p numbers of ``at`` are the map of rows; p coefficients of mapped rows follow, then those
    that `CountRows` needs, and the residual that becomes 1. Larger ones are cut there.

    Parameters
    ----------
    label : str
        What the release is called.
    bound : float or None
        The declared bound of counts, for `CountRows`; None for a response that is a number.
    """

    label: str
    bound: float | None = None

    @property
    def fact(self) -> Fact:
        kind = "residuals" if self.bound is None else "Pearson residuals"
        return Fact("Rows", f"in standard deviations, with their {kind}; longer than 1, both are shortened")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return _residuals(rows, at, self.bound), None

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return _unmoved(size, self.bound)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        return ArrayChunk(rows.X, rows.y + _moved(self.bound), None)


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
    bound : float or None
        As above.
    """

    label = "classes of residual size"

    edges: tuple[float, ...]
    constant: tuple[int, float]
    bound: float | None = None

    @property
    def fact(self) -> Fact:
        unit = "their standard deviations" if self.bound is None else "Poisson standard deviations"
        return Fact("Levels", f"classes of residuals, in {unit}")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return ClassRows(rows, _residuals(rows, at, self.bound), self.constant, self._class_of), None

    def _class_of(self, chunk: RowChunk) -> IntVector:
        away = np.searchsorted(np.array(self.edges), np.abs(chunk.y), side="right")
        return np.asarray(len(self.edges) + np.where(chunk.y < 0.0, -away, away))

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return _unmoved(size, self.bound)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        """Rows of the constant alone, with responses in the middle of their classes."""
        at, value = self.constant
        X = np.zeros((size, len(rows.y)), dtype=np.float32)
        X[at] = value
        ends = np.array([*self.edges, 1.0])
        above = 0.5 * (ends[:-1] + ends[1:])
        middles = np.array([*-above[::-1], 0.0, *above]) + _moved(self.bound)
        return ArrayChunk(X, middles[rows.X[1].astype(np.intp)], None)


def _moved(bound: float | None) -> float:
    """What a point of zeros takes off the response."""
    return 0.0 if bound is None else min(1.0, bound)


def _unmoved(size: int, bound: float | None) -> FloatVector:
    """The point at which rows and responses, less `_moved`, stay as they are."""
    mean = _moved(bound)
    more = [1.0] if bound is None else [0.0, math.sqrt(mean), 1.0 / math.sqrt(mean)]
    return np.concatenate([np.eye(size).ravel(), np.zeros(size), more])


def _sizes(numbers: FloatVector) -> bool:
    return bool(np.all((numbers >= 0.0) & (numbers < np.inf)))


def _residuals(rows: Rows, at: FloatVector | None, bound: float | None) -> ResidualRows:
    """The rows at ``at``, after its length was looked at."""
    kind = ResidualRows if bound is None else CountRows
    point = rows.size * (rows.size + 1)
    if at is None or len(at) != point + kind.units or not (_sizes(at[point:]) and at[-1] > 0.0):
        raise release_error("no map of rows", "a matrix of their columns, a point, and lengths > 0")
    return ResidualRows(rows, at) if bound is None else CountRows(rows, at, bound)


class ResidualRows(MappedRows):
    """Mapped rows and residuals, both shortened where the row is longer than 1; no offset is left."""

    # Numbers behind the point.
    units: ClassVar[int] = 1

    def __init__(self, rows: Rows, at: FloatVector) -> None:
        size = rows.size
        super().__init__(rows, at[: size * size].reshape(size, size))
        self._point, self._unit = finite(at[size * size : size * (size + 1)]), float(at[-1])

    def _predictors(self, X: FloatBlock, chunk: RowChunk) -> FloatVector:
        eta = predictors(self._point, X)
        return eta if chunk.offset is None else eta + chunk.offset

    def _residuals(self, X: FloatBlock, chunk: RowChunk) -> FloatVector:
        """Residuals of mapped rows, which may be scaled in place."""
        return np.asarray(chunk.y - self._predictors(X, chunk))

    def _bounded(self, chunk: RowChunk) -> ArrayChunk:
        with np.errstate(all="ignore"):
            X = self._mapped(chunk.X)
            residual = np.clip(self._residuals(X, chunk) / self._unit, -1.0, 1.0)
            shrunk, bounded = shortened(X)
            residual *= shrunk
        # A row of zeros cannot be used: it is not counted, whatever its response.
        out = ~(bounded & X.any(axis=0) & np.isfinite(residual))
        X[:, np.flatnonzero(out)] = 0.0
        residual[out] = 0.0
        return ArrayChunk(X, residual, None, chunk.share, chunk.share)


class CountRows(ResidualRows):
    r"""Counts y, with means m = min(exp(x't + offset), Y) at the point t, as residuals of matching rows.

    A row is x m / s and its residual (y - m) / s, with s^2 = m + v m^2. Normal equations then are those of
    Poisson regression around t, in which rows weigh 1 / (1 + v m). Of ``at`` three numbers follow the point:
    v, the length that becomes 1, and the residual that becomes 1.
    """

    units = 3

    def __init__(self, rows: Rows, at: FloatVector, bound: float) -> None:
        super().__init__(rows, at)
        self._spread, self._length = at[-3:-1].tolist()
        self._largest = math.log(bound)

    def _residuals(self, X: FloatBlock, chunk: RowChunk) -> FloatVector:
        mean = np.exp(np.minimum(self._predictors(X, chunk), self._largest))
        deviation = np.sqrt(mean * (1.0 + self._spread * mean))
        X *= (mean / deviation / self._length).astype(np.float32)
        return np.asarray((chunk.y - mean) / deviation)


@dataclass(frozen=True)
class LogCounts(RowMapping):
    """A mapping of rows that have a logarithm for a count: that of the count per exposure, plus a half.

    The exposure is exp(offset), in units of the middle of its range. Logarithms are coded into [-1, 1].

    Parameters
    ----------
    inner : RowMapping
        Of rows with such a response.
    bound : float
        The declared bound of counts.
    offsets : (float, float)
        The declared range of offsets.
    """

    inner: RowMapping
    bound: float
    offsets: tuple[float, float]

    @property
    def label(self) -> str | None:  # type: ignore[override]
        return self.inner.label

    @property
    def fact(self) -> Fact:
        fact = self.inner.fact
        return Fact(fact.label, f"{fact.value}; counts as logarithms")

    @property
    def middle(self) -> float:
        """Of the range of offsets."""
        return 0.5 * (self.offsets[0] + self.offsets[1])

    @property
    def unit(self) -> float:
        """What a coded response of 1 is beyond one of 0, in logarithms."""
        largest = math.log(self.bound) + self.offsets[1] - self.middle
        return 0.5 * (float(np.logaddexp(largest, math.log(0.5))) - math.log(0.5))

    def log(self, coded: FloatVector | float) -> FloatVector | float:
        """Logarithms of coded responses."""
        return math.log(0.5) + self.unit * (coded + 1.0)

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        return self.inner.mapped(_LogRows(rows, self), at)

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return self.inner.before(at, size)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        chunk = self.inner.unmapped(rows, size)
        counts = (np.exp(self.log(chunk.y)) - 0.5) * math.exp(-self.middle)
        return ArrayChunk(chunk.X, np.asarray(counts), None)


class _LogRows(RowView):
    def __init__(self, rows: Rows, mapping: LogCounts) -> None:
        super().__init__(rows)
        self._mapping = mapping

    def view(self, chunk: RowChunk) -> RowChunk:
        least, unit = math.log(0.5), self._mapping.unit
        offset = 0.0 if chunk.offset is None else chunk.offset
        with np.errstate(all="ignore"):
            logs = np.log(chunk.y * np.exp(self._mapping.middle - offset) + 0.5)
            coded = np.clip((logs - least) / unit - 1.0, -1.0, 1.0)
        return ArrayChunk(chunk.X, np.asarray(coded), None, chunk.share, chunk.share)
