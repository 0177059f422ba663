"""Sections on results: coefficients with their intervals, and how useful they are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from dpglm.postprocessing import summary, uncertainty
from dpglm.postprocessing.declared import weight_facts
from dpglm.postprocessing.intervals import caveats, intervals, selected, surprises
from dpglm.postprocessing.joint_sites import JointSites
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.site_pool import PooledSites
from dpglm.report.coefficient_figures import coefficient_figure, variance_figure, width_figure
from dpglm.report.figure import Rows
from dpglm.report.section import ReportedPart, Section, Subject, shown
from dpglm.report.site_figures import site_section
from dpglm.tables.table import ABSENT, coefficient, factor, interval_end, plain_number
from dpglm.typing import FloatMatrix, is_intercept

MOST_ROWS: Final = 250
MOST_TERMS: Final = 100


def fit_subject(record: FitRecord) -> Subject:
    """A fit as a page tells it."""
    asked = record.specification
    choices = (("family", asked.family), ("method", asked.method), ("penalty", asked.penalty))
    options = [
        (f"Options of the {what}", ", ".join(f"{key} = {value}" for key, value in choice.options.items()))
        for what, choice in choices
        if choice.options
    ]
    of_part = record.part.section(record) if isinstance(record.part, ReportedPart) else None
    sections = (model_and_results(record), of_part, site_section(record), usefulness(record))
    return Subject(
        noun="fit",
        standfirst=f"A {shown(asked.family.name)} model with {shown(record.link)} link",
        asked=asked.formula,
        curators="one curator per site" if _apart(record) else "one curator",
        schema=asked.schema,
        public="formula, family, penalty and method",
        decided=("bounds", "exploration", "formula", "tuning", "search", "repeats", "unit"),
        results=tuple(section for section in sections if section is not None),
        facts=(
            ("Residual of the solver", record.residual),
            ("Penalty strength, sum units", record.strength_sum),
            ("Norm bound of a coded row, divided out", record.row_norm),
            ("Rows clipped", record.rows_clipped),
            *scale_facts(record),
            ("Response", record.response.name),
            ("Levels of the response", record.response.levels),
            ("Bounds of the response, beyond which it is clipped", record.response.bounds),
            *((f"{label} of rows", text) for label, text in weight_facts(asked)),
            *options,
        ),
    )


def _apart(record: FitRecord) -> bool:
    """Whether each of several sites had a curator of its own."""
    return isinstance(record.part, PooledSites) or (isinstance(record.part, JointSites) and record.part.apart)


def scale_facts(record: FitRecord) -> tuple[tuple[str, tuple[float, float] | float | None], ...]:
    """Means and standard deviations in which rows were read, and what rows far out lose."""
    if record.scales is None:
        return ()
    moments, cut = list(record.scales.moments.items())[:MOST_ROWS], record.scales.residual_cut
    times = record.scales.at_even_odds
    unit = "Poisson standard deviations" if record.link == "log" else "units of the response"
    return (
        *((f"Mean and standard deviation of {shown(name, 60)}, as used", pair) for name, pair in moments),
        ("Share of all weight that long rows lose, as their classes tell", record.scales.weight_lost),
        *([(f"Residuals are cut at, in {unit}", cut)] if cut is not None else []),
        *([("Rows at even odds count, times", times)] if times > 1.0 else []),
    )


def model_and_results(record: FitRecord) -> Section:
    """Coefficients, intervals and their method, figures, what "not selected" means."""
    private, chosen = record.guarantee.private, selected(record)
    decisions = zip(summary.mergeable(record), record.interval_decisions, strict=True)
    content = {
        "interval_facts": [
            (label, words if private or record.exact else f"95 %, {summary.METHOD}")
            for label, words in summary.interval_facts(record)
        ],
        "coefficients": _coefficients(record),
        "odds": _has_odds(record),
        "approximation": summary.approximation(record),
        "link_notes": summary.link_notes(record),
        "why_none": uncertainty.no_intervals(record) if private else "",
        "penalised": summary.penalised(record),
        "surprises": bool(surprises(record)),
        "caveats": caveats(record),
        "figure": coefficient_figure(record),
        "variance": variance_figure(record),
        "rule": uncertainty.RULE,
        "gaps": _gaps(record),
        "wide": summary.WIDE,
        "mergeable": any(merge and not decision.reported for merge, decision in decisions),
        "priors": _priors(record),
        "chosen": int(chosen.sum()),
        "dropped": [
            shown(term) for term, places in record.terms if places and not chosen[list(places)].any()
        ][:MOST_TERMS],
    }
    return Section("model", "Model and results", content)


def _coefficients(record: FitRecord) -> tuple[Rows, ...]:
    """The coefficients with errors, intervals and odds ratios; those of a penalised fit in two tables."""
    given, apart = record.contrasts is not None, summary.separated(record)
    estimates = record.estimates[:MOST_ROWS]
    columns: dict[str, Iterable[str]] = {"estimate": map(coefficient, estimates)}
    if not apart:
        columns |= _errors(record)
        if _has_odds(record) and not given:
            columns |= _odds(record, estimates[:, None])
    columns["selected"] = ["yes" if chosen else "no" for chosen in selected(record)[:MOST_ROWS]]
    caption = ("Coefficients" if record.predictor is None else "Linear approximation") + ", original scale"
    ends = "; lower and upper ends of 95 % intervals"
    tables = [_table(record, caption + (ends if given and not apart else ""), columns, last="selected")]
    if apart:
        centre = map(coefficient, record.debiased[:MOST_ROWS])
        rest: dict[str, Iterable[str]] = {"debiased": centre, **_errors(record)}
        tables.append(_table(record, f"Debiased estimates, original scale{ends}", rest))
    return tuple(tables)


def _table(record: FitRecord, caption: str, columns: dict[str, Iterable[str]], last: str = "") -> Rows:
    """Numbers by coefficient; the column ``last`` holds words."""
    names = {"coefficient": [shown(name, 120) for name in shown_names(record)[:MOST_ROWS]]}
    return Rows.of_columns(caption, names | columns, tuple(range(1, len(columns) + (not last))))


def _errors(record: FitRecord) -> dict[str, Iterable[str]]:
    """Errors, and ends and odds ratios where an information matrix was released."""
    columns: dict[str, Iterable[str]] = {"std err": map(coefficient, record.standard_errors[:MOST_ROWS])}
    if record.contrasts is None:
        return columns
    centre = (record.debiased if summary.separated(record) else record.estimates)[:MOST_ROWS]
    ends = intervals(record, 0.95)[:MOST_ROWS]
    columns["lower"], columns["upper"] = (map(interval_end, end) for end in ends.T)
    return columns | _odds(record, np.column_stack([centre, ends])) if _has_odds(record) else columns


def _odds(record: FitRecord, values: FloatMatrix) -> dict[str, Iterable[str]]:
    """Odds ratios of these coefficients with the ends of their intervals."""
    ratios = [
        ABSENT if is_intercept(name) else _odds_ratio(*line)
        for name, line in zip(record.names[:MOST_ROWS], values.tolist(), strict=True)
    ]
    return {"odds ratio": ratios}


def _has_odds(record: FitRecord) -> bool:
    """Whether a coefficient has an odds ratio; a stack's odds change by another factor at every row."""
    return record.link == "logit" and record.predictor is None


def _odds_ratio(*values: float) -> str:
    """The odds ratio of a coefficient, and of the ends of its interval; exactly 1 where it is exactly 0."""
    if not math.isfinite(values[0]):
        return ABSENT
    ratio, *ends = (
        interval_end(value)
        if value == math.inf
        else "1"
        if value == 0.0
        else coefficient(math.exp(min(value, 709.0)))
        for value in values
    )
    return f"{ratio} ({' to '.join(ends)})" if ends else ratio


def _gaps(record: FitRecord) -> Rows | None:
    """Coefficients without a standard error, the test that fails, and what repairs it."""
    rows = [
        (shown(name, 120), decision.reason, factor(decision.factor))
        for name, decision in zip(shown_names(record), record.interval_decisions, strict=True)
        if not decision.reported
    ]
    if record.contrasts is None or not rows:
        return None
    first = f", the first {MOST_ROWS}" if len(rows) > MOST_ROWS else ""
    headings = ("coefficient", "why", "rows or ε, times" if record.guarantee.private else "rows, times")
    return Rows(
        f"Coefficients without a standard error{first}", headings, tuple(rows[:MOST_ROWS]), numeric=(2,)
    )


def _priors(record: FitRecord) -> Rows | None:
    rows = tuple(
        (shown(term, 120), what, scale) for term, what, scale in uncertainty.prior_scales(record)[:MOST_TERMS]
    )
    caption = "Prior scales, as standard deviations"
    return Rows(caption, ("term", "of", "scale"), rows, numeric=(2,)) if rows else None


def usefulness(record: FitRecord) -> Section | None:
    """Widths, smallest detectable effects, what would halve the widths, bias and small groups."""
    private = record.guarantee.private
    if (record.contrasts is None and not private) or record.exact:
        return None
    given = np.flatnonzero(record.reported)
    content: dict[str, Any] = {
        "penalised": summary.penalised(record),
        "intervals": bool(len(given)),
        "pulled_to": "those of the source" if "source" in record.specification.method.options else "zero",
        "why_none": uncertainty.no_intervals(record)
        or "no coefficient passes the rule of the section before",
    }
    if len(given):
        by_rows = uncertainty.widths(record, "n")
        by_epsilon = uncertainty.widths(record, "epsilon") if private else None
        ratio = uncertainty.against_sampling(record)[given]
        content |= {
            "table": _precision(record, by_rows, by_epsilon),
            "left_out": max(0, len(given) - MOST_ROWS),
            "median": plain_number(float(f"{np.median(ratio):.3g}")),
            "widest": plain_number(float(f"{ratio.max():.3g}")),
            "detectable": f"{uncertainty.DETECTABLE:.2g}",
            "most": f"{uncertainty.FACTORS[-1]:g}",
            "by_rows": width_figure(record, "n", by_rows),
            "by_epsilon": None if by_epsilon is None else width_figure(record, "epsilon", by_epsilon),
        }
    return Section("usefulness", "Usefulness", content)


def _precision(record: FitRecord, by_rows: FloatMatrix, by_epsilon: FloatMatrix | None) -> Rows:
    """Intervals that are given: their width, and what would halve it; from standard errors by factor."""
    drawn, names = np.flatnonzero(record.reported)[:MOST_ROWS], shown_names(record)
    columns: dict[str, Iterable[str]] = {
        "coefficient": [shown(names[j], 120) for j in drawn],
        "interval width": map(interval_end, np.ptp(intervals(record, 0.95)[drawn], axis=1)),
        "over sampling alone": [
            f"{ratio:.3g}" if math.isfinite(ratio) else ABSENT
            for ratio in uncertainty.against_sampling(record)[drawn]
        ],
        "smallest detectable effect": map(coefficient, uncertainty.detectable(record)[drawn]),
        "rows, times": map(factor, uncertainty.halving(by_rows)[drawn]),
    }
    if by_epsilon is not None:
        columns["ε, times"] = map(factor, uncertainty.halving(by_epsilon)[drawn])
    caption = "Precision, and what would halve the width"
    return Rows.of_columns(caption, columns, tuple(range(1, len(columns))))
