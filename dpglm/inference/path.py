"""Sparse fits on the released linear model: a path of strengths, at no cost in privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.quadratic import minimise_quadratic_path, profiled, strength_max
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

STRENGTHS, RATIO = 100, 1e-3


@dataclass(frozen=True, eq=False)
class SparsePath:
    """Penalised fits, one for each strength.

    Parameters
    ----------
    penalty : Penalty
        As minimised, its scales filled in; its own strength is not used.
    penalised : ndarray of bool, shape (p,)
        Which coefficients are penalised.
    strengths : ndarray, shape (k,)
        In sum units.
    coefficients : ndarray, shape (k, p)
        Scaled coefficients; zeros are exact.
    objectives : ndarray, shape (k,)
        ``g'Ag / 2 - c'g`` plus the penalty.
    residuals : ndarray, shape (k,)
        Of the conditions for a minimum, in units of c; for a penalty that is not convex, for a stationary
        point.
    """

    penalty: Penalty
    penalised: BoolVector
    strengths: FloatVector
    coefficients: FloatMatrix
    objectives: FloatVector
    residuals: FloatVector

    @property
    def counts(self) -> IntVector:
        """Number of penalised coefficients that are not zero, shape (k,)."""
        used = self.coefficients[:, self.penalised] != 0.0
        return np.asarray(used.sum(axis=1), dtype=np.int64)


def sparse_path(
    matrix: FloatMatrix,
    right: FloatVector,
    penalty: Penalty,
    penalised: BoolVector | None = None,
    *,
    strengths: FloatVector | None = None,
) -> SparsePath:
    r"""Minimise :math:`\frac12 g'Ag - c'g + P_s(g)` for each strength s.

    With :math:`A = M'H'\Omega^{-1}HM` and :math:`c = M'H'\Omega^{-1}z` this is half the squared distance of
    the released linear model plus the penalty on its scaled coefficients. It reads released numbers only.

    Parameters
    ----------
    matrix : ndarray, shape (p, p)
        A, symmetric positive semidefinite.
    right : ndarray, shape (p,)
        c.
    penalty : Penalty
        On the penalised coefficients in their order. One that leaves its scale open (SCAD, MCP) gets the
        diagonal of A, after the unpenalised coefficients are minimised out.
    penalised : ndarray of bool, shape (p,), or None
        None is all.
    strengths : ndarray, shape (k,), or None
        Strengths >= 0 in sum units, in any order. None is 100 of them, equally far apart on the log scale,
        from the least at which no single coefficient leaves zero down to a thousandth of it; a penalty that
        never gives zero (ridge) starts at a thousand times the largest ``|c_j|`` and goes down to a
        thousandth of that largest one.

    Returns
    -------
    SparsePath

    Raises
    ------
    MethodError
        If shapes disagree, a number is not finite, or weights or groups do not fit the coefficients.

    Examples
    --------
    >>> from dpglm.glm.penalties.l1 import L1
    >>> path = sparse_path(np.eye(3), np.array([3.0, 1.0, 0.1]), L1(), strengths=np.array([2.0, 0.5]))
    >>> path.coefficients
    array([[1. , 0. , 0. ],
           [2.5, 0.5, 0. ]])
    >>> path.counts
    array([1, 2])
    """
    mask = np.ones(len(right), dtype=np.bool_) if penalised is None else np.asarray(penalised, dtype=np.bool_)
    reduced, pulled = profiled(matrix, right, mask)
    scaled = penalty.with_scale(np.diagonal(reduced))
    grid = _grid(reduced, pulled, scaled) if strengths is None else strengths
    found = minimise_quadratic_path(matrix, right, scaled, grid, penalised=mask)
    return SparsePath(scaled, mask, found.strengths, found.coefficients, found.objectives, found.residuals)


def _grid(matrix: FloatMatrix, right: FloatVector, penalty: Penalty) -> FloatVector:
    top, ratio = strength_max(matrix, right, penalty), RATIO
    if math.isinf(top):
        top, ratio = float(np.abs(right).max()) / RATIO, RATIO**2
    if top == 0.0:  # zero is the solution whatever the strength
        top = 1.0
    grid = np.geomspace(top, ratio * top, STRENGTHS)
    grid[0] = top  # not a rounding below it
    return grid
