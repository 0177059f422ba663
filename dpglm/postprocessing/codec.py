"""JSON encoding of frozen dataclasses, and its decoder: the type annotations are the schema.

Why not msgspec or pydantic: both take a key that appears twice, and their messages repeat unknown keys and
values of a file that may hold another person's secrets. Arrays, packed doubles and numbers that are not
finite would go through hooks in either of them. What a library would save is the walk over annotations.

Errors name the field and never repeat its content.
"""

from __future__ import annotations

import datetime
import math
import types
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dpglm.errors import DpglmError, StoreError
from dpglm.postprocessing.json_values import (
    NOT_FINITE,
    MatrixReader,
    encoded_array,
    store_error,
    type_error,
    vector,
    whole_text,
)

Decoded = TypeVar("Decoded")

MAX_DEPTH: Final = 32  # of nested lists and mappings in a schema, which needs 4


class SelfCoded(ABC):
    """What encodes itself, because its class is known to a registry alone."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Values that :func:`encode` takes, by field."""

    @classmethod
    @abstractmethod
    def of_fields(cls, values: Mapping[str, Any], name: str) -> Self:
        """The object whose encoded fields these are."""


def encode(value: object, *, packed: bool = False, depth: int = 0) -> Any:
    """``value`` as mappings, lists and scalars that JSON can hold.

    Parameters
    ----------
    value : dataclass, array, mapping, list, tuple or scalar
    packed : bool
        Write long vectors as base64 of little-endian doubles: exact, and half as long.

    Raises
    ------
    StoreError
        Something that JSON cannot keep, such as a frame or a function.

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
            return encoded_array(value, packed)
        if isinstance(value, SelfCoded):
            value = value.to_fields()
        elif is_dataclass(value) and not isinstance(value, type):
            value = {name: getattr(value, name) for name in _annotations(value.__class__)}
        if isinstance(value, Mapping) and set(value) != {NOT_FINITE}:
            return {str(key): encode(item, packed=packed, depth=depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [encode(item, packed=packed, depth=depth + 1) for item in value]
    raise _unsaved_error(value, "a result", depth)


def _unsaved_error(value: object, name: str, depth: int) -> StoreError:
    return StoreError(
        f"{name} with a value of type {type(value).__name__}"
        + (" nested too deep" if depth >= MAX_DEPTH else ""),
        expected=f"text, numbers, lists and mappings of them whose only key is not {NOT_FINITE!r}",
        remedy=f"Describe it in {name} in words or numbers.",
    )


def decode(kind: type[Decoded], value: object, name: str = "") -> Decoded:
    """The dataclass of this type whose :func:`encode` gave ``value``; every type is checked.

    Raises
    ------
    StoreError
        A field that is missing or unknown, of another type, or refused by its class.

    Examples
    --------
    >>> from dpglm.postprocessing.specification import Choice
    >>> decode(Choice, {"name": "l1", "options": {}})
    Choice(name='l1', options={})
    """
    decoded: Decoded = _Decoder().decode(kind, value, name)
    return decoded


def decode_fields(kind: type[Decoded], values: dict[str, Any], name: str) -> Decoded:
    """As :func:`decode`, of a class that encodes itself."""
    decoded: Decoded = _Decoder().fields(kind, values, name)
    return decoded


@cache
def _annotations(kind: type) -> dict[str, Any]:
    """The types of the saved fields of a dataclass."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.compare}


class _Decoder:
    """One pass over one document."""

    def __init__(self) -> None:
        self.matrices = MatrixReader()

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
            return self.matrices.matrix(value, name) if is_matrix else vector(value, name)
        if kind is object or (isinstance(origin, type) and issubclass(origin, Mapping)):
            tree = plain_tree(value, name)
            if kind is not object and not isinstance(tree, dict):
                raise type_error(value, name, "a mapping")
            return tree
        if kind in _SCALARS:
            return _SCALARS[kind](value, name)
        if value is None and kind is type(None):
            return None
        if not isinstance(value, dict):
            raise type_error(value, name, "a mapping" if isinstance(kind, type) else "null")
        if isinstance(kind, type) and issubclass(kind, SelfCoded):
            return kind.of_fields(value, name)
        return self.fields(kind, value, name)

    def fields(self, kind: Any, value: dict[str, Any], name: str) -> Any:
        """The dataclass with these encoded fields."""
        hints = _annotations(kind)
        at = f"{name}." if name else ""
        if missing := [key for key in hints if key not in value]:
            raise store_error(f"{name or 'a document'} without {missing[0]}", f"the keys {', '.join(hints)}")
        if len(value) > len(hints):
            raise store_error(
                f"{name or 'a document'} with a key that is not known", f"the keys {', '.join(hints)}"
            )
        decoded = {key: self.decode(hint, value[key], at + key) for key, hint in hints.items()}
        try:
            return kind(**decoded)
        except StoreError:
            raise
        except (DpglmError, ValueError, TypeError, ArithmeticError, AssertionError) as error:
            # A part may name what it was given; the record itself does not.
            found = error.found if isinstance(error, DpglmError) and not name else "fields that do not fit"
            raise store_error(f"{name or 'a result'} with {found}", "what fit() gave") from None

    def _member(self, kinds: tuple[Any, ...], value: object, name: str) -> Any:
        """The first member of a union that fits; numbers keep their type where both are members."""
        if value is None and type(None) in kinds:
            return None
        if type(value) in kinds:
            return self.decode(type(value), value, name)
        others = [kind for kind in kinds if kind is not type(None)]
        for kind in others[:-1]:
            try:
                return self.decode(kind, value, name)
            except StoreError:
                continue
        return self.decode(others[-1], value, name)

    def _tuple(self, kinds: tuple[Any, ...], value: object, name: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise type_error(value, name, "a list")
        if kinds[-1] is Ellipsis:
            return tuple(self.decode(kinds[0], item, name) for item in value)
        if len(value) != len(kinds):
            raise store_error(f"{name} of another length", f"{len(kinds)} entries")
        return tuple(self.decode(kind, item, name) for kind, item in zip(kinds, value, strict=True))


def plain_copy(value: object, name: str, depth: int = 0) -> Any:
    """A copy made of dicts with text keys, lists and scalars, so that nothing can hold on to a frame.

    Raises
    ------
    StoreError
        Something that JSON cannot keep.

    Examples
    --------
    >>> plain_copy({"levels": ("no", "yes"), "scale": np.float64(0.5)}, "schema")
    {'levels': ['no', 'yes'], 'scale': 0.5}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {str(key): plain_copy(item, name, depth + 1) for key, item in value.items()}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [plain_copy(item, name, depth + 1) for item in value]
    raise _unsaved_error(value, name, depth)


def plain_tree(value: object, name: str, depth: int = 0) -> Any:
    """Nested mappings, lists and scalars of a file, with numbers that are not finite read back.

    Raises
    ------
    StoreError
        Nested too deep, half a character, or a whole number of more than 64 bits.
    """
    if depth > MAX_DEPTH:
        raise store_error(f"{name} nested too deep", f"at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if set(value) == {NOT_FINITE}:
            return _not_finite(value[NOT_FINITE], name)
        return {whole_text(key, name): plain_tree(item, name, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_tree(item, name, depth + 1) for item in value]
    if isinstance(value, str):
        return whole_text(value, name)
    return value if value is None or isinstance(value, bool | float) else _whole(value, name)


def _truth(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise type_error(value, name, "true or false")
    return value


def _whole(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise type_error(value, name, "a whole number of 64 bits")
    return value


def _real(value: object, name: str) -> float:
    if isinstance(value, dict) and set(value) == {NOT_FINITE}:
        return _not_finite(value[NOT_FINITE], name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise type_error(value, name, "a number")
    try:
        return float(value)
    except OverflowError:
        raise type_error(value, name, "a number of ordinary size") from None


def _not_finite(word: object, name: str) -> float:
    if word not in ("nan", "inf", "-inf"):
        raise type_error(word, name, "nan, inf or -inf")
    return float(str(word))


_SCALARS: Final = {str: whole_text, bool: _truth, int: _whole, float: _real}
