"""ADMM for a quadratic plus a penalty whose prox is known: one convex problem, or many strengths at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.active_set import solve
from dpglm.typing import FloatMatrix, FloatVector

_SWEEPS = 20_000
_RELAXATION = 1.6
# Sweeps between two measurements of the residuals, which cost as much as a sweep.
_INTERVAL = 10
# Residuals at which Newton's method takes over: the support has settled well before the last digits.
_NEAR = np.array([1e-3, 1e-5, 1e-7, -1.0])
_NEWTON_STEPS = 20


def minimise_with_prox(
    hessian: FloatMatrix,
    gradient: FloatVector,
    x: FloatVector,
    prox: Callable[[FloatVector, float], FloatVector],
    *,
    pull: FloatVector | None = None,
    accuracy: float,
) -> tuple[FloatVector, FloatVector]:
    r"""Minimiser z of :math:`g'(z - x) + \frac12 (z - x)'H(z - x) + P(z)` and a subgradient of P at z.

    One eigendecomposition, then a product with a matrix and a prox per sweep, with the step that is best for
    the extreme eigenvalues of H. z is an answer of ``prox``, so zeros are exact; ``prox(v, step)`` minimises
    ``|b - v|^2 / 2 + step * P(b)``. It stops when the Euclidean norm of the model's subgradient at z is at
    most ``accuracy``; ``pull``, a subgradient of P near x, is a warm start.

    References
    ----------
    .. [1] Boyd, Parikh, Chu, Peleato and Eckstein (2011), "Distributed optimization and statistical learning
       via ADMM", section 3.4.3 (over-relaxation).
    """
    if x.size == 0:
        return x.copy(), x.copy()
    roots, vectors = np.linalg.eigh(hessian)
    top = max(float(roots[-1]), 1e-300)
    roots = np.maximum(roots, 1e-12 * top)
    weight = math.sqrt(float(roots[0]) * top)
    inverse = (vectors / (roots + weight)) @ vectors.T
    # Work with steps from x, where the constant part is the exact gradient.
    z = x.copy()
    multiplier = np.zeros_like(x) if pull is None else pull / weight
    best, best_pull, least = z, weight * multiplier, math.inf
    for _ in range(_SWEEPS):
        step = inverse @ (weight * (z - x - multiplier) - gradient)
        relaxed = _RELAXATION * (x + step) + (1.0 - _RELAXATION) * z + multiplier
        z = prox(relaxed, 1.0 / weight)
        multiplier = relaxed - z
        found = weight * multiplier
        residual = float(np.linalg.norm(gradient + hessian @ (z - x) + found))
        if residual < least:
            best, best_pull, least = z, found, residual
            if least <= accuracy:
                break
    return best, best_pull


def residuals(
    matrix: FloatMatrix, right: FloatVector, penalty: Penalty, points: FloatMatrix, strengths: FloatVector
) -> FloatVector:
    """How far each point is from a fixed point of the proximal gradient map, in units of the gradient.

    Zero at a minimiser; where the penalty is not convex, zero at a stationary point no coordinate of which
    can be moved to anything better under twice the largest second derivative. The points, shape (k, p),
    belong to the strengths, shape (k,); the penalty's own strength is not used.
    """
    if right.size == 0:
        return np.zeros(len(points))
    top = max(float(np.linalg.eigvalsh(matrix)[-1]), 1e-300)
    step = 1.0 / top if penalty.convex else 0.5 / top
    moved = penalty.prox_rows(points - step * (points @ matrix - right), step, strengths)
    return np.asarray(np.abs(points - moved).max(axis=1) / step, dtype=np.float64)


def minimise_batch(
    matrix: FloatMatrix,
    right: FloatVector,
    penalty: Penalty,
    strengths: FloatVector,
    *,
    start: FloatMatrix,
    accuracy: float,
) -> FloatMatrix:
    r"""Points z of small residual of :math:`\frac12 z'Az - c'z + P_s(z)`, one for each strength s.

    One inverse for all strengths and one product of matrices a sweep; strengths that are done leave it. Where
    the penalty knows its derivatives, the last digits are Newton's on the support that ADMM has found. Not
    convex: the step supposes twice A's largest eigenvalue, which makes ADMM converge to stationary points.

    ``start`` and the answer have shape (k, p); zeros of the answer are exact. A strength is done at a
    residual of ``accuracy``, in units of the gradient.

    References
    ----------
    .. [1] Boyd, Parikh, Chu, Peleato and Eckstein (2011), "Distributed optimization and statistical learning
       via ADMM", section 3.4.3.
    .. [2] Wang, Yin and Zeng (2019), "Global convergence of ADMM in nonconvex nonsmooth optimization",
       Journal of Scientific Computing 78.
    """
    roots, vectors = np.linalg.eigh(matrix)
    top = max(float(roots[-1]), 1e-300)
    roots = np.maximum(roots, 0.0)
    weight = math.sqrt(max(float(roots[0]), 1e-8 * top) * top) if penalty.convex else 2.0 * top
    inverse = (vectors / (roots + weight)) @ vectors.T
    best, least = start.copy(), residuals(matrix, right, penalty, start, strengths)
    running = np.flatnonzero(least > accuracy)
    z, tried = start[running].copy(), np.zeros(running.size, dtype=np.int64)
    multiplier = (right - z @ matrix) / weight
    scale = float(np.abs(right).max(initial=0.0))
    for sweep in range(_SWEEPS):
        if running.size == 0:
            break
        step = (weight * (z - multiplier) + right) @ inverse
        relaxed = _RELAXATION * step + (1.0 - _RELAXATION) * z + multiplier
        z = penalty.prox_rows(relaxed, 1.0 / weight, strengths[running])
        multiplier = relaxed - z
        if sweep % _INTERVAL:
            continue
        found = np.abs(z @ matrix - right + weight * multiplier).max(axis=1)
        for at in np.flatnonzero(found <= _NEAR[tried] * scale):
            tried[at] += 1
            row = running[at]
            polished = _newton(matrix, right, penalty.with_strength(float(strengths[row])), z[at])
            if polished is not None:
                left = residuals(matrix, right, penalty, polished[None], strengths[row : row + 1])[0]
                if left < least[row]:
                    best[row], least[row] = polished, left
        better = found < least[running]
        best[running[better]], least[running[better]] = z[better], found[better]
        going = least[running] > accuracy
        z, multiplier, tried, running = z[going], multiplier[going], tried[going], running[going]
    return best


def _newton(matrix: FloatMatrix, right: FloatVector, penalty: Penalty, z: FloatVector) -> FloatVector | None:
    """Newton's method on the support of z; None where it is of no use."""
    used = np.flatnonzero(z)
    point = z.copy()
    for _ in range(_NEWTON_STEPS):
        known = penalty.derivatives(point)
        if known is None:
            return None
        slope = (matrix[used] @ point - right[used]) + known[0][used]
        move = solve(matrix[np.ix_(used, used)] + known[1][np.ix_(used, used)], slope)
        point[used] -= move
        if not (point[used] * z[used] > 0.0).all():
            return None
        if np.abs(move).max(initial=0.0) <= 1e-14 * np.abs(point).max(initial=0.0):
            break
    return point
