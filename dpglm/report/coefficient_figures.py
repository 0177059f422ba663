"""Figures of coefficients: forest plot, parts of a variance, paths, widths, expected precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from dpglm.postprocessing.intervals import intervals, selected
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.refits import CoefficientPath
from dpglm.postprocessing.uncertainty import FACTORS, Means, shares
from dpglm.report import figure as shapes
from dpglm.report.figure import PATHS, Axis, Figure, Mark, Names, Rows, padded, shortened
from dpglm.report.section import shown
from dpglm.tables.table import coefficient, interval_end, percent, plain_number
from dpglm.typing import FloatMatrix, FloatVector, is_intercept

MOST_ROWS: Final = 40  # coefficients drawn; the tables list more
PARTS: Final = {
    "sampling": "part-one",
    "estimate noise": "part-two",
    "information noise": "part-three",
    "adjustment": "part-four",
}


def coefficient_figure(record: FitRecord) -> Figure:
    """Coefficients but the intercept: a forest plot, or stems from zero where there are no intervals.

    An intercept alone is drawn. Hollow dots have no standard error, or were not selected.
    """
    drawn = _drawn(record)
    names = tuple(shown_names(record)[j] for j in drawn)
    given, chosen = record.reported[drawn], selected(record)[drawn]
    dots = np.where(given, record.debiased[drawn], record.estimates[drawn])
    ends = intervals(record, 0.95)[drawn]
    what = "coefficient" if record.predictor is None else "coefficient of the linear approximation"
    kind = what.replace("coefficient", "Coefficients")
    forest = record.contrasts is not None
    if forest:
        slug, rule, reading = "forest", "clearest", "over its interval"
        title, subject = f"{kind} with 95 % intervals", "95 % intervals around the debiased estimates,"
        labels = ("95 % interval", "rests on its prior scale")
        meaning = "the interval rests mostly on the prior scale, and the dot is the fit’s coefficient"
        full, bars = given, ends
    else:
        slug, rule, reading = "coefficients", "largest", "from zero"
        title = subject = kind
        labels, meaning = ("selected", "not selected"), "not selected"
        full, bars = chosen, np.column_stack([np.zeros(len(dots)), dots])
    left_out = any(map(is_intercept, record.names)) and len(drawn) < len(record.names)
    scope = (
        f"in original units{', without the intercept' if left_out else ''}{_left_out(record, drawn, rule)}"
    )
    filled, hollow = np.flatnonzero(full).tolist(), np.flatnonzero(~full).tolist()
    # A bar without end is drawn past the mirror image of its other end, and without caps.
    ends_drawn = np.where(np.isinf(bars), 2.0 * dots[:, None] - bars[:, ::-1], bars)
    if full.any() or not forest:
        ends_drawn = ends_drawn[full]
    ends_drawn = ends_drawn[np.isfinite(ends_drawn)]
    axis = padded(
        f"{what}, {shown(record.link, 20)} scale",
        min(0.0, *dots.tolist(), *ends_drawn.tolist()),
        max(0.0, *dots.tolist(), *ends_drawn.tolist()),
    )
    cut = (bars < axis.low) | (bars > axis.high)
    endless = cut.any(axis=1)
    intervals_drawn = [
        shapes.Intervals(np.flatnonzero(which).tolist(), low.tolist(), high.tolist(), role, caps=caps)
        for which, role, caps in (
            (full & ~endless, "interval", forest),
            (full & endless, "interval", False),
            (~full & forest, "wide", False),
        )
        for low, high in (np.clip(bars[which], axis.low, axis.high).T,)
        if which.any()
    ]
    without_end = ""
    if (full & endless).any():
        without_end = " A bar that runs to the edge has no end on that side."
    if forest and (~full & endless).any():
        without_end += " Thin bars may go on beyond the edge."
    more = ("lower end", "upper end") if forest else ("selected",)
    rows = tuple(
        (shown(name), coefficient(dot), *(map(interval_end, line) if forest else ("yes" if kept else "no",)))
        for name, dot, line, kept in zip(names, dots.tolist(), ends.tolist(), chosen, strict=True)
    )
    headings = ("coefficient", "estimate drawn", *more)
    points = [
        shapes.Points(dots[lines].tolist(), lines, role, label)
        for lines, role, label in zip((filled, hollow), ("point", "hollow"), labels, strict=True)
        if lines
    ]
    return Figure(
        slug,
        f"{title}, original scale",
        f"One line per coefficient: a dot at its value, and a bar {reading}. "
        f"Hollow dots{' with thin bars' if forest else ''}: {meaning}.",
        x=axis,
        y=Names(names, frozenset(hollow)),
        marks=(shapes.Rule(0.0, "x", "zero"), *intervals_drawn, *points),
        caption=f"{subject} {scope}. Hollow{', thin' if forest else ''}: {meaning}. "
        "Units differ, so lengths compare only within a unit."
        f"{without_end}",
        twin=Rows("Coefficients drawn", headings, rows, numeric=(1, 2, 3) if forest else (1,)),
    )


def variance_figure(record: FitRecord) -> Figure | None:
    """The parts of each squared standard error, as stacked shares; None where there is none."""
    given = record.reported
    drawn = [j for j in _drawn(record, intercept=True) if given[j]]
    if not drawn:
        return None
    parts = shares(record)[drawn] ** 2
    parts = parts / parts.sum(axis=1, keepdims=True)
    stops = np.minimum(np.cumsum(parts, axis=1), 1.0)
    starts = np.column_stack([np.zeros(len(drawn)), stops[:, :-1]])
    errors, names = record.standard_errors, shown_names(record)
    headings = ("coefficient", "std err", *PARTS)
    rows = tuple(
        (shown(names[j]), coefficient(float(errors[j])), *(percent(float(part)) for part in line))
        for j, line in zip(drawn, parts, strict=True)
    )
    return Figure(
        "variance",
        "Parts of the variance of each coefficient",
        "One bar per coefficient, from 0 to 100 % of its variance, in four parts from left to right: "
        f"{', '.join(PARTS)}.",
        x=Axis("share of the variance", 0.0, 1.0, marks=((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))),
        y=Names(tuple(names[j] for j in drawn)),
        marks=tuple(
            shapes.Bars(range(len(drawn)), starts[:, k].tolist(), stops[:, k].tolist(), role, label)
            for k, (label, role) in enumerate(PARTS.items())
        ),
        caption="Shares of each coefficient’s variance, its squared standard error. Sampling would be there "
        "without privacy. The noise of the estimate and of the information matrix was added for privacy. "
        "Adjustment is what the other coefficients leave open"
        f"{_left_out(record, drawn, 'clearest', intercept=True)}.",
        twin=Rows("Shares of variance drawn", headings, rows, numeric=tuple(range(1, len(headings)))),
    )


def width_figure(record: FitRecord, means: Means, errors: FloatMatrix) -> Figure | None:
    """Width of intervals, relative to today's, against a factor on epsilon or on the number of rows.

    ``errors`` come from `postprocessing.usefulness.widths`.
    """
    given = np.flatnonzero(record.reported & np.isfinite(errors).all(axis=0))
    if not len(given):
        return None
    relative = errors[:, given] / errors[FACTORS.index(1.0), given]
    middle, low, high = np.median(relative, axis=1), relative.min(axis=1), relative.max(axis=1)
    symbol = "ε" if means == "epsilon" else "rows"
    marks = tuple((factor, f"{factor:g}") for factor in FACTORS)
    return Figure(
        f"width-{means}",
        f"Interval width against {symbol}",
        f"Factor on {symbol} across on a logarithmic scale, width of intervals upwards, 1 today. "
        "The curve of the median coefficient falls inside a band over all coefficients.",
        x=Axis(f"factor on {symbol}", FACTORS[0], FACTORS[-1], log=True, marks=marks),
        y=Axis("width, relative to today’s", 0.0, 1.05 * float(high.max())),
        marks=(
            shapes.Band(FACTORS, low.tolist(), high.tolist()),
            shapes.Rule(0.5, "y"),
            shapes.Curve(FACTORS, middle.tolist(), dots="point"),
        ),
        caption=f"Approximate width of intervals if {symbol} were larger or smaller. "
        "Dashed: half of today’s.",
        twin=Rows(
            f"Relative width by factor on {symbol}",
            (f"factor on {symbol}", "median", "narrowest", "widest"),
            tuple(
                (f"{factor:g}", *(plain_number(float(f"{value:.3g}")) for value in line))
                for factor, *line in zip(FACTORS, middle, low, high, strict=True)
            ),
            numeric=(0, 1, 2, 3),
        ),
    )


def path_figure(path: CoefficientPath) -> Figure:
    """Coefficients, each over its largest size, so that units do not matter; the intercept is left out."""
    strengths = path.strengths.tolist()
    sizes = np.abs(path.coefficients).max(axis=0)
    drawn = [j for j, name in enumerate(path.names) if not is_intercept(name) and sizes[j] > 0.0]
    entered = (path.coefficients != 0.0).mean(axis=0)
    labelled = sorted(drawn, key=lambda j: -float(entered[j]))[: len(PATHS)]
    roles = dict(zip(sorted(labelled), PATHS, strict=False))
    curves = [
        shapes.Curve(
            strengths,
            (path.coefficients[:, j] / sizes[j]).tolist(),
            roles.get(j, "faint-line"),
            shortened(path.names[j], 24) if j in roles else "",
        )
        for j in drawn
    ]
    right: tuple[Axis, tuple[Mark, ...]] | None = None
    if path.losses is not None and path.errors is not None:
        low, high = path.losses - path.errors, path.losses + path.errors
        right = (
            padded("mean held-out loss, one standard error", float(low.min()), float(high.max())),
            (
                shapes.Points(strengths, path.losses.tolist(), "claim", radius=2.0),
                shapes.Intervals(strengths, low.tolist(), high.tolist(), "error", caps=False, upright=True),
            ),
        )
    label = f"strength of penalty {path.penalty} (dashed: {path.rule})"
    return Figure(
        "path",
        "Coefficients against the strength of the penalty",
        x=_log_axis(label, strengths, reverse=True),
        y=Axis("coefficient, relative to its largest", -1.05, 1.05),
        marks=(shapes.Rule(float(path.strengths[path.chosen]), "x"), shapes.Rule(0.0, "y", "zero"), *curves),
        wide=True,
        right=right,
    )


def expected_figure(
    over: str, values: FloatVector, errors: Mapping[str, FloatVector], *, planned: float, scale: str
) -> Figure:
    """Two expected standard errors of a plan, by label, over numbers of rows ("n") or "epsilon".

    ``values`` and each of ``errors`` have shape (k,); ``planned`` is marked among the values, and ``scale``
    is the link.
    """
    label = "number of rows" if over == "n" else "epsilon"
    marks = tuple((float(value), f"{value:,.6g}") for value in values) if len(values) <= 8 else ()
    curves = []
    for (name, heights), (role, dots) in zip(
        errors.items(), (("second", "claim"), ("line", "point")), strict=True
    ):
        finite = np.isfinite(heights)
        curves.append(shapes.Curve(values[finite].tolist(), heights[finite].tolist(), role, name, dots))
    return Figure(
        "expected",
        f"Expected standard errors over the {label}",
        x=_log_axis(label, [*values.tolist(), planned], marks=marks),
        y=_log_axis(f"expected standard error, {scale} scale", [y for curve in curves for y in curve.y]),
        marks=(*curves, shapes.Rule(planned, "x", label="planned")),
    )


def _drawn(record: FitRecord, *, intercept: bool = False) -> list[int]:
    """Coefficients to draw, in formula order: of many those with the clearest or the largest effects."""
    everything = list(range(len(record.names)))
    candidates = [j for j in everything if intercept or not is_intercept(record.names[j])] or everything
    if len(candidates) <= MOST_ROWS:
        return candidates
    sizes = np.abs(record.estimates)
    if record.reported.any():
        with np.errstate(invalid="ignore", divide="ignore"):
            sizes = np.nan_to_num(np.abs(record.debiased / record.standard_errors), nan=-1.0)
    return sorted(sorted(candidates, key=lambda j: (-float(sizes[j]), j))[:MOST_ROWS])


def _left_out(record: FitRecord, drawn: list[int], rule: str, *, intercept: bool = False) -> str:
    total = len(record.names) - (0 if intercept else sum(map(is_intercept, record.names)))
    if len(drawn) >= total:
        return ""
    return f"; {len(drawn)} of {total}" + (f", the {rule}" if len(drawn) == MOST_ROWS else "")


def _log_axis(
    label: str, values: list[float], *, marks: tuple[tuple[float, str], ...] = (), reverse: bool = False
) -> Axis:
    """A logarithmic axis with some room beyond its values, of which those above 0 count."""
    positive = [value for value in values if value > 0.0] or [1.0]
    room = (max(positive) / min(positive)) ** 0.04 if max(positive) > min(positive) else 2.0
    return Axis(label, min(positive) / room, max(positive) * room, log=True, marks=marks, reverse=reverse)
