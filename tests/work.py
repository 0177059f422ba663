"""How much a call does, counted: function calls and bytes, the same on an idle machine and a busy one."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass
class Work:
    """Calls of Python functions and of built-in ones, and the largest memory held at once."""

    calls: int = 0
    peak_bytes: int = 0


class TooMuchWork(AssertionError):
    """Raised where the bound is passed, so that a loop without an end does end."""


@contextmanager
def counted_work(*, calls: float, megabytes: float) -> Iterator[Work]:
    """Fail as soon as the body makes more calls, and at its end if it held more memory at once."""
    work = Work()

    def count(frame: FrameType, event: str, value: Any) -> None:
        if event.endswith("call"):
            work.calls += 1
            if work.calls > calls:
                sys.setprofile(None)
                raise TooMuchWork(f"more than {calls:,.0f} calls")

    tracing, before = tracemalloc.is_tracing(), sys.getprofile()
    tracemalloc.start()
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(before)
        work.peak_bytes = tracemalloc.get_traced_memory()[1] - held
        if not tracing:
            tracemalloc.stop()
    assert work.peak_bytes <= megabytes * 1e6, f"{work.peak_bytes / 1e6:.1f} MB at once"


def calls_of(action: Callable[[], Any]) -> int:
    """Function calls that one run makes; a first run has done the imports and filled the caches."""
    action()
    with counted_work(calls=1e7, megabytes=1e4) as work:
        action()
    return work.calls
