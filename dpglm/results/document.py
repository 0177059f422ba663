"""A result as JSON text: exact floats, no code, the same bytes for the same result.

The format is kept for ever: what one version wrote, later ones read.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from dpglm.errors import StoreError
from dpglm.results.record import FitRecord, LedgerState, SpendLine
from dpglm.typing import FloatMatrix

FORMAT, FORMAT_VERSION = "dpglm-fit", 1
MAX_BYTES = 64 * 2**20
MAX_COEFFICIENTS = 8192  # a file of a few kilobytes must not ask for terabytes
NOT_FINITE = "$float"  # JSON has no NaN: {"$float": "nan"}
PLAIN_FIELDS = ("formula", "family", "link", "penalty", "method", "goal", "n_rows", "version")


def to_json(result: FitRecord) -> str:
    """``result`` as JSON text, a line per field, without its row map.

    Parameters
    ----------
    result : FitResult
        Any result.

    Returns
    -------
    str
        ASCII text. Floats are written with as many digits as it takes to read back the same float.

    Raises
    ------
    StoreError
        The result is larger than the format allows.
    """
    lines = (f"{_dumps(key)}: {_dumps(value)}" for key, value in _document(result).items())
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
        _document(result), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _document(result: FitRecord) -> dict[str, Any]:
    content: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "notice": result.alarm or "private",
        **{name: getattr(result, name) for name in PLAIN_FIELDS},
        "strength": result.strength,
        "names": list(result.names),
        "estimates": result.estimates.tolist(),
        "selected_mask": result.selected_mask.tolist(),
        "coded": result.coded.tolist(),
        "user_from_coded": _entries(result.user_from_coded),
        "terms": [[term, list(positions)] for term, positions in result.terms],
        "guarantee": result.guarantee.to_dict(),
        "spend_lines": [_values(line) for line in result.spend_lines],
        "schema": result.schema,
        "mechanism": result.mechanism,
        "ledger": None if result.ledger is None else _values(result.ledger),
    }
    encoded: dict[str, Any] = encode(content)
    return encoded


def _entries(matrix: FloatMatrix) -> dict[str, list[Any]]:
    """The entries of a matrix that are not +0.0: the public map of a wide model is mostly zeros."""
    rows, columns = np.nonzero((matrix != 0.0) | np.signbit(matrix))
    return {"row": rows.tolist(), "column": columns.tolist(), "value": matrix[rows, columns].tolist()}


def _values(line: SpendLine | LedgerState) -> dict[str, Any]:
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


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
