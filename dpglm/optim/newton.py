"""Damped Newton steps: slow, but they arrive on every convex objective."""

from __future__ import annotations

import math

import numpy as np

from dpglm.optim.objective import Objective, Point
from dpglm.typing import FloatVector

_TRIALS = 40
# Steps in a row without a better residual after which rounding has the last word.
_PATIENCE = 30


def damped_newton(
    objective: Objective,
    x: FloatVector,
    *,
    tolerance: float,
    decrement: float = 0.0,
    precise: bool = True,
    limit: int = 200,
) -> Point:
    """Minimise by Newton steps, each shortened until it is safe.

    A step of length t along d is safe if the residual falls below half of the least seen so far, which
    happens finitely often, or if ``t * gradient(x + t d).d + P(x + t d) - P(x) <= 0``: for a convex loss the
    left side bounds the change of the objective, so that it decreases, without ever computing the loss.
    As t is never less than a tenth of what suffices, the usual line-search argument applies and the sequence
    converges whatever the data, if the objective is strongly convex.

    Parameters
    ----------
    objective : Objective
        What to minimise.
    x : ndarray, shape (m,)
        Start.
    tolerance : float
        Stop at this residual.
    decrement : float
        Stop also when a whole step promises to gain no more than half of this: for rough answers. The step
        is taken.
    precise : bool
        Whether second derivatives are wanted in float64.
    limit : int
        Most steps.

    Returns
    -------
    Point
        The one with the least residual; above ``tolerance`` only if rounding allows no better.
    """
    point, hessian = objective.expand(x, precise=precise)
    best, waited = point, 0
    for _ in range(limit):
        if best.residual <= tolerance or waited >= _PATIENCE:
            break
        goal = math.inf if not math.isfinite(best.residual) else best.residual
        target, pull = objective.shape.minimise_model(
            hessian, point.gradient, point.x, point.pull, accuracy=inner_accuracy(objective, point, tolerance)
        )
        direction = target - point.x
        if decrement > 0.0 and float(direction @ hessian @ direction) <= decrement:
            best = Point(target, point.theta, point.gradient, pull, math.inf)
            break
        moved = _step(objective, point, direction, target, pull, goal)
        if moved is None:
            break
        waited = 0 if moved.residual < best.residual else waited + 1
        point = moved
        if moved.residual < best.residual:
            best = moved
        if best.residual > tolerance:
            _, hessian = objective.expand(point.x, point.pull, precise=precise)
    return best


def inner_accuracy(objective: Objective, point: Point, tolerance: float) -> float:
    """How exactly to minimise a model: to a thousandth of what is left, or to a part of the goal."""
    left = float(np.linalg.norm(point.slope))
    return max(0.1 * tolerance / objective.stretch, 1e-3 * left)


def _step(
    objective: Objective,
    point: Point,
    direction: FloatVector,
    target: FloatVector,
    pull: FloatVector | None,
    goal: float,
) -> Point | None:
    """The longest safe step tried along a direction, None if rounding hides all of them."""
    value = objective.shape.value(point.x)
    length = 1.0
    initial = float(point.gradient @ direction) + objective.shape.value(target) - value
    for trials in range(_TRIALS):
        whole = length == 1.0
        x = target if whole else point.x + length * direction
        trial = objective.measure(x, pull if whole else None)
        slope = float(trial.gradient @ direction) + (objective.shape.value(x) - value) / length
        if trial.residual <= 0.5 * goal or slope <= 0.0:
            return trial
        # Where the slope along the line would vanish, were it straight; if it is far from straight, half.
        share = initial / (initial - slope) if math.isfinite(slope) and initial < 0.0 else 0.1
        length *= min(max(share, 0.1), 0.9 if trials < 3 else 0.5)
    return None
