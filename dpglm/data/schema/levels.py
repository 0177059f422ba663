"""Levels of a category, and how a value of any type finds its code among them."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.data.tables.cells import Blank, Cell, numbers_of_cells, numbers_of_texts
from dpglm.errors import SchemaError
from dpglm.typing import FloatVector

Level: TypeAlias = str | int | float | bool
Codes: TypeAlias = NDArray[np.int32]


_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def shown(value: object) -> str:
    """What a message shows of a public value that may be of any kind and size.

    Examples
    --------
    >>> shown([18, 95]), shown(10**5000)
    ('[18, 95]', 'a value of type int')
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # Python refuses to write very long integers; foreign objects may refuse too
        return f"a value of type {type(value).__name__}"


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


def checked_levels(levels: object) -> tuple[Level, ...]:
    """Levels as plain texts and numbers: a list of at least two, all different and none missing."""
    if (
        isinstance(levels, str | bytes)
        or not isinstance(levels, Sequence | np.ndarray)
        or (isinstance(levels, np.ndarray) and levels.ndim == 0)
    ):
        raise SchemaError(
            f"levels: {shown(levels)}", expected="a list of levels", remedy='Write levels: ["no", "yes"].'
        )
    checked = tuple(_plain(level) for level in levels)
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
    if isinstance(level, str) and level:
        return level
    if isinstance(level, bool | int | float) and abs(level) <= 2.0**1000:
        return level
    raise SchemaError(
        f"level {shown(level)}",
        expected="a text that is not empty, or a finite number",
        remedy='Put dates and the like in quotes: "2020-01-01"; for missing values write missing: LEVEL.',
    )


@dataclass(frozen=True)
class LevelIndex:
    """Finds values among levels: as text first, then as a number.

    Parameters
    ----------
    levels : tuple of levels
        As :func:`checked_levels` gives them.

    Examples
    --------
    >>> index = LevelIndex((1, 2, "unknown"))
    >>> index.codes_of_cells(["unknown", 2.0, "1.0", "3", Blank.MISSING], missing=-1, other=-2)
    array([ 2,  1,  0, -2, -1], dtype=int32)
    """

    levels: tuple[Level, ...]

    @cached_property
    def by_text(self) -> dict[str, int]:
        """Code of each level by its label."""
        return {label_of(level): code for code, level in enumerate(self.levels)}

    @cached_property
    def by_number(self) -> tuple[FloatVector, Codes]:
        """Sorted numbers of the levels that are or spell a number, and their codes."""
        numbers = numbers_of_cells([lev if isinstance(lev, str) else float(lev) for lev in self.levels])
        code_of: dict[float, int] = {}
        for code, number in enumerate(numbers.tolist()):
            # "01" and "1" may both be levels: the number 1 is then the one spelled "1".
            spelled_so = label_of(self.levels[code]) == label_of(number)
            if number == number and (spelled_so or number not in code_of):
                code_of[number] = code
        ordered = sorted(code_of.items())
        return np.array([n for n, _ in ordered], np.float64), np.array([c for _, c in ordered], np.int32)

    def codes_of_numbers(self, numbers: FloatVector, *, missing: int, other: int) -> Codes:
        """Codes of numbers; ``missing`` where NaN, ``other`` where not a level."""
        known, codes_of_known = self.by_number
        codes = np.full(len(numbers), other, dtype=np.int32)
        if len(known):
            nearest = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            np.copyto(codes, codes_of_known[nearest], where=known[nearest] == numbers)
        if missing != other:
            codes[np.isnan(numbers)] = missing
        return codes

    def codes_of_cells(self, cells: Sequence[Cell], *, missing: int, other: int) -> Codes:
        """Codes of cells of any kind."""
        codes = np.full(len(cells), other, dtype=np.int32)
        texts: dict[int, str] = {}
        numbers: dict[int, float] = {}
        for row, cell in enumerate(cells):
            if isinstance(cell, str):
                code = self.by_text.get(cell)
                if code is None:
                    texts[row] = cell
                else:
                    codes[row] = code
            elif isinstance(cell, float):
                numbers[row] = cell
            elif cell is Blank.MISSING:
                codes[row] = missing
        if numbers:
            values = np.array(list(numbers.values()))
            codes[list(numbers)] = self.codes_of_numbers(values, missing=missing, other=other)
        if texts and len(self.by_number[0]):
            # A text that spells no number is an undeclared value, not a missing one.
            spelled = numbers_of_texts(list(texts.values()))
            codes[list(texts)] = self.codes_of_numbers(spelled, missing=other, other=other)
        return codes
