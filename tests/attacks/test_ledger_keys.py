"""Answers kept under a key: races, kills, full disks and changed files never draw twice for a charge."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.errors import LedgerError
from dpglm.ledger.answers import ANSWERS, digest_of
from dpglm.ledger.ledger import Ledger
from tests.attacks.ledgers import CHARGE, OPENING, ROOT, forged, pure, ran
from tests.effort import quick
from tests.test_bad_input import SCHEMA, private_rows

FIT = """
import functools, json, os, signal, sys, warnings
import pandas as pd
import dpglm
from dpglm.errors import AnswerNotKept, LedgerError
from dpglm.ledger import log
frame = pd.DataFrame({"y": ["no", "yes"] * 20, "x": [0.2, 8.0] * 20, "age": 50.0, "sex": "F"})
schema = {"y": ["no", "yes"], "x": (0.0, 10.0), "age": (18.0, 90.0), "sex": ["F", "M"]}
def fit():
    ledger = dpglm.Ledger(sys.argv[1])
    fit = dpglm.fit("y ~ x", frame, schema=schema, privacy=1.0, ledger=ledger, key="once", progress=False)
    print(json.dumps(fit.params.tolist()), flush=True)
"""
RACE = (
    FIT
    + """
print("ready", flush=True)
sys.stdin.readline()
try:
    fit()
except LedgerError as error:
    print(json.dumps(error.found), flush=True)
"""
)
KILLED = (
    FIT
    + """
step, moment, nth = sys.argv[2], sys.argv[3], int(sys.argv[4])
work, passages = getattr(log, step), 0
@functools.wraps(work)
def dying(*arguments, **options):
    global passages
    passages += 1
    if passages == nth and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = work(*arguments, **options)
    if passages == nth and moment == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(log, step, dying)
fit()
"""
)
FULL_DISK = (
    FIT
    + """
import resource
ledger_keep = dpglm.Ledger.keep
def full(self, *arguments):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(sys.argv[1]).st_size + int(sys.argv[2]), -1))
    try:
        ledger_keep(self, *arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
dpglm.Ledger.keep = full
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fit()
print(json.dumps([one.category.__name__ for one in caught]))
"""
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Ledger(tmp_path / "keyed.ledger", 3.0, dataset="keyed").path


def retried(path: Path) -> list[float]:
    """The kept answer, without a look at the rows: one that is drawn would raise an AssertionError."""
    fit = dpglm.fit(
        "y ~ x", private_rows(), schema=SCHEMA, privacy=1.0, ledger=path, key="once", progress=False
    )
    coefficients: list[float] = fit.params.tolist()
    return coefficients


@pytest.mark.slow
def test_processes_with_one_key_at_once_draw_once(path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    told: list[Any] = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        output, _ = racer.communicate(timeout=120)
        assert racer.returncode == 0
        told += [json.loads(line) for line in output.splitlines()]
    answers = [answer for answer in told if isinstance(answer, list)]
    assert len(told) == 3
    assert answers
    assert all(answer == retried(path) for answer in answers)
    assert all("was charged on" in refusal for refusal in told if isinstance(refusal, str))
    assert [entry.status for entry in Ledger(path).entries] == ["charged"]


# The charge commits first, the answer second; nothing else is written between.
STEPS = [
    (step, moment, nth)
    for step in ("_begin", "_insert", "_advance", "keep", "_commit")
    for moment in ("before", "after")
    for nth in (1, 2)
    if (step, nth) != ("keep", 2)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "moment", "nth"),
    quick(STEPS, ("_commit", "after", 1), ("keep", "after", 1), ("_commit", "after", 2)),
)
def test_a_kill_at_any_step_of_a_run_with_a_key_never_draws_twice(
    path: Path, step: str, moment: str, nth: int
) -> None:
    killed = ran(KILLED, path, step, moment, nth)
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout == ""
    entries = Ledger(path).entries
    if (nth, step) == (1, "_commit") and moment == "before":
        assert entries == ()
    if not entries:
        with pytest.raises(AssertionError, match="rows were read"):
            retried(path)  # nothing was charged, so that it is charged and drawn now
        return
    if (step, moment, nth) == ("_commit", "after", 2):
        assert len(retried(path)) == 2
    else:
        with pytest.raises(LedgerError, match="no answer is kept"):
            retried(path)
    assert Ledger(path).entries == entries
    Ledger(path).verify()


@pytest.mark.parametrize("room", quick([0, 600, 5000], 600))
def test_a_disk_without_room_for_the_answer_draws_once(path: Path, room: int) -> None:
    pytest.importorskip("resource")
    told = ran(FULL_DISK, path, room)
    assert told.returncode == 0, told.stderr
    answer, warned = map(json.loads, told.stdout.splitlines())
    assert len(answer) == 2
    assert "AnswerNotKept" in warned
    with pytest.raises(LedgerError, match="no answer is kept"):
        retried(path)
    assert Ledger(path).spent.epsilon == 1.0
    Ledger(path).charge(pure(1.0), what="goes on")


CHANGES = (
    "UPDATE answers SET content = replace(content, '1', '2')",
    "UPDATE answers SET content = CAST(content AS BLOB)",
    "UPDATE answers SET content = zeroblob(30000000)",
    "UPDATE answers SET hash = upper(hash)",
    "DELETE FROM answers",
    "DROP TABLE answers",
)


@pytest.mark.parametrize("statement", quick(CHANGES, CHANGES[0], CHANGES[-1]))
def test_a_kept_answer_that_was_changed_or_is_gone_is_refused(path: Path, statement: str) -> None:
    assert ran(FIT + "fit()", path).returncode == 0
    kept = retried(path)
    assert len(kept) == 2
    connection = sqlite3.connect(path, isolation_level=None)
    for name in ("answers_stay", "answers_unchanged"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    if "DROP" not in statement:
        for trigger in ANSWERS[1:]:
            connection.execute(trigger)
    connection.close()
    for use in (lambda: retried(path), lambda: Ledger(path).verify()):
        with pytest.raises(LedgerError, match="gone or was changed"):
            use()
    assert Ledger(path).spent.epsilon == 1.0


def test_a_planted_answer_without_its_line_is_never_read(path: Path) -> None:
    """A text may lie in the table: what names no line is nobody's answer."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ANSWERS:
        connection.execute(statement)
    connection.execute("INSERT INTO answers VALUES (?, ?)", (digest_of("planted"), "planted"))
    connection.close()
    with pytest.raises(AssertionError, match="rows were read"):
        retried(path)
    assert Ledger(path).spent.epsilon == 1.0


KEYED = {**CHARGE, "key": "once"}
ANSWER = {"status": "answered", "when": "2024-01-01T00:00:00Z", "key": "once", "site": "", "answer": "0" * 64}


@pytest.mark.parametrize(
    "lines",
    [
        [ANSWER],
        [CHARGE, ANSWER],
        [{**KEYED, "status": "refused"}],
        [KEYED, {**ANSWER, "key": "other"}],
        [KEYED, CHARGE, KEYED],
        [KEYED, ANSWER, KEYED],
        [KEYED, ANSWER, ANSWER],
        [KEYED, ANSWER, CHARGE, {**ANSWER, "site": "south"}],
        [{**CHARGE, "key": None}],
        [{**CHARGE, "key": ""}],
        [{**CHARGE, "key": "\u202e"}],
        [KEYED, {**ANSWER, "site": None}],
        [KEYED, {**ANSWER, "answer": None}],
        [KEYED, {name: value for name, value in ANSWER.items() if name != "key"}],
    ],
    ids=range(14),
)
def test_lines_with_keys_that_no_ledger_wrote_are_refused(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    with pytest.raises(LedgerError, match="say nothing about a budget"):
        Ledger(forged(tmp_path / "forged.ledger", OPENING, *lines))
    honest = Ledger(forged(tmp_path / "honest.ledger", OPENING, KEYED, {**ANSWER, "site": "a"}, CHARGE))
    assert honest.spent.epsilon == 0.2
    with pytest.raises(LedgerError, match="gone or was changed"):
        honest.verify()
