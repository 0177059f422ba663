"""Exact solutions on one table or on folds of it, strength by strength: minima, or stationary points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import L1
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.row_views import RowSubset
from dpglm.optim.admm import ITERATIONS, default_augmentation, minimise_by_admm
from dpglm.optim.minimise import minimise
from dpglm.optim.rows import ChunkLoss, RowChunk
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Makes the minimiser of separable data finite; moves any other one by less than its printed digits.
RIDGE = 1e-8
# Largest residual of a stationary point, sum units.
STATIONARY = 1e-6
# Lassos among which a penalty that is not convex finds a start.
_LASSOS = 20
# Iterations of ADMM from a second start once the first has led somewhere.
_FEW = 150
# Numbers of a fold that are kept in memory instead of being cut out of the table at each read: 256 MiB.
_KEPT = 2**26


@dataclass(frozen=True, eq=False)
class End:
    """Coded and scaled coefficients, shape (p,), their residual, sum units, and whether that is as asked."""

    theta: FloatVector
    gamma: FloatVector
    residual: float
    certified: bool


@dataclass(frozen=True, eq=False)
class Setting:
    """How to solve; as in :class:`ExactMinimiser`."""

    family: Family
    mixing: FloatMatrix
    penalised: BoolVector
    tolerance: float
    augmentation: float | None


class Table:
    """Rows and what is computed once for them.

    Parameters
    ----------
    setting : Setting
        How to solve.
    rows : Rows
        A table or a part of one.
    whole : int
        Rows of the whole table, > 0. The loss of a part is weighted up to it, so that strengths and scales in
        sum units mean the same for both.
    """

    def __init__(self, setting: Setting, rows: Rows, whole: int) -> None:
        self.setting, self.rows, self.whole = setting, rows, whole
        count = rows.row_count()
        self.loss = ChunkLoss(
            rows.chunks, setting.family, size=rows.size, row_count=count, weight=whole / max(count, 1)
        )
        self._augmentation: float | None = None
        self._lassos: tuple[FloatMatrix, FloatVector] | None = None

    def solve(self, penalty: Penalty, strength: float, start: FloatVector | None = None) -> End:
        """The solution at a strength per row, from a scaled start.

        A penalty that is not convex starts there, or at zero, and at the one of 20 lassos at which its
        objective is least; the better end is returned.
        """
        penalty = penalty.with_strength(strength * self.whole)
        if penalty.convex:
            return self.convex(penalty, start, self.setting.tolerance)
        first, *others = self._starts(penalty, start)
        ends = [self._stationary(penalty, first, ITERATIONS)]
        for one in others:
            # An end far from its start is seldom better, and on separable rows takes for ever.
            found = self._stationary(penalty, one, _FEW if ends[0].certified else ITERATIONS)
            ends = ends if ends[0].certified and not found.certified else [*ends, found]
        return ends[int(np.argmin([self._value(penalty, end) for end in ends]))]

    def convex(self, penalty: Penalty, start: FloatVector | None, tolerance: float) -> End:
        """The minimiser of a convex penalty with its strength in sum units."""
        found = minimise(
            self.loss,
            linear=np.zeros(self.rows.size),
            ridge=RIDGE,
            mixing=self.setting.mixing,
            penalty=penalty,
            penalised=self.setting.penalised,
            tolerance=tolerance,
            start=start,
        )
        return End(found.theta, found.gamma, found.residual, found.certified)

    def _stationary(self, penalty: Penalty, start: FloatVector, limit: int) -> End:
        mixing, mask = self.setting.mixing, self.setting.penalised
        if self._augmentation is None:
            given = self.setting.augmentation
            self._augmentation = (
                default_augmentation(self.loss, RIDGE, mixing, mask) if given is None else given * self.whole
            )
        found = minimise_by_admm(
            self.loss,
            penalty,
            ridge=RIDGE,
            mixing=mixing,
            penalised=mask,
            augmentation=self._augmentation,
            start=start,
            tolerance=STATIONARY,
            limit=limit,
        )
        return End(found.theta, found.gamma, found.residual, found.certified)

    def _starts(self, penalty: Penalty, previous: FloatVector | None) -> list[FloatVector]:
        if self._lassos is None:
            self._lassos = self._lasso_path()
        gammas, values = self._lassos
        mask = self.setting.penalised
        total = [value + penalty.value(gamma[mask]) for gamma, value in zip(gammas, values, strict=True)]
        best = gammas[int(np.argmin(total))]
        first = gammas[0] if previous is None else previous
        return [first] if np.array_equal(first, best) else [first, best]

    def _lasso_path(self) -> tuple[FloatMatrix, FloatVector]:
        """Lassos from none to almost all coefficients, shape (k, p), and the loss of each."""
        mask = self.setting.penalised
        # Slopes and coded rows are at most 1, so an L1 weight of the row count leaves the intercept only.
        ends = [self.convex(L1(float(self.whole)), None, STATIONARY)]
        slope = self.setting.mixing.T @ self.loss.gradient(ends[0].theta)
        top = float(np.abs(slope[mask]).max(initial=0.0))
        for strength in np.geomspace(0.9 * top, 1e-4 * top, _LASSOS) if top > 0.0 else ():
            ends.append(self.convex(L1(float(strength)), ends[-1].gamma, STATIONARY))
        losses = [self.whole * mean_loss(self.setting.family, self.rows, end.theta) for end in ends]
        return np.array([end.gamma for end in ends]), np.array(losses)

    def _value(self, penalty: Penalty, end: End) -> float:
        loss = self.whole * mean_loss(self.setting.family, self.rows, end.theta)
        ridge = 0.5 * RIDGE * float(end.theta @ end.theta)
        return loss + ridge + penalty.value(end.gamma[self.setting.penalised])


def mean_loss(family: Family, rows: Rows, theta: FloatVector) -> float:
    """Average loss of rows at coded coefficients."""
    total, count = 0.0, 0
    for block in rows.chunks():
        eta = theta @ block.X.astype(np.float64)
        eta = eta if block.offset is None else eta + block.offset
        total += float(family.loss(eta, block.y).sum())
        count += len(eta)
    return total / max(count, 1)


@dataclass(frozen=True)
class Kept:
    """Rows in memory."""

    size: int
    pieces: tuple[RowChunk, ...]

    def row_count(self) -> int:
        return sum(len(block.y) for block in self.pieces)

    def chunks(self) -> tuple[RowChunk, ...]:
        return self.pieces


def fold(rows: Rows, folds: int, place: int, *, held: bool) -> Rows:
    """Every ``folds``-th row of a table from ``place`` on, or all others; in memory if it is small."""

    def holds(first: int, count: int) -> BoolVector:
        inside: BoolVector = (first + np.arange(count)) % folds == place
        return inside if held else ~inside

    part = RowSubset(rows, holds)
    if part.row_count() * part.size > _KEPT:
        return part
    return Kept(part.size, tuple(part.chunks()))
