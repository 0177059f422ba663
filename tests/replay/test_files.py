"""The command line on neighbouring files: output, status, exceptions and every file written are the same.

A row of a CSV file is a line that is not empty; a line may hold any bytes but a line feed. A row of a Parquet
file is a value of any type a column. Released numbers are handed from the first run to the second.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.cli import main
from tests.replay.neighbours import COLUMNS, SCHEMA, WORDS, Relation
from tests.replay.recorder import Seen, chain, differences, watched
from tests.replay.studies import SIDES

FIELDS = st.one_of(
    st.sampled_from([word.encode() for word in WORDS]),
    st.floats().map(lambda number: repr(number).encode()),
    st.integers().map(lambda number: str(number).encode()),
    st.sampled_from(
        [
            b'"a"',
            b'"',
            b'""',
            b'"a,b"',
            b'a"b',
            b'"no',
            b"\r",
            b"\xff",
            b"\xef\xbb\xbf",
            b"'",
            b"#",
            b"9" * 400,
        ]
    ),
    st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
LINES = st.one_of(
    st.lists(FIELDS, min_size=len(COLUMNS), max_size=len(COLUMNS)).map(b",".join),
    st.lists(FIELDS, max_size=9).map(b",".join),
    st.binary(max_size=30),
    st.just(b"," * 40_000),
    st.just(b"9" * 140_000),
    st.just(b"no,1,2,0.5,40,a"),
).map(lambda line: line.replace(b"\n", b" "))
# A line that is empty, or holds a carriage return only, is no row.
ROWS = LINES.filter(lambda line: line not in (b"", b"\r"))

TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), st.sampled_from(WORDS)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "codes": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(WORDS)),
    "number": (pa.float64(), st.floats()),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "large": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "truth": (pa.bool_(), st.booleans()),
    "decimal": (pa.decimal128(38, 2), st.decimals(-(10**30), 10**30, places=2)),
    "instant": (pa.timestamp("us", "UTC"), st.integers(-(2**62), 2**62)),
    "day": (pa.date32(), st.integers(-(2**20), 2**20)),
    "list": (pa.list_(pa.float64()), st.lists(st.floats(), max_size=3)),
    "nested": (pa.struct([("x", pa.string())]), st.fixed_dictionaries({"x": st.text(max_size=3)})),
    "nothing": (pa.null(), st.none()),
}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A new current folder with a schema and a ledger."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            Path("table.schema.yaml").write_text(dpglm.Schema.of(SCHEMA).to_yaml(), encoding="utf-8")
            yield Path(name)
        finally:
            os.chdir(before)


def run(
    write: Callable[[], str], words: tuple[str, ...], swapped: Any = None, *, trace: bool = False
) -> Seen:
    """The command on the file that ``write`` makes, in a folder of its own."""

    def command() -> Any:
        relation: Relation = "add-remove" if "add-remove" in words else "replace-one"
        dpglm.Ledger("spent.db", budget=dpglm.Privacy(10.0, 1e-3, relation=relation), dataset="table")
        paths = (
            "--schema",
            "table.schema.yaml",
            "--ledger",
            "spent.db",
            "--save",
            "fit.json",
            "--report",
            "fit.html",
        )
        done = CliRunner().invoke(main, ["fit", words[0], data, *words[1:], *paths])
        return done.exit_code, done.output, chain(done.exception), files(data)

    with folder():
        data = write()
        return watched(command, swapped=swapped, trace=trace)


def files(data: str) -> dict[str, bytes]:
    """Content of all files but the data; a ledger begins with random bytes, which its hashes hold."""
    found = {path.name: path.read_bytes() for path in Path().iterdir() if path.name != data}
    if "spent.db" in found:
        ledger = dpglm.Ledger("spent.db", budget=None)
        told = re.sub(r"hash='[0-9a-f]{64}'", "hash", repr((ledger.entries, str(ledger))))
        found["spent.db"] = told.encode()
    return found


def words_of(relation: Relation, family: str, side: str, budget: str) -> tuple[str, ...]:
    response = {"binomial": "y", "gaussian": "z", "poisson": "k"}[family]
    return f"{response} ~ {side}", "--privacy", budget, "--relation", relation, "--family", family


COMMANDS = st.builds(
    words_of,
    st.sampled_from(["replace-one", "add-remove"]),
    st.sampled_from(["binomial", "gaussian", "poisson"]),
    st.sampled_from(SIDES[:3]),
    st.sampled_from(["1", "1,1e-6"]),
)


def require_same(one: Seen, other: Seen) -> None:
    assert not differences(one.public(), other.public())
    # Advice follows from public facts alone, and is the same on both tables.
    assert [warned for warned in one.warned if warned[0] != "PlanningAdvice"] == []
    assert one.outcome[0] == 0, one.outcome
    assert set(one.outcome[3]) == {"fit.json", "fit.html", "spent.db", "table.schema.yaml"}


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_lines_of_any_kind(effort: int, ends: bytes) -> None:
    @settings(max_examples=6 * effort, phases=[Phase.generate])
    @given(COMMANDS, st.lists(ROWS, max_size=6), st.integers(0, 6), ROWS, ROWS, st.booleans())
    def law(
        words: tuple[str, ...], lines: list[bytes], place: int, line: bytes, new: bytes, last: bool
    ) -> None:
        def write(table: list[bytes]) -> Callable[[], str]:
            def written() -> str:
                content = ends.join([",".join(COLUMNS).encode(), *table]) + (ends if last else b"")
                Path("table.csv").write_bytes(content)
                return "table.csv"

            return written

        before, after = lines[:place], lines[place:]
        second = [*before, new, *after] if "replace-one" in words else lines
        one = run(write([*before, line, *after]), words)
        require_same(one, run(write(second), words, one.answers))

    law()


def test_columns_of_any_type_in_parquet(effort: int) -> None:
    @settings(max_examples=6 * effort, phases=[Phase.generate])
    @given(st.data(), COMMANDS, st.lists(st.sampled_from(list(TYPES)), min_size=6, max_size=6))
    def law(data: st.DataObject, words: tuple[str, ...], types: list[str]) -> None:
        fields = [TYPES[name] for name in types]
        row = st.tuples(*(st.one_of(st.none(), cells) for _, cells in fields))
        rows, one, other = data.draw(st.lists(row, max_size=4)), data.draw(row), data.draw(row)

        def write(table: list[Any]) -> Callable[[], str]:
            def written() -> str:
                columns = [
                    pa.array([cells[place] for cells in table], kind)
                    for place, (kind, _) in enumerate(fields)
                ]
                pq.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True))), "table.parquet")
                return "table.parquet"

            return written

        first = run(write([*rows, one]), words)
        second = [*rows, other] if "replace-one" in words else rows
        require_same(first, run(write(second), words, first.answers))

    law()


def test_columns_of_any_type_in_one_of_several_files(effort: int) -> None:
    """Files store a column in types of their own; the row that changes is in one of them."""

    @settings(max_examples=4 * effort, phases=[Phase.generate])
    @given(st.data(), COMMANDS)
    def law(data: st.DataObject, words: tuple[str, ...]) -> None:
        files = st.lists(st.sampled_from(list(TYPES)), min_size=6, max_size=6)
        types = data.draw(st.lists(files, min_size=2, max_size=3))
        rows = [st.tuples(*(st.one_of(st.none(), TYPES[name][1]) for name in names)) for names in types]
        tables = [data.draw(st.lists(row, max_size=3)) for row in rows]
        place = data.draw(st.integers(0, len(types) - 1))
        one, other = data.draw(rows[place]), data.draw(rows[place])

        def write(row: list[Any]) -> Callable[[], str]:
            def written() -> str:
                Path("table").mkdir()
                for at, (names, table) in enumerate(zip(types, tables, strict=True)):
                    rows = [*table, *row] if at == place else table
                    columns = [
                        pa.array([cells[column] for cells in rows], TYPES[name][0])
                        for column, name in enumerate(names)
                    ]
                    pq.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True))), f"table/{at}.parquet")
                return "table"

            return written

        first = run(write([one]), words)
        require_same(first, run(write([other] if "replace-one" in words else []), words, first.answers))

    law()


@pytest.mark.parametrize("command", ["missing column", "over budget"])
def test_refusals_are_the_same(command: str) -> None:
    words = words_of("replace-one", "binomial", "x + nowhere" if command == "missing column" else "x", "1")
    if command == "over budget":
        words = ("y ~ x", "--privacy", "20")

    def write(line: bytes) -> Callable[[], str]:
        def written() -> str:
            Path("table.csv").write_bytes(",".join(COLUMNS).encode() + b"\n" + line + b"\n")
            return "table.csv"

        return written

    run(write(b"no,1,2,0.5,40,a"), words)  # what is imported on the way is imported once
    one, other = run(write(b"no,1,2,0.5,40,a"), words, trace=True), run(write(b'"canary'), words, trace=True)
    assert not differences(one.public(), other.public())
    assert one.outcome[0] == (1 if command == "missing column" else 4)
    assert "canary" not in repr(other.public())
    assert set(one.outcome[3]) == {"spent.db", "table.schema.yaml"}
