"""Standard errors and intervals: absent until a curvature release pays for them.

Classical formulas need residuals or the Hessian of the private rows. Neither is released yet, and a standard
error that forgets the noise would be too small: so every entry is NaN, and tables print ``-``.
"""

from __future__ import annotations

import numpy as np

from dpglm.errors import MethodError
from dpglm.results.record import FitRecord
from dpglm.typing import FloatMatrix, FloatVector


def standard_errors(record: FitRecord) -> FloatVector:
    """Standard errors of the estimates, shape (p,): NaN."""
    return np.full(len(record.names), np.nan)


def p_values(record: FitRecord) -> FloatVector:
    """Two-sided p-values of "this coefficient is zero", shape (p,): NaN."""
    return np.full(len(record.names), np.nan)


def intervals(record: FitRecord, level: float) -> FloatMatrix:
    """Lower and upper ends, shape (p, 2): NaN.

    Raises
    ------
    MethodError
        ``level`` is not between 0 and 1.
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise MethodError(
            f"level={level!r}" if isinstance(level, int | float) else f"level of type {type(level).__name__}",
            expected="a number between 0 and 1",
            remedy="Use level=0.95.",
        )
    return np.full((len(record.names), 2), np.nan)


def covariance(record: FitRecord) -> FloatMatrix:
    """Covariance of the estimates, shape (p, p): NaN."""
    return np.full((len(record.names), len(record.names)), np.nan)
