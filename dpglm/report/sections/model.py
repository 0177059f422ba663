"""Model and results: released coefficients, and what selection under noise means."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpglm.report.figures import coefficient_figure
from dpglm.report.section import Rows, Section
from dpglm.report.wording import number, shown
from dpglm.results.fit_result import FitResult
from dpglm.results.tidy import selected
from dpglm.tables.number import ABSENT, coefficient, count

MOST_ROWS = 250


def model_and_results(result: FitResult, choices: Mapping[str, str]) -> Section:
    """Coefficient table with absent standard errors, dot plot, what "not selected" means."""
    facts = [
        ("Formula", shown(result.formula, 1000)),
        ("Family and link", f"{shown(result.family)}, {shown(result.link)}"),
        ("Penalty", shown(result.penalty)),
    ]
    if result.strength is not None:
        facts.append(("Penalty strength, per row", number(result.strength)))
    facts += [("Method", shown(result.method)), ("Goal", shown(result.goal))]
    if result.n_rows is not None:
        facts.append(("Rows", count(result.n_rows)))
    chosen = int(selected(result).sum())
    sparse = chosen < len(result.names)
    content = {
        "private": result.guarantee.private,
        "facts": facts,
        "coefficients": _coefficients(result),
        "left_out": max(0, len(result.names) - MOST_ROWS),
        "figure": coefficient_figure(result),
        "sparse": sparse,
        "chosen": chosen,
        "total": len(result.names),
        "dropped": [shown(name) for name in _terms_not_selected(result)][:100],
        "odds": _has_odds(result),
    }
    return Section("model", "Model and results", content)


def _coefficients(result: FitResult) -> Rows:
    odds = _has_odds(result)
    rows = []
    for name, value, chosen in zip(result.names, result.estimates, selected(result), strict=True):
        ratio = ABSENT if name == "Intercept" else _ratio(float(value))
        cells = (shown(name, 120), coefficient(float(value)), ABSENT)
        rows.append(
            (*cells, ratio, "yes" if chosen else "no") if odds else (*cells, "yes" if chosen else "no")
        )
    headings = ("coefficient", "estimate", "std err", "odds ratio", "selected")
    return Rows(
        "Coefficients, original scale",
        headings if odds else headings[:3] + headings[4:],
        tuple(rows[:MOST_ROWS]),
        numeric=(1, 2, 3) if odds else (1, 2),
    )


def _has_odds(result: FitResult) -> bool:
    return result.link == "logit"


def _ratio(value: float) -> str:
    """The odds ratio of a coefficient; exactly 1 where it is exactly 0."""
    return "1" if value == 0.0 else coefficient(math.exp(min(value, 709.0)))


def _terms_not_selected(result: FitResult) -> list[str]:
    """Formula terms none of whose coefficients was selected."""
    kept = selected(result)
    return [name for name, places in result.terms if places and not any(kept[j] for j in places)]
