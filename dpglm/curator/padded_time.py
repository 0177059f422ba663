"""Padding of time: what runs in a block is handed out at times that do not depend on private rows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from dpglm.errors import MethodError

_DEPTH: ContextVar[int] = ContextVar("blocks of padded time", default=0)


def time_is_padded() -> bool:
    """Whether this code runs in a block of padded time, where nothing may show how far it has come."""
    return _DEPTH.get() > 0


@contextmanager
def padded_time(seconds: float) -> Iterator[None]:
    """A block that is left, also by an error, at a whole multiple of ``seconds`` after it was entered.

    How long a fit takes depends on the rows. Choose a time longer than any fit can take: then every fit takes
    this long. A fit that takes longer is given back at the next multiple, which tells that it did. Progress
    bars are off in the block. Print and save after the block, since files and lines have times, too.

    This hides time from whoever waits for the answer, not load or memory from whoever can watch the machine.

    Parameters
    ----------
    seconds : float
        Public, above 0 and at most a day; chosen without a look at how long these rows take.

    Raises
    ------
    MethodError
        Not such a number.

    Examples
    --------
    >>> import dpglm
    >>> data = dpglm.load_data("simulated")
    >>> with dpglm.padded_time(seconds=1.0):
    ...     fit = dpglm.fit("y ~ x1 + x2", data, privacy=1.0, seed=7)
    >>> fit.names
    ('Intercept', 'x1', 'x2')
    """
    number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= 86_400:
        raise MethodError(
            f"seconds={seconds!r}" if number else f"seconds of type {type(seconds).__name__}",
            expected="a number of seconds above 0 and at most 86,400",
            remedy="Use dpglm.padded_time(seconds=60).",
        )
    depth = _DEPTH.set(_DEPTH.get() + 1)
    begin = time.monotonic()
    try:
        yield
    finally:
        _DEPTH.reset(depth)
        multiple = max(1, math.ceil((time.monotonic() - begin) / seconds))
        end = begin + multiple * seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(left)
