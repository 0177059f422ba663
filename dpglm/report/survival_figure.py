"""Survival curves with the intervals of their points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpglm.errors import MethodError
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.survival import periods_of, survival
from dpglm.report.figure import Axis, Band, Curve, Figure, Intervals, Mark, Rows
from dpglm.tables.table import coefficient

if TYPE_CHECKING:
    import pandas as pd

MOST_CURVES: Final = 8
# Title, what a point is and of what, where it begins, and the caption.
SURVIVAL: Final = (
    "Survival",
    "without the event",
    "end of",
    "start",
    "Probability of no event up to the end of each period",
)
ABOVE: Final = (
    "Higher levels",
    "above the level",
    "level of",
    "all",
    "Probability of a level above each one",
)
# How far the intervals of two curves stand apart, as a share of a period.
_APART: Final = 0.08


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
            marks.append(Band([0.0, *places], [1.0, *low], [1.0, *high]))
        else:
            moved = [at + _APART * (place - (count - 1) / 2.0) for at in places]
            marks.append(Intervals(moved, low, high, f"path-{place}", caps=False, upright=True))
        role = "line" if count == 1 else f"path-{place}"
        marks.append(Curve([0.0, *places], [1.0, *part["estimate"]], role, label))
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
