"""The perturbed minimiser at calibrated noise: alone, or with the information matrix."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty
from dpglm.inference.coefficients import Scaling
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import NARROW, expected_information, expected_model, products_of_minimiser
from dpglm.mechanisms.noise import NoiseLaw
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Problem
from dpglm.methods.information import information_release, releases_score
from dpglm.methods.iterated import noise_level
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate
from dpglm.privacy.theorems import free_ridge
from dpglm.typing import FloatVector
from dpglm.wide_maps import has_table

# Share of epsilon (or of mu squared) that hides what the solver left over (Theorem A4).
RESIDUAL_SHARE = 0.01
# The solver stops at this norm of the score, sum units; or at this share of how far noise alone can carry the
# coefficients, since rounding in the score grows with them, but never at more than this share of the noise.
TOLERANCE = 1e-7
TOLERANCE_SHARE = 1e-10
NOISE_SHARE = 1e-6
# What double precision takes from a number, as a share; of so many rows that must not exceed the tolerance.
DIGIT, OFFSET_ROWS = 2.0**-53, 10_000
# More noise than the Gaussian mechanism's, as a share, that a smaller ridge is worth.
NOISE_WORTH = 1.03
# Least ridge, in units of rows moved per epsilon: the intercept's may be small, its share of the norm is.
RIDGE_INTERCEPT, RIDGE = 0.5, 2.0
# The same for rows with weights, of whose constant less is known.
WEIGHTED_RIDGE_INTERCEPT = 1.0
# For losses with bounded slopes, such as those of counts and hinges. The price of the Jacobian is about the
# inverse of this, as a share of epsilon, or half of it; shrinking the intercept moves all fitted means.
BOUNDED_RIDGE_INTERCEPT, BOUNDED_RIDGE = 4.0, 10.0
# And never below this, or the noise that hides the solver's residual would be felt at enormous budgets.
LEAST_RIDGE = 1e-4
# The ridge is also at least this share of what the declared prior would make it.
PRIOR_SHARE = 0.25
# Share of mu squared, or of epsilon, for the information; and for it with a score.
INFORMATION_SHARE, SCORED_SHARE = 0.5, 0.65
# Pure epsilon pays for a curvature in few coefficients only, and no budget pays in very many.
MOST_PURE, MOST = 20, 150
# The same for penalties that select where the number of rows is not known beforehand.
MOST_PURE_BLIND, MOST_BLIND = 10, 50
# A penalty that selects is better served by the whole budget unless the curvature, with slopes of a sixth of
# their range as standard deviation, is expected to hold this many times what noise alone would show.
SIGNAL_WORTH = 100.0
# Share of the level of noise that a penalty for predictions stops.
PREDICTED = 0.35


def perturbed_objective(
    problem: Problem,
    penalty: Penalty,
    *,
    ridge: float | FloatVector,
    scales: Calibration,
    max_leverage: float | None = None,
    row_square: float | None = None,
) -> PerturbedMinimiser:
    """The release at calibrated noise.

    ``penalty`` is convex and goes inside the objective; the problem's strength, if given, is per row.
    ``row_square`` is the mean squared norm of the rows that are read, for the default strength; None expects
    it from the declared bounds.
    """
    scaling = Scaling.of(problem.geometry)
    size = len(scaling.lengths)
    deviation = NoiseLaw(scales.law, scales.score_scale, size).deviation
    tolerance = tolerance_at(deviation, size, float(np.min(ridge)))
    require_near_offsets(problem, tolerance)
    if problem.strength is None:
        # Sum units: the level that noise alone reaches in p coordinates.
        strength = default_strength(problem, penalty, deviation, row_square)
        rows: float | None = 1.0
    else:
        strength, rows = float(problem.strength), problem.rows
    minimiser = PerturbedMinimiser(
        family=problem.family,
        ridge=ridge,
        law=scales.law,
        scale=scales.score_scale,
        tolerance=tolerance,
        residual_noise_scale=1.0,
        penalty=penalty.with_strength(strength),
        penalty_rows=rows,
        mixing=scaling.mixing,
        penalised=scaling.penalised,
        claimed_epsilon=scales.claimed_epsilon,
        max_leverage=max_leverage,
        shared=scales.shared,
    )
    return replace(minimiser, residual_noise_scale=minimiser.residual_noise_for(scales.residual_price))


def tolerance_at(deviation: float, size: int, ridge: float) -> float:
    """What a solver may leave over of the score, sum units, at this noise in each of ``size`` coordinates."""
    far = deviation * math.sqrt(size) * max(1.0, 1.0 / ridge)
    return max(TOLERANCE, min(TOLERANCE_SHARE * far, NOISE_SHARE * deviation))


def require_near_offsets(problem: Problem, tolerance: float) -> None:
    """Refuse offsets so large that slopes in double precision leave a small table's minimiser unknown."""
    largest = max(map(abs, problem.offset or (0.0,)))
    most = tolerance / (OFFSET_ROWS * DIGIT)
    if largest > most:
        raise MethodError(
            f"offsets up to {largest:g} beside a solver whose score must be {tolerance:.3g} or less",
            expected=f"offsets of at most {most:.3g}: beyond, double precision does not tell where that is",
            remedy="Declare narrower bounds of the offset, or use a smaller epsilon.",
        )


def default_strength(
    problem: Problem, penalty: Penalty, deviation: float, row_square: float | None = None
) -> float:
    """Penalty strength, sum units, that stops coordinates of pure noise: deviation * sqrt(2 log p).

    The deviation is that of the noise and, where the number of rows is declared, of sampling. For predictions
    it is a share of the noise's level: a coordinate of half noise predicts better than none. Penalties that
    set nothing to zero get 0: the ridge that privacy needs is there anyway (Theorem B).
    """
    if not penalty.selects:
        return 0.0
    size = int(np.asarray(problem.geometry.penalised).sum())
    if problem.goal == "predict":
        return PREDICTED * noise_level(deviation, size)
    weight, term_columns = problem.family.score_weight_max, problem.geometry.term_columns
    # What one row adds to the variance of a coordinate of the score, at most, on average over coordinates.
    if row_square is not None:
        each = weight * row_square / max(size, 1)
    else:
        # Of levels in a table that is too large: the squared norm of any of them.
        wide = [block for block in term_columns if not has_table(block.table)]
        small = [block for block in term_columns if has_table(block.table)]
        squares = np.diag(expected_information(small, weight))
        others = [squares[block.columns] for block in small if block.kind != "intercept"]
        others += [
            np.full(block.stop - block.start, weight * block.bound / (block.stop - block.start))
            for block in wide
        ]
        each = float(np.mean(np.concatenate(others))) if others else 0.0
    sampling = each * (problem.known_rows or 0)
    return noise_level(math.sqrt(deviation**2 + sampling), size)


def uniform_ridge(target: Target, ridge: float | None) -> tuple[float, Calibration]:
    """One ridge for all coordinates, sum units, and the noise of a logistic minimiser at it.

    Without ``ridge`` it is the least that costs no more noise than the noise mechanism alone.
    """
    if target.mu is not None:
        return gdp_ridge(target, ridge)
    number = ridge or free_ridge(target.epsilon * (1.0 - RESIDUAL_SHARE), relation=target.relation)
    return number, _at(target, number, 1)


def gdp_ridge(target: Target, ridge: float | None = None, *, times: int = 1) -> tuple[float, Calibration]:
    """The ridge, sum units, and the noise of each of ``times`` minimisers that are mu-GDP together.

    Without ``ridge`` the least of half of, once and twice the squared scale whose noise is within 3 % of the
    Gaussian mechanism's; at twice it is that mechanism's (Theorem A2). A given ridge so small that no noise
    is enough is a MethodError.

    Examples
    --------
    >>> ridge, scales = gdp_ridge(Target("replace-one", mu=0.2))
    >>> round(ridge, 1), round(scales.score_scale, 2)
    (50.5, 10.32)
    """
    if ridge is not None:
        return ridge, _at(target, ridge, times)
    gaussian = calibrate(Minimisers(None, residual_share=RESIDUAL_SHARE, times=times), target)
    for factor in (0.5, 1.0):
        ridge = factor * gaussian.score_scale**2
        scales = _at(target, ridge, times)
        if scales.score_scale <= NOISE_WORTH * gaussian.score_scale:
            return ridge, scales
    return gaussian.least_ridge, gaussian


def _at(target: Target, ridge: float, times: int) -> Calibration:
    return calibrate(
        Minimisers(lambda scale: 1.0 / ridge, residual_share=RESIDUAL_SHARE, times=times), target
    )


def releases_information(problem: Problem, privacy: Privacy) -> bool:
    """Whether a share of the budget goes to the information matrix: a rule in public numbers only."""
    if not problem.family.likelihood:
        # Intervals from a curvature lean on slopes whose variance it is: true of a likelihood only.
        return False
    size = len(problem.geometry.names)
    pure = privacy.definition == "pure"
    if not problem.family.logistic:
        return problem.goal == "explain" and size <= (MOST_PURE if pure else MOST)
    if privacy.mu is not None:
        # Gaussian privacy at every epsilon needs a ridge that pulls the estimate too far for intervals.
        return False
    if problem.goal != "explain" or size > (MOST_PURE if pure else MOST):
        return False
    if not problem.penalty.selects:
        return True
    if problem.known_rows is None:
        return size <= (MOST_PURE_BLIND if pure else MOST_BLIND)
    return expected_signal(problem, privacy) >= SIGNAL_WORTH


def expected_signal(problem: Problem, privacy: Privacy) -> float:
    """Median over coefficients of the information to expect, in units of what noise alone would show."""
    assert problem.known_rows is not None
    term_columns = problem.geometry.term_columns
    curvature = expected_information(term_columns, 0.25 * problem.known_rows, narrow=NARROW)
    ridge, scales = calibrated_ridge(problem, privacy, information=True)
    score = NoiseLaw(scales.law, scales.score_scale, len(ridge)).deviation
    second = information_release(problem, privacy, scales)
    model = expected_model(
        term_columns,
        curvature,
        products=products_of_minimiser(term_columns, curvature, ridge, score),
        score_scale=second.pooled(score)[1],
        information_scale=second.deviation,
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
    weighted: bool = False,
    measured_share: float = 0.0,
) -> tuple[FloatVector, Calibration]:
    """Diagonal of the estimate's ridge, shape (p,), and noise scales that just fit the budget.

    Half of the budget goes to the information matrix where that is released, and more where a score is beside
    it. ``ridge`` is one number for all coordinates instead of the default; ``uniform`` makes the default one
    number. Of ``weighted`` rows only the norm, times the weight, and the constant are bounded;
    ``measured_share`` is the part of the budget that measures their scales first. Too small a ridge is a
    MethodError, and so is a budget in Gaussian differential privacy for a loss that is not logistic.
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
    if weighted and logistic:
        starts = [max(start, WEIGHTED_RIDGE_INTERCEPT) for start in starts]
    least = np.array(starts) * rows / privacy.epsilon
    scored = information and releases_score(problem, privacy)
    prior = np.array([PRIOR_SHARE / float((columns.prior**2).min()) for columns in term_columns])
    bounds = np.array([columns.bound for columns in term_columns])

    def ridges(scale: float) -> FloatVector:
        """By term."""
        if ridge is not None:
            return np.full(len(term_columns), float(ridge))
        return np.maximum(np.maximum(least, prior * scale**2), LEAST_RIDGE) if information else least

    def max_leverage_of(by_term: FloatVector) -> float:
        if weighted:
            constant = np.array([columns.kind == "intercept" for columns in term_columns])
            first, rest = float(by_term[constant][0]), float(np.min(by_term[~constant]))
            share = float(bounds[constant][0])  # of a row whose weight times squared norm is 1, at most
            return max(1.0 / rest, share / first + (1.0 - share) / rest)
        return 1.0 / float(by_term.min()) if ridge is not None or uniform else float((bounds / by_term).sum())

    minimiser = Minimisers(
        lambda scale: max_leverage_of(ridges(scale)),
        information_release(problem, privacy).sensitivity(privacy.relation) if information else 0.0,
        share=SCORED_SHARE if scored else INFORMATION_SHARE,
        residual_share=RESIDUAL_SHARE,
        measured_share=measured_share,
        losses="logistic" if logistic else "bounded",
        ridge_grows=logistic,
    )
    scales = calibrate(minimiser, Target.of(privacy))
    by_term = ridges(scales.score_scale) * scales.ridge_factor
    sizes = [columns.stop - columns.start for columns in term_columns]
    return np.repeat(by_term, sizes), replace(scales, max_leverage=max_leverage_of(by_term))
