"""Cells: a number, a text, an instant, nothing, or something else, as that cell alone says.

Declared numbers and levels, which are public, are read and written here too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Real
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np

from dpglm.data.tables.instants import Instant, instant_of_object
from dpglm.typing import FloatVector


class Blank(Enum):
    """A cell that is neither a number nor a text nor an instant."""

    MISSING = "nothing: None, NaN, NA, NaT or the empty text"
    UNREADABLE = "something else: a list, a span of time, a complex number"


Level: TypeAlias = str | int | float | bool
Cell: TypeAlias = str | int | float | Instant | Blank
# As it was stored: bytes are not read as a text yet.
StoredCell: TypeAlias = Cell | bytes

# Possessive throughout: no cell may take time that grows faster than its length.
_PLAIN: Final = re.compile(r"[ \t-\r]*+[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?[ \t-\r]*+", re.ASCII)
_BLANKS: Final = " \t\n\r\f\v"
# Integers are kept as they are where they may be no floats, up to a size that can be handled.
_EXACT, _LARGE = 2**53, 2**1000
_INFINITE: Final = {s + w: float(s + w) for s in ("", "+", "-") for w in ("inf", "infinity")}
_WORDS: Final = {**_INFINITE, "true": 1.0, "false": 0.0}


def numbers_of_texts(texts: Sequence[str]) -> FloatVector:
    """Numbers that texts spell; NaN for a text that spells none.

    Decimal notation with a point and an optional exponent, ``inf``, ``infinity``, ``true`` and ``false``
    in any case, between blanks or none. Numbers are rounded correctly, as those of CSV columns are: a number
    in a file does not change its last bit when a text stands elsewhere in its column.

    Examples
    --------
    >>> numbers_of_texts(["1", " 2.50", "-inf", "TRUE", "1,5", "n/a"])
    array([ 1. ,  2.5, -inf,  1. ,  nan,  nan])
    """
    return np.array([_number_of_text(text) for text in texts], dtype=np.float64)


def _number_of_text(text: str) -> float:
    return float(text) if _PLAIN.fullmatch(text) else _WORDS.get(text.strip(_BLANKS).lower(), math.nan)


def stored_cell(value: object) -> StoredCell:
    """What one cell holds: its number, its text or bytes, its instant, or a :class:`Blank`; see `as_text`.

    ``True`` is 1.0 and ``False`` 0.0. Integers from 2**1000 on are doubles, and from 2**1024 on infinite.
    Never raises, whatever the object does when it is looked at.

    Examples
    --------
    >>> stored_cell(True), stored_cell("F"), stored_cell([1])
    (1.0, 'F', <Blank.UNREADABLE: 'something else: a list, a span of time, a complex number'>)
    """
    if type(value) is str:
        return value or Blank.MISSING
    if type(value) is float:
        return value if value == value else Blank.MISSING
    if value is None:
        return Blank.MISSING
    if type(value) is bool:
        return float(value)
    if type(value) is int and -_LARGE < value < _LARGE:
        return value
    try:
        return _unusual_cell(value)
    except Exception:
        return Blank.UNREADABLE


def _unusual_cell(value: Any) -> StoredCell:
    """Told by its type and read by the methods of the known type below: no code of the object's own runs."""
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return Blank.MISSING
    kind = type(value)  # isinstance would ask the object for its __class__
    if issubclass(kind, str):
        return str.__str__(value) or Blank.MISSING
    if issubclass(kind, bytes):
        return bytes.__getitem__(value, slice(None)) or Blank.MISSING  # of bytes itself, whatever the kind
    if kind is UUID:
        return _uuid_text(value)
    if issubclass(kind, np.datetime64 | np.timedelta64) and np.isnat(value):
        return Blank.MISSING
    instant = instant_of_object(value)
    if instant is not None or issubclass(kind, np.timedelta64):  # which is an np.integer, too
        return instant or Blank.UNREADABLE
    if issubclass(kind, complex | np.complexfloating):
        plane = np.complex128(complex.__complex__(value) if issubclass(kind, complex) else value)
        return stored_cell(float(plane.real)) if plane.imag == 0 else Blank.UNREADABLE
    if issubclass(kind, Decimal) and Decimal.is_nan(value):
        return Blank.MISSING
    if issubclass(kind, Fraction):
        return _fraction(value)
    known: Any
    for known in (int, float, Decimal, np.bool_, np.integer, np.floating):
        if issubclass(kind, known):
            try:
                with np.errstate(all="ignore"):
                    number = known.__float__(value)
            except OverflowError:
                number = np.inf if known.__gt__(value, 0) else -np.inf
            if _EXACT <= abs(number) < _LARGE and known in (int, Decimal, np.integer):
                whole: int = known.__int__(value)
                return whole if known.__eq__(value, whole) else number
            return number if number == number else Blank.MISSING
    return Blank.UNREADABLE


# What the classes of the standard library keep, read where it stands: their methods ask it for its own.
_NUMERATOR, _DENOMINATOR = Fraction.__dict__["_numerator"], Fraction.__dict__["_denominator"]
_UUID_NUMBER: Final = UUID.__dict__["int"]


def _fraction(value: Fraction) -> Cell:
    above, below = _NUMERATOR.__get__(value), _DENOMINATOR.__get__(value)
    if type(above) is not int or type(below) is not int or below == 0:
        return Blank.UNREADABLE
    try:
        return above / below
    except OverflowError:
        return np.inf if (above > 0) is (below > 0) else -np.inf


def _uuid_text(value: UUID) -> Cell:
    number = _UUID_NUMBER.__get__(value)
    return str(UUID(int=number)) if type(number) is int else Blank.UNREADABLE


def as_text(cell: StoredCell) -> Cell:
    """The cell, of bytes their text: UTF-8, or hexadecimal where they are not."""
    text = decoded(cell)
    return f"0x{text.hex()}" if isinstance(text, bytes) else text


def decoded(cell: StoredCell) -> StoredCell:
    """The cell, of bytes their text; they stay bytes where they are not UTF-8."""
    try:
        return cell.decode("utf-8") if isinstance(cell, bytes) else cell
    except UnicodeDecodeError:
        return cell


def number_of(value: Any) -> float:
    """One real number as a float, infinite where it is too large; NaN for all else, truth values included."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def label_of(level: object) -> str:
    """A level as text: ``1.0`` is "1", ``True`` is "True"."""
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, int | float) and not isinstance(level, bool):
        if abs(level) > 2.0**1000:
            return str(level) if isinstance(level, float) else hex(level)  # str refuses 4300 digits
        number = float(level)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(level)


def written(number: float) -> str:
    """The text of a number's value, exact for integers: 12.0 is "12"."""
    whole = isinstance(number, int) or number.is_integer()
    return str(int(number)) if whole else repr(number)


def items_of(value: object) -> list[Any] | None:
    """The items of a list, a tuple or an array; None for all else."""
    sized = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return list(value) if sized and not isinstance(value, str | bytes) else None  # type: ignore[call-overload]


def numbers_of_cells(cells: Sequence[Cell]) -> FloatVector:
    """Numbers that cells hold or spell; NaN where there is none."""
    numbers = np.array([float(cell) if isinstance(cell, int | float) else np.nan for cell in cells])
    texts = {index: cell for index, cell in enumerate(cells) if isinstance(cell, str)}
    numbers[list(texts)] = numbers_of_texts(list(texts.values()))
    return numbers
