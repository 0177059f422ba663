"""Newton and quasi-Newton methods: damped Newton, BFGS from one second derivative, limited-memory BFGS."""

from __future__ import annotations

import math

import numpy as np

from dpglm.optim.objective import Model, Objective, Point
from dpglm.typing import FloatMatrix, FloatVector

# Most damped Newton steps, and trials of each.
_STEPS, _TRIALS = 200, 40
# Steps in a row without a better residual after which rounding has the last word.
_PATIENCE = 30
# A step this many times longer than the point itself tells that the model sees no curvature on its way.
_FAR = 1e3
# A step that had to be shortened below this share does so too.
_SHORT = 0.05
_GROWTH = 4.0
# Gradients after which quasi-Newton steps are given up for Newton's.
_QUASI_STEPS = 15
# Limited-memory BFGS: most gradients, pairs kept, trials of a line search; and the shares of the first slope
# along the line between which a slope is accepted (Wolfe's curvature condition).
_LBFGS_PASSES, _MEMORY, _LINE_TRIALS = 500, 20, 30
_LEAST_SLOPE, _MOST_SLOPE = -0.9, 0.1


def damped_newton(
    objective: Objective,
    x: FloatVector,
    *,
    tolerance: float,
    decrement: float = 0.0,
    precise: bool = True,
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

    Returns the point of least residual, above ``tolerance`` only if rounding allows no better. It stops also
    when a whole step promises to gain no more than half of ``decrement``: for rough answers, after that step.
    ``precise`` asks for second derivatives in float64.
    """
    point, hessian = objective.expand(x, precise=precise)
    best, waited = point, 0
    radius, shortened = math.inf, 0
    for _ in range(_STEPS):
        if best.residual <= tolerance or waited >= _PATIENCE * (1 if radius == math.inf else 3):
            break
        goal = math.inf if not math.isfinite(best.residual) else best.residual
        target, pull = _target(objective, point, hessian, radius, tolerance)
        if radius == math.inf and _far(target, point.x):
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


def _far(target: FloatVector, x: FloatVector) -> bool:
    """Whether a model sends its minimiser so far from ``x`` that it cannot have seen the curvature there."""
    return float(np.linalg.norm(target - x)) > _FAR * (1.0 + float(np.linalg.norm(x)))


def _target(
    objective: Objective, point: Point, hessian: FloatMatrix, radius: float, tolerance: float
) -> tuple[FloatVector, FloatVector | None]:
    """Minimiser of the model at a point, damped so that it is hardly farther away than ``radius``."""
    if radius < math.inf:
        left = float(np.linalg.norm(point.slope))
        hessian = hessian + left / radius * np.eye(len(hessian))
    return _minimise_model(objective, point, hessian, tolerance)


def _minimise_model(
    objective: Objective, point: Point, hessian: FloatMatrix, tolerance: float
) -> tuple[FloatVector, FloatVector | None]:
    """Minimiser of a model: to a thousandth of what is left, or to a part of the goal."""
    accuracy = max(0.1 * tolerance / objective.stretch, 1e-3 * float(np.linalg.norm(point.slope)))
    return objective.shape.minimise_model(Model(hessian, point.gradient, point.x), point.pull, accuracy)


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


def quasi_newton(objective: Objective, point: Point, hessian: FloatMatrix, *, tolerance: float) -> Point:
    """Minimise from a good start with a second derivative taken there, corrected after each step.

    The merit of a point is the length, in the metric, of the step that the model wants to take there: with
    no penalty the norm of the gradient in the inverse metric. A step that does not lessen the merit is not
    taken, but what it taught about the curvature is kept, and half of the next one is tried.

    ``hessian`` is the second derivative of the smooth part at ``point``, good to six digits. Returns the
    point of least residual, not always below ``tolerance``.
    """
    best, length = point, 1.0
    target, pull, merit = _next(objective, point, hessian, tolerance)
    for _ in range(_QUASI_STEPS):
        if best.residual <= tolerance or not math.isfinite(merit) or _far(target, point.x):
            break
        whole = length == 1.0
        x = target if whole else point.x + length * (target - point.x)
        trial = objective.measure(x, pull if whole else None)
        if trial.residual < best.residual:
            best = trial
            if best.residual <= tolerance:
                break
        hessian = _bfgs_update(hessian, trial.x - point.x, trial.gradient - point.gradient)
        ahead = _next(objective, trial, hessian, tolerance)
        if ahead[2] < merit:
            point, length = trial, 1.0
            target, pull, merit = ahead
        else:
            length *= 0.5
            target, pull, merit = _next(objective, point, hessian, tolerance)
    return best


def _bfgs_update(hessian: FloatMatrix, step: FloatVector, change: FloatVector) -> FloatMatrix:
    """The metric nearest to ``hessian`` under which ``step`` causes ``change``."""
    expected = hessian @ step
    before, after = float(step @ expected), float(step @ change)
    if not (before > 0.0 and math.isfinite(after) and after > 1e-8 * before):
        return hessian
    return hessian + np.outer(change, change / after) - np.outer(expected, expected / before)


def _next(
    objective: Objective, point: Point, hessian: FloatMatrix, tolerance: float
) -> tuple[FloatVector, FloatVector | None, float]:
    target, pull = _minimise_model(objective, point, hessian, tolerance)
    move = target - point.x
    square = float(move @ hessian @ move)
    return target, pull, math.sqrt(square) if square >= 0.0 else math.inf


def lbfgs(objective: Objective, x: FloatVector, *, tolerance: float) -> Point:
    """Minimise a smooth objective from ``x`` by gradients alone.

    The line search looks at the slope along the line only: the loss is never computed. Returns the point of
    least residual, not always below ``tolerance``.

    References
    ----------
    .. [1] Nocedal and Wright (2006), "Numerical Optimization", algorithms 7.4 and 7.5.
    """
    point = best = objective.measure(x)
    pairs: list[tuple[FloatVector, FloatVector, float]] = []
    last = objective.effort.passes + _LBFGS_PASSES
    while best.residual > tolerance and objective.effort.passes < last:
        moved = _line_search(objective, point, _direction(point.gradient, pairs), last)
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


def _line_search(objective: Objective, point: Point, direction: FloatVector, last: int) -> Point | None:
    """A point along the line where its slope has nearly vanished."""
    first = float(point.gradient @ direction)
    if not first < 0.0:
        return None
    low, high, length = 0.0, math.inf, 1.0
    for _ in range(_LINE_TRIALS):
        if objective.effort.passes >= last:
            break
        trial = objective.measure(point.x + length * direction)
        share = float(trial.gradient @ direction) / -first
        if _LEAST_SLOPE <= share <= _MOST_SLOPE or trial.residual <= 0.1 * point.residual:
            return trial
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
    return None
