"""Output perturbation: noise on the minimiser itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import EstimateNoise, ExpectedRows, noise_of_minimiser
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, methods, require_positive
from dpglm.methods.iterated import estimate, gaussian_total
from dpglm.methods.perturbed_objective import require_near_offsets
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.gdp import SAFETY

# The ridge, in units of the noise of the score that objective perturbation would add: the noise of the output
# is that over the ridge, the bias grows with the ridge.
RIDGE = 3.0
# Of the solver, as a share of the ridge: its error adds this to a sensitivity of the inverse ridge.
TOLERANCE = 1e-7
# Slopes that stay below this are worth reading no more rows than were declared.
WORTH = 0.99


@methods.register("output", "output_perturbation")
@dataclass(frozen=True)
class Output(Method):
    """The minimiser of a strongly convex objective plus noise: simple, and seldom the best.

    Noise of the coefficients is noise of the score over the ridge, in every direction; objective perturbation
    divides it by the curvature of the data as well.

    Parameters
    ----------
    ridge : float or None
        On the coded coefficients, sum units. None takes three times the standard deviation that noise of
        the score would have at this budget.
    coding : {"clipped", "centred"}
        As in `Objective`.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011), algorithm 1; ``mechanisms/output_perturbation.md`` for the
    theorem used, whose constant is smaller for a ridge alone.

    Examples
    --------
    >>> Output(ridge=100.0).name
    'output'
    """

    ridge: float | None = None
    coding: Literal["centred", "clipped"] = "clipped"

    name: ClassVar[str] = "output"

    def default_penalty(self, goal: str, family: Family) -> str:
        # It takes convex ones only.
        return "l1" if goal == "select" else super().default_penalty(goal, family)

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name)
        require_positive(self.ridge, "ridge")
        if not problem.penalty.convex:
            raise MethodError(
                f"penalty {problem.penalty.name!r} with method='output'",
                expected="a convex penalty, whose minimiser cannot jump",
                remedy="Use penalty='l1', or method='dpsc', which takes any penalty.",
            )
        pure = privacy.delta == 0.0 and privacy.mu is None
        mu = None if pure else gaussian_total(privacy, self.name)
        scaling = Scaling.of(problem.geometry)
        steps = STEPS[privacy.relation]
        size = len(scaling.lengths)
        level = steps * math.sqrt(size + 1.0) / privacy.epsilon if mu is None else steps / mu
        ridge = float(self.ridge) if self.ridge is not None else RIDGE * level
        given = problem.strength is not None
        tolerance = max(TOLERANCE, 1e-9 * ridge)
        require_near_offsets(problem, tolerance)
        release = PerturbedOutput(
            family=problem.family,
            ridge=ridge,
            law="gamma" if mu is None else "gaussian",
            scale=1.0,
            tolerance=tolerance,
            penalty=problem.penalty.with_strength(float(problem.strength or 0.0)),
            penalty_rows=problem.rows if given else 1.0,
            mixing=scaling.mixing,
            penalised=scaling.penalised,
            plain_rows=_plain_rows(problem, privacy, ridge),
        )
        sensitivity = release.sensitivity(privacy.relation)
        scale = sensitivity / (privacy.epsilon if mu is None else mu) * (1.0 + SAFETY)
        release = replace(release, scale=scale)
        return budgeted_plan((release,), privacy, mu=mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        (release,) = plan.releases
        scaling = Scaling.of(problem.geometry)
        return estimate(scaling, scaling.scaled(ask(release)))

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        (release,) = plan.of_kind(PerturbedOutput)
        sampling = noise_of_minimiser(rows.information, release.ridge, 0.0, rows.dispersion).sampling
        return EstimateNoise(sampling, release.deviation**2 * np.eye(len(rows.information)))

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return MethodDescription("output perturbation", plan.describe(), "inside the objective", plan.why())


def _plain_rows(problem: Problem, privacy: Privacy, ridge: float) -> int | None:
    """The declared number of rows where it makes the sensitivity smaller."""
    plain = problem.family.name == "binomial" and not problem.offset and not problem.strength
    rows = problem.known_rows
    if not plain or not privacy.rows_are_public or privacy.persons or problem.weighted or not rows:
        return None
    return rows if expit(math.sqrt(0.2785 * rows / ridge)) < WORTH else None
