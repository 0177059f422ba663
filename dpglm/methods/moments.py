"""Linear regression from one release of second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.coefficients import Scaling, coefficients
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.expectation import ExpectedRows, expected_model
from dpglm.inference.interval_model import fitted_scales, interval_model
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Ask, Estimate, Method, Problem, budgeted_plan, methods
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.typing import FloatVector

# Shares of mu squared (of the squared sensitivity) under add-remove. X'X's noise multiplies coefficients,
# X'y's does not; on two tables the error of coefficients is least, and flat, from .5 to .7 for X'X.
SHARES = {"gram": 0.55, "cross": 0.39, "square": 0.05, "count": 0.01}
# Declared scales are on the logit scale, whose latent standard deviation is pi / sqrt(3).
LATENT = math.pi / math.sqrt(3.0)
# The residual variance is at least this share of the response's.
LEAST_RESIDUAL = 1e-6
_LARGEST_SCALE = 1e100


@methods.register("moments")
@dataclass(frozen=True)
class Moments(Method):
    """Linear regression from X'X, X'y and y'y, each released once with noise.

    The noisy normal equations ``X'y = X'X theta + noise`` are solved as a linear model whose error has a
    known covariance: the noise of X'y, and that of X'X times theta. Coefficients are shrunk by a normal prior
    whose scale is read off the release where ``learn_scale``, else declared. Without noise this is least
    squares.

    Parameters
    ----------
    learn_scale : bool
        Whether the prior's scale for slopes, levels and other terms is the one that fits the release best.

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

    name: ClassVar[str] = "moments"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name, releases_rows=True)
        if problem.family.name != "gaussian":
            raise MethodError(
                f"family {problem.family.name!r} with method='moments'",
                expected="family='gaussian': other families need more than second moments",
                remedy="Leave method out.",
            )
        span = Span(problem.geometry.term_columns)
        unit = SecondMoments(span, "gaussian", 1.0, **_weights(privacy.relation))
        sensitivity = unit.sensitivity(privacy.relation)
        if privacy.delta == 0.0:
            scale = min(sensitivity / privacy.epsilon, _LARGEST_SCALE)
            return budgeted_plan((replace(unit, law="gamma", scale=scale),), privacy, mu=None)
        mu = Target.of(privacy).ideal_mu
        return budgeted_plan((replace(unit, scale=sensitivity / mu),), privacy, mu=mu)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        (release,) = plan.of_kind(SecondMoments)
        sums = MomentSums.of(ask(release), release.size)
        declared = _released(sums, release, problem.geometry.term_columns)
        # What least squares on the same rows most probably gives: no sampling error in the covariance.
        exact = replace(declared, dispersion=0.0)
        coded = LinearModel(fitted_scales(LinearModel(exact)) if self.learn_scale else exact).mean
        released = replace(declared, dispersion=_dispersion(sums, release, coded, declared.dispersion))
        scaling = Scaling.of(problem.geometry)
        contrasts = Contrasts(interval_model(released), problem.geometry.user_from_coded)
        if problem.penalty.name in ("none", "l2") and problem.strength is None:
            estimates = scaling.user(scaling.scaled(coded))
            if problem.penalty.name == "none":
                printed = np.array([verdict.reported for verdict in interval_decisions(contrasts)])
                estimates = np.where(printed, contrasts.estimates, estimates)
                coded = scaling.coded(scaling.from_user(estimates))
            return Estimate(coded, estimates, np.ones(len(coded), dtype=np.bool_), released=released)
        total = None  # the strength in sum units on the released loss, which is half the deviance
        if problem.strength is not None:
            total = float(problem.strength) * _rows(sums, release) / released.dispersion
        fit = coefficients(contrasts, scaling, problem.penalty, total, size=problem.public_size())
        strength = None
        if fit.strength is not None:
            strength = fit.strength * released.dispersion / _rows(sums, release)
        return Estimate(fit.coded, fit.estimates, fit.selected, strength, released=released)

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> Contrasts:
        """No estimate is released: all of theta multiplies the noise of X'X."""
        (release,) = plan.of_kind(SecondMoments)
        scale, mean = math.sqrt(rows.response_variance) / LATENT, rows.response_mean
        terms = tuple(replace(term, prior=_prior(term, scale)) for term in problem.geometry.term_columns)
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
        return MethodDescription(
            "linear regression from noisy second moments",
            plan.describe(),
            "afterwards, to the released linear model",
            plan.why(),
            "noise-aware generalised least squares on the released linear model",
            (Fact("Scale of the prior that shrinks", prior),),
        )


def _weights(relation: Relation) -> dict[str, float]:
    """Public weights of the four parts; under replace-one y'y and the count cost nothing up to these."""
    shares = dict(SHARES)
    if relation == "replace-one":
        shares |= {"square": shares["cross"], "count": shares["gram"]}
    return {f"{name}_weight": math.sqrt(share) for name, share in shares.items()}


def _released(
    sums: MomentSums, release: SecondMoments, declared: tuple[TermColumns, ...]
) -> ScoreAndInformation:
    """The linear model of the coded response, its dispersion at most the response's variance."""
    variance = _response_variance(sums, release, declared)
    scale = math.sqrt(variance) / LATENT
    term_columns = tuple(replace(block, prior=_prior(block, scale)) for block in declared)
    return ScoreAndInformation(
        term_columns=term_columns,
        centre=np.zeros(release.size),
        score=sums.cross,
        information=sums.gram,
        score_scale=release.cross_deviation,
        information_scale=release.gram_deviation,
        dispersion=variance,
        initial_variance=np.concatenate([block.prior**2 for block in term_columns]),
        third_derivative_bound=0.0,
    )


def _prior(block: TermColumns, scale: float) -> FloatVector:
    """Declared scales in standard deviations of the response; the intercept may be anywhere in its range."""
    prior = scale * block.prior
    if block.kind != "intercept":
        return prior
    least: FloatVector = 1.0 / np.abs(block.table[0])
    return np.maximum(prior, least)


def _rows(sums: MomentSums, release: SecondMoments) -> float:
    """Number of rows, at least one standard deviation of its noise."""
    return max(sums.count, release.deviation / release.count_weight, 1.0)


def _response_variance(sums: MomentSums, release: SecondMoments, declared: tuple[TermColumns, ...]) -> float:
    """Variance of the coded response, one standard deviation of its noise up; in (0, 1]."""
    rows = _rows(sums, release)
    noise = release.deviation / release.square_weight
    intercept = next((block for block in declared if block.kind == "intercept"), None)
    mean = 0.0
    if intercept is not None:
        mean = float(np.clip(sums.cross[intercept.start] / intercept.table[0, 0] / rows, -1.0, 1.0))
    variance = max(sums.square / rows - mean**2, 0.0) + noise / rows
    return min(max(variance, np.finfo(np.float64).tiny ** 0.5), 1.0)


def _dispersion(sums: MomentSums, release: SecondMoments, coded: FloatVector, most: float) -> float:
    """Residual variance of the coded response, one standard deviation of its noise up.

    ``y'y - theta'X'X theta`` at a shrunk theta explains less than least squares does: it errs upwards.
    """
    noise = math.hypot(
        release.deviation / release.square_weight,
        release.gram_deviation * float(coded @ coded),
    )
    left = max(sums.square - float(coded @ sums.gram @ coded), 0.0) + noise
    return min(max(left / _rows(sums, release), LEAST_RESIDUAL * most), most)
