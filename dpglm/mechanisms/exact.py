"""The exact minimiser without noise, for fits that are explicitly not private."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import L1
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.folds import fold, held_out_losses, mean_loss, weight_of
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from dpglm.optim.admm import ITERATIONS, default_augmentation, minimise_by_admm
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import Minimum, minimise
from dpglm.optim.quadratic import profiled, strength_max
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import ReleaseDescription
from dpglm.rows import total
from dpglm.threads import ONE_THREAD_EACH
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Makes the minimiser of separable data finite; moves any other one by less than its printed digits.
RIDGE = 1e-8
# Largest residual of a minimum and of a stationary point, sum units.
TOLERANCE, STATIONARY = 1e-8, 1e-6
# The same per row of a fit to all but one fold, and of where all of them start.
_FOLDS = 1e-6
# Strengths of a path after which second derivatives are too old for steps to other points.
_AFRESH = 3
# Lassos among which a penalty that is not convex finds a start.
_LASSOS = 20
# Ridges of a path follow the gradient where there are more columns; columns with less curvature are none.
_WIDE, _UNSEEN = 2000, 1e-6
# Iterations of ADMM from a second start once the first has led somewhere.
_FEW = 150


@dataclass(frozen=True)
class ExactAnswer:
    """What `ExactMinimiser` found.

    Attributes
    ----------
    theta, gamma : ndarray, shape (p,)
        Coded coefficients, and the scaled ones with their exact zeros.
    strength, residual, whole : float
        Used, per row; of the conditions for a minimum or a stationary point, sum units; and the sum of the
        weights of all rows, or their number: a strength per row times it is in sum units.
    strengths, gammas, losses, errors : ndarray, shapes (k,), (k, p), (k,) and (k,)
        Of the path, falling, per row, and scaled coefficients along it; mean held-out loss and its standard
        error, if there was cross-validation. Empty without them.
    """

    theta: FloatVector
    gamma: FloatVector
    strength: float
    residual: float
    whole: float
    strengths: FloatVector = field(default_factory=lambda: np.zeros(0))
    gammas: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0)))
    losses: FloatVector = field(default_factory=lambda: np.zeros(0))
    errors: FloatVector = field(default_factory=lambda: np.zeros(0))

    def numbers(self) -> FloatVector:
        """All of it as one vector: coded coefficients and strength first."""
        counts = (self.strengths.size, self.losses.size)
        parts = (self.theta, self.strength, self.residual, self.whole, self.gamma, counts, self.strengths)
        more = (self.losses, self.errors, self.gammas)
        return np.concatenate([np.ravel(part) for part in (*parts, *more)]).astype(float)

    @classmethod
    def of(cls, numbers: FloatVector, size: int) -> ExactAnswer:
        """Undo `numbers` for p coefficients."""
        count, losses = numbers[2 * size + 3 : 2 * size + 5].astype(int)
        ends = np.cumsum([size, 1, 1, 1, size, 2, count, losses, losses])
        theta, strength, residual, whole, gamma, _, strengths, *rest = np.split(numbers, ends)
        facts, (means, errors, gammas) = (float(strength[0]), float(residual[0]), float(whole[0])), rest
        return cls(theta, gamma, *facts, strengths, gammas.reshape(count, size), means, errors)


@dataclass(frozen=True, eq=False)
class ExactMinimiser(UnclaimedRelease):
    """The minimiser itself, its penalty strength given or by cross-validation: NOT PRIVATE.

    Parameters
    ----------
    family, penalty, mixing, penalised
        As of a `PenalisedMinimiser`, but the penalty need not be convex and its strength is per row, or per
        person whose rows share a weight of 1. One that leaves its scale open (SCAD, MCP) gets the second
        derivative at the fit of the unpenalised coefficients alone.
    folds : int or None
        Choose the strength by this many folds of interleaved rows and the one-standard-error rule.
    path : bool
        Whether the answer holds the path of strengths; with folds it does anyway.
    strengths : int
        Of the path, from the smallest one that selects nothing to a thousandth of it; half as many ridges.
    augmentation : float or None
        c of ADMM per row, for penalties that are not convex; None is 2.02 times the Lipschitz constant of
        the gradient.

    The path of a penalty that is not convex goes from strong to weak: see `Table.solve`.
    """

    family: Family
    penalty: Penalty
    mixing: FloatMatrix
    penalised: BoolVector
    folds: int | None = None
    path: bool = False
    strengths: int = 50
    augmentation: float | None = None

    name: ClassVar[str] = "exact minimiser"

    def describe(self, relation: Relation) -> ReleaseDescription:
        return self.exactly("the minimiser itself")

    @ONE_THREAD_EACH
    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        table = Table(self, rows)
        if self.folds is None and not self.path and self.penalty.convex:
            end, strength = table.solve(self.penalty, self.penalty.weight), self.penalty.weight
            return ExactAnswer(end.theta, end.gamma, strength, end.residual, table.whole).numbers()
        return self._along(table, *self._prepared(table)).numbers()

    def _prepared(self, table: Table) -> tuple[Penalty, FloatVector, bool]:
        """Penalty with its scale; strengths from the least that selects nothing; if folds may go together."""
        # Slopes and coded rows are at most 1, so an L1 weight of all rows' weight leaves the intercept only.
        alone = table.convex(L1(table.whole), TOLERANCE)
        terms = self.penalty.l1_weight, self.penalty.ridge_weight
        null, together = alone.theta, alone.metric is not None and None not in terms
        if self.penalty.convex:
            penalty = self.penalty
            score = (self.mixing.T @ table.loss.gradient(null) / table.whole)[self.penalised]
            top = penalty.with_strength(1.0).strength_max(score)
        else:
            gradient, hessian = table.loss.gradient_and_hessian(null)
            bent = self.mixing.T @ hessian @ self.mixing
            matrix, score = profiled(bent, -self.mixing.T @ gradient, self.penalised)
            penalty = self.penalty.with_scale(np.diagonal(matrix))
            top = strength_max(matrix, score, penalty.with_strength(1.0)) / table.whole
        least, count = 1e-3 * top, self.strengths
        if not math.isfinite(top):  # no L1 part: from a ridge that leaves little to one that takes little
            count, (top, least) = -(-count // 2), np.array([1e3, 1.0]) * np.abs(score).max(initial=0.0)
            if table.rows.size <= _WIDE:  # of each column, by its curvature
                bent = self.mixing.T @ table.loss.gradient_and_hessian(null)[1] @ self.mixing
                seen = np.diagonal(bent)[self.penalised] / table.whole
                seen = seen[seen > _UNSEEN * seen.max(initial=0.0)]
                top, least = 1e2 * seen.max(initial=0.0), 1e-3 * seen.min(initial=1.0)
        return penalty, np.geomspace(max(top, 1e-9), max(least, 1e-12), count), together

    def _along(self, table: Table, penalty: Penalty, strengths: FloatVector, together: bool) -> ExactAnswer:
        """Solutions from strong to weak, and the chosen one."""
        mean = error = np.zeros(0)
        ends, gammas = [], None
        if self.folds is None:
            given = self.penalty.weight
            strengths = np.unique(np.append(strengths, given))[::-1]
            strengths = strengths if self.path else strengths[strengths >= given]
            chosen = int(np.flatnonzero(strengths == given)[0])
        else:
            losses, gammas = self._cross_validated(table, penalty, strengths, together)
            mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / math.sqrt(self.folds)
            best = int(np.argmin(mean))
            chosen = int(np.flatnonzero(mean <= mean[best] + error[best])[0])
        if gammas is None:
            ends = list(table.path(penalty, strengths))
            gammas = np.array([end.gamma for end in ends])
        strength = float(strengths[chosen])
        # A convex penalty's is the same as for this strength given, to the last bit.
        end = table.solve(penalty, strength) if penalty.convex else ends[chosen]
        gammas[chosen] = end.gamma
        found = end.theta, end.gamma, strength, end.residual, table.whole
        if self.folds is None and not self.path:  # it was only the way there
            return ExactAnswer(*found)
        return ExactAnswer(*found, strengths, gammas, mean, error)

    def _cross_validated(
        self, table: Table, penalty: Penalty, strengths: FloatVector, together: bool
    ) -> tuple[FloatMatrix, FloatMatrix | None]:
        """Mean loss of each fold at each strength; scaled minimisers for all rows, if found with them."""
        assert self.folds is not None
        losses, gammas = np.full((self.folds, len(strengths)), np.nan), None
        if together:
            ends = list(table.path(penalty, strengths, _FOLDS * table.whole, afresh=True))
            penalties = [penalty.with_strength(strength * table.whole) for strength in strengths.tolist()]
            terms = self.mixing, self.penalised, RIDGE
            losses, gammas = held_out_losses(self.family, table.rows, self.folds, ends, penalties, *terms)
        for start in np.flatnonzero(np.isnan(losses).any(axis=1)).tolist():
            missing = np.isnan(losses[start])
            train = Table(self, fold(table.rows, self.folds, start, held=False), table.whole)
            held = fold(table.rows, self.folds, start, held=True)
            # An error of the coefficients that is felt in no digit of a loss that is printed.
            path = train.path(penalty, strengths[missing], _FOLDS * table.whole)
            losses[start, missing] = [mean_loss(self.family, held, end.theta) for end in path]
        return losses, gammas


class Table:
    """A table, or a part of one, and what is computed once for it.

    The loss of a part is weighted up to the weight of the ``whole`` table, > 0, so that strengths and scales
    in sum units mean the same for both; None is that of these rows.
    """

    def __init__(self, release: ExactMinimiser, rows: Rows, whole: float | None = None) -> None:
        own = total(rows.chunks(), weight_of) or 1.0
        self.release, self.rows = release, rows
        self.whole = own if whole is None else whole
        factor = self.whole / own
        self.loss = ChunkLoss(rows.chunks, release.family, rows.size, rows.row_count(), factor)

    def solve(self, penalty: Penalty, strength: float, start: FloatVector | None = None) -> Minimum:
        """The solution at a strength per row, from a scaled start.

        A penalty that is not convex starts there, or at the lasso that sets all to zero, and at the one of 20
        lassos at which its objective is least; the better end is returned. Such an end is stationary; nothing
        says that it is the global minimum.
        """
        penalty = penalty.with_strength(strength * self.whole)
        if penalty.convex:
            return self.convex(penalty, TOLERANCE)
        gammas = [lasso.gamma for lasso, _ in self._lassos]
        values = [loss + penalty.value(lasso.gamma[self.release.penalised]) for lasso, loss in self._lassos]
        best = gammas[int(np.argmin(values))]
        first = gammas[0] if start is None else start
        ends = [self._stationary(penalty, first, ITERATIONS)]
        if not np.array_equal(first, best):
            # An end far from its start is seldom better, and on separable rows takes for ever.
            other = self._stationary(penalty, best, _FEW if ends[0].certified else ITERATIONS)
            if other.certified or not ends[0].certified:
                ends.append(other)
        return ends[int(np.argmin([self._value(penalty, end) for end in ends]))]

    def path(
        self, penalty: Penalty, strengths: FloatVector, tolerance: float = TOLERANCE, afresh: bool = False
    ) -> Iterator[Minimum]:
        """Solutions at strengths per row, each from those before; a convex penalty's to a residual.

        Second derivatives are those of the first, corrected, or ``afresh`` at every third.
        """
        ends: list[Minimum] = []
        for strength in strengths.tolist():
            if penalty.convex:
                own = penalty.with_strength(strength * self.whole)
                ends.append(self.convex(own, tolerance, ends, afresh))
            else:
                ends.append(self.solve(penalty, strength, ends[-1].gamma if ends else None))
            yield ends[-1]

    def convex(
        self, penalty: Penalty, tolerance: float, ends: Sequence[Minimum] = (), afresh: bool = False
    ) -> Minimum:
        """The minimiser of a convex penalty with its strength in sum units, near others of the same kind."""
        return minimise(
            self.loss,
            linear=np.zeros(self.rows.size),
            ridge=RIDGE,
            mixing=self.release.mixing,
            penalty=penalty,
            penalised=self.release.penalised,
            tolerance=tolerance,
            start=_ahead(ends),
            metric=ends[-1].metric if ends and (not afresh or len(ends) % _AFRESH) else None,
        )

    @cached_property
    def _augmentation(self) -> float:
        given = self.release.augmentation
        if given is not None:
            return given * self.whole
        return default_augmentation(self.loss, RIDGE, self.release.mixing, self.release.penalised)

    def _stationary(self, penalty: Penalty, start: FloatVector, limit: int) -> Minimum:
        return minimise_by_admm(
            self.loss,
            penalty,
            ridge=RIDGE,
            mixing=self.release.mixing,
            penalised=self.release.penalised,
            augmentation=self._augmentation,
            start=start,
            tolerance=STATIONARY,
            limit=limit,
        )

    @cached_property
    def _lassos(self) -> list[tuple[Minimum, float]]:
        """Lassos from none to almost all coefficients, and the loss of each."""
        # Slopes and coded rows are at most 1, so an L1 weight of all rows' weight leaves the intercept only.
        ends = [self.convex(L1(self.whole), STATIONARY)]
        slope = self.release.mixing.T @ self.loss.gradient(ends[0].theta)
        top = float(np.abs(slope[self.release.penalised]).max(initial=0.0))
        for strength in np.geomspace(0.9 * top, 1e-4 * top, _LASSOS) if top > 0.0 else ():
            ends.append(self.convex(L1(float(strength)), STATIONARY, ends[-1:]))
        return [(end, self._loss(end.theta)) for end in ends]

    def _loss(self, theta: FloatVector) -> float:
        return self.whole * mean_loss(self.release.family, self.rows, theta)

    def _value(self, penalty: Penalty, end: Minimum) -> float:
        ridge = 0.5 * RIDGE * float(end.theta @ end.theta)
        return self._loss(end.theta) + ridge + penalty.value(end.gamma[self.release.penalised])


def _ahead(ends: Sequence[Minimum]) -> FloatVector | None:
    """Where a path of evenly falling strengths (their logarithms) leads from its last three points."""
    if len(ends) < 3:
        return ends[-1].gamma if ends else None
    first, second, last = (end.gamma for end in ends[-3:])
    ahead = first - 3.0 * second + 3.0 * last
    return np.where((last == 0.0) | (ahead * last < 0.0), last, ahead)
