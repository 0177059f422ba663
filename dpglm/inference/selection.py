"""Choosing along a path, and among coefficients: BIC, false discoveries, intervals after selection."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from dpglm.errors import MethodError
from dpglm.inference.path import SparsePath
from dpglm.optim.active_set import solve
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


def choose_bic(
    path: SparsePath,
    matrix: FloatMatrix,
    right: FloatVector,
    *,
    size: float | None = None,
    refitted: bool = True,
) -> int:
    r"""Place on the path with the least Bayesian information criterion.

    The released linear model is Gaussian with known covariance, so :math:`g'Ag - 2c'g` is minus twice its log
    likelihood, up to a constant. To it each degree of freedom adds :math:`\max(\log size, 2 \log p, 2)`: p is
    the number of penalised coefficients and :math:`2 \log p` the risk inflation criterion, which keeps p pure
    noises out. It has p observations, whatever the number of rows, so that BIC's usual :math:`\log n` needs
    a number of rows that is public or released.

    Parameters
    ----------
    path : SparsePath
        A path.
    matrix : ndarray, shape (p, p)
        A of the path.
    right : ndarray, shape (p,)
        c of the path.
    size : float or None
        A public or released number of rows, >= 1; None relies on p alone.
    refitted : bool
        Judge each strength by the likelihood of the unpenalised refit on its support: otherwise shrinkage,
        the lasso's above all, speaks for larger supports. The fit chosen is still the shrunken one. Without
        effect for a penalty with a ridge, which is meant to shrink.

    Returns
    -------
    int
        Of equal criteria, to a relative 1e-9, the one with the fewest degrees of freedom, then the largest
        strength.

    Raises
    ------
    MethodError
        If ``size`` is not a finite number >= 1.

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
    >>> from dpglm.glm.penalties.l1 import L1
    >>> from dpglm.inference.path import sparse_path
    >>> matrix, right = 4.0 * np.eye(3), np.array([40.0, 1.0, -1.0])
    >>> path = sparse_path(matrix, right, L1(), strengths=np.array([50.0, 2.0, 0.5]))
    >>> choose_bic(path, matrix, right)
    1
    """
    if size is not None and not (math.isfinite(size) and size >= 1.0):
        raise MethodError(
            f"size={size!r} for BIC",
            expected="a finite number >= 1",
            remedy="Leave it out to rely on p alone.",
        )
    count = int(np.count_nonzero(path.penalised))
    cost = max(2.0, 2.0 * math.log(max(count, 1)), math.log(size or 1.0))
    freedom = degrees_of_freedom(path, matrix)
    fits = path.coefficients
    if refitted and not path.penalty.with_strength(1.0).ridge_weight:
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


def two_sided_pvalues(estimates: FloatVector, errors: FloatVector) -> FloatVector:
    """P-values of Gaussian estimates against zero; nan where the standard error is nan. Shape (m,).

    Examples
    --------
    >>> two_sided_pvalues(np.array([1.96, 0.0]), np.ones(2)).round(3)
    array([0.05, 1.  ])
    """
    return np.asarray(2.0 * ndtr(-np.abs(estimates / errors)), dtype=np.float64)


def benjamini_hochberg(pvalues: FloatVector, q: float = 0.1) -> BoolVector:
    """Which hypotheses to reject so that the expected share of false rejections is at most q.

    Parameters
    ----------
    pvalues : ndarray, shape (m,)
        nan where none is given: never rejected, and not counted.
    q : float
        False discovery rate, above 0 and below 1.

    Returns
    -------
    ndarray of bool, shape (m,)

    Raises
    ------
    MethodError
        If ``q`` is not strictly between 0 and 1.

    Notes
    -----
    Proved for independent p-values and those of positively dependent one-sided tests; two-sided Gaussian
    p-values of any covariance have not been seen to break it.

    References
    ----------
    .. [1] Benjamini and Hochberg (1995), "Controlling the false discovery rate", JRSS B 57(1).

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.001, 0.04, 0.5, np.nan]), q=0.1)
    array([ True,  True, False, False])
    """
    _check_rate(q)
    given = np.flatnonzero(~np.isnan(pvalues))
    ordered = np.sort(pvalues[given])
    passing = np.flatnonzero(ordered <= q * np.arange(1, given.size + 1) / max(given.size, 1))
    rejected = np.zeros(pvalues.shape, dtype=np.bool_)
    if passing.size:
        rejected[given] = pvalues[given] <= ordered[passing[-1]]
    return rejected


def false_coverage_level(selected: int, given: int, q: float = 0.05) -> float:
    """Level of the intervals of selected coefficients: ``1 - q * selected / given``.

    Of the intervals so shown, at most a share q is expected to miss. Without a selection it is the usual
    ``1 - q``.

    Parameters
    ----------
    selected, given : int
        How many coefficients are in the list, and how many it was chosen from (those with an interval).
    q : float
        False coverage rate, above 0 and below 1.

    Raises
    ------
    MethodError
        If ``q`` is not strictly between 0 and 1, or not ``0 <= selected <= given``.

    References
    ----------
    .. [1] Benjamini and Yekutieli (2005), "False discovery rate-adjusted multiple confidence intervals for
       selected parameters", JASA 100(469), section 3; for a list made by the Benjamini-Hochberg rule or
       another simple one.

    Examples
    --------
    >>> false_coverage_level(5, 50, q=0.05)
    0.995
    """
    _check_rate(q)
    if not 0 <= selected <= given:
        raise MethodError(
            f"{selected} selected of {given}",
            expected="a list chosen from the coefficients with an interval",
            remedy="Count the coefficients that have an interval.",
        )
    return 1.0 - q * selected / max(given, 1)


def false_coverage_intervals(
    estimates: FloatVector, errors: FloatVector, selected: BoolVector, q: float = 0.05
) -> FloatMatrix:
    """Intervals of the selected coefficients at `false_coverage_level`.

    Parameters
    ----------
    estimates, errors : ndarray, shape (m,)
        Estimates and standard errors; an error is nan where there is no interval to choose from.
    selected : ndarray of bool, shape (m,)
        The list.
    q : float
        False coverage rate.

    Returns
    -------
    ndarray, shape (m, 2)
        nan for what is not in the list.

    Raises
    ------
    MethodError
        If ``q`` is not strictly between 0 and 1.

    Examples
    --------
    >>> chosen = np.array([True, False])
    >>> false_coverage_intervals(np.array([5.0, 0.1]), np.ones(2), chosen).round(2)
    array([[2.76, 7.24],
           [ nan,  nan]])
    """
    given = ~np.isnan(errors)
    shown = np.asarray(selected, dtype=np.bool_) & given
    level = false_coverage_level(int(shown.sum()), int(given.sum()), q)
    half = np.where(shown, -ndtri(0.5 * (1.0 - level)) * errors, np.nan)
    return np.column_stack([estimates - half, estimates + half])


def _check_rate(q: float) -> None:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0.0 < q < 1.0:
        raise MethodError(
            f"q={q!r} as an error rate", expected="a number above 0 and below 1", remedy="Use q=0.1."
        )
