"""Multiple testing: p-values, Benjamini-Hochberg lists, and Benjamini-Yekutieli intervals of a list."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dpglm.errors import MethodError
from dpglm.typing import BoolVector, FloatVector


def two_sided_pvalues(estimates: FloatVector, errors: FloatVector) -> FloatVector:
    """P-values of Gaussian estimates against zero; nan where the standard error is nan. Shape (m,).

    Examples
    --------
    >>> two_sided_pvalues(np.array([1.96, 0.0]), np.ones(2)).round(3)
    array([0.05, 1.  ])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(2.0 * ndtr(-np.abs(estimates / errors)), dtype=np.float64)


def benjamini_hochberg(pvalues: FloatVector, q: float = 0.1) -> BoolVector:
    """Which hypotheses to reject so that the expected share of false rejections is at most q.

    A p-value of nan is never rejected, and not counted. ``q`` is the false discovery rate, above 0 and below
    1, or a MethodError is raised.

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
    from scipy.stats import false_discovery_control  # costs as much to import as the rest of the package

    _check_rate(q)
    given = np.flatnonzero(~np.isnan(pvalues))
    rejected = np.zeros(pvalues.shape, dtype=np.bool_)
    if given.size:
        rejected[given] = false_discovery_control(pvalues[given]) <= q
    return rejected


def false_coverage_level(selected: int, given: int, q: float = 0.05) -> float:
    """Level of the intervals of selected coefficients: ``1 - q * selected / given``.

    Of the intervals so shown, at most a share q is expected to miss. Without a selection it is the usual
    ``1 - q``.

    ``selected`` coefficients are in the list, chosen from the ``given`` ones with an interval. ``q`` is the
    false coverage rate, above 0 and below 1, or a MethodError is raised.

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
