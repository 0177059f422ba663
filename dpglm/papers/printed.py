"""Two algorithms as they were printed, whose privacy claims do not hold: for reproduction, NOT PRIVATE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.base import Release, Rows, WorstCase
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.optim.rows import ChunkLoss
from dpglm.privacy.budget import Relation
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.privacy.events import Event
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class Printed(Release):
    """What the two share: no claim, and the average loss in scaled coefficients.

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

    premises: ClassVar[tuple[str, ...]] = ()

    def sensitivity(self, relation: Relation) -> float:
        return math.inf

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        raise AssertionError("a printed algorithm has no price: it is never part of a private plan")

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=self.name,
            released="the answer of an algorithm as it was printed",
            sensitivity=math.inf,
            noise="as printed",
            scale=self.scale,
            theorem="none: NOT PRIVATE (reproduction)",
            facts=(Fact("Rounds", self.rounds), Fact("Penalty strength per row", self.penalty.weight)),
        )

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        raise AssertionError("a printed algorithm makes no claim of ours to be audited")

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


@dataclass(frozen=True, eq=False)
class PrintedDPSC(Printed):
    """Algorithms 1 to 3 of the DPSC paper: one b for all iterations, ``inner`` gradient steps each.

    ``b`` has density proportional to exp(-|b| / scale) and enters the objective as c b'w, the loss averaged.
    Releases w of the last iteration, which is the printed output, and the sparse Z that follows from it,
    scaled coefficients, shape (2 p,).

    Parameters
    ----------
    c, alpha : float
        Augmentation, and size of a gradient step.
    inner : int
    """

    c: float = 1.0
    inner: int = 10
    alpha: float = 0.5

    name: ClassVar[str] = "printed DPSC"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        average, c = self._average(rows), self.c
        b = noise.gamma_norm(rows.size, rate=1.0 / self.scale)
        w, V = np.zeros(rows.size), np.zeros(rows.size)
        for _ in range(self.rounds):
            Z = self._prox(w - V / c, c)
            for _ in range(self.inner):
                w = w - self.alpha * (average.gradient(w) - c * (Z - w + V / c) + c * b)
            V = V + c * (Z - w)
        return np.concatenate([w, self._prox(w - V / c, c)])


@dataclass(frozen=True, eq=False)
class PrintedMPADMM(Printed):
    """Algorithm 2 of the RADMM paper on all rows: noise of one scale on x, y and z after every step.

    Releases z of the last step before its noise, scaled coefficients, shape (p,).

    Parameters
    ----------
    eta, rho : float
    """

    eta: float = 1.0
    rho: float = 0.5

    name: ClassVar[str] = "printed mpADMM"

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        average, rho, inverse = self._average(rows), self.rho, 1.0 / self.eta
        x, y, z = np.zeros(rows.size), np.zeros(rows.size), np.zeros(rows.size)
        exact = z
        for _ in range(self.rounds):
            x = (inverse * x - average.gradient(x) - y + rho * z) / (rho + inverse)
            exact = self._prox(x + y / rho, rho)
            y = y + rho * (x - exact)
            x, y, z = (value + noise.normal(rows.size, scale=self.scale) for value in (x, y, exact))
        return exact
