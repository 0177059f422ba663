"""A ledger among other files: copies, links, other ledgers, planted journals, full disks, wrong clocks."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dpglm
from dpglm.errors import BudgetExceeded, LedgerError, PrivacyError
from dpglm.ledger import lines, log
from dpglm.ledger.ledger import Ledger
from tests.attacks.ledgers import pure, ran
from tests.effort import quick
from tests.test_bad_input import SCHEMA, private_rows


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ward-7.ledger", 3.0, dataset="ward-7")
    ledger.charge(pure(1.0), what="y ~ x")
    return ledger


def fit_with(ledger: Ledger | str) -> None:
    """A fit of rows that raise when they are looked at."""
    dpglm.fit("y ~ x", private_rows(), schema=SCHEMA, privacy=1.0, ledger=ledger, progress=False)


def test_what_a_rollback_hides_and_from_whom(ledger: Ledger) -> None:
    older, early = ledger.path.read_bytes(), ledger.head
    ledger.charge(pure(1.0), what="y ~ z")
    late = ledger.head
    ledger.path.write_bytes(older)
    # Not seen: a process that opens the older copy without a head finds a ledger whole in itself.
    assert Ledger(ledger.path).spent.epsilon == 1.0
    Ledger(ledger.path, head=early).verify()
    # Seen: by a head noted after the charge, and by whoever kept the ledger open.
    for seen in (lambda: Ledger(ledger.path, head=late), ledger.verify, lambda: fit_with(ledger)):
        with pytest.raises(LedgerError, match="does not hold"):
            seen()


def test_a_fork_of_the_file_is_seen_by_both_heads(ledger: Ledger, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ledger"
    shutil.copy(ledger.path, copy)
    other = Ledger(copy)
    ledger.charge(pure(2.0), what="here")
    other.charge(pure(2.0), what="there")  # not seen from inside: two whole files, spent twice
    for path, head in ((copy, ledger.head), (ledger.path, other.head)):
        with pytest.raises(LedgerError, match="does not hold"):
            Ledger(path, head=head)


def test_the_ledger_of_other_data_in_its_place_is_seen_by_name_budget_and_head(
    ledger: Ledger, tmp_path: Path
) -> None:
    other = Ledger(tmp_path / "ward-8.ledger", 9.0, dataset="ward-8")
    head = ledger.head
    os.replace(other.path, ledger.path)
    for arguments in ({"dataset": "ward-7"}, {"budget": 3.0}, {"head": head}):
        with pytest.raises(LedgerError):
            Ledger(ledger.path, **arguments)  # type: ignore[arg-type]
    with pytest.raises(LedgerError):
        ledger.charge(pure(1.0), what="y ~ x")


@pytest.mark.parametrize("step", ["_begin", "_insert", "_advance", "_commit"])
def test_a_file_replaced_amid_a_charge_pays_for_no_release(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    older = ledger.path.with_name("older")
    shutil.copy(ledger.path, older)
    work = getattr(log, step)

    def swapped(connection: sqlite3.Connection, *rest: object) -> None:
        if older.exists():
            os.replace(older, ledger.path)
        work(connection, *rest)

    monkeypatch.setattr(log, step, swapped)
    with pytest.raises(LedgerError):
        fit_with(ledger)  # UnreadFrame: had rows been read, this were an AssertionError
    assert Ledger(ledger.path).spent.epsilon == 1.0


def test_a_symbolic_link_is_the_ledger_it_points_to(ledger: Ledger, tmp_path: Path) -> None:
    link = tmp_path / "link.ledger"
    link.symlink_to(ledger.path)
    Ledger(link).charge(pure(1.0), what="through the link")
    assert ledger.spent.epsilon == 2.0
    opened = Ledger(link)
    link.unlink()
    link.symlink_to(Ledger(tmp_path / "fresh.ledger", 3.0, dataset="ward-7").path)
    with pytest.raises(LedgerError, match="does not hold"):
        opened.charge(pure(1.0), what="redirected")


@pytest.mark.parametrize("target", ["/dev/null", "/dev/zero", "/etc/passwd", "loop", "nothing", "."])
def test_links_to_what_is_no_ledger_are_refused_and_nothing_is_made(tmp_path: Path, target: str) -> None:
    link = tmp_path / "loop"
    link.symlink_to(target)
    for budget in (None, 3.0):
        with pytest.raises(LedgerError):
            Ledger(link, budget)
    assert os.listdir(tmp_path) == ["loop"]


def test_a_second_hard_link_is_refused_until_it_is_gone(ledger: Ledger, tmp_path: Path) -> None:
    second = tmp_path / "second.ledger"
    os.link(ledger.path, second)
    for use in (lambda: Ledger(second), ledger.verify, lambda: fit_with(ledger)):
        with pytest.raises(LedgerError, match="2 names"):
            use()
    second.unlink()
    ledger.charge(pure(1.0), what="y ~ x")


def test_a_draft_left_by_a_killed_maker_is_cleared_away_and_no_other_file(
    ledger: Ledger, tmp_path: Path
) -> None:
    draft, foreign = tmp_path / ".ward-7.ledger.00.draft", tmp_path / ".ward-7.ledger.11.draft"
    os.link(ledger.path, draft)
    foreign.write_text("not ours")
    assert ledger.spent.epsilon == 1.0
    assert not draft.exists()
    assert foreign.read_text() == "not ours"


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("content", [b"", b"x" * 5000, bytes(range(256)) * 20], ids=len)
def test_junk_planted_beside_the_file_changes_no_charge(ledger: Ledger, suffix: str, content: bytes) -> None:
    truth, planted = ledger.entries, ledger.path.with_name(ledger.path.name + suffix)
    planted.write_bytes(content)
    if suffix == "-wal" and content:  # SQLite would read a log that lies there, whatever the file says
        with pytest.raises(LedgerError, match="-wal"):
            Ledger(ledger.path)
        planted.unlink(missing_ok=True)
    assert Ledger(ledger.path).entries == truth
    ledger.charge(pure(1.0), what="y ~ x")
    assert Ledger(ledger.path, head=ledger.head).spent.epsilon == 2.0


def test_a_log_that_overlays_the_ledger_with_an_older_one_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    """A write-ahead log that holds a fresh ledger's pages: the file itself stays untouched."""
    fresh = Ledger(tmp_path / "fresh.ledger", 3.0, dataset="ward-7").path
    holder = sqlite3.connect(fresh, isolation_level=None)
    holder.execute("PRAGMA journal_mode = WAL")
    holder.execute("PRAGMA wal_autocheckpoint = 0")
    holder.execute("PRAGMA user_version = 1")
    holder.execute("CREATE TABLE passing (x)")
    holder.execute("DROP TABLE passing")
    log = fresh.with_name("fresh.ledger-wal").read_bytes()
    holder.close()
    assert log
    ledger.path.with_name(ledger.path.name + "-wal").write_bytes(log)
    with pytest.raises(LedgerError):
        Ledger(ledger.path)


def test_an_old_rollback_journal_put_back_is_seen_like_an_older_copy(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    side, kept = ledger.path.with_name(ledger.path.name + "-journal"), []
    advance = log._advance

    def copied(connection: sqlite3.Connection, line: log.Line) -> None:
        advance(connection, line)
        connection.execute("PRAGMA cache_size = 1")
        kept.append(side.read_bytes())

    with monkeypatch.context() as patch:
        patch.setattr(log, "_advance", copied)
        ledger.charge(pure(1.0), what="y ~ z")
    head = ledger.head
    assert kept[0]
    side.write_bytes(kept[0])
    with suppress(LedgerError):
        assert Ledger(ledger.path, head=head).spent.epsilon == 2.0


def test_a_journal_mode_that_spreads_the_ledger_over_two_files_is_refused(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    for use in (lambda: Ledger(ledger.path), ledger.verify, lambda: fit_with(ledger)):
        with pytest.raises(LedgerError, match="journal mode"):
            use()


FULL_DISK = """
import resource, signal, sys
import dpglm
from dpglm.errors import LedgerError
from tests.test_bad_input import SCHEMA, private_rows
ledger = dpglm.Ledger(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    dpglm.fit("y ~ x", private_rows(), schema=SCHEMA, privacy=1.0, ledger=ledger, progress=False)
except LedgerError as error:
    print(error.found, "|", error.remedy)
"""


@pytest.mark.parametrize("room", quick([0, 100, 600], 100))
def test_a_disk_without_room_for_the_charge_pays_for_no_release(ledger: Ledger, room: int) -> None:
    pytest.importorskip("resource")
    told = ran(FULL_DISK, ledger.path, room)
    assert told.returncode == 0, told.stderr
    assert "Nothing was released" in told.stdout
    assert Ledger(ledger.path).spent.epsilon == 1.0


def test_a_full_disk_makes_no_half_ledger(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    code = FULL_DISK.replace("dpglm.Ledger(sys.argv[1])", "None").replace("ledger=ledger", "ledger=3")
    code = code.replace("dpglm.fit(", "dpglm.Ledger(sys.argv[1], 3.0); (lambda *a, **k: 0)(")
    told = ran(code, tmp_path / "new.ledger", 300)
    assert told.returncode == 0, told.stderr
    assert told.stdout
    assert not (tmp_path / "new.ledger").exists()


def test_a_clock_that_goes_backwards_changes_no_order_and_no_sum(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for year in (2031, 1970, 9999, 1):
        monkeypatch.setattr(lines, "now", lambda: datetime(year, 1, 1, tzinfo=UTC).isoformat())  # noqa: B023
        ledger.charge(pure(0.25), what=f"in {year}")
    assert [entry.index for entry in ledger.entries] == [1, 2, 3, 4, 5]
    assert Ledger(ledger.path, head=ledger.entries[0].hash).spent.epsilon == 2.0
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(1.25), what="more")


@pytest.mark.parametrize(
    "unit", ["one\npatient", "one \x1b[31mpatient", "one \u202epatient", "\ud800", "x" * 20_000]
)
def test_a_unit_that_the_file_could_not_hold_is_refused_before_anything_is_written(
    ledger: Ledger, tmp_path: Path, unit: str
) -> None:
    before = ledger.head
    with pytest.raises(LedgerError, match="unit"):
        ledger.charge(pure(0.1, unit=unit), what="y ~ x")
    assert ledger.head == before
    with pytest.raises(LedgerError, match="unit"):
        Ledger(tmp_path / "new.ledger", dpglm.Privacy(1.0, unit=unit))
    assert not (tmp_path / "new.ledger").exists()


def test_two_units_never_add_up_in_one_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "patients.ledger", dpglm.Privacy(1.0, unit="one patient"))
    ledger.charge(pure(0.5, unit="one patient"), what="y ~ x")
    for unit in (
        "one row",
        "one visit",
        "one  patient",
        "One patient",
        "one pаtient",
    ):  # the last is Cyrillic
        with pytest.raises(PrivacyError):
            ledger.charge(pure(0.1, unit=unit), what="y ~ x")
    assert ledger.spent.epsilon == 0.5


@pytest.mark.parametrize("amount", [10**400, 1e308, float(2**1023)])
def test_amounts_beyond_all_measure_are_refused_and_charge_nothing(ledger: Ledger, amount: float) -> None:
    with pytest.raises((PrivacyError, BudgetExceeded)):
        ledger.charge(pure(amount), what="y ~ x")
    assert ledger.spent.epsilon == 1.0
    assert ledger.remaining.epsilon == 2.0
