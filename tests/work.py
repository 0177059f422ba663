"""How much a call does, counted in calls and megabytes: the same on an idle machine and a busy one."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass
class Work:
    """Calls of Python functions and of built-in ones."""

    calls: int = 0


class TooMuchWork(AssertionError):
    """Raised where the bound is passed, so that a loop without an end does end."""


@contextmanager
def counted_work(*, calls: float) -> Iterator[Work]:
    """Fail as soon as the body makes more calls."""
    work, before = Work(), sys.getprofile()

    def count(frame: FrameType, event: str, value: Any) -> None:
        if event.endswith("call"):
            work.calls += 1
            if work.calls > calls:
                sys.setprofile(before)
                raise TooMuchWork(f"more than {calls:,.0f} calls")

    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(before)


def calls_of(action: Callable[[], Any]) -> int:
    """Function calls that one run makes; a first run has done the imports and filled the caches."""
    action()
    with counted_work(calls=1e7) as work:
        action()
    return work.calls


def largest_memory() -> float:
    """The most megabytes that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


@contextmanager
def memory_within(megabytes: float) -> Iterator[None]:
    """Fail if the body lets the largest memory of this process grow by more."""
    before = largest_memory()
    yield
    assert largest_memory() - before <= megabytes
