"""Methods that ask for noisy gradients: how they plan, and how they step."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.expectation import EstimateNoise, ExpectedRows, noise_of_minimiser
from dpglm.mechanisms.gradient import Gradient
from dpglm.methods.base import Ask, Estimate, Method, Problem
from dpglm.methods.budgeted_plan import budgeted_plan
from dpglm.methods.iterated import (
    gaussian_total,
    public_rows,
    require_budget,
    require_positive,
    require_steps,
)
from dpglm.papers.radmm.descent import Run, Schedule, selects
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import NoisySums, Target, calibrate
from dpglm.privacy.description import Fact, MethodDescription

Sampling = Literal["all", "poisson", "fixed"]
# Steps on all rows; on samples this many passes' worth of rows are drawn, and no more steps than MOST.
STEPS, PASSES, MOST = 100, 10, 2000
# Samples must hold a row more often than this many times delta, or a release of their rows would be allowed.
TEN_DELTAS = 10.0
# Slopes of the logistic loss at coefficients of zero: the first step is not cut.
CUT = 0.5


@dataclass(frozen=True)
class GradientMethod(Method):
    """Gradients of the average loss at points of the method's own choice, each released once with noise.

    Parameters
    ----------
    steps : int or None
        Number T of releases. None: 100 on all rows; on samples as many as read the table ten times.
    eta : float or None
        Step size, for the *average* loss of coded rows. None: 1 over the largest eigenvalue that its second
        derivative in the penalised coefficients is expected to have, from declared bounds, and for the
        intercept over its own; less at first, and halved whenever a released gradient shows that steps
        overshoot.
    schedule : {"constant", "sqrt"}
        Step k has the size ``eta``, or ``eta / sqrt(k)``.
    clip : float or None
        Gradients of single rows longer than this are cut. None: 1, at which losses with slopes in [-1, 1] are
        never cut; 1/2 where logistic coefficients at a default strength only say which ones there are
        (``goal="select"``): half the noise, for coefficients of a loss whose slopes end at 1/2 for rows of
        norm 1. Their order and signs mean what they did, their sizes do not.
    coding : {"reference", "centred"}
        The user's own columns with long rows cut, or centred columns, which need no cut.
    """

    steps: int | None = None
    eta: float | None = None
    schedule: Schedule = "constant"
    clip: float | None = None
    coding: Literal["centred", "reference"] = "reference"

    algorithm: ClassVar[str]

    @property
    def drawn(self) -> Sampling:
        """How rows are drawn for a gradient."""
        return "all"

    @property
    def shares(self) -> int:
        """Number of parts of the rows that have points of their own."""
        return 1

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = require_budget(problem, privacy, self.name)
        require_steps(self.steps, "steps")
        for name in ("eta", "clip"):
            require_positive(getattr(self, name), name)
        if self.schedule not in ("constant", "sqrt"):
            raise MethodError("schedule", expected="'constant' or 'sqrt'", remedy="Leave schedule out.")
        self._check()
        mu = gaussian_total(privacy, self.name)
        if problem.count_rows is None:
            public_rows(problem, self.name)
        rate = self._rate(problem)
        steps = self._steps(rate)
        clip = self._clip(problem)
        one = Gradient(problem.family, clip, clip, self.drawn, rate, self.shares)
        sensitivity = one.sensitivity(privacy.relation)
        if rate < 1.0 and privacy.mu is not None:
            raise MethodError(
                f"a budget in {privacy.definition} with sampling={self.drawn!r}",
                expected="an epsilon and a delta: gradients of samples are not Gaussian private",
                remedy="Use privacy=(1.0, 1e-6), or sampling='all'.",
            )
        if rate < 1.0 and rate * steps <= TEN_DELTAS * privacy.delta:
            raise MethodError(
                f"{steps} samples of a share {rate:.3g} of the rows: delta alone would pay",
                expected="samples that rarity does not have to protect: it protects nobody who is in one",
                remedy="Use a larger rate, more steps, or a smaller delta.",
            )
        sums = NoisySums(sensitivity, steps, rate, "fixed" if self.drawn == "fixed" else "poisson")
        target = Target(privacy.relation, mu=mu) if rate == 1.0 else Target.of(privacy)
        scale = calibrate(sums, target).score_scale
        replace(one, scale=scale).require_grid(
            len(problem.geometry.names)
        )  # refused here, not after the charge
        releases = tuple(
            Gradient(problem.family, scale, clip, self.drawn, rate, self.shares) for _ in range(steps)
        )
        return budgeted_plan(releases, privacy, mu=mu if rate == 1.0 else None)

    def _check(self) -> None:
        """Refuse options of the method's own."""

    def _clip(self, problem: Problem) -> float:
        if self.clip is not None:
            return self.clip
        return CUT if selects(problem) and problem.family.logistic else 1.0

    def _rate(self, problem: Problem) -> float:
        return 1.0

    def _steps(self, rate: float) -> int:
        if self.steps is not None:
            return self.steps
        return STEPS if rate == 1.0 else max(1, min(MOST, round(PASSES / rate)))

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        rows = public_rows(problem, self.name)
        run = Run(self.eta, self.schedule, problem, plan, ask, rows)
        return self.iterate(run)

    @abstractmethod
    def iterate(self, run: Run) -> Estimate:
        """Step through the planned gradients."""

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise | None:
        """The mean of the last three quarters of the points has the noise of as many gradients."""
        releases = plan.of_kind(Gradient)
        if not releases:
            return None
        first, averaged = releases[0], len(releases) - len(releases) // 4
        deviation = first.scale / first.rate * math.sqrt(first.parts / averaged)
        return noise_of_minimiser(rows.information, 0.0, deviation, rows.dispersion)

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
