"""Limited-memory BFGS, for smooth objectives with too many coefficients for a matrix."""

from __future__ import annotations

import math

from dpglm.optim.objective import Objective, Point
from dpglm.typing import FloatVector

_MEMORY = 20
_TRIALS = 30
# A gradient along the line between these shares of the first one is accepted (Wolfe's curvature condition).
_SHORT, _LONG = -0.9, 0.1


def lbfgs(objective: Objective, x: FloatVector, *, tolerance: float, limit: int) -> Point:
    """Minimise a smooth objective from ``x`` by gradients alone.

    The line search looks at the slope along the line only: the loss is never computed.

    Parameters
    ----------
    objective : Objective
        What to minimise; its shape must be `Smooth`.
    x : ndarray, shape (m,)
        Start.
    tolerance : float
        Stop at this residual.
    limit : int
        Most gradients.

    Returns
    -------
    Point
        The one with the least residual, not always below ``tolerance``.

    References
    ----------
    .. [1] Nocedal and Wright (2006), "Numerical Optimization", algorithms 7.4 and 7.5.
    """
    point = best = objective.measure(x)
    pairs: list[tuple[FloatVector, FloatVector, float]] = []
    last = objective.effort.passes + limit
    while best.residual > tolerance and objective.effort.passes < last:
        moved = _search(objective, point, _direction(point.gradient, pairs), last)
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


def _search(objective: Objective, point: Point, direction: FloatVector, last: int) -> Point | None:
    """A point along the line where its slope has nearly vanished."""
    first = float(point.gradient @ direction)
    if not first < 0.0:
        return None
    low, high, length = 0.0, math.inf, 1.0
    for _ in range(_TRIALS):
        if objective.effort.passes >= last:
            break
        trial = objective.measure(point.x + length * direction)
        share = float(trial.gradient @ direction) / -first
        if _SHORT <= share <= _LONG or trial.residual <= 0.1 * point.residual:
            return trial
        if share < _SHORT:
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
