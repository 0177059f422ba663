"""A result as JSON text: exact floats, no code, the same bytes for the same result.

The format is kept for ever: what one version wrote, later ones read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dpglm.errors import StoreError
from dpglm.inference.exact_path import ExactPath
from dpglm.papers.stacking.stack import Stack
from dpglm.postprocessing.record import FitRecord, LedgerState, SpendLine
from dpglm.postprocessing.released_fields import to_fields
from dpglm.typing import FloatMatrix, FloatVector, IntVector

FORMAT, FORMAT_VERSION = "dpglm-fit", 2
READABLE = (1, 2)  # 1 had no released linear model
MAX_BYTES = 64 * 2**20
MAX_COEFFICIENTS = 8192  # a file of a few kilobytes must not ask for terabytes
NOT_FINITE = "$float"  # JSON has no NaN: {"$float": "nan"}
PACKED = "$doubles"  # {"$doubles": base64 of little-endian doubles}, where numbers are to take little room
PLACES = "places"  # which of them stands where, if numbers come again and again
LEAST_PACKED = 12
PLAIN_FIELDS = ("formula", "family", "link", "penalty", "method", "goal", "n_rows", "version")


def to_json(result: FitRecord, *, packed: bool = False) -> str:
    """``result`` as JSON text, a line per field, without its row map.

    Parameters
    ----------
    result : FitResult
        Any result.
    packed : bool
        Write long lists of numbers as base64 of little-endian doubles: half as long, equally exact, and read
        like the other form.

    Returns
    -------
    str
        ASCII text. Floats are written with as many digits as it takes to read back the same float.

    Raises
    ------
    StoreError
        The result is larger than the format allows.
    """
    gaps = (",", ":") if packed else (", ", ": ")
    lines = (
        f"{_dumps(key, gaps)}{gaps[1]}{_dumps(value, gaps)}"
        for key, value in _document(result, packed=packed).items()
    )
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if len(text) > MAX_BYTES or len(result.names) > MAX_COEFFICIENTS:
        raise StoreError(
            f"a result of {len(result.names)} coefficients, {len(text)} bytes as JSON",
            expected=f"at most {MAX_COEFFICIENTS} coefficients and {MAX_BYTES} bytes",
            remedy="Save fit.tidy() instead.",
        )
    return text


def fingerprint(result: FitRecord) -> str:
    """SHA-256 of the canonical JSON of ``result``, as 64 hexadecimal digits.

    Canonical: keys sorted, no white space. Equal for a result and for its copy read from a file.
    """
    canonical = json.dumps(
        _document(result, packed=False),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
        allow_nan=False,
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _document(result: FitRecord, *, packed: bool) -> dict[str, Any]:
    content: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "notice": result.alarm or "private",
        **{name: getattr(result, name) for name in PLAIN_FIELDS},
        "strength": result.strength,
        "names": list(result.names),
        "estimates": result.estimates,
        "selected_mask": result.selected_mask.tolist(),
        "coded": result.coded,
        "user_from_coded": _entries(result.user_from_coded),
        "terms": [[term, list(positions)] for term, positions in result.terms],
        "guarantee": result.guarantee.to_dict(),
        "spend_lines": [_spend_line(line) for line in result.spend_lines],
        "schema": result.schema,
        "mechanism": result.mechanism,
        "description": asdict(result.description),
        "ledger": None if result.ledger is None else _values(result.ledger),
        "released": None if result.released is None else to_fields(result.released),
    }
    if result.exact_path is not None:
        path = result.exact_path
        content["exact_path"] = _values(path) | {"coefficients": path.coefficients.ravel()}
    if result.stack is not None:
        content["stack"] = _stack(result.stack)
    encoded: dict[str, Any] = encode(_listed(content, packed))
    return encoded


def _listed(value: Any, packed: bool) -> Any:
    """``value`` with arrays as lists, or packed."""
    if isinstance(value, np.ndarray):
        return _packed(value) if packed and len(value) >= LEAST_PACKED else value.tolist()
    if isinstance(value, dict):
        return {key: _listed(item, packed) for key, item in value.items()}
    return [_listed(item, packed) for item in value] if isinstance(value, list) else value


def _packed(values: FloatVector) -> dict[str, Any]:
    # Eight bytes of a finite number in any case: what is not finite is told by the check of the list.
    if not np.isfinite(values).all():
        raise StoreError(
            "a number that is not finite",
            expected="finite coefficients",
            remedy="Fit again: a result has finite coefficients.",
        )
    # As bits, so that -0.0 and 0.0 stay apart.
    distinct, places = np.unique(values.astype("<f8").view("<u8"), return_inverse=True)
    if 4 * len(distinct) > len(values):
        return {PACKED: _base64(values.astype("<f8"))}
    return {PACKED: _base64(distinct), PLACES: places.tolist()}


def _base64(values: FloatVector | IntVector) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _entries(matrix: FloatMatrix) -> dict[str, Any]:
    """The entries of a matrix that are not +0.0: the public map of a wide model is mostly zeros."""
    rows, columns = np.nonzero((matrix != 0.0) | np.signbit(matrix))
    return {"row": rows.tolist(), "column": columns.tolist(), "value": matrix[rows, columns]}


def _stack(stack: Stack) -> dict[str, Any]:
    """Models and what combines them; the coefficients row by row, in coded columns."""
    return {
        "names": list(stack.names),
        "groups": [list(group) for group in stack.groups],
        "coefficients": stack.coefficients.ravel(),
        "combine": stack.combine,
        "weights": stack.weights,
    }


def _spend_line(line: SpendLine) -> dict[str, Any]:
    values = _values(line)
    return values if line.part else {name: one for name, one in values.items() if name != "part"}


def _values(line: SpendLine | LedgerState | ExactPath) -> dict[str, Any]:
    return {one.name: getattr(line, one.name) for one in fields(line)}


def encode(value: Any) -> Any:
    """``value`` with NaN and infinities written as mappings that JSON can hold."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {NOT_FINITE: str(float(value))}
    if isinstance(value, dict):
        if set(value) == {NOT_FINITE}:
            raise StoreError(
                f"a mapping whose only key is {NOT_FINITE!r}",
                expected="other keys: this one stands for numbers that are not finite",
                remedy="Rename the variable.",
            )
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return value


def _dumps(value: object, gaps: tuple[str, str]) -> str:
    return json.dumps(value, separators=gaps, ensure_ascii=True, allow_nan=False)
