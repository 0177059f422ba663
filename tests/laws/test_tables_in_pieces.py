"""A table in pieces is the table: however it is cut, chunks and their last bits are those of one frame.

What stands in one cell of one piece changes nothing in any other row, and raises or warns of nothing.
"""

from __future__ import annotations

import datetime as dt
import itertools
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.unit import Unit
from dpglm.data.tables.csv_rows import CsvFile
from dpglm.data.tables.persons import PersonRows
from dpglm.data.tables.source import PiecewiseSource
from dpglm.data.tables.sources import FrameSource, open_source

law = settings(derandomize=True, deadline=None, max_examples=60)
few = settings(derandomize=True, deadline=None, max_examples=25)

SCHEMA = Schema.of(
    {
        "x": (-2.0, 1e6),
        "day": {"bounds": (0, 9000), "date": {"origin": "2000-01-01"}},
        "g": {"levels": ["a", "7", "b,c", "2020-01-01"], "other": "omit"},
        "k": {"levels": [1, 2, 2.5, 2**60 + 1]},
    }
)
NAMES = list(SCHEMA.variables)
NUMERIC = sorted(SCHEMA.plain_numbers(NAMES))
# What a file may hold in a column, and the types that a piece may store it in.
CELLS = {
    "x": st.sampled_from([None, 0.1, -3.0, 0.333, 7.0, 12345.678901234567]),
    "day": st.dates(dt.date(1999, 1, 1), dt.date(2026, 1, 1)) | st.none(),
    "g": st.sampled_from([None, "a", "7", "b,c", "else", 'q"u']),
    "k": st.sampled_from([None, 1, 2, 3, 2**60 + 1]),
}
CODES = pa.dictionary(pa.int32(), pa.string())
TYPES = {
    "x": [pa.float64(), pa.string(), pa.decimal128(38, 15), CODES, pa.null()],
    "day": [pa.date32(), pa.timestamp("s"), pa.timestamp("ns"), pa.string(), pa.null()],
    "g": [pa.string(), pa.large_string(), CODES, pa.binary(), pa.null()],
    "k": [pa.int64(), pa.string(), pa.decimal128(38, 0), pa.null()],
}
HOSTILE = [None, "", "77516", "no", "1e999", "nan", '"', 'a"', ",", "\r", "\0", "2020-02-30", "é" * 9, "07"]
ROWS = st.lists(st.fixed_dictionaries(CELLS), max_size=24)
Table = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def no_warning_at_all() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def column(rows: Table, name: str, kind: pa.DataType) -> pa.Array:
    """The cells in that type; a column may be of the type of nothing where nothing stands in it."""
    cells = [row[name] for row in rows]
    if pa.types.is_null(kind) and any(cell is not None for cell in cells):
        kind = TYPES[name][0]
    if pa.types.is_decimal(kind):
        return pa.array([None if cell is None else Decimal(str(cell)) for cell in cells], kind)
    if kind in (pa.string(), pa.large_string(), pa.binary(), CODES):
        spelled = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
        return spelled.dictionary_encode() if kind == CODES else spelled.cast(kind)
    return pa.array(cells, pa.date32()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(cells, kind)


def arrow(rows: Table, types: dict[str, pa.DataType] | None = None) -> pa.Table:
    kinds = {name: kinds[0] for name, kinds in TYPES.items()} | (types or {})
    return pa.table({name: column(rows, name, kind) for name, kind in kinds.items()})


def cut(rows: Table, cuts: Sequence[int]) -> list[Table]:
    """The rows in ``len(cuts) + 1`` pieces, of which any may be empty."""
    ends = sorted(min(end, len(rows)) for end in cuts)
    return [rows[first:end] for first, end in zip([0, *ends], [*ends, len(rows)], strict=True)]


def chunked(source: PiecewiseSource, chunk_rows: int) -> list[dict[str, Any]]:
    """Cleaned chunks of a pass; a second pass gives the same."""
    source.chunk_rows = chunk_rows
    first, second = (
        [SCHEMA.clean(chunk, NAMES) for chunk in source.chunks(NAMES, numeric=NUMERIC)] for _ in range(2)
    )
    require_same(first, second)
    return first


def require_same(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    assert [len(chunk["x"]) for chunk in one] == [len(chunk["x"]) for chunk in other]
    for left, right in zip(one, other, strict=True):
        for name in NAMES:
            assert left[name].tobytes() == right[name].tobytes(), name


def whole(rows: Table, chunk_rows: int) -> list[dict[str, Any]]:
    """The chunks of all rows in one frame."""
    return chunked(open_source(arrow(rows)), chunk_rows)


def write_csv(path: Path, rows: Table, names: Sequence[str] = NAMES) -> Path:
    pd.DataFrame(rows, columns=list(names), dtype=object).to_csv(path, index=False)
    return path


@law
@given(ROWS, st.lists(st.integers(0, 24), max_size=6), st.integers(1, 9), st.data())
def test_parquet_files_of_any_types_are_one_table(
    rows: Table, cuts: list[int], chunk_rows: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        for place, piece in enumerate(cut(rows, cuts)):
            types = {column: data.draw(st.sampled_from(kinds)) for column, kinds in TYPES.items()}
            table = arrow(piece, types).select(data.draw(st.permutations(NAMES)))
            pq.write_table(table, f"{name}/part-{place}.parquet", row_group_size=data.draw(st.integers(1, 9)))
        require_same(chunked(open_source(name), chunk_rows), whole(rows, chunk_rows))
        require_same(chunked(open_source(f"{name}/*.parquet"), chunk_rows), whole(rows, chunk_rows))
        dataset = pyarrow.dataset.dataset(name)
        require_same(chunked(open_source(dataset), chunk_rows), whole(rows, chunk_rows))


@law
@given(ROWS, st.lists(st.integers(0, 24), max_size=6), st.integers(1, 9), st.data())
def test_csv_files_are_one_table_whatever_the_order_of_their_columns(
    rows: Table, cuts: list[int], chunk_rows: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = []
        for place, piece in enumerate(cut(rows, cuts)):
            end = data.draw(st.sampled_from(["csv", "csv.gz"]))
            names = data.draw(st.permutations([*NAMES, "more"]))
            files.append(write_csv(Path(name, f"part-{place}.{end}"), piece, names))
        require_same(chunked(open_source(files), chunk_rows), whole(rows, chunk_rows))


@few
@given(ROWS, st.lists(st.integers(0, 24), max_size=4), st.integers(1, 9))
def test_queries_are_the_table_that_they_give(rows: Table, cuts: list[int], chunk_rows: int) -> None:
    expected, table = whole(rows, chunk_rows), arrow(rows)
    pieces = [arrow(piece) for piece in cut(rows, cuts)]
    with duckdb.connect() as connection:
        queries = [
            pl.LazyFrame(pl.from_arrow(table)),
            pl.concat([pl.LazyFrame(pl.from_arrow(piece)) for piece in pieces]),
            connection.from_arrow(table),
            pyarrow.dataset.dataset(pieces),
            pyarrow.dataset.dataset(table.to_reader(max_chunksize=3), schema=table.schema),
        ]
        for query in queries:
            require_same(chunked(open_source(query), chunk_rows), expected)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    for npartitions in (1, 1 + len(cuts)):
        query = dask.dataframe.from_pandas(frame, npartitions=npartitions, sort=False)
        require_same(chunked(open_source(query), chunk_rows), expected)


@law
@given(
    ROWS.filter(len),
    st.lists(st.integers(0, 24), max_size=4),
    st.integers(1, 9),
    st.integers(0, 23),
    st.sampled_from(NAMES),
    st.sampled_from(HOSTILE),
)
def test_a_hostile_cell_in_one_file_changes_no_other_row(
    rows: Table, cuts: list[int], chunk_rows: int, place: int, name: str, cell: Any
) -> None:
    place %= len(rows)
    spoilt = [row | ({name: cell} if at == place else {}) for at, row in enumerate(rows)]
    for kind in ("csv", "parquet"):
        reads = []
        for table in (rows, spoilt):
            with tempfile.TemporaryDirectory() as folder:
                for number, piece in enumerate(cut(table, cuts)):
                    if kind == "csv":
                        write_csv(Path(folder, f"{number}.csv"), piece)
                    else:
                        # The hostile cell changes the type of its column in its file.
                        odd = any(row is spoilt[place] for row in piece) and isinstance(cell, str)
                        types = {name: pa.string()} if odd else None
                        pq.write_table(arrow(piece, types), f"{folder}/{number}.parquet")
                reads.append(chunked(open_source(folder), chunk_rows))
        assert [len(chunk["x"]) for chunk in reads[0]] == [len(chunk["x"]) for chunk in reads[1]]
        for one in NAMES:
            found, expected = (np.concatenate([chunk[one] for chunk in read]) for read in reads)
            assert np.delete(found, place).tobytes() == np.delete(expected, place).tobytes(), (kind, one)


@law
@given(
    st.lists(st.sampled_from(["a", "b", " c", "07", "7", None, "8.0"]), max_size=20),
    st.lists(st.integers(0, 20), max_size=4),
    st.integers(1, 6),
    st.builds(Unit, column=st.just("id"), rows=st.integers(1, 3), weights=st.sampled_from(["unit", "row"])),
)
def test_a_person_may_have_rows_in_several_files(
    people: list[str | None], cuts: list[int], chunk_rows: int, unit: Unit
) -> None:
    rows = [{"id": person, "x": place / 4} for place, person in enumerate(people)]
    columns = {"id": pd.array(people, "str"), "x": [row["x"] for row in rows]}
    expected = shares(FrameSource(pd.DataFrame(columns)), unit, chunk_rows)
    with tempfile.TemporaryDirectory() as name:
        for place, piece in enumerate(cut(rows, cuts)):
            pd.DataFrame(piece, columns=["id", "x"]).to_csv(f"{name}/{place}.csv", index=False)
        assert shares(open_source(name), unit, chunk_rows) == expected


@few
@given(
    st.lists(st.sampled_from(["0,5", "8", "x", ""]), max_size=12),
    st.lists(st.integers(0, 12), max_size=3),
    st.integers(1, 5),
)
def test_an_id_that_is_a_number_has_the_decimal_comma_of_its_files(
    cells: list[str], cuts: list[int], chunk_rows: int
) -> None:
    """It is read as a text first, and then as a number."""
    schema = Schema.of({"x": (0, 9)})
    found = []
    for pieces in (cut([{"x": cell} for cell in cells], cuts), [[{"x": cell} for cell in cells]]):
        with tempfile.TemporaryDirectory() as name:
            for place, piece in enumerate(pieces):
                pd.DataFrame(piece, columns=["x"]).to_csv(f"{name}/{place}.csv", index=False, sep=";")
            source = open_source(CsvFile(name, ";", decimal=","))
            source.chunk_rows = chunk_rows
            chunks = PersonRows(source, Unit("x")).chunks(["x"], numeric=["x"])
            found.append(
                [(schema.clean(chunk, ["x"])["x"].tolist(), kept.tolist()) for chunk, kept, _ in chunks]
            )
    assert repr(found[0]) == repr(found[1])


FITTED = Schema.of({"y": ["no", "yes"], "x": (-4, 4), "g": ["a", "b", "c"]})


def fitted_tables(folder: Path, duck: duckdb.DuckDBPyConnection) -> Iterator[Any]:
    """One table of three chunks and some rows, as a frame, a file, uneven pieces and queries."""
    rows, random = 66_000, np.random.default_rng(5)
    frame = pd.DataFrame({"x": random.normal(size=rows).round(4), "g": random.choice(["a", "b", "c"], rows)})
    frame["y"] = np.where(random.random(rows) < 1 / (1 + np.exp(-frame["x"])), "yes", "no")
    frame.loc[::1000, "x"] = np.nan
    yield frame
    for kind in ("csv", "parquet"):
        (folder / kind).mkdir()
        ends = [0, 0, 5, 32_000, 32_001, 40_007, 65_000, rows]
        pieces = {
            folder / f"whole.{kind}": frame,
            **{
                folder / kind / f"{place}.{kind}": frame.iloc[first:end]
                for place, (first, end) in enumerate(itertools.pairwise(ends))
            },
        }
        for path, piece in pieces.items():
            piece.to_csv(path, index=False) if kind == "csv" else piece.to_parquet(path, row_group_size=7000)
        yield folder / f"whole.{kind}"
        yield folder / kind
    yield pyarrow.dataset.dataset(folder / "parquet")
    yield pl.scan_parquet(folder / "parquet" / "*.parquet")
    yield duck.sql(f"from '{folder}/parquet/*.parquet'")
    yield dask.dataframe.read_parquet(folder / "parquet")


def test_a_fit_is_the_same_to_the_last_bit_however_its_table_comes(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        fits = {
            repr(dpglm.fit("y ~ x + g", data, schema=FITTED, privacy=(1.0, 1e-6), seed=3).tidy().to_dict())
            for data in fitted_tables(tmp_path, connection)
        }
    assert len(fits) == 1


def shares(source: PiecewiseSource, unit: Unit, chunk_rows: int) -> list[Any]:
    source.chunk_rows = chunk_rows
    found = []
    for chunk, kept, share in PersonRows(source, unit).chunks(["x"], numeric=["x"]):
        x = SCHEMA.clean(chunk, ["x"])["x"]
        found.append((x.tolist(), kept.tolist(), None if share is None else share.tolist()))
    return found
