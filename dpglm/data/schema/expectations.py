"""Expectations of a column beyond its bounds: the size of its effect, the spread of its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Final

import numpy as np

from dpglm.data.schema.levels import label_of, shown
from dpglm.errors import SchemaError

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
