"""Several processes at once, and processes that die at any step: no overspending, no charge lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.errors import LedgerError
from dpglm.ledger.ledger import Ledger
from tests.effort import quick
from tests.rooms.ledger.ledger_child import ANSWER, guarantee

CHILD = Path(__file__).with_name("ledger_child.py")
ROOT = Path(dpglm.__file__).parents[1]
STEPS = ("_connection", "_begin", "_insert", "_advance", "_commit")
AMOUNTS = ("0.1", "0.07")


def child(*arguments: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, str(CHILD), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def said(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def released_by(process: subprocess.Popen[str]) -> list[str]:
    """The hashes of what a child released before it ended."""
    if process.stdin is not None:
        process.stdin.close()
    assert process.stdout is not None
    # Not communicate(): it passes over lines that an earlier readline() has already taken from the pipe.
    output = process.stdout.read()
    process.wait()
    return [json.loads(line)["released"] for line in output.splitlines()]


def race(folder: Path, *, rounds: int) -> None:
    """Two processes make, open and charge the same ledger at once; every round is replayed line by line."""
    racers = [child("race", amount) for amount in AMOUNTS]
    try:
        for racer in racers:
            assert said(racer) == {"ready": True}
        for number in range(rounds):
            path = folder / f"{number}.ledger"
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"{path}\n")
                racer.stdin.flush()
            answers = [said(racer) for racer in racers]
            entries = Ledger(path).entries
            assert len(entries) == 100  # none lost: every attempt is a charge or a refusal
            spent = Decimal(0)
            for entry in entries:
                fits = spent + Decimal(repr(entry.epsilon)) <= 3
                assert (entry.status == "charged") == fits
                spent += Decimal(repr(entry.epsilon)) if fits else 0
            for amount, answer in zip(AMOUNTS, answers, strict=True):
                own = [entry for entry in entries if entry.epsilon == float(amount)]
                assert [entry.hash for entry in own if entry.status == "charged"] == answer["released"]
                assert sum(entry.status == "refused" for entry in own) == answer["refused"]
    finally:
        for racer in racers:
            racer.communicate()
    assert sorted(file.name for file in folder.iterdir()) == sorted(f"{k}.ledger" for k in range(rounds))


@pytest.mark.slow
def test_two_processes_never_overspend_and_lose_no_entry(tmp_path: Path) -> None:
    race(tmp_path, rounds=2)


@pytest.mark.audit
def test_two_processes_never_overspend_and_lose_no_entry_in_a_hundred_runs(tmp_path: Path) -> None:
    race(tmp_path, rounds=100)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", quick(STEPS, "_commit"))
def test_a_kill_at_any_step_of_a_charge_never_leaves_a_release_without_its_charge(
    tmp_path: Path, step: str, moment: str
) -> None:
    path = tmp_path / "crash.ledger"
    Ledger(path, (3.0, 1e-5), dataset="crash")
    # Opening passes _connection once, so its third passage is the second charge, as for the other steps.
    process = child("killed", str(path), step, moment, "3" if step == "_connection" else "2")
    released = released_by(process)
    assert process.returncode == -signal.SIGKILL
    assert len(released) == 1
    ledger = Ledger(path)
    kept = 2 if (step, moment) == ("_commit", "after") else 1
    assert [entry.hash for entry in ledger.entries][:1] == released
    assert len(ledger.entries) == kept  # after the commit the charge stays, though nothing was released
    assert Decimal(repr(ledger.spent.epsilon)) == kept * Decimal("0.001")
    ledger.verify()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", quick([*STEPS, "link"], "link"))
def test_a_kill_while_a_ledger_is_made_leaves_a_whole_one_or_none(
    tmp_path: Path, step: str, moment: str
) -> None:
    path = tmp_path / "crash.ledger"
    process = child("killed", str(path), step, moment, "1")
    assert released_by(process) == []
    assert process.returncode == -signal.SIGKILL
    assert path.exists() == ((step, moment) == ("link", "after"))
    ledger = Ledger(path, (3.0, 1e-5), dataset="crash")
    assert ledger.entries == ()
    assert ledger.remaining.epsilon == 3.0


def kill_somewhere(path: Path, *, after: int) -> None:
    """Kill a charging process once it released so many, wherever it then is."""
    process = child("steadily", str(path), "3000")
    released = [said(process)["released"] for _ in range(after)]
    process.kill()
    released += released_by(process)
    hashes = [entry.hash for entry in Ledger(path).entries]
    assert hashes[: len(released)] == released
    assert len(hashes) - len(released) in (0, 1)


@pytest.mark.slow
def test_a_kill_from_outside_never_leaves_a_release_without_its_charge(tmp_path: Path) -> None:
    for number in range(2):
        kill_somewhere(tmp_path / f"{number}.ledger", after=10 + number)


@pytest.mark.audit
def test_fifty_kills_from_outside_never_leave_a_release_without_its_charge(tmp_path: Path) -> None:
    for number in range(50):
        kill_somewhere(tmp_path / f"{number}.ledger", after=1 + 3 * number)


@pytest.mark.audit
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "unlink"])
def test_a_kill_at_any_system_call_that_writes_never_leaves_a_release_without_its_charge(
    tmp_path: Path, call: str
) -> None:
    finished, number = False, 0
    while not finished:
        number += 1
        path = tmp_path / f"{number}.ledger"
        Ledger(path, (3.0, 1e-5), dataset="crash")
        inject = f"--inject={call}:signal=KILL:when={number}"
        process = child("steadily", str(path), "2", before=("strace", "-f", "-qqq", "-o", os.devnull, inject))
        released = released_by(process)
        finished = process.returncode == 0
        hashes = [entry.hash for entry in Ledger(path).entries]
        assert hashes[: len(released)] == released
        assert len(hashes) - len(released) in (0, 1)
    assert number > 2  # at least one in each of the two charges
    assert len(released) == 2


def kept_after(path: Path, process: subprocess.Popen[str]) -> int:
    """How many answers a killed child said were kept, once each is found whole and no key charged twice."""
    output, _ = process.communicate()
    said_kept = [json.loads(line)["kept"] for line in output.splitlines()]
    ledger = Ledger(path)
    ledger.verify()
    keys = [entry.key for entry in ledger.entries]
    assert keys == [str(number) for number in range(len(keys))]
    charge = (guarantee(0.001), "y ~ x", "")
    for key in keys[:-1]:
        assert ledger.kept(key, [charge]) == (ledger.entries[int(key)], {"": ANSWER})
    if len(said_kept) < len(keys):
        if ledger._records().keyed[keys[-1]].answers:
            assert ledger.kept(keys[-1], [charge]) == (ledger.entries[-1], {"": ANSWER})
        else:
            with pytest.raises(LedgerError, match="no answer is kept"):
                ledger.kept(keys[-1], [charge])
    assert len(keys) - len(said_kept) in (0, 1)
    assert said_kept == list(range(len(said_kept)))
    return len(said_kept)


@pytest.mark.audit
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "unlink"])
def test_a_kill_at_any_system_call_that_writes_an_answer_leaves_all_of_it_or_none(
    tmp_path: Path, call: str
) -> None:
    finished, number = False, 0
    while not finished:
        number += 1
        path = tmp_path / f"{number}.ledger"
        Ledger(path, (3.0, 1e-5), dataset="crash")
        inject = f"--inject={call}:signal=KILL:when={number}"
        process = child("keyed", str(path), "2", before=("strace", "-f", "-qqq", "-o", os.devnull, inject))
        kept = kept_after(path, process)
        finished = process.returncode == 0
    assert number > 4  # at least one in each of the two charges and the two answers
    assert kept == 2


def test_a_twin_that_releases_before_the_charge_is_kept_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "crash.ledger"
    Ledger(path, (3.0, 1e-5), dataset="crash")
    released = released_by(child("careless", str(path)))
    assert len(released) == 1
    assert released[0] not in {entry.hash for entry in Ledger(path).entries}


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX users")
def test_a_ledger_that_cannot_be_written_to_is_refused_and_stays_readable() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.ledger"
        Ledger(path, (3.0, 1e-5))
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        process = child("unprivileged", str(path))
        answer = json.loads(process.communicate()[0])
        Path(folder).chmod(0o755)
    assert answer["found"] == "ledger file 'kept.ledger' cannot be written to"
    assert answer["expected"]
    assert "Nothing was released" in answer["remedy"]
    assert answer["entries"] == 0
