"""Usefulness: how precise the result is, and what more rows or a larger epsilon would give."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpglm.postprocessing.missing_intervals import no_intervals
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import penalised, reported, standard_errors
from dpglm.postprocessing.usefulness import DETECTABLE, FACTORS, against_sampling, detectable, halving, widths
from dpglm.report.interval_figures import width_figure
from dpglm.report.section import Rows, Section
from dpglm.report.wording import number, shown
from dpglm.tables.number import ABSENT, coefficient, factor
from dpglm.typing import FloatVector

MOST_ROWS = 250
INTERVAL = 2.0 * 1.959964


def usefulness(result: FitRecord, choices: Mapping[str, str]) -> Section | None:
    """Widths, smallest detectable effects, what would halve the widths, bias and small groups."""
    private = result.guarantee.private
    if result.contrasts is None and not private:
        return None
    content: dict[str, object] = {
        "private": private,
        "penalised": penalised(result),
        "intervals": bool(reported(result).any()),
        "pulled_to": "those of the source" if "source" in result.specification.method.options else "zero",
        "why_none": no_intervals(result) or "no coefficient passes the rule of the section before",
    }
    if content["intervals"]:
        rows = widths(result, "n")
        price = widths(result, "epsilon") if private else None
        given = np.flatnonzero(reported(result))
        ratio = against_sampling(result)[given]
        content |= {
            "table": _table(result, halving(rows), None if price is None else halving(price)),
            "left_out": max(0, len(given) - MOST_ROWS),
            "median": number(float(f"{np.median(ratio):.3g}")),
            "widest": number(float(f"{ratio.max():.3g}")),
            "detectable": f"{DETECTABLE:.2g}",
            "most": f"{FACTORS[-1]:g}",
            "by_rows": width_figure(result, "n", rows),
            "by_epsilon": None if price is None else width_figure(result, "epsilon", price),
        }
    return Section("usefulness", "Usefulness", content)


def _table(result: FitRecord, rows: FloatVector, price: FloatVector | None) -> Rows:
    errors, ratio, least = standard_errors(result), against_sampling(result), detectable(result)
    lines = []
    for j in np.flatnonzero(reported(result))[:MOST_ROWS]:
        line = [
            shown(result.names[j], 120),
            coefficient(INTERVAL * errors[j]),
            _times(float(ratio[j])),
            coefficient(least[j]),
            factor(rows[j]),
        ]
        lines.append((*line, factor(price[j])) if price is not None else tuple(line))
    headings = ["coefficient", "interval width", "over sampling alone", "smallest detectable effect"]
    headings += ["rows, times", *(["ε, times"] if price is not None else [])]
    return Rows(
        "Precision, and what would halve the width",
        tuple(headings),
        tuple(lines),
        numeric=tuple(range(1, len(headings))),
    )


def _times(ratio: float) -> str:
    return f"{ratio:.3g}" if math.isfinite(ratio) else ABSENT
