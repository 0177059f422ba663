"""Declared readings of any kind, over columns of any kind: no row changes another one, or what is said.

Two tables that differ in one row, or in one person's rows, are read one after the other. Errors, warnings and
steps are the same, and so is what is read in the rows that both have.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tqdm.auto
import tqdm.std
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.unit import Unit
from dpglm.data.schema.variables import variable_from_dict
from dpglm.data.tables.csv_rows import CsvFile
from dpglm.data.tables.files import CsvSource, ParquetSource
from dpglm.data.tables.persons import PersonRows
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError
from tests.fuzz.documented import within_bounds
from tests.laws.test_rowwise import cells, column_of, dates

CODES = [999, -9, "NK", "9999-12-31", "31.12.9999", "1,5", "", 0, "2020-01-01", True, 1e300]
NUMBERS = st.fixed_dictionaries(
    {"bounds": st.sampled_from([(0, 1), (-1e3, 1e4), (0, 1e300), (-5, 5e-324), (0, 3650)])},
    optional={
        "missing": st.sampled_from(["omit", 0, 0.5]),
        "missing_codes": st.lists(st.sampled_from(CODES), max_size=3, unique_by=str),
        "infinite": st.sampled_from(["missing", "bound"]),
    },
)
MARKS = st.fixed_dictionaries(
    {"decimal": st.sampled_from([".", ","]), "thousands": st.sampled_from(["", ".", ",", "'", " ", "_"])}
)
DATED = st.fixed_dictionaries(
    {
        "date": st.fixed_dictionaries(
            {"origin": st.sampled_from(["2015-01-01", "1900-01-01 06:30", "0001-01-01", "9999-12-31"])},
            optional={
                "unit": st.sampled_from(["seconds", "minutes", "hours", "days", "weeks", "years"]),
                "format": st.sampled_from(["iso", "%d.%m.%Y", "%Y%m%d", "%Y", "%Y-%m-%d %H:%M:%S.%f%z"]),
                "zone": st.sampled_from(["", "UTC", "+05:30", "-11:59"]),
            },
        )
    }
)
LEVELS = st.fixed_dictionaries(
    {
        "levels": st.sampled_from(
            [["no", "yes"], [0, 1, 2.5], [False, True], ["a", "A", "\u00df"], ["2020-01-01", "x"]]
        )
    },
    optional={
        "missing_codes": st.lists(st.sampled_from(CODES), max_size=3, unique_by=str),
        "strip": st.booleans(),
        "ignore_case": st.booleans(),
        "other": st.sampled_from(["omit", "no", 1, "x"]),
        "aliases": st.dictionaries(
            st.sampled_from(["n", 7, " y ", "SS", "9.0"]), st.sampled_from(["no", 0, "x"]), max_size=2
        ),
    },
)
DECLARED = st.one_of(
    NUMBERS,
    st.builds(dict.__or__, NUMBERS, MARKS),
    st.builds(dict.__or__, NUMBERS, DATED),
    st.builds(dict.__or__, NUMBERS, DATED),
    LEVELS,
)


def outcome(action: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What an action gives, or the error that it ends in, as text, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = within_bounds(action)
    said = [f"{one.category.__name__}: {one.message}" for one in caught]
    if isinstance(found, Exception):
        return None, [*said, f"{type(found).__name__}: {found}"]
    return found, said


def alike(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Both outcomes, of which the errors and warnings are the same."""
    (one, said), (other, said_of_other) = outcome(first), outcome(second)
    assert said == said_of_other
    return one, other


def variable(declaration: dict[str, Any]) -> Any:
    """The variable, or None where the declaration contradicts itself."""
    found, _ = outcome(lambda: variable_from_dict(declaration))
    return found


def test_cells(drawn: Any) -> None:
    """Objects of all kinds in a frame."""
    values = st.lists(cells, min_size=1, max_size=8)

    @drawn(700)
    @given(DECLARED, values, cells, st.integers(0, 7))
    def law(declaration: dict[str, Any], values: list[Any], instead: Any, place: int) -> None:
        declared = variable(declaration)
        if declared is None:
            return
        place %= len(values)
        others = [*values[:place], instead, *values[place + 1 :]]
        one, other = alike(
            lambda: declared.clean(column_of(values)), lambda: declared.clean(column_of(others))
        )
        np.testing.assert_array_equal(np.delete(one, place), np.delete(other, place))
        np.testing.assert_array_equal(
            one[place : place + 1], declared.clean(column_of(values[place : place + 1]))
        )

    law()


WHOLE = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**5), 10**5),
    st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1, 20150131, 0]),
)
ARROW = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")),
    *(pa.duration(unit) for unit in ("s", "ns")),
    pa.date64(),
    pa.int64(),
    pa.uint64(),
    pa.time64("us"),
]
NARROW = [pa.date32(), pa.int32(), pa.uint32(), pa.time32("s"), pa.float32()]


@st.composite
def arrow_columns(draw: Callable[..., Any]) -> tuple[Any, Any, int]:
    """Two columns of one type, in chunks, that differ in one row; and that row's place."""
    kind = draw(st.sampled_from([*ARROW, *NARROW]))
    counts = draw(st.lists(WHOLE, min_size=1, max_size=7))
    place = draw(st.integers(0, len(counts) - 1))
    changed = [*counts[:place], draw(WHOLE), *counts[place + 1 :]]
    empty = np.array(draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts))))
    cut = draw(st.integers(0, len(counts)))
    encoded = draw(st.booleans())
    found = []
    for numbers, missing in ((counts, empty), (changed, empty ^ (np.arange(len(counts)) == place))):
        raw = np.array(numbers, dtype=np.int64)
        raw = raw.astype(np.int32) if kind in NARROW else raw
        array = pa.array(raw, mask=missing).view(kind)
        pieces = [array[:cut], pa.nulls(0, kind), array[cut:]]
        pieces = [piece.dictionary_encode() for piece in pieces] if encoded else pieces
        found.append(pa.chunked_array(pieces))
    return found[0], found[1], place


def test_typed_columns(drawn: Any) -> None:
    """Arrow columns of whole numbers and times of any size, null chunks among them, and the same of numpy."""

    @drawn(500)
    @given(DECLARED, arrow_columns())
    def law(declaration: dict[str, Any], columns: tuple[Any, Any, int]) -> None:
        declared = variable(declaration)
        if declared is None:
            return
        *pair, place = columns
        series = [pd.Series(pd.arrays.ArrowExtensionArray(column)) for column in pair]
        one, other = alike(lambda: declared.clean(series[0]), lambda: declared.clean(series[1]))
        np.testing.assert_array_equal(np.delete(one, place), np.delete(other, place))
        kind = pair[0].type
        if pa.types.is_timestamp(kind) and kind.tz is None:
            # numpy says by the least number that there is no time.
            counts = [chunk.view(pa.int64()).fill_null(-(2**63)).to_numpy() for chunk in pair[0].chunks]
            times = np.concatenate(counts).view(f"M8[{kind.unit}]")
            np.testing.assert_array_equal(declared.clean(pd.Series(times)), one)
            np.testing.assert_array_equal(declared.clean(list(times)), one)

    law()


FIELDS = st.one_of(
    st.sampled_from(
        ["1,5", "1.5", "999", "NK", "2020-01-01", "31.12.9999", "20150131", "1.234,5", "inf", "", "no"]
    ),
    st.sampled_from(
        ["2015-03-31 07:00+01:00", "2015-02-30", " y ", "TRUE", '"', '"a;b"', "\u00df", "1e400", "\ufeff"]
    ),
    st.text(alphabet="0123456789-:.,;TZ+ e\u0663\"'\x00", max_size=12),
    dates.map(str),
)


def test_files(drawn: Any) -> None:
    """CSV files in every form; a line that is exchanged for another, whatever its fields are."""
    lines = st.tuples(FIELDS, FIELDS).map(list)

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.csv" for name in ("one", "other")]

        @drawn(400)
        @given(
            st.tuples(DECLARED, DECLARED),
            st.lists(lines, min_size=1, max_size=6),
            lines,
            st.integers(0, 5),
            st.sampled_from([",", ";", "\t", "|"]),
            st.sampled_from(["utf-8", "latin-1", "cp1252"]),
            st.sampled_from([".", ","]),
            st.integers(1, 4),
        )
        def law(
            declarations: Any,
            rows: list[list[str]],
            instead: list[str],
            place: int,
            separator: str,
            encoding: str,
            decimal: str,
            chunk_rows: int,
        ) -> None:
            declared = [variable(declaration) for declaration in declarations]
            if None in declared or separator == decimal:
                return
            schema, names = Schema(dict(zip("ab", declared, strict=True))), ["a", "b"]
            place %= len(rows)
            for path, table in zip(paths, (rows, [*rows[:place], instead, *rows[place + 1 :]]), strict=True):
                # A line that is empty would be no row: the last field is one that is never empty.
                body = "\n".join(separator.join([*row, "."]).replace("\n", "") for row in table)
                head = separator.join([*names, "end"])
                path.write_bytes(f"{head}\n{body}\n".encode(encoding, "replace"))

            def read(path: Path) -> Any:
                source = CsvSource(CsvFile(path, separator, encoding, decimal), chunk_rows=chunk_rows)
                parts = [
                    schema.clean(part, names)
                    for part in source.chunks(names, numeric=schema.plain_numbers(names))
                ]
                return np.array([np.concatenate([part[name] for part in parts]) for name in names])

            one, other = alike(lambda: read(paths[0]), lambda: read(paths[1]))
            np.testing.assert_array_equal(np.delete(one, place, axis=1), np.delete(other, place, axis=1))

        law()


def test_parquet_files(drawn: Any) -> None:
    """Times and whole numbers of any size in row groups of any size, as ids and as numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"

        @drawn(100)
        @given(DECLARED, arrow_columns(), st.integers(1, 4))
        def law(declaration: dict[str, Any], columns: tuple[Any, Any, int], chunk_rows: int) -> None:
            declared = variable(declaration)
            kind = columns[0].type
            # A file keeps no seconds: times beyond those that it can keep are refused when it is written.
            if declared is None or pa.types.is_dictionary(kind) or getattr(kind, "unit", "") == "s":
                return

            def read(column: Any) -> Any:
                pq.write_table(pa.table({"a": column}), path, row_group_size=chunk_rows, version="2.6")
                chunks = list(ParquetSource(path, chunk_rows=chunk_rows).chunks(["a"]))
                return np.concatenate([declared.clean(chunk["a"]) for chunk in chunks])

            *pair, place = columns
            one, other = alike(lambda: read(pair[0]), lambda: read(pair[1]))
            np.testing.assert_array_equal(np.delete(one, place), np.delete(other, place))

        law()


def test_persons(drawn: Any) -> None:
    """Whose a row is, of any cells: another person's rows change no share and no word."""
    tables = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=10)
    units = st.builds(Unit, st.just("id"), rows=st.integers(1, 4), weights=st.sampled_from(["unit", "row"]))

    @drawn(250)
    @given(st.lists(cells, min_size=6, max_size=6), tables, units)
    def law(ids: list[Any], rows: list[tuple[int, int]], unit: Unit) -> None:
        def read(instead: Any) -> Any:
            people = [instead if who == 0 else ids[who] for who, _ in rows]
            frame = pd.DataFrame({"id": column_of(people), "x": np.arange(len(rows))})
            parts = PersonRows(open_source(frame), unit).chunks(["x"])
            return [(kept, share) for _, kept, share in parts]

        one, other = alike(lambda: read(ids[0]), lambda: read(None))
        (kept, share), (kept_without, share_without) = one[0], other[0]
        hers = {place for place, (who, _) in enumerate(rows) if same(ids[who], ids[0])}
        found = [(k, None if share is None else share[n]) for n, k in enumerate(kept) if k not in hers]
        without = [
            (k, None if share_without is None else share_without[n])
            for n, k in enumerate(kept_without)
            if k not in hers
        ]
        assert found == without

    law()


def same(first: Any, second: Any) -> bool:
    """Whether two cells are one person, who then has two rows."""
    frame = pd.DataFrame({"id": column_of([first, second]), "x": [0, 1]})
    ((_, _, share),) = PersonRows(open_source(frame), Unit("id")).chunks(["x"])
    return share is not None and share.tolist() == [0.5, 0.5]


class Steps(tqdm.auto.tqdm):  # type: ignore[type-arg]
    """A bar that keeps what it was told."""

    told: ClassVar[list[str]] = []

    def set_description_str(self, desc: str | None = None, refresh: bool | None = True) -> None:
        Steps.told.append(str(desc))


def test_fits(drawn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole fits of tables with one row exchanged: the same steps, errors and warnings."""
    for home in (tqdm.auto, tqdm.std):  # the second one where there is no ipywidgets
        monkeypatch.setattr(home, "tqdm", Steps)
    schema = Schema.of(
        {
            "y": {"levels": ["no", "yes"], "aliases": {0: "no", 1: "yes"}, "missing_codes": [9]},
            "x": {"bounds": [0, 3650], "date": {"origin": "2015-01-01"}, "missing_codes": ["9999-12-31"]},
            "z": {"bounds": [-5, 5], "decimal": ","},
        },
        unit={"column": "id", "rows": 2},
    )
    random = np.random.default_rng(0)
    table = {
        "y": random.integers(0, 2, 60).tolist(),
        "x": [f"20{random.integers(15, 25)}-0{random.integers(1, 10)}-11" for _ in range(60)],
        "z": [f"{value:.2f}".replace(".", ",") for value in random.normal(size=60)],
        "id": random.integers(0, 40, 60).tolist(),
    }

    @drawn(50)
    @given(st.tuples(cells, cells, cells, cells), st.sampled_from(["replace-one", "add-remove"]))
    def law(row: tuple[Any, ...], relation: Any) -> None:
        def fit(row: tuple[Any, ...] | None) -> Any:
            values = (
                table if row is None else {k: [*v[:-1], row[n]] for n, (k, v) in enumerate(table.items())}
            )
            frame = pd.DataFrame({name: column_of(column) for name, column in values.items()})
            Steps.told = []
            found = dpglm.fit(
                "y ~ x + z",
                frame,
                schema=schema,
                privacy=dpglm.Privacy(2.0, 1e-6, relation=relation),
                progress=True,
            )
            found.summary()
            return list(Steps.told)

        one, other = alike(lambda: fit(None), lambda: fit(row))
        assert one == other
        assert one

    law()


def test_the_law_can_fail() -> None:
    """Its broken twin, a reader that warns of cells it cannot read, is caught."""

    def read(values: list[Any]) -> Any:
        if any(isinstance(value, list) for value in values):
            raise SchemaError("a list", expected="none", remedy="Remove it.")

    with pytest.raises(AssertionError):
        alike(lambda: read([1]), lambda: read([[1]]))
