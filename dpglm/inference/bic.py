"""Which strength of a path: the Bayesian information criterion on released numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpglm.optim.quadratic import QuadraticPath
from dpglm.optim.quadratic_solvers import solve
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


def choose_bic(
    path: QuadraticPath,
    matrix: FloatMatrix,
    right: FloatVector,
    *,
    dispersion: float = 1.0,
    size: float | None = None,
    deviance: Callable[[BoolVector], float] | None = None,
) -> int:
    r"""Index on the path of the least Bayesian information criterion.

    The released linear model is Gaussian with known covariance, so :math:`g'Ag - 2c'g`, over the dispersion,
    is minus twice its log likelihood, up to a constant. To it each degree of freedom adds :math:`\max(\log
    size, 2 \log p, 2)`: p is the number of penalised coefficients and :math:`2 \log p` the risk inflation
    criterion, which keeps p pure noises out. It has p observations, whatever the number of rows, so that
    BIC's usual :math:`\log n` needs a number of rows that is public or released. Each strength is judged by
    the likelihood of the unpenalised refit on its support: otherwise shrinkage, the lasso's above all, speaks
    for larger supports. A penalty with a ridge, which is meant to shrink, is judged as it is.

    ``size`` is a public or released number of rows, >= 1; None relies on p alone. ``deviance`` is minus twice
    the log likelihood of a support, see `deviance_at_own`; None takes that of the quadratic. Of equal
    criteria, to a relative 1e-9, the one with the fewest degrees of freedom is taken, then the largest
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
    >>> from dpglm.inference.coefficients import sparse_path
    >>> matrix, right = 4.0 * np.eye(3), np.array([40.0, 1.0, -1.0])
    >>> path = sparse_path(matrix, right, L1(), strengths=np.array([50.0, 2.0, 0.5]))
    >>> choose_bic(path, matrix, right)
    1
    """
    count = int(np.count_nonzero(path.penalised))
    cost = max(2.0, 2.0 * math.log(max(count, 1)), math.log(size or 1.0))
    freedom = degrees_of_freedom(path, matrix)
    fits = path.coefficients
    if path.penalty.with_strength(1.0).ridge_weight:
        deviance = None
    else:
        supports = (fits != 0.0) | ~path.penalised
        fits = np.array([refit(matrix, right, support) for support in supports])
    likelihood = np.sum((fits @ matrix) * fits, axis=1) - 2.0 * (fits @ right)
    likelihood = likelihood / dispersion
    if deviance is not None:
        known = {support.tobytes(): deviance(support) for support in np.unique(supports, axis=0)}
        likelihood = np.array([known[support.tobytes()] for support in supports])
    criteria = likelihood + cost * freedom
    least = float(criteria.min())
    equal = np.flatnonzero(criteria <= least + 1e-9 * abs(least))
    return int(min(equal, key=lambda at: (freedom[at], -path.strengths[at])))


def degrees_of_freedom(path: QuadraticPath, matrix: FloatMatrix) -> FloatVector:
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
