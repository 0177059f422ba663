"""Checks of a saved result, field by field; messages name the field and never repeat its content."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dpglm.errors import StoreError
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.document import FORMAT, MAX_COEFFICIENTS, NOT_FINITE, PLAIN_FIELDS
from dpglm.results.record import MAX_DEPTH, LedgerState, SpendLine
from dpglm.typing import FloatMatrix

Check: TypeAlias = Callable[[Any, str], Any]
REMEDY = "Use a file as save() wrote it; if it was changed by hand or cut short, save the result again."


def fault(found: str, expected: str) -> NoReturn:
    """Raise a StoreError."""
    raise StoreError(f"{found} in the saved result", expected=expected, remedy=REMEDY)


def result_fields(document: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``FitResult``, and the ``notice``, from a parsed document.

    Raises
    ------
    StoreError
        A field is missing, unknown, of a wrong type or of a wrong length.
    """
    checks: dict[str, Check] = dict.fromkeys(PLAIN_FIELDS, _text)
    checks |= {
        "notice": _text,
        "n_rows": _maybe(_count),
        "strength": _maybe(_finite),
        "names": _list(_text),
        "estimates": _list(_finite),
        "selected_mask": _list(_truth),
        "coded": _list(_finite),
        "user_from_coded": _mapping(row=_list(_count), column=_list(_count), value=_list(_finite)),
        "terms": _list(_term),
        "guarantee": _guarantee,
        "spend_lines": _list(_spend_line),
        "schema": _tree,
        "mechanism": _mechanism,
        "ledger": _maybe(_ledger),
    }
    document = {key: value for key, value in document.items() if key not in ("format", "format_version")}
    values: dict[str, Any] = _mapping(**checks)(document, FORMAT)
    size = len(values["names"])
    if size > MAX_COEFFICIENTS:
        fault("too many names", f"at most {MAX_COEFFICIENTS} coefficients")
    for name in ("estimates", "selected_mask", "coded"):
        if len(values[name]) != size:
            fault(f"{name} of another length than names", "one entry per coefficient")
    if any(position >= size for _, positions in values["terms"] for position in positions):
        fault("a term of a coefficient that is not there", "positions below the number of names")
    values["user_from_coded"] = _matrix(values["user_from_coded"], size)
    for name in ("estimates", "coded"):
        values[name] = np.array(values[name], dtype=np.float64)
    values["selected_mask"] = np.array(values["selected_mask"], dtype=np.bool_)
    return values | {name: tuple(values[name]) for name in ("names", "terms", "spend_lines")}


def _matrix(entries: dict[str, list[Any]], size: int) -> FloatMatrix:
    rows, columns, value = entries["row"], entries["column"], entries["value"]
    if not len(rows) == len(columns) == len(value):
        fault("user_from_coded with lists of different lengths", "a row, a column and a value per entry")
    if any(position >= size for position in (*rows, *columns)):
        fault("an entry of user_from_coded outside the matrix", "positions below the number of names")
    matrix = np.zeros((size, size))
    matrix[np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)] = value
    return matrix


def _guarantee(value: Any, name: str) -> Guarantee:
    values = _tree(value, name)
    kinds: dict[str, Check] = {
        "delta": _real,
        **dict.fromkeys(("epsilon", "mu", "rho"), _maybe(_real)),
        **dict.fromkeys(("definition", "relation", "unit", "theorem", "reason"), _text),
        "assumptions": _list(_text),
        "curve": _list(_pair),
        "private": _truth,
    }
    for key, check in kinds.items():
        if key in value:
            check(value[key], f"{name}.{key}")
    try:
        guarantee = Guarantee.from_dict(values)
        guarantee.statement()
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        fault(f"a {name} that means nothing", "a guarantee as fit() gave it")
    return guarantee


def _spend_line(value: Any, name: str) -> SpendLine:
    price = _maybe(_amount)
    check = _mapping(release=_text, epsilon=price, delta=price, mu=price, share=_amount)
    return SpendLine(**check(value, name))


def _ledger(value: Any, name: str) -> LedgerState:
    numbers = (one.name for one in fields(LedgerState) if one.name not in ("dataset", "entries"))
    checks: dict[str, Check] = dict.fromkeys(numbers, _finite)
    return LedgerState(**_mapping(dataset=_text, **checks, entries=_list(_entry))(value, name))


def _entry(value: Any, name: str) -> dict[str, Any]:
    """A line of the ledger; the instant may be absent."""
    entry = _tree(value, name)
    checks: dict[str, Check] = {
        **dict.fromkeys(("what", "status"), _text),
        **dict.fromkeys(("epsilon", "delta"), _amount),
        "mu": _maybe(_amount),
    }
    if "when" in entry:
        checks["when"] = _maybe(_text)
    _mapping(**checks)(entry, name)
    if entry["status"] not in ("charged", "refused"):
        fault(f"{name} with another status", "charged or refused")
    return entry


def _mechanism(value: Any, name: str) -> dict[str, Any]:
    card = _tree(value, name)
    levels = card.get("response_levels")
    if levels is not None and (
        not isinstance(levels, list)
        or len(levels) != 2
        or any(not isinstance(level, str | bool | int | float) for level in levels)
    ):
        fault(f"{name} with response_levels of another shape", "two levels, text or numbers")
    return card


def _term(value: Any, name: str) -> tuple[str, tuple[int, ...]]:
    if not isinstance(value, list) or len(value) != 2:
        fault(f"an entry of {name} of another shape", "a term and its positions")
    return _text(value[0], name), tuple(_list(_count)(value[1], name))


def _mapping(**checks: Check) -> Check:
    """A mapping with exactly these keys."""

    def check(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            _wrong(value, name, "a mapping")
        if missing := [key for key in checks if key not in value]:
            fault(f"{name} without {missing[0]}", f"the keys {', '.join(checks)}")
        if len(value) > len(checks):
            fault(f"{name} with a key that is not known", f"the keys {', '.join(checks)}")
        return {key: test(value[key], key) for key, test in checks.items()}

    return check


def _list(test: Check) -> Check:
    def check(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            _wrong(value, name, "a list")
        return [test(item, name) for item in value]

    return check


def _maybe(test: Check) -> Check:
    return lambda value, name: None if value is None else test(value, name)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        _wrong(value, name, "text")
    # JSON can name half of a character, which no file or page can hold.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        fault(f"{name} with half a character (a lone surrogate)", "text of whole characters")
    return value


def _truth(value: Any, name: str) -> bool:
    return value if isinstance(value, bool) else _wrong(value, name, "true or false")


def _count(value: Any, name: str) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return int(value) if whole else _wrong(value, name, "a whole number >= 0")


def _finite(value: Any, name: str) -> float:
    number = _real(value, name)
    return number if math.isfinite(number) else _wrong(value, name, "a finite number")


def _amount(value: Any, name: str) -> float:
    """A finite number that is not negative: a price or a share."""
    number = _finite(value, name)
    return number if number >= 0.0 else fault(f"{name} below 0", "a number >= 0")


def _real(value: Any, name: str) -> float:
    """A number, which may be written as not finite."""
    number = _decoded(value, name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        _wrong(number, name, "a number")
    try:
        return float(number)
    except OverflowError:
        _wrong(number, name, "a number of ordinary size")


def _pair(value: Any, name: str) -> list[float]:
    pair: list[float] = _list(_real)(value, name)
    return pair if len(pair) == 2 else _wrong(value, name, "pairs of numbers")


def _tree(value: Any, name: str) -> dict[str, Any]:
    """A mapping of nested lists, mappings and scalars."""
    mapping = _decoded(value, name)
    return mapping if isinstance(mapping, dict) else _wrong(value, name, "a mapping")


def _decoded(value: Any, name: str, depth: int = 0) -> Any:
    """``value`` with numbers that are not finite read back."""
    if depth > MAX_DEPTH:
        fault(f"{name} nested too deep", f"at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if set(value) == {NOT_FINITE}:
            word = value[NOT_FINITE]
            return float(word) if word in ("nan", "inf", "-inf") else _wrong(word, name, "nan, inf or -inf")
        return {_text(key, name): _decoded(item, name, depth + 1) for key, item in value.items()}
    if isinstance(value, str):
        return _text(value, name)
    if isinstance(value, list):
        return [_decoded(item, name, depth + 1) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        _wrong(value, name, "a whole number of 64 bits")
    return value


def _wrong(value: Any, name: str, expected: str) -> NoReturn:
    fault(f"{name} with a value of type {type(value).__name__}", expected)
