"""Append-only log: a file of lines that can be added to but never changed, SQLite with a chain of hashes."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpglm.errors import LedgerError
from dpglm.ledger.answers import ANSWERS, REFUSED, digest_of, keep, kept, statements

if TYPE_CHECKING:
    import sqlite3

FORMAT = "dpglm-ledger/1"
APPLICATION_ID = 0x6470676C  # "dpgl": tells this file from any other SQLite database
LONGEST = 2**20  # bytes of a line: more than any ledger writes, and no more memory than that
BUSY_SECONDS = 120.0  # a charge holds the file for milliseconds; waiting is always better than failing
TABLES = (
    "CREATE TABLE entries (position INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 0), count INTEGER NOT NULL, hash TEXT NOT NULL)",
)
# A first line of defence against a slip of the hand; whoever drops them still meets the chain.
TRIGGERS = (
    f"CREATE TRIGGER entries_stay BEFORE DELETE ON entries {REFUSED}",
    f"CREATE TRIGGER entries_unchanged BEFORE UPDATE ON entries {REFUSED}",
    # INSERT OR REPLACE deletes without calling the triggers above.
    "CREATE TRIGGER entries_in_order BEFORE INSERT ON entries "
    f"WHEN NEW.position IS NOT (SELECT count(*) FROM entries) {REFUSED}",
    f"CREATE TRIGGER head_stays BEFORE DELETE ON head {REFUSED}",
    f"CREATE TRIGGER head_grows BEFORE UPDATE ON head WHEN NEW.count IS NOT OLD.count + 1 {REFUSED}",
)
RESTORE = "Put back the last good copy of the file and ask the data owner what happened to it."


@dataclass(frozen=True)
class Line:
    """One line of a log: where it stands, what it says, and the hash of all up to here."""

    position: int
    content: str
    hash: str


@dataclass(frozen=True)
class Log:
    """An append-only file of lines, safe with several threads and processes.

    Line ``k`` holds ``SHA-256(format, k, hash of line k - 1, content)``; a second table holds the number of
    lines and the last hash. `read` checks all of it, so a line edited, deleted, added by hand or moved is
    found, and so are lines cut off the end. `extend` checks what follows a line that was checked before, so
    that a line costs the same at any length. The hashes hold no secret: somebody who writes the
    *whole* file anew, or puts back an older copy, is found only by comparing with a hash noted elsewhere.

    A line is on disk when ``extend`` returns. The rollback journal (``journal_mode=DELETE``) is used rather
    than a write-ahead log, so that between two calls the ledger is one file that can be copied whole and
    needs no shared memory; ``synchronous=EXTRA`` also syncs the folder after the journal is removed, without
    which a power cut just after a commit can undo it. No connection is kept between calls: nothing is
    shared by threads or inherited over a fork.

    ``path`` is absolute. The file is never opened but by SQLite: closing a second handle would drop SQLite's
    locks on POSIX systems. A LedgerError says that it cannot be read or written, is no ledger, or was
    tampered with.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = Log(Path(folder.name) / "lines")
    >>> log.create("first")
    True
    >>> log.extend(lambda new: [f"after {new[-1].content}"])[-1].position
    1
    >>> [line.content for line in log.read()]
    ['first', 'after first']
    >>> folder.cleanup()
    """

    path: Path

    def create(self, content: str) -> bool:
        """Make the file with its first line; False where there is a file already.

        The file is made whole under another name and then given its own in one step, so that neither a crash
        nor a second process ever meets half a ledger, and an empty file is never taken for a new one.
        """
        draft = self.path.with_name(f".{self.path.name}.{os.urandom(8).hex()}.draft")
        try:
            with _connection(draft, "rwc", named=self.path) as connection:
                _begin(connection)
                for statement in (*TABLES, *TRIGGERS):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute("INSERT INTO head VALUES (0, 0, '')")
                _append(connection, _next(None, content))
                _commit(connection)
            return self._publish(draft)
        finally:
            with suppress(OSError):
                draft.unlink()

    def read(self) -> tuple[Line, ...]:
        """All lines, checked."""
        single_link_check(self.path)
        with _connection(self.path, "rw", named=self.path) as connection:
            connection.execute("BEGIN")  # one snapshot for all the checks
            return _checked(connection, self.path.name)

    def extend(
        self,
        compose: Callable[[tuple[Line, ...]], Sequence[str]],
        *,
        after: Line | None = None,
        answers: Sequence[str] = (),
    ) -> tuple[Line, ...]:
        """Add the lines that ``compose`` makes of those beyond ``after``, all or none; then they are on disk.

        ``after`` is a line that was read before, None for none: it and what follows are checked. No other
        process adds a line between what ``compose`` is shown and the new ones. If ``compose`` raises, nothing
        is written. ``answers`` are long texts that the lines name by their SHA-256, kept with them or not at
        all. Returned are all lines beyond ``after``, the new ones last.
        """
        single_link_check(self.path)
        with _connection(self.path, "rw", named=self.path) as connection:
            _begin(connection)
            lines = _checked(connection, self.path.name, after)
            for content in compose(lines):
                line = _next(lines[-1] if lines else after, content)
                _append(connection, line)
                lines = (*lines, line)
            if answers:
                keep(connection, answers)
            _commit(connection)
        return lines

    def answer(self, digest: str) -> str:
        """The text whose SHA-256 a line names; a LedgerError where it is gone or another one."""
        with _connection(self.path, "rw", named=self.path) as connection:
            text = kept(connection, digest)
        if text is None:
            found = "an answer that it kept is gone or was changed"
            raise _tampered(self.path.name, found, "the text whose hash stands in a line")
        return text

    def _publish(self, draft: Path) -> bool:
        """Give a finished file its name; False where the name is taken."""
        try:
            os.link(draft, self.path)  # unlike a rename, never replaces a ledger
        except FileExistsError:
            return False
        except OSError as error:
            raise LedgerError(
                f"no ledger can be made at {self.path.name!r} ({error.strerror})",
                expected="a folder on a local disk that can be written to and knows hard links",
                remedy="Keep the ledger on a local disk: others often lack safe locks too.",
            ) from None
        if hasattr(os, "O_DIRECTORY"):
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return True


def single_link_check(path: Path) -> None:
    """Refuse a ledger file with a second hard link, and finish what a killed maker of the file left behind.

    What a crash left half done is undone by whoever opens the file next, from notes that SQLite keeps beside
    the name it was given. If the file grew meanwhile under a second name, those lines would be undone too: a
    release would stand without its charge. Symbolic links are harmless, since SQLite resolves them.
    """
    try:
        if os.stat(path).st_nlink == 1:
            return
        for draft in path.parent.glob(f".{glob.escape(path.name)}.*.draft"):
            if os.path.samefile(draft, path):
                draft.unlink(missing_ok=True)
        names = os.stat(path).st_nlink
    except OSError:
        return  # SQLite says what is wrong with the file
    if names > 1:
        raise LedgerError(
            f"ledger file {path.name!r} has {names} names (hard links)",
            expected="one name, under which all processes open it",
            remedy="Remove the other names. For another place use a symbolic link, for a copy cp.",
        )


@contextmanager
def _connection(file: Path, mode: str, *, named: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one piece of work; closing it undoes what was not committed."""
    import sqlite3

    connection: sqlite3.Connection | None = None
    try:
        # isolation_level=None: Python starts no transaction of its own.
        connection = sqlite3.connect(
            f"{file.as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone stops at the drive's cache
        yield connection
    except (sqlite3.Error, UnicodeError) as error:  # UnicodeError: damaged names and messages
        raise _error_of(error, named) from None
    finally:
        if connection is not None:
            connection.close()


def _begin(connection: sqlite3.Connection) -> None:
    # Takes the write lock now: a transaction that reads first could be overtaken by another process.
    connection.execute("BEGIN IMMEDIATE")


def _append(connection: sqlite3.Connection, line: Line) -> None:
    _insert(connection, line)
    _advance(connection, line)


def _insert(connection: sqlite3.Connection, line: Line) -> None:
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (line.position, line.content, line.hash))


def _advance(connection: sqlite3.Connection, line: Line) -> None:
    connection.execute("UPDATE head SET count = ?, hash = ?", (line.position + 1, line.hash))


def _commit(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def _next(before: Line | None, content: str) -> Line:
    """The line that follows another one, or none."""
    position, previous = (0, "") if before is None else (before.position + 1, before.hash)
    return Line(position, content, digest_of(f"{FORMAT}\n{position}\n{previous}\n{content}"))


def _checked(connection: sqlite3.Connection, name: str, after: Line | None = None) -> tuple[Line, ...]:
    """Lines of an open file beyond ``after``, or a LedgerError that says where the chain breaks."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise LedgerError(
            f"{name!r} is an SQLite file but no ledger (or an empty file)",
            expected=f"a file of format {FORMAT}, made by dpglm.Ledger(path, budget=...)",
            remedy="Give the ledger's own path. If this was the ledger, put back its last good copy.",
        )
    if connection.execute("PRAGMA journal_mode").fetchone() != ("delete",):
        found = "its journal mode was changed, or a -wal file was put beside it"
        raise _tampered(name, found, "one file, no write-ahead log")
    if statements(connection) not in ({*TABLES, *TRIGGERS}, {*TABLES, *TRIGGERS, *ANSWERS}):
        found = "its tables or triggers were changed"
        raise _tampered(name, found, "the tables and triggers it was made with")
    start = 0 if after is None else after.position
    beyond = "" if after is None else f"WHERE position >= {start} "
    rows = connection.execute(f"SELECT position, content, hash FROM entries {beyond}ORDER BY position")
    if after is not None and rows.fetchone() != (after.position, after.content, after.hash):
        raise behind(name, "what this object read from it before")
    lines: list[Line] = []
    last = after
    for row in rows:
        line = Line(*row)
        if not isinstance(line.content, str) or line != _next(last, line.content):
            found = f"the chain breaks at line {start + len(lines) + (after is not None)}"
            raise _tampered(name, found, "each line to hash to what is stored beside it")
        lines.append(line)
        last = line
    heads = connection.execute("SELECT count, hash FROM head").fetchall()
    if last is None or heads != [(last.position + 1, last.hash)]:
        found = "lines are missing at its end, or its head was changed"
        raise _tampered(name, found, "as many lines as it counts")
    return tuple(lines)


def behind(name: str, than: str) -> LedgerError:
    """The error for a file that lost lines which were once seen in it."""
    return LedgerError(
        f"ledger file {name!r} does not hold {than}",
        expected="all lines that were ever written, with new ones after them",
        remedy=f"An older or another file stands in its place. {RESTORE}",
    )


def _tampered(name: str, found: str, expected: str) -> LedgerError:
    return LedgerError(f"ledger file {name!r} was tampered with: {found}", expected=expected, remedy=RESTORE)


def _error_of(error: sqlite3.Error | UnicodeError, path: Path) -> LedgerError:
    """What SQLite said, in three parts."""
    code = getattr(error, "sqlite_errorname", None) or "damaged text"
    happened, expected, remedy = (
        f"failed with {code}",
        "an SQLite file that only dpglm.Ledger has written to",
        RESTORE,
    )
    if code.startswith("SQLITE_CANTOPEN"):
        missing = "cannot be opened" if path.exists() else "does not exist, or its folder does not"
        happened = "is a folder" if path.is_dir() else missing
        expected = "a file that can be read and written, in a folder that exists"
        remedy = "Check the path; to make a ledger, give budget=(epsilon, delta)."
    elif code.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        happened = "cannot be written to"
        expected = "a file and a folder that may be written to: charges come before data are read"
        remedy = "Ask the data owner for the right to write to the ledger. Nothing was released."
    elif code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        happened = f"was held by another process for {BUSY_SECONDS:g} seconds"
        expected = "other processes to hold it for milliseconds"
        remedy = "Close programs that have the file open, then fit again. Nothing was released."
    elif code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        expected = "a disk that works and has room for a charge"
        remedy = "Free some space or repair the disk, then fit again. Nothing was released."
    return LedgerError(f"ledger file {path.name!r} {happened}", expected=expected, remedy=remedy)
