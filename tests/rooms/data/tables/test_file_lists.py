"""Tables in many files: which files they are, in which order, and what is wrong with them in public words."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpglm
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.csv_rows import CsvFile
from dpglm.data.tables.file_lists import is_data_file, table_files
from dpglm.data.tables.source import PiecewiseSource
from dpglm.data.tables.sources import find_schema, open_source
from dpglm.errors import SchemaError

SCHEMA = Schema.of({"x": (0, 99), "g": ["a", "b"]})
CANARY = "secret77516"


def frame(*numbers: int) -> pd.DataFrame:
    return pd.DataFrame({"x": numbers, "g": ["a"] * len(numbers)})


def csv(path: Path, *numbers: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame(*numbers).to_csv(path, index=False)
    return path


def parquet(path: Path, *numbers: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame(*numbers).to_parquet(path, index=False)
    return path


def numbers_of(source: PiecewiseSource) -> list[float]:
    return [x for chunk in source.chunks(["x"], numeric=["x"]) for x in SCHEMA.clean(chunk, ["x"])["x"]]


def refused(action: Callable[[], Any]) -> SchemaError:
    """The refusal, which leads to no other exception and tells no cell."""
    with pytest.raises(SchemaError) as caught:
        action()
    error: SchemaError = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert CANARY not in str(error)
    return error


# Which files


def test_a_folder_a_pattern_and_a_list_are_one_table_in_public_order(tmp_path: Path) -> None:
    for name, number in (("part-2", 3), ("part-10", 2), ("part-1", 1)):
        csv(tmp_path / "visits" / f"{name}.csv", number)
    folder = tmp_path / "visits"
    for data in (folder, str(folder), f"{folder}/", f"{folder}/*.csv", f"{folder}/part-*", [folder]):
        assert numbers_of(open_source(data)) == [1, 2, 3]  # as texts are sorted: part-10 before part-2
    files = [folder / "part-2.csv", f"{folder}/part-1*.csv"]
    assert numbers_of(open_source(files)) == numbers_of(open_source(tuple(files))) == [3, 1, 2]


def test_marks_of_jobs_and_schemas_are_passed_over_and_nothing_else(tmp_path: Path) -> None:
    csv(tmp_path / "t" / "1.csv", 1)
    for name in ("_SUCCESS", ".1.csv.crc", "_metadata", "t.schema.yaml"):
        (tmp_path / "t" / name).write_text("")
    assert numbers_of(open_source(tmp_path / "t")) == [1]
    (tmp_path / "t" / "2.xlsx").write_text("")
    assert "2.xlsx" in refused(lambda: open_source(tmp_path / "t")).found


def test_files_without_rows_are_fine(tmp_path: Path) -> None:
    for place, numbers in enumerate([(), (1, 2), (), (3,), ()]):
        csv(tmp_path / "c" / f"{place}.csv", *numbers)
        parquet(tmp_path / "p" / f"{place}.parquet", *numbers)
    assert numbers_of(open_source(tmp_path / "c")) == numbers_of(open_source(tmp_path / "p")) == [1, 2, 3]
    assert numbers_of(open_source([csv(tmp_path / "1.csv"), csv(tmp_path / "2.csv")])) == []


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    csv(tmp_path / "t[1].csv", 1)
    csv(tmp_path / "t1.csv", 2)
    assert numbers_of(open_source(tmp_path / "t[1].csv")) == [1]
    csv(tmp_path / "[a]" / "1.csv", 3)
    assert numbers_of(open_source(tmp_path / "[a]")) == [3]


def test_a_csv_file_with_a_separator_may_be_a_folder(tmp_path: Path) -> None:
    for name, line in (("1", "0,5;a"), ("2", "1,5;b"), ("3", '"x";b')):
        (tmp_path / f"{name}.csv").write_text(f"x;g\n{line}\n")
    read = numbers_of(open_source(CsvFile(tmp_path, ";", decimal=",")))
    assert read[:2] == [0.5, 1.5]
    assert read[2] != read[2]
    files = [CsvFile(tmp_path / "1.csv", ";", decimal=","), CsvFile(tmp_path / "2.csv", ";")]
    assert "a decimal comma" in refused(lambda: open_source(files)).found


def test_columns_come_by_name_in_any_order_and_more_of_them_are_ignored(tmp_path: Path) -> None:
    csv(tmp_path / "1.csv", 1)
    (tmp_path / "2.csv").write_text("more,g,x\n9,a,2\n")
    source = open_source(tmp_path)
    assert source.column_names == ("x", "g")
    assert numbers_of(source) == [1, 2]


# What is wrong


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda p: p, "no file in the folder"),
        (lambda p: p / "*.csv", "no file of the name"),
        (lambda p: "\0/*.csv", "no file of the name"),
        (lambda p: [], "an empty list"),
        (lambda p: [csv(p / "1.csv", 1), CANARY], "item 2 is no file"),
        (lambda p: [csv(p / "1.csv", 1), p / "none*"], "no file at item 2"),
        (lambda p: [csv(p / "1.csv", 1), 5], "data of type list"),
        (lambda p: [csv(p / "1.csv", 1), parquet(p / "2.pq", 1)], "two kinds in one table: 2.pq and 1.csv"),
        (lambda p: (csv(p / "1.csv", 1), parquet(p / "2.pq", 1)) and p, "two kinds in one table"),
        (lambda p: [csv(p / "1.csv", 1), p / "1.csv"], "one file twice in a table, as 1.csv and 1.csv"),
        (lambda p: [p, csv(p / "1.csv", 1)], "one file twice"),
        (lambda p: os.link(csv(p / "1.csv", 1), p / "2.csv") or p, "one file twice in a table, as 1.csv"),
        (lambda p: csv(p / f"who={CANARY}" / "1.csv", 1) and p, "the folder 'who' among the files"),
        (lambda p: (csv(p / "1.csv", 1), (p / "_delta_log").mkdir()) and p, "the folder '_delta_log'"),
        (lambda p: csv(p / "a" / "1.csv", 1) and p / "*", "the folder 'a' among the files"),
    ],
)
def test_what_are_no_files_of_a_table_is_refused(tmp_path: Path, make: Any, found: str) -> None:
    data = make(tmp_path)
    assert found in refused(lambda: open_source(data)).found


def test_another_header_is_found_before_any_row_is_read_and_tells_no_name(tmp_path: Path) -> None:
    csv(tmp_path / "1.csv", 1)
    (tmp_path / "2.csv").write_text(f"{CANARY},{CANARY}b\n{CANARY},\n")  # a file without names
    csv(tmp_path / "3.csv", 1)
    error = refused(lambda: open_source(tmp_path))
    assert error.found == "the file 2.csv, which lacks 2 of the 2 columns of the file 1.csv"
    (tmp_path / "2.csv").write_text(f"5,{CANARY}\n")
    assert "2.csv" in refused(lambda: open_source(tmp_path)).found
    (tmp_path / "2.csv").write_text(f"x,{CANARY},{CANARY}\n")
    assert "columns 2, 3 of 2.csv" in refused(lambda: open_source(tmp_path)).found
    (tmp_path / "2.csv").write_text("")
    assert "2.csv" in refused(lambda: open_source(tmp_path)).found


def test_a_damaged_file_of_a_folder_is_told_by_its_name(tmp_path: Path) -> None:
    parquet(tmp_path / "p" / "1.parquet", *range(50))
    whole = parquet(tmp_path / "p" / "2.parquet", *range(50)).read_bytes()
    (tmp_path / "p" / "2.parquet").write_bytes(whole[:-9])
    assert "the file 2.parquet" in refused(lambda: open_source(tmp_path / "p")).found
    csv(tmp_path / "c" / "1.csv", 1)
    packed = gzip.compress(b"x,g\n" + b"1,a\n" * 9999)
    (tmp_path / "c" / "2.csv.gz").write_bytes(packed[:-9])
    assert "the file 2.csv.gz" in refused(lambda: numbers_of(open_source(tmp_path / "c"))).found
    (tmp_path / "c" / "2.csv.gz").write_bytes(CANARY.encode())
    assert "the file 2.csv.gz" in refused(lambda: open_source(tmp_path / "c")).found


@pytest.mark.parametrize("write", [csv, parquet])
@pytest.mark.parametrize("change", ["gone", "longer", "touched", "other names"])
def test_a_file_that_changes_between_passes_is_told_by_its_name(
    tmp_path: Path, write: Any, change: str
) -> None:
    end = "csv" if write is csv else "parquet"
    write(tmp_path / f"1.{end}", 1)
    path = write(tmp_path / f"2.{end}", 2)
    source = open_source(tmp_path)
    assert numbers_of(source) == [1, 2]
    if change == "gone":
        path.unlink()
    elif change == "longer":
        write(path, 2, 3)
    elif change == "touched":
        os.utime(path, (1, 1))
    else:
        status, other = path.stat(), frame(2).rename(columns={"x": "g", "g": "x"})
        other.to_csv(path, index=False) if write is csv else other.to_parquet(path, index=False)
        assert path.stat().st_size == status.st_size
    what = "is no longer there" if change == "gone" else "has changed since it was opened"
    assert refused(lambda: numbers_of(source)).found == f"the file {path.name}, which {what}"


def test_a_later_file_is_not_opened_before_its_rows_are_needed(tmp_path: Path) -> None:
    csv(tmp_path / "1.csv", 1, 2)
    last = csv(tmp_path / "2.csv", 3)
    source = open_source(tmp_path)
    source.chunk_rows = 1
    chunks = source.chunks(["x"])
    next(chunks)
    last.unlink()
    next(chunks)
    assert "2.csv" in refused(lambda: next(chunks)).found


# The schema, and who takes files


def test_the_schema_is_found_beside_the_folder_of_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    csv(tmp_path / "visits.v2" / "1.csv", 1)
    csv(tmp_path / "visits.v2" / "2.csv", 2)
    folder = tmp_path / "visits.v2"
    for data in (folder, f"{folder}/*.csv", [folder / "1.csv", folder / "2.csv"]):
        assert "visits.v2.schema.yaml beside the data" in refused(lambda data=data: find_schema(data)).remedy
    SCHEMA.to_yaml(tmp_path / "visits.v2.schema.yaml")
    assert find_schema(folder) == find_schema(f"{folder}/*.csv") == SCHEMA
    assert find_schema([folder / "1.csv", folder / "2.csv"]) == SCHEMA
    plan = dpglm.plan("g ~ x", folder, n=99, privacy=1.0)
    assert plan.specification.schema == SCHEMA
    monkeypatch.chdir(folder)
    assert find_schema(".") == find_schema("*.csv") == SCHEMA
    apart = [folder / "1.csv", csv(tmp_path / "other" / "2.csv", 1)]
    assert "pass it as schema=" in refused(lambda: find_schema(apart)).remedy
    csv(tmp_path / "job.csv" / "part-0.csv", 1)  # as Spark writes
    SCHEMA.to_yaml(tmp_path / "job.schema.yaml")
    assert find_schema(tmp_path / "job.csv") == SCHEMA


def test_folders_and_patterns_are_data_and_schemas_are_not(tmp_path: Path) -> None:
    SCHEMA.to_yaml(tmp_path / "s[1].yaml")
    assert all(map(is_data_file, ("t.csv", "t.parquet", tmp_path, "visits/*", "part-?.csv.gz")))
    assert not any(map(is_data_file, ("t.yaml", tmp_path / "s[1].yaml", 5, None)))


def test_a_folder_may_be_the_table_of_a_site(tmp_path: Path) -> None:
    for site in ("north", "south"):
        csv(tmp_path / site / "1.csv", *range(30))
        csv(tmp_path / site / "2.csv", *range(30))
    tables: dict[str, object] = {"north": str(tmp_path / "north"), "south": [tmp_path / "south" / "1.csv"]}
    found = dpglm.describe(tables, schema=SCHEMA, privacy=(50.0, 1e-6), seed=1)
    assert {site: found[site].n_rows for site in tables} == {"north": 60, "south": 30}
    for wrong in (["1", "2"], [tmp_path, 5], [], "no folder"):
        given: dict[str, object] = tables | {"south": wrong}
        assert "no table" in refused(lambda given=given: dpglm.describe(given, privacy=1.0)).found
    apart = Schema(SCHEMA.variables, sites="disjoint")
    tables["south"] = [tmp_path / "south" / "1.csv", tmp_path / "north" / "2.csv"]
    with pytest.raises(SchemaError, match="one table for the sites"):
        dpglm.describe(tables, schema=apart, privacy=1.0)


def test_the_fingerprint_of_a_table_is_that_of_its_files(tmp_path: Path) -> None:
    key = bytes(range(32))
    csv(tmp_path / "c" / "1.csv", 1, 2)
    csv(tmp_path / "c" / "2.csv", 3)
    parquet(tmp_path / "p" / "1.parquet", 3)
    parquet(tmp_path / "p" / "2.parquet", 2, 1)
    prints = {
        dpglm.table_fingerprint(data, key=key)
        for data in (frame(1, 2, 3), tmp_path / "c", f"{tmp_path}/p/*", [tmp_path / "c"])
    }
    assert len(prints) == 1
    assert prints != {dpglm.table_fingerprint(tmp_path / "c" / "1.csv", key=key)}


def test_files_of_a_table_are_told_without_opening_them(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_bytes(b"\xff")
    assert table_files(tmp_path) == [tmp_path / "1.csv"]
