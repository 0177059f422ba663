"""A second notebook: charges a ledger from its own process, and can be killed at a chosen step."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from dpglm.errors import BudgetExceeded, LedgerError
from dpglm.ledger import log
from dpglm.ledger.ledger import Ledger
from dpglm.privacy.guarantee import Guarantee

BUDGET = (3.0, 1e-5)
CHARGES = 50
ANSWER = "an answer " * 1000  # of several pages of the file


def guarantee(epsilon: float) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=0.0, definition="pure", relation="replace-one", unit="one row")


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def race(epsilon: str) -> None:
    """For every path read from stdin: make or open the ledger, charge it many times, say what came of it."""
    say(ready=True)
    for path in map(str.strip, sys.stdin):
        ledger, released, refused = Ledger(path, BUDGET, dataset="race"), [], 0
        for k in range(CHARGES):
            try:
                released.append(ledger.charge(guarantee(float(epsilon)), what=f"{epsilon} number {k}").hash)
            except BudgetExceeded:
                refused += 1
        say(released=released, refused=refused)


def killed(path: str, step: str, moment: str, nth: str) -> None:
    """Make or open a ledger and charge it three times; die at the nth passage of one step."""
    owner = os if step == "link" else log
    passages = 0

    def wrapped(work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def dying(*args: Any, **kwargs: Any) -> Any:
            nonlocal passages
            passages += 1
            if passages == int(nth) and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = work(*args, **kwargs)
            if passages == int(nth) and moment == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return dying

    setattr(owner, step, wrapped(getattr(owner, step)))
    steadily(path, "3")


def steadily(path: str, charges: str) -> None:
    """Charge and release, one after the other."""
    ledger = Ledger(path, BUDGET, dataset="crash")
    for _ in range(int(charges)):
        say(released=ledger.charge(guarantee(0.001), what="y ~ x").hash)


def keyed(path: str, charges: str) -> None:
    """Charge under a key, keep an answer, and say so, one after the other."""
    ledger = Ledger(path, BUDGET, dataset="crash")
    for number in range(int(charges)):
        ledger.charge(guarantee(0.001), what="y ~ x", key=str(number))
        ledger.keep(str(number), {"": ANSWER})
        say(kept=number)


def careless(path: str) -> None:
    """The broken twin: releases without waiting for the charge to be on disk."""
    log._commit = lambda connection: None
    steadily(path, "1")


def unprivileged(path: str) -> None:
    """Charge as a user who may read the ledger but not write to it."""
    ledger = Ledger(path)
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        ledger.charge(guarantee(0.1), what="y ~ x")
    except LedgerError as error:
        say(found=error.found, expected=error.expected, remedy=error.remedy, entries=len(ledger.entries))


if __name__ == "__main__":
    modes: dict[str, Callable[..., None]] = {
        work.__name__: work for work in (race, killed, steadily, keyed, careless, unprivileged)
    }
    modes[sys.argv[1]](*sys.argv[2:])
