"""Quasi-Newton steps from one second derivative: each costs one gradient."""

from __future__ import annotations

import math

import numpy as np

from dpglm.optim.newton import far, inner_accuracy
from dpglm.optim.objective import Objective, Point
from dpglm.typing import FloatMatrix, FloatVector


def quasi_newton(
    objective: Objective, point: Point, hessian: FloatMatrix, *, tolerance: float, limit: int
) -> Point:
    """Minimise from a good start with a second derivative taken there, corrected after each step.

    The merit of a point is the length, in the metric, of the step that the model wants to take there: with
    no penalty the norm of the gradient in the inverse metric. A step that does not lessen the merit is not
    taken, but what it taught about the curvature is kept, and half of the next one is tried.

    Parameters
    ----------
    objective : Objective
        What to minimise.
    point : Point
        Start, measured.
    hessian : ndarray, shape (m, m)
        Second derivative of the smooth part there, six digits suffice.
    tolerance : float
        Stop at this residual.
    limit : int
        Most gradients.

    Returns
    -------
    Point
        The one with the least residual, not always below ``tolerance``.
    """
    best, length = point, 1.0
    target, pull, merit = _next(objective, point, hessian, tolerance)
    for _ in range(limit):
        if best.residual <= tolerance or not math.isfinite(merit) or far(target, point.x):
            break
        whole = length == 1.0
        x = target if whole else point.x + length * (target - point.x)
        trial = objective.measure(x, pull if whole else None)
        if trial.residual < best.residual:
            best = trial
            if best.residual <= tolerance:
                break
        hessian = corrected(hessian, trial.x - point.x, trial.gradient - point.gradient)
        ahead = _next(objective, trial, hessian, tolerance)
        if ahead[2] < merit:
            point, length = trial, 1.0
            target, pull, merit = ahead
        else:
            length *= 0.5
            target, pull, merit = _next(objective, point, hessian, tolerance)
    return best


def corrected(hessian: FloatMatrix, step: FloatVector, change: FloatVector) -> FloatMatrix:
    """The BFGS update: the metric nearest to ``hessian`` under which ``step`` causes ``change``."""
    expected = hessian @ step
    size, found = float(step @ expected), float(step @ change)
    if not (size > 0.0 and math.isfinite(found) and found > 1e-8 * size):
        return hessian
    return hessian + np.outer(change, change / found) - np.outer(expected, expected / size)


def _next(
    objective: Objective, point: Point, hessian: FloatMatrix, tolerance: float
) -> tuple[FloatVector, FloatVector | None, float]:
    target, pull = objective.shape.minimise_model(
        hessian, point.gradient, point.x, point.pull, accuracy=inner_accuracy(objective, point, tolerance)
    )
    move = target - point.x
    square = float(move @ hessian @ move)
    return target, pull, math.sqrt(square) if square >= 0.0 else math.inf
