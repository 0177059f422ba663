"""Answers that a ledger keeps: long texts in a table of their own, each named in a line by its SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

LONGEST_ANSWER: Final = 2**26  # bytes: those of the longest saved result
# What a trigger does, so that lines stay as they are.
REFUSED: Final = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
# Made when the first answer is kept: a ledger without one is the file that it always was.
ANSWERS: Final = (
    "CREATE TABLE answers (hash TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID",
    f"CREATE TRIGGER answers_stay BEFORE DELETE ON answers {REFUSED}",
    f"CREATE TRIGGER answers_unchanged BEFORE UPDATE ON answers {REFUSED}",
)
_LENGTH: Final = 0  # SQLITE_LIMIT_LENGTH of SQLite's C interface


def keep(connection: sqlite3.Connection, texts: Sequence[str]) -> None:
    """Write texts in the transaction that is open."""
    connection.setlimit(_LENGTH, LONGEST_ANSWER)
    if ANSWERS[0] not in statements(connection):
        for statement in ANSWERS:
            connection.execute(statement)
    rows = [(digest_of(text), text) for text in texts]
    connection.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", rows)


def kept(connection: sqlite3.Connection, digest: str) -> str | None:
    """The text of this SHA-256; None where it is gone or another one stands in its place."""
    if ANSWERS[0] not in statements(connection):
        return None
    connection.setlimit(_LENGTH, LONGEST_ANSWER)
    row = connection.execute("SELECT content FROM answers WHERE hash = ?", (digest,)).fetchone()
    text = None if row is None else row[0]
    return text if isinstance(text, str) and digest_of(text) == digest else None


def statements(connection: sqlite3.Connection) -> set[str]:
    """The tables and triggers of a file, as they were made."""
    return {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}


def digest_of(text: str) -> str:
    """SHA-256 of a text, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
