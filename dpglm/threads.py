"""How many threads read rows, and one thread each for the products of matrices in them."""

from __future__ import annotations

import os
import threading
from contextlib import ContextDecorator
from typing import Any


class _OneThreadEach(ContextDecorator):
    """Products of matrices in one thread: those of a linear algebra library cost more than they gain here.

    The last one to leave, of several fits at once, puts back what the first one found. Whoever sums often
    enters once: asking a library for its threads takes as long as a sum over a few rows.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._controller: Any = None
        self._limited: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._controller is None:
                from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

                self._controller = ThreadpoolController()
            if self._users == 0:
                self._limited = self._controller.limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limited.restore_original_limits()


ONE_THREAD_EACH = _OneThreadEach()


def thread_count() -> int:
    """``DPGLM_THREADS``, or one: two take four fifths of the time of a large fit, and cost a quarter more.

    Most of a sum is reading rows, and what reads them waits for memory.
    """
    asked = os.environ.get("DPGLM_THREADS", "")
    if asked.isdecimal() and len(asked) < 4 and int(asked) > 0:
        return int(asked)
    return 1
