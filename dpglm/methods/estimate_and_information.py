"""One private look: an estimate and the curvature at it, from which intervals and free refits follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.pair import calibrate_pair, calibrate_pair_pure
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


@dataclass(frozen=True)
class Constants:
    """Public numbers of the two releases.

    Attributes
    ----------
    ridge : ndarray, shape (p,)
        Diagonal P of the estimate's ridge, constant within a block.
    reach : float
        The largest x' P^-1 x of a row.
    score_scale, information_scale : float
        Scales of the noise of tilt and curvature, in the law's own terms.
    price : float
        What hides the solver's residual costs, in mu or (pure) in epsilon.
    law : {"gaussian", "gamma"}
    """

    ridge: FloatVector
    max_leverage: float
    score_scale: float
    information_scale: float
    price: float
    law: str


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
    found = constants(term_columns, privacy)
    score, information_scale = deviations(found, Span(term_columns))
    model = expected_model(
        term_columns, curvature, ridge=found.ridge, score_scale=score, information_scale=information_scale
    )
    signal = Contrasts(model, problem.geometry.user_from_coded).signal
    return float(np.median(signal[problem.geometry.penalised]))


def constants(term_columns: tuple[TermColumns, ...], privacy: Privacy) -> Constants:
    """Ridge and noise that just fit the budget."""
    relation = privacy.relation
    moved = 2.0 if relation == "replace-one" else 1.0
    sensitivity = information_sensitivity(relation)
    epsilon = privacy.epsilon

    def ridges(scale: float) -> FloatVector:
        """By block."""
        least = [RIDGE_INTERCEPT if block.kind == "intercept" else RIDGE for block in term_columns]
        prior = [PRIOR_SHARE * scale**2 / float((block.prior**2).min()) for block in term_columns]
        return np.maximum(np.maximum(np.array(least) * moved / epsilon, prior), LEAST_RIDGE)

    bounds = np.array([block.bound for block in term_columns])

    def max_leverage_of(scale: float) -> float:
        return float((bounds / ridges(scale)).sum())

    if privacy.delta == 0.0:
        pure = calibrate_pair_pure(
            epsilon, max_leverage_of=max_leverage_of, relation=relation, information_sensitivity=sensitivity
        )
        by_block = ridges(pure.score_scale) * pure.ridge_factor
        scales, price, law = (pure.score_scale, pure.information_scale), pure.residual_epsilon, "gamma"
    else:
        pair = calibrate_pair(
            epsilon,
            privacy.delta,
            max_leverage_of=max_leverage_of,
            relation=relation,
            information_sensitivity=sensitivity,
        )
        by_block = ridges(pair.score_scale)
        scales, price, law = (pair.score_scale, pair.information_scale), pair.residual_mu, "gaussian"
    ridge = np.concatenate(
        [np.full(block.stop - block.start, p) for block, p in zip(term_columns, by_block, strict=True)]
    )
    return Constants(ridge, float((bounds / by_block).sum()), *scales, price, law)


def constants_of(problem: Problem, privacy: Privacy) -> Constants:
    """Ridge and noise that just fit the budget, by the theorem for the family."""
    if problem.family.logistic:
        return constants(problem.geometry.term_columns, privacy)
    return Constants(*bounded_constants(problem, privacy, share=0.5))


def information_sensitivity(relation: Relation) -> float:
    """What one row moves a curvature by, Frobenius norm."""
    return 0.25 * math.sqrt(2.0 if relation == "replace-one" else 1.0)


def deviations(found: Constants, span: Span) -> tuple[float, float]:
    """Standard deviations of one coordinate of the tilt and of one diagonal entry of the curvature."""
    if found.law == "gaussian":
        return found.score_scale, found.information_scale
    size = len(found.ridge)
    return (
        found.score_scale * math.sqrt(size + 1.0),
        found.information_scale * math.sqrt(span.dimension + 1.0),
    )


def information_release(problem: Problem, found: Constants) -> Information:
    """The second release of the plan."""
    return Information(
        family=problem.family,
        scale=found.information_scale,
        law="gaussian" if found.law == "gaussian" else "gamma",
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
