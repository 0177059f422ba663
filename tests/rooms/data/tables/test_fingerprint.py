"""Keyed fingerprints of tables: one for a table however it is kept, another for every other table."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpglm
from dpglm.cli import main
from dpglm.errors import LedgerError, SchemaError
from dpglm.ledger.ledger import Ledger

KEY = bytes(range(32))
SCHEMA = {"y": ["no", "yes"], "x": (0.0, 10.0)}


def rows(count: int = 50) -> pd.DataFrame:
    numbers = np.random.default_rng(1).normal(size=count).round(3)
    return pd.DataFrame(
        {
            "y": ["no", "yes"] * (count // 2),
            "x": numbers,
            "k": np.arange(count),
            "day": pd.date_range("2020-01-01", periods=count, unit="s"),
        }
    )


def mark(data: object, **options: Any) -> str:
    return dpglm.table_fingerprint(data, **{"key": KEY, **options})


def test_a_table_has_one_fingerprint_however_it_is_kept(tmp_path: Path) -> None:
    table = rows()
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "key").write_bytes(KEY)
    kept = {
        mark(table),
        mark(table.sample(frac=1.0, random_state=1)),
        mark(table[["k", "day", "x", "y"]]),
        mark(table.astype({"y": "category", "k": "float64", "x": object})),
        mark(table.convert_dtypes(dtype_backend="pyarrow")),
        mark(tmp_path / "t.csv"),
        mark(tmp_path / "t.parquet"),
        mark(table, key=tmp_path / "key"),
        mark(pd.concat([table.assign(more=1)]), columns=["y", "x", "k", "day"]),
    }
    assert len(kept) == 1
    assert len(kept.pop()) == 64


def test_every_other_table_has_another_fingerprint() -> None:
    table = rows()
    swapped = table.assign(x=table["x"].to_numpy()[::-1])
    missing, changed = table.copy(), table.copy()
    missing.loc[3, "x"] = np.nan
    changed.loc[3, "y"] = "no" if table.loc[3, "y"] == "yes" else "yes"
    others = [
        table,
        table[1:],
        pd.concat([table, table[:1]]),
        pd.concat([table, table]),
        table[:0],
        table.rename(columns={"x": "z"}),
        table.drop(columns="x"),
        swapped,
        missing,
        changed,
    ]
    assert len({mark(other) for other in others}) == len(others)
    assert mark(table) != mark(table, key=KEY[::-1])
    assert mark(pd.DataFrame({"a": ["xy"], "b": ["z"]})) != mark(pd.DataFrame({"a": ["x"], "b": ["yz"]}))


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    peaks = []
    for count in (100_000, 300_000):
        path = tmp_path / f"{count}.parquet"
        pd.DataFrame({"x": np.arange(count), "y": np.arange(count) % 7}).to_parquet(path)
        mark(path)
        tracemalloc.start()
        mark(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.parametrize("key", [b"", b"short", "no such file", "", "\0", None, 7, bytearray(32), ["k"], 3.0])
def test_what_is_no_key_is_refused_and_not_repeated(key: Any) -> None:
    with pytest.raises(SchemaError, match="key") as error:
        mark(rows(), key=key)
    assert "short" not in error.value.found.replace("too short", "")


@pytest.mark.parametrize("columns", ["x", [], ["none"], [1], 7, {"x": 1}, np.array(["x", "y"])])
def test_columns_that_are_not_there_are_refused(columns: Any) -> None:
    with pytest.raises(SchemaError):
        mark(rows(), columns=columns)


def test_a_ledger_knows_its_table_and_no_result_does(tmp_path: Path) -> None:
    table = rows()[["y", "x"]]
    noted = mark(table)
    ledger = Ledger(tmp_path / "a.ledger", 9.0, dataset="a", table=noted)
    assert Ledger(ledger.path, table=noted).table == noted == ledger.table
    assert "guesses" in str(ledger)
    assert noted not in str(ledger) + repr(ledger) + repr(ledger.state())
    fit = dpglm.fit("y ~ x", table, schema=SCHEMA, privacy=1.0, ledger=ledger, key="k", progress=False)
    assert noted not in fit.to_html()
    assert noted not in fit.save(tmp_path / "fit.json").read_text()
    for other in (mark(table[1:]), mark(table, key=KEY[::-1])):
        with pytest.raises(LedgerError, match="another table"):
            Ledger(ledger.path, table=other)
    with pytest.raises(LedgerError, match="notes none"):
        Ledger(Ledger(tmp_path / "b.ledger", 1.0).path, table=noted)
    seeded = [
        dpglm.fit("y ~ x", data, schema=SCHEMA, privacy=1.0, seed=1, progress=False).params
        for data in (table, table)
        if mark(data)
    ]
    assert (seeded[0] == seeded[1]).all()


def test_the_command_line_notices_two_ledgers_for_one_table(tmp_path: Path) -> None:
    def run(*arguments: object, status: int = 0) -> str:
        done = CliRunner().invoke(main, ["ledger", *map(str, arguments)])
        assert done.exit_code == status, done.output
        return done.output

    table, key = tmp_path / "t.csv", tmp_path / "table.key"
    rows().to_csv(table, index=False)
    run("table-key", key)
    assert key.stat().st_mode & 0o777 == 0o600
    assert "never overwritten" in run("table-key", key, status=1)
    paths = [tmp_path / f"{name}.ledger" for name in "abc"]
    for path in paths[:2]:
        out = run("create", path, "--budget", 1, "--dataset", "t", "--table", table, "--table-key", key)
        assert Ledger(path).table not in (None, *out.split())
    run("create", paths[2], "--budget", 1, "--dataset", "t")
    assert "both" in run(
        "create", tmp_path / "d", "--budget", 1, "--dataset", "t", "--table", table, status=2
    )
    told = run("tables", *paths, status=1)
    assert told.count("table 1") == 2
    assert "no table is noted" in told
    run("tables", *paths[1:])
