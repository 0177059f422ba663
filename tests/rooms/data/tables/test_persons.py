"""Shares of rows follow from a person's own rows, in any order, and add up to at most 1."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.data.coding.column_table import ColumnTable
from dpglm.data.schema.unit import Unit
from dpglm.data.tables.persons import PersonRows
from dpglm.data.tables.sources import FrameSource, open_source
from dpglm.errors import SchemaError

PEOPLE = st.lists(st.sampled_from(["a", "b", "c", "d", None, ""]), max_size=30)
UNITS = st.builds(
    Unit, column=st.just("id"), rows=st.integers(1, 5), weights=st.sampled_from(["unit", "row"])
)


def read(frame: pd.DataFrame, unit: Unit, chunk_rows: int = 4) -> pd.DataFrame:
    """The rows that count, with their shares; twice the same."""
    rows = PersonRows(FrameSource(frame, chunk_rows=chunk_rows), unit)
    passes = []
    for _ in range(2):
        parts = [
            part.iloc[kept].assign(share=1.0 if share is None else share)
            for part, kept, share in rows.chunks(["id", "x"])
        ]
        passes.append(pd.concat([frame.head(0).assign(share=[]), *parts]).astype({"share": float}))
    pd.testing.assert_frame_equal(*passes)
    return passes[0]


def table(people: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"id": pd.Series(people, dtype=object), "x": np.arange(len(people))})


@given(PEOPLE, UNITS)
def test_shares_add_up_to_at_most_one_and_no_person_has_more_rows_than_declared(
    people: list[Any], unit: Unit
) -> None:
    found = read(table(people), unit)
    assert found["id"].isin(["a", "b", "c", "d"]).all()
    for _, own in found.groupby("id"):
        assert len(own) <= unit.rows
        expected = 1.0 if unit.weights == "unit" else len(own) / unit.rows
        assert expected - unit.rows / 4096 <= own["share"].sum() <= min(expected, 1.0)
        assert (own["share"] > 0.0).all()
    if unit.weights == "unit":
        assert set(found["id"]) == {one for one in people if one}


@given(PEOPLE, UNITS, st.integers(1, 40))
def test_another_persons_rows_change_nothing(people: list[Any], unit: Unit, chunk_rows: int) -> None:
    whole = read(table(people), unit)
    others = np.array([one != "a" for one in people], dtype=bool)
    without = read(table(people)[others], unit, chunk_rows)
    pd.testing.assert_frame_equal(whole[whole["id"] != "a"], without, check_dtype=False)


def test_a_person_is_one_text_whatever_the_column_is_made_of(tmp_path: Path) -> None:
    ids = [12, 12.0, "12", " 12 ", "012", True, None, float("nan"), "", [1], pd.Timestamp("2020-01-01")]
    found = read(table(ids), Unit("id"))
    assert found["x"].tolist() == [0, 1, 2, 3, 4, 5, 10]
    assert found["share"].tolist() == [0.25] * 4 + [1.0, 1.0, 1.0]


LARGE = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**53 + 1]
# Blanks, and texts of the same characters, by chance.
SHORT = [number.to_bytes(4, "big") for number in (9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 9, 0x30786666)]
UUIDS = [UUID(int=number) for number in (5, 2**127 + 9, 5)]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pd.Series(LARGE), 4),
        (pd.Series(LARGE, dtype="Int64"), 4),
        (pd.Series(LARGE, dtype="category"), 4),
        (pd.Series(LARGE, dtype=object), 4),
        (pd.Series([Decimal(number) for number in LARGE], dtype=object), 4),
        (pd.Series(LARGE, dtype=pd.ArrowDtype(pa.int64())), 4),
        (pd.Series(LARGE, dtype=pd.ArrowDtype(pa.decimal128(38, 0))), 4),
        (pd.Series([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype="uint64"), 2),
        (pd.Series(UUIDS, dtype=object), 2),
        (pd.Series(pd.arrays.ArrowExtensionArray(pa.array([one.bytes for one in UUIDS], pa.uuid()))), 2),
        (pd.Series(pd.arrays.ArrowExtensionArray(pa.array([one.bytes for one in UUIDS], pa.binary(16)))), 2),
        (pd.Series([b"\xff", b"\xfe", b"\xff"], dtype=object), 2),
        (pd.Series(SHORT, dtype=object), 11),
        (pd.Series(SHORT, dtype="category"), 11),
        (pd.Series(SHORT, dtype=pd.ArrowDtype(pa.binary())), 11),
        (pd.Series(SHORT, dtype=pd.ArrowDtype(pa.binary(4))), 11),
        (pd.Series(pd.arrays.ArrowExtensionArray(pa.array(SHORT).dictionary_encode())), 11),
        (pd.Series([b"a", b" a", " a", "a ", b"0xff", b"\xff", "0xff", b"", None], dtype=object), 6),
        (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-01"])), 2),
        (pd.Series([dt.date(2020, 1, 1), "2020-01-01", pd.Timestamp("2020-01-01 10:00")], dtype=object), 2),
        (pd.Series([dt.date(2020, 1, 1), None, dt.date(1, 1, 1)], dtype=pd.ArrowDtype(pa.date32())), 2),
        (pd.Series([[1], {}, 1j, pd.Timedelta(1), pd.Period("2020")], dtype=object), 0),
    ],
)
def test_ids_are_told_exactly_in_every_storage(ids: Any, expected: int, tmp_path: Path) -> None:
    def weight(data: Any) -> float:
        """The number of persons, since each of them weighs 1."""
        return sum(
            float(share.sum()) for _, _, share in PersonRows(open_source(data), Unit("id")).chunks(["id"])
        )

    frame = pd.DataFrame({"id": ids, "x": 0.5})
    assert weight(frame) == pytest.approx(expected, abs=1e-3)
    if expected and ids.dtype != object:
        frame.to_csv(tmp_path / "t.csv", index=False)
        # Bytes have no text that is theirs in every library.
        if "binary" not in str(ids.dtype):
            assert weight(tmp_path / "t.csv") == pytest.approx(expected, abs=1e-3)
        if ids.dtype != "category":
            pq.write_table(pa.table({"id": pa.array(ids)}), tmp_path / "t.parquet")
            assert weight(tmp_path / "t.parquet") == pytest.approx(expected, abs=1e-3)


def test_addresses_of_objects_are_nobodys_ids(tmp_path: Path) -> None:
    """polars gives UUIDs the type Object, and hands out where each of them lies in memory."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"id": [UUID(int=5), UUID(int=5), UUID(int=6), None], "x": [0, 1, 2, 3]})
    assert frame.schema["id"] == pl.Object
    pq.write_table(frame.to_arrow(), tmp_path / "t.parquet")
    for data in (frame, frame.to_arrow(), tmp_path / "t.parquet"):
        ((_, kept, _),) = PersonRows(open_source(data), Unit("id")).chunks(["x"])
        assert kept is not None
        assert kept.tolist() == []
        levels = dpglm.Categorical(["a", "b"], missing="a", other="b")
        assert levels.clean(next(open_source(data).chunks(["id"]))["id"]).tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files_give_the_shares_of_frames(ending: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"id": random.integers(0, 40, 200), "x": np.arange(200)})
    frame["id"] = frame["id"].astype("Int64").mask(frame["id"] == 7)
    path = tmp_path / f"visits.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    unit = Unit("id", rows=3)
    parts = list(PersonRows(open_source(path), unit).chunks(["x"]))
    x = np.concatenate([part["x"].astype(int).to_numpy()[kept] for part, kept, _ in parts])
    share = np.concatenate([share for _, _, share in parts if share is not None])
    expected = read(frame, unit)
    np.testing.assert_array_equal(x, expected["x"])
    np.testing.assert_array_equal(share, expected["share"])


def test_a_table_without_the_column_is_refused_before_it_is_read() -> None:
    schema = dpglm.Schema.of({"y": ["no", "yes"], "x": (0, 9)}, unit={"column": "who"})
    frame = pd.DataFrame({"y": ["no", "yes"], "x": [1, 2]})
    with pytest.raises(SchemaError, match="no column who"):
        dpglm.fit("y ~ x", frame, schema=schema, privacy=(1.0, 1e-6), progress=False)


@pytest.mark.parametrize(
    "unit",
    [
        {"rows": 3},
        {"column": "id", "rows": 0},
        {"column": "id", "rows": 1.5},
        {"column": "id", "weights": "equal"},
        {"column": 3},
        {"column": "id", "name": None},
        {"column": "id", "most": 3},
        {"column": ""},
    ],
)
def test_a_unit_that_means_nothing_is_refused(unit: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="unit"):
        dpglm.Schema.of({"x": (0, 1)}, unit=unit)


def test_a_schema_keeps_its_unit(tmp_path: Path) -> None:
    unit = {"column": "id", "rows": 3, "name": "one patient"}
    schema = dpglm.Schema.of({"x": (0, 1)}, unit=unit)
    assert schema.to_dict()["unit"] == unit
    assert dpglm.Schema.from_dict(schema.to_dict()) == schema
    schema.to_yaml(tmp_path / "s.yaml")
    assert dpglm.Schema.from_yaml(tmp_path / "s.yaml") == schema
    assert hash(schema) == hash(dpglm.Schema.from_dict(schema.to_dict()))


def test_a_column_that_is_a_number_too_tells_persons_by_its_text(tmp_path: Path) -> None:
    """Whatever stands in other rows: a file is read as numbers where all of a chunk are."""
    schema = dpglm.Schema.of({"who": (0, 2000), "x": (0, 1)}, unit={"column": "who"})
    counts = []
    for ids in (["0007", "8", "1.00", "1"], ["0007", "8", "1.00", "1", "zoe"], ["1"] + ["1.00"] * 900):
        path = tmp_path / "t.csv"
        pd.DataFrame({"who": ids, "x": 0.5}).to_csv(path, index=False)
        table = ColumnTable(open_source(path), schema, ("who", "x"), (), None)
        counts.append(sum(float(chunk.share.sum()) for chunk in table.chunks() if chunk.share is not None))
    assert counts[:2] == [4.0, 5.0]
    assert 1.8 <= counts[2] <= 2.0


def test_a_column_that_is_a_number_too_is_read_with_the_marks_of_its_file(tmp_path: Path) -> None:
    schema = dpglm.Schema.of({"who": (0, 9), "x": (0, 9)}, unit={"column": "who"})
    path = tmp_path / "t.csv"
    path.write_text("who;x\n1,5;2,5\n1.5;3,5\n2;4,5\n1,5;oh\n", encoding="utf-8")
    rows = PersonRows(open_source(dpglm.CsvFile(path, ";", decimal=",")), Unit("who"))
    ((frame, kept, share),) = rows.chunks(["who", "x"], numeric=("who", "x"))
    assert kept is not None
    assert share is not None
    assert share.tolist() == [0.5, 1.0, 1.0, 0.5]
    clean = schema.clean(frame, ["who", "x"])
    np.testing.assert_array_equal(clean["who"], [1.5, np.nan, 2.0, 1.5])
    np.testing.assert_array_equal(clean["x"], [2.5, 3.5, 4.5, np.nan])


@pytest.mark.parametrize("ids", [[1, 2, 3], [1, 2, 2], [1, None, 2]])
def test_columns_of_which_rows_cannot_be_taken_out_are_read_whoever_the_rows_are(ids: list[Any]) -> None:
    columns = {
        "who": pa.array(ids),
        "x": pa.array([0.1, 0.2, 0.3]),
        "y": pa.array(["a", "b", "a"], pa.string_view()),
    }
    schema = dpglm.Schema.of({"x": (0, 1), "y": ["a", "b"]}, unit={"column": "who", "rows": 1})
    found = dpglm.fit("y ~ x", pa.table(columns), schema=schema, privacy=1.0, progress=False)
    assert isinstance(found, dpglm.FitResult)


def test_rows_beyond_those_counted_do_not_add_to_what_a_person_weighs() -> None:
    """A query may give other rows when it is run again; each pass stays within a weight of 1."""

    class Growing(FrameSource):
        rows = 0

        def frames(self, *args: object, **options: object) -> Iterator[pd.DataFrame]:
            self.rows += 1
            yield self._frame.head(self.rows)

    source = Growing(pd.DataFrame({"id": ["a"] * 9, "x": 1.0}))
    rows = PersonRows(source, Unit("id"))
    for _ in range(5):
        assert sum(float(share.sum()) for _, _, share in rows.chunks(["x"])) == 1.0
