"""Objective perturbation: one perturbed minimiser, with scales before and information after it, or alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.elastic_net import L1, NoPenalty
from dpglm.inference import expectation
from dpglm.inference.coefficients import Scaling, coefficients
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.interval_model import interval_model
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.either import choosing
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.moments import SecondMoments
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.score_norms import ScoreNorms
from dpglm.methods.base import (
    Ask,
    Estimate,
    Method,
    Problem,
    budgeted_plan,
    methods,
    require_positive,
    require_scales,
)
from dpglm.methods.counts import counts_in_two_stages, expected_counts, solve_counts
from dpglm.methods.information import (
    expected_variance,
    information_release,
    released_by,
    share_of_spread,
    spread_releases,
)
from dpglm.methods.perturbed_objective import (
    calibrated_ridge,
    perturbed_objective,
    releases_information,
    uniform_ridge,
)
from dpglm.methods.row_length import noise_of_score
from dpglm.methods.standardised import (
    KNOWN,
    expected_geometry,
    expected_steepness,
    measured_scales,
    place_of,
    shortened_releases,
    shortens,
    standardised_releases,
    standardises,
)
from dpglm.methods.two_stages import two_stage_releases
from dpglm.postprocessing.parts import MeasuredScales
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import MethodDescription
from dpglm.typing import FloatVector

# Released coefficients within this many standard deviations of the residual noise were zero before it.
ZERO_WIDTH = 10.0
# How many times the mean square of t - theta is in a plan with two scores what terms that overlap as usual
# would make it: near repeats leave much of it to priors. Set on fair and Adult, judged on GUSTO and randhie.
# Where it is known how they overlap there is nothing to make up for.
OVERLAPPING = 2.2
# What a penalty that is not convex sets to zero in a lasso's result, as a share of the largest coefficient.
THRESHOLD = 1.0 / 32.0


@methods.register("objective", "objective_perturbation")
@dataclass(frozen=True)
class Objective(Method):
    """Objective perturbation with the smallest ridge that privacy needs.

    Parameters
    ----------
    ridge : float or None
        Ridge on the coded coefficients, sum units. None takes the smallest one for which the guarantee costs
        no more noise than the noise mechanism alone: 1/epsilon (add-remove) or 2/epsilon (replace-one).
    coding : {"centred", "clipped"}
        Centred columns divided by a bound, which no row exceeds, or by the norm of a typical row, longer
        ones clipped.
    scales : {"measured", "declared"}
        How numbers are scaled where a ``ridge`` is not given and ``coding`` is centred. ``"measured"`` spends
        7 % of mu squared (14 % of a pure epsilon) on means and standard deviations, and rows are read in
        these units. For ``goal="explain"`` and no penalty that selects, long rows have a weight below 1, so
        where the model is wrong, the coefficients of the weighted rows are estimated; where noise outweighs
        sampling rows near even odds count more, by a steeper loss. Elsewhere, where a
        penalty and no strength is given, long rows are shortened; for predictions and lists the logistic
        loss is shifted, too. Counts with intervals are fitted in two stages, without objective
        perturbation, as ``methods/counts.py`` says. ``"declared"`` scales by declared ranges, reads all rows
        alike and shifts no loss; wide bounds then cost precision.

    References
    ----------
    Kifer, Smith and Thakurta (2012) for the idea; ``mechanisms/objective_perturbation.md`` for the theorems
    used.

    Examples
    --------
    >>> import dpglm
    >>> data, budget = dpglm.load_data("simulated"), (1.0, 1e-6)
    >>> fit = dpglm.fit("y ~ x1 + x2", data, privacy=budget, seed=1)
    >>> fit.spend["release"].tolist()[::2]
    ['means and standard deviations', 'classes of row length', 'solver residual']
    >>> declared = dpglm.fit("y ~ x1 + x2", data, privacy=budget, seed=1, method=Objective(scales="declared"))
    >>> declared.spend["release"].tolist()
    ['perturbed minimiser', 'solver residual', 'information matrix']
    """

    ridge: float | None = None
    coding: Literal["centred", "clipped"] = "centred"
    scales: Literal["measured", "declared"] = "measured"

    name: ClassVar[str] = "objective"

    def prepared(self, problem: Problem) -> Problem:
        shifts = problem.goal != "explain" and self._may_shorten(problem)
        return replace(problem, family=problem.family.shifted()) if shifts else problem

    def _may_shorten(self, problem: Problem) -> bool:
        """Whether rows as they are have no meaning to the user, where no intervals are asked for.

        Without a penalty a fit is that of maximum likelihood; a strength has a meaning in rows as they are.
        """
        asked = problem.goal != "explain" or problem.penalty.selects
        free = problem.strength is None and not isinstance(problem.penalty, NoPenalty)
        return asked and free and self._by_default and self.scales == "measured"

    @property
    def _by_default(self) -> bool:
        return self.ridge is None and self.coding == "centred"

    def require_columns(self, problem: Problem) -> None:
        inside = problem.penalty if problem.penalty.convex else L1()
        known = inside.l1_weight is not None and inside.ridge_weight is not None
        if not (known and problem.family.logistic and self.coding == "centred" and problem.strength != "cv"):
            super().require_columns(problem)

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name)
        require_positive(self.ridge, "ridge")
        require_scales(self.scales)
        by_default = self._by_default
        releases: tuple[Release, ...]
        inside = problem.penalty if problem.penalty.convex else L1()
        measures = by_default and self.scales == "measured"
        if measures and problem.family.name == "poisson" and counts_in_two_stages(problem, privacy):
            mu = Target.of(privacy).ideal_mu
            more = (KNOWN,) if problem.moments is not None else ()
            return budgeted_plan(two_stage_releases(problem, privacy), privacy, mu=mu, more=more)
        if measures and standardises(problem, privacy):
            releases = standardised_releases(problem, privacy)
        elif by_default and releases_information(problem, privacy):
            smooth = replace(problem, strength=None)
            spread = share_of_spread(problem, pure=privacy.definition == "pure")
            ridge, scales = calibrated_ridge(problem, privacy, information=True, measured_share=spread)
            estimate = perturbed_objective(
                smooth, NoPenalty(), ridge=ridge, scales=scales, max_leverage=scales.max_leverage
            )
            norms, price = ScoreNorms(problem.family), scales.measured_price
            between = spread_releases(spread, norms, price, privacy.relation, scales.law)
            releases = (estimate, *between, information_release(problem, privacy, scales))
        elif not problem.family.logistic:
            ridge, scales = calibrated_ridge(
                problem, privacy, information=False, ridge=self.ridge, uniform=not by_default
            )
            single_ridge = ridge if by_default else float(ridge[0])
            releases = (
                perturbed_objective(
                    problem, inside, ridge=single_ridge, scales=scales, max_leverage=scales.max_leverage
                ),
            )
        elif self._may_shorten(problem) and shortens(problem):
            releases = shortened_releases(problem, privacy, inside)
        else:
            number, scales = uniform_ridge(Target.of(privacy), self.ridge)
            releases = (perturbed_objective(problem, inside, ridge=number, scales=scales),)
        mapped = releases[-1].inside is not releases[-1]
        more = (KNOWN,) if mapped and problem.moments is not None else ()
        return budgeted_plan(releases, privacy, mu=privacy.mu, curve=True, more=more)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        scales, before = None, None
        if plan.of_kind(SecondMoments):
            released, geometry, scales = solve_counts(problem, plan, ask)
            return _estimate(replace(problem, geometry=geometry), released, scales)
        if plan.on_mapped_rows:
            scales = measured_scales(problem, plan, ask)
            before = problem.geometry.row_matrix(scales.moments, scales.longer).ravel()
            geometry = problem.geometry.standardised(scales.moments, scales.longer)
            problem = replace(problem, geometry=geometry)
        place = 0 if scales is None else place_of(scales.steepness)
        if plan.of_kind(Information):
            return _estimate(problem, released_by(problem, plan, ask, before, place), scales)
        scaling = Scaling.of(problem.geometry)
        (minimiser,) = plan.of_kind(PerturbedMinimiser, place)
        # Where typical rows were shortened, their constant was too.
        factor = min(1.0, scales.longer) if scales is not None and scales.shortened else 1.0
        last = plan.releases[-1]
        scaled = scaling.scaled(factor * ask(last, choosing(last, before, place)))
        if minimiser.penalty.selects and minimiser.penalty.weight:
            # The minimiser had exact zeros; the residual noise moved them by a known amount. Post-processing.
            deviation = factor * minimiser.residual_noise_scale * scaling.noise_deviations()
            if minimiser.law == "gamma" or minimiser.claimed_epsilon is not None:
                deviation = deviation * math.sqrt(2.0)
            zero = scaling.penalised & (np.abs(scaled) <= ZERO_WIDTH * deviation)
            scaled = np.where(zero, 0.0, scaled)
        if not problem.penalty.convex:
            scaled[scaling.penalised] = thresholded(problem.penalty, scaled[scaling.penalised])
        return Estimate(
            scaling.coded(scaled),
            scaling.user(scaled),
            scaled != 0.0,
            strength_sum=minimiser.penalty.weight if minimiser.penalty_rows == 1.0 else None,
            scales=scales,
        )

    def expected(
        self, problem: Problem, plan: PricedReleases, rows: expectation.ExpectedRows
    ) -> Contrasts | expectation.EstimateNoise:
        if plan.of_kind(SecondMoments):
            return expected_counts(problem, plan, rows)
        (minimiser,), information = plan.of_kind(PerturbedMinimiser), plan.of_kind(Information)
        geometry, found, dispersion = problem.geometry, rows.information, rows.dispersion
        matrix = np.eye(len(found))
        if plan.on_mapped_rows:
            noise = None if plan.releases[-1].shortens else noise_of_score(plan)
            geometry, matrix = expected_geometry(problem, rows, noise)
            found = matrix @ found @ matrix.T
            if (steepness := expected_steepness(problem, plan, rows)) > 1.0:
                place = place_of(steepness)
                (minimiser,), information = (
                    plan.of_kind(PerturbedMinimiser, place),
                    plan.of_kind(Information, place),
                )
                family, about = minimiser.family, (rows.response_mean, rows.explained)
                found = found * (family.expected_weight(*about) / problem.family.expected_weight(*about))
                dispersion *= family.dispersion
        if not information:
            # Rows that are shortened are about as long as a typical one.
            square = float(np.trace(matrix @ rows.moments @ matrix.T))
            length = max(square, 1.0) if plan.releases[-1].shortens else 1.0
            spread = expectation.noise_of_minimiser(
                found / length, minimiser.ridges, minimiser.deviation, dispersion
            )
            return spread.mapped(matrix).scaled(1.0 / math.sqrt(length))
        terms, deviation = geometry.term_columns, minimiser.deviation
        begun = expectation.at_level(terms, _predictor(rows)) if problem.family.link == "logit" else terms
        away = expectation.products_of_minimiser(begun, found, minimiser.ridges, deviation, dispersion)
        if information[-1].score_weight and not rows.correlated:
            away *= OVERLAPPING
        model = expectation.expected_model(
            terms,
            found,
            products=away,
            score_scale=information[-1].pooled(deviation)[1],
            information_scale=information[-1].deviation,
            dispersion=dispersion * expected_variance(problem, plan, rows, float(np.trace(found))),
            third_derivative_bound=problem.family.third_derivative_bound,
        )
        return Contrasts(model, geometry.user_from_coded)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        first = "means and standard deviations, then " if plan.of_kind(ColumnSums) else ""
        staged = bool(plan.of_kind(SecondMoments))
        if staged or (information := plan.of_kind(Information)):
            score = "score and " if not staged and information[-1].score_weight else ""
            how = f"objective perturbation and the {score}information matrix at its result"
            return MethodDescription(
                first + ("Poisson regression from noisy second moments of residuals" if staged else how),
                plan.describe(),
                "afterwards, to the released linear model",
                plan.why(),
                "noise-aware generalised least squares on the released linear model",
            )
        inside = "inside the objective"
        if not problem.penalty.convex:
            inside = "as a lasso inside the objective, then by its own threshold"
        return MethodDescription(f"{first}objective perturbation", plan.describe(), inside, plan.why())


def _predictor(rows: expectation.ExpectedRows) -> float:
    """Root mean square of log odds to expect: those of the mean, and what is explained about them."""
    rate, explained = rows.response_mean, rows.explained
    about = explained / (1.0 - explained) / (rate * (1.0 - rate))
    return math.hypot(math.log(rate / (1.0 - rate)), math.sqrt(about))


def _estimate(problem: Problem, released: ScoreAndInformation, scales: MeasuredScales | None) -> Estimate:
    """What the released linear model says, with the penalty afterwards."""
    contrasts = Contrasts(interval_model(released), problem.geometry.user_from_coded)
    scaling = Scaling.of(problem.geometry)
    fit = coefficients(
        contrasts, scaling, problem.penalty, problem.total_strength(), size=problem.public_size()
    )
    return Estimate(
        fit.coded, fit.estimates, fit.selected, strength_sum=fit.strength, released=released, scales=scales
    )


def thresholded(penalty: Penalty, scaled: FloatVector) -> FloatVector:
    """The penalty's own prox on a lasso's result, its threshold a share of the largest coefficient.

    A lasso strong enough to stop noise lets in traces of what large coefficients were shrunk by. They are far
    smaller than what carries a signal. Post-processing.
    """
    largest = float(np.max(np.abs(scaled), initial=0.0))
    if largest == 0.0:
        return scaled
    bound = penalty.with_scale(np.ones(len(scaled)))
    strength = bound.strength_max(np.full(len(scaled), THRESHOLD * largest))
    return bound.with_strength(strength).prox(scaled, 1.0)
