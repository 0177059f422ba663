"""Cells of a column: a number, a text, nothing, or something else, as that cell alone says.

Every reading here keeps the row-wise promise of the room: what is read in row ``i`` depends on the value
in row ``i``, never on the type that a library chose for the whole column. The vectorised paths by column
type give, cell by cell, what :func:`cell_of` gives; a law in the tests holds them to it. Declared numbers
and levels, which are public, are read and written here too.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.typing import FloatVector


class Blank(Enum):
    """A cell that is neither a number nor a text."""

    MISSING = "nothing: None, NaN, NA, NaT or the empty text"
    UNREADABLE = "something else: a date, a list, a complex number"


Level: TypeAlias = str | int | float | bool
Cell: TypeAlias = str | float | Blank
Cells: TypeAlias = tuple[list[Cell], NDArray[np.intp]]

# Possessive throughout: no cell may take time that grows faster than its length.
_PLAIN: Final = re.compile(r"[ \t-\r]*+[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?[ \t-\r]*+", re.ASCII)
_INFINITE: Final = {s + w: float(s + w) for s in ("", "+", "-") for w in ("inf", "infinity")}
_WORDS: Final = {**_INFINITE, "true": 1.0, "false": 0.0}


def looks_numeric(text: str) -> bool:
    """Whether the CSV reader takes this text for a number; a hypothesis law compares the two."""
    return _PLAIN.fullmatch(text) is not None or text.lower() in _INFINITE


def numbers_of_texts(texts: Sequence[str]) -> FloatVector:
    """Numbers that texts spell; NaN for a text that spells none.

    Decimal notation with a point and an optional exponent, ``inf``, ``infinity``, ``true`` and ``false``
    in any case. The digits are read by the parser that reads CSV columns, so that a number in a file does
    not change its last bit when a text stands elsewhere in its column.

    Examples
    --------
    >>> numbers_of_texts(["1", " 2.50", "-inf", "TRUE", "1,5", "n/a"])
    array([ 1. ,  2.5, -inf,  1. ,  nan,  nan])
    """
    numbers = np.full(len(texts), np.nan)
    plain: list[int] = []
    for index, text in enumerate(texts):
        if _PLAIN.fullmatch(text):
            plain.append(index)
        else:
            numbers[index] = _WORDS.get(text.lower(), np.nan)
    if plain:
        numbers[plain] = _parsed([texts[index].strip(" \t\n\r\f\v") for index in plain])
    return numbers


def _parsed(texts: list[str]) -> FloatVector:
    import pandas as pd

    try:
        frame = pd.read_csv(
            io.StringIO("\n".join(texts)), header=None, names=["number"], dtype="float64", low_memory=False
        )
    except ValueError:  # no spelling is known that gets here; halving keeps one from taking others with it
        half = len(texts) // 2
        return np.concatenate([_parsed(texts[:half]), _parsed(texts[half:])]) if half else np.array([np.nan])
    return np.asarray(frame["number"], dtype=np.float64)


def cell_of(value: object) -> Cell:
    """What one cell holds: its number (as a float), its text, or a :class:`Blank`.

    ``True`` is 1.0 and ``False`` 0.0; integers too large for a float are infinite; bytes are read as UTF-8.
    Never raises, whatever the object does when it is looked at.

    Examples
    --------
    >>> cell_of(True), cell_of("F"), cell_of(float("nan")), cell_of([1])
    (1.0, 'F', <Blank.MISSING: 'nothing: None, NaN, NA, NaT or the empty text'>, <Blank.UNREADABLE: \
'something else: a date, a list, a complex number'>)
    """
    if type(value) is str:
        return value or Blank.MISSING
    if type(value) is float:
        return value if value == value else Blank.MISSING
    if value is None:
        return Blank.MISSING
    if type(value) is bool or (type(value) is int and -(2**1000) < value < 2**1000):
        return float(value)
    try:
        return _unusual_cell(value)
    except Exception:
        return Blank.UNREADABLE


def _unusual_cell(value: Any) -> Cell:
    """Told by its type and read by the methods of the known type below: no code of the object's own runs."""
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return Blank.MISSING
    kind = type(value)  # isinstance would ask the object for its __class__
    if issubclass(kind, str):
        return str.__str__(value) or Blank.MISSING
    if issubclass(kind, bytes):
        return bytes.decode(value, "utf-8", "replace") or Blank.MISSING
    if issubclass(kind, np.datetime64 | np.timedelta64):  # timedelta64 is an np.integer too
        return Blank.MISSING if np.isnat(value) else Blank.UNREADABLE
    if issubclass(kind, complex | np.complexfloating):
        plane = np.complex128(complex.__complex__(value) if issubclass(kind, complex) else value)
        return cell_of(float(plane.real)) if plane.imag == 0 else Blank.UNREADABLE
    if issubclass(kind, Decimal) and Decimal.is_nan(value):
        return Blank.MISSING
    known: Any
    for known in (int, float, Decimal, Fraction, np.bool_, np.integer, np.floating):
        if issubclass(kind, known):
            try:
                with np.errstate(all="ignore"):
                    number = known.__float__(value)
            except OverflowError:
                number = np.inf if known.__gt__(value, 0) else -np.inf
            return number if number == number else Blank.MISSING
    return Blank.UNREADABLE


def number_of(value: Any) -> float:
    """One real number as a float, infinite where it is too large; NaN for all else, truth values included."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def label_of(level: object) -> str:
    """A level as text: ``1.0`` is "1", ``True`` is "True"."""
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, int | float) and not isinstance(level, bool):
        if abs(level) > 2.0**1000:
            return str(level) if isinstance(level, float) else hex(level)  # str refuses 4300 digits
        number = float(level)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(level)


def items_of(value: object) -> list[Any] | None:
    """The items of a list, a tuple or an array; None for all else."""
    sized = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return list(value) if sized and not isinstance(value, str | bytes) else None  # type: ignore[call-overload]


def numbers_of_cells(cells: Sequence[Cell]) -> FloatVector:
    """Numbers that cells hold or spell; NaN where there is none."""
    numbers = np.array([cell if isinstance(cell, float) else np.nan for cell in cells])
    texts = {index: cell for index, cell in enumerate(cells) if isinstance(cell, str)}
    numbers[list(texts)] = numbers_of_texts(list(texts.values()))
    return numbers


def numbers_of_column(column: Any) -> FloatVector | None:
    """All cells as float64, NaN where missing, if the column's type holds nothing but numbers; else None.

    The array may share memory with the column: do not write to it.
    """
    import pandas as pd

    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, pd.ArrowDtype):
        chunks = [_arrow_numbers(chunk) for chunk in _arrow_chunks(column)]
        numbers = [chunk for chunk in chunks if chunk is not None]
        return np.concatenate([np.empty(0), *numbers]) if len(numbers) == len(chunks) else None
    if dtype is None or isinstance(dtype, pd.CategoricalDtype) or dtype.kind not in "biuf":
        return None
    # A user may have asked numpy to raise or warn on overflow and on signalling NaN.
    with np.errstate(all="ignore"):
        if isinstance(dtype, np.dtype | pd.SparseDtype):
            return np.asarray(column).astype(np.float64, copy=False)
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)


def cells_of_column(column: Any) -> Cells:
    """Cells of any column: a list of cells, and for each row the place of its cell there."""
    import pandas as pd

    dtype = getattr(column, "dtype", None)
    if dtype is None:
        return _object_cells(np.fromiter(column, dtype=object))  # np.array would unpack nested sequences
    if isinstance(dtype, pd.CategoricalDtype):
        category = getattr(column, "array", column)
        return _coded_cells(cells_of_column(category.categories), np.asarray(category.codes))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        return _joined_cells([_arrow_cells(chunk) for chunk in _arrow_chunks(column)])
    numbers = numbers_of_column(column)
    if numbers is not None:
        return _number_cells(numbers)
    if dtype.kind == "c" or (
        dtype.kind in "OUS" and isinstance(dtype, np.dtype | pd.StringDtype | pd.SparseDtype)
    ):
        return _object_cells(np.asarray(column).astype(object))
    never = dtype.kind == "V"
    return _blank_cells(np.zeros(len(column), dtype=bool) if never else np.asarray(pd.isna(column)))


def _coded_cells(listed: Cells, codes: NDArray[Any]) -> Cells:
    cells, index = listed
    # Codes can be out of range where a library was told not to check them: missing, as -1 is.
    known = np.where((codes >= 0) & (codes < len(index)), codes, -1)
    return [*cells, Blank.MISSING], np.append(index, len(cells))[known]  # -1 takes the last


def _number_cells(numbers: FloatVector) -> Cells:
    distinct, index = np.unique(numbers, return_inverse=True)
    return [number if number == number else Blank.MISSING for number in distinct.tolist()], index


def _blank_cells(missing: NDArray[np.bool_]) -> Cells:
    return [Blank.UNREADABLE, Blank.MISSING], missing.astype(np.intp)


def _object_cells(values: NDArray[np.object_]) -> Cells:
    places: dict[Cell, int] = {}
    index = [places.setdefault(cell, len(places)) for cell in map(cell_of, values)]
    return list(places), np.array(index, dtype=np.intp)


def _joined_cells(chunks: list[Cells]) -> Cells:
    starts = np.cumsum([0, *(len(cells) for cells, _ in chunks)])
    index = [places + start for (_, places), start in zip(chunks, starts, strict=False)]
    return [cell for cells, _ in chunks for cell in cells], np.concatenate([np.empty(0, np.intp), *index])


def _arrow_chunks(column: Any) -> list[Any]:
    """The column's chunks, each to be read by itself: to join them can fail, by what their cells hold."""
    import pyarrow as pa

    array = getattr(column, "array", column).__arrow_array__()
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def _arrow_numbers(array: Any) -> FloatVector | None:
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.float64, copy=False)


def _arrow_cells(array: Any) -> Cells:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        codes = array.indices.cast(pa.int64(), safe=False).fill_null(-1).to_numpy(zero_copy_only=False)
        return _coded_cells(_arrow_cells(array.dictionary), codes)
    texts = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    if any(getattr(pa.types, f"is_{name}", lambda _: False)(kind) for name in texts):  # views are new
        # As bytes: a column marked as text may hold bytes that are not UTF-8.
        encoded = array.cast(pa.large_binary()).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        cells = [cell_of(value) for value in encoded.dictionary.to_pylist()]
        return [*cells, Blank.MISSING], np.asarray(codes, dtype=np.intp)
    numbers = _arrow_numbers(array)
    if numbers is not None:
        return _number_cells(numbers)
    if pa.types.is_decimal(kind):
        return [cell_of(value) for value in array.to_pylist()], np.arange(len(array))
    return _blank_cells(np.asarray(array.is_null().to_numpy(zero_copy_only=False)))
