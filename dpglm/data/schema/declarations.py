"""Declarations of a column, checked: its levels, and what is expected of its values and effects."""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np

from dpglm.errors import SchemaError

Level: TypeAlias = str | int | float | bool

# Published shares are rounded: they may add up to 1 give or take this much.
_ROUNDING: Final = 0.01
# Effects between these can be squared and inverted beside all others.
_LEAST_EFFECT, _MOST_EFFECT = 1e-3, 1e3
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


def _items(value: object) -> list[Any] | None:
    """The items of a list, a tuple or an array; None for all else."""
    sized = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return list(value) if sized and not isinstance(value, str | bytes) else None  # type: ignore[call-overload]


def checked_levels(levels: object) -> tuple[Level, ...]:
    """Levels as plain texts and numbers: a list of at least two, all different and none missing."""
    items = _items(levels)
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
    if isinstance(level, str) and level:
        return level
    if isinstance(level, bool | int | float) and abs(level) <= 2.0**1000:
        return level
    raise SchemaError(
        f"level {shown(level)}",
        expected="a text that is not empty, or a finite number",
        remedy='Put dates and the like in quotes: "2020-01-01"; for missing values write missing: LEVEL.',
    )


def checked_effect(effect: object) -> float | None:
    """The declared prior scale, a number from 0.001 to 1000, or None."""
    if effect is None:
        return None
    if not _LEAST_EFFECT <= number_of(effect) <= _MOST_EFFECT:
        raise SchemaError(
            f"effect: {shown(effect)}",
            expected=f"a prior scale in log-odds, a number from {_LEAST_EFFECT:g} to {_MOST_EFFECT:g}",
            remedy="Write effect: 1 where differences of log-odds of about 1 are plausible, or leave it out.",
        )
    return number_of(effect)


def checked_moments(mean: object, sd: object, low: float, high: float) -> tuple[float | None, float | None]:
    """The expected mean and sd, each None or one that numbers between the bounds can have."""
    bounds = f"bounds ({low:g}, {high:g})"
    center = None if mean is None else number_of(mean)
    if center is not None and not low < center < high:
        raise SchemaError(
            f"mean: {shown(mean)} with {bounds}",
            expected="a number between the bounds",
            remedy=f"Write a value such as mean: {low + (high - low) / 2:g}, or leave it out.",
        )
    spread, most = None if sd is None else number_of(sd), largest_sd(center, low, high)
    if spread is not None and not 0.0 < spread < most:
        raise SchemaError(
            f"sd: {shown(sd)} with {bounds}" + ("" if center is None else f", mean {center:g}"),
            expected=f"a number above 0 and below {most:g}, the largest that values with this mean can have",
            remedy=f"Write a value such as sd: {most / 2:g}, or leave it out.",
        )
    return center, spread


def largest_sd(mean: float | None, low: float, high: float) -> float:
    """The largest standard deviation of numbers between bounds, with this mean or with any."""
    if mean is None:
        return 0.5 * (high - low)
    return math.sqrt(mean - low) * math.sqrt(high - mean)


def checked_shares(shares: object, labels: Sequence[str]) -> tuple[float, ...] | None:
    """Expected shares in the order of the levels, which add up to 1 within rounding, or None."""
    if shares is None:
        return None
    if isinstance(shares, Mapping):
        by_label = {label_of(level): share for level, share in shares.items()}
        if set(by_label) != set(labels) or len(shares) != len(labels):
            stray = [label for label in labels if label not in by_label] or list(by_label)
            raise SchemaError(
                f"shares of other levels than the declared ones, see {', '.join(map(shown, stray[:5]))}",
                expected=f"a share of each of the {len(labels)} levels",
                remedy="Name each level once, as in levels.",
            )
        numbers = [by_label[label] for label in labels]
    else:
        numbers = _items(shares) or []
    if len(numbers) != len(labels) or not all(0.0 < number_of(share) < 1.0 for share in numbers):
        raise SchemaError(
            f"shares: {shown(shares)}",
            expected=f"a share of each of the {len(labels)} levels, numbers above 0 and below 1",
            remedy=f"Write shares: [{', '.join([f'{1 / len(labels):.3g}'] * min(len(labels), 4))}"
            + (", ...]" if len(labels) > 4 else "]")
            + ", in the order of the levels, or leave them out; a level that never occurs is not declared.",
        )
    expected = tuple(map(number_of, numbers))
    total = math.fsum(expected)
    if abs(total - 1.0) > _ROUNDING:
        raise SchemaError(
            f"shares that add up to {total:.4g}",
            expected=f"1, within {_ROUNDING:g} for rounding",
            remedy="Divide each by their sum, or correct the one that is wrong.",
        )
    return expected
