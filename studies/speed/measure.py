"""Fair measuring: CPU seconds, one BLAS thread, best of interleaved repeats, ratios within one run.

Every contestant lives in a process of its own that keeps its inputs in memory and times one call at a time
with ``time.process_time``; the parent lets them take turns, so that a busy moment hits all of them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Contestant:
    """A process that answers one JSON line with one JSON line: an interpreter and a script of this folder.

    Parameters
    ----------
    python : str
        Interpreter; peers have their own environments.
    script : str
        File name in this folder; it calls `serve`.
    """

    def __init__(self, python: str, script: str) -> None:
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve().parent / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT)},
        )

    def ask(self, do: str, **arguments: object) -> dict[str, Any]:
        """Let the process do one thing and return what it measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} stopped while asked to {do!r}; its message is above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


Turn: TypeAlias = tuple[Contestant, str, Mapping[str, object]]


def best_of(repeats: int, turns: Mapping[str, Turn]) -> dict[str, float]:
    """Least CPU seconds of each turn over ``repeats`` rounds in which all take turns."""
    best = dict.fromkeys(turns, float("inf"))
    for _ in range(repeats):
        for name, (contestant, do, arguments) in turns.items():
            best[name] = min(best[name], contestant.ask(do, **arguments)["cpu"])
    return best


def fresh_cpu(repeats: int, *pieces: str) -> list[float]:
    """Least CPU seconds (user + system) of fresh interpreters that run each piece of code, interleaved.

    The modules are compiled beforehand, as they are once a package has been installed.
    """
    best = [float("inf")] * len(pieces)
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, **ONE_THREAD, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(repeats + 1):
            for at, piece in enumerate(pieces):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, "-c", piece], check=True, cwd=ROOT, env=environment)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
                if turn > 0:  # the first turn compiles
                    best[at] = min(best[at], spent)
    return best


@dataclass(frozen=True)
class Line:
    """One line of the printed table; ``bar`` is the largest (or least) figure allowed, or None."""

    what: str
    figure: float
    bar: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the bar is met; True where there is none."""
        if self.bar is None:
            return True
        return self.figure >= self.bar if self.at_least else self.figure <= self.bar


def table_text(title: str, lines: Sequence[Line]) -> str:
    """The lines as text: figure, bar, verdict."""
    width = max(len(line.what) for line in lines)
    rows = [title, f"{'':{width}}  {'figure':>9}  {'bar':>9}"]
    for line in lines:
        sign = ">=" if line.at_least else "<="
        bar = "" if line.bar is None else f"{sign} {line.bar:.4g}"
        verdict = "" if line.bar is None else ("met" if line.met else "MISSED")
        rows.append(f"{line.what:{width}}  {line.figure:9.4g}  {bar:>9}  {verdict:6}  {line.note}".rstrip())
    return "\n".join(rows)
