"""Expectations of a column beyond its bounds: the size of its effect, the spread of its values."""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.data.tables.cells import Blank, Cell, numbers_of_cells, numbers_of_texts
from dpglm.errors import SchemaError
from dpglm.typing import FloatVector

# Published shares are rounded: they may add up to 1 give or take this much.
_ROUNDING: Final = 0.01
# Effects between these can be squared and inverted beside all others.
_LEAST_EFFECT, _MOST_EFFECT = 1e-3, 1e3


def is_number(value: object) -> bool:
    """Whether this is one real number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def as_float(value: Any) -> float:
    """The number as a float; infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def checked_effect(effect: object) -> float | None:
    """The declared prior scale, a number from 0.001 to 1000, or None."""
    if effect is None:
        return None
    if not is_number(effect) or not _LEAST_EFFECT <= as_float(effect) <= _MOST_EFFECT:
        raise SchemaError(
            f"effect: {shown(effect)}",
            expected=f"a prior scale in log-odds, a number from {_LEAST_EFFECT:g} to {_MOST_EFFECT:g}",
            remedy="Write effect: 1 where differences of log-odds of about 1 are plausible, or leave it out.",
        )
    return as_float(effect)


def checked_mean(mean: object, low: float, high: float) -> float | None:
    """The expected mean, which lies between the bounds, or None."""
    if mean is None:
        return None
    if not is_number(mean) or not low < as_float(mean) < high:
        raise SchemaError(
            f"mean: {shown(mean)} with bounds ({low:g}, {high:g})",
            expected="a number between the bounds",
            remedy=f"Write a value such as mean: {low + (high - low) / 2:g}, or leave it out.",
        )
    return as_float(mean)


def checked_sd(sd: object, mean: float | None, low: float, high: float) -> float | None:
    """The expected standard deviation, which numbers between the bounds can have, or None."""
    if sd is None:
        return None
    most = largest_sd(mean, low, high)
    if not is_number(sd) or not 0.0 < as_float(sd) < most:
        raise SchemaError(
            f"sd: {shown(sd)} with bounds ({low:g}, {high:g})" + ("" if mean is None else f", mean {mean:g}"),
            expected=f"a number above 0 and below {most:g}, the largest that values with this mean can have",
            remedy=f"Write a value such as sd: {most / 2:g}, or leave it out.",
        )
    return as_float(sd)


def largest_sd(mean: float | None, low: float, high: float) -> float:
    """The largest standard deviation of numbers between bounds, with this mean or with any."""
    if mean is None:
        return 0.5 * (high - low)
    return math.sqrt(mean - low) * math.sqrt(high - mean)


def checked_shares(shares: object, labels: Sequence[str]) -> tuple[float, ...] | None:
    """Expected shares in the order of the levels, which add up to 1 within rounding, or None."""
    if shares is None:
        return None
    listed: object = shares
    if isinstance(shares, Mapping):
        by_label = {label_of(level): share for level, share in shares.items()}
        if set(by_label) == set(labels) and len(shares) == len(labels):
            listed = [by_label[label] for label in labels]
        else:
            stray = [label for label in labels if label not in by_label] or list(by_label)
            raise SchemaError(
                f"shares of other levels than the declared ones, see {', '.join(map(shown, stray[:5]))}",
                expected=f"a share of each of the {len(labels)} levels",
                remedy="Name each level once, as in levels.",
            )
    many = isinstance(listed, Sequence | np.ndarray) and not isinstance(listed, str | bytes)
    numbers = list(listed) if many else []  # type: ignore[call-overload]  # a sequence, as just checked
    proper = all(is_number(number) and 0.0 < as_float(number) < 1.0 for number in numbers)
    if len(numbers) != len(labels) or not proper:
        raise SchemaError(
            f"shares: {shown(shares)}",
            expected=f"a share of each of the {len(labels)} levels, numbers above 0 and below 1",
            remedy=f"Write shares: [{', '.join([f'{1 / len(labels):.3g}'] * min(len(labels), 4))}"
            + (", ...]" if len(labels) > 4 else "]")
            + ", in the order of the levels, or leave them out; a level that never occurs is not declared.",
        )
    expected = tuple(map(as_float, numbers))
    total = math.fsum(expected)
    if abs(total - 1.0) > _ROUNDING:
        raise SchemaError(
            f"shares that add up to {total:.4g}",
            expected=f"1, within {_ROUNDING:g} for rounding",
            remedy="Divide each by their sum, or correct the one that is wrong.",
        )
    return expected


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
