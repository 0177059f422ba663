"""Damped Newton steps: slow, but they arrive on every convex objective."""

from __future__ import annotations

import math

import numpy as np

from dpglm.optim.objective import Objective, Point
from dpglm.typing import FloatMatrix, FloatVector

_TRIALS = 40
# Steps in a row without a better residual after which rounding has the last word.
_PATIENCE = 30
# A step this many times longer than the point itself tells that the model sees no curvature on its way.
_FAR = 1e3
# A step that had to be shortened below this share does so too.
_SHORT = 0.05
_GROWTH = 4.0


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

    Losses such as a hinge have no curvature but near its corner. A model that sees none would send its
    minimiser far away in some directions, and the short step that is safe would do nothing in the others:
    the model is then damped by ``|score| / radius``, with a radius that whole steps enlarge. And where two
    steps in a row had to be shortened a corner may lie ahead: the model takes its curvature from beyond it.

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
    radius, shortened = math.inf, 0
    for _ in range(limit):
        if best.residual <= tolerance or waited >= _PATIENCE * (1 if radius == math.inf else 3):
            break
        goal = math.inf if not math.isfinite(best.residual) else best.residual
        target, pull = _target(objective, point, hessian, radius, tolerance)
        if radius == math.inf and far(target, point.x):
            radius = 1.0 + float(np.linalg.norm(point.x))
            target, pull = _target(objective, point, hessian, radius, tolerance)
        direction = target - point.x
        if decrement > 0.0 and float(direction @ hessian @ direction) <= decrement:
            best = Point(target, point.theta, point.gradient, pull, math.inf)
            break
        moved, length, beyond = _step(objective, point, direction, target, pull, goal)
        if moved is None:
            break
        shortened = shortened + 1 if length < 1.0 else 0
        if length < _SHORT:
            radius = length * float(np.linalg.norm(direction))
        elif length == 1.0:
            radius *= _GROWTH
        waited = 0 if moved.residual < best.residual else waited + 1
        point = moved
        if moved.residual < best.residual:
            best = moved
        if best.residual > tolerance:
            seen = point.x if shortened < 2 else point.x + beyond * direction
            _, hessian = objective.expand(seen, point.pull, precise=precise)
    return best


def far(target: FloatVector, x: FloatVector) -> bool:
    """Whether a model sends its minimiser so far from ``x`` that it cannot have seen the curvature there."""
    return float(np.linalg.norm(target - x)) > _FAR * (1.0 + float(np.linalg.norm(x)))


def _target(
    objective: Objective, point: Point, hessian: FloatMatrix, radius: float, tolerance: float
) -> tuple[FloatVector, FloatVector | None]:
    """Minimiser of the model at a point, damped so that it is hardly farther away than ``radius``."""
    if radius < math.inf:
        left = float(np.linalg.norm(point.slope))
        hessian = hessian + left / radius * np.eye(len(hessian))
    return objective.shape.minimise_model(
        hessian, point.gradient, point.x, point.pull, accuracy=inner_accuracy(objective, point, tolerance)
    )


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
) -> tuple[Point | None, float, float]:
    """The longest safe step tried along a direction, None if rounding hides all of them.

    Also its length, and how much farther the shortest one was that is not safe.
    """
    value = objective.shape.value(point.x)
    length = unsafe = 1.0
    initial = float(point.gradient @ direction) + objective.shape.value(target) - value
    for trials in range(_TRIALS):
        whole = length == 1.0
        x = target if whole else point.x + length * direction
        trial = objective.measure(x, pull if whole else None)
        slope = float(trial.gradient @ direction) + (objective.shape.value(x) - value) / length
        if trial.residual <= 0.5 * goal or slope <= 0.0:
            return trial, length, unsafe - length
        # Where the slope along the line would vanish, were it straight; if it is far from straight, half.
        share = initial / (initial - slope) if math.isfinite(slope) and initial < 0.0 else 0.1
        unsafe = length
        length *= min(max(share, 0.1), 0.9 if trials < 3 else 0.5)
    return None, 0.0, 0.0
