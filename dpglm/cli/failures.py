"""Errors on the command line: one message, and the exit status that scripts look at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from dpglm.errors import BudgetExceeded, DpglmError, LedgerError, SchemaError, StoreError

# Exit statuses beside 0, and 1 for any other error.
UNUSABLE: Final = 2
DIFFERS: Final = 3
REFUSED: Final = 4
# A budget in the words of Python, and as it is typed.
_PAIR: Final = re.compile(r"\bprivacy=\(?([0-9.e-]+)(?:(,) ([0-9.e-]+)\))?")
_TYPED: Final = r"--privacy \1\2\3"


class Failure(click.ClickException):
    """An error of ours as one message, without a traceback; the exit status is 1 but for the kinds below."""

    def __init__(self, error: DpglmError) -> None:
        super().__init__(f"{type(error).__name__}\n{_PAIR.sub(_TYPED, str(error))}")

    @staticmethod
    def of(error: DpglmError) -> Failure:
        """With the exit status of its kind."""
        if isinstance(error, BudgetExceeded):
            return Refused(error)
        return Unusable(error) if isinstance(error, StoreError) else Failure(error)


class Unusable(Failure):
    """The command line, or a file that it names, cannot be used."""

    exit_code = UNUSABLE


class Refused(Failure):
    """A ledger does not cover the cost."""

    exit_code = REFUSED


@contextmanager
def usable() -> Iterator[None]:
    """What reads a file that the command line names: one of another kind is `Unusable`."""
    try:
        yield
    except (SchemaError, LedgerError) as error:
        raise Unusable(error) from None
