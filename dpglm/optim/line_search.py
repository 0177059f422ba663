"""Steps that are safe: the objective falls, or its residual halves, and the loss is never computed."""

from __future__ import annotations

import math

from dpglm.optim.objective import Objective, Point
from dpglm.typing import FloatVector

# Most trials of a step.
_TRIALS = 40


def safe_step(
    objective: Objective,
    point: Point,
    direction: FloatVector,
    target: FloatVector,
    pull: FloatVector | None,
    goal: float,
) -> tuple[Point | None, float, float]:
    """The longest safe step tried, None if rounding hides all; its length, and how far beyond is unsafe."""
    value = objective.shape.value(point.x)
    length = unsafe = 1.0
    initial = float(point.gradient @ direction) + objective.shape.value(target) - value
    for trials in range(_TRIALS):
        unscaled = length == 1.0
        x = target if unscaled else point.x + length * direction
        trial = objective.measure(x, pull if unscaled else None)
        slope = float(trial.gradient @ direction) + (objective.shape.value(x) - value) / length
        if trial.residual <= 0.5 * goal or slope <= 0.0:
            return trial, length, unsafe - length
        # Where the slope along the line would vanish, were it straight; if it is far from straight, half.
        share = initial / (initial - slope) if math.isfinite(slope) and initial < 0.0 else 0.1
        unsafe = length
        length *= min(max(share, 0.1), 0.9 if trials < 3 else 0.5)
    return None, 0.0, 0.0
