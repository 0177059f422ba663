"""Standard errors, tests and intervals of a result, where its information matrix was released.

They belong to the *debiased* estimates of the released linear model, which no penalty shrinks: an interval is
valid whatever was selected. A coefficient whose interval would not be worth its name has none, and a reason
instead. Without one every entry is NaN, and tables print ``-``: a standard error that forgets the
noise would be too small.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from dpglm.errors import MethodError
from dpglm.inference.contrasts import false_coverage_level, two_sided_pvalues
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

SOURCES = ("sampling", "privacy of the estimate", "privacy of the information", "adjustment")


def reported(record: FitRecord) -> BoolVector:
    """Which coefficients have an interval, shape (p,)."""
    return np.array([verdict.reported for verdict in record.interval_decisions], dtype=np.bool_)


def penalised(record: FitRecord) -> bool:
    """Whether the coefficients are those of a penalty, and not the debiased ones."""
    return record.penalty != "none"


def selected(record: FitRecord) -> BoolVector:
    """Which coefficients were selected and are not exactly zero, shape (p,)."""
    return np.asarray(record.selected_mask & (record.estimates != 0.0))


def debiased(record: FitRecord) -> FloatVector:
    """Estimates that no penalty or prior shrinks, shape (p,); NaN where there is no interval."""
    return _where_reported(record, None if record.contrasts is None else record.contrasts.estimates)


def standard_errors(record: FitRecord) -> FloatVector:
    """Standard errors of the debiased estimates, shape (p,); NaN where there is no interval."""
    return _where_reported(record, None if record.contrasts is None else record.contrasts.deviations)


def shares(record: FitRecord) -> FloatMatrix:
    """Standard errors by source, shape (p, 4), in the order of `SOURCES`; their squares add up."""
    if record.contrasts is None:
        return np.full((len(record.names), 4), np.nan)
    return np.where(reported(record)[:, None], np.sqrt(record.contrasts.parts), np.nan)


def p_values(record: FitRecord) -> FloatVector:
    """Two-sided p-values of "this coefficient is zero", shape (p,); NaN where there is no interval."""
    return two_sided_pvalues(debiased(record), standard_errors(record))


def intervals(record: FitRecord, level: float, adjust: str | None = None) -> FloatMatrix:
    """Lower and upper ends, shape (p, 2); NaN where there is no interval.

    With ``adjust="fcr"`` only selected coefficients have one, wide enough that the expected share of
    intervals that miss, among those of the selected, is at most ``1 - level``: each has the level
    ``1 - (1 - level) R / m``, with R selected of m coefficients with an interval.

    Raises
    ------
    MethodError
        ``level`` is not between 0 and 1, or an unknown ``adjust``.

    References
    ----------
    .. [1] Benjamini and Yekutieli (2005), "False discovery rate-adjusted multiple confidence intervals for
       selected parameters", JASA 100(469).
    """
    if adjust not in (None, "fcr"):
        raise MethodError(
            f"adjust={adjust!r}" if isinstance(adjust, str) else f"adjust of type {type(adjust).__name__}",
            expected="None or 'fcr'",
            remedy="Use adjust='fcr' for the false coverage rate of the selected list.",
        )
    critical = quantile(level)
    centre = debiased(record)
    if adjust == "fcr":
        given = reported(record)
        listed = given & selected(record)
        if listed.any():
            critical = quantile(false_coverage_level(int(listed.sum()), int(given.sum()), 1.0 - level))
        centre = np.where(listed, centre, np.nan)
    ends = critical * standard_errors(record)
    return np.column_stack([centre - ends, centre + ends])


def covariance(record: FitRecord) -> FloatMatrix:
    """Covariance of the debiased estimates, shape (p, p); NaN where there is no interval."""
    size = len(record.names)
    if record.contrasts is None:
        return np.full((size, size), np.nan)
    kept = reported(record)
    return np.where(np.outer(kept, kept), record.contrasts.covariance, np.nan)


def quantile(level: float) -> float:
    """How many standard errors reach to each side of an interval of this coverage.

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
    return float(ndtri(0.5 + level / 2.0))


def _where_reported(record: FitRecord, values: FloatVector | None) -> FloatVector:
    if values is None:
        return np.full(len(record.names), np.nan)
    return np.where(reported(record), values, np.nan)
