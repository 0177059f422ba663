"""Sections on results: coefficients with their intervals, and how useful they are."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.summary import METHOD, interval_facts
from dpglm.postprocessing.uncertainty import (
    DETECTABLE,
    FACTORS,
    RULE,
    against_sampling,
    approximation,
    debiased,
    detectable,
    halving,
    intervals,
    mergeable,
    no_intervals,
    penalised,
    prior_scales,
    reported,
    selected,
    standard_errors,
    widths,
)
from dpglm.report.coefficient_figures import coefficient_figure, variance_figure, width_figure
from dpglm.report.figure import Rows
from dpglm.report.section import Section, shown
from dpglm.tables.number import ABSENT, coefficient, factor, plain_number
from dpglm.typing import FloatVector

MOST_ROWS: Final = 250
MOST_TERMS: Final = 100
INTERVAL: Final = 2.0 * 1.959964


def model_and_results(record: FitRecord) -> Section:
    """Coefficients, intervals and their method, figures, what "not selected" means."""
    private, chosen = record.guarantee.private, selected(record)
    decisions = zip(mergeable(record), record.interval_decisions, strict=True)
    content = {
        "interval_facts": [
            (label, words if private else f"95 %, {METHOD}") for label, words in interval_facts(record)
        ],
        "coefficients": _coefficients(record),
        "left_out": max(0, len(record.names) - MOST_ROWS),
        "odds": _has_odds(record),
        "approximation": approximation(record),
        "why_none": no_intervals(record) if private else "",
        "penalised": penalised(record),
        "figure": coefficient_figure(record),
        "variance": variance_figure(record),
        "rule": RULE,
        "gaps": _gaps(record),
        "mergeable": any(merge and not decision.reported for merge, decision in decisions),
        "priors": _priors(record),
        "chosen": int(chosen.sum()),
        "dropped": [
            shown(term) for term, places in record.terms if places and not chosen[list(places)].any()
        ][:MOST_TERMS],
    }
    return Section("model", "Model and results", content)


def _coefficients(record: FitRecord) -> Rows:
    """Estimates, errors and intervals; errors are absent where no information matrix was released."""
    odds, given, chosen = _has_odds(record), record.contrasts is not None, selected(record)
    apart = given and penalised(record)
    errors, ends, centre = standard_errors(record), intervals(record, 0.95), debiased(record)
    headings = ["coefficient", "estimate", *(["debiased"] if apart else []), "std err"]
    headings += [*(["lower", "upper"] if given else []), *(["odds ratio"] if odds else []), "selected"]
    rows = []
    for j, name in enumerate(record.names[:MOST_ROWS]):
        value = float(record.estimates[j])
        cells = [shown(name, 120), coefficient(value), *([coefficient(centre[j])] if apart else [])]
        cells += [coefficient(errors[j]), *(map(coefficient, ends[j]) if given else ())]
        if odds and name == "Intercept":
            cells.append(ABSENT)
        elif odds:
            cells.append(_ratios(float(centre[j]), *ends[j].tolist()) if given else _ratio(value))
        rows.append((*cells, "yes" if chosen[j] else "no"))
    caption = "Coefficients" if record.predictor is None else "Linear approximation"
    caption += ", original scale" + ("; lower and upper ends of 95 % intervals" if given else "")
    return Rows(caption, tuple(headings), tuple(rows), numeric=tuple(range(1, len(headings) - 1)))


def _has_odds(record: FitRecord) -> bool:
    """Whether a coefficient has an odds ratio; a stack's odds change by another factor at every row."""
    return record.link == "logit" and record.predictor is None


def _ratio(value: float) -> str:
    """The odds ratio of a coefficient; exactly 1 where it is exactly 0."""
    return "1" if value == 0.0 else coefficient(math.exp(min(value, 709.0)))


def _ratios(centre: float, low: float, high: float) -> str:
    """An odds ratio and its interval."""
    if not math.isfinite(centre):
        return ABSENT
    return f"{_ratio(centre)} ({_ratio(low)} to {_ratio(high)})"


def _gaps(record: FitRecord) -> Rows | None:
    """Coefficients without an interval, the test that fails, and what repairs it."""
    rows = [
        (shown(name, 120), decision.reason, factor(decision.factor))
        for name, decision in zip(record.names, record.interval_decisions, strict=True)
        if not decision.reported
    ]
    if record.contrasts is None or not rows:
        return None
    first = f", the first {MOST_ROWS}" if len(rows) > MOST_ROWS else ""
    headings = ("coefficient", "why", "rows or ε, times" if record.guarantee.private else "rows, times")
    return Rows(f"Coefficients without an interval{first}", headings, tuple(rows[:MOST_ROWS]), numeric=(2,))


def _priors(record: FitRecord) -> Rows | None:
    rows = tuple((shown(term, 120), what, scale) for term, what, scale in prior_scales(record)[:MOST_TERMS])
    caption = "Declared prior scales, as standard deviations"
    return Rows(caption, ("term", "of", "scale"), rows, numeric=(2,)) if rows else None


def usefulness(record: FitRecord) -> Section | None:
    """Widths, smallest detectable effects, what would halve the widths, bias and small groups."""
    private = record.guarantee.private
    if record.contrasts is None and not private:
        return None
    given = np.flatnonzero(reported(record))
    content: dict[str, Any] = {
        "penalised": penalised(record),
        "intervals": bool(len(given)),
        "pulled_to": "those of the source" if "source" in record.specification.method.options else "zero",
        "why_none": no_intervals(record) or "no coefficient passes the rule of the section before",
    }
    if len(given):
        by_rows = widths(record, "n")
        by_epsilon = widths(record, "epsilon") if private else None
        ratio = against_sampling(record)[given]
        content |= {
            "table": _precision(
                record, halving(by_rows), None if by_epsilon is None else halving(by_epsilon)
            ),
            "left_out": max(0, len(given) - MOST_ROWS),
            "median": plain_number(float(f"{np.median(ratio):.3g}")),
            "widest": plain_number(float(f"{ratio.max():.3g}")),
            "detectable": f"{DETECTABLE:.2g}",
            "most": f"{FACTORS[-1]:g}",
            "by_rows": width_figure(record, "n", by_rows),
            "by_epsilon": None if by_epsilon is None else width_figure(record, "epsilon", by_epsilon),
        }
    return Section("usefulness", "Usefulness", content)


def _precision(record: FitRecord, by_rows: FloatVector, by_epsilon: FloatVector | None) -> Rows:
    errors, ratio, least = standard_errors(record), against_sampling(record), detectable(record)
    headings = ("coefficient", "interval width", "over sampling alone", "smallest detectable effect")
    headings += ("rows, times", *(("ε, times",) if by_epsilon is not None else ()))
    rows = tuple(
        (
            shown(record.names[j], 120),
            coefficient(INTERVAL * errors[j]),
            f"{ratio[j]:.3g}" if math.isfinite(ratio[j]) else ABSENT,
            coefficient(least[j]),
            factor(by_rows[j]),
            *((factor(by_epsilon[j]),) if by_epsilon is not None else ()),
        )
        for j in np.flatnonzero(reported(record))[:MOST_ROWS]
    )
    caption = "Precision, and what would halve the width"
    return Rows(caption, headings, rows, numeric=tuple(range(1, len(headings))))
