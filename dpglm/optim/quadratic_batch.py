"""A convex quadratic plus any penalty whose prox is known, for many strengths at once, by ADMM."""

from __future__ import annotations

import math

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.cholesky import solve
from dpglm.typing import FloatMatrix, FloatVector

_SWEEPS = 20_000
_RELAXATION = 1.6
# Sweeps between looks at the residuals, which cost as much as a sweep.
_LOOK = 10
# Residuals at which Newton's method takes over: the support has settled well before the last digits.
_NEAR = np.array([1e-3, 1e-5, 1e-7, -1.0])
_NEWTON_STEPS = 20


def residuals(
    matrix: FloatMatrix, right: FloatVector, penalty: Penalty, points: FloatMatrix, strengths: FloatVector
) -> FloatVector:
    """How far each point is from a fixed point of the proximal gradient map, in units of the gradient.

    Zero at a minimiser; where the penalty is not convex, zero at a stationary point no coordinate of which
    can be moved to anything better under twice the largest second derivative.

    Parameters
    ----------
    matrix : ndarray, shape (p, p)
        A.
    right : ndarray, shape (p,)
        c.
    penalty : Penalty
        Its own strength is not used.
    points : ndarray, shape (k, p)
        One for each strength.
    strengths : ndarray, shape (k,)
        Strengths.

    Returns
    -------
    ndarray, shape (k,)
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
    convex: A is bent up by twice its largest eigenvalue, which makes ADMM converge to stationary points.

    Parameters
    ----------
    matrix : ndarray, shape (p, p)
        A, positive semidefinite.
    right : ndarray, shape (p,)
        c.
    penalty : Penalty
        Its own strength is not used.
    strengths : ndarray, shape (k,)
        Strengths.
    start : ndarray, shape (k, p)
        Where to start.
    accuracy : float
        Residual at which a strength is done, in units of the gradient.

    Returns
    -------
    ndarray, shape (k, p)
        Answers of the prox, so zeros are exact.

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
        if sweep % _LOOK:
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
