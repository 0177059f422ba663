r"""What linearity leaves out: the curvature changes on the way from t to theta."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike

from dpglm.glm.term_columns import TermColumns
from dpglm.inference.linear_model import LinearModel
from dpglm.typing import FloatMatrix, FloatVector


def bent(model: LinearModel, units: FloatMatrix, covariance: ArrayLike) -> float:
    r"""Mean square of the term of second order, as a share of the variance of first order.

    Where noise and ridge leave d ~ N(0, v) between t and theta along one function, linear predictors of two
    rows move apart by s d, s the widest over the declared domain. The curvature bends by at most
    ``third_derivative_bound``
    times that, so the estimate is off by ``third_derivative_bound s d^2 / 2`` at most, with mean square
    3/4 (third_derivative_bound s v)^2. Sampling errors do not count: without noise t is the maximum
    likelihood estimate, and
    the estimate is t.

    Parameters
    ----------
    model : LinearModel
        Its term_columns are the declared domain.
    units : ndarray, shape (p, k)
        Coded coefficients per unit of each function.
    covariance : array_like, shape (k, k)
        Of the estimates of the functions, sampling left out.

    Returns
    -------
    float
        At least 0; ``3/4 (third_derivative_bound s)^2 v`` for one function. The same for functions that span
        the same space.
    """
    moved = units @ np.asarray(covariance, dtype=np.float64) @ units.T
    width = sum(np.sqrt(max(_widest(block, moved), 0.0)) for block in model.released.term_columns)
    return float(0.75 * (model.released.third_derivative_bound * width) ** 2)


def bent_each(model: LinearModel, units: FloatMatrix, variances: FloatVector) -> FloatVector:
    """`bent` for each function by itself, shape (k,).

    Parameters
    ----------
    units : ndarray, shape (p, k)
    variances : ndarray, shape (k,)
        Sampling left out.
    """
    width = np.zeros(len(variances))
    for block in model.released.term_columns:
        inside = units[block.columns]
        if block.kind == "other":
            width += 2.0 * np.sqrt(block.bound * (inside**2).sum(axis=0))
        else:
            corners = block.table @ inside
            width += np.ptp(corners, axis=0) if block.kind == "levels" else np.abs(corners[0])
    return np.asarray(0.75 * (model.released.third_derivative_bound * width) ** 2 * variances)


def _widest(block: TermColumns, moved: FloatMatrix) -> float:
    """Largest variance of what a difference of two rows in this block adds to their predictors."""
    inside = moved[block.columns, block.columns]
    match block.kind:
        case "intercept" | "slope":  # moved from nothing; from one end of the range to the other
            return float(block.table[0, 0] ** 2 * inside[0, 0])
        case "levels":
            among = block.table @ inside @ block.table.T
            own = np.diag(among)
            return float((own[:, None] + own - 2.0 * among).max())
        case "other":
            return 4.0 * block.bound * float(np.linalg.eigvalsh(inside)[-1])
        case unreachable:
            assert_never(unreachable)
