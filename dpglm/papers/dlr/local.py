"""What a site answers in a consensus without privacy: its own minimiser in a round, and held-out losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties.elastic_net import L2
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.folds import fold, mean_loss
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import ReleaseDescription
from dpglm.typing import FloatMatrix, FloatVector

# Largest residual of a site's own minimiser, sum units.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class _Local(UnclaimedRelease):
    """An exact answer of one site, on all of its rows or on those in or out of a fold: NOT PRIVATE.

    Parameters
    ----------
    family : Family
    mixing : ndarray, shape (p, p)
        Coded from scaled coefficients.
    folds, start : int
        Row i is held out where i = start modulo folds; no fold where folds is 0.
    """

    family: Family
    mixing: FloatMatrix
    folds: int = 0
    start: int = 0

    def describe(self, relation: Relation) -> ReleaseDescription:
        return self.exactly(f"{self.name} of a site, itself")

    def rows(self, rows: Rows, *, held: bool) -> Rows:
        """The rows of the fold, or all others; all of them where there are no folds."""
        return rows if self.folds == 0 else fold(rows, self.folds, self.start, held=held)


class LocalMinimiser(_Local):
    """The minimiser of a site's loss, plus ``quadratic / 2 |w|^2 - drawn'w``, in scaled coefficients w."""

    name: ClassVar[str] = "local minimiser"

    @staticmethod
    def request(start: FloatVector, drawn: FloatVector, quadratic: float) -> FloatVector:
        """What the release is asked at, sum units: a point near the answer and the public terms."""
        return np.concatenate([start, drawn, [quadratic]])

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        assert at is not None, "public terms"
        size = rows.size
        own = self.rows(rows, held=False)
        return minimise(
            ChunkLoss(own.chunks, self.family, size=size, row_count=own.row_count()),
            linear=np.asarray(-np.linalg.solve(self.mixing.T, at[size : 2 * size]), dtype=np.float64),
            ridge=0.0,
            mixing=self.mixing,
            penalty=L2(strength=float(at[-1])),
            start=at[:size],
            tolerance=TOLERANCE,
        ).gamma


class HeldOutLoss(_Local):
    """The sum of losses of a site's held-out rows at scaled coefficients, and the number of these rows."""

    name: ClassVar[str] = "held-out loss"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        assert at is not None, "coefficients"
        held = self.rows(rows, held=True)
        count = held.row_count()
        return np.array([count * mean_loss(self.family, held, self.mixing @ at), count])
