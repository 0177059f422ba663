"""Linear systems that always have an answer, whatever rounding did to the matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dpglm.typing import FloatMatrix, FloatVector


def solve(matrix: FloatMatrix, right: FloatVector) -> FloatVector:
    """Solution of ``matrix @ x = right`` for a matrix that should be positive definite.

    If rounding left it indefinite the smallest multiple of its mean diagonal that helps is added, from 1e-14
    upwards by tens: the answer is still a descent direction. It never raises.

    Parameters
    ----------
    matrix : ndarray, shape (m, m)
        Symmetric.
    right : ndarray, shape (m,)
        Right-hand side.

    Returns
    -------
    ndarray, shape (m,)
        Zero if nothing finite solves the system.

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
