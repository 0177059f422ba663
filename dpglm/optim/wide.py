"""Convex objectives of many coefficients, without their matrix of second derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpglm.optim.line_search import safe_step
from dpglm.optim.objective import Objective, Point
from dpglm.optim.quadratic_solvers import WeightedL1
from dpglm.typing import BoolVector, FloatVector, IntVector

# Coefficients that enter a working set at once, at least.
_ENTERING = 50
# How far the first step of a truncated Newton method lets the model's gradient fall, and any step.
_FIRST_SHARE, _LEAST_SHARE = 0.1, 1e-5
# Steps in a row without a better residual after which rounding has the last word.
_PATIENCE = 30
# Shares of a way that are tried.
_LENGTHS = (1.0, 0.5, 0.25, 0.125)


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


def truncated_newton(objective: Objective, x: FloatVector, tolerance: float, *, products: int) -> Point:
    """The point of least residual of a smooth objective by Newton steps, each solved by conjugate gradients.

    They need products of the second derivative with a vector, in float32, and no matrix. It ends at the
    tolerance, after so many ``products``, or where they see no curvature. The residual is in float64.

    Nocedal and Wright (2006), "Numerical Optimization", algorithm 7.1; how well each step is solved follows
    Eisenstat and Walker (1996), "Choosing the forcing terms in an inexact Newton method", choice 2.
    """
    point = best = objective.measure(x)
    share, left = _FIRST_SHARE, products
    while best.residual > tolerance and left > 0:
        # No better than the tolerance asks, nor than float32 can.
        share = max(share, _LEAST_SHARE, 0.3 * tolerance / point.residual)
        way, used = newton_way(objective.products(point), point.gradient, share, left)
        left -= used
        if way is None:
            break
        moved, _, _ = safe_step(objective, point, way, point.x + way, point.pull, best.residual)
        if moved is None:
            break
        share = min(_FIRST_SHARE, (moved.residual / point.residual) ** 2)
        point = moved
        if point.residual < best.residual:
            best = point
    return best


def proximal_newton(
    objective: Objective, weights: FloatVector, x: FloatVector, tolerance: float, *, products: int
) -> Point:
    """The point of least residual with an L1 term, as `truncated_newton` and without a matrix."""
    point = best = objective.measure(x)
    left, waited, share = products, 0, _FIRST_SHARE
    while best.residual > tolerance and left > 0 and waited < _PATIENCE:
        distance = float(np.linalg.norm(point.slope))
        goal = max(share * distance, 0.3 * tolerance / objective.stretch)
        product = objective.products(point)
        target, used = _model_minimiser(product, point.gradient, point.x, weights, goal, left)
        left -= used
        moved, _, _ = safe_step(objective, point, target - point.x, target, None, best.residual)
        if moved is None:
            break
        share = min(_FIRST_SHARE, max(_LEAST_SHARE, (float(np.linalg.norm(moved.slope)) / distance) ** 2))
        point, waited = moved, waited + 1
        if point.residual < best.residual:
            best, waited = point, 0
    return best


def _model_minimiser(
    product: Callable[[FloatVector], FloatVector],
    slope: FloatVector,
    z: FloatVector,
    weights: FloatVector,
    goal: float,
    most: int,
) -> tuple[FloatVector, int]:
    """Where a quadratic plus an L1 term has a subgradient of norm ``goal`` at most; and products used.

    ``slope`` is the quadratic's gradient at ``z``. A proximal gradient step lets coordinates enter and leave,
    and never increases the sum; conjugate gradients then go on among those in use, with the signs that these
    have, as far as the sum decreases.

    Byrd, Nocedal and Oztoprak (2016), "An inexact successive quadratic approximation method for L-1
    regularized optimization".
    """
    shape, steepest, used = WeightedL1(weights), 0.0, 0
    while used < most:
        least = slope + np.where(z == 0.0, np.clip(-slope, -weights, weights), weights * np.sign(z))
        distance = float(np.linalg.norm(least))
        if distance <= goal:
            break
        if steepest == 0.0:
            steepest, used = float(np.linalg.norm(product(least))) / distance, used + 1
        ahead = z - slope / steepest
        move = np.sign(ahead) * np.maximum(np.abs(ahead) - weights / steepest, 0.0) - z
        change, used = product(move), used + 1
        bend = float(move @ change) / max(float(move @ move), 1e-300)
        if not (steepest > 0.0 and math.isfinite(bend)):
            break
        if bend > steepest * (1.0 + 1e-6):
            steepest = 2.0 * bend
            continue
        z, slope = z + move, slope + change
        free, signs = (weights == 0.0) | (z != 0.0), np.sign(z)
        left = np.where(free, slope + weights * signs, 0.0)
        if float(np.linalg.norm(left)) <= 0.1 * goal:
            continue
        way, more = newton_way(_among(free, product), left, _FIRST_SHARE, most - used)
        used += more
        if way is None:
            continue
        target = z + way
        target[(weights > 0.0) & (target * signs <= 0.0)] = 0.0
        move = target - z
        change, used = product(move), used + 1
        for length in _LENGTHS:
            gain = shape.value(z + length * move) - shape.value(z)
            if gain + length * float(slope @ move) + 0.5 * length**2 * float(move @ change) < 0.0:
                z, slope = target if length == 1.0 else z + length * move, slope + length * change
                break
    return z, used


def _among(
    free: BoolVector, product: Callable[[FloatVector], FloatVector]
) -> Callable[[FloatVector], FloatVector]:
    return lambda direction: np.where(free, product(direction), 0.0)


def newton_way(
    product: Callable[[FloatVector], FloatVector], gradient: FloatVector, share: float, most: int
) -> tuple[FloatVector | None, int]:
    """The way that brings the gradient to ``share`` of its norm, by conjugate gradients; and products used.

    None where it does not come near in ``most`` products, or where there is no curvature along a direction.
    """
    way, left = np.zeros_like(gradient), -gradient
    direction, square = left, float(left @ left)
    goal = share**2 * square
    for used in range(1, most + 1):
        change = product(direction)
        bend = float(direction @ change)
        if not (bend > 0.0 and math.isfinite(bend)):
            return None, used
        way = way + square / bend * direction
        left = left - square / bend * change
        before, square = square, float(left @ left)
        if not square > goal:
            return way, used
        direction = left + square / before * direction
    return None, most
