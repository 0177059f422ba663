"""Datasets and queries: read again and again, piece by piece, and silent about what stands in their rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import dpglm
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.source import CHUNK_ROWS, PiecewiseSource
from dpglm.data.tables.sources import find_schema, is_table, open_source
from dpglm.errors import SchemaError

SCHEMA = Schema.of({"x": (0, 10**6), "g": ["a", "b"]})
CANARY = "secret77516"
ROWS = 3 * CHUNK_ROWS + 100


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def table(rows: int = ROWS) -> pa.Table:
    return pa.table({"x": np.arange(rows), "g": ["a", "b"] * (rows // 2)})


def numbers_of(source: PiecewiseSource, column: str = "x") -> Any:
    parts = [SCHEMA.variables["x"].clean(chunk[column]) for chunk in source.chunks([column])]
    return np.concatenate([np.empty(0), *parts])


def refused(action: Callable[[], Any]) -> SchemaError:
    """The refusal, which leads to no other exception, tells no cell and warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SchemaError) as caught:
            action()
    error: SchemaError = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert CANARY not in str(error)
    return error


QUERIES: dict[str, Callable[[Path, duckdb.DuckDBPyConnection], Any]] = {
    "polars": lambda path, duck: pl.scan_parquet(path / "*.parquet"),
    "duckdb": lambda path, duck: duck.sql(f"from '{path}/*.parquet'"),
    "dask": lambda path, duck: dask.dataframe.read_parquet(path),
    "dataset": lambda path, duck: pyarrow.dataset.dataset(path),
    "dataset in memory": lambda path, duck: pyarrow.dataset.dataset(pq.read_table(path)),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_read_again_and_again_in_even_chunks(
    tmp_path: Path, duck: duckdb.DuckDBPyConnection, name: str
) -> None:
    for place, start in enumerate(range(0, ROWS, 30_000)):
        pq.write_table(table().slice(start, 30_000), tmp_path / f"{place}.parquet")
    query = QUERIES[name](tmp_path, duck)
    assert is_table(query)
    source = open_source(query)
    assert source.column_names == ("x", "g")
    for _ in range(2):
        np.testing.assert_array_equal(numbers_of(source), np.arange(ROWS))
    assert [len(chunk) for chunk in source.chunks(["g"])] == [CHUNK_ROWS] * 3 + [100]
    chunks = source.chunks(["x"])
    next(chunks)
    del chunks  # given up half-way
    pairs = zip(source.chunks(["x"]), source.chunks(["x"]), strict=True)  # side by side
    for place, (one, other) in enumerate(pairs):
        np.testing.assert_array_equal(SCHEMA.clean(one, ["x"])["x"], SCHEMA.clean(other, ["x"])["x"])
        assert SCHEMA.clean(one, ["x"])["x"][0] == place * CHUNK_ROWS
    assert "beside" not in refused(lambda: find_schema(query)).remedy
    key = bytes(range(32))
    few = QUERIES[name](tmp_path, duck)
    assert dpglm.table_fingerprint(few, key=key) == dpglm.table_fingerprint(table(), key=key)


def test_names_of_columns_are_only_names(duck: duckdb.DuckDBPyConnection) -> None:
    names = ["^x.*$", "*", 'a"b', "a.b", "x y"]
    rows = pa.table({name: [place] for place, name in enumerate(names)})
    for query in (
        pl.LazyFrame(pl.from_arrow(rows)),
        duck.from_arrow(rows),
        pyarrow.dataset.dataset(rows),
        dask.dataframe.from_pandas(rows.to_pandas(), npartitions=1),
    ):
        for place, name in enumerate(names):
            assert numbers_of(open_source(query), name) == [place]
    numbered = dask.dataframe.from_pandas(pd.DataFrame([[5, 7]]), npartitions=1)
    assert open_source(numbered).column_names == ("0", "1")
    assert numbers_of(open_source(numbered), "1") == [7]


def test_partitions_of_dask_are_computed_one_by_one_and_without_a_cluster() -> None:
    computed: list[int] = []

    def note(frame: pd.DataFrame) -> pd.DataFrame:
        computed.append(len(frame))
        return frame

    def cluster(*_: object, **__: object) -> None:
        raise AssertionError("the default scheduler")

    query = dask.dataframe.from_pandas(table(400).to_pandas(), npartitions=4)
    source = open_source(query.map_partitions(note, meta=query._meta))
    source.chunk_rows = 100
    computed.clear()
    with dask.config.set(scheduler=cluster):
        chunks = source.chunks(["x"])
        next(chunks)
        assert computed == [100]
        assert len(list(chunks)) == 3


def test_a_lazy_frame_of_an_older_polars_is_collected() -> None:
    class LazyFrame:
        """What there was before batches."""

        __module__ = "polars.lazyframe.frame"

        def collect_schema(self) -> pl.Schema:
            return pl.Schema({"x": pl.Int64})

        def select(self, columns: Any) -> Any:
            return self

        def collect(self) -> pl.DataFrame:
            return pl.DataFrame({"x": [1, 2]})

    assert numbers_of(open_source(LazyFrame())).tolist() == [1, 2]


# Datasets


def test_files_of_a_dataset_are_read_by_their_own_types_and_with_the_columns_of_their_folders(
    tmp_path: Path,
) -> None:
    for folder, x in (("who=7", pa.array([1, 2], pa.int8())), ("who=8", pa.array(["3", CANARY, "90"]))):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"x": x}), tmp_path / folder / "1.parquet")
    dataset = pyarrow.dataset.dataset(tmp_path, partitioning="hive")
    with pytest.raises(pa.ArrowInvalid, match=CANARY):  # what the types of the first file would come to
        dataset.to_table()
    source = open_source(dataset)
    assert source.column_names == ("x", "who")
    np.testing.assert_array_equal(numbers_of(source), [1, 2, 3, np.nan, 90])
    assert numbers_of(source, "who").tolist() == [7, 7, 8, 8, 8]


def test_a_dataset_without_rows_in_memory_is_a_table_without_rows() -> None:
    empty = table(0)
    for dataset in (pyarrow.dataset.dataset(empty), pyarrow.dataset.dataset([empty, empty])):
        assert open_source(dataset).column_names == ("x", "g")
        assert list(open_source(dataset).chunks(["x"])) == []


def test_datasets_that_cannot_be_read_row_by_row_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "1.parquet"
    pq.write_table(table(4), path)
    whole = pyarrow.dataset.dataset(path)
    (tmp_path / "1.csv").write_text("x\n1\n")
    pq.write_table(table(4).drop(["g"]), tmp_path / "2.parquet")
    (tmp_path / "none").mkdir()
    for dataset, found in (
        (whole.filter(pyarrow.dataset.field("x") > 1), "a dataset with a filter"),
        (pyarrow.dataset.dataset([whole, whole]), "1.parquet of a dataset, which is there twice"),
        (pyarrow.dataset.dataset(tmp_path / "1.csv", format="csv"), "do not store the types"),
        (pyarrow.dataset.dataset(tmp_path / "none"), "without files"),
        (
            pyarrow.dataset.dataset([str(path), str(tmp_path / "2.parquet")]),
            "2.parquet of a dataset, which lacks",
        ),
    ):
        assert found in refused(lambda dataset=dataset: open_source(dataset)).found
    content = path.read_bytes()
    source = open_source(pyarrow.dataset.dataset(path))
    path.write_bytes(content[:50])
    assert "1.parquet" in refused(lambda: numbers_of(source)).found


# What goes wrong in a query


def shout(frame: pd.DataFrame) -> pd.DataFrame:
    if len(frame) > 3:  # not at what dask tries itself
        warnings.warn(CANARY, stacklevel=1)
        raise ValueError(CANARY)
    return frame


def test_a_query_that_fails_or_warns_tells_no_cell(duck: duckdb.DuckDBPyConnection) -> None:
    texts = pa.table({"x": ["1"] * 9 + [CANARY]})
    whole = dask.dataframe.from_pandas(texts.to_pandas(), npartitions=2)
    duck.register("texts", texts)
    for query in (
        pl.LazyFrame(pl.from_arrow(texts)).select(pl.col("x").cast(pl.Int64)),
        duck.sql("select x::int as x from texts"),
        whole.map_partitions(shout, meta=whole._meta),
        whole.astype({"x": "int64"}),
    ):
        source = open_source(query)
        assert "failed while it was read" in refused(lambda source=source: numbers_of(source)).found


def test_warnings_of_a_query_are_not_shown() -> None:
    def warn(frame: pd.DataFrame) -> pd.DataFrame:
        warnings.warn(CANARY, stacklevel=1)
        return frame

    query = dask.dataframe.from_pandas(table(4).to_pandas(), npartitions=2)
    source = open_source(query.map_partitions(warn, meta=query._meta))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numbers_of(source).tolist() == [0, 1, 2, 3]


def test_what_ends_the_program_is_not_held_up_and_a_panic_is() -> None:
    class Panic(BaseException):
        """As that of polars, which is no Exception."""

    for raised, expected in ((KeyboardInterrupt, KeyboardInterrupt), (Panic, SchemaError)):

        def fail(frame: pd.DataFrame, raised: type[BaseException] = raised) -> pd.DataFrame:
            raise raised(CANARY)

        query = dask.dataframe.from_pandas(table(4).to_pandas(), npartitions=1)
        source = open_source(query.map_partitions(fail, meta=query._meta))
        with pytest.raises(expected):
            numbers_of(source)


def test_a_query_that_cannot_be_run_is_refused_before_a_charge(tmp_path: Path) -> None:
    connection = duckdb.connect()
    relation = connection.sql("select 1 as x")
    other = duckdb.connect()
    busy = other.sql("select range as x from range(1000000)")
    reader = pa.RecordBatchReader.from_stream(busy)
    connection.close()
    missing = pl.scan_parquet(tmp_path / "none.parquet")
    ledger = dpglm.Ledger(tmp_path / "l.db", budget=(1.0, 0.1), dataset="t")
    for query in (relation, busy, missing):
        with pytest.raises(SchemaError, match="whose columns cannot be told"):
            dpglm.describe(query, schema=SCHEMA, columns=["x"], privacy=(1.0, 0.1), ledger=ledger)
    assert not ledger.entries
    del reader
