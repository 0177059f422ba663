"""Norm scaling: the whole budget on a sparse estimate, on rows scaled to a typical norm of 1 and clipped."""

from __future__ import annotations

from dpglm.glm.penalties import Penalty
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser, length_sensitivity
from dpglm.methods.base import Problem
from dpglm.methods.perturbed_objective import RESIDUAL_SHARE, perturbed_objective
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.calibration import Minimisers, Target, calibrate

# Share of mu squared (pure: of epsilon) that measures how long rows are.
LENGTH_SHARE = 0.03
# Rows longer than this many times the root mean square are clipped.
MARGIN = 1.25
# Ridge in units of rows moved per epsilon.
RIDGE = 2.0
# From this many numeric columns on, and where they make at least this share of a row's declared length,
# typical rows are of nearly one length, far below the declared bound.
LEAST_SLOPES, LEAST_SHARE = 10, 0.5


def scales_norms(problem: Problem, penalty: Penalty) -> bool:
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


def norm_scaled_minimiser(problem: Problem, privacy: Privacy, penalty: Penalty) -> NormClippedMinimiser:
    """The release that just fits the budget."""
    relation = privacy.relation
    least = RIDGE * STEPS[relation] / privacy.epsilon
    scales = calibrate(
        Minimisers(
            None if privacy.mu is not None else lambda scale: 1.0 / least,
            length_sensitivity(relation),
            share=LENGTH_SHARE,
            residual_share=RESIDUAL_SHARE,
            ridge_grows=True,
        ),
        Target.of(privacy),
    )
    ridge = max(least * scales.ridge_factor, scales.least_ridge)
    minimiser = perturbed_objective(
        problem,
        penalty,
        ridge=ridge,
        scales=scales,
        max_leverage=1.0 / ridge,
        row_square=1.0 / MARGIN**2,
    )
    return NormClippedMinimiser(
        minimiser, scales.information_scale, count_rows=relation == "add-remove", margin=MARGIN
    )
