"""What an input may do at most: the errors that are documented, within bounds of time and memory.

The list is here and nowhere else:

* :class:`dpglm.errors.DpglmError` and its kinds, in three parts, from every verb;
* :class:`OSError` where the system fails: no such file, no permission, a full disk;
* on the command line, exit status 1 or 2 with a message, and never a traceback.

Everything else is a defect: another exception, a warning about a value, a hang, a heap of memory, text that
is run, or a private value in any text of an error, shown or not.
"""

from __future__ import annotations

import gc
import os
import resource
import time
import traceback
from collections.abc import Callable
from typing import Any

from dpglm.errors import DpglmError

DOCUMENTED: tuple[type[Exception], ...] = (DpglmError, OSError)
STATUSES = (0, 1, 2)
# Of processor time, for one case of an audit: ordinary ones take milliseconds.
SECONDS = 20.0
# Growth of the largest memory that this process ever used, in one case.
MEGABYTES = 1500.0
# Stands in private cells, and in no public place.
CANARY = "canary7391"
CANARY_NUMBER = 739173917391.25
# Text that runs would set this variable.
SENTINEL = "DPGLM_FUZZ_SENTINEL"
ATTACK = f"__import__('os').environ.__setitem__('{SENTINEL}', 'run')"


class Counter:
    """Cases run in this process."""

    cases = 0
    refused = 0
    timed = False


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def within_bounds(action: Callable[[], Any]) -> Any:
    """What ``action`` gives, or the documented error it ends in; anything else fails the test."""
    Counter.cases += 1
    started, before = time.process_time(), _peak()
    try:
        found = action()
    except DOCUMENTED as error:
        Counter.refused += 1
        check_text(error)
        found = error
    except RecursionError as error:
        raise AssertionError("a RecursionError left the package") from error
    assert not Counter.timed or time.process_time() - started < SECONDS, "too long"
    if _peak() - before > MEGABYTES:
        gc.collect()
        raise AssertionError("too much memory")
    assert SENTINEL not in os.environ, "text was run as code"
    return found


def check_text(error: BaseException) -> None:
    """Three parts, and no private value in the error, its causes or its contexts."""
    if isinstance(error, DpglmError):
        assert error.found, error
        assert error.expected, error
        assert error.remedy, error
    # As a terminal would show it, and what is suppressed there.
    texts = ["".join(traceback.format_exception_only(error))]
    seen: BaseException | None = error
    while seen is not None:
        texts.append(f"{seen!r} {seen.args!r}")
        seen = seen.__cause__ or seen.__context__
    require_no_canary("\n".join(texts))


def require_no_canary(text: str) -> None:
    """No private value in a text."""
    assert CANARY not in text, text[:500]
    assert "7391739" not in text, text[:500]
