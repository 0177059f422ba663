"""Array types used in signatures, whose shapes live in the docstrings, and what several rooms say alike."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

# Spelt out: `numpy.typing.NDArray` hides its parts from those who read annotations, since numpy 2.5.
FloatVector: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
FloatMatrix: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
FloatBlock: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float32]]
BoolVector: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
BoolMatrix: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
IntVector: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]

# Shares that rows have of a person are whole multiples of one part in so many, so that they add up exactly.
SHARES: Final = 2**12
# Of a field of a result that is saved where it is not its default, and missing in files from before.
LATER: Final = {"later": True}
# Opens the words for a unit that a column tells; the column's name follows.
ROWS_OF: Final = "all rows with the same "
# Bytes of the secret key of a table's fingerprint, at least.
SHORTEST_KEY: Final = 32
# Of the constant, and in front of the names of several.
INTERCEPT: Final = "Intercept"
# Joiners change the shape of letters in Persian, Hindi and others, and carry no layout.
JOINERS: Final = "\u200c\u200d"


@cache
def later_fields(kind: type) -> dict[str, Any]:
    """Fields of a dataclass that are marked `LATER`, with their defaults."""
    return {field.name: field.default for field in fields(kind) if "later" in field.metadata}


def is_intercept(name: str) -> bool:
    """Whether a coefficient is the constant, or one of the constants of an ordinal response.

    Examples
    --------
    >>> [is_intercept(name) for name in ("Intercept", "Intercept[above poor]", 'Q("Intercept")')]
    [True, True, False]
    """
    return name == INTERCEPT or name.startswith(f"{INTERCEPT}[")


def visible(text: str, *, but: str = JOINERS) -> str:
    """``text`` with control and direction characters as escapes: a name must not drive the terminal."""
    return "".join(
        letter if letter.isprintable() or letter in but else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def encodable(text: str) -> bool:
    """Whether a text holds no half characters (lone surrogates), which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
