"""Arrays and text in JSON: doubles as digits or packed, matrices by what is short, and errors about them."""

from __future__ import annotations

import base64
import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.errors import StoreError

Array = NDArray[Any]

MAX_COEFFICIENTS: Final = 8192
MAX_CELLS: Final = MAX_COEFFICIENTS**2  # of all matrices of a file: a few bytes must not ask for terabytes
NOT_FINITE: Final = "$float"  # JSON has no NaN: {"$float": "nan"}
PACKED: Final = "$doubles"  # {"$doubles": base64 of little-endian doubles}, half as long as digits
PLACES: Final = "places"  # which of them stands where, if few numbers come again and again
LEAST_PACKED: Final = 12
REMEDY: Final = (
    "Use a file as save() wrote it; if it was changed by hand or cut short, save the result again."
)


def store_error(found: str, expected: str) -> StoreError:
    """The error about a file; it names a field, never its content."""
    return StoreError(f"{found} in the saved result", expected=expected, remedy=REMEDY)


def type_error(value: object, name: str, expected: str) -> StoreError:
    """The error about a value of another type."""
    return store_error(f"{name} with a value of type {type(value).__name__}", expected)


def whole_text(value: object, name: str) -> str:
    """Text without half characters."""
    if not isinstance(value, str):
        raise type_error(value, name, "text")
    # JSON can name half of a character, which no file or page can hold.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise store_error(f"{name} with half a character (a lone surrogate)", "text of whole characters")
    return value


def encoded_array(array: Array, packed: bool) -> Any:
    if array.ndim == 1:
        return _encoded_vector(array, packed)
    rows, columns = array.shape
    used = (array != 0.0) | np.signbit(array)
    body: dict[str, Array]
    if 3 * used.sum() < array.size:  # the public map of a wide model is mostly zeros
        places = np.nonzero(used)
        body = {"row": places[0], "column": places[1], "value": array[used]}
    elif rows == columns and array.tobytes() == np.ascontiguousarray(array.T).tobytes():
        body = {"triangle": array[np.tril_indices(rows)]}
    else:
        body = {"values": array.ravel()}
    return {"shape": [rows, columns]} | {name: _encoded_vector(part, packed) for name, part in body.items()}


def _encoded_vector(array: Array, packed: bool) -> Any:
    if array.dtype != np.float64:
        return array.tolist()
    if not np.isfinite(array).all():  # `decode` refuses it: what is not finite is shown, and never saved
        return [number if math.isfinite(number) else {NOT_FINITE: str(number)} for number in array.tolist()]
    if not packed or len(array) < LEAST_PACKED:
        return array.tolist()
    # As bits, so that -0.0 and 0.0 stay apart.
    distinct, places = np.unique(array.astype("<f8").view("<u8"), return_inverse=True)
    if 4 * len(distinct) > len(array):
        return {PACKED: base64.b64encode(array.astype("<f8").tobytes()).decode("ascii")}
    return {PACKED: base64.b64encode(distinct.tobytes()).decode("ascii"), PLACES: places.tolist()}


def vector(value: object, name: str) -> Array:
    """Finite numbers as a vector of doubles."""
    return np.array(_numbers(value, name), dtype=np.float64)


class MatrixReader:
    """Reads the matrices of one document, and counts their cells."""

    def __init__(self) -> None:
        self.cells = 0

    def matrix(self, value: dict[str, Any], name: str) -> Array:
        """The matrix that :func:`encoded_array` wrote."""
        shape = _places(value["shape"], MAX_CELLS + 1, f"{name}.shape")
        if len(shape) != 2:
            raise store_error(f"{name}.shape of another length", "rows and columns")
        rows, columns = shape
        self.cells += rows * columns
        if self.cells > MAX_CELLS:
            raise store_error(f"{name} of too many cells", f"at most {MAX_CELLS} cells in all matrices")
        form = set(value) - {"shape"}
        if form == {"row", "column", "value"}:
            return self._sparse(shape, value, name)
        triangle = form == {"triangle"} and rows == columns
        if not triangle and form != {"values"}:
            raise store_error(f"{name} of another form", "a matrix as save() writes it")
        numbers = _numbers(value["triangle" if triangle else "values"], name)
        if len(numbers) != (rows * (rows + 1) // 2 if triangle else rows * columns):
            raise store_error(f"{name} of another length", "the numbers that its shape needs")
        if not triangle:
            return np.array(numbers, dtype=np.float64).reshape(shape)
        matrix = np.zeros(shape)
        lower, left = np.tril_indices(rows)
        matrix[lower, left] = matrix[left, lower] = numbers
        return matrix

    @staticmethod
    def _sparse(shape: list[int], value: dict[str, Any], name: str) -> Array:
        places = [_places(value[key], size, name) for key, size in zip(("row", "column"), shape, strict=True)]
        numbers = _numbers(value["value"], f"{name}.value")
        if not len(places[0]) == len(places[1]) == len(numbers):
            raise store_error(f"{name} with lists of different lengths", "a row, a column and a value each")
        matrix = np.zeros(shape)
        matrix[np.array(places[0], dtype=np.int64), np.array(places[1], dtype=np.int64)] = numbers
        return matrix


def _numbers(value: object, name: str) -> list[float]:
    """Finite numbers: a list, or a mapping that packs their doubles."""
    if isinstance(value, dict) and PACKED in value and set(value) <= {PACKED, PLACES}:
        return _unpacked(value, name)
    if not isinstance(value, list):
        raise type_error(value, name, "a list of finite numbers")
    if any(type(number) not in (float, int) for number in value):
        raise store_error(f"{name} with an entry that is no finite number", "finite numbers")
    try:
        numbers = [float(number) for number in value]
    except OverflowError:
        raise store_error(f"{name} with a number that is too large", "finite numbers") from None
    return numbers


def _unpacked(value: dict[str, Any], name: str) -> list[float]:
    """Numbers from base64 of little-endian doubles."""
    try:
        content = base64.b64decode(whole_text(value[PACKED], name), validate=True)
    except ValueError:
        raise store_error(f"{name} with packed numbers that are not base64", "base64 of doubles") from None
    if len(content) % 8:
        raise store_error(f"{name} with packed numbers cut short", "8 bytes per number")
    doubles = np.frombuffer(content, dtype="<f8")
    if not np.isfinite(doubles).all():
        raise store_error(f"{name} with a packed number that is not finite", "finite numbers")
    distinct: list[float] = doubles.tolist()
    if PLACES not in value:
        return distinct
    return [distinct[place] for place in _places(value[PLACES], len(distinct), f"{name}.{PLACES}")]


def _places(value: object, size: int, name: str) -> list[int]:
    """Whole numbers from 0 to below ``size``."""
    if not isinstance(value, list) or any(type(place) is not int for place in value):
        raise type_error(value, name, "a list of whole numbers")
    if any(not 0 <= place < size for place in value):
        raise store_error(f"an entry of {name} outside its range", f"whole numbers from 0, below {size}")
    return value
