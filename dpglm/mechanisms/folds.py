"""Folds of a table, their losses, and fits to all folds but one side by side, all without noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.rows import RowSubset
from dpglm.optim.minimise import Minimum
from dpglm.optim.quadratic_solvers import minimise_with_l1
from dpglm.rows import Placed, RowChunk, Together, placed, rows_at, total
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# A held-out loss is taken for that of the minimiser once all further steps, as fast as they now shorten, are
# expected to change it by less than this part of its standard error: the rule that chooses has no finer unit.
_NEGLIGIBLE = 1e-3
# Reads after which fits that have not come so far are left to a solver that always ends: without a fold
# there may be far less curvature in a direction of which few rows know.
_READS = 6


def fold(rows: Rows, folds: int, start: int, *, held: bool) -> Rows:
    """Every ``folds``-th row of a table from ``start`` on, or all others; cut out once."""

    def holds(first: int, count: int) -> BoolVector:
        inside: BoolVector = (first + np.arange(count)) % folds == start
        return inside if held else ~inside

    return RowSubset(rows, holds)


def mean_loss(family: Family, rows: Rows, theta: FloatVector) -> float:
    """Average loss of rows at coded coefficients, each by its weight."""

    def part(chunks: Iterable[RowChunk]) -> Together:
        lost = weight = 0.0
        for block in chunks:
            eta = theta @ block.X.astype(np.float64) + (0.0 if block.offset is None else block.offset)
            loss = family.loss(eta, block.y)
            lost += float((loss if block.weight is None else loss * block.weight).sum())
            weight += weight_of([block])
        return Together((lost, weight))

    lost, weight = total(rows.chunks(), part)
    return float(lost / (weight or 1.0))


def weight_of(chunks: Iterable[RowChunk]) -> float:
    """The sum of the weights of rows, each at most 1."""
    return sum((float(chunk.count if (w := chunk.weight) is None else w.sum()) for chunk in chunks), 0.0)


@np.errstate(all="ignore")
def held_out_losses(
    family: Family,
    rows: Rows,
    folds: int,
    ends: Sequence[Minimum],
    penalties: Sequence[Penalty],
    mixing: FloatMatrix,
    penalised: BoolVector,
    ridge: float,
) -> tuple[FloatMatrix, FloatMatrix | None]:
    """Mean loss of each fold at minimisers for all other rows, shape (folds, m), NaN where not found.

    All are found side by side, by proximal Newton steps from ``ends`` for all rows with the second
    derivatives that these know. A loss is the last one and, to first order, what a step more would
    change. Minimisers for all rows come back too, scaled, shape (m, p), a step nearer.
    """
    l1 = np.array([np.where(penalised, penalty.l1_weight or 0.0, 0.0) for penalty in penalties])
    l2 = np.array([np.where(penalised, penalty.ridge_weight or 0.0, 0.0) for penalty in penalties])
    gammas = np.array([[end.gamma for end in ends]])
    losses, nearer, left = np.full((folds, len(ends)), np.nan), gammas[0], np.arange(len(ends))
    before = np.zeros(losses.shape)
    bent = np.empty((len(ends), rows.size, rows.size))
    for at, end in enumerate(ends):
        if end.metric is None:
            return losses, None
        # A smooth objective is minimised in the coefficients of coded rows, another one in the scaled ones.
        bent[at] = (end.metric if l1[at].any() else mixing.T @ end.metric @ mixing) + np.diag(l2[at])

    def ahead(slopes: FloatMatrix, gammas: FloatMatrix) -> FloatMatrix:
        """Minimisers of the models around points with these gradients of the loss."""
        smooth = (slopes + ridge * gammas @ mixing.T) @ mixing + l2[left] * gammas
        models = zip(bent[left], smooth, gammas, l1[left], strict=True)
        return np.array([minimise_with_l1(*model) for model in models])

    for read in range(_READS):
        lost, slopes, weights = _read(family, rows, folds, gammas @ mixing.T)
        nearer = ahead(slopes[0].sum(axis=0), nearer) if read == 0 else nearer
        gammas, slopes = (np.broadcast_to(each, (folds, *each.shape[1:])) for each in (gammas, slopes))
        held = slopes[np.arange(folds), np.arange(folds)]
        factor = weights.sum() / (weights.sum() - weights)  # of all other rows, up to the weight of all
        others = (slopes.sum(axis=1) - held) * factor[:, None, None]
        moved = np.array([ahead(*each) for each in zip(others, gammas, strict=True)])
        steps = moved - gammas
        change = (held * (steps @ mixing.T)).sum(axis=2) / weights[:, None]
        found = lost / weights[:, None] + change
        moves = np.abs(change) + np.einsum("fmp,mpq,fmq->fm", steps, bent[left], steps) / weights.sum()
        shorter = np.where(moves < before, moves / before, 1.0)
        error = found.std(axis=0, ddof=1) / math.sqrt(folds)
        near = shorter * moves <= (1.0 - shorter) * _NEGLIGIBLE * error
        losses[:, left] = np.where(near, found, np.nan)
        far = ~near.all(axis=0)
        left, gammas, before = left[far], moved[:, far], moves[:, far]
        if not left.size:
            break
    return losses, nearer


def _read(family: Family, rows: Rows, folds: int, thetas: FloatMatrix) -> Together:
    """Sums over each fold's rows: losses (folds, m), gradients (k, folds, m, p) and weights (folds,).

    Coefficients of coded rows have shape (k, m, p): k is 1 where all folds have the same, and then gradients
    are made in float64. Of others float32 is enough, whose rounding is less than what is left of the way.
    """
    kind: Any = np.float64 if len(thetas) == 1 else np.float32
    points = thetas.astype(kind)

    def part(some: Iterable[Placed]) -> Together:
        lost, weights = np.zeros((folds, thetas.shape[1])), np.zeros(folds)
        slopes = np.zeros((len(thetas), folds, *thetas.shape[1:]))
        for first, chunk in some:
            for at in range(folds):
                own = rows_at(chunk, np.arange((at - first) % folds, chunk.count, folds))
                weight = np.ones(1) if own.weight is None else own.weight
                offset = np.zeros(1) if own.offset is None else own.offset
                loss = family.loss(thetas[at % len(thetas)] @ own.X.astype(np.float64) + offset, own.y)
                lost[at] += (loss * weight).sum(axis=1)
                weights[at] += weight_of([own])
                X, y, pull, shift = (np.asarray(each, kind) for each in (own.X, own.y, weight, offset))
                for sums, point in zip(slopes, points, strict=True):
                    sums[at] += (family.slope(point @ X + shift, y) * pull) @ X.T
        return Together((lost, slopes, weights))

    return total(placed(rows.chunks()), part)
