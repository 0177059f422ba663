"""Linear regression from second moments: in two stages, or of rows and responses as they are declared."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.coefficients import Scaling, coefficients
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.expectation import ExpectedRows, expected_model
from dpglm.inference.interval_model import fitted_scales, interval_model
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, methods, require_scales
from dpglm.methods.normal_equations import (
    LATENT,
    normal_equations,
    part_weights,
    prior_of,
    residual_variance,
    rows_of,
)
from dpglm.methods.standardised import KNOWN
from dpglm.methods.two_stages import (
    expected_in_two_stages,
    in_two_stages,
    solve_in_two_stages,
    two_stage_releases,
)
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.typing import FloatVector

_LARGEST_SCALE = 1e100


@methods.register("moments")
@dataclass(frozen=True)
class Moments(Method):
    """Linear regression from X'X, X'y and y'y, each released once with noise.

    Noisy normal equations are solved as a linear model whose error has a known covariance. By default, and
    with Gaussian noise, they are those of residuals at a point that is released first, on rows in released
    standard deviations: the noise of X'X then multiplies only what that point is wrong by. A pure epsilon, a
    model without an intercept, and ``scales="declared"`` take one release of X'X, X'y and y'y on rows in
    declared ranges, where that noise multiplies all of theta. Coefficients are shrunk by a normal prior whose
    scale is read off the release where ``learn_scale``, else declared. Without noise this is least squares.

    Parameters
    ----------
    learn_scale : bool
        Whether the prior's scale for slopes, levels and other terms is the one that fits the release best.
    scales : {"measured", "declared"}
        How numbers and the response are scaled. ``"measured"`` spends 7 % of mu squared on means and standard
        deviations, and 5 % on where residuals are to be cut; rows far out count less. ``"declared"`` cuts
        nothing and weighs all rows alike; wide bounds then cost precision.

    References
    ----------
    Wang (2018), "Revisiting differentially private linear regression", UAI, for the release;
    ``mechanisms/moments.md`` for the theorems used.

    Examples
    --------
    >>> Moments().name
    'moments'
    """

    learn_scale: bool = True
    scales: Literal["measured", "declared"] = "measured"

    name: ClassVar[str] = "moments"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name, releases_rows=True)
        if problem.family.name != "gaussian":
            raise MethodError(
                f"family {problem.family.name!r} with method='moments'",
                expected="family='gaussian': other families need more than second moments",
                remedy="Leave method out.",
            )
        require_scales(self.scales)
        mu = None if privacy.definition == "pure" else Target.of(privacy).ideal_mu
        if self.scales == "measured" and in_two_stages(problem, privacy):
            more = (KNOWN,) if problem.moments is not None else ()
            return budgeted_plan(two_stage_releases(problem, privacy), privacy, mu=mu, more=more)
        span = Span(problem.geometry.term_columns)
        unit = SecondMoments(span, "gaussian", 1.0, **part_weights(privacy.relation))
        sensitivity = unit.sensitivity(privacy.relation)
        if mu is None:
            scale = min(sensitivity / privacy.epsilon, _LARGEST_SCALE)
            return budgeted_plan((replace(unit, law="gamma", scale=scale),), privacy, mu=None)
        return budgeted_plan((replace(unit, scale=sensitivity / mu),), privacy, mu=mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        geometry, scales = problem.geometry, None
        if plan.on_mapped_rows:
            released, rows, geometry, scales = solve_in_two_stages(problem, plan, ask)
            coded = self._shrunk(released)
        else:
            (release,) = plan.of_kind(SecondMoments)
            sums = MomentSums.of(ask(release), release.size)
            declared = normal_equations(sums, release, geometry.term_columns)
            coded, rows = self._shrunk(declared), rows_of(sums, release)
            variance = residual_variance(sums, release, coded, declared.dispersion)
            released = replace(declared, dispersion=variance)
        scaling = Scaling.of(geometry)
        contrasts = Contrasts(interval_model(released), geometry.user_from_coded)
        if problem.penalty.name in ("none", "l2") and problem.strength is None:
            coded = coded if released.origin is None else coded + released.origin
            estimates = scaling.user(scaling.scaled(coded))
            if problem.penalty.name == "none":
                printed = np.array([verdict.reported for verdict in interval_decisions(contrasts)])
                estimates = np.where(printed, contrasts.estimates, estimates)
                coded = scaling.coded(scaling.from_user(estimates))
            every = np.ones(len(coded), dtype=np.bool_)
            return Estimate(coded, estimates, every, released=released, scales=scales)
        rows = problem.public_size() or rows
        total = None if problem.strength is None else float(problem.strength) * rows
        fit = coefficients(contrasts, scaling, problem.penalty, total, size=problem.public_size())
        strength = None if fit.strength is None else fit.strength / rows
        return Estimate(fit.coded, fit.estimates, fit.selected, strength, released=released, scales=scales)

    def _shrunk(self, released: ScoreAndInformation) -> FloatVector:
        """What least squares on the same rows most probably gives: no sampling error in the covariance."""
        exact = replace(released, dispersion=0.0)
        return LinearModel(fitted_scales(LinearModel(exact)) if self.learn_scale else exact).mean

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> Contrasts:
        """In one release all of theta multiplies the noise of X'X; in two stages, what is left of it."""
        if plan.on_mapped_rows:
            return expected_in_two_stages(problem, plan, rows)
        (release,) = plan.of_kind(SecondMoments)
        scale, mean = math.sqrt(rows.response_variance) / LATENT, rows.response_mean
        terms = tuple(replace(term, prior=prior_of(term, scale)) for term in problem.geometry.term_columns)
        size = [
            np.full(1, mean / term.table[0, 0]) if term.kind == "intercept" else term.prior for term in terms
        ]
        model = expected_model(
            terms,
            rows.information,
            products=np.diag(np.concatenate(size) ** 2),
            score_scale=release.cross_deviation,
            information_scale=release.gram_deviation,
            dispersion=rows.dispersion,
            third_derivative_bound=problem.family.third_derivative_bound,
        )
        return Contrasts(model, problem.geometry.user_from_coded)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        prior = "fitted to the release" if self.learn_scale else "declared"
        staged = (
            "means and standard deviations, then linear regression from noisy second moments, of residuals"
        )
        return MethodDescription(
            staged if plan.on_mapped_rows else "linear regression from noisy second moments",
            plan.describe(),
            "afterwards, to the released linear model",
            plan.why(),
            "noise-aware generalised least squares on the released linear model",
            (Fact("Scale of the prior that shrinks", prior),),
        )
