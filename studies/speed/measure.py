"""Fair measuring: CPU seconds, one BLAS thread, contestants in processes of their own that take turns.

A contestant keeps its inputs in memory and times one call at a time. The parent lets all contestants of a row
take turns, so that a busy moment hits all of them, and several rounds of turns show the best of each.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

ROOT: Final = Path(__file__).resolve().parents[2]
PEER_PYTHON: Final = ROOT / ".venv-peers" / "bin" / "python"
BLAS_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Seconds after which no answer is waited for.
LIMIT: Final = 1800.0


class TooLongError(RuntimeError):
    """No answer within `LIMIT`."""


def environment(blas: int = 1, threads: int | None = None) -> dict[str, str]:
    """Of a process with so many threads for linear algebra, and for rows (None: as many as it has cores)."""
    found = {**os.environ, **dict.fromkeys(BLAS_THREADS, str(blas)), "PYTHONPATH": str(ROOT)}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    found.pop("DPGLM_THREADS", None)
    return found if threads is None else {**found, "DPGLM_THREADS": str(threads)}


class Contestant:
    """A process that answers one JSON line with one JSON line: an interpreter and a module.

    Parameters
    ----------
    python : str
        Interpreter; peers have their own environments.
    module : str
        Run as a program, it calls `timing.serve`.
    env : mapping, optional
        Of the process; by default it has one thread for linear algebra.
    """

    def __init__(self, python: str, module: str, *, env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [python, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment() if env is None else dict(env),
        )

    def ask(self, do: str, **arguments: object) -> dict[str, Any]:
        """Let the process do one thing and return what it measured.

        Raises
        ------
        TooLongError
            No answer in time; the process has been ended.
        RuntimeError
            It failed, or stopped.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        # One line is asked for at a time, so nothing waits in a buffer.
        if not select.select([self._process.stdout], [], [], LIMIT)[0]:
            self._process.kill()
            self._process.wait()
            raise TooLongError(f"no answer within {LIMIT:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} stopped while asked to {do!r}; its message is above")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(f"{do!r}: {answer['failed']}")
        return answer

    @property
    def running(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass(frozen=True)
class Seat:
    """Which process is asked.

    Parameters
    ----------
    module : str
    peer : bool
        Whether it runs in the peers' environment.
    blas : int
        Threads for linear algebra; 0 for as many as there are cores, which is what no setting means.
    threads : int or None
        ``DPGLM_THREADS``; None where it is not set.
    alone : str
        Seats with another word here are other processes: their memory is measured.
    """

    module: str = "studies.speed.own"
    peer: bool = False
    blas: int = 1
    threads: int | None = None
    alone: str = ""


class Contestants:
    """Processes by their seats, started when they are first asked; they end with this one."""

    def __init__(self) -> None:
        self._seated: dict[Seat, Contestant] = {}

    def ask(self, seat: Seat, do: str, **arguments: object) -> dict[str, Any]:
        """As `Contestant.ask`; what took too long is told as refused."""
        if seat not in self._seated or not self._seated[seat].running:
            python = str(PEER_PYTHON) if seat.peer else sys.executable
            env = environment(seat.blas or core_count(), seat.threads)
            self._seated[seat] = Contestant(python, seat.module, env=env)
        try:
            return self._seated[seat].ask(do, **arguments)
        except TooLongError as late:
            return {"refused": str(late)}

    def leave(self, seats: Collection[Seat]) -> None:
        """End processes of their own that have no turn now: they may have very many rows in memory."""
        for seat in [one for one in self._seated if one.alone and one not in seats]:
            self._seated.pop(seat).close()

    def close(self) -> None:
        """End all."""
        while self._seated:
            self._seated.popitem()[1].close()


CONTESTANTS: Final = Contestants()


def core_count() -> int:
    """Cores of this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def folder() -> Path:
    """A folder for large tables, which is gone when this process ends."""
    made = tempfile.TemporaryDirectory(prefix="dpglm-speed-")
    _FOLDERS.append(made)
    return Path(made.name)


_FOLDERS: Final[list[tempfile.TemporaryDirectory[str]]] = []


def fresh(code: str, *words: str) -> dict[str, Any]:
    """CPU and wall seconds of a fresh interpreter that runs this code, imports included.

    What the code prints last, as JSON, comes before what is measured here. Modules are compiled beforehand,
    as they are once a package has been installed.
    """
    _compiled(code, words)
    return _run(code, words)


@cache
def _compiled(code: str, words: tuple[str, ...]) -> None:
    _run(code, words)


def _run(code: str, words: tuple[str, ...]) -> dict[str, Any]:
    start = time.perf_counter()
    program = [sys.executable, "-c", code, *words]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment())
    assert process.stdout is not None
    printed = process.stdout.read().splitlines()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"a fresh interpreter stopped with {process.returncode}; its message is above")
    told = json.loads(printed[-1]) if printed and printed[-1].startswith("{") else {}
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, **told}
