"""Figures of effects: average ones, mean responses over the values of a column, survival curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.functions import require_information
from dpglm.postprocessing.grid import bounds_of, declaration, levels_of, row_map_of
from dpglm.postprocessing.labels import labelled
from dpglm.postprocessing.margins import margins
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.survival import periods_of, survival
from dpglm.report import figure as shapes
from dpglm.report.figure import Axis, Figure, Mark, Names, Rows, padded, shortened
from dpglm.tables.table import coefficient

if TYPE_CHECKING:
    import pandas as pd

STEPS: Final = 41  # values of a number between its bounds
MOST_LINES: Final = 40
LEVEL: Final = 0.95
MOST_CURVES: Final = 8
# Title, what a point is and of what, where it begins, and the caption.
_UNTIL: Final = "Probability of no event up to the end of each period"
SURVIVAL: Final = ("Survival", "without the event", "end of", "start", _UNTIL)
_BEYOND: Final = "Probability of a level above each one"
ABOVE: Final = ("Higher levels", "above the level", "level of", "all", _BEYOND)
# How far the intervals of two curves stand apart, as a share of a period.
_APART: Final = 0.08


def effects_figure(record: FitRecord, column: str | None, rows: pd.DataFrame | None) -> Figure:
    """Average effects of all columns, or mean responses over the values of ``column``, with 95 % intervals.

    ``rows`` is a public grid to average over; by default that of `margins`.
    """
    require_information(record, "plot('effects')")
    if column is None:
        return _effects(record, rows)
    declaration(record, column)
    levels = levels_of(record, column)
    return _over_number(record, column, rows) if levels is None else _over_levels(record, column, rows)


def _effects(record: FitRecord, rows: pd.DataFrame | None) -> Figure:
    """A line for each level against the first one, and for a number's change by a round step."""
    lines: list[tuple[str, float, float, float, bool]] = []
    schema = record.specification.schema
    names = [name for name in row_map_of(record).columns if "date" not in declaration(record, name)]
    if not names:
        raise MethodError(
            "plot('effects') of a fit without columns of numbers or levels",
            expected="a formula that reads some",
            remedy="Use plot('coef').",
        )
    for name in names:
        levels = levels_of(record, name)
        step = _step(*bounds_of(record, name)) if levels is None else 1.0
        if levels is None:
            changes = [f"{labelled((name,), schema)[0]}, per {step:g}"]
        else:
            changes = list(labelled(tuple(f"{name}[T.{one}]" for one in levels[1:]), schema))
        found = _margins(record, effect=name, rows=rows).to_dict("records")
        for change, line in zip(changes, found, strict=True):
            dot, low_end, high_end = (step * line[what] for what in ("estimate", "conf_low", "conf_high"))
            lines.append((change, dot, low_end, high_end, bool(line["reliable"])))
    # Of many, those that are clearest: the least number of half widths from 0 is left out.
    if len(lines) > MOST_LINES:
        clear = sorted(lines, key=lambda line: -abs(line[1]) / max(line[3] - line[2], 1e-300))[:MOST_LINES]
        lines = [line for line in lines if line in clear]
    dots, low, high = (np.array([line[k] for line in lines]) for k in (1, 2, 3))
    return _figure(
        record,
        dots,
        np.column_stack([low, high]),
        np.array([line[4] for line in lines]),
        tuple(line[0] for line in lines),
        f"average effect on {_response(record)}",
        zero=True,
    )


def _over_levels(record: FitRecord, column: str, rows: pd.DataFrame | None) -> Figure:
    """A line for each level: the mean response there."""
    found, declared = _margins(record, by=column, rows=rows), declaration(record, column)
    words = {str(level): label for level, label in declared.get("level_labels", {}).items()}
    return _figure(
        record,
        found["estimate"].to_numpy(float),
        found[["conf_low", "conf_high"]].to_numpy(float),
        found["reliable"].to_numpy(bool),
        tuple(
            f"{declared.get('label') or column}: {words.get(str(level), level)}" for level in found[column]
        ),
        _response(record),
    )


def _over_number(record: FitRecord, column: str, rows: pd.DataFrame | None) -> Figure:
    """A curve with a band: the mean response where the column has each value."""
    at = {column: np.linspace(*bounds_of(record, column), STEPS).tolist()} if rows is None else {}
    found = _margins(record, by=column, rows=rows, at=at).sort_values(column)
    if len(found) < 2:
        raise MethodError(
            f"a grid with one value of {column!r}, over which a curve would be drawn",
            expected="two values or more",
            remedy=f"Name its values in the grid, as in fit.grid({column}=[...]), or leave grid= out.",
        )
    x = found[column].to_numpy(float)
    dots, low, high = (found[name].to_numpy(float) for name in ("estimate", "conf_low", "conf_high"))
    drawn = np.isfinite(dots) & np.isfinite(low) & np.isfinite(high)
    if not drawn.any():
        raise _endless(f"plot('effects', {column!r})")
    x, dots, low, high = (values[drawn] for values in (x, dots, low, high))
    label = labelled((column,), record.specification.schema)[0]
    return Figure(
        "effects",
        f"{_response(record)} over {label}",
        x=padded(shortened(label, 60), float(x.min()), float(x.max())),
        y=padded(_response(record), float(low.min()), float(high.max())),
        marks=(shapes.Band(x.tolist(), low.tolist(), high.tolist()), shapes.Curve(x.tolist(), dots.tolist())),
    )


def _figure(
    record: FitRecord,
    dots: Any,
    ends: Any,
    reliable: Any,
    names: tuple[str, ...],
    label: str,
    *,
    zero: bool = False,
) -> Figure:
    """A line for each name: a dot and its interval, thin where it rests on prior scales."""
    # A bar without end runs to the edge of what has ends.
    finite = np.concatenate([dots[np.isfinite(dots)], ends[np.isfinite(ends)], [0.0] if zero else []])
    if not np.isfinite(dots).any():
        raise _endless("plot('effects')")
    axis = padded(label, float(finite.min()), float(finite.max()))
    low, high = np.clip(ends, axis.low, axis.high).T
    known = np.isfinite(dots)
    marks: list[Mark] = [shapes.Rule(0.0, "x", "zero")] if zero else []
    words = ("95 % interval", "rests on its prior scale")
    for which, bar, dot, word in (
        (reliable & known, "interval", "point", words[0]),
        (~reliable & known, "wide", "hollow", words[1]),
    ):
        at = np.flatnonzero(which).tolist()
        if at:
            marks += [
                shapes.Intervals(at, low[which].tolist(), high[which].tolist(), bar, caps=False),
                shapes.Points(dots[which].tolist(), at, dot, word),
            ]
    faint = frozenset(np.flatnonzero(~reliable).tolist())
    return Figure("effects", label, x=axis, y=Names(names, faint), marks=tuple(marks))


def _margins(
    record: FitRecord,
    *,
    rows: pd.DataFrame | None,
    by: str | None = None,
    effect: str | None = None,
    at: dict[str, object] | None = None,
) -> pd.DataFrame:
    return margins(record, by, effect=effect, at=at, rows=rows, what="mean", level=LEVEL)


def _step(low: float, high: float) -> float:
    """The largest power of ten that fits three times between the bounds.

    Examples
    --------
    >>> _step(17.5, 42.0), _step(0.0, 1e5), _step(1.0, 4.0)
    (1.0, 10000.0, 1.0)
    """
    return float(f"1e{math.floor(math.log10(high / 3.0 - low / 3.0) + 1e-9)}")


def _response(record: FitRecord) -> str:
    """What a mean response is, in a few words."""
    response = record.response
    declared: Any = record.specification.schema.get("variables", {})
    facts = declared.get(response.name, {})
    name = shortened(facts.get("label") or response.name, 40)
    if not response.levels:
        return f"mean of {name}"
    words = {str(level): label for level, label in facts.get("level_labels", {}).items()}
    return f"P({name} = {words.get(response.levels[1], response.levels[1])})"


def _endless(what: str) -> MethodError:
    return MethodError(
        f"{what}, where no interval has two ends",
        expected="a fit that tells enough for one",
        remedy="Use fit.margins(...), which says why, or a larger budget.",
    )


def survival_figure(record: FitRecord, grid: pd.DataFrame | None) -> Figure:
    """Survival at the end of each period, with 95 % intervals: a band of one curve, bars of several."""
    periods = periods_of(record)
    time, values = periods.column, periods.values
    frame = survival(record, {} if grid is None else grid, 0.95)
    people = list(frame.columns[: list(frame.columns).index(time)])
    count = len(frame) // len(values)
    if not 1 <= count <= MOST_CURVES:
        raise MethodError(
            f"plot('survival') of {count} curves",
            expected=f"1 to {MOST_CURVES}",
            remedy="Give a few rows: fit.plot('survival', grid=fit.grid(arm=None)).",
        )
    differ = [name for name in people if frame[name].nunique() > 1]
    places = [float(place) for place in range(1, len(values) + 1)]
    marks: list[Mark] = []
    lines = []
    for place in range(count):
        part = frame.iloc[place * len(values) : (place + 1) * len(values)]
        label = ", ".join(f"{name} {part[name].iloc[0]}" for name in differ)
        low, high = part["conf_low"].tolist(), part["conf_high"].tolist()
        if count == 1:
            marks.append(shapes.Band([0.0, *places], [1.0, *low], [1.0, *high]))
        else:
            moved = [at + _APART * (place - (count - 1) / 2.0) for at in places]
            marks.append(shapes.Intervals(moved, low, high, f"path-{place}", caps=False, upright=True))
        role = "line" if count == 1 else f"path-{place}"
        marks.append(shapes.Curve([0.0, *places], [1.0, *part["estimate"]], role, label))
        lines += [
            (label, str(value), *(coefficient(each) for each in numbers))
            for value, *numbers in zip(values, part["estimate"].tolist(), low, high, strict=True)
        ]
    title, words, below, start, caption = ABOVE if periods.stages else SURVIVAL
    named = tuple((at, str(value)) for at, value in zip(places, values, strict=True))
    return Figure(
        "survival",
        title,
        x=Axis(f"{below} {time}", 0.0, len(values) + 0.3, marks=((0.0, start), *named)),
        y=Axis(words, 0.0, 1.0),
        marks=tuple(marks),
        caption=f"{caption}, with the 95 % interval of each point.",
        twin=Rows(title, ("curve", time, title.lower(), "low", "high"), tuple(lines), (2, 3, 4)),
    )
