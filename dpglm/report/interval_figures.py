"""The figures of standard errors: intervals, what makes them wide, what would make them narrower."""

from __future__ import annotations

import numpy as np

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import debiased, intervals, reported, selected, shares, standard_errors
from dpglm.postprocessing.usefulness import FACTORS, Means, widths
from dpglm.report.section import Figure, Rows
from dpglm.report.svg import Axis, Drawing, shortened
from dpglm.report.wording import number, percent, shown
from dpglm.tables.number import coefficient
from dpglm.typing import FloatMatrix

MOST_ROWS = 40  # coefficients drawn; the tables list more
ROW = 21.0
PARTS = ("sampling", "estimate noise", "curvature noise", "adjustment")
ROLES = ("part-one", "part-two", "part-three", "part-four")
SYMBOLS: dict[Means, str] = {"epsilon": "ε", "n": "rows"}


def forest_figure(result: FitRecord) -> Figure | None:
    """The interval of each coefficient but the intercept, hollow dots where there is none."""
    drawn = _drawn(result)
    if not drawn:
        return None
    kept, chosen = reported(result), selected(result)
    centre, ends = debiased(result), intervals(result, 0.95)
    dots = np.where(kept, centre, result.estimates)
    spread = np.concatenate([dots[drawn], ends[drawn][kept[drawn]].ravel()])
    low, high = min(0.0, float(spread.min())), max(0.0, float(spread.max()))
    drawing, x, edge, bottom = _lines(
        result,
        "forest",
        drawn,
        "Coefficients with 95 % intervals, original scale",
        "One line for each coefficient: a dot at the estimate and a bar from the lower to the upper end "
        "of its interval. Hollow dots have no interval.",
        (low, high),
    )
    for tick in x.ticks(5):
        drawing.line(x(tick), 6, x(tick), bottom, "zero" if tick == 0 else "grid")
        drawing.text(x(tick), bottom + 14, f"{tick:g}", "tick middle")
    words = f"coefficient, {shown(result.link, 20)} scale"
    drawing.text((edge + 412) / 2, bottom + 29, words, "label middle")
    for k, j in enumerate(drawn):
        middle = 16 + ROW * k
        role = "label end" if kept[j] else "label end faint"
        drawing.text(edge - 10, middle + 4, shortened(result.names[j], 30), role)
        if kept[j]:
            left, right = x(float(ends[j, 0])), x(float(ends[j, 1]))
            drawing.line(left, middle, right, middle, "stem")
            for end in (left, right):
                drawing.line(end, middle - 3, end, middle + 3, "stem")
        drawing.circle(x(float(dots[j])), middle, 4, "point" if kept[j] else "point hollow")
    twin = Rows(
        "Intervals drawn",
        ("coefficient", "estimate drawn", "lower end", "upper end", "selected"),
        tuple(
            (
                shown(result.names[j]),
                coefficient(float(dots[j])),
                coefficient(float(ends[j, 0])),
                coefficient(float(ends[j, 1])),
                "yes" if chosen[j] else "no",
            )
            for j in drawn
        ),
        numeric=(1, 2, 3),
    )
    caption = (
        "95 % intervals around the debiased estimates, in original units, without the intercept"
        f"{_of_many(result, drawn)}. Hollow: no interval is given, the dot is the fit’s coefficient. "
        "Units differ between variables, so lengths compare only within a unit."
    )
    return Figure(drawing, caption, twin)


def variance_figure(result: FitRecord) -> Figure | None:
    """What each squared standard error is made of, as stacked shares; None where there is none."""
    kept = reported(result)
    drawn = [j for j in _drawn(result, intercept=True) if kept[j]]
    if not drawn:
        return None
    parts = shares(result) ** 2
    parts = parts / parts.sum(axis=1, keepdims=True)
    errors = standard_errors(result)
    drawing, x, edge, bottom = _lines(
        result,
        "variance",
        drawn,
        "What the variance of each coefficient is made of",
        "One bar for each coefficient, from 0 to 100 % of its variance, in four parts from left to right: "
        f"{', '.join(PARTS)}.",
        (0.0, 1.0),
        margin=0.0,
        below=52,
    )
    for k, j in enumerate(drawn):
        middle = 16 + ROW * k
        drawing.text(edge - 10, middle + 4, shortened(result.names[j], 30), "label end")
        start = 0.0
        for part, role in zip(parts[j], ROLES, strict=True):
            stop = min(1.0, start + float(part))
            if x(stop) - x(start) >= 0.1:  # a tenth of a unit is not seen
                _bar(drawing, x(start), x(stop), middle, role)
            start = stop
    for tick in (0.0, 0.5, 1.0):
        drawing.text(x(tick), bottom + 14, f"{tick:.0%}".replace("%", " %"), "tick middle")
    left, middle = 8.0, bottom + 38
    for words, role in zip(PARTS, ROLES, strict=True):
        _bar(drawing, left, left + 12, middle, role, half=5)
        drawing.text(left + 17, middle + 4, words, "label")
        left += 30 + 6.0 * len(words)
    twin = Rows(
        "Shares of variance drawn",
        ("coefficient", "std err", *PARTS),
        tuple(
            (
                shown(result.names[j]),
                coefficient(float(errors[j])),
                *(percent(float(part)) for part in parts[j]),
            )
            for j in drawn
        ),
        numeric=(1, 2, 3, 4, 5),
    )
    caption = (
        "Shares of each coefficient’s variance, its squared standard error. Sampling would be there without "
        "privacy; estimate noise and curvature noise were added for it; adjustment is what the other "
        f"coefficients leave open{_of_many(result, drawn, intercept=True)}."
    )
    return Figure(drawing, caption, twin)


def width_figure(result: FitRecord, means: Means, errors: FloatMatrix | None = None) -> Figure | None:
    """Width of intervals, relative to today's, against a factor on epsilon or on the number of rows."""
    found = widths(result, means) if errors is None else errors
    kept = np.flatnonzero(reported(result) & np.isfinite(found).all(axis=0))
    if not len(kept):
        return None
    now = FACTORS.index(1.0)
    relative = found[:, kept] / found[now, kept]
    middle, low, high = np.median(relative, axis=1), relative.min(axis=1), relative.max(axis=1)
    symbol = SYMBOLS[means]
    drawing = Drawing(
        f"width-{means}",
        312,
        262,
        title=f"Interval width against {symbol}",
        description=f"Factor on {symbol} across on a logarithmic scale, width of intervals upwards, 1 today. "
        "The curve of the median coefficient falls inside a band over all coefficients.",
    )
    x = Axis(FACTORS[0], FACTORS[-1], start=44, stop=302, log=True)
    y = Axis(0.0, 1.05 * float(high.max()), start=222, stop=12)
    for tick in y.ticks(5):
        drawing.line(x.start, y(tick), x.stop, y(tick), "grid")
        drawing.text(x.start - 6, y(tick) + 4, f"{tick:g}", "tick end")
    for factor in FACTORS:
        drawing.line(x(factor), y.start, x(factor), y.start + 4, "axis")
        drawing.text(x(factor), y.start + 17, f"{factor:g}", "tick middle")
    upper = [(x(f), y(float(v))) for f, v in zip(FACTORS, high, strict=True)]
    lower = [(x(f), y(float(v))) for f, v in zip(FACTORS, low, strict=True)]
    drawing.path([*upper, *lower[::-1]], "area", closed=True)
    drawing.line(x.start, y(0.5), x.stop, y(0.5), "reference")
    drawing.path([(x(f), y(float(v))) for f, v in zip(FACTORS, middle, strict=True)], "line")
    for f, v in zip(FACTORS, middle, strict=True):
        drawing.circle(x(f), y(float(v)), 3, "point")
    drawing.line(x.start, y.start, x.stop, y.start, "axis")
    drawing.line(x.start, y.start, x.start, y.stop, "axis")
    drawing.text((x.start + x.stop) / 2, y.start + 34, f"factor on {symbol}", "label middle")
    drawing.text(9, (y.start + y.stop) / 2, "width, relative to today’s", "label middle", turned=True)
    twin = Rows(
        f"Relative width by factor on {symbol}",
        (f"factor on {symbol}", "median", "narrowest", "widest"),
        tuple(
            (f"{f:g}", *(number(float(f"{v:.3g}")) for v in line))
            for f, *line in zip(FACTORS, middle, low, high, strict=True)
        ),
        numeric=(0, 1, 2, 3),
    )
    caption = f"Width of intervals if {symbol} were larger or smaller, roughly; dashed: half of today’s."
    return Figure(drawing, caption, twin)


def _drawn(result: FitRecord, *, intercept: bool = False) -> list[int]:
    """Coefficients to draw, in formula order: all, or those with intervals and the clearest effects."""
    places = [j for j, name in enumerate(result.names) if intercept or name != "Intercept"]
    if len(places) <= MOST_ROWS:
        return places
    with np.errstate(invalid="ignore", divide="ignore"):
        clear = np.nan_to_num(np.abs(debiased(result) / standard_errors(result)), nan=-1.0)
    return sorted(sorted(places, key=lambda j: (-float(clear[j]), j))[:MOST_ROWS])


def _lines(
    result: FitRecord,
    slug: str,
    drawn: list[int],
    title: str,
    description: str,
    ends: tuple[float, float],
    *,
    margin: float = 0.06,
    below: int = 40,
) -> tuple[Drawing, Axis, float, float]:
    """An empty drawing with a line for each coefficient: with axis, its left end, bottom."""
    edge = 14 + 6.5 * max(len(shortened(result.names[j], 30)) for j in drawn)
    room = margin * (ends[1] - ends[0]) or (1.0 if ends[0] == ends[1] else 0.0)
    height = ROW * len(drawn) + below
    drawing = Drawing(slug, 420, height, title=title, description=description)
    return drawing, Axis(ends[0] - room, ends[1] + room, start=edge, stop=412), edge, height - below + 8


def _bar(drawing: Drawing, left: float, right: float, middle: float, role: str, half: float = 6.5) -> None:
    corners = [(left, middle - half), (right, middle - half), (right, middle + half), (left, middle + half)]
    drawing.path(corners, role, closed=True)


def _of_many(result: FitRecord, drawn: list[int], *, intercept: bool = False) -> str:
    whole = len(result.names) - (0 if intercept else "Intercept" in result.names)
    return f"; {len(drawn)} of {whole}" if len(drawn) < whole else ""
