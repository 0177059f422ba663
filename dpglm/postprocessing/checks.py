"""Checks of single values of a saved result; messages name the field and never repeat its content."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dpglm.errors import StoreError
from dpglm.postprocessing.document import NOT_FINITE, PACKED, PLACES
from dpglm.postprocessing.record import MAX_DEPTH

Check: TypeAlias = Callable[[Any, str], Any]
REMEDY = "Use a file as save() wrote it; if it was changed by hand or cut short, save the result again."


def fault(found: str, expected: str) -> NoReturn:
    """Raise a StoreError."""
    raise StoreError(f"{found} in the saved result", expected=expected, remedy=REMEDY)


def mapping(**checks: Check) -> Check:
    """A check of a mapping with exactly these keys."""

    def check(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            wrong(value, name, "a mapping")
        if missing := [key for key in checks if key not in value]:
            fault(f"{name} without {missing[0]}", f"the keys {', '.join(checks)}")
        if len(value) > len(checks):
            fault(f"{name} with a key that is not known", f"the keys {', '.join(checks)}")
        return {key: test(value[key], key) for key, test in checks.items()}

    return check


def listed(test: Check) -> Check:
    """A check of a list, entry by entry."""

    def check(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            wrong(value, name, "a list")
        return [test(item, name) for item in value]

    return check


def maybe(test: Check) -> Check:
    """A check that lets null pass."""
    return lambda value, name: None if value is None else test(value, name)


def text(value: Any, name: str) -> str:
    """Text of whole characters."""
    if not isinstance(value, str):
        wrong(value, name, "text")
    # JSON can name half of a character, which no file or page can hold.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        fault(f"{name} with half a character (a lone surrogate)", "text of whole characters")
    return value


def truth(value: Any, name: str) -> bool:
    """True or false."""
    return value if isinstance(value, bool) else wrong(value, name, "true or false")


def count(value: Any, name: str) -> int:
    """A whole number >= 0."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return int(value) if whole else wrong(value, name, "a whole number >= 0")


def finite(value: Any, name: str) -> float:
    """A finite number."""
    number = real(value, name)
    return number if math.isfinite(number) else wrong(value, name, "a finite number")


def amount(value: Any, name: str) -> float:
    """A finite number that is not negative: a price or a share."""
    number = finite(value, name)
    return number if number >= 0.0 else fault(f"{name} below 0", "a number >= 0")


def real(value: Any, name: str) -> float:
    """A number, which may be written as not finite."""
    number = decoded(value, name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        wrong(number, name, "a number")
    try:
        return float(number)
    except OverflowError:
        wrong(number, name, "a number of ordinary size")


def numbers(value: Any, name: str) -> list[float]:
    """Finite numbers: a list, or a mapping that packs their doubles."""
    if isinstance(value, dict) and PACKED in value and set(value) <= {PACKED, PLACES}:
        distinct = unpacked(value[PACKED], name)
        if PLACES not in value:
            return distinct
        places: list[int] = listed(count)(value[PLACES], name)
        if any(place >= len(distinct) for place in places):
            fault(f"{name} with a place of a packed number that is not there", "places below their number")
        return [distinct[place] for place in places]
    found: list[float] = listed(finite)(value, name)
    return found


def unpacked(value: Any, name: str) -> list[float]:
    """Numbers from base64 of little-endian doubles."""
    try:
        content = base64.b64decode(text(value, name), validate=True)
    except ValueError:
        fault(f"{name} with packed numbers that are not base64", "base64 of little-endian doubles")
    if len(content) % 8:
        fault(f"{name} with packed numbers cut short", "8 bytes a number")
    found = np.frombuffer(content, dtype="<f8")
    if not np.isfinite(found).all():
        fault(f"{name} with a packed number that is not finite", "finite numbers")
    values: list[float] = found.tolist()
    return values


def pair(value: Any, name: str) -> list[float]:
    """Two numbers."""
    found: list[float] = listed(real)(value, name)
    return found if len(found) == 2 else wrong(value, name, "pairs of numbers")


def tree(value: Any, name: str) -> dict[str, Any]:
    """A mapping of nested lists, mappings and scalars."""
    found = decoded(value, name)
    return found if isinstance(found, dict) else wrong(value, name, "a mapping")


def decoded(value: Any, name: str, depth: int = 0) -> Any:
    """``value`` with numbers that are not finite read back."""
    if depth > MAX_DEPTH:
        fault(f"{name} nested too deep", f"at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if set(value) == {NOT_FINITE}:
            word = value[NOT_FINITE]
            return float(word) if word in ("nan", "inf", "-inf") else wrong(word, name, "nan, inf or -inf")
        return {text(key, name): decoded(item, name, depth + 1) for key, item in value.items()}
    if isinstance(value, str):
        return text(value, name)
    if isinstance(value, list):
        return [decoded(item, name, depth + 1) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        wrong(value, name, "a whole number of 64 bits")
    return value


def wrong(value: Any, name: str, expected: str) -> NoReturn:
    """Raise a StoreError about a value of a wrong type."""
    fault(f"{name} with a value of type {type(value).__name__}", expected)
