"""Pairs of neighbouring tables with cells of every kind, in every container that a fit takes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

SCHEMA: dict[str, Any] = {
    "y": ["no", "yes"],
    "z": (-5.0, 5.0),
    "k": {"bounds": (0.0, 20.0), "missing": 0.0},
    "x": (-1.0, 1.0),
    "w": {"bounds": (0.0, 100.0), "missing": 50.0},
    "g": {"levels": ["a", "b", "c"], "other": "c"},
}
COLUMNS = tuple(SCHEMA)
Row = dict[str, Any]
Relation = Literal["replace-one", "add-remove"]


class Hostile:
    """A cell that objects to being looked at."""

    def _refuse(self, *_: object) -> Any:
        raise ValueError("canary: this cell may not be looked at")

    __eq__ = __lt__ = __float__ = __int__ = __len__ = __iter__ = __bool__ = __array__ = _refuse
    __str__ = __repr__ = __hash__ = __index__ = _refuse


class Shouting(str):
    """A text whose own methods give something else."""

    def __str__(self) -> str:
        return "canary"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


WORDS = [
    "",
    "a",
    "b",
    "c",
    "no",
    "yes",
    "zzz",
    "1e999",
    "nan",
    " a",
    "0x10",
    "NA",
    "true",
    "1,5",
    "\x00",
    "1_0",
]
PLAIN = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(),
    st.sampled_from([2**63, -(2**63) - 1, 2**64, 10**400, -(10**400), 0, 1]),
    st.sampled_from(WORDS),
    st.booleans(),
    st.text(max_size=3),
)
# Made afresh for every cell: some change, and none may be shared by two runs.
ODD: list[Callable[[], Any]] = [
    lambda: b"yes",
    lambda: b"\xff\xfe",
    lambda: Decimal("0.5"),
    lambda: Decimal("sNaN"),
    lambda: Fraction(1, 3),
    lambda: 1 + 0j,
    lambda: complex("nan"),
    lambda: np.float32(0.5),
    lambda: np.int8(-3),
    lambda: np.bool_(True),
    lambda: np.datetime64("NaT"),
    lambda: pd.Timestamp("2020-02-29"),
    lambda: pd.Timestamp("2020-02-29", tz="Europe/Paris"),
    lambda: pd.Timedelta("1 day"),
    lambda: datetime.date(2020, 2, 29),
    lambda: pd.NaT,
    lambda: pd.NA,
    lambda: [1, [2, {"x": None}]],
    lambda: {"x": {"y": [1]}},
    lambda: np.zeros(3),
    lambda: pd.DataFrame({"x": [1]}),
    lambda: pd.Interval(0, 1),
    object,
    Hostile,
    lambda: Shouting("yes"),
]
CELLS = st.one_of(PLAIN, PLAIN, st.sampled_from(ODD).map(lambda make: make()))
ROWS: st.SearchStrategy[Row] = st.fixed_dictionaries(dict.fromkeys(COLUMNS, CELLS))
SOUND: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {
        "y": st.sampled_from(["no", "yes"]),
        "z": st.floats(-5, 5),
        "k": st.integers(0, 25),
        "x": st.floats(-1, 1),
        "w": st.floats(0, 100),
        "g": st.sampled_from(["a", "b", "c"]),
    }
)


@st.composite
def neighbours(
    draw: Callable[..., Any], relation: Relation, rows: st.SearchStrategy[Row] = ROWS, most: int = 8
) -> tuple[list[Row], list[Row]]:
    """Two tables that differ in one row, anywhere in the table: in what it holds, or in being there."""
    table = draw(st.lists(st.one_of(rows, SOUND), max_size=most))
    shape = draw(st.sampled_from(["as drawn", "duplicates", "one class"]))
    if shape == "duplicates" and table:
        table = table + table
    if shape == "one class":
        table = [row | {"y": "yes", "k": 0, "z": 0.0} for row in table]
    place = draw(st.integers(0, len(table)))
    one, other = draw(rows), draw(st.one_of(rows, SOUND))
    first = [*table[:place], one, *table[place:]]
    second = [*table[:place], other, *table[place:]] if relation == "replace-one" else table
    return first, second


def _objects(rows: list[Row]) -> Any:
    frame = pd.DataFrame(index=range(len(rows)))
    for name in COLUMNS:
        cells = np.empty(len(rows), dtype=object)
        for place, row in enumerate(rows):
            cells[place] = row[name]
        frame[name] = pd.Series(cells, dtype=object)
    return frame


def _each(change: Callable[[Any], Any]) -> Callable[[list[Row]], Any]:
    """Every column changed, where that works: what a library infers differs between neighbours."""

    def made(rows: list[Row]) -> Any:
        frame = _objects(rows)
        for name in COLUMNS:
            try:
                frame[name] = change(frame[name])
            except Exception:
                continue
        return frame

    return made


def _arrow(rows: list[Row]) -> Any:
    columns = {}
    for name in COLUMNS:
        cells = [row[name] for row in rows]
        try:
            columns[name] = pa.array(cells)
        except Exception:
            columns[name] = pa.array([cell if isinstance(cell, str) else None for cell in cells], pa.string())
    return pa.table(columns)


def _polars(rows: list[Row]) -> Any:
    import polars

    columns = {}
    for name in COLUMNS:
        cells = [row[name] for row in rows]
        try:
            columns[name] = polars.Series(name, cells, strict=False)
        except (Exception, polars.exceptions.PanicException):  # a panic of its own is no Exception
            columns[name] = polars.Series(name, [None] * len(cells), dtype=polars.String)
    return polars.DataFrame(list(columns.values()))


DRESSES: dict[str, Callable[[list[Row]], Any]] = {
    "objects": _objects,
    "inferred": _each(lambda column: column.infer_objects()),
    "nullable": _each(lambda column: column.convert_dtypes()),
    "arrow columns": _each(lambda column: column.convert_dtypes(dtype_backend="pyarrow")),
    "categories": _each(lambda column: column.astype("category")),
    "other categories": _each(lambda column: column.astype(pd.CategoricalDtype(["zzz", "yes", "a", 1.0]))),
    "texts": _each(lambda column: column.astype(str)),
    "dates": _each(lambda column: pd.to_datetime(column)),
    "dictionary": _each(lambda column: column.astype(str).astype("category").astype("category")),
    "arrow table": _arrow,
    "polars": _polars,
}
