"""The norm of each row's own score at a released point, as a row of one column.

With shares as weights, the sum of squares of these is the trace of the variance of the weighted score. It is
the score covariance of `Information` in one column, of rows whose slope is 1: see ``mapped.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from dpglm.factor_rows import squares
from dpglm.glm.families import Family
from dpglm.glm.families.binomial import Binomial
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.base import FAR, Rows
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.mapped import Mapped, RowMapping, Standardisation
from dpglm.mechanisms.residuals import Residuals
from dpglm.mechanisms.rows import SHRINK, RowView, once, widened
from dpglm.mechanisms.span import Span
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Fact
from dpglm.privacy.gdp import SAFETY
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatVector

SPREAD: Final = "spread of the score"
_ONE = TermColumns("norm", "other", 0, 1, 1.0, np.ones((1, 1)), np.ones(1))


@dataclass(frozen=True)
class ScoreNorms(RowMapping):
    """Norms of the scores of standardised rows, long ones with a smaller weight.

    The first p * p numbers of ``at`` are the map of rows, p coefficients of mapped rows follow.
    """

    family: Family

    label = SPREAD

    @property
    def fact(self) -> Fact:
        return Fact("Rows", "norms of slope times row, in standard deviations; each by its share, squared")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        mapped, point = Standardisation().mapped(rows, at)
        assert point is not None, "norms of scores are taken at a released point"
        return _Norms(mapped, lambda chunk: _of_slopes(self.family, chunk, point)), np.zeros(1)

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return np.concatenate([np.eye(size).ravel(), np.zeros(size)])

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        # An offset far out makes the slope 1 where the response is at the other end.
        offset = np.zeros(rows.count) if rows.offset is None else rows.offset
        low, high = sorted(self.family.worst_case_responses)
        return replace(_wide(rows, size), y=np.where(offset < 0.0, high, low), offset=offset)

    def width(self, size: int) -> int:
        return 1


@dataclass(frozen=True)
class ResidualNorms(RowMapping):
    """The same of cut residuals times their rows; ``at`` as `Residuals` takes it."""

    residuals: Residuals

    label = SPREAD

    @property
    def fact(self) -> Fact:
        return Fact("Rows", "norms of cut residual times row; each by its share, squared")

    def mapped(self, rows: Rows, at: FloatVector | None) -> tuple[Rows, FloatVector | None]:
        mapped, _ = self.residuals.mapped(rows, at)
        return _Norms(mapped, _of_residuals), np.zeros(1)

    def before(self, at: FloatVector | None, size: int) -> FloatVector | None:
        return self.residuals.before(at, size)

    def unmapped(self, rows: RowChunk, size: int) -> RowChunk:
        # A row of slope 1 has a residual that becomes 1; the other one has none.
        offset = np.zeros(rows.count) if rows.offset is None else rows.offset
        residual = np.where(offset < 0.0, 1.0, 0.0)
        return self.residuals.unmapped(replace(_wide(rows, size), y=residual), size)

    def width(self, size: int) -> int:
        return 1


def _wide(rows: RowChunk, size: int) -> ArrayChunk:
    """Rows of one column as the first of several."""
    X = np.zeros((size, rows.count), dtype=np.float32)
    X[:1] = rows.X
    return ArrayChunk(X, rows.y, None)


def spread_of_score(
    mapping: RowMapping, price: float, relation: Relation, law: Literal["gaussian", "gamma"]
) -> Mapped:
    """The release at a price: a mu, or a pure epsilon."""
    inner = Information(Binomial(), 1.0, law, Span((_ONE,)), "score")
    scale = inner.sensitivity(relation) / price * (1.0 + SAFETY)
    return Mapped(replace(inner, scale=scale), mapping)


class _Norms(RowView):
    """Rows of one column, from norms of mapped rows, with a slope of 1."""

    def __init__(self, rows: Rows, norms: Callable[[RowChunk], FloatVector]) -> None:
        super().__init__(once(rows))
        self._norms = norms

    @property
    def size(self) -> int:
        return 1

    def view(self, chunk: RowChunk) -> RowChunk:
        with np.errstate(all="ignore"):
            norms = np.minimum(np.nan_to_num(self._norms(chunk), nan=0.0), 1.0) * SHRINK
        X = np.ascontiguousarray(norms[None], dtype=np.float32)
        count = chunk.count
        return ArrayChunk(X, np.zeros(count), np.full(count, FAR), chunk.share, chunk.share)


def _of_slopes(family: Family, chunk: RowChunk, point: FloatVector) -> FloatVector:
    """``|slope| w |x|`` of each row, w its weight without its share."""
    found = [
        np.abs(family.slope(piece.eta, piece.y))
        * piece.weight
        * np.sqrt(squares(np.ones(len(point)), piece.X))
        for piece in widened(chunk, point)
    ]
    norms = np.concatenate(found) if found else np.zeros(0)
    return norms if chunk.share is None else norms / chunk.share


def _of_residuals(chunk: RowChunk) -> FloatVector:
    X = chunk.X
    return np.abs(chunk.y) * np.sqrt(squares(np.ones(len(X)), X))
