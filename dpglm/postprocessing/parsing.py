"""Checks of a saved result, field by field; messages name the field and never repeat its content."""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import pairwise
from typing import Any, Final

import numpy as np

from dpglm.inference.exact_path import MOST_STRENGTHS, ExactPath
from dpglm.papers.stacking.parsing import STACK, stack
from dpglm.postprocessing.checks import (
    Check,
    amount,
    count,
    fault,
    finite,
    listed,
    mapping,
    maybe,
    numbers,
    pair,
    real,
    text,
    tree,
    truth,
)
from dpglm.postprocessing.description_parsing import description, older_description
from dpglm.postprocessing.document import FORMAT, MAX_COEFFICIENTS, PLAIN_FIELDS
from dpglm.postprocessing.record import LedgerState, SpendLine
from dpglm.postprocessing.released_parsing import RELEASED, released
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatMatrix


def result_fields(document: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``FitResult``, and the ``notice``, from a parsed document.

    Raises
    ------
    StoreError
        A field is missing, unknown, of a wrong type or of a wrong length.
    """
    checks: dict[str, Check] = dict.fromkeys(PLAIN_FIELDS, text)
    checks |= {
        "notice": text,
        "n_rows": maybe(count),
        "strength": maybe(finite),
        "names": listed(text),
        "estimates": numbers,
        "selected_mask": listed(truth),
        "coded": numbers,
        "user_from_coded": mapping(row=listed(count), column=listed(count), value=numbers),
        "terms": listed(_term),
        "guarantee": _guarantee,
        "spend_lines": listed(_spend_line),
        "schema": tree,
        "mechanism": _mechanism,
        "ledger": maybe(_ledger),
        "released": maybe(mapping(**RELEASED)),
    }
    if document.get("format_version") == 1:  # intervals came later
        del checks["released"]
    if "exact_path" in document:  # of fits without privacy only
        checks["exact_path"] = mapping(**_EXACT_PATH)
    if "stack" in document:  # of fits that combine several models only
        checks["stack"] = mapping(**STACK)
    if "description" in document:  # older files describe the mechanism instead
        checks["description"] = description
    document = {key: value for key, value in document.items() if key not in ("format", "format_version")}
    values: dict[str, Any] = mapping(**checks)(document, FORMAT)
    values.setdefault("description", older_description(values["mechanism"]))
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
    content = values.pop("released", None)
    values["released"] = None if content is None else released(content, size)
    path = values.pop("exact_path", None)
    values["exact_path"] = None if path is None else _exact_path(path, values["guarantee"], size)
    if "stack" in values:
        values["stack"] = stack(values["stack"], size)
        if content is not None or values["link"] != "logit":
            fault("a stack beside a released model or another link", "a stack alone, with the logit link")
    return values | {name: tuple(values[name]) for name in ("names", "terms", "spend_lines")}


_EXACT_PATH: Final[dict[str, Check]] = {
    "strengths": numbers,
    "coefficients": numbers,
    "chosen": count,
    "folds": count,
    "losses": numbers,
    "errors": numbers,
}


def _exact_path(values: dict[str, Any], guarantee: Guarantee, size: int) -> ExactPath:
    """The path of a fit without privacy, from checked values."""
    if guarantee.private or math.isfinite(guarantee.epsilon):
        fault("an exact path in a result with a privacy budget", "a path in fits without privacy only")
    steps = len(values["strengths"])
    if not values["chosen"] < steps <= MOST_STRENGTHS:
        fault(
            "an exact path of another length", f"1 to {MOST_STRENGTHS} strengths, the chosen one among them"
        )
    if len(values["coefficients"]) != steps * size:
        fault("coefficients of an exact path of another length", "one a strength and name")
    held_out = steps if values["folds"] else 0
    if not len(values["losses"]) == len(values["errors"]) == held_out:
        fault("losses of an exact path of another length", "one a strength where there are folds")
    strengths = values["strengths"]
    falling = all(one > other for one, other in pairwise(strengths))
    if not falling or min(strengths) < 0.0 or min(values["errors"], default=0.0) < 0.0:
        fault("an exact path out of order", "falling strengths >= 0 and errors >= 0")
    coefficients = np.array(values["coefficients"], dtype=np.float64).reshape(steps, size)
    return ExactPath(
        np.array(strengths),
        coefficients,
        values["chosen"],
        values["folds"],
        np.array(values["losses"]),
        np.array(values["errors"]),
    )


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
    values = tree(value, name)
    kinds: dict[str, Check] = {
        "delta": real,
        **dict.fromkeys(("epsilon", "mu", "rho"), maybe(real)),
        **dict.fromkeys(("definition", "relation", "unit", "theorem", "reason"), text),
        "assumptions": listed(text),
        "curve": listed(pair),
        "private": truth,
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
    price = maybe(amount)
    part = {"part": count} if isinstance(value, dict) and "part" in value else {}
    check = mapping(release=text, epsilon=price, delta=price, mu=price, share=amount, **part)
    return SpendLine(**check(value, name))


def _ledger(value: Any, name: str) -> LedgerState:
    numbers = (one.name for one in fields(LedgerState) if one.name not in ("dataset", "entries"))
    checks: dict[str, Check] = dict.fromkeys(numbers, finite)
    return LedgerState(**mapping(dataset=text, **checks, entries=listed(_entry))(value, name))


def _entry(value: Any, name: str) -> dict[str, Any]:
    """A line of the ledger; the instant may be absent."""
    entry = tree(value, name)
    checks: dict[str, Check] = {
        **dict.fromkeys(("what", "status"), text),
        **dict.fromkeys(("epsilon", "delta"), amount),
        "mu": maybe(amount),
    }
    if "when" in entry:
        checks["when"] = maybe(text)
    mapping(**checks)(entry, name)
    if entry["status"] not in ("charged", "refused"):
        fault(f"{name} with another status", "charged or refused")
    return entry


def _mechanism(value: Any, name: str) -> dict[str, Any]:
    card = tree(value, name)
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
    return text(value[0], name), tuple(listed(count)(value[1], name))
