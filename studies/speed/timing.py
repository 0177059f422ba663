"""What a contestant does: it answers lines of JSON, and times calls. Standard library only, for peers."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Task: TypeAlias = Callable[..., dict[str, Any]]


def cpu_seconds() -> float:
    """User and system seconds of this process, and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(*works: Callable[[], object]) -> dict[str, Any]:
    """CPU and wall seconds of one call, mean over the calls given.

    Examples
    --------
    >>> sorted(timed(lambda: sum(range(9))))
    ['cpu', 'wall']
    """
    cpu, wall = cpu_seconds(), time.perf_counter()
    for work in works:
        work()
    return {
        "cpu": (cpu_seconds() - cpu) / len(works),
        "wall": (time.perf_counter() - wall) / len(works),
    }


def peak_megabytes() -> float:
    """The largest memory of this program so far.

    Not `ru_maxrss` where there is better: that still holds the parent's size from before the start.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1024 * 1024 if sys.platform == "darwin" else 1024)


def serve(tasks: Mapping[str, Task], *, refusals: tuple[type[Exception], ...] = ()) -> None:
    """Answer one JSON line with one JSON line until there are no more.

    Parameters
    ----------
    tasks : mapping
        By the name that a request has under ``"do"``; its other entries are arguments.
    refusals : tuple of exception types
        Told as ``"refused"``. Any other exception is told as ``"failed"``.
    """
    # What libraries print must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = tasks[request.pop("do")](**request)
        except refusals as refusal:
            answer = {"refused": str(refusal)}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
