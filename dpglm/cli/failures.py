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
# What errors say in the words of Python, and how it is typed.
_TYPED: Final = (
    (r"\bprivacy=dpglm\.Privacy\((?:\.\.\.|[0-9.e-]+), (relation|unit)='([^']*)'\)", r"--\1 '\2'"),
    (r"\bprivacy=\(?([0-9.e-]+)(?:(,) ([0-9.e-]+)\))?", r"--privacy \1\2\3"),
    (r"\b(drop|family|goal|method|penalty|relation|unit|what)='([^']*)'", r"--\1 '\2'"),
    (r"\b(n|strength)=([0-9._]+)", r"--\1 \2"),
    (r"\bstrength= ", "--strength "),
    (r"\bmerge=\{'job': \{'other': \['x', 'y'\]\}\}", "--merge job other x,y"),
    (r", or pass an object of your own\.", "."),
    (r"\bCsvFile\(path, separator=';'\)", "--separator semicolon"),
    (r"A CSV file without commas is a dpglm\.CsvFile\.", "A CSV file without commas takes --separator."),
)


def typed(words: str) -> str:
    """A message with arguments of Python as options.

    Examples
    --------
    >>> typed("Use privacy=(1.0, 1e-6), or method='moments'.")
    "Use --privacy 1.0,1e-6, or --method 'moments'."
    """
    for python, option in _TYPED:
        words = re.sub(python, option, words)
    return words


class Failure(click.ClickException):
    """An error of ours as one message, without a traceback; the exit status is 1 but for the kinds below."""

    def __init__(self, error: DpglmError) -> None:
        super().__init__(f"{type(error).__name__}\n{typed(str(error))}")

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
