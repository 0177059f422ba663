"""Algorithms as they were printed, whose privacy claims do not hold: for reproduction, NOT PRIVATE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms.base import Rows, UnclaimedRelease
from dpglm.methods.base import Problem
from dpglm.optim.rows import ChunkLoss
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

REASON = "reproduction of a printed algorithm whose privacy claim does not hold"


@dataclass(frozen=True, eq=False)
class Printed(UnclaimedRelease):
    """The average loss in scaled coefficients, and no claim.

    Parameters
    ----------
    family : Family
    penalty : Penalty
        On scaled coefficients; strength per row.
    mixing : ndarray, shape (p, p)
        Coded from scaled coefficients.
    penalised : ndarray of bool, shape (p,)
    scale : float
        Of the noise, in the algorithm's own units.
    rounds : int
    """

    family: Family
    penalty: Penalty
    mixing: FloatMatrix
    penalised: BoolVector
    scale: float
    rounds: int

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=self.name,
            released="the answer of an algorithm as it was printed",
            sensitivity=self.sensitivity(relation),
            noise="as printed",
            scale=self.scale,
            theorem="none: NOT PRIVATE (reproduction)",
            facts=(Fact("Rounds", self.rounds), Fact("Penalty strength per row", self.penalty.weight)),
        )

    def _average(self, rows: Rows) -> _Average:
        count = max(rows.row_count(), 1)
        loss = ChunkLoss(rows.chunks, self.family, size=rows.size, row_count=count)
        return _Average(loss, self.mixing, count)

    def _prox(self, point: FloatVector, quadratic: float) -> FloatVector:
        moved = np.array(point)
        moved[self.penalised] = self.penalty.prox(moved[self.penalised], 1.0 / quadratic)
        return moved


@dataclass(frozen=True)
class _Average:
    """Gradient of the average loss in scaled coefficients."""

    loss: ChunkLoss
    mixing: FloatMatrix
    count: int

    def gradient(self, scaled: FloatVector) -> FloatVector:
        return np.asarray(
            self.mixing.T @ self.loss.gradient(self.mixing @ scaled) / self.count, dtype=np.float64
        )


def unprotected(release: Printed) -> PricedReleases:
    """The plan of a printed algorithm: no guarantee."""
    return PricedReleases((release,), Guarantee.none(REASON), None)


def printed_fields(problem: Problem, privacy: Privacy, rounds: int, quadratic: float) -> dict[str, Any]:
    """Fields of `Printed` but the scale, its penalty against proximal steps of curvature ``quadratic``.

    Raises
    ------
    MethodError
        No strength, or another relation than the printed one.
    """
    if privacy.relation != "replace-one":
        raise MethodError(
            "paper_exact under add-remove",
            expected="the printed setting, replace-one",
            remedy="Use relation='replace-one'.",
        )
    if problem.strength is None:
        raise MethodError(
            "paper_exact without a strength",
            expected="a strength per row: the papers take it from a fit without noise",
            remedy="Use strength=0.01, say.",
        )
    scaling = Scaling.of(problem.geometry)
    penalty = problem.penalty.with_scale(np.full(int(scaling.penalised.sum()), quadratic))
    return {
        "family": problem.family,
        "penalty": penalty.with_strength(float(problem.strength)),
        "mixing": scaling.mixing,
        "penalised": scaling.penalised,
        "rounds": rounds,
    }
