"""Regularisation path: sparse fits on the released linear model, free of privacy cost, and BIC along them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.quadratic import minimise_quadratic_path, profiled, strength_max
from dpglm.optim.quadratic_solvers import solve
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# Strengths of a path, and the least as a share of the largest; most strengths that a saved path may hold.
STRENGTHS, RATIO = 100, 1e-3
MOST_STRENGTHS = 200


@dataclass(frozen=True, eq=False)
class SparsePath:
    """Penalised fits, one for each strength.

    Parameters
    ----------
    penalty : Penalty
        As minimised, its scales filled in; its own strength is not used.
    penalised : ndarray of bool, shape (p,)
        Which coefficients are penalised.
    strengths, coefficients, objectives, residuals : ndarray
        As in `QuadraticMinima`: strengths in sum units, scaled coefficients.
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
    matrix, right : ndarray, shape (p, p) and (p,)
        A, symmetric positive semidefinite, and c.
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

    Raises
    ------
    MethodError
        If shapes disagree, a number is not finite, or weights or groups do not fit the coefficients.

    Examples
    --------
    >>> from dpglm.glm.penalties.elastic_net import L1
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
    return SparsePath(scaled, mask, *minimise_quadratic_path(matrix, right, scaled, grid, penalised=mask))


def _grid(matrix: FloatMatrix, right: FloatVector, penalty: Penalty) -> FloatVector:
    top, ratio = strength_max(matrix, right, penalty), RATIO
    if math.isinf(top):
        top, ratio = float(np.abs(right).max()) / RATIO, RATIO**2
    if top == 0.0:  # zero is the solution whatever the strength
        top = 1.0
    grid = np.geomspace(top, ratio * top, STRENGTHS)
    grid[0] = top  # not a rounding below it
    return grid


def choose_bic(
    path: SparsePath, matrix: FloatMatrix, right: FloatVector, *, size: float | None = None
) -> int:
    r"""Index on the path of the least Bayesian information criterion.

    The released linear model is Gaussian with known covariance, so :math:`g'Ag - 2c'g` is minus twice its log
    likelihood, up to a constant. To it each degree of freedom adds :math:`\max(\log size, 2 \log p, 2)`: p is
    the number of penalised coefficients and :math:`2 \log p` the risk inflation criterion, which keeps p pure
    noises out. It has p observations, whatever the number of rows, so that BIC's usual :math:`\log n` needs
    a number of rows that is public or released. Each strength is judged by the likelihood of the unpenalised
    refit on its support: otherwise shrinkage, the lasso's above all, speaks for larger supports. A penalty
    with a ridge, which is meant to shrink, is judged as it is.

    Parameters
    ----------
    path, matrix, right
        A path, and its A and c.
    size : float or None
        A public or released number of rows, >= 1; None relies on p alone.

    Returns
    -------
    int
        Of equal criteria, to a relative 1e-9, the one with the fewest degrees of freedom, then the largest
        strength.

    Notes
    -----
    Degrees of freedom are the number of non-zero penalised coefficients; under a ridge of weight r on a
    support S, the trace of :math:`A_{SS} (A_{SS} + r I)^{-1}`. Unpenalised coefficients are in every fit and
    do not count.

    References
    ----------
    .. [1] Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6(2).
    .. [2] Foster and George (1994), "The risk inflation criterion for multiple regression", Annals of
       Statistics 22(4).
    .. [3] Zou, Hastie and Tibshirani (2007), "On the degrees of freedom of the lasso", Annals of
       Statistics 35(5).

    Examples
    --------
    >>> from dpglm.glm.penalties.elastic_net import L1
    >>> matrix, right = 4.0 * np.eye(3), np.array([40.0, 1.0, -1.0])
    >>> path = sparse_path(matrix, right, L1(), strengths=np.array([50.0, 2.0, 0.5]))
    >>> choose_bic(path, matrix, right)
    1
    """
    count = int(np.count_nonzero(path.penalised))
    cost = max(2.0, 2.0 * math.log(max(count, 1)), math.log(size or 1.0))
    freedom = degrees_of_freedom(path, matrix)
    fits = path.coefficients
    if not path.penalty.with_strength(1.0).ridge_weight:
        fits = np.array([refit(matrix, right, (fit != 0.0) | ~path.penalised) for fit in fits])
    likelihood = np.sum((fits @ matrix) * fits, axis=1) - 2.0 * (fits @ right)
    criteria = likelihood + cost * freedom
    least = float(criteria.min())
    equal = np.flatnonzero(criteria <= least + 1e-9 * abs(least))
    return int(min(equal, key=lambda at: (freedom[at], -path.strengths[at])))


def degrees_of_freedom(path: SparsePath, matrix: FloatMatrix) -> FloatVector:
    """Degrees of freedom of the penalised coefficients at each strength, shape (k,); see `choose_bic`."""
    freedom = path.counts.astype(np.float64)
    for at, strength in enumerate(path.strengths):
        ridge = path.penalty.with_strength(float(strength)).ridge_weight
        if ridge:
            used = np.flatnonzero((path.coefficients[at] != 0.0) & path.penalised)
            roots = np.maximum(np.linalg.eigvalsh(matrix[np.ix_(used, used)]), 0.0)
            freedom[at] = float((roots / (roots + ridge)).sum())
    return freedom


def refit(matrix: FloatMatrix, right: FloatVector, support: BoolVector) -> FloatVector:
    """The unpenalised fit on a support: minimiser of ``g'Ag / 2 - c'g`` that is zero elsewhere, shape (p,).

    Examples
    --------
    >>> refit(2.0 * np.eye(2), np.array([4.0, 6.0]), np.array([True, False]))
    array([2., 0.])
    """
    used = np.flatnonzero(support)
    fit = np.zeros(right.size)
    fit[used] = solve(matrix[np.ix_(used, used)], right[used])
    return fit


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Exact coefficients at each strength of a penalty, and held-out losses: NOT PRIVATE.

    Parameters
    ----------
    strengths : ndarray, shape (k,)
        Falling, per row.
    coefficients : ndarray, shape (k, p)
        Zeros are exact.
    chosen : int
        Index of the strength of the fit.
    folds : int
        Of the cross-validation; 0 if none was run.
    losses, errors : ndarray, shape (k,), or (0,) without cross-validation
        Mean over the folds of the average loss of held-out rows, in the units of the coded response, and its
        standard error.
    """

    strengths: FloatVector
    coefficients: FloatMatrix
    chosen: int
    folds: int
    losses: FloatVector
    errors: FloatVector

    def __post_init__(self) -> None:
        for name in ("strengths", "coefficients", "losses", "errors"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        count = self.strengths.size
        assert self.coefficients.ndim == 2, "one row per strength"
        assert len(self.coefficients) == count, "one row per strength"
        assert 0 <= self.chosen < count <= MOST_STRENGTHS, "an index on a path of bounded length"
        assert self.losses.size == self.errors.size == (count if self.folds else 0), "one loss per strength"

    def __eq__(self, other: object) -> bool:
        """Equal to the last bit."""
        if not isinstance(other, ExactPath):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.chosen, self.folds, self.strengths.tobytes()))
