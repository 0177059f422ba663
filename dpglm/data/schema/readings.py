"""Readings: what a declared variable makes of a cell before bounds and levels are looked at.

Codes of missing values, marks in numbers, dates, blanks, case and other names of levels. All of it is
declared, and a cell is read from that cell alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np

from dpglm.data.schema.dates import DateReading
from dpglm.data.tables.cells import Blank, Cell, Level, items_of, label_of, numbers_of_cells
from dpglm.errors import SchemaError, shown
from dpglm.typing import FloatVector, encodable

# Stands for a code of missing values among positions of levels.
MISSING: Final = -2
_DECIMALS: Final = (".", ",")
_THOUSANDS: Final = ("", ",", ".", "'", " ", "_")


@dataclass(frozen=True)
class NumberReading:
    """How texts spell numbers, and which numbers say that there is none.

    Examples
    --------
    >>> reading = NumberReading(",", ".", (999,), infinite=False)
    >>> reading.numbers(["1.234,5", "1.5", "999"])
    array([1234.5,    nan,  999. ])
    """

    decimal: str
    thousands: str
    missing_codes: tuple[Level, ...]
    infinite: bool
    date: DateReading | None = None

    @property
    def plain(self) -> bool:
        """Whether texts spell numbers as in program code."""
        return self.decimal == "." and not self.thousands and self.date is None

    def numbers(self, cells: Sequence[Cell]) -> FloatVector:
        """Numbers that cells hold or spell; NaN where there is none."""
        if self.date is not None:
            return self.date.numbers(cells)
        if self.plain:
            return numbers_of_cells(cells)
        return numbers_of_cells([self.respelled(cell) if isinstance(cell, str) else cell for cell in cells])

    @cached_property
    def codes(self) -> list[float]:
        codes = [code if isinstance(code, str) else float(code) for code in self.missing_codes]
        codes = [code for code in codes if not isinstance(code, str) or re.search(r"\d", code)]  # no "true"
        numbers = self.numbers(codes)
        return [number for number in numbers.tolist() if number == number]

    def respelled(self, text: str) -> str:
        """The text in the spelling of program code, or one that spells no number."""
        if self._pattern.fullmatch(text) is None:
            return text if any(letter.isalpha() for letter in text) and not re.search(r"\d", text) else "?"
        return text.replace(self.thousands, "").replace(self.decimal, ".")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """A number with its marks: groups of three digits, or none; possessive, as `cells` says."""
        mark, point = re.escape(self.thousands), re.escape(self.decimal)
        whole = rf"(?:\d{{1,3}}(?:{mark}\d{{3}})++|\d++)" if self.thousands else r"\d++"
        return re.compile(
            rf"[ \t-\r]*+[+-]?(?:{whole}(?:{point}\d*+)?|{point}\d++)(?:[eE][+-]?\d++)?[ \t-\r]*+", re.ASCII
        )


def checked_reading(
    decimal: object, thousands: object, missing_codes: object, infinite: object, date: object
) -> NumberReading:
    """The reading of a number's cells, or a SchemaError."""
    texts = all(isinstance(given, str) for given in (decimal, thousands, infinite))
    if not texts or decimal not in _DECIMALS or thousands not in _THOUSANDS or decimal == thousands:
        raise SchemaError(
            f"decimal: {shown(decimal)}, thousands: {shown(thousands)}, infinite: {shown(infinite)}",
            expected='the mark "." or ",", and for thousands another one, "," "." " " "_" "\'", or none',
            remedy='Write decimal: "," and thousands: ".", or leave them out.',
        )
    if infinite not in ("missing", "bound"):
        raise SchemaError(
            f"infinite: {shown(infinite)}",
            expected='"missing" (an infinite number is none) or "bound" (it becomes the bound)',
            remedy="Leave infinite out, unless infinite numbers stand for very large ones.",
        )
    codes = checked_codes(missing_codes)
    when = None if date is None else DateReading.of(date)
    if when is not None and (decimal, thousands) != (".", ""):
        raise SchemaError(
            f"decimal: {shown(decimal)}, thousands: {shown(thousands)} beside date",
            expected="marks of a number, or the form of a date",
            remedy="Leave decimal and thousands out.",
        )
    return NumberReading(str(decimal), str(thousands), codes, infinite == "bound", when)


def checked_codes(codes: object) -> tuple[Level, ...]:
    """Codes of missing values: texts that are not empty and finite numbers, all different."""
    items = items_of(codes)
    plain = [_plain_code(item) for item in items or ()]
    usable = items is not None and all(
        (isinstance(item, str) and item != "" and encodable(item))
        or (isinstance(item, int | float) and not isinstance(item, bool) and abs(item) <= 2.0**1000)
        for item in plain
    )
    if not usable or len({label_of(item) for item in plain}) < len(plain):
        raise SchemaError(
            f"missing_codes: {shown(codes)}",
            expected="a list of numbers and texts that stand for a missing value, all different",
            remedy='Write missing_codes: [999, -9, "refused"].',
        )
    return tuple(plain)


def _plain_code(code: Any) -> Any:
    """As files can hold it: a text, or a number that is a double where it is no short integer."""
    if isinstance(code, str):
        return str.__str__(code)
    code = code.item() if isinstance(code, np.generic) else code
    return float(code) if type(code) is int and 2**63 <= abs(code) <= 2**1000 else code


@dataclass(frozen=True)
class LevelReading:
    """Which cell is which level, told by text first, then as a number.

    Parameters
    ----------
    levels : tuple of str, int, float or bool
        In order.
    aliases : tuple of (str, int)
        Other spellings, with the positions of their levels.
    missing_codes : tuple of str, int or float
    strip, ignore_case : bool
        Whether blanks at the ends, and upper and lower case, make no difference.

    Raises
    ------
    SchemaError
        If one text would be two things.
    """

    levels: tuple[Level, ...]
    aliases: tuple[tuple[str, int], ...]
    missing_codes: tuple[Level, ...]
    strip: bool
    ignore_case: bool

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for text, _ in self._spelled:
            form = self.form(label_of(text))
            if not form or form in seen:
                raise SchemaError(
                    f"{shown(label_of(text))}" + (f" beside {shown(seen[form])}" if form else ""),
                    expected="levels, aliases and missing codes that are all read differently",
                    remedy="Remove one of them, or leave strip and ignore_case out.",
                )
            seen[form] = label_of(text)
        _ = self._of_number

    @property
    def _spelled(self) -> list[tuple[Level, int]]:
        """Texts and numbers, and what they are: levels first."""
        codes: list[tuple[Level, int]] = [(code, MISSING) for code in self.missing_codes]
        return [*((level, code) for code, level in enumerate(self.levels)), *self.aliases, *codes]

    def form(self, text: str) -> str:
        """What of a text is looked at."""
        text = text.strip() if self.strip else text
        return text.casefold() if self.ignore_case else text

    def codes(self, cells: Sequence[Cell], *, missing: int, other: int) -> list[int]:
        """Positions of levels, or ``missing`` or ``other``."""
        stripped = [cell.strip() if self.strip and isinstance(cell, str) else cell for cell in cells]
        # A text that spells no number is an undeclared value, not a missing one.
        codes = [self._of_number.get(number, other) for number in numbers_of_cells(stripped).tolist()]
        for place, cell in enumerate(cells):
            if cell is Blank.MISSING:
                codes[place] = MISSING
            elif isinstance(cell, str):
                form = self.form(cell)
                codes[place] = self._of_text.get(form, codes[place]) if form else MISSING
        return [missing if code == MISSING else code for code in codes]

    @cached_property
    def _of_text(self) -> dict[str, int]:
        return {self.form(label_of(text)): code for text, code in self._spelled}

    @cached_property
    def _of_number(self) -> dict[float, int]:
        """Positions by number, of levels that are or spell one."""
        spelled = self._spelled
        cells = [text if isinstance(text, str) else float(text) for text, _ in spelled]
        code_of: dict[float, int] = {}
        for place, number in enumerate(numbers_of_cells(cells).tolist()):
            text, code = spelled[place]
            if number in code_of and code_of[number] != code and place >= len(self.levels):
                raise SchemaError(
                    f"{shown(text)}, a number that is something else already",
                    expected="levels, aliases and missing codes that are different numbers",
                    remedy="Remove one of them.",
                )
            # "01" and "1" may both be levels: the number 1 is then the one spelled "1".
            if number == number and (number not in code_of or label_of(text) == label_of(number)):
                code_of[number] = code
        return code_of


def checked_aliases(aliases: object, codes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Other spellings of levels with their positions; ``codes`` are those of the levels by label."""
    found = list(aliases.items()) if isinstance(aliases, Mapping) else None
    if found is None or not all(
        isinstance(text, str | int | float | np.generic) and label_of(level) in codes for text, level in found
    ):
        raise SchemaError(
            f"aliases: {shown(aliases)}",
            expected="other spellings, each with one of the levels",
            remedy="Write aliases: {m: male, f: female}, where male and female are levels.",
        )
    return tuple((label_of(text), codes[label_of(level)]) for text, level in found)


def checked_levels(levels: object) -> tuple[Level, ...]:
    """Levels as plain texts and numbers: a list of at least two, all different and none missing."""
    items = items_of(levels)
    if items is None:
        raise SchemaError(
            f"levels: {shown(levels)}", expected="a list of levels", remedy='Write levels: ["no", "yes"].'
        )
    checked = tuple(map(_plain, items))
    if len(checked) < 2:
        raise SchemaError(
            f"levels: {shown(list(checked))}",
            expected="at least two levels",
            remedy="List every level the column may have, or leave a constant column out.",
        )
    labels = [label_of(level) for level in checked]
    numbers = [float(level) for level in checked if not isinstance(level, str)]
    twice = sorted(label for label, times in Counter(labels).items() if times > 1)
    if twice or len(set(numbers)) < len(numbers):
        raise SchemaError(
            f"duplicate levels: {shown(twice)[1:-1] or 'two that are the same number'}",
            expected='levels that are all different; 1, 1.0, true and "1" are the same level',
            remedy="Remove the repeated level.",
        )
    return checked


def _plain(level: object) -> Level:
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, str) and level and encodable(level):
        return level
    if isinstance(level, bool | int | float) and abs(level) <= 2.0**1000:
        return float(level) if isinstance(level, int) and abs(level) >= 2**63 else level
    raise SchemaError(
        f"level {shown(level)}",
        expected="a text that is not empty, or a finite number",
        remedy='Put dates and the like in quotes: "2020-01-01"; for missing values write missing: LEVEL.',
    )


def options_of(variable: Any) -> dict[str, object]:
    """The options that differ from their defaults, as plain values."""
    options = (option for option in fields(variable) if option.kw_only)
    given = {item.name: value for item in options if (value := getattr(variable, item.name)) != item.default}
    return {name: _plainly(value) for name, value in given.items() if value != {}}


def _plainly(value: object) -> object:
    if isinstance(value, DateReading):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
