"""DPSC: sparse classification by ADMM with fresh noise in every iteration; DPLL for l1, DPLH for l1/2."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import NoPenalty
from dpglm.inference.coefficients import Scaling
from dpglm.inference.expectation import EstimateNoise, ExpectedRows, noise_of_minimiser
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, methods, require_positive
from dpglm.methods.iterated import (
    bound_penalty,
    declared_rows,
    estimate,
    gaussian_total,
    noise_level,
    prox,
    public_rows,
    require_steps,
)
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE, gdp_ridge, perturbed_objective
from dpglm.optim.quadratic import minimise_quadratic_path
from dpglm.papers.printed import printed_dpsc
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.privacy.gdp import SAFETY
from dpglm.privacy.theorems import bounded_shift, free_ridge
from dpglm.typing import FloatVector

# Iterations: pure noise grows with their number, Gaussian noise with its root.
ITERATIONS, ITERATIONS_PURE = 10, 2
# Pure budgets afford a ridge larger than the least one; where the Jacobian is paid for (losses that are not
# logistic), it takes this share of epsilon.
PURE_RIDGE, JACOBIAN_SHARE = 3.0, 0.02
# Least tolerance, as a share of the ridge: the centre of a ridge may be about a thousand long.
TOLERANCE = 2.0**-35


@methods.register("dpsc")
@dataclass(frozen=True)
class DPSC(Method):
    r"""Alternating directions between a penalty and perturbed minimisers, each with noise of its own.

    With f the sum of losses, Lam = n c and b_k drawn afresh for every k,

    .. math::

        Z &= \mathrm{prox}_{P/\Lambda}(w - V/\Lambda), \\
        w &= \arg\min f(w) + b_k \cdot w + \tfrac{\Lambda}{2} |w - (Z + V/\Lambda)|^2 + \text{residual noise},
        \qquad V^+ = V + \Lambda (Z - w).

    Only w reads rows; Z, V and the answer, the proximal step at the mean of ``w - V / Lam`` over the last
    half of the iterations, are post-processing: any penalty keeps the claim, and the answer is sparse.

    Parameters
    ----------
    iterations : int or None
        Their number K; None is 10, or 2 with a pure epsilon, whose noise grows with K and not with its root.
    c : float or None
        Augmentation per row, of a declared number of rows. None: the least Lam at which an iteration costs
        no more than its noise.
    coding : {"clipped", "centred"}
        Centred columns divided by the norm of a typical row, longer ones cut, or by a bound, none cut.
    paper_exact : bool
        Runs the algorithm as it is printed, one noise vector for all iterations and ``inner`` gradient steps,
        for reproduction only: the result is NOT PRIVATE, and a ledger refuses it.
    inner, alpha : int, float
        Gradient steps an iteration, and their size, of the printed algorithm.

    References
    ----------
    The DPSC paper, algorithms 1 to 3, whose privacy claim holds for fresh noise and exact minimisers only;
    ``mechanisms/objective_perturbation.md`` for the theorems used.

    Examples
    --------
    >>> DPSC(iterations=20).name
    'dpsc'
    """

    iterations: int | None = None
    c: float | None = None
    coding: Literal["centred", "clipped"] = "clipped"
    paper_exact: bool = False
    inner: int = 10
    alpha: float = 0.5

    name: ClassVar[str] = "dpsc"

    @property
    def planned_by_row_count(self) -> bool:
        return self.paper_exact

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name)
        require_steps(self.iterations, "iterations")
        require_positive(self.c, "c")
        if self.paper_exact:
            require_steps(self.inner, "inner")
            require_positive(self.alpha, "alpha")
            c, alpha = 1.0 if self.c is None else float(self.c), float(self.alpha)
            rounds = self.iterations or 100
            return printed_dpsc(problem, privacy, rounds=rounds, c=c, inner=self.inner, alpha=alpha)
        pure = privacy.delta == 0.0 and privacy.mu is None
        rounds = self.iterations or (ITERATIONS_PURE if pure else ITERATIONS)
        ridge = None if self.c is None else self.c * declared_rows(problem, self.name)
        mu, max_leverage = None, None
        if not problem.family.logistic:
            ridge, scales = _bounded(privacy, rounds, ridge)
            max_leverage = 1.0 / ridge
        elif pure:
            tilt = privacy.epsilon / rounds * (1.0 - RESIDUAL_SHARE) * (1.0 - SAFETY)
            ridge = ridge or PURE_RIDGE * free_ridge(tilt, relation=privacy.relation)
            ridge, scales = gdp_ridge(Target.of(privacy), ridge, times=rounds)
        else:
            mu = gaussian_total(privacy, self.name)
            ridge, scales = gdp_ridge(Target(privacy.relation, mu=mu), ridge, times=rounds)
        smooth = replace(problem, strength=None)
        release = perturbed_objective(
            smooth, NoPenalty(), ridge=ridge, scales=scales, max_leverage=max_leverage
        )
        if release.tolerance < TOLERANCE * ridge:
            release = replace(release, tolerance=TOLERANCE * ridge)
            release = replace(release, residual_noise_scale=release.residual_noise_for(scales.residual_price))
        releases = tuple(replace(release) for _ in range(rounds))
        return budgeted_plan(releases, privacy, mu=mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        scaling = Scaling.of(problem.geometry)
        if self.paper_exact:
            return estimate(scaling, ask(plan.releases[0])[len(scaling.lengths) :])
        first, *_ = releases = plan.of_kind(PerturbedMinimiser)
        ridge, size, rounds = float(first.ridge), len(scaling.lengths), len(releases)
        averaged = rounds - rounds // 2
        # A soft threshold lets little of one iteration's noise pass, and the mean of many has less of it;
        # what is beyond a jump is kept whole.
        felt = first.deviation / math.sqrt(averaged) if problem.penalty.convex else first.deviation
        level = noise_level(felt, int(scaling.penalised.sum()))
        penalty = bound_penalty(problem, scaling, ridge, level)
        w, V, mean = np.zeros(size), np.zeros(size), np.zeros(size)
        for number, release in enumerate(releases):
            Z = scaling.coded(nearest(penalty, w - V / ridge, ridge, scaling))
            w = ask(release, Z + V / ridge)
            V = V + ridge * (Z - w)
            if number >= rounds // 2:
                mean = mean + (w - V / ridge) / averaged
        strength = penalty.weight / public_rows(problem, self.name) if problem.public_size() else None
        return estimate(scaling, nearest(penalty, mean, ridge, scaling), strength)

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise | None:
        """The mean over the last half of the iterations has their noise once, and no ridge's pull."""
        releases = plan.of_kind(PerturbedMinimiser)
        if not releases:
            return None
        averaged = len(releases) - len(releases) // 2
        deviation = releases[0].deviation / math.sqrt(averaged)
        return noise_of_minimiser(rows.information, 0.0, deviation, rows.dispersion)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        if self.paper_exact:
            algorithm = "DPSC, one noise vector for all iterations, as printed"
            return MethodDescription(algorithm, plan.describe(), "between gradient steps")
        return MethodDescription(
            "ADMM over perturbed minimisers, each around a centre that was released before",
            plan.describe(),
            "between minimisers, to released numbers",
            plan.why(),
            facts=(Fact("Iterations", len(plan.releases)),),
        )


def nearest(penalty: Penalty, coded: FloatVector, ridge: float, scaling: Scaling) -> FloatVector:
    """Scaled coefficients that minimise ``ridge / 2 |coded - theta|^2 + penalty``, shape (p,)."""
    mixing = scaling.mixing
    if np.array_equal(mixing, np.eye(len(mixing))):
        return prox(penalty, coded, ridge, scaling)
    matrix, right, strengths = ridge * (mixing.T @ mixing), ridge * (mixing.T @ coded), [penalty.weight]
    minima = minimise_quadratic_path(matrix, right, penalty, np.array(strengths), penalised=scaling.penalised)
    return np.asarray(minima.coefficients[0])


def _bounded(privacy: Privacy, rounds: int, ridge: float | None) -> tuple[float, Calibration]:
    """Ridge and noise for losses whose slope and curvature nothing ties together: Theorem C, shifts add."""
    if privacy.mu is not None:
        raise MethodError(
            f"a budget in {privacy.definition} for a loss that is not logistic",
            expected="an epsilon, or an epsilon and a delta: the proof for these losses gives no other",
            remedy="Use privacy=(1.0, 1e-6), or method='ssadmm'.",
        )
    if ridge is None:
        ridge = rounds / math.expm1(JACOBIAN_SHARE * privacy.epsilon)
    shift = rounds * bounded_shift(1.0 / ridge)
    left = (privacy.epsilon - shift) * (1.0 - SAFETY)
    if left < 0.5 * privacy.epsilon:
        raise MethodError(
            f"c so small that {rounds} iterations spend more than half of epsilon on their Jacobians",
            expected="a larger c, or fewer iterations",
            remedy="Leave c out.",
        )
    residual = RESIDUAL_SHARE * (left / privacy.epsilon if privacy.delta == 0.0 else 1.0)
    leverage = 1.0 / ridge
    alike = Minimisers(lambda scale: leverage, residual_share=residual, losses="bounded", times=rounds)
    return ridge, calibrate(alike, Target.of(privacy))
