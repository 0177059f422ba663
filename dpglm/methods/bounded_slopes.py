"""Ridge and noise for losses with bounded slopes, such as those of counts and hinges: Theorem C."""

from __future__ import annotations

import math

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Problem
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE, perturbed_objective
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Calibration, Minimisers, Target, calibrate
from dpglm.typing import FloatVector

# Least ridge, in units of rows moved per epsilon. The price of the Jacobian is about the inverse of this, as
# a share of epsilon, or half of it; the intercept has a small share of a row's norm, and shrinking it moves
# all fitted means.
RIDGE_INTERCEPT, RIDGE = 4.0, 10.0
# Beside a curvature, which undoes the ridge, it is never below this, and at least this share of what the
# declared prior would make it.
LEAST_RIDGE, PRIOR_SHARE = 1e-3, 0.25
# Most coefficients for which a curvature is paid by default, with a pure epsilon and otherwise.
MOST_PURE, MOST = 10, 50


def releases_information_bounded(problem: Problem, privacy: Privacy) -> bool:
    """Whether a share of the budget goes to the curvature: a rule in public numbers only."""
    size = len(problem.geometry.names)
    return problem.goal == "explain" and size <= (MOST_PURE if privacy.definition == "pure" else MOST)


def bounded_constants(
    problem: Problem,
    privacy: Privacy,
    *,
    information: bool,
    ridge: float | None = None,
    uniform: bool = False,
) -> tuple[FloatVector, Calibration]:
    """Diagonal of the ridge, shape (p,), and noise scales that just fit the budget.

    Parameters
    ----------
    problem : Problem
    privacy : Privacy
    information : bool
        Whether half of the budget goes to the information matrix.
    ridge : float or None
        One number for all coordinates, instead of the default.
    uniform : bool
        Whether the default is to be one number.

    Raises
    ------
    MethodError
        A budget in Gaussian differential privacy, or a ridge too small for the budget.
    """
    if privacy.definition not in ("pure", "approximate"):
        raise MethodError(
            f"a budget in {privacy.definition} for family {problem.family.name!r}",
            expected="an epsilon, or an epsilon and a delta: the proof for these losses gives no other",
            remedy="Use privacy=(1.0, 1e-6), or privacy=1.0.",
        )
    relation, epsilon = privacy.relation, privacy.epsilon
    moved = 2.0 if relation == "replace-one" else 1.0
    term_columns = problem.geometry.term_columns
    least = [
        RIDGE_INTERCEPT if block.kind == "intercept" and not uniform else RIDGE for block in term_columns
    ]
    prior = [PRIOR_SHARE / float((block.prior**2).min()) for block in term_columns]
    bounds = np.array([block.bound for block in term_columns])

    def ridges(scale: float) -> FloatVector:
        """By block."""
        if ridge is not None:
            return np.full(len(term_columns), float(ridge))
        found = np.array(least) * moved / epsilon
        return (
            np.maximum(np.maximum(found, np.array(prior) * scale**2), LEAST_RIDGE) if information else found
        )

    def max_leverage_of(scale: float) -> float:
        by_block = ridges(scale)
        total = float((bounds / by_block).sum())
        return 1.0 / float(by_block.min()) if ridge is not None or uniform else total

    scales = calibrate(
        Minimisers(
            max_leverage_of,
            curvature_step(problem.family) * math.sqrt(moved) if information else 0.0,
            residual_share=RESIDUAL_SHARE,
            losses="bounded",
        ),
        Target.of(privacy),
    )
    vector = np.concatenate(
        [
            np.full(block.stop - block.start, p)
            for block, p in zip(term_columns, ridges(scales.score_scale), strict=True)
        ]
    )
    return vector, scales


def curvature_step(family: Family) -> float:
    """What one row more moves a curvature by, at most, Frobenius norm."""
    assert family.curvature_max is not None, "refused by the release"
    return family.curvature_max


def bounded_alone(
    problem: Problem, privacy: Privacy, penalty: Penalty, *, ridge: float | None, centred: bool
) -> PerturbedMinimiser:
    """The estimate with its penalty inside, as the only release."""
    uniform = ridge is not None or not centred
    vector, scales = bounded_constants(problem, privacy, information=False, ridge=ridge, uniform=uniform)
    return perturbed_objective(
        problem,
        penalty,
        ridge=float(vector[0]) if uniform else vector,
        scales=scales,
        max_leverage=scales.max_leverage,
    )
