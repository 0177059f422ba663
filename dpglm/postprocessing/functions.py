"""Linear functions of the coefficients, such as contrasts and means on a grid, with tests and intervals.

Each follows the rules of a coefficient: standard errors hold the noise of all releases, one about which too
little was released has a wide interval and none, and one near separation a longer interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts, IntervalDecision, interval_decisions
from dpglm.postprocessing import intervals
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import no_intervals
from dpglm.tables.table import factor
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

BATCH = 2048  # functions at once: a few matrices of p by this many doubles


@dataclass(frozen=True, eq=False)
class Functions:
    """Estimates of k functions: debiased where they have a standard error, the model's compromise else.

    Attributes
    ----------
    estimates, errors, p_values : ndarray, shape (k,)
        Standard errors and p-values of "the function is zero" are NaN where too little was released.
    ends : ndarray, shape (k, 2)
        Of the intervals; wide where there is no standard error.
    reliable : ndarray of bool, shape (k,)
        Whether there is a standard error, of an estimate within two prior scales.
    reasons : tuple of str
        Why there is no standard error, else empty.
    """

    estimates: FloatVector
    errors: FloatVector
    p_values: FloatVector
    ends: FloatMatrix
    reliable: BoolVector
    reasons: tuple[str, ...]


def functions(record: FitRecord, rows: FloatMatrix, known: FloatVector | float, level: float) -> Functions:
    """Functions ``rows @ coded + known``, shapes (k, p) and (k,), of a fit with an information matrix.

    A function that is not finite, or constant, has NaN for all its numbers but a constant's estimate.
    """
    known = np.broadcast_to(np.asarray(known, dtype=np.float64), len(rows))
    critical = intervals.quantile(level)
    found = [_functions(record, rows[:0], known[:0], critical)]
    for start in range(0, len(rows), BATCH):
        part = slice(start, start + BATCH)
        found.append(_functions(record, rows[part], known[part], critical))
    columns = {item.name: [getattr(part, item.name) for part in found] for item in fields(Functions)}
    reasons = tuple(reason for part in columns.pop("reasons") for reason in part)
    return Functions(**{name: np.concatenate(parts) for name, parts in columns.items()}, reasons=reasons)


def _functions(record: FitRecord, rows: FloatMatrix, known: FloatVector, critical: float) -> Functions:
    assert record.contrasts is not None
    size = len(rows)
    estimates, errors, p_values = (np.full(size, np.nan) for _ in range(3))
    limits, reliable, reasons = np.full((size, 2), np.nan), np.zeros(size, dtype=np.bool_), [""] * size
    with np.errstate(all="ignore"):
        constant = ~rows.any(axis=1)
        usable = np.flatnonzero(np.isfinite(rows).all(axis=1) & np.isfinite(known) & ~constant)
        estimates[constant] = known[constant]
        for place in np.flatnonzero(~np.isfinite(rows).all(axis=1) | ~np.isfinite(known)):
            reasons[place] = "a row that cannot be predicted"
        if not usable.size:
            return Functions(estimates, errors, p_values, limits, reliable, tuple(reasons))
        contrasts, added = Contrasts(record.contrasts.model, rows[usable]), known[usable]
        decisions = interval_decisions(contrasts)
        reported = np.array([decision.reported for decision in decisions])
        centre, deviations = contrasts.estimates, contrasts.deviations
        near = intervals.outer_ends(record, contrasts)
        own = intervals.ends(near, centre, critical * deviations)
        wide = intervals.wide_intervals(near, contrasts, critical)
        limits[usable] = np.where(reported[:, None], own, wide) + added[:, None]
        estimates[usable] = np.where(reported, centre, contrasts.shrunk) + added
        errors[usable] = np.where(reported, deviations, np.nan)
        reach = np.abs(centre + added)
        if near is not None:
            reach = np.where(added == 0.0, near.reach_of(centre, -added), reach)
        p_values[usable] = np.where(reported, 2.0 * ndtr(-reach / deviations), np.nan)
        reliable[usable] = reported
        if intervals.marks_surprises(record):
            reliable[usable] &= ~intervals.surprising(record, contrasts, centre, contrasts.prior)
    for place, decision in zip(usable, decisions, strict=True):
        reasons[place] = why(decision)
    return Functions(estimates, errors, p_values, limits, reliable, tuple(reasons))


def reported_estimates(contrasts: Contrasts) -> tuple[FloatVector, FloatVector]:
    """Debiased estimates and their standard errors, both NaN where too little was released."""
    with np.errstate(all="ignore"):
        reported = np.array([decision.reported for decision in interval_decisions(contrasts)], np.bool_)
        found = contrasts.estimates, contrasts.deviations
    return np.where(reported, found[0], np.nan), np.where(reported, found[1], np.nan)


def why(decision: IntervalDecision) -> str:
    """Why there is no standard error and what repairs it; empty where there is one.

    Examples
    --------
    >>> why(IntervalDecision(False, "noise hides its variation", 1.51))
    'noise hides its variation; n or epsilon x 1.6'
    """
    return f"{decision.reason}; n or epsilon x {factor(decision.factor)}" if decision.reason else ""


def debiased_coded(record: FitRecord) -> FloatVector:
    """Coded coefficients of which all functions on the scale of the response are computed, shape (p,).

    Those of the debiased estimates, and of the model's compromise where a coefficient has no standard error.
    """
    assert record.contrasts is not None
    with np.errstate(all="ignore"):
        estimates = np.where(record.reported, record.contrasts.estimates, record.contrasts.shrunk)
        scale = np.sqrt((record.user_from_coded**2).sum(axis=1))
        return np.asarray(np.linalg.solve(record.user_from_coded / scale[:, None], estimates / scale))


def require_information(record: FitRecord, what: str) -> None:
    """Refuse what needs a standard error of a fit that can have none."""
    if record.contrasts is None:
        raise MethodError(
            f"{what} of a result without standard errors: {no_intervals(record)}",
            expected="a fit with a released information matrix",
            remedy="Fit again with goal='explain' and penalty='none'; dpglm.plan tells what to expect.",
        )


def term_positions(record: FitRecord, name: str) -> tuple[int, ...] | None:
    """Places of a term's coefficients; None where no term has the name, or more than one could be meant.

    ``job`` stands for ``C(job)`` too, where no other term is called so.
    """
    named = dict(record.terms)
    if name in named:
        return named[name]
    same = [
        term for term in named if term.startswith(f"C({name}") and term[2 + len(name) : 3 + len(name)] in ",)"
    ]
    return named[same[0]] if len(same) == 1 else None


def signed_sum(weights: Sequence[float] | FloatVector, names: Sequence[str]) -> str:
    """A linear function as a reader would write it; its weights to three digits, or as fractions.

    Examples
    --------
    >>> signed_sum([1.0, -2.0, 0.0], ["age", "educ", "job"])
    'age - 2*educ'
    >>> signed_sum([0.25, -2 / 13, 1.23456], ["age", "educ", "job"])
    '0.25*age - 2/13*educ + 1.23*job'
    """
    parts: list[str] = []
    for weight, name in zip(weights, names, strict=True):
        if weight:
            size = "" if abs(weight) == 1.0 else f"{_short(abs(float(weight)))}*"
            sign = ("-" if weight < 0 else "") if not parts else (" - " if weight < 0 else " + ")
            parts.append(f"{sign}{size}{name}")
    return "".join(parts)


def _short(weight: float) -> str:
    """A whole number, a fraction if three digits are not all of it and it is one to rounding, or these."""
    if weight.is_integer() and weight < 1e9:
        return str(int(weight))
    text, near = f"{weight:.3g}", Fraction(weight).limit_denominator(100)
    exact = float(text) == weight or abs(float(near) - weight) > 1e-12 * weight
    return text if exact or near.numerator > 999 else str(near)
