"""The page of a profile: sample characteristics, their table and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from dpglm.postprocessing.correlations import ProfiledColumn, column_names
from dpglm.postprocessing.profile import Estimate, Group, ProfileRecord, Statistic
from dpglm.postprocessing.profile_tables import correlation_tables, summary
from dpglm.postprocessing.quartiles import EDGES, NORMAL
from dpglm.report.figure import MOST_GROUPS, Axis, Figure, Intervals, Mark, Names, Points, Rows
from dpglm.report.section import Section, Subject, shown
from dpglm.tables.table import coefficient, percent
from dpglm.typing import FloatMatrix, FloatVector

MOST_ROWS: Final = 40  # lines of a figure; the table has more
MOST_TABLE_ROWS: Final = 250
MOST_PAIRS: Final = 30
PAIR: Final = ("column", "with", "correlation", "std err")
LONGEST_NAME: Final = 60


def profile_subject(record: ProfileRecord) -> Subject:
    """A profile as a page tells it."""
    columns = shown(", ".join(record.names), 900)
    return Subject(
        noun="profile",
        standfirst="Sample characteristics",
        asked=columns if record.by is None else f"{columns} by {record.by}",
        schema=record.schema,
        public="columns and groups",
        decided=("bounds", "exploration", "columns", "repeats", "unit"),
        results=(sample(record),),
    )


def sample(record: ProfileRecord) -> Section:
    """The table of sample characteristics, with a figure of the shares and one of the means."""
    table = summary(record)
    rows = []
    for place, (name, *cells) in enumerate(table.rows[:MOST_TABLE_ROWS]):
        words = f"– {shown(name)}" if place in table.indented else shown(name)
        rows.append((words, *(cell.replace("+-", "±") for cell in cells)))
    headings = tuple(shown(column.heading, LONGEST_NAME) for column in table.columns)
    pairs = () if record.products is None else _pairs(record)
    content = {
        "table": Rows(table.title, headings, tuple(rows), numeric=tuple(range(1, len(headings)))),
        "left_out": len(table.rows) - len(rows),
        "classes": EDGES + 1,
        "correlations": None
        if record.products is None
        else Rows("Correlations", PAIR, pairs[:MOST_PAIRS], numeric=(2, 3)),
        "pairs_left_out": max(len(pairs) - MOST_PAIRS, 0),
        "figures": [figure for draw in FIGURES.values() if (figure := draw(record))],
    }
    return Section("sample", "Sample characteristics", content)


def _pairs(record: ProfileRecord) -> tuple[tuple[str, ...], ...]:
    """Correlations of two columns with their standard errors, the strongest first.

    Of a factor with two levels the second is taken: the first says nothing more.
    """
    assert record.products is not None, "asked of profiles with products"
    estimates, errors = (frame.to_numpy() for frame in correlation_tables(record))
    names = [
        (column.name, shown(name, LONGEST_NAME), len(column.levels) == 2 and place == 0)
        for column in record.products.columns
        for place, name in enumerate(column_names((column,)))
    ]
    found = [
        (abs(float(estimates[i, j])), (first, second, f"{estimates[i, j]:.2f}", f"{errors[i, j]:.2f}"))
        for i, (one, first, skipped) in enumerate(names)
        for j, (other, second, left_out) in enumerate(names[:i])
        if one != other and not skipped and not left_out and np.isfinite(estimates[i, j])
    ]
    return tuple(row for _, row in sorted(found, key=lambda pair: -pair[0]))


def shares_figure(record: ProfileRecord) -> Figure | None:
    """Shares of levels with 95 % intervals, a dot for each group; None without factors."""
    lines = [
        (column.name, level, f"{column.name}: {level}")
        for column in _columns(record)
        # The share of the first of two levels says nothing more.
        for level in (column.levels[1:] if len(column.levels) == 2 else column.levels)
    ]
    if not lines:
        return None
    drawn = lines[:MOST_ROWS]
    marks: list[Mark] = []
    twin = []
    highest = 1.0
    for index, group, told in _groups(record):
        places, errors = 100.0 * _values(told[column, level, "share"] for column, level, _ in drawn)
        ends = _around(places, NORMAL * errors, 0.0, 100.0)
        highest = max(highest, *np.nan_to_num(ends[1]).tolist())
        marks += _group_marks(record, index, places, {True: ends})
        twin += [
            (shown(name, LONGEST_NAME), group, *map(percent, shares))
            for (*_, name), *shares in zip(drawn, *(0.01 * np.vstack([places, ends])).tolist(), strict=True)
        ]
    return Figure(
        "shares",
        "Shares of levels with 95 % intervals",
        "One line per level: a dot at its share of the rows with a value, in each group, and a bar over its "
        "interval.",
        x=Axis("share of rows in %", 0.0, min(100.0, 1.04 * highest)),
        y=Names(tuple(name for *_, name in drawn), spacing=_spacing(record)),
        marks=tuple(marks),
        caption="Shares of levels, with 95 % intervals that hold sampling and the noise of the release. Of "
        f"two levels the second is drawn{_left_out(record, len(lines), 'levels')}.",
        twin=Rows(
            "Shares drawn", ("level", "group", "share", "lower", "upper"), tuple(twin), numeric=(2, 3, 4)
        ),
    )


def means_figure(record: ProfileRecord) -> Figure | None:
    """Means and standard deviations between the declared bounds, for each group; None without numbers."""
    return _numbers_figure(
        record,
        "means",
        ("mean", "sd"),
        "Means and standard deviations between declared bounds",
        "One line per number, from its lower to its upper declared bound: a dot at the mean in each group, a "
        "bar of one standard deviation to each side, and caps at the ends of the mean’s interval.",
        "Means between the declared bounds. A bar reaches one standard deviation of the rows to each side; "
        "its caps are the ends of a 95 % interval of the mean, which holds sampling and the noise of the "
        "release",
        ("Means drawn", ("number", "group", "mean", "std err", "sd")),
    )


def quartiles_figure(record: ProfileRecord) -> Figure | None:
    """Medians and quartiles between the declared bounds, for each group; None without them."""
    if record.classes is None:
        return None
    return _numbers_figure(
        record,
        "quartiles",
        ("median", "q1", "q3"),
        "Medians and quartiles between declared bounds",
        "One line per number, from its lower to its upper declared bound: a dot at the median in each group, "
        "a bar from the first to the third quartile, and caps at the ends of the median’s interval.",
        "Medians between the declared bounds. A bar reaches from the first quartile to the third; "
        "its caps are the ends of a 95 % interval of the median, which holds sampling and the noise of the "
        "release",
        ("Medians drawn", ("number", "group", "median", "std err", "Q1", "Q3")),
    )


def _numbers_figure(
    record: ProfileRecord,
    slug: str,
    statistics: tuple[Statistic, ...],
    title: str,
    description: str,
    caption: str,
    twin: tuple[str, tuple[str, ...]],
) -> Figure | None:
    """Centres of numbers, the first of ``statistics``, with where the rows lie and intervals."""
    numbers = [column for column in _columns(record) if not column.levels]
    if not numbers:
        return None
    drawn = numbers[:MOST_ROWS]
    labels = [f"{shown(column.name, LONGEST_NAME)}, {column.low:g} to {column.high:g}" for column in drawn]
    middle, half = np.array([(column.middle, column.half) for column in drawn]).T
    marks: list[Mark] = []
    rows = []
    for index, group, told in _groups(record):
        columns = [{name: told[column.name, "", name] for name in statistics} for column in drawn]
        table = {name: np.array([column[name].value for column in columns]) for name in statistics}
        centre, *others = table
        errors = np.array([column[centre].error for column in columns])
        ends = np.array([column[centre].interval for column in columns]).T
        sd = table.get("sd")
        spread = [table["q1"], table["q3"]] if sd is None else [table["mean"] - sd, table["mean"] + sd]
        places, spread, ends = (
            np.clip((np.array(each) - middle) / half, -1.0, 1.0) for each in (table[centre], spread, ends)
        )
        marks += _group_marks(record, index, places, {False: spread, True: ends})
        told_beside = (table[centre], errors, *(table[name] for name in others))
        rows += [
            (label, group, *map(coefficient, values))
            for label, *values in zip(labels, *np.array(told_beside).tolist(), strict=True)
        ]
    name, headings = twin
    return Figure(
        slug,
        title,
        description,
        x=Axis(
            "place between the declared bounds",
            -1.0,
            1.0,
            marks=((-1.0, "lower bound"), (0.0, "middle"), (1.0, "upper bound")),
        ),
        y=Names(tuple(labels), spacing=_spacing(record)),
        marks=tuple(marks),
        caption=f"{caption}{_left_out(record, len(numbers), 'numbers')}.",
        twin=Rows(name, headings, tuple(rows), numeric=tuple(range(2, len(headings)))),
    )


FIGURES: Final[Mapping[str, Callable[[ProfileRecord], Figure | None]]] = {
    "shares": shares_figure,
    "means": means_figure,
    "quartiles": quartiles_figure,
}


def _columns(record: ProfileRecord) -> list[ProfiledColumn]:
    known = {column.name: column for column in record.columns}
    return [known[name] for name in record.names]


def _groups(record: ProfileRecord) -> list[tuple[int, str, Group]]:
    """The groups drawn: number, label, statistics."""
    return [
        (index, shown(label, LONGEST_NAME), record.of(label))
        for index, label in enumerate(record.groups[:MOST_GROUPS])
    ]


def _values(estimates: Iterable[Estimate]) -> FloatMatrix:
    """Values and standard errors, shape (2, k)."""
    return np.array([(estimate.value, estimate.error) for estimate in estimates]).T


def _around(places: FloatVector, lengths: FloatVector, low: float, high: float) -> FloatMatrix:
    """Ends of bars of these lengths to each side, inside of what is possible, shape (2, k)."""
    return np.clip([places - lengths, places + lengths], low, high)


def _group_marks(
    record: ProfileRecord, index: int, places: FloatVector, bars: Mapping[bool, FloatMatrix]
) -> list[Mark]:
    """Bars, by whether they have caps, and dots of one group, beside those of the others on each line."""
    count = min(len(record.groups), MOST_GROUPS)
    role = f"group-{index}" if record.by is not None else "point"
    label = f"{record.by} = {record.groups[index]}" if record.by is not None else ""
    given = np.isfinite(places)
    if not given.any():
        return []
    at = (np.flatnonzero(given) + 0.7 * ((index + 0.5) / count - 0.5)).tolist()
    marks: list[Mark] = []
    for caps, ends in bars.items():
        low, high = ends[:, given].tolist()
        words = shown(label, LONGEST_NAME) if caps else ""
        marks.append(Intervals(at, low, high, role, caps=caps, label=words))
    return [*marks, Points(places[given].tolist(), at, role, radius=3.0)]


def _spacing(record: ProfileRecord) -> float:
    return max(1.0, 0.6 * min(len(record.groups), MOST_GROUPS))


def _left_out(record: ProfileRecord, total: int, what: str) -> str:
    """What the figure leaves out, in words."""
    missing = f"; the first {MOST_ROWS} of {total} {what}" if total > MOST_ROWS else ""
    count = len(record.groups)
    return missing + (f"; the first {MOST_GROUPS} of {count} groups" if count > MOST_GROUPS else "")
