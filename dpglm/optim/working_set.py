"""An L1 penalty on many coefficients: minimise over the few in use, look whether others want in, repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpglm.optim.model import WeightedL1
from dpglm.optim.objective import Objective, Point
from dpglm.typing import FloatVector, IntVector

# Coefficients let in at once, at least.
_ROOM = 50


def working_set(
    objective: Objective,
    x: FloatVector,
    *,
    tolerance: float,
    solver: Callable[[Objective, FloatVector, float], Point],
) -> Point:
    """Minimise with an L1 shape by growing the set of coordinates that may differ from zero.

    Parameters
    ----------
    objective : Objective
        Its shape must be `WeightedL1`.
    x : ndarray, shape (m,)
        Start.
    tolerance : float
        Stop at this residual.
    solver : callable
        ``solver(objective, x, tolerance)`` minimises over a subset of the coordinates.

    Returns
    -------
    Point
        The one with the least residual, measured on all coordinates; above ``tolerance`` only if ``solver``
        missed its own.
    """
    shape = objective.shape
    assert isinstance(shape, WeightedL1)
    point = best = objective.measure(x)
    used = (shape.weights == 0.0) | (x != 0.0)
    while best.residual > tolerance:
        excess = np.where(used, 0.0, np.abs(point.gradient) - shape.weights)
        entering = np.argsort(-excess, kind="stable")[: max(_ROOM, int(used.sum()))]
        entering = entering[excess[entering] > 0.0]
        before = best.residual
        used[entering] = True
        if 2 * int(used.sum()) > used.size:
            used[:] = True
        places = np.flatnonzero(used)
        # Early rounds need not be exact: who is let in next hardly depends on it.
        goal = 0.5 * tolerance / objective.stretch
        if entering.size:
            goal = max(goal, 0.01 * float(excess.max()))
        inner = solver(_restricted(objective, shape, places), point.x[places], goal)
        x = np.zeros_like(x)
        x[places] = inner.x
        point = objective.measure(x)
        if point.residual < best.residual:
            best = point
        elif not entering.size and best.residual >= before:
            break
    return best


def _restricted(objective: Objective, shape: WeightedL1, places: IntVector) -> Objective:
    """The same objective as a function of some coordinates, the others being zero."""
    mixing = np.eye(objective.size) if objective.mixing is None else objective.mixing
    curvature = objective.curvature
    if curvature is not None:
        curvature = curvature[places] if curvature.ndim == 1 else curvature[np.ix_(places, places)]
    return replace(
        objective,
        mixing=np.ascontiguousarray(mixing[:, places]),
        curvature=curvature,
        shape=WeightedL1(shape.weights[places]),
        to_theta=None,
        stretch=1.0,
    )
