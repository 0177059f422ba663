"""Sources: the same rows from every kind of table, again and again, in chunks that stay small."""

import gzip
import subprocess
import sys
import traceback

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.tables.csv_rows import CsvFile
from dpglm.data.tables.files import CsvSource, ParquetSource
from dpglm.data.tables.source import CHUNK_ROWS, frame_of_arrow
from dpglm.data.tables.sources import FrameSource, open_source
from dpglm.errors import SchemaError

pa = pytest.importorskip("pyarrow")
SCHEMA = Schema.of({"x": (-2, 2), "n": (0, 9), "g": ["a", "NA", "b,c", 'q"u'], "t": [False, True]})
NAMES = list(SCHEMA.variables)
NUMERIC = ("x", "n")


def table(rows, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=rows).round(6)
    x[::7] = np.nan
    g = random.choice(np.array(["a", "NA", "b,c", 'q"u', "else", None], dtype=object), rows)
    frame = pd.DataFrame({"other": range(rows), "x": x, "n": random.integers(0, 12, rows), "g": g})
    return frame.assign(t=random.random(rows) < 0.5)


def cleaned(source):
    parts = [SCHEMA.clean(chunk, NAMES) for chunk in source.chunks(NAMES, numeric=NUMERIC)]
    return {name: np.concatenate([part[name] for part in parts]) for name in NAMES}


def assert_same(left, right):
    for name in NAMES:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    frame = table(CHUNK_ROWS + 1000)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_csv(folder / "all_quoted.csv", index=False, quoting=1)
    frame.to_csv(folder / "windows.csv", index=False, lineterminator="\r\n", encoding="utf-8-sig")
    frame.to_parquet(folder / "t.parquet", row_group_size=1500)
    return folder, frame


@pytest.mark.parametrize(
    "name",
    [
        "t.csv",
        "t.csv.gz",
        "all_quoted.csv",
        "windows.csv",
        "t.parquet",
        "polars",
        "arrow",
        "reader",
        "interchange",
    ],
)
def test_the_same_rows_come_from_every_kind_of_table(files, name):
    folder, frame = files
    data = folder / name if "." in name else None
    if name == "polars":
        data = pytest.importorskip("polars").from_pandas(frame)
    elif name == "arrow":
        data = pa.Table.from_pandas(frame)
    elif name == "reader":
        data = pa.Table.from_pandas(frame).to_reader(max_chunksize=700)
    elif name == "interchange":
        whole = pa.Table.from_pandas(frame)

        class Foreign:
            def __dataframe__(self, **options):
                return whole.__dataframe__(**options)

        data = Foreign()
    source = open_source(data)
    assert set(NAMES) <= set(source.column_names)
    expected = cleaned(open_source(frame))
    assert_same(cleaned(source), expected)
    assert_same(cleaned(source), expected)  # readable again
    assert [len(chunk) for chunk in source.chunks(NAMES, numeric=NUMERIC)] == [CHUNK_ROWS, 1000]


def test_chunks_of_a_frame_are_views():
    frame = table(100)
    (chunk,) = FrameSource(frame).chunks(NAMES)
    assert np.shares_memory(chunk["x"].to_numpy(), frame["x"].to_numpy())


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    numbers=st.lists(st.floats(allow_nan=False) | st.integers(-(10**20), 10**20), min_size=1, max_size=9),
    garbage=st.sampled_from(["x", "1_0", "nan", "1,5", "--1", "True", "", "inf", "1e999", "0x10"]),
    where=st.integers(0, 9),
)
def test_a_bad_field_leaves_the_last_bit_of_the_numbers_in_its_column(
    tmp_path_factory, numbers, garbage, where
):
    folder = tmp_path_factory.mktemp("bits")
    schema = Schema.of({"x": (-1e300, 1e300), "y": (-1e300, 1e300)})
    reads = []
    for rows in (
        list(map(repr, numbers)),
        [*map(repr, numbers[:where]), garbage, *map(repr, numbers[where:])],
    ):
        pd.DataFrame({"x": rows, "y": rows[::-1]}).to_csv(folder / "t.csv", index=False)
        (chunk,) = CsvSource(CsvFile(folder / "t.csv")).chunks(["x", "y"], numeric=("x", "y"))
        reads.append(schema.clean(chunk, ["x", "y"])["x"])
    place = min(where, len(numbers))
    np.testing.assert_array_equal(np.delete(reads[1], place), reads[0])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    rows=st.integers(0, 30),
    cuts=st.lists(st.integers(1, 9), max_size=9),
    chunk_rows=st.integers(1, 12),
)
def test_chunks_are_even_whatever_the_batches_of_the_file(tmp_path_factory, rows, cuts, chunk_rows):
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("even") / "t.parquet"
    whole = pa.Table.from_pandas(table(rows), preserve_index=False)
    with pq.ParquetWriter(path, whole.schema) as writer:
        start = 0
        for cut in [*cuts, rows]:
            writer.write_table(whole.slice(start, cut))
            start += cut
    full, rest = divmod(rows, chunk_rows)
    expected = [chunk_rows] * full + [rest] * (rest > 0)
    for source in (
        ParquetSource(path, chunk_rows=chunk_rows),
        FrameSource(frame_of_arrow(whole), chunk_rows=chunk_rows),
    ):
        assert [len(chunk) for chunk in source.chunks(NAMES)] == expected


@pytest.mark.parametrize(
    ("row", "x", "g"),
    [
        ("1,0,a,1", 1.0, 0),
        ('"1",0,"a",1', 1.0, 0),
        ("1", 1.0, -1),  # too short: the rest is missing
        ("1,0,a,1,9,9", 1.0, 0),  # too long: the rest is ignored
        ('1,0,"b,c",1', 1.0, 2),
        ('1,0,"q""u",1', 1.0, 3),
        ('1,0,q"u,1', 1.0, -1),  # quotes that do not pair are dropped: "qu" is no level
        ('1,0,"a,1', 1.0, 0),  # and the field does not swallow the next line
        ("1,0,NA,1", 1.0, 1),  # a text like any other
        ("NA,0,a,1", np.nan, 0),
        ("1 \r2,0,a,1", np.nan, 0),
        ("1\0,0,a\0,1", np.nan, -1),
        (",0,,1", np.nan, -1),
    ],
)
def test_a_line_is_read_as_documented_and_leaves_the_next_one_alone(tmp_path, row, x, g):
    path = tmp_path / "t.csv"
    path.write_bytes(f"x,n,g,t\n{row}\n\n2,1,a,0\n".encode())
    read = cleaned(open_source(path))
    np.testing.assert_array_equal(read["x"], [x, 2.0])
    assert read["g"].tolist() == [g, 0]


def test_an_empty_table_has_no_chunks_and_no_complaints(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,n,g,t\n")
    assert list(open_source(path).chunks(NAMES)) == []
    assert list(open_source(table(0)).chunks(NAMES)) == []


def write(path, content):
    path.write_bytes(content)
    return path


class Quoting:
    """A foreign frame whose conversion fails with a cell in the message."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError("cannot convert '77516'")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda p: p / "none.csv", "no file"),
        (lambda p: p, "no file in the folder"),
        (lambda p: write(p / "t.xlsx", b"x"), "t.xlsx"),
        (lambda p: write(p / "t.csv", b""), "first line is empty"),
        (lambda p: write(p / "t.csv", b"a,b,a\n1,2,3\n"), "of the same name, among columns 1, 3"),
        (
            lambda p: write(p / "t.csv", b"39,Private,77516\n50,Gov,83311\n"),
            "a number or a date in the first line",
        ),
        (lambda p: write(p / "t.csv", b"x" * 2**21), "longer than 1 MiB"),
        (lambda p: write(p / "t.csv", b"name,town\rAda,77516\rBob,7\r"), "a carriage return within"),
        (lambda p: write(p / "t.csv", b"a," + b"x" * 140_000 + b"\n1,2\n"), "longer than 131072"),
        (lambda p: write(p / "t.csv.gz", b"no gzip"), "cannot be read"),
        (lambda p: write(p / "t.csv.gz", gzip.compress(b"x,y\n")[:10] + b"\xff" * 20), "cannot be read"),
        (lambda p: "", "no file"),
        (lambda p: p / ("x" * 300 + ".csv"), "no file"),
        (lambda p: pd.Series(["77516", 1]), "data of type Series"),
        (lambda p: pd.Series([1, 2]), "data of type Series"),
        (lambda p: Quoting(), "data of type Quoting"),
        (lambda p: write(p / "t.parquet", b"no parquet"), "cannot be read as Parquet"),
        (lambda p: pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column named a"),
        (lambda p: [1, 2], "data of type list"),
        (lambda p: None, "data of type NoneType"),
    ],
)
def test_what_is_no_table_is_refused_by_public_facts(tmp_path, make, found):
    with pytest.raises(SchemaError) as caught:
        open_source(make(tmp_path))
    assert found in caught.value.found
    assert "77516" not in "".join(traceback.format_exception(caught.value))


def test_a_truncated_archive_is_told_as_damaged(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,n,g,t\n" + b"1,2,a,0\n" * 9999)[:-9])
    with pytest.raises(SchemaError, match="cannot be read to its end"):
        cleaned(open_source(path))


def test_a_file_damaged_in_its_middle_is_told_by_its_name_only(tmp_path):
    frame = pd.DataFrame({name: np.random.default_rng(0).random(50_000) for name in NAMES})
    for name in ("t.csv.gz", "t.parquet"):
        path = tmp_path / name
        frame.to_csv(path) if name == "t.csv.gz" else frame.to_parquet(path, compression="gzip")
        whole = path.read_bytes()
        path.write_bytes(whole[:50_000] + b"\xff" * 50_000 + whole[100_000:])
        with pytest.raises(SchemaError, match=f"the file {name}, which cannot be read to its end"):
            list(open_source(path).chunks(NAMES))


def test_a_lacking_column_is_told_by_its_name_only(tmp_path):
    source = open_source(write(tmp_path / "t.csv", b"secret,b\n1,2\n"))
    with pytest.raises(SchemaError) as caught:
        require_columns(["b", "age"], source.column_names)
    assert caught.value.found == "no column age in the data"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_columns_not_asked_for_are_never_read(tmp_path, kind):
    frame = table(10).assign(blob=[object()] * 10 if kind == "frame" else "x")
    data = frame
    if kind == "csv":
        frame.to_csv(data := tmp_path / "t.csv", index=False)
    elif kind == "parquet":
        frame.to_parquet(data := tmp_path / "t.parquet")
    assert len(cleaned(open_source(data))["x"]) == 10


PEAK = """
import resource, sys
import numpy as np
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
schema = Schema.of({"x": (-2, 2), "g": ["a", "b"]})
for chunk in open_source(sys.argv[1]).chunks(["x", "g"], numeric=("x",)):
    schema.clean(chunk, ["x", "g"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.audit
def test_streaming_memory_does_not_grow_with_the_rows(tmp_path):
    def peak(rows):
        path = tmp_path / f"{rows}.csv.gz"
        with gzip.open(path, "wb", compresslevel=1) as stream:
            stream.write(b"x,g,fill\n" + b"0.125,a,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" * rows)
        run = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
        return int(run.stdout) / 1024

    # The larger file is 96 MB of text; two chunks of it are 3 MB.
    assert peak(2_000_000) - peak(100_000) < 20
