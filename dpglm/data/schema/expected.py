"""What may be declared of a column beyond bounds and levels: words, expected values, the size of effects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dpglm.data.tables.cells import items_of, label_of, number_of
from dpglm.errors import SchemaError, shown

# Published shares are rounded: they may add up to 1 give or take this much.
_ROUNDING: Final = 0.01
# Effects between these can be squared and inverted beside all others.
_LEAST_EFFECT, _MOST_EFFECT = 1e-3, 1e3


def checked_effect(effect: object) -> float:
    """The declared prior scale, a number from 0.001 to 1000."""
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


def checked_shares(shares: object, labels: Sequence[str]) -> tuple[float, ...]:
    """Expected shares in the order of the levels, which add up to 1 within rounding."""
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
        numbers = items_of(shares) or []
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


def require_words(looked_at_data: object, **words: object) -> None:
    """Check that what is told in words of a column is text, and that it is known who looked at the data."""
    wrong = {name: text for name, text in words.items() if not isinstance(text, str)}
    if not isinstance(looked_at_data, bool):
        wrong["looked_at_data"] = looked_at_data
    if wrong:
        raise SchemaError(
            ", ".join(f"{name}: {shown(value)}" for name, value in wrong.items()),
            expected="text, and true or false",
            remedy='Write source: "code book of the survey" and looked_at_data: false.',
        )


def require_flags(**flags: object) -> None:
    """Check that each is true or false."""
    wrong = {name: value for name, value in flags.items() if not isinstance(value, bool)}
    if wrong:
        raise SchemaError(
            ", ".join(f"{name}: {shown(value)}" for name, value in wrong.items()),
            expected="true or false",
            remedy=f"Write {next(iter(wrong))}: true, or leave it out.",
        )


def checked_level_labels(given: object, labels: Sequence[str]) -> dict[str, str]:
    """Words for levels, by the text of the level and in the order of the levels."""
    found = {label_of(level): text for level, text in given.items()} if isinstance(given, Mapping) else {}
    known = {label: found[label] for label in labels if label in found}
    words = all(isinstance(text, str) and text for text in known.values())
    if not isinstance(given, Mapping) or len(known) < len(given) or not words:
        raise SchemaError(
            f"level_labels: {shown(given)}",
            expected="words for levels, each a text beside one of the levels",
            remedy="Write level_labels: {1: student, 2: farmer}, where 1 and 2 are levels.",
        )
    return known
