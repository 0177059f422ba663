"""Uncertainty of a result: standard errors, tests, intervals, why there are none, and what would narrow them.

All of it is computed from released numbers alone, and belongs to the *debiased* estimates of the released
linear model, which no penalty shrinks: an interval is valid whatever was selected. A coefficient whose
interval would not be worth its name has a reason instead, and NaN, which tables print as ``-``: a standard
error that forgets the noise would be too small.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import (
    LEAST_SIGNAL,
    MOST_ADJUSTMENT,
    MOST_SHARE_OF_SCALE,
    Contrasts,
    IntervalDecision,
    false_coverage_level,
    two_sided_pvalues,
)
from dpglm.inference.linear_model import LinearModel
from dpglm.postprocessing.record import FitRecord
from dpglm.tables.table import factor, plain_number
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


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
    """Standard errors by source, shape (p, 4), whose squares add up.

    From sampling, from the noise of the estimate, from that of the information, and from the adjustment.
    """
    if record.contrasts is None:
        return np.full((len(record.names), 4), np.nan)
    return np.where(reported(record)[:, None], np.sqrt(record.contrasts.parts), np.nan)


def p_values(record: FitRecord) -> FloatVector:
    """Two-sided p-values of "this coefficient is zero", shape (p,); NaN where there is no interval."""
    return two_sided_pvalues(debiased(record), standard_errors(record))


def intervals(record: FitRecord, level: float, adjust: str | None = None) -> FloatMatrix:
    """Lower and upper ends, shape (p, 2), see :meth:`FitResult.conf_int`; NaN where there is no interval."""
    if adjust not in (None, "fcr"):
        raise MethodError(
            f"adjust={adjust!r}" if isinstance(adjust, str) else f"adjust of type {type(adjust).__name__}",
            expected="None or 'fcr'",
            remedy="Use adjust='fcr' for the false coverage rate of the selected list.",
        )
    critical = quantile(level)
    centre = debiased(record)
    if adjust == "fcr":  # each has the level 1 - (1 - level) R / m, with R selected of m with an interval
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
    with_interval = reported(record)
    return np.where(np.outer(with_interval, with_interval), record.contrasts.covariance, np.nan)


def quantile(level: float) -> float:
    """How many standard errors reach to each side of an interval of this coverage."""
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


MOST_NAMES = 8
PENALISED = (
    "Standard errors, tests and intervals belong to the debiased estimates, which no penalty shrinks; "
    'conf_int(adjust="fcr") widens them for a list of selected coefficients.'
)
DEBIASED = (
    "Coefficients with an interval are not shrunk; those without one are drawn towards 0 by the declared "
    "prior scale."
)
RULE = (
    f"the released numbers say {LEAST_SIGNAL:g} times as much about the coefficient as noise alone, or more",
    f"its standard error is no more than {MOST_SHARE_OF_SCALE:g} of its declared prior scale",
    "the other coefficients, of which only the declared prior is known, make no more than "
    f"{100 * MOST_ADJUSTMENT:.0f} % of its variance",
)


def no_intervals(record: FitRecord) -> str:
    """Why a result has no standard errors, as a sentence can go on; empty where it can have them."""
    asked = record.specification
    if record.contrasts is not None:
        return ""
    if record.part is not None and (reason := record.part.no_intervals()):
        return reason
    if record.released is not None:
        return "the released numbers are too large or too small to compute with"
    if record.link == "margin":
        return (
            f'the loss of family "{asked.family.name}" is not a likelihood: it says nothing '
            'of how estimates spread; a private fit of family "binomial" can have them'
        )
    if not math.isfinite(record.guarantee.epsilon):
        return "they are not computed for fits without privacy"
    if asked.goal != "explain":
        return f'with goal "{asked.goal}" the budget goes to the coefficients; goal "explain" pays for them'
    if asked.method.name not in ("objective", "moments"):
        return f'method "{asked.method.name}" releases no information matrix; method "objective" does'
    if record.guarantee.definition in ("gdp", "zcdp"):
        return (
            "a mu or rho that holds at every epsilon needs a ridge that pulls the estimate too far; "
            f"privacy=({record.guarantee.epsilon:.3g}, {record.guarantee.delta:g}) pays for them"
        )
    if record.guarantee.definition == "pure":
        return (
            'pure epsilon pays for an information matrix only with few coefficients and penalty "none"; '
            f"privacy=({record.guarantee.epsilon:g}, 1e-6) does with more"
        )
    if record.penalty not in ("none", "l2"):
        return (
            'the whole budget went into the penalised fit; penalty "none" pays for an information matrix, '
            "and refit() then selects at no cost"
        )
    return "honest ones need a released information matrix, which this fit does not have"


def approximation(record: FitRecord) -> str:
    """What the coefficients beside a part that predicts are; empty for other fits."""
    if record.predictor is None:
        return ""
    return (
        f"Coefficients are a linear approximation of the log odds of {record.predictor.title}; "
        "predict() and submodels() use the stack itself."
    )


def gaps(record: FitRecord) -> tuple[str, ...]:
    """Sentences on the coefficients without an interval, a reason each, and what repairs it."""
    if record.contrasts is None:
        return ()
    groups: dict[str, list[tuple[str, IntervalDecision]]] = {}
    for name, decision in zip(record.names, record.interval_decisions, strict=True):
        if not decision.reported:
            groups.setdefault(decision.reason, []).append((name, decision))
    if not groups:
        return ()
    lines = [f"No interval (-), {reason}: {_listed(group)}." for reason, group in groups.items()]
    repair = "In brackets: how many times the rows, or the epsilon, an interval would take."
    if (mergeable(record) & ~reported(record)).any():
        repair += " Or merge the level with another by declaration."
    return (*lines, repair)


def reason(decision: IntervalDecision) -> str:
    """Why a coefficient has no interval and what repairs it; empty for one that has.

    Examples
    --------
    >>> reason(IntervalDecision(False, "noise hides its variation", 1.51))
    'noise hides its variation; n or epsilon x 1.6'
    """
    if not decision.reason:
        return ""
    return f"{decision.reason}; n or epsilon {_times(decision.factor)}"


def mergeable(record: FitRecord) -> BoolVector:
    """Which coefficients are of levels of a factor with three levels or more, shape (p,)."""
    factors = np.zeros(len(record.names), dtype=np.bool_)
    for block in () if record.released is None else record.released.term_columns:
        factors[block.columns] = block.kind == "levels" and len(block.table) > 2
    used = record.user_from_coded != 0.0
    return np.asarray(used.any(axis=1) & ~used[:, ~factors].any(axis=1))


def _listed(group: list[tuple[str, IntervalDecision]]) -> str:
    """Names with their factors, the last ones counted only."""
    most = MOST_NAMES if len(group) > MOST_NAMES + 1 else len(group)
    words = ", ".join(f"{name} ({_times(decision.factor)})" for name, decision in group[:most])
    rest = [decision.factor for _, decision in group[most:]]
    if not rest:
        return words
    ends = dict.fromkeys((_times(min(rest)), _times(max(rest))))
    return f"{words} and {len(rest)} more ({' to '.join(ends)})"


def _times(growth: float) -> str:
    return f"x {factor(growth)}"


# Standard errors that an effect must measure to be found by a two-sided test at 5 % with power 80 %:
# 1.960 + 0.842.
DETECTABLE: Final = 2.802
FACTORS: Final = tuple(2.0**k for k in range(-2, 5))  # at which widths are computed
Means: TypeAlias = Literal["epsilon", "n"]


def rescaled(model: LinearModel, factor: float, means: Means) -> LinearModel:
    """What a fit with ``factor`` times the epsilon or the rows would have released; approximate.

    The noise scales of both releases are proportional to 1 / epsilon. With ``factor`` times the rows the
    information grows and the noise stays; in units of the information the noise shrinks like 1 / n, and so
    does the sampling variance. The distance of the released estimate from the truth, which multiplies the
    noise of the information, is taken as it is now. At factor 1 nothing changes.
    """
    changed = replace(model.released, score_scale=model.released.score_scale / factor)
    sampling = model.sampling / (factor if means == "n" else 1.0)
    return model.like(changed, sampling=sampling, noise=model.noise / factor**2)


def widths(record: FitRecord, means: Means) -> FloatMatrix:
    """Standard errors at each of `FACTORS`, shape (len(FACTORS), p); NaN where there is no interval now."""
    assert record.contrasts is not None
    with np.errstate(all="ignore"):
        models = [rescaled(record.contrasts.model, multiple, means) for multiple in FACTORS]
        errors = [Contrasts(model, record.user_from_coded).deviations for model in models]
    return np.where(reported(record), np.array(errors), np.nan)


def halving(errors: FloatMatrix) -> FloatVector:
    """The factor at which each standard error of `widths` is half of that at 1, shape (p,); inf beyond all.

    Examples
    --------
    >>> halving(np.array(FACTORS)[:, None] ** -0.5).round(6)
    array([4.])
    """
    logs = np.log(FACTORS)
    now = int(np.argmin(np.abs(logs)))
    answer = np.full(errors.shape[1], np.nan)
    for j in np.flatnonzero(np.isfinite(errors).all(axis=0)):
        share = np.log(np.minimum.accumulate(errors[now:, j]) / errors[now, j])
        if share[-1] > np.log(0.5):
            answer[j] = np.inf
        else:
            # Both logarithms are close to straight lines; np.interp wants a rising abscissa.
            answer[j] = np.exp(np.interp(-np.log(0.5), -share, logs[now:]))
    return answer


def detectable(record: FitRecord) -> FloatVector:
    """The smallest effect that a two-sided test at 5 % finds with power 80 %, shape (p,)."""
    return DETECTABLE * standard_errors(record)


def against_sampling(record: FitRecord) -> FloatVector:
    """Standard error over its sampling part alone, >= 1, shape (p,): what privacy and adjustment cost."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(standard_errors(record) / shares(record)[:, 0])


def prior_scales(record: FitRecord) -> tuple[tuple[str, str, str], ...]:
    """Term, what its scale is the standard deviation of, and the scale; nothing without them."""
    if record.released is None:
        return ()
    return tuple((block.label, *_scale(block)) for block in record.released.term_columns)


def _scale(block: TermColumns) -> tuple[str, str]:
    if block.kind == "other":
        ends = dict.fromkeys(map(plain_number, (block.prior.min(), block.prior.max())))
        return "coded columns", " to ".join(ends)
    if block.kind == "levels":
        apart = (block.table[0] - block.table[1]) * block.prior
        return "one level against another", plain_number(np.sqrt(apart @ apart))
    span = "one end of the declared range against the other"
    middle = "the middle of every declared range"
    return span if block.kind == "slope" else middle, plain_number(abs(block.table[0, 0] * block.prior[0]))
