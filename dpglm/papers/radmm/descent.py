"""The steps of methods that ask for noisy gradients: their sizes, their points and the penalty."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.glm.penalties import Penalty
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import expected_information
from dpglm.mechanisms.gradient import Gradient
from dpglm.methods.base import Ask, Estimate, Problem
from dpglm.methods.iterated import bound_penalty, estimate, noise_level, prox
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

Schedule = Literal["constant", "sqrt"]
# A gradient against the one before, by this cosine beyond noise, halves the steps.
REVERSED = 0.25
# Columns that move together have more curvature than is expected of independent ones: so many steps are
# shorter, until gradients have shown it.
CAREFUL = 4
# Steps are no longer than the inverse of this, for the average loss.
LEAST_CURVATURE = 1e-3


class Run:
    """The state that the methods share: gradients in scaled coefficients, step sizes, the penalty.

    All is about the average loss: gradients are divided by the public number of rows.

    Parameters
    ----------
    eta : float or None
    schedule : {"constant", "sqrt"}
        Of the method.
    problem : Problem
    plan : PricedReleases
    ask : callable
    rows : float
        Public number of rows.
    """

    def __init__(
        self,
        eta: float | None,
        schedule: Schedule,
        problem: Problem,
        plan: PricedReleases,
        ask: Ask,
        rows: float,
    ) -> None:
        self._given, self._schedule, self.problem, self.rows = eta, schedule, problem, rows
        self._ask, self._releases = ask, plan.releases
        self.scaling = Scaling.of(problem.geometry)
        first = plan.of_kind(Gradient)[0]
        self.size, self.parts = len(self.scaling.lengths), first.parts
        self.kept = len(plan.releases) - len(plan.releases) // 4
        self.divisor = first.rate * rows / self.parts
        self.deviation, self._clip, self._rate = first.scale, first.clip, first.rate
        self.eta, self._free = _step_sizes(eta, problem, self.scaling)
        self._last: FloatMatrix = np.zeros((self.parts, self.size))

    def __len__(self) -> int:
        return len(self._releases)

    def step(self, number: int) -> float:
        """Size of step ``number`` = 0, 1, ... in the penalised coefficients."""
        start = 1.0 if self._given is not None else min(1.0, (number + 1.0) / CAREFUL)
        return start * self.eta / (1.0 if self._schedule == "constant" else math.sqrt(number + 1.0))

    def weight(self, number: int) -> float:
        """Of the point of a step in the mean that is the answer: that of the last three quarters."""
        return 1.0 / self.kept if number >= len(self) - self.kept else 0.0

    def steps(self, number: int) -> FloatVector:
        """Of each coefficient: a shorter one for the intercept, which has more curvature; shape (p,)."""
        size = self.step(number)
        return np.where(self.scaling.penalised, size, min(size, self._free))

    def gradient(self, number: int, points: FloatVector) -> FloatVector:
        """Of the average loss at scaled coefficients, shape (parts * p,)."""
        mixing = self.scaling.mixing
        coded = points.reshape(self.parts, self.size) @ mixing.T
        answer = self._ask(self._releases[number], coded.ravel()).reshape(self.parts, self.size)
        found = answer @ mixing
        if self._given is None:  # too large a step: what was released shows it
            self.eta *= 0.5 if self._reversed(found, self.scaling.penalised) else 1.0
            self._free *= 0.5 if self._reversed(found, ~self.scaling.penalised) else 1.0
        self._last = found
        return np.asarray((found / self.divisor).ravel(), dtype=np.float64)

    def _reversed(self, found: FloatMatrix, mask: BoolVector) -> bool:
        """Whether a gradient points against the one before by more than noise makes it: a step too far."""
        now, before = found[:, mask], self._last[:, mask]
        lengths = float(np.linalg.norm(now)) * float(np.linalg.norm(before))
        noise = 4.0 * self.deviation**2 * math.sqrt(now.size)
        return float((now * before).sum()) < -REVERSED * lengths - noise

    def penalty(self, quadratic: float) -> Penalty:
        """Bound to proximal steps against ``quadratic`` of the average loss; its strength is in sum units.

        By default it stops noise: that of the mean of the points, and to select also that of sampling.
        """
        size = int(self.scaling.penalised.sum())
        averaged = self.deviation / self.divisor / math.sqrt(self.kept * self.parts)
        deviation = averaged * self.rows
        if selects(self.problem):  # what is large by chance, of the rows or of the noise, is not to be chosen
            samples = 1.0 + (1.0 / self._rate - 1.0) / self.kept  # their means differ from the table's
            deviation = math.hypot(deviation, math.sqrt(self.rows * samples * self._score_variance(size)))
        level = noise_level(deviation, size)
        return bound_penalty(self.problem, self.scaling, quadratic * self.rows, level)

    def _score_variance(self, size: int) -> float:
        """What a row should add to the variance of a penalised coordinate, the intercept taken out."""
        weight = min(self.problem.family.score_weight_max, self._clip**2)
        expected = self.scaling.mixing.T @ expected_information(self.problem.geometry.term_columns, weight)
        each = np.einsum("ij,ji->i", expected, self.scaling.mixing)[self.scaling.penalised]
        return min(float(each.mean()), weight / size) if size else 0.0

    def prox(self, penalty: Penalty, point: FloatVector, quadratic: float) -> FloatVector:
        """Proximal step against ``quadratic`` of the average loss."""
        return prox(penalty, point, quadratic * self.rows, self.scaling)

    def finish(self, penalty: Penalty, scaled: FloatVector) -> Estimate:
        """The estimate, with the strength that was used, per row."""
        return estimate(self.scaling, scaled, penalty.weight / self.rows)


def selects(problem: Problem) -> bool:
    """Whether only the selection counts, at a strength of the method's own."""
    return problem.goal == "select" and problem.strength is None and problem.penalty.selects


def _step_sizes(eta: float | None, problem: Problem, scaling: Scaling) -> tuple[float, float]:
    """Sizes of steps in the penalised coefficients and in the others, from public numbers."""
    if eta is not None:
        return eta, eta
    most = problem.family.curvature_max
    expected = expected_information(problem.geometry.term_columns, 1.0 if most is None else most)
    found = scaling.mixing.T @ expected @ scaling.mixing
    sizes = []
    for mask in (scaling.penalised, ~scaling.penalised):
        largest = float(np.linalg.eigvalsh(found[np.ix_(mask, mask)])[-1]) if mask.any() else 1.0
        sizes.append(1.0 / max(largest, LEAST_CURVATURE))
    return sizes[0], sizes[1]
