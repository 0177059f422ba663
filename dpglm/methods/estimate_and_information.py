"""An estimate and the information matrix at it, from which intervals and free refits follow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import expected_information, expected_model, products_of_minimiser
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.noise import NoiseLaw
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Ask, Problem
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate
from dpglm.typing import FloatVector

# Least ridge, in units of rows moved per epsilon: the intercept's may be small, its share of the norm is.
RIDGE_INTERCEPT, RIDGE = 0.5, 2.0
# For losses with bounded slopes, such as those of counts and hinges. The price of the Jacobian is about the
# inverse of this, as a share of epsilon, or half of it; shrinking the intercept moves all fitted means.
BOUNDED_RIDGE_INTERCEPT, BOUNDED_RIDGE = 4.0, 10.0
# And never below this, or the noise that hides the solver's residual would be felt at enormous budgets.
LEAST_RIDGE = 1e-3
# The ridge is also at least this share of what the declared prior would make it.
PRIOR_SHARE = 0.25
# Pure epsilon pays for a curvature in few coefficients only, and no budget pays in very many.
MOST_PURE, MOST = 20, 150
BOUNDED_MOST_PURE, BOUNDED_MOST = 10, 50
# The same for penalties that select where the number of rows is not known beforehand.
MOST_PURE_BLIND, MOST_BLIND = 10, 50
# A penalty that selects is better served by the whole budget unless the curvature, with slopes of a sixth of
# their range as standard deviation, is expected to hold this many times what noise alone would show.
WORTH, NARROW = 100.0, 12.0 / 36.0


def releases_information(problem: Problem, privacy: Privacy) -> bool:
    """Whether a share of the budget goes to the information matrix: a rule in public numbers only."""
    if not problem.family.likelihood:
        # Intervals from a curvature lean on slopes whose variance it is: true of a likelihood only.
        return False
    size = len(problem.geometry.names)
    pure = privacy.definition == "pure"
    if not problem.family.logistic:
        return problem.goal == "explain" and size <= (BOUNDED_MOST_PURE if pure else BOUNDED_MOST)
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
    ridge, scales = calibrated_ridge(problem, privacy, information=True)
    score = NoiseLaw(scales.law, scales.score_scale, len(ridge)).deviation
    information_scale = information_release(problem, scales).deviation
    model = expected_model(
        term_columns,
        curvature,
        products=products_of_minimiser(term_columns, curvature, ridge, score),
        score_scale=score,
        information_scale=information_scale,
    )
    signal = Contrasts(model, problem.geometry.user_from_coded).signal
    return float(np.median(signal[problem.geometry.penalised]))


def calibrated_ridge(
    problem: Problem,
    privacy: Privacy,
    *,
    information: bool,
    ridge: float | None = None,
    uniform: bool = False,
) -> tuple[FloatVector, Calibration]:
    """Diagonal of the estimate's ridge, shape (p,), and noise scales that just fit the budget.

    Half of the budget goes to the information matrix where that is released. ``ridge`` is one number for all
    coordinates instead of the default; ``uniform`` makes the default one number.

    Raises
    ------
    MethodError
        A budget in Gaussian differential privacy for a loss that is not logistic, or too small a ridge.
    """
    logistic, curvature = problem.family.logistic, problem.family.curvature_max
    if not logistic and privacy.definition not in ("pure", "approximate"):
        raise MethodError(
            f"a budget in {privacy.definition} for family {problem.family.name!r}",
            expected="an epsilon, or an epsilon and a delta: the proof for these losses gives no other",
            remedy="Use privacy=(1.0, 1e-6), or privacy=1.0.",
        )
    assert curvature is not None, "refused by the release"
    term_columns, rows = problem.geometry.term_columns, STEPS[privacy.relation]
    intercept, other = (RIDGE_INTERCEPT, RIDGE) if logistic else (BOUNDED_RIDGE_INTERCEPT, BOUNDED_RIDGE)
    starts = [intercept if columns.kind == "intercept" and not uniform else other for columns in term_columns]
    least = np.array(starts) * rows / privacy.epsilon
    prior = np.array([PRIOR_SHARE / float((columns.prior**2).min()) for columns in term_columns])
    bounds = np.array([columns.bound for columns in term_columns])

    def ridges(scale: float) -> FloatVector:
        """By term."""
        if ridge is not None:
            return np.full(len(term_columns), float(ridge))
        return np.maximum(np.maximum(least, prior * scale**2), LEAST_RIDGE) if information else least

    def max_leverage_of(by_term: FloatVector) -> float:
        return 1.0 / float(by_term.min()) if ridge is not None or uniform else float((bounds / by_term).sum())

    minimiser = Minimisers(
        lambda scale: max_leverage_of(ridges(scale)),
        curvature * math.sqrt(rows) if information else 0.0,
        residual_share=RESIDUAL_SHARE,
        losses="logistic" if logistic else "bounded",
        uniform=not logistic,
        ridge_grows=logistic,
    )
    scales = calibrate(minimiser, Target.of(privacy))
    by_term = ridges(scales.score_scale) * scales.ridge_factor
    sizes = [columns.stop - columns.start for columns in term_columns]
    return np.repeat(by_term, sizes), replace(scales, max_leverage=max_leverage_of(by_term))


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
