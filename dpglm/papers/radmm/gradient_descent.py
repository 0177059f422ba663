"""Gradient descent with noisy gradients: what the methods plan, and how they step."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.inference import expectation
from dpglm.inference.coefficients import Scaling
from dpglm.mechanisms.gradient import Gradient
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, require_positive
from dpglm.methods.iterated import (
    bound_penalty,
    estimate,
    gaussian_total,
    noise_level,
    prox,
    public_rows,
    require_steps,
)
from dpglm.methods.joint import Party, ask_each
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import NoisySums, Target, calibrate
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

Schedule = Literal["constant", "sqrt"]
# A gradient against the one before, by this cosine beyond noise, halves the steps.
REVERSED = 0.25
# Columns that move together have more curvature than is expected of independent ones: so many steps are
# shorter, until gradients have shown it.
CAREFUL = 4
# Steps are no longer than the inverse of this, for the average loss.
LEAST_CURVATURE = 1e-3
# Steps on all rows; on samples this many passes' worth of rows are drawn, and no more steps than MOST.
STEPS, PASSES, MOST = 100, 10, 2000
# Samples must hold a row more often than this many times delta, or a release of their rows would be allowed.
TEN_DELTAS = 10.0
# Slopes of the logistic loss at coefficients of zero: the first step is not cut.
CUT = 0.5


class DescentState:
    """The state that the methods share: gradients in scaled coefficients, step sizes, the penalty.

    All is about the average loss: gradients are divided by the public number of rows. Of several parties each
    has the gradients of its own plan, at points of its own.
    """

    def __init__(self, method: GradientMethod, problem: Problem, parties: Sequence[Party]) -> None:
        self._method, self._problem = method, problem
        self._asked = [(party.plan.of_kind(Gradient), party.ask) for party in parties]
        self._first = self._asked[0][0][0]
        self.parts, self._scaling = self._first.parts * len(parties), Scaling.of(problem.geometry)
        self.size = len(self._scaling.lengths)
        self._rows = public_rows(problem, method.name)
        self._divisor = self._first.rate * self._rows / self.parts
        self._kept = averaged(len(self))
        self.eta, self._free = _step_sizes(method.eta, problem, self._scaling)
        if method.eta is None and len(parties) > 1:  # the loss of a large party bends more than the mean
            largest = max(public_rows(party.problem, method.name) for party in parties)
            self.eta, self._free = (size * self._divisor / largest for size in (self.eta, self._free))
        self._last: FloatMatrix = np.zeros((self.parts, self.size))

    def __len__(self) -> int:
        return len(self._asked[0][0])

    def step(self, number: int) -> float:
        """Size of step ``number`` = 0, 1, ... in the penalised coefficients."""
        start = 1.0 if self._method.eta is not None else min(1.0, (number + 1.0) / CAREFUL)
        return start * self.eta / (1.0 if self._method.schedule == "constant" else math.sqrt(number + 1.0))

    def weight(self, number: int) -> float:
        """Of the point of a step in the mean that is the answer: that of the last three quarters."""
        return 1.0 / self._kept if number >= len(self) - self._kept else 0.0

    def steps(self, number: int) -> FloatVector:
        """Of each coefficient: a shorter one for the intercept, which has more curvature; shape (p,)."""
        size = self.step(number)
        return np.where(self._scaling.penalised, size, min(size, self._free))

    def gradient(self, number: int, points: FloatVector) -> FloatVector:
        """Of the average loss at scaled coefficients, shape (parts * p,)."""
        mixing = self._scaling.mixing
        coded = points.reshape(self.parts, self.size) @ mixing.T
        own = np.split(coded, len(self._asked))
        answers = ask_each(
            (ask, all_[number], at.ravel()) for (all_, ask), at in zip(self._asked, own, strict=True)
        )
        scaled = np.concatenate(answers).reshape(self.parts, self.size) @ mixing
        if self._method.eta is None:  # too large a step: what was released shows it
            self.eta *= 0.5 if self._reversed(scaled, self._scaling.penalised) else 1.0
            self._free *= 0.5 if self._reversed(scaled, ~self._scaling.penalised) else 1.0
        self._last = scaled
        return np.asarray((scaled / self._divisor).ravel(), dtype=np.float64)

    def _reversed(self, gradient: FloatMatrix, mask: BoolVector) -> bool:
        """Whether a gradient points against the one before by more than noise makes it: a step too far."""
        now, before = gradient[:, mask], self._last[:, mask]
        lengths = float(np.linalg.norm(now)) * float(np.linalg.norm(before))
        noise = 4.0 * self._first.scale**2 * math.sqrt(now.size)
        return float((now * before).sum()) < -REVERSED * lengths - noise

    def penalty(self, quadratic: float) -> Penalty:
        """Bound to proximal steps against ``quadratic`` of the average loss; its strength is in sum units.

        By default it stops noise: that of the mean of the points, and to select also that of sampling.
        """
        size = int(self._scaling.penalised.sum())
        each = self._first.scale / self._divisor / math.sqrt(self._kept * self.parts)
        deviation = each * self._rows
        # What is large by chance, of the rows or of the noise, is not to be chosen.
        if selects(self._problem):
            samples = 1.0 + (1.0 / self._first.rate - 1.0) / self._kept  # their means differ from the table's
            deviation = math.hypot(deviation, math.sqrt(self._rows * samples * self._score_variance(size)))
        level = noise_level(deviation, size)
        return bound_penalty(self._problem, self._scaling, quadratic * self._rows, level)

    def _score_variance(self, size: int) -> float:
        """What a row should add to the variance of a penalised coordinate, the intercept taken out."""
        weight = min(self._problem.family.score_weight_max, self._first.clip**2)
        mixing, term_columns = self._scaling.mixing, self._problem.geometry.term_columns
        expected = mixing.T @ expectation.expected_information(
            term_columns, weight, narrow=expectation.NARROW
        )
        each = np.einsum("ij,ji->i", expected, mixing)[self._scaling.penalised]
        return min(float(each.mean()), weight / size) if size else 0.0

    def prox(self, penalty: Penalty, point: FloatVector, quadratic: float) -> FloatVector:
        """Proximal step against ``quadratic`` of the average loss."""
        return prox(penalty, point, quadratic * self._rows, self._scaling)

    def finish(self, penalty: Penalty, mean: FloatVector, quadratic: float) -> Estimate:
        """The proximal step at the mean of the points, with the strength that was used, per row."""
        return estimate(self._scaling, self.prox(penalty, mean, quadratic), penalty.weight / self._rows)


def averaged(steps: int) -> int:
    """How many of the points the answer is the mean of: the last three quarters."""
    return steps - steps // 4


def selects(problem: Problem) -> bool:
    """Whether only the selection counts, at a strength of the method's own."""
    return problem.goal == "select" and problem.strength is None and problem.penalty.selects


def _step_sizes(eta: float | None, problem: Problem, scaling: Scaling) -> tuple[float, float]:
    """Sizes of steps in the penalised coefficients and in the others, from public numbers."""
    if eta is not None:
        return eta, eta
    most = problem.family.curvature_max
    expected = expectation.expected_information(
        problem.geometry.term_columns, 1.0 if most is None else most, narrow=expectation.NARROW
    )
    information = scaling.mixing.T @ expected @ scaling.mixing
    sizes = []
    for mask in (scaling.penalised, ~scaling.penalised):
        largest = float(np.linalg.eigvalsh(information[np.ix_(mask, mask)])[-1]) if mask.any() else 1.0
        sizes.append(1.0 / max(largest, LEAST_CURVATURE))
    return sizes[0], sizes[1]


@dataclass(frozen=True)
class GradientMethod(Method):
    """Gradients of the average loss at points of the method's own choice, each released once with noise.

    Parameters
    ----------
    steps : int or None
        Number T of releases. None: 100 on all rows; on samples as many as read the table ten times.
    eta : float or None
        Step size, for the *average* loss of coded rows. None: 1 over the largest eigenvalue that its second
        derivative in the penalised coefficients is expected to have where declared ranges are six standard
        deviations wide, and for the intercept over its own; less at first, and halved whenever a released
        gradient shows that steps overshoot.
    schedule : {"constant", "sqrt"}
        Step k has the size ``eta``, or ``eta / sqrt(k)``.
    clip : float or None
        Gradients of single rows longer than this are cut. None: 1, at which losses with slopes in [-1, 1] are
        never cut; 1/2 where logistic coefficients at a default strength only say which ones there are
        (``goal="select"``): half the noise, for coefficients of a loss whose slopes end at 1/2 for rows of
        norm 1. Their order and signs mean what they did, their sizes do not.
    coding : {"clipped", "centred"}
        Centred columns divided by the norm of a typical row, longer ones cut, or by a bound, none cut.
    """

    steps: int | None = None
    eta: float | None = None
    schedule: Schedule = "constant"
    clip: float | None = None
    coding: Literal["centred", "clipped"] = "clipped"

    algorithm: ClassVar[str]

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name)
        require_steps(self.steps, "steps")
        for name in ("eta", "clip"):
            require_positive(getattr(self, name), name)
        if self.schedule not in ("constant", "sqrt"):
            raise MethodError("schedule", expected="'constant' or 'sqrt'", remedy="Leave schedule out.")
        self._check()
        mu = gaussian_total(privacy, self.name)
        if problem.count_rows is None:  # rows are counted when they are read
            public_rows(problem, self.name)
        clip = self._clip(problem)
        gradient = self._gradient(problem, Gradient(problem.family, clip, clip))
        rate, steps = gradient.rate, self.steps
        if steps is None:
            steps = STEPS if rate == 1.0 else max(1, min(MOST, round(PASSES / rate)))
        if rate < 1.0 and privacy.mu is not None:
            raise MethodError(
                f"a budget in {privacy.definition} with sampling={gradient.sampling!r}",
                expected="an epsilon and a delta: gradients of samples are not Gaussian private",
                remedy="Use privacy=(1.0, 1e-6), or sampling='all'.",
            )
        if rate < 1.0 and rate * steps <= TEN_DELTAS * privacy.delta:
            raise MethodError(
                f"{steps} samples of a share {rate:.3g} of the rows: delta alone would pay",
                expected="samples that rarity does not have to protect: it protects nobody who is in one",
                remedy="Use a larger rate, more steps, or a smaller delta.",
            )
        sampling: Literal["fixed", "poisson"] = "fixed" if gradient.sampling == "fixed" else "poisson"
        sums = NoisySums(gradient.sensitivity(privacy.relation), steps, rate, sampling)
        target = Target(privacy.relation, mu=mu) if rate == 1.0 else Target.of(privacy)
        gradient = replace(gradient, scale=calibrate(sums, target).score_scale)
        gradient.require_grid(len(problem.geometry.names))  # refused here, not after the charge
        releases = tuple(replace(gradient) for _ in range(steps))
        return budgeted_plan(releases, privacy, mu=mu if rate == 1.0 else None)

    def _check(self) -> None:
        """Refuse options of the method's own."""

    def _clip(self, problem: Problem) -> float:
        if self.clip is not None:
            return self.clip
        return CUT if selects(problem) and problem.family.logistic else 1.0

    def _gradient(self, problem: Problem, of_all_rows: Gradient) -> Gradient:
        """What is released in a step, but for the size of its noise."""
        return of_all_rows

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        return self.iterate(DescentState(self, problem, [Party(problem, plan, ask)]))

    @abstractmethod
    def iterate(self, state: DescentState) -> Estimate:
        """Step through the planned gradients."""

    def expected(
        self, problem: Problem, plan: PricedReleases, rows: expectation.ExpectedRows
    ) -> expectation.EstimateNoise | None:
        """The mean of the last three quarters of the points has the noise of as many gradients."""
        releases = plan.of_kind(Gradient)
        if not releases:
            return None
        first = releases[0]
        deviation = first.scale / first.rate * math.sqrt(first.parts / averaged(len(releases)))
        return expectation.noise_of_minimiser(rows.information, 0.0, deviation, rows.dispersion)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return MethodDescription(
            self.algorithm,
            plan.describe(),
            "in every step, to released numbers",
            plan.why(),
            facts=(Fact("Steps", len(plan.releases)), *self.options()),
        )

    def options(self) -> tuple[Fact, ...]:
        """The method's own numbers, for its description."""
        return Fact("Step size eta", self.eta), Fact("Schedule of step sizes", self.schedule)
