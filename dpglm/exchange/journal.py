"""Journals: every question with its answer, on disk before the answer is used, once and for all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpglm.errors import ExchangeError
from dpglm.ledger.arguments import path_of
from dpglm.ledger.log import Line, Log

FORMAT: Final = "dpglm-journal/1"


@dataclass(frozen=True)
class Exchanged:
    """A question and its answer, as they were sent; no answer is empty bytes."""

    asked: bytes
    answered: bytes


class Journal:
    """What was exchanged under one opening (run, plan, site), in a file that is chained as a ledger's is.

    A line is on disk when `keep` returns. Of two processes that keep an answer to the same question one is
    first, and both go on with that answer. Without a path all of it is in memory, and gone with the process.

    Parameters
    ----------
    path : Path or None
        Made where there is no file.
    opening : mapping
        What the journal is about, in plain words. A file with another opening is an ExchangeError, one that
        was tampered with a LedgerError.

    Examples
    --------
    >>> journal = Journal(None, {"run": "monday-run", "site": "north"})
    >>> journal.keep("north", "start", b"?", b"!"), journal.keep("north", "start", b"?", b"other")
    (b'!', b'!')
    """

    def __init__(self, path: Path | None, opening: Mapping[str, object]) -> None:
        self._log = None if path is None else Log(path)
        self._last: Line | None = None
        self._kept: dict[tuple[str, str], Exchanged] = {}
        self._opening = _line(format=FORMAT, **opening)
        if self._log is not None:
            self._log.create(self._opening)
            self._see(self._log.read())

    def get(self, site: str, name: str) -> Exchanged | None:
        """What was exchanged under a name; None where nothing was."""
        return self._kept.get((site, name))

    def keep(self, site: str, name: str, asked: bytes, answered: bytes) -> bytes:
        """The answer that is kept: this one, unless another process was first."""
        if self._log is None:
            self._kept.setdefault((site, name), Exchanged(asked, answered))
        else:
            line = _line(site=site, name=name, asked=asked.decode("ascii"), answered=answered.decode("ascii"))

            def compose(lines: tuple[Line, ...]) -> list[str]:
                self._see(lines)
                return [] if (site, name) in self._kept else [line]

            self._see(self._log.extend(compose, after=self._last))
        exchanged = self._kept[site, name]
        if exchanged.asked != asked:
            raise ExchangeError(
                f"at site {site!r}, another {name!r} than the one that was answered",
                expected="the same bytes, at each try",
                remedy="Start the coordinator with its journal, or use another run, which is charged anew.",
            )
        return exchanged.answered

    def __iter__(self) -> Iterator[tuple[str, str, Exchanged]]:
        """Site, name and bytes of all that was exchanged, in order."""
        return ((site, name, exchanged) for (site, name), exchanged in list(self._kept.items()))

    def _see(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            if line.position == 0 and line.content != self._opening:
                raise ExchangeError(
                    "a journal of another run, site or plan",
                    expected="the journal of this one",
                    remedy="Give each run and site a journal of its own, and use one plan throughout.",
                )
            if line.position > 0:
                content = json.loads(line.content)
                exchanged = Exchanged(content["asked"].encode("ascii"), content["answered"].encode("ascii"))
                self._kept.setdefault((content["site"], content["name"]), exchanged)
            self._last = line


def journal_path(path: str | os.PathLike[str] | None) -> Path | None:
    """An absolute path, or none."""
    return None if path is None else path_of(path)


def _line(**content: object) -> str:
    return json.dumps(content, separators=(",", ":"))
