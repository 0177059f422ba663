"""Numbers that stay as they are: prices, noise scales and what a seed gives.

What a user is shown and what a seed gives does not change silently between versions: a privacy parameter that
moves in its tenth digit changes the noise that is drawn, and then every saved number. So a few thousand
evaluations of the accounting, and draws and releases from known seeds, are kept in ``numbers.json``, one line
a number. `make golden` writes them anew; the difference is then read, and explained, before it is kept.

These are no oracles: a number here is right because other tests say so of the same functions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dpglm.errors import DpglmError

KEPT = Path(__file__).with_name("numbers.json")
Case: TypeAlias = tuple[str, Any]
Section: TypeAlias = Callable[[], Iterable[Case]]


def asked(function: Callable[..., Any], *arguments: Any, **named: Any) -> Case:
    """A call in words, and its value; or the message it is refused with."""
    words = [_word(value) for value in arguments] + [f"{key}={_word(value)}" for key, value in named.items()]
    return told(f"{function.__name__}({', '.join(words)})", lambda: function(*arguments, **named))


def told(name: str, value: Callable[[], Any]) -> Case:
    """A value under a name; or the message of the error in its place."""
    try:
        return name, value()
    except DpglmError as error:
        return name, f"{type(error).__name__}: {error}"


def flat(cases: Iterable[Case]) -> dict[str, Any]:
    """One number, word or truth a name: entries of arrays and fields of dataclasses apart."""
    found: dict[str, Any] = {}
    for name, value in cases:
        for where, part in _parts(value):
            assert f"{name}{where}" not in found, f"asked twice: {name}{where}"
            found[f"{name}{where}"] = part
    return found


def sections() -> dict[str, Section]:
    """All groups of numbers, each small enough to be computed in a moment."""
    from tests.golden import (
        numbers_composed,
        numbers_draws,
        numbers_prices,
        numbers_promises,
        numbers_refusals,
        numbers_releases,
        numbers_stacks,
    )

    found: dict[str, Section] = {}
    for part in (
        numbers_prices,
        numbers_composed,
        numbers_promises,
        numbers_draws,
        numbers_releases,
        numbers_stacks,
        numbers_refusals,
    ):
        found |= part.SECTIONS
    return found


def written() -> str:
    """What ``numbers.json`` must hold."""
    everything = {name: flat(section()) for name, section in sections().items()}
    return json.dumps(everything, indent=1, ensure_ascii=False) + "\n"


def kept() -> dict[str, dict[str, Any]]:
    """What it holds."""
    found: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool | np.bool_):
        yield "", bool(value)
    elif isinstance(value, int | np.integer):
        yield "", int(value)
    elif isinstance(value, float | np.floating):
        # JSON knows no infinity.
        yield "", float(value) if math.isfinite(value) else str(float(value))
    elif value is None or isinstance(value, str):
        yield "", value
    elif isinstance(value, np.ndarray | list | tuple):
        if isinstance(value, np.ndarray) and value.ndim != 1:
            yield ".shape", str(np.shape(value))
        for place, one in enumerate(np.ravel(value) if isinstance(value, np.ndarray) else value):
            yield from ((f"[{place}]{where}", part) for where, part in _parts(one))
    else:
        assert is_dataclass(value), type(value)
        yield "", type(value).__name__
        for field in fields(value):
            inner = getattr(value, field.name)
            yield from ((f".{field.name}{where}", part) for where, part in _parts(inner))


def _word(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 1:
        return f"{value.size} numbers"
    return value.__name__ if callable(value) else repr(value)
