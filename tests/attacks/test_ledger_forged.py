"""Ledger files written by other hands: whole chains that say what no ledger says, in documented errors."""

from __future__ import annotations

import itertools
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dpglm.errors import BudgetExceeded, LedgerError
from dpglm.ledger.ledger import Ledger
from dpglm.privacy.budget import Privacy
from tests.attacks.ledgers import CHARGE, OPENING, TAGS, forged, pure

WRONG: tuple[Any, ...] = (
    None, True, 5, -1.0, "", "-1", "nan", "inf", "1e999", "1e308", "5e-324", "-0.0", 10**400, [], {}, ["0.1"],
    float("nan"), "\x1b[31m", "\u202eabc", "a\nb", "\ud800", "x" * 2000,
)  # fmt: skip


def used(path: Path) -> Ledger:
    """Everything that reads or writes a ledger, each with its documented errors only."""
    ledger = Ledger(path)
    assert str(ledger).replace("\n", "").isprintable()
    page = ledger._repr_html_()
    assert page.startswith('<div class="dpglm-table">')
    assert set(re.findall(r"</?([^\s>]*)", page)) == TAGS
    assert ledger.spent.epsilon <= ledger.budget.epsilon
    assert ledger.remaining.epsilon >= 0
    assert json.dumps(ledger.state())
    assert len(ledger.to_frame()) == len(ledger.entries)
    try:
        ledger.charge(pure(0.5), what="y ~ z")
    except BudgetExceeded:
        assert ledger.entries[-1].status == "refused"
    assert ledger.spent.epsilon <= ledger.budget.epsilon
    return ledger


def survives(path: Path) -> bool:
    """Whether a file is taken for a ledger; nothing but a documented error says that it is not."""
    with suppress(LedgerError):
        used(path)
        return True
    return False


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where files need no disk, if there is such a place."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.mark.parametrize("key", list(CHARGE))
def test_a_charge_with_any_field_of_any_kind_is_refused_or_read_as_it_stands(folder: Path, key: str) -> None:
    for number, value in enumerate(WRONG):
        path = forged(folder / f"{number}.ledger", OPENING, {**CHARGE, key: value})
        if survives(path):
            assert isinstance(value, str | None)


@pytest.mark.parametrize("key", list(OPENING))
def test_an_opening_with_any_field_of_any_kind_is_refused_or_read_as_it_stands(
    folder: Path, key: str
) -> None:
    for number, value in enumerate(WRONG):
        path = forged(folder / f"{number}.ledger", {**OPENING, key: value}, CHARGE)
        if survives(path):
            assert isinstance(value, str | None)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        "9" * 10_000,
        json.dumps(dict(CHARGE))[:-1] + ', "epsilon": "0.0"}',
        json.dumps([CHARGE]),
        "NaN",
    ],
    ids=["lists", "mappings", "digits", "twice", "list", "NaN"],
)
def test_lines_that_are_bombs_or_say_two_things_are_refused(folder: Path, line: str) -> None:
    for lines in ((OPENING, line), (line, CHARGE)):
        path = forged(folder / f"{len(lines[0])}.ledger", *lines)
        with pytest.raises(LedgerError, match="say nothing about a budget"):
            Ledger(path)


def test_a_line_of_megabytes_is_never_held_in_memory(folder: Path) -> None:
    path = forged(folder / "big.ledger", OPENING, CHARGE)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER entries_in_order")
    connection.execute("INSERT INTO entries VALUES (2, zeroblob(30000000), 'x')")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError):
        Ledger(path)
    restored = forged(folder / "fine.ledger", OPENING, {**CHARGE, "what": "x" * 10_000})
    assert len(used(restored).entries) == 2


@pytest.mark.parametrize(
    ("opening", "charges"),
    [
        ({}, [{"epsilon": "0.6"}, {"epsilon": "0.6"}]),
        ({"delta": "1e-06", "definition": "approximate"}, [{"delta": "6e-07"}, {"delta": "6e-07"}]),
        ({}, [{"epsilon": "1e308"}, {"epsilon": "1e308"}]),
        ("gdp", [{"mu": "0.9"}, {"mu": "0.9"}]),
        ("gdp", [{"mu": None}]),
        ({}, [{"relation": "add-remove"}]),
        ({"unit": "one patient"}, [{}]),
    ],
    ids=["epsilon", "delta", "overflow", "mu", "no mu", "relation", "unit"],
)
def test_charges_that_the_budget_never_covered_are_seen(
    folder: Path, opening: dict[str, str] | str, charges: list[dict[str, Any]]
) -> None:
    if opening == "gdp":
        budget = Privacy.gdp(1.0)
        opening = {"definition": "gdp", "mu": "1.0", "epsilon": repr(budget.epsilon), "delta": "1e-06"}
    assert isinstance(opening, dict)
    lines = [{**CHARGE, **charge} for charge in charges]
    path = forged(folder / "over.ledger", {**OPENING, **opening}, *lines)
    with pytest.raises(LedgerError, match="say nothing about a budget"):
        Ledger(path)
    # Refusals of the same amounts are no charges.
    refused = [{**line, "status": "refused"} for line in lines]
    assert len(Ledger(forged(folder / "refused.ledger", {**OPENING, **opening}, *refused)).entries) >= 1


def test_every_order_and_every_selection_of_lines_but_the_true_ones_is_seen(folder: Path) -> None:
    path = folder / "true.ledger"
    ledger = Ledger(path, 1.0)
    for number in range(3):
        ledger.charge(pure(0.1), what=f"y ~ x{number}")
    truth = path.read_bytes()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT position, content, hash FROM entries").fetchall()
        triggers = [
            sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE type='trigger'")
        ]
    connection.close()
    tried = 0
    for size in range(len(rows) + 1):
        for chosen in itertools.permutations(rows, size):
            if list(chosen) == rows:
                continue
            path.write_bytes(truth)
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            for name in ("entries_stay", "entries_unchanged", "entries_in_order", "head_stays", "head_grows"):
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("DELETE FROM entries")
            connection.executemany(
                "INSERT INTO entries VALUES (?, ?, ?)", [(k, *row[1:]) for k, row in enumerate(chosen)]
            )
            for trigger in triggers:
                connection.execute(trigger)
            connection.execute("COMMIT")
            connection.close()
            with pytest.raises(LedgerError, match="tampered"):
                Ledger(path)
            tried += 1
    assert tried == 64  # 1 + 4 + 12 + 24 + 24 selections in order, without the true one
