"""The whole budget on a sparse estimate, on rows stretched to their typical length."""

from __future__ import annotations

from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser, length_sensitivity
from dpglm.methods.base import Problem
from dpglm.methods.perturbed_objective import perturbed_objective
from dpglm.privacy.budget import Privacy
from dpglm.privacy.pair import calibrate_pair, calibrate_pair_gdp, calibrate_pair_pure

# Share of mu squared (pure: of epsilon) that measures how long rows are.
LENGTH_SHARE = 0.03
# Rows this many times as long as the root mean square are shortened.
MARGIN = 1.25
# Ridge in units of rows moved per epsilon.
RIDGE = 2.0
# From this many numeric columns on, and where they make at least this share of a row's declared length,
# typical rows are of nearly one length, far below the declared bound.
LEAST_SLOPES, LEAST_SHARE = 10, 0.5


def stretches(problem: Problem, privacy: Privacy, penalty: Penalty) -> bool:
    """Whether to measure row lengths first: a rule in public numbers only.

    For penalties that select, at a default strength: a strength per row has a meaning in rows as they are.
    """
    if problem.goal == "predict" or problem.strength is not None:
        return False
    if not penalty.selects:
        return False
    slopes = [block.bound for block in problem.geometry.term_columns if block.kind == "slope"]
    total = sum(block.bound for block in problem.geometry.term_columns)
    return len(slopes) >= LEAST_SLOPES and sum(slopes) >= LEAST_SHARE * total


def stretched(problem: Problem, privacy: Privacy, penalty: Penalty) -> NormClippedMinimiser:
    """The release that just fits the budget."""
    relation, epsilon = privacy.relation, privacy.epsilon
    sensitivity = length_sensitivity(relation)
    ridge = RIDGE * (2.0 if relation == "replace-one" else 1.0) / epsilon
    if privacy.mu is not None:
        gdp = calibrate_pair_gdp(
            privacy.mu, relation=relation, information_sensitivity=sensitivity, share=LENGTH_SHARE
        )
        ridge = max(ridge, gdp.least_ridge)
        scale, length_scale, price, law = (
            gdp.score_scale,
            gdp.information_scale,
            gdp.residual_mu,
            "gaussian",
        )
    elif privacy.delta == 0.0:
        pure = calibrate_pair_pure(
            epsilon,
            max_leverage_of=lambda scale: 1.0 / ridge,
            relation=relation,
            information_sensitivity=sensitivity,
            share=LENGTH_SHARE,
        )
        ridge *= pure.ridge_factor
        scale, length_scale, price, law = (
            pure.score_scale,
            pure.information_scale,
            pure.residual_epsilon,
            "gamma",
        )
    else:
        pair = calibrate_pair(
            epsilon,
            privacy.delta,
            max_leverage_of=lambda scale: 1.0 / ridge,
            relation=relation,
            information_sensitivity=sensitivity,
            share=LENGTH_SHARE,
            uniform=True,
        )
        scale, length_scale, price, law = (
            pair.score_scale,
            pair.information_scale,
            pair.residual_mu,
            "gaussian",
        )
    minimiser = perturbed_objective(
        problem,
        penalty,
        ridge=ridge,
        law=law,
        scale=scale,
        price=price,
        max_leverage=1.0 / ridge,
        row_square=1.0 / MARGIN**2,
    )
    return NormClippedMinimiser(minimiser, length_scale, count_rows=relation == "add-remove", margin=MARGIN)
