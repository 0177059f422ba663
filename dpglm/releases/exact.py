"""The exact minimiser without noise, for fits that are explicitly not private."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.l1 import L1
from dpglm.noise import NoiseSource
from dpglm.optim import BlockLoss, minimise
from dpglm.optim.rows import Block, Piece
from dpglm.privacy.budget import Relation
from dpglm.privacy.composition import Event
from dpglm.releases.base import Release, Rows, WorstCase
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Makes the minimiser of separable data finite; moves any other one by less than its printed digits.
RIDGE = 1e-8


@dataclass(frozen=True, eq=False)
class ExactMinimiser(Release):
    """The minimiser itself, and on request its penalty strength by cross-validation: NOT PRIVATE.

    Parameters
    ----------
    family, penalty, mixing, penalised
        As in :class:`PerturbedMinimiser`; the penalty's strength is per row.
    folds : int or None
        Choose the strength by this many folds of interleaved rows and the one-standard-error rule.
    strengths : int
        Length of the path searched, from the smallest strength that selects nothing to a thousandth of it.
    tolerance : float
        Norm of the smallest subgradient, sum units.

    Notes
    -----
    The answer has p + 1 numbers: the coded coefficients and the strength used.
    """

    family: Family
    penalty: Penalty
    mixing: FloatMatrix
    penalised: BoolVector
    folds: int | None = None
    strengths: int = 50
    tolerance: float = 1e-8

    name: ClassVar[str] = "exact minimiser"
    premises: ClassVar[tuple[str, ...]] = ()

    def sensitivity(self, relation: Relation) -> float:
        return math.inf

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        raise AssertionError("an exact minimiser has no price: it is never part of a private plan")

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        strength = self.penalty.weight
        if self.folds is not None:
            strength = self._cross_validated(rows)
        return np.append(self._solve(rows, strength, None)[0], strength)

    def _solve(
        self, rows: Rows, strength: float, start: FloatVector | None
    ) -> tuple[FloatVector, FloatVector]:
        """Coded and scaled minimiser at one strength per row."""
        count = rows.row_count()
        minimum = minimise(
            BlockLoss(rows.blocks, self.family, size=rows.size, row_count=count),
            linear=np.zeros(rows.size),
            ridge=RIDGE,
            mixing=self.mixing,
            penalty=self.penalty.with_strength(strength * count),
            penalised=self.penalised,
            tolerance=self.tolerance,
            start=start,
        )
        return minimum.theta, minimum.gamma

    def _cross_validated(self, rows: Rows) -> float:
        """Largest strength whose held-out loss is within one standard error of the least."""
        assert self.folds is not None
        path = self._path(rows)
        losses = np.empty((self.folds, len(path)))
        for fold in range(self.folds):
            train, held = _Fold(rows, self.folds, fold, held=False), _Fold(rows, self.folds, fold, held=True)
            start: FloatVector | None = None
            for step, strength in enumerate(path):
                theta, start = self._solve(train, strength, start)
                losses[fold, step] = self._mean_loss(held, theta)
        mean = losses.mean(axis=0)
        error = losses.std(axis=0, ddof=1) / math.sqrt(self.folds)
        best = int(np.argmin(mean))
        return float(path[int(np.flatnonzero(mean <= mean[best] + error[best])[0])])

    def _path(self, rows: Rows) -> FloatVector:
        """Strengths from the smallest that selects nothing down to a thousandth of it."""
        count = max(rows.row_count(), 1)
        # Slopes and coded rows are at most 1, so an L1 weight of the row count leaves the intercept only.
        null = replace(self, penalty=L1())._solve(rows, 1.0, None)[0]
        loss = BlockLoss(rows.blocks, self.family, size=rows.size, row_count=count)
        score = (self.mixing.T @ loss.gradient(null) / count)[self.penalised]
        top = self.penalty.with_strength(1.0).strength_max(score)
        if not math.isfinite(top):  # no L1 part: glmnet's convention for a ridge path
            top = float(np.abs(score).max(initial=0.0)) * 1e3
        return np.geomspace(max(top, 1e-9), max(top, 1e-9) * 1e-3, self.strengths)

    def _mean_loss(self, rows: Rows, theta: FloatVector) -> float:
        total, count = 0.0, 0
        for block in rows.blocks():
            eta = theta @ block.X.astype(np.float64)
            eta = eta if block.offset is None else eta + block.offset
            total += float(self.family.loss(eta, block.y).sum())
            count += len(eta)
        return total / max(count, 1)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        raise AssertionError("an exact minimiser makes no claim to be audited")


@dataclass(frozen=True)
class _Fold:
    """Every ``folds``-th row of a table, or all the others."""

    rows: Rows
    folds: int
    fold: int
    held: bool

    @property
    def size(self) -> int:
        return self.rows.size

    def row_count(self) -> int:
        return sum(len(block.y) for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        first = 0
        for block in self.rows.blocks():
            place = (first + np.arange(len(block.y))) % self.folds == self.fold
            keep = place if self.held else ~place
            first += len(block.y)
            offset = None if block.offset is None else block.offset[keep]
            yield Piece(np.ascontiguousarray(block.X[:, keep]), block.y[keep], offset)
