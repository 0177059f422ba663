"""What R calls: columns go in, and answers come back with their warnings and errors as values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd


def numbers(raw: bytearray) -> Any:
    """A column of numbers from their bytes: so it goes with every version of numpy."""
    return np.frombuffer(raw, dtype=np.float64)


def texts(raw: bytearray, labels: Sequence[object]) -> Any:
    """A column of labels from the bytes of whole numbers, which count from 1; 0 is a missing value."""
    known = np.array([None, *labels], dtype=object)
    return known[np.frombuffer(raw, dtype=np.int32)]


def raw(values: Any) -> bytearray:
    """The bytes of numbers, row by row."""
    return bytearray(np.asarray(values, dtype=np.float64).tobytes())


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """A table of columns as R has them."""
    return pd.DataFrame(dict(columns), copy=False)


def answer(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a call gives, the messages of its warnings, and the kind and message of its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value, error = function(**arguments), None
        except Exception as raised:  # R makes a condition of it
            value, error = None, [kind.__name__ for kind in type(raised).__mro__[:-3]] + [str(raised)]
    known = [one for one in caught if not issubclass(one.category, DeprecationWarning | FutureWarning)]
    return {"value": value, "error": error, "warnings": [str(one.message) for one in known]}


def columns_of(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The columns of a table as vectors that R has: numbers, truths, or texts with their missing values."""
    found = {}
    for name, column in table.items():
        if column.dtype == bool:
            found[str(name)] = {"values": column.tolist()}
        elif pd.api.types.is_numeric_dtype(column):
            found[str(name)] = {"raw": raw(column)}
        else:
            missing = column.isna().tolist()
            values = ["" if gone else str(value) for value, gone in zip(column, missing, strict=True)]
            found[str(name)] = {"values": values, "missing": missing}
    return found


def attribute(owner: object, name: str) -> Any:
    """An attribute, or the error that says why there is none."""
    return getattr(owner, name)
