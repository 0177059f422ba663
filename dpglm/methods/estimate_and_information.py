"""One private look: an estimate and the curvature at it, from which intervals and free refits follow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.glm.term_columns import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expected import expected_information, expected_model
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Ask, Problem
from dpglm.methods.bounded_slopes import bounded_constants, releases_information_bounded
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate
from dpglm.typing import FloatVector

# Least ridge, in units of rows moved per epsilon: the intercept's may be small, its share of the norm is.
RIDGE_INTERCEPT, RIDGE = 0.5, 2.0
# And never below this, or the noise that hides the solver's residual would be felt at enormous budgets.
LEAST_RIDGE = 1e-3
# The ridge is also at least this share of what the declared prior would make it.
PRIOR_SHARE = 0.25
# Pure epsilon pays for a curvature in few coefficients only, and no budget pays in very many.
MOST_PURE, MOST = 20, 150
# The same for penalties that select where the number of rows is not known beforehand.
MOST_PURE_BLIND, MOST_BLIND = 10, 50
# A penalty that selects is better served by the whole budget unless the curvature, with slopes of a sixth of
# their range as standard deviation, is expected to hold this many times what noise alone would show.
WORTH, NARROW = 100.0, 12.0 / 36.0


def releases_information(problem: Problem, privacy: Privacy) -> bool:
    """Whether a share of the budget goes to the curvature: a rule in public numbers only."""
    if not problem.family.likelihood:
        # Intervals from a curvature lean on slopes whose variance it is: true of a likelihood only.
        return False
    if not problem.family.logistic:
        return releases_information_bounded(problem, privacy)
    size = len(problem.geometry.names)
    pure = privacy.definition == "pure"
    if privacy.mu is not None:
        # Gaussian privacy at every epsilon needs a ridge that pulls the estimate too far for intervals.
        return False
    if problem.goal != "explain" or size > (MOST_PURE if pure else MOST):
        return False
    if not problem.penalty.selects:
        return True
    if problem.known_rows is None:
        return size <= (MOST_PURE_BLIND if pure else MOST_BLIND)
    return expected_signal(problem, privacy) >= WORTH


def expected_signal(problem: Problem, privacy: Privacy) -> float:
    """Median over coefficients of the information to expect, in units of what noise alone would show."""
    assert problem.known_rows is not None
    term_columns = problem.geometry.term_columns
    curvature = expected_information(term_columns, 0.25 * problem.known_rows, narrow=NARROW)
    ridge, scales = constants(term_columns, privacy)
    score, information_scale = deviations(scales, len(ridge), Span(term_columns))
    model = expected_model(
        term_columns, curvature, ridge=ridge, score_scale=score, information_scale=information_scale
    )
    signal = Contrasts(model, problem.geometry.user_from_coded).signal
    return float(np.median(signal[problem.geometry.penalised]))


def constants(term_columns: tuple[TermColumns, ...], privacy: Privacy) -> tuple[FloatVector, Calibration]:
    """Diagonal of the estimate's ridge, shape (p,), and noise scales that just fit the budget."""
    relation = privacy.relation
    moved = 2.0 if relation == "replace-one" else 1.0
    epsilon = privacy.epsilon

    def ridges(scale: float) -> FloatVector:
        """By block."""
        least = [RIDGE_INTERCEPT if block.kind == "intercept" else RIDGE for block in term_columns]
        prior = [PRIOR_SHARE * scale**2 / float((block.prior**2).min()) for block in term_columns]
        return np.maximum(np.maximum(np.array(least) * moved / epsilon, prior), LEAST_RIDGE)

    bounds = np.array([block.bound for block in term_columns])

    def max_leverage_of(scale: float) -> float:
        return float((bounds / ridges(scale)).sum())

    pair = Minimisers(
        max_leverage_of,
        information_sensitivity(relation),
        residual_share=RESIDUAL_SHARE,
        uniform=False,
        ridge_grows=True,
    )
    scales = calibrate(pair, Target.of(privacy))
    by_block = ridges(scales.score_scale) * scales.ridge_factor
    ridge = np.concatenate(
        [np.full(block.stop - block.start, p) for block, p in zip(term_columns, by_block, strict=True)]
    )
    return ridge, replace(scales, max_leverage=float((bounds / by_block).sum()))


def constants_of(problem: Problem, privacy: Privacy) -> tuple[FloatVector, Calibration]:
    """Ridge and noise that just fit the budget, by the theorem for the family."""
    if problem.family.logistic:
        return constants(problem.geometry.term_columns, privacy)
    return bounded_constants(problem, privacy, information=True)


def information_sensitivity(relation: Relation) -> float:
    """What one row moves a curvature by, Frobenius norm."""
    return 0.25 * math.sqrt(2.0 if relation == "replace-one" else 1.0)


def deviations(scales: Calibration, size: int, span: Span) -> tuple[float, float]:
    """Standard deviations of one coordinate of the score's noise and of one diagonal entry of the other."""
    if scales.law == "gaussian":
        return scales.score_scale, scales.information_scale
    return (
        scales.score_scale * math.sqrt(size + 1.0),
        scales.information_scale * math.sqrt(span.dimension + 1.0),
    )


def information_release(problem: Problem, scales: Calibration) -> Information:
    """The second release of the plan."""
    return Information(
        family=problem.family,
        scale=scales.information_scale,
        law=scales.law,
        span=Span(problem.geometry.term_columns),
    )


def released_by(problem: Problem, plan: PricedReleases, ask: Ask) -> ScoreAndInformation:
    """Ask for both releases."""
    (minimiser,), (information,) = plan.of_kind(PerturbedMinimiser), plan.of_kind(Information)
    centre = ask(minimiser)
    size, ridge = len(centre), minimiser.ridges
    return ScoreAndInformation(
        term_columns=problem.geometry.term_columns,
        centre=centre,
        score=ridge * centre,
        information=ask(information, centre).reshape(size, size),
        score_scale=minimiser.deviation,
        information_scale=information.deviation,
        dispersion=problem.family.dispersion,
        initial_variance=minimiser.deviation**2 / ridge**2,
        third_derivative_bound=problem.family.third_derivative_bound,
    )
