"""CSV and Parquet files of any bytes are read in silence, or refused without a word of any row."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.tables.sources import open_source
from tests.fuzz.documented import CANARY, CANARY_NUMBER, require_no_canary, within_bounds
from tests.fuzz.mutations import mutated_bytes
from tests.replay.neighbours import COLUMNS, SCHEMA
from tests.replay.studies import Study

DECLARED = Schema.of(SCHEMA)
HEADER = ",".join(COLUMNS)
LINES = [
    f"no,1,2,0.5,40,{CANARY}",
    f'yes,{CANARY_NUMBER},3,"-0.5",1e3,"b"',
    f'"{CANARY}","{CANARY}",,,,',
    f"{CANARY},{CANARY},{CANARY},{CANARY},{CANARY},{CANARY}",
]
CSVS = [
    (HEADER + "\n" + "\n".join(LINES * times) + "\n").encode(encoding)
    for times in (1, 3)
    for encoding in ("utf-8", "utf-16", "latin-1")
] + [(HEADER + "\r\n" + "\r\n".join(LINES)).encode("utf-8-sig")]


def parquets() -> list[bytes]:
    """Small files in several layouts, with private values in every column."""
    table = pa.table(
        {
            "y": pa.array(["no", "yes", CANARY]).dictionary_encode(),
            "z": [1.0, CANARY_NUMBER, None],
            "k": [1, 2, 3],
            "x": pa.array([CANARY, "0.5", None], pa.large_string()),
            "w": [[1.0], None, []],
            "g": [CANARY.encode(), b"a", b"\xff"],
        }
    )
    found = []
    for options in (
        {},
        {"compression": "gzip"},
        {"use_dictionary": False, "data_page_version": "2.0"},
        {"row_group_size": 1},
    ):
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        found.append(buffer.getvalue())
    return found


def read(path: Path) -> int:
    """All rows, cleaned as declared; no warning about any of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            source = open_source(path)
            rows = 0
            require_columns(COLUMNS, source.column_names)
            for chunk in source.chunks(COLUMNS):
                cleaned = DECLARED.clean(chunk, COLUMNS)
                assert all(len(column) == len(chunk) for column in cleaned.values())
                rows += len(chunk)
        finally:
            require_no_canary(" ".join(str(one.message) for one in caught))
    assert not caught, [str(one.message) for one in caught]
    return rows


def test_csv(drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"

        @drawn(350)
        @given(
            st.one_of(
                mutated_bytes(CSVS), st.binary(max_size=80).map(lambda line: HEADER.encode() + b"\n" + line)
            )
        )
        def law(content: bytes) -> None:
            path.write_bytes(content)
            within_bounds(lambda: read(path))

        law()


def test_gzipped_csv(drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv.gz"

        @drawn(60)
        @given(mutated_bytes([gzip.compress(content) for content in CSVS]))
        def law(content: bytes) -> None:
            path.write_bytes(content)
            within_bounds(lambda: read(path))

        law()


def test_parquet(drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"

        @drawn(250)
        @given(mutated_bytes(parquets()))
        def law(content: bytes) -> None:
            path.write_bytes(content)
            within_bounds(lambda: read(path))

        law()


def test_fits_of_changed_files(drawn: Any) -> None:
    study = Study(penalty="l2", side="x + w + g")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"

        @drawn(40)
        @given(mutated_bytes(CSVS[:2]))
        def law(content: bytes) -> None:
            path.write_bytes(content)
            found = within_bounds(lambda: study.fit(path, seed=1))
            if not isinstance(found, Exception):
                require_no_canary(str(found.summary()) + found.to_html())

        law()


def test_a_file_without_a_header_tells_nothing_of_its_first_row() -> None:
    """Cells of a first row stand for names: they are counted, and never printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for line in (f"{CANARY},{CANARY},no", f"no,{CANARY},no", f"{CANARY},b"):
            path.write_bytes(line.encode() + b"\n" + line.encode() + b"\n")
            assert isinstance(within_bounds(lambda: read(path)), Exception)
