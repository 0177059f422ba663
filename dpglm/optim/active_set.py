"""Lasso of a quadratic by an active set, exact to rounding; and linear systems that always have an answer."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Rounds that let all violators in at once; afterwards one at a time, which cannot cycle.
_GREEDY_ROUNDS = 25


def minimise_with_l1(
    hessian: FloatMatrix, gradient: FloatVector, x: FloatVector, weights: FloatVector
) -> FloatVector:
    r"""Minimiser z of :math:`g'(z - x) + \frac12 (z - x)'H(z - x) + \sum_j w_j |z_j|`.

    On a guess of the support and signs the minimiser solves a linear system; coordinates that would change
    sign on the way are stopped at zero and leave the support, coordinates whose gradient exceeds their weight
    enter it. The objective never increases, so no guess comes twice and the answer is exact to rounding.

    H is positive definite. The support and signs of ``x`` are the first guess; a coordinate of weight 0 is
    always in the support. Coordinates outside the support are exactly 0.

    References
    ----------
    .. [1] Lee, Battle, Raina and Ng (2006), "Efficient sparse coding algorithms", NIPS 19, algorithm 1
       (feature-sign search); several coordinates enter at once here, as long as that makes progress.

    Examples
    --------
    >>> minimise_with_l1(np.eye(2), np.array([-3.0, 0.5]), np.zeros(2), np.ones(2))
    array([2., 0.])
    """
    z = x.astype(np.float64, copy=True)
    free = weights == 0.0
    support = free | (z != 0.0)
    signs = np.sign(z)
    slope = gradient.astype(np.float64, copy=True)
    # Rounding in H (z - x) leaves this much of a gradient that should equal its weight.
    slack = 1e-13 * (1.0 + float(np.abs(gradient).max(initial=0.0)))
    for round_ in range(_GREEDY_ROUNDS + 10 * x.size):
        z, support = _settle(hessian, slope, z, support, signs, weights)
        slope = gradient + hessian @ (z - x)
        excess = np.where(support, 0.0, np.abs(slope) - weights)
        violators = excess > slack
        if not violators.any():
            break
        if round_ >= _GREEDY_ROUNDS:
            violators = np.arange(x.size) == int(np.argmax(excess))
        signs = np.where(violators, -np.sign(slope), signs)
        support = support | violators
    return z


def _settle(
    hessian: FloatMatrix,
    slope: FloatVector,
    z: FloatVector,
    support: BoolVector,
    signs: FloatVector,
    weights: FloatVector,
) -> tuple[FloatVector, BoolVector]:
    """Minimiser on a support with signs, walked to from ``z``; what meets zero on the way stays there."""
    z, slope, support = z.copy(), slope.copy(), support.copy()
    penalised = weights > 0.0
    for _ in range(z.size + 1):
        active = np.flatnonzero(support)
        if active.size == 0:
            break
        whole = active.size == z.size
        block = hessian if whole else hessian[np.ix_(active, active)]
        move = -solve(block, slope[active] + weights[active] * signs[active])
        here, there = z[active], z[active] + move
        crossing = penalised[active] & (there * signs[active] <= 0.0)
        if not crossing.any():
            z[active] = there
            break
        share = np.full(active.size, np.inf)
        span = np.where(move == 0.0, 1.0, move)
        share[crossing] = np.clip(-here[crossing] / span[crossing], 0.0, 1.0)
        part = float(share.min())
        z[active] = here + part * move
        leaving = active[share <= part]
        z[leaving] = 0.0
        support[leaving] = False
        slope += hessian[:, active] @ (z[active] - here)
    return z, support


def solve(matrix: FloatMatrix, right: FloatVector) -> FloatVector:
    """Solution of ``matrix @ x = right`` for a matrix that should be positive definite.

    If rounding left it indefinite the smallest multiple of its mean diagonal that helps is added, from 1e-14
    upwards by tens: the answer is still a descent direction. It never raises; the answer is zero if nothing
    finite solves the system.

    Examples
    --------
    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    if right.size == 0:
        return right.copy()
    diagonal = np.abs(np.diagonal(matrix))
    mean = float(diagonal.mean())
    extra = 0.0
    for power in range(-14, 4):
        shifted = matrix
        if extra > 0.0:
            shifted = matrix.copy()
            shifted[np.diag_indices_from(shifted)] += extra
        factor, failed = dpotrf(shifted, lower=0, clean=0)
        if failed == 0:
            solution, failed = dpotrs(factor, right, lower=0)
            if failed == 0 and np.isfinite(solution).all():
                return np.asarray(solution, dtype=np.float64)
        extra = mean * 10.0**power
    return np.zeros_like(right)
