"""JSON encoding of frozen dataclasses, and its decoder: the type annotations are the schema.

Errors name the field and never repeat its content, which may be another person's secrets. The messages of
msgspec and pydantic do repeat it, and both take a key that appears twice.
"""

from __future__ import annotations

import base64
import math
import types
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dpglm.errors import DpglmError, StoreError
from dpglm.typing import FloatVector, encodable, later_fields

Array = NDArray[Any]
Decoded = TypeVar("Decoded")

MAX_DEPTH: Final = 32  # of nested lists and mappings in a schema, which needs 4
MAX_COEFFICIENTS: Final = 8192
MAX_CELLS: Final = MAX_COEFFICIENTS**2  # of all matrices of a file: a few bytes must not ask for terabytes
NOT_FINITE: Final = "$float"  # JSON has no NaN: {"$float": "nan"}
PACKED: Final = "$doubles"  # {"$doubles": base64 of little-endian doubles}, half as long as digits
PLACES: Final = "places"  # which of them stands where, if few numbers come again and again
LEAST_PACKED: Final = 12


class SelfCoded(ABC):
    """What encodes itself, because its class is known to a registry alone."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Values that :func:`encode` takes, by field."""

    @classmethod
    @abstractmethod
    def of_fields(cls, values: Mapping[str, Any], name: str) -> Self:
        """The object whose encoded fields these are."""


def store_error(found: str, expected: str) -> StoreError:
    """The error about a file; it names a field, never its content."""
    remedy = "Use a file as save() wrote it; if it was changed by hand or cut short, save the result again."
    return StoreError(f"{found} in the saved result", expected=expected, remedy=remedy)


def _type_error(value: object, name: str, expected: str) -> StoreError:
    return store_error(f"{name} with a value of type {type(value).__name__}", expected)


def unsaved_error(value: object, name: str, depth: int) -> StoreError:
    """The error about a value that JSON cannot keep, or that is nested too deep."""
    return StoreError(
        f"{name} with a value of type {type(value).__name__}"
        + (" nested too deep" if depth >= MAX_DEPTH else ""),
        expected=f"text, numbers, lists and mappings of them whose only key is not {NOT_FINITE!r}",
        remedy=f"Describe it in {name} in words or numbers.",
    )


def encode(value: object, *, packed: bool = False, depth: int = 0) -> Any:
    """``value`` as mappings, lists and scalars that JSON can hold; a StoreError where there are none.

    With ``packed``, long vectors become base64 of little-endian doubles: exact, and half as long.

    Examples
    --------
    >>> encode({"levels": ("no", "yes"), "scale": float("inf")})
    {'levels': ['no', 'yes'], 'scale': {'$float': 'inf'}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {NOT_FINITE: str(float(value))}
    if depth < MAX_DEPTH:
        if isinstance(value, np.ndarray):
            return _encoded_array(value, packed)
        if isinstance(value, SelfCoded):
            value = value.to_fields()
        elif is_dataclass(value) and not isinstance(value, type):
            found = {name: getattr(value, name) for name in _annotations(value.__class__)}
            usual = {k: v for k, v in later_fields(type(value)).items() if np.array_equal(found[k], v)}
            value = {name: each for name, each in found.items() if name not in usual}
        if isinstance(value, Mapping) and set(value) != {NOT_FINITE}:
            return {str(key): encode(item, packed=packed, depth=depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [encode(item, packed=packed, depth=depth + 1) for item in value]
    raise unsaved_error(value, "a result", depth)


def _encoded_array(array: Array, packed: bool) -> Any:
    if array.ndim == 1:
        return _encoded_vector(array, packed)
    rows, columns = array.shape
    used = (array != 0.0) | np.signbit(array)
    if 3 * used.sum() < array.size:  # the public map of a wide model is mostly zeros
        row, column = np.nonzero(used)
        body = {"row": row, "column": column, "value": array[used]}
    elif rows == columns and array.tobytes() == np.ascontiguousarray(array.T).tobytes():
        body = {"triangle": array[np.tril_indices(rows)]}
    else:
        body = {"values": array.ravel()}
    return {"shape": [rows, columns]} | {name: _encoded_vector(part, packed) for name, part in body.items()}


def _encoded_vector(array: Array, packed: bool) -> Any:
    if array.dtype != np.float64:
        return array.tolist()
    if not np.isfinite(array).all():  # `decode` refuses it: what is not finite is shown, and never saved
        return [encode(number) for number in array.tolist()]
    if not packed or len(array) < LEAST_PACKED:
        return array.tolist()
    # As bits, so that -0.0 and 0.0 stay apart.
    distinct, places = np.unique(array.astype("<f8").view("<u8"), return_inverse=True)
    if 4 * len(distinct) > len(array):
        return {PACKED: base64.b64encode(array.astype("<f8").tobytes()).decode("ascii")}
    return {PACKED: base64.b64encode(distinct.tobytes()).decode("ascii"), PLACES: places.tolist()}


def decode(kind: type[Decoded], values: dict[str, Any], name: str = "") -> Decoded:
    """The dataclass of this type whose :func:`encode` gave ``values``.

    A StoreError names a field that is missing or unknown, of another type, or refused by its class.

    Examples
    --------
    >>> from dpglm.postprocessing.record import Choice
    >>> decode(Choice, {"name": "l1", "options": {}})
    Choice(name='l1', options={})
    """
    return _Decoder().fields(kind, values, name)  # type: ignore[no-any-return]


@cache
def _annotations(kind: type) -> dict[str, Any]:
    """The types of the saved fields of a dataclass."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.compare}


class _Decoder:
    """One pass over one document, which counts the cells of its matrices."""

    def __init__(self) -> None:
        self.cells = 0

    def decode(self, kind: Any, value: Any, name: str) -> Any:
        """``value`` as the annotated type ``kind``."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return self._member(arguments, value, name)
        if origin is Literal:
            if not any(type(value) is type(word) and value == word for word in arguments):
                raise store_error(f"{name} with another value", ", ".join(map(str, arguments)))
            return value
        if origin is tuple:
            return self._tuple(arguments, value, name)
        if origin is np.ndarray:
            if get_args(arguments[1])[0] is np.bool_:
                return np.array(self._tuple((bool, ...), value, name), dtype=np.bool_)
            is_matrix = isinstance(value, dict) and "shape" in value
            return self._matrix(value, name) if is_matrix else _numbers(value, name)
        if kind is object:
            return _tree(value, name)
        if kind in _SCALARS:
            return _SCALARS[kind](value, name)
        if not isinstance(value, dict):
            raise _type_error(value, name, "a mapping")
        if isinstance(origin, type) and issubclass(origin, Mapping):
            tree = _tree(value, name)
            if not isinstance(tree, dict):
                raise _type_error(tree, name, "a mapping")
            return tree
        return kind.of_fields(value, name) if issubclass(kind, SelfCoded) else self.fields(kind, value, name)

    def fields(self, kind: Any, value: dict[str, Any], name: str) -> Any:
        """The dataclass with these encoded fields."""
        hints = _annotations(kind)
        keys = f"the keys {', '.join(hints)}"
        value = {**later_fields(kind), **value}
        if missing := [key for key in hints if key not in value]:
            raise store_error(f"{name or 'a document'} without {missing[0]}", keys)
        if len(value) > len(hints):
            raise store_error(f"{name or 'a document'} with a key that is not known", keys)
        prefix = f"{name}." if name else ""
        decoded = {key: self.decode(hint, value[key], prefix + key) for key, hint in hints.items()}
        try:
            return kind(**decoded)
        except StoreError:
            raise
        except (DpglmError, ValueError, TypeError, ArithmeticError, AssertionError) as error:
            # A part may name what it was given; the record itself does not.
            problem = error.found if isinstance(error, DpglmError) and not name else "fields that do not fit"
            raise store_error(f"{name or 'a result'} with {problem}", "what fit() gave") from None

    def _member(self, kinds: tuple[Any, ...], value: object, name: str) -> Any:
        """The first member of a union that fits; numbers keep their type where both are members."""
        if type(value) in kinds:
            return None if value is None else self.decode(type(value), value, name)
        others = [kind for kind in kinds if kind is not type(None)]
        for kind in others[:-1]:
            try:
                return self.decode(kind, value, name)
            except StoreError:
                continue
        return self.decode(others[-1], value, name)

    def _tuple(self, kinds: tuple[Any, ...], value: object, name: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _type_error(value, name, "a list")
        if kinds[-1] is Ellipsis:
            kinds = (kinds[0],) * len(value)
        if len(value) != len(kinds):
            raise store_error(f"{name} of another length", f"{len(kinds)} entries")
        return tuple(self.decode(kind, item, name) for kind, item in zip(kinds, value, strict=True))

    def _matrix(self, value: dict[str, Any], name: str) -> Array:
        """The matrix that :func:`_encoded_array` wrote."""
        shape = _places(value["shape"], MAX_CELLS + 1, f"{name}.shape")
        if len(shape) != 2:
            raise store_error(f"{name}.shape of another length", "rows and columns")
        rows, columns = shape
        self.cells += rows * columns
        if self.cells > MAX_CELLS:
            raise store_error(f"{name} of too many cells", f"at most {MAX_CELLS} cells in all matrices")
        form = set(value) - {"shape"}
        if form == {"row", "column", "value"}:
            cells = _places(value["row"], rows, name), _places(value["column"], columns, name)
            numbers = _numbers(value["value"], f"{name}.value")
            if not len(cells[0]) == len(cells[1]) == len(numbers):
                raise store_error(f"{name} with lists of different lengths", "lists of one length")
            matrix = np.zeros(shape)
            matrix[np.array(cells[0], np.int64), np.array(cells[1], np.int64)] = numbers
            return matrix
        triangle = form == {"triangle"} and rows == columns
        if not triangle and form != {"values"}:
            raise store_error(f"{name} of another form", "a matrix as save() writes it")
        numbers = _numbers(value["triangle" if triangle else "values"], name)
        if len(numbers) != (rows * (rows + 1) // 2 if triangle else rows * columns):
            raise store_error(f"{name} of another length", "the numbers that its shape needs")
        if not triangle:
            return numbers.reshape(shape)
        matrix = np.zeros(shape)
        lower, left = np.tril_indices(rows)
        matrix[lower, left] = matrix[left, lower] = numbers
        return matrix


def _numbers(value: object, name: str) -> FloatVector:
    """Finite numbers: a list, or a mapping that packs their doubles."""
    if isinstance(value, dict) and PACKED in value and set(value) <= {PACKED, PLACES}:
        return _unpacked(value, name)
    if not isinstance(value, list):
        raise _type_error(value, name, "a list of finite numbers")
    if any(type(number) not in (float, int) for number in value):
        raise store_error(f"{name} with an entry that is no finite number", "finite numbers")
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:
        raise store_error(f"{name} with a number that is too large", "finite numbers") from None


def _unpacked(value: dict[str, Any], name: str) -> FloatVector:
    """Numbers from base64 of little-endian doubles."""
    try:
        content = base64.b64decode(_text(value[PACKED], name), validate=True)
    except ValueError:
        raise store_error(f"{name} with packed numbers that are not base64", "base64 of doubles") from None
    if len(content) % 8:
        raise store_error(f"{name} with packed numbers cut short", "8 bytes per number")
    doubles = np.frombuffer(content, dtype="<f8")
    if not np.isfinite(doubles).all():
        raise store_error(f"{name} with a packed number that is not finite", "finite numbers")
    if PLACES in value:
        doubles = doubles[_places(value[PLACES], len(doubles), f"{name}.{PLACES}")]
    return doubles


def _places(value: object, size: int, name: str) -> list[int]:
    """Whole numbers from 0 to below ``size``."""
    if not isinstance(value, list) or any(type(index) is not int for index in value):
        raise _type_error(value, name, "a list of whole numbers")
    if any(not 0 <= index < size for index in value):
        raise store_error(f"an entry of {name} outside its range", f"whole numbers from 0, below {size}")
    return value


def _tree(value: object, name: str, depth: int = 0) -> Any:
    """Nested mappings, lists and scalars of a file, with numbers that are not finite read back."""
    if depth > MAX_DEPTH:
        raise store_error(f"{name} nested too deep", f"at most {MAX_DEPTH} levels")
    if isinstance(value, dict) and set(value) != {NOT_FINITE}:
        return {_text(key, name): _tree(item, name, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_tree(item, name, depth + 1) for item in value]
    if isinstance(value, str):
        return _text(value, name)
    if value is None or isinstance(value, bool):
        return value
    return _real(value, name) if isinstance(value, float | dict) else _whole(value, name)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise _type_error(value, name, "text")
    # JSON can name half of a character, which no file or page can hold.
    if not encodable(value):
        raise store_error(f"{name} with half a character (a lone surrogate)", "text of whole characters")
    return value


def _truth(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise _type_error(value, name, "true or false")
    return value


def _whole(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise _type_error(value, name, "a whole number of 64 bits")
    return value


def _real(value: object, name: str) -> float:
    if isinstance(value, dict) and set(value) == {NOT_FINITE}:
        if value[NOT_FINITE] not in ("nan", "inf", "-inf"):
            raise _type_error(value[NOT_FINITE], name, "nan, inf or -inf")
        return float(value[NOT_FINITE])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _type_error(value, name, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _type_error(value, name, "a number of ordinary size") from None


_SCALARS: Final = {str: _text, bool: _truth, int: _whole, float: _real}
