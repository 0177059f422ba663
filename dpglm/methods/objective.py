"""One-shot objective perturbation: the whole budget on one perturbed minimiser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpglm.curator import Plan
from dpglm.errors import MethodError
from dpglm.methods.base import Ask, Estimate, Method, Problem, methods
from dpglm.methods.scaling import Scaling
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.guarantee import Guarantee
from dpglm.privacy.perturbation import (
    Calibration,
    free_ridge,
    gamma_rate,
    gaussian_scale,
    gaussian_scale_gdp,
    perturbed_profile,
    pure_curve,
)
from dpglm.releases import PerturbedMinimiser
from dpglm.typing import FloatVector

# The solver stops at this norm of the score, sum units; or at this share of how far noise alone can carry the
# coefficients, since rounding in the score grows with them, but never at more than this share of the noise.
TOLERANCE = 1e-8
TOLERANCE_SHARE = 1e-10
NOISE_SHARE = 1e-6
# Share of epsilon (or of mu squared) that hides what the solver left over (Theorem A4).
BLUR_SHARE = 0.01
# Released coefficients within this many standard deviations of the blur of zero were zero before it.
ZERO_WIDTH = 10.0
CURVE_POINTS = 41


@methods.register("objective", "objective_perturbation")
@dataclass(frozen=True)
class Objective(Method):
    """Objective perturbation with the smallest ridge that privacy needs.

    Parameters
    ----------
    ridge : float or None
        Ridge on the coded coefficients, sum units. None takes the smallest one for which the guarantee costs
        no more noise than the noise mechanism alone: 1/epsilon (add-remove) or 2/epsilon (replace-one).
    coding : {"centred", "reference"}
        Centred columns, whose bound no row exceeds, or the user's own columns with rows clipped.

    References
    ----------
    Kifer, Smith and Thakurta (2012) for the idea; ``releases/minimiser.md`` for the theorems used.

    Examples
    --------
    >>> Objective().name
    'objective'
    """

    ridge: float | None = None
    coding: Literal["centred", "reference"] = "centred"

    name: ClassVar[str] = "objective"

    def plan(self, problem: Problem, privacy: Privacy | None) -> Plan:
        if privacy is None:
            raise MethodError(
                "method='objective' with privacy=None",
                expected="a privacy budget",
                remedy="Use method='nonprivate', or say privacy=1.0.",
            )
        if self.ridge is not None and not (isinstance(self.ridge, int | float) and 0 < self.ridge < 1e100):
            raise MethodError(
                f"ridge of {self.ridge:g}" if isinstance(self.ridge, float) else "ridge of another kind",
                expected="a number above 0 and below 1e100",
                remedy="Leave ridge out for the default.",
            )
        release, theorem = self._calibrated(problem, privacy)
        guarantee = Guarantee(
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            definition=privacy.definition,
            relation=privacy.relation,
            unit=str(privacy.unit),
            mu=privacy.mu,
            rho=privacy.rho,
            theorem=theorem,
            assumptions=release.assumptions,
            curve=_curve(release, privacy),
        )
        return Plan((release,), guarantee, privacy)

    def _calibrated(self, problem: Problem, privacy: Privacy) -> tuple[PerturbedMinimiser, str]:
        """The release that just fits the budget, and the theorem that says so."""
        relation = privacy.relation
        if privacy.mu is not None:
            mu = privacy.mu * math.sqrt(1.0 - BLUR_SHARE)
            ridge, found = self._composable(mu, relation)
            price = privacy.mu * math.sqrt(BLUR_SHARE)
            return self._release(problem, ridge, "gaussian", found.scale, price, None), found.theorem
        epsilon = privacy.epsilon * (1.0 - BLUR_SHARE)
        ridge = self.ridge or free_ridge(epsilon, relation=relation)
        price = privacy.epsilon * BLUR_SHARE
        if privacy.delta == 0.0:
            rate = gamma_rate(epsilon, ridge, relation=relation)
            return self._release(problem, ridge, "gamma", 1.0 / rate, price, None), "Theorem A1"
        found = gaussian_scale(epsilon, privacy.delta, ridge, relation=relation)
        return self._release(problem, ridge, "gaussian", found.scale, price, epsilon), found.theorem

    def _composable(self, mu: float, relation: Relation) -> tuple[float, Calibration]:
        """The least of three ridges whose noise is within 3 % of the Gaussian mechanism's (Theorem A2)."""
        if self.ridge is not None:
            return self.ridge, gaussian_scale_gdp(mu, self.ridge, relation=relation)
        ideal = gaussian_scale_gdp(mu, math.inf, relation=relation).scale
        for factor in (0.5, 1.0):
            found = gaussian_scale_gdp(mu, factor * ideal**2, relation=relation)
            if found.scale <= 1.03 * ideal:
                return factor * ideal**2, found
        ridge = 2.0 * ideal**2 * (1.0 + 1e-6)
        return ridge, gaussian_scale_gdp(mu, ridge, relation=relation)

    def _release(
        self, problem: Problem, ridge: float, law: str, scale: float, price: float, claimed: float | None
    ) -> PerturbedMinimiser:
        """The release at this noise; ``price`` in epsilon (or mu) pays for the solver's residual."""
        scaling = Scaling.of(problem.geometry)
        size = len(scaling.lengths)
        deviation = scale if law == "gaussian" else scale * math.sqrt(size + 1.0)
        reach = deviation * math.sqrt(size) * max(1.0, 1.0 / ridge)
        tolerance = max(TOLERANCE, min(TOLERANCE_SHARE * reach, NOISE_SHARE * deviation))
        if problem.strength == "cv":
            raise MethodError(
                "strength='cv' with a privacy budget",
                expected="a strength that does not look at the data",
                remedy="Leave strength out, or give a number that was chosen without these data.",
            )
        if problem.strength is None:
            # Sum units: the level that noise alone reaches in p coordinates.
            strength = default_strength(problem, deviation, int(scaling.penalised.sum()))
            rows: float | None = 1.0
        else:
            strength, rows = float(problem.strength), problem.rows
        return PerturbedMinimiser(
            family=problem.family,
            ridge=ridge,
            law="gaussian" if law == "gaussian" else "gamma",
            scale=scale,
            tolerance=tolerance,
            blur_scale=2.0 * tolerance / ridge / price,
            penalty=problem.penalty.with_strength(strength),
            penalty_rows=rows,
            mixing=scaling.mixing,
            penalised=scaling.penalised,
            claimed_epsilon=claimed,
        )

    def solve(self, problem: Problem, plan: Plan, ask: Ask) -> Estimate:
        (release,) = plan.releases
        assert isinstance(release, PerturbedMinimiser)
        scaling = Scaling.of(problem.geometry)
        coded = ask(release)
        scaled = scaling.scaled(coded)
        if release.penalty.l1_weight:
            # The minimiser had exact zeros; the blur moved them by a known amount. Post-processing.
            deviation = release.blur_scale * scaling.spread()
            if release.law == "gamma" or release.claimed_epsilon is not None:
                deviation = deviation * math.sqrt(len(scaled) + 1.0)
            zero = scaling.penalised & (np.abs(scaled) <= ZERO_WIDTH * deviation)
            scaled = np.where(zero, 0.0, scaled)
        return Estimate(scaling.coded(scaled), scaling.user(scaled), scaled != 0.0)

    def card(self, problem: Problem, plan: Plan) -> dict[str, Any]:
        (release,) = plan.releases
        assert isinstance(release, PerturbedMinimiser)
        assert plan.privacy is not None
        law = {
            "gamma": "density proportional to exp(-|b| / scale)",
            "gaussian": "Gaussian, N(0, scale^2 I)",
        }
        return {
            "algorithm": "objective perturbation",
            "theorem": plan.guarantee.theorem,
            "released": "the minimiser of sum of losses + b'theta + ridge/2 |theta|^2 + penalty, once",
            "sensitivity": release.sensitivity(plan.privacy.relation),
            "noise": law[release.law],
            "noise_scale": release.scale,
            "ridge": release.ridge,
            "strength_sum": None if release.penalty_rows != 1.0 else release.penalty.weight,
            "solver_residual": release.tolerance,
            "residual_noise_scale": release.blur_scale,
        }


def default_strength(problem: Problem, deviation: float, size: int) -> float:
    """Penalty strength, sum units, that stops coordinates of pure noise: deviation * sqrt(2 log p).

    Penalties without an L1 part get 0: the ridge that privacy needs is there anyway (Theorem B).
    """
    if not problem.penalty.with_strength(1.0).l1_weight:
        return 0.0
    return deviation * math.sqrt(2.0 * math.log(max(size, 2)))


def _curve(release: PerturbedMinimiser, privacy: Privacy) -> tuple[tuple[float, float], ...]:
    """Points (epsilon, delta) that hold all at once, for plots of the guarantee."""
    blur = privacy.epsilon * BLUR_SHARE
    grid: FloatVector = np.linspace(0.0, 1.5 * privacy.epsilon, CURVE_POINTS)
    if release.law == "gamma":
        deltas = pure_curve(grid, privacy.epsilon)
    elif privacy.mu is not None:
        return ()  # a Gaussian guarantee is its own curve
    else:
        left = np.maximum(grid - blur, 0.0)
        deltas = perturbed_profile(left, release.scale, release.ridge, relation=privacy.relation)
        deltas = np.where(grid < blur, 1.0, deltas)
    return tuple((float(e), float(d)) for e, d in zip(grid, deltas, strict=True) if d > 0.0)
