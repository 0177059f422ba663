"""What is selected: strengths of a path by the Bayesian information criterion, lists by multiple testing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpglm.errors import MethodError
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


def benjamini_hochberg(pvalues: FloatVector, q: float = 0.1) -> BoolVector:
    """Which hypotheses to reject so that the expected share of false rejections is at most q.

    A p-value of nan is never rejected, and not counted. A MethodError is raised unless q is above 0 and below
    1. Proved for independent p-values and those of positively dependent one-sided tests; two-sided Gaussian
    p-values of any covariance have not been seen to break it.

    References
    ----------
    .. [1] Benjamini and Hochberg (1995), "Controlling the false discovery rate", JRSS B 57(1).

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.001, 0.04, 0.5, np.nan]), q=0.1)
    array([ True,  True, False, False])
    """
    from scipy.stats import false_discovery_control  # costs as much to import as the rest of the package

    _check_rate(q)
    given = np.flatnonzero(~np.isnan(pvalues))
    rejected = np.zeros(pvalues.shape, dtype=np.bool_)
    if given.size:
        rejected[given] = false_discovery_control(pvalues[given]) <= q
    return rejected


def false_coverage_level(selected: int, given: int, q: float = 0.05) -> float:
    """Level of the intervals of selected coefficients: ``1 - q * selected / given``.

    Of the intervals so shown, at most a share q is expected to miss. ``selected`` coefficients are in the
    list, chosen from the ``given`` ones with an interval. A MethodError is raised unless q is above 0 and
    below 1.

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
    assert 0 <= selected <= given, "a list chosen from the coefficients with an interval"
    return 1.0 - q * selected / max(given, 1)


def _check_rate(q: float) -> None:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0.0 < q < 1.0:
        raise MethodError(
            f"q={q!r} as an error rate", expected="a number above 0 and below 1", remedy="Use q=0.1."
        )
