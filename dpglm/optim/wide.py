"""Convex objectives of many coefficients, without their matrix of second derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpglm.optim.loss import Objective, Point
from dpglm.optim.quadratic_solvers import WeightedL1
from dpglm.typing import FloatVector, IntVector

# Coefficients that enter a working set at once, at least.
_ENTERING = 50
# Limited-memory BFGS: most gradients, pairs kept, trials of a line search; and the shares of the first slope
# along the line between which a slope is accepted (Wolfe's curvature condition).
_GRADIENTS, _MEMORY, _LINE_TRIALS = 500, 20, 30
_LEAST_SLOPE, _MOST_SLOPE = -0.9, 0.1


def working_set(
    objective: Objective,
    weights: FloatVector,
    x: FloatVector,
    tolerance: float,
    *,
    minimise: Callable[[Objective, FloatVector, float], Point],
) -> Point:
    """The point of least residual with an L1 term: ``minimise`` over those in use, let others enter."""
    point = best = objective.measure(x)
    used = (weights == 0.0) | (x != 0.0)
    while best.residual > tolerance:
        excess = np.where(used, 0.0, np.abs(point.gradient) - weights)
        entering = np.argsort(-excess, kind="stable")[: max(_ENTERING, int(used.sum()))]
        entering = entering[excess[entering] > 0.0]
        before = best.residual
        used[entering] = True
        if 2 * int(used.sum()) > used.size:
            used[:] = True
        places = np.flatnonzero(used)
        # Early rounds need not be exact: which coordinates enter next hardly depends on it.
        goal = 0.5 * tolerance / objective.stretch
        if entering.size:
            goal = max(goal, 0.01 * float(excess.max()))
        inner = minimise(_restricted(objective, weights, places), point.x[places], goal)
        x = np.zeros_like(x)
        x[places] = inner.x
        point = objective.measure(x)
        if point.residual < best.residual:
            best = point
        elif not entering.size and best.residual >= before:
            break
    return best


def _restricted(objective: Objective, weights: FloatVector, places: IntVector) -> Objective:
    """The same objective as a function of some coordinates, the others being zero."""
    mixing = np.eye(objective.size) if objective.mixing is None else objective.mixing
    curvature = objective.curvature
    if curvature is not None:
        curvature = curvature[places] if curvature.ndim == 1 else curvature[np.ix_(places, places)]
    return replace(
        objective,
        mixing=np.ascontiguousarray(mixing[:, places]),
        curvature=curvature,
        shape=WeightedL1(weights[places]),
        to_theta=None,
        stretch=1.0,
    )


def lbfgs(objective: Objective, x: FloatVector, tolerance: float) -> Point:
    """The point of least residual by limited-memory BFGS, which needs gradients alone, not the loss.

    Nocedal and Wright (2006), "Numerical Optimization", algorithms 7.4 and 7.5.
    """
    point = best = objective.measure(x)
    pairs: list[tuple[FloatVector, FloatVector, float]] = []
    left = _GRADIENTS
    while best.residual > tolerance and left > 0:
        direction = _direction(point.gradient, pairs)
        moved, tried = _line_search(objective, point, direction, min(_LINE_TRIALS, left))
        left -= tried
        if moved is None:
            if not pairs:
                break
            pairs = []
            continue
        step, change = moved.x - point.x, moved.gradient - point.gradient
        product = float(step @ change)
        if product > 1e-12 * float(change @ change) and math.isfinite(product):
            pairs = [*pairs[1 - _MEMORY :], (step, change, product)]
        point = moved
        if point.residual < best.residual:
            best = point
    return best


def _direction(gradient: FloatVector, pairs: list[tuple[FloatVector, FloatVector, float]]) -> FloatVector:
    """Minus the inverse metric of the pairs times the gradient, by the two loops."""
    left = gradient.copy()
    shares: list[float] = []
    for step, change, product in reversed(pairs):
        shares.append(float(step @ left) / product)
        left -= shares[-1] * change
    if pairs:
        _, change, product = pairs[-1]
        left *= product / float(change @ change)
    for (step, change, product), share in zip(pairs, reversed(shares), strict=True):
        left += step * (share - float(change @ left) / product)
    return -left


def _line_search(
    objective: Objective, point: Point, direction: FloatVector, trials: int
) -> tuple[Point | None, int]:
    """A point along the line where its slope has nearly vanished, and how many were tried."""
    first = float(point.gradient @ direction)
    if not first < 0.0:
        return None, 0
    low, high, length = 0.0, math.inf, 1.0
    for tried in range(1, trials + 1):
        trial = objective.measure(point.x + length * direction)
        share = float(trial.gradient @ direction) / -first
        if _LEAST_SLOPE <= share <= _MOST_SLOPE or trial.residual <= 0.1 * point.residual:
            return trial, tried
        if share < _LEAST_SLOPE:
            low = length
        else:
            high = length
        # The slope is -1 at zero and ``share`` here: aim at where a straight line through both vanishes.
        aim = length / (1.0 + share) if math.isfinite(share) and share > -1.0 else math.inf
        if math.isinf(high):
            length = min(max(aim, 2.0 * length), 10.0 * length)
        else:
            margin = 0.1 * (high - low)
            length = min(max(aim, low + margin), high - margin)
    return None, trials
