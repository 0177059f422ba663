"""A convex quadratic plus a penalty on some of the coordinates: one strength, or a path of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import pinvh

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import Penalty
from dpglm.glm.penalties.separable import Separable
from dpglm.optim.quadratic_search import Search
from dpglm.optim.quadratic_solvers import minimise_batch, minimise_with_l1, residuals, solve
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# A single strength of a penalty that is not convex is reached along a path, as one of many would be.
_APPROACH = 20
# A second derivative that is a smaller part of what it was before others were minimised out is none.
_ROUNDING = 1e-12
# Lasso solutions from which a search for a penalty that is not convex starts.
_LASSO_STARTS = 50


@dataclass(frozen=True, eq=False)
class QuadraticPath:
    """Minimisers of a quadratic plus a penalty, one for each strength.

    A residual is the largest coordinate of that of the fixed point of the proximal gradient map, in units of
    the gradient. Zero is optimal if the penalty is convex, stationary if not.
    """

    penalty: Penalty  # as minimised; its own strength is not used
    penalised: BoolVector  # (p,)
    strengths: FloatVector  # (k,), as asked for
    coefficients: FloatMatrix  # (k, p), zeros are exact
    objectives: FloatVector  # (k,)
    residuals: FloatVector  # (k,)

    @property
    def counts(self) -> IntVector:
        """Number of penalised coefficients that are not zero, shape (k,)."""
        used = self.coefficients[:, self.penalised] != 0.0
        return np.asarray(used.sum(axis=1), dtype=np.int64)


def minimise_quadratic_path(
    matrix: FloatMatrix,
    right: FloatVector,
    penalty: Penalty,
    strengths: FloatVector,
    *,
    penalised: BoolVector | None = None,
) -> QuadraticPath:
    r"""Minimise :math:`\frac12 g'Ag - c'g + P_s(g_{penalised})` for each strength s.

    Weighted L1 norms plus a ridge: an exact active set from strength to strength, whatever the condition
    of A. Other convex penalties: ADMM for all strengths at once, with Newton's method for the last digits.
    Penalties that are not convex: a search that ends in a local minimiser for each strength, the best of
    those reached from zero along the path, from the lasso, from least squares and from the other strengths.
    It is mostly the global one, but nothing certifies that. Nothing is drawn at random.

    Parameters
    ----------
    matrix : ndarray, shape (p, p)
        A, symmetric positive semidefinite. Nothing is added to it: where it is singular and the penalty does
        not hold the minimiser, there may be many minimisers, of which one is returned, or none, which
        `residuals` shows. On a support with a singular block Newton's steps come from that block plus the
        least multiple of its mean diagonal that has a Cholesky factor; the residuals are those of A.
    right : ndarray, shape (p,)
        c.
    penalty : Penalty
        On the penalised coordinates in their order; its own strength is not used.
    strengths : ndarray, shape (k,)
        Strengths >= 0 in the units of A and c, in any order.
    penalised : ndarray of bool, shape (p,), or None
        None is all. The others are minimised out beforehand, by the pseudo-inverse of their block of A.

    Raises
    ------
    MethodError
        If shapes disagree or a number is not finite.

    Examples
    --------
    >>> from dpglm.glm.penalties.lq import LHalf
    >>> path = minimise_quadratic_path(np.eye(2), np.array([3.0, 1.4]), LHalf(), np.array([1.0, 0.1]))
    >>> path.coefficients.round(3)
    array([[2.695, 0.   ],
           [2.971, 1.357]])
    """
    matrix, right, strengths = (np.asarray(array, dtype=np.float64) for array in (matrix, right, strengths))
    mask = np.asarray(np.ones(right.shape) if penalised is None else penalised, dtype=np.bool_)
    if strengths.ndim != 1 or not np.isfinite(strengths).all() or (strengths < 0.0).any():
        raise MethodError(
            f"strengths of shape {strengths.shape}, least {np.min(strengths, initial=0.0)}",
            expected="a vector of finite numbers >= 0",
            remedy="Use strengths=np.geomspace(1.0, 0.001, 100), say.",
        )
    reduced, pulled = profiled(matrix, right, mask)
    with np.errstate(all="ignore"):
        order = np.argsort(-strengths, kind="stable")
        path = np.empty((strengths.size, pulled.size))
        path[order] = _solve(reduced, pulled, penalty, strengths[order])
        left = residuals(reduced, pulled, penalty, path, strengths)
    coefficients = np.zeros((strengths.size, right.size))
    coefficients[:, mask] = path
    free = ~mask
    matrix = 0.5 * (matrix + matrix.T)
    if free.any():
        coefficients[:, free] = (right[free] - path @ matrix[np.ix_(mask, free)]) @ pinvh(
            matrix[np.ix_(free, free)]
        )
    lost = right[free] - coefficients @ matrix[:, free]
    smooth = 0.5 * np.einsum("ij,ij->i", coefficients @ matrix, coefficients) - coefficients @ right
    objectives = smooth + penalty.values(path, strengths)
    left = np.maximum(left, np.abs(lost).max(axis=1, initial=0.0))
    return QuadraticPath(penalty, mask, strengths, coefficients, objectives, left)


def profiled(matrix: FloatMatrix, right: FloatVector, mask: BoolVector) -> tuple[FloatMatrix, FloatVector]:
    """The quadratic in the masked coordinates that is left when the others are minimised out.

    Arguments as in `minimise_quadratic_path`, of m masked coordinates; returns shapes (m, m) and (m,).
    """
    if right.ndim != 1 or matrix.shape != (right.size, right.size) or mask.shape != right.shape:
        raise MethodError(
            f"a quadratic of shapes {matrix.shape}, {right.shape} and a mask of {mask.shape}",
            expected="shapes (p, p), (p,) and (p,)",
            remedy="Use one linear weight and one mask entry a coefficient.",
        )
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        raise MethodError(
            "a quadratic with numbers that are not finite",
            expected="finite released numbers",
            remedy="Check the released score and curvature.",
        )
    matrix = 0.5 * (matrix + matrix.T)
    free = ~mask
    if not free.any():
        return _informed(matrix, right, np.diagonal(matrix))
    cross = matrix[np.ix_(free, mask)]
    response = pinvh(matrix[np.ix_(free, free)]) @ np.column_stack([cross, right[free]])
    reduced = matrix[np.ix_(mask, mask)] - cross.T @ response[:, :-1]
    left = right[mask] - cross.T @ response[:, -1]
    return _informed(0.5 * (reduced + reduced.T), left, np.diagonal(matrix)[mask])


def _informed(
    matrix: FloatMatrix, right: FloatVector, before: FloatVector
) -> tuple[FloatMatrix, FloatVector]:
    """Zeros where nothing but rounding is left of a coordinate's second derivative, which was ``before``.

    What rounding leaves of its linear weight would have no bound there: a penalty that ends holds nothing.
    """
    unknown = np.diagonal(matrix) <= _ROUNDING * before
    if not unknown.any():
        return matrix, right
    known = ~unknown
    return matrix * np.outer(known, known), right * known


def _solve(matrix: FloatMatrix, right: FloatVector, penalty: Penalty, strengths: FloatVector) -> FloatMatrix:
    """One point for each of the falling strengths, every coordinate being penalised."""
    if not right.any() or strengths.size == 0:  # zero is the least value of both parts
        return np.zeros((strengths.size, right.size))
    if penalty.ridge_weight is not None and penalty.with_strength(1.0).l1_weights(right.size) is not None:
        return _active_set_path(matrix, right, penalty, strengths)
    accuracy = 1e-11 * float(np.abs(right).max())
    if penalty.convex:
        start = np.zeros((strengths.size, right.size))
        return minimise_batch(matrix, right, penalty, strengths, start=start, accuracy=accuracy)
    lasso = _lasso_path(matrix, right)
    if isinstance(penalty, Separable):
        approach = strengths
        if strengths.size < _APPROACH:
            top, least = strength_max(matrix, right, penalty), float(strengths.min())
            if least > 0.0 and top < np.inf:
                between = np.geomspace(max(top, least), 0.5 * least, _APPROACH)
                approach = np.unique(np.append(strengths, between))[::-1]
        points = Search(matrix, right, penalty).path(approach, lasso)
        return points[np.searchsorted(-approach, -strengths)]
    values = 0.5 * np.einsum("ij,ij->i", lasso @ matrix, lasso) - lasso @ right
    totals = np.stack(
        [values + penalty.values(lasso, np.full(len(lasso), strength)) for strength in strengths]
    )
    # Zero, where both parts are zero, is a candidate too.
    start = np.where(totals.min(axis=1, keepdims=True) < 0.0, lasso[totals.argmin(axis=1)], 0.0)
    return minimise_batch(matrix, right, penalty, strengths, start=start, accuracy=accuracy)


def strength_max(matrix: FloatMatrix, right: FloatVector, penalty: Penalty) -> float:
    """Strength from which on no single coordinate leaves zero; if convex, zero is the solution.

    ``inf`` if there is none. Arguments as in `minimise_quadratic_path`, all coordinates penalised.
    """
    if penalty.convex or not isinstance(penalty, Separable):
        return penalty.strength_max(right, 1.0 / max(float(np.diagonal(matrix).max(initial=0.0)), 1e-300))
    diagonal = np.diagonal(matrix)
    curvature = np.maximum(diagonal, 1e-14 * float(diagonal.max(initial=0.0)) + 1e-300)
    pull, weights = np.abs(right), penalty.weights_of(right.size)
    if (pull[weights == 0.0] > 0.0).any():
        return float(np.inf)
    least = penalty.least_strength(pull, 1.0 / curvature) / np.where(weights > 0.0, weights, np.inf)
    # The inverse of the threshold may round down.
    return float(least.max(initial=0.0)) * (1.0 + 1e-14)


def _active_set_path(
    matrix: FloatMatrix, right: FloatVector, penalty: Penalty, strengths: FloatVector
) -> FloatMatrix:
    points = np.zeros((strengths.size, right.size))
    point = np.zeros(right.size)
    for at, strength in enumerate(strengths):
        own = penalty.with_strength(float(strength))
        weights, ridge = own.l1_weights(right.size), own.ridge_weight
        assert weights is not None
        assert ridge is not None
        with_ridge = matrix if ridge == 0.0 else matrix + ridge * np.eye(right.size)
        point = minimise_with_l1(with_ridge, with_ridge @ point - right, point, weights)
        points[at] = point
    return points


def _lasso_path(matrix: FloatMatrix, right: FloatVector) -> FloatMatrix:
    """Lasso solutions from almost none to almost all coordinates, and the one without a penalty: starts."""
    points = np.zeros((_LASSO_STARTS + 1, right.size))
    points[-1] = solve(matrix, right)
    top, point = float(np.abs(right).max()), np.zeros(right.size)
    for at, strength in enumerate(np.geomspace(0.9 * top, 1e-4 * top, _LASSO_STARTS)):
        point = minimise_with_l1(matrix, matrix @ point - right, point, np.full(right.size, strength))
        points[at] = point
    return points
