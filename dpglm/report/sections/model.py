"""Model and results: coefficients with intervals, how these are made, what selection under noise means."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpglm.postprocessing.missing_intervals import RULE, approximation, mergeable, no_intervals
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.summary import METHOD, interval_facts
from dpglm.postprocessing.uncertainty import (
    debiased,
    intervals,
    penalised,
    reported,
    selected,
    standard_errors,
)
from dpglm.postprocessing.usefulness import prior_scales
from dpglm.report.figures import coefficient_figure
from dpglm.report.interval_figures import forest_figure, variance_figure
from dpglm.report.section import Rows, Section
from dpglm.report.wording import number, shown
from dpglm.tables.number import ABSENT, coefficient, count, factor

MOST_ROWS = 250
MOST_TERMS = 100


def model_and_results(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Coefficients, intervals and their method, figures, what "not selected" means."""
    private = result.guarantee.private
    given = bool(reported(result).any())
    chosen = int(selected(result).sum())
    content = {
        "private": private,
        "facts": _facts(result),
        "coefficients": _coefficients(result),
        "left_out": max(0, len(result.names) - MOST_ROWS),
        "odds": _odds(result),
        "approximation": approximation(result),
        "intervals": result.contrasts is not None,
        "why_none": no_intervals(result) if private else "",
        "penalised": penalised(result),
        "figure": (forest_figure(result) if given else None) or coefficient_figure(result),
        "variance": variance_figure(result) if given else None,
        "moments": result.released is not None and not result.released.centre.any(),
        "rule": RULE,
        "gaps": _gaps(result),
        "mergeable": any(
            merge and not verdict.reported
            for merge, verdict in zip(mergeable(result), result.interval_decisions, strict=True)
        ),
        "priors": _priors(result),
        "sparse": chosen < len(result.names),
        "chosen": chosen,
        "total": len(result.names),
        "dropped": [shown(name) for name in _terms_not_selected(result)][:MOST_TERMS],
    }
    return Section("model", "Model and results", content)


def _facts(result: FitRecord) -> list[tuple[str, str]]:
    facts = [
        ("Formula", shown(result.specification.formula, 1000)),
        ("Family and link", f"{shown(result.specification.family.name)}, {shown(result.link)}"),
        ("Penalty", shown(result.penalty)),
    ]
    if result.strength is not None:
        facts.append(("Penalty strength, per row", number(result.strength)))
    facts += [("Method", shown(result.specification.method.name)), ("Goal", shown(result.specification.goal))]
    if result.n_rows is not None:
        facts.append(("Rows", count(result.n_rows)))
    for label, words in interval_facts(result):
        facts.append((label, words if result.guarantee.private else f"95 %, {METHOD}"))
    return facts


def _coefficients(result: FitRecord) -> Rows:
    """Estimates, errors and intervals; without a curvature the errors are absent."""
    odds, given = _odds(result), result.contrasts is not None
    apart = given and penalised(result)
    errors, ends, centre = standard_errors(result), intervals(result, 0.95), debiased(result)
    headings = ["coefficient", "estimate", *(["debiased"] if apart else []), "std err"]
    headings += ["lower", "upper"] if given else []
    headings += ["odds ratio"] if odds else []
    rows = []
    for j, kept in enumerate(selected(result)[:MOST_ROWS]):
        name, value = result.names[j], float(result.estimates[j])
        cells = [shown(name, 120), coefficient(value)]
        cells += [coefficient(centre[j])] if apart else []
        cells.append(coefficient(errors[j]))
        cells += [coefficient(ends[j, 0]), coefficient(ends[j, 1])] if given else []
        if odds and name == "Intercept":
            cells.append(ABSENT)
        elif odds and given:
            cells.append(_ratios(float(centre[j]), *ends[j].tolist()))
        elif odds:
            cells.append(_ratio(value))
        rows.append((*cells, "yes" if kept else "no"))
    caption = (
        "Coefficients, original scale" if result.predictor is None else "Linear approximation, original scale"
    )
    caption += "; lower and upper ends of 95 % intervals" if given else ""
    numeric = tuple(range(1, len(headings)))
    return Rows(caption, (*headings, "selected"), tuple(rows), numeric=numeric)


def _odds(result: FitRecord) -> bool:
    """Whether a coefficient has an odds ratio; a stack's odds change by another factor at every row."""
    return result.link == "logit" and result.predictor is None


def _ratio(value: float) -> str:
    """The odds ratio of a coefficient; exactly 1 where it is exactly 0."""
    return "1" if value == 0.0 else coefficient(math.exp(min(value, 709.0)))


def _ratios(centre: float, low: float, high: float) -> str:
    """An odds ratio and its interval."""
    if not math.isfinite(centre):
        return ABSENT
    return f"{_ratio(centre)} ({_ratio(low)} to {_ratio(high)})"


def _gaps(result: FitRecord) -> Rows | None:
    """Coefficients without an interval, the test that fails, and what repairs it."""
    if result.contrasts is None:
        return None
    rows = [
        (shown(name, 120), verdict.reason, factor(verdict.factor))
        for name, verdict in zip(result.names, result.interval_decisions, strict=True)
        if not verdict.reported
    ]
    grown = "rows or ε, times" if result.guarantee.private else "rows, times"
    if not rows:
        return None
    first = f", the first {MOST_ROWS}" if len(rows) > MOST_ROWS else ""
    caption = f"Coefficients without an interval{first}"
    return Rows(caption, ("coefficient", "why", grown), tuple(rows[:MOST_ROWS]), numeric=(2,))


def _priors(result: FitRecord) -> Rows | None:
    rows = prior_scales(result)
    if not rows:
        return None
    return Rows(
        "Declared prior scales, as standard deviations",
        ("term", "of", "scale"),
        tuple((shown(term, 120), what, scale) for term, what, scale in rows[:MOST_TERMS]),
        numeric=(2,),
    )


def _terms_not_selected(result: FitRecord) -> list[str]:
    """Formula terms none of whose coefficients was selected."""
    kept = selected(result)
    return [name for name, places in result.terms if places and not any(kept[j] for j in places)]
