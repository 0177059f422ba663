"""Columns of any type, read cell by cell or as fast as that.

Every reading here keeps the row-wise promise of the room: what is read in row ``i`` depends on the value
in row ``i``, never on the type that a library chose for the whole column. The vectorised paths by column
type give, cell by cell, what `as_text` of `stored_cell` gives; a law in the tests holds them to it.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from dpglm.data.tables.cells import Blank, Cell, StoredCell, as_text, decoded, stored_cell
from dpglm.data.tables.instants import NAT, instants_of_array, is_known_zone
from dpglm.data.tables.source import StackedColumn
from dpglm.typing import FloatVector

Cells: TypeAlias = tuple[list[Cell], NDArray[np.intp]]
StoredCells: TypeAlias = tuple[list[StoredCell], NDArray[np.intp]]
# Memory addresses of objects, whose column polars exports so: they say nothing of the cells.
_ADDRESS_BYTES: Final = 8


def numbers_of_column(column: Any) -> FloatVector | None:
    """All cells as float64, NaN where missing, if the column's type holds nothing but numbers; else None.

    The array may share memory with the column: do not write to it.
    """
    import pandas as pd

    if isinstance(column, StackedColumn):
        return _joined_numbers([numbers_of_column(part) for part in column.parts])
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, pd.ArrowDtype):
        return _joined_numbers([_arrow_numbers(chunk) for chunk in _arrow_chunks(column)])
    if dtype is None or isinstance(dtype, pd.CategoricalDtype) or dtype.kind not in "biuf":
        return None
    # A user may have asked numpy to raise or warn on overflow and on signalling NaN.
    with np.errstate(all="ignore"):
        if isinstance(dtype, np.dtype | pd.SparseDtype):
            return np.asarray(column).astype(np.float64, copy=False)
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)


def cells_of_column(column: Any) -> Cells:
    """Cells of any column: a list of cells, and for each row the place of its cell there."""
    cells, index = stored_cells_of_column(column)
    return [as_text(cell) for cell in cells], index


def stored_cells_of_column(column: Any) -> StoredCells:
    """Cells of any column, bytes as they are: which of them are UTF-8 may be chance."""
    import pandas as pd

    if isinstance(column, StackedColumn):
        return _joined_cells([stored_cells_of_column(part) for part in column.parts])
    dtype = getattr(column, "dtype", None)
    if dtype is None:
        return _object_cells(np.fromiter(column, dtype=object))  # np.array would unpack nested sequences
    if isinstance(dtype, pd.CategoricalDtype):
        category = getattr(column, "array", column)
        return _coded_cells(stored_cells_of_column(category.categories), np.asarray(category.codes))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        return _joined_cells([_arrow_cells(chunk) for chunk in _arrow_chunks(column)])
    plain = isinstance(dtype, np.dtype | pd.SparseDtype)
    if dtype.kind in "iu" and plain:
        return _number_cells(np.asarray(column))
    if dtype.kind in "iu" and hasattr(dtype, "numpy_dtype"):
        whole = column.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _number_cells(whole, np.asarray(column.isna()))
    numbers = numbers_of_column(column)
    if numbers is not None:
        return _number_cells(numbers)
    if dtype.kind == "M" and plain:
        return _instant_cells(np.asarray(column), zoned=False)
    if isinstance(dtype, pd.DatetimeTZDtype) and is_known_zone(dtype.tz):
        return _instant_cells(np.asarray(column, dtype=f"M8[{dtype.unit}]"), zoned=True)
    if dtype.kind == "c" or (
        dtype.kind in "OUS" and isinstance(dtype, np.dtype | pd.StringDtype | pd.SparseDtype)
    ):
        return _object_cells(np.asarray(column).astype(object))
    never = dtype.kind == "V"
    return _blank_cells(np.zeros(len(column), dtype=bool) if never else np.asarray(pd.isna(column)))


def _joined_numbers(parts: list[FloatVector | None]) -> FloatVector | None:
    numbers = [part for part in parts if part is not None]
    return np.concatenate([np.empty(0), *numbers]) if len(numbers) == len(parts) else None


def _coded_cells(listed: StoredCells, codes: NDArray[Any]) -> StoredCells:
    cells, index = listed
    # Codes can be out of range where a library was told not to check them: missing, as -1 is.
    known = np.where((codes >= 0) & (codes < len(index)), codes, -1)
    return [*cells, Blank.MISSING], np.append(index, len(cells))[known]  # -1 takes the last


def _number_cells(numbers: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> StoredCells:
    import pandas as pd

    if numbers.dtype.kind in "iu":  # hashed, which is faster than sorted
        index, distinct = pd.factorize(numbers)
    else:
        distinct, index = np.unique(numbers, return_inverse=True)
    cells = [number if number == number else Blank.MISSING for number in distinct.tolist()]
    return _without((cells, index), missing)


def _instant_cells(values: NDArray[np.datetime64], *, zoned: bool) -> StoredCells:
    instants, index, missing = instants_of_array(values, zoned=zoned)
    return _without(([instant or Blank.UNREADABLE for instant in instants], index), missing)


def _without(listed: StoredCells, missing: NDArray[np.bool_] | None) -> StoredCells:
    """The cells, of which these rows have none."""
    cells, index = listed
    return listed if missing is None else ([*cells, Blank.MISSING], np.where(missing, len(cells), index))


def _blank_cells(missing: NDArray[np.bool_]) -> StoredCells:
    return [Blank.UNREADABLE, Blank.MISSING], missing.astype(np.intp)


def _object_cells(values: NDArray[np.object_]) -> StoredCells:
    places: dict[StoredCell, int] = {}
    index = [places.setdefault(cell, len(places)) for cell in map(stored_cell, values)]
    return list(places), np.array(index, dtype=np.intp)


def _joined_cells(chunks: list[StoredCells]) -> StoredCells:
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


def _arrow_cells(array: Any) -> StoredCells:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        codes = array.indices.cast(pa.int64(), safe=False).fill_null(-1).to_numpy(zero_copy_only=False)
        return _coded_cells(_arrow_cells(array.dictionary), codes)
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid":
        raw = array.storage.to_pylist()
        return [Blank.MISSING if value is None else str(UUID(bytes=value)) for value in raw], np.arange(
            len(raw)
        )
    texts, raw_bytes = (
        any(getattr(pa.types, f"is_{name}", lambda _: False)(kind) for name in names)  # views are new
        for names in (("string", "large_string", "string_view"), ("binary", "large_binary", "binary_view"))
    )
    fixed = pa.types.is_fixed_size_binary(kind)
    missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    if fixed and kind.byte_width == _ADDRESS_BYTES:
        return _blank_cells(missing)
    if texts or raw_bytes or fixed:
        # As bytes: a column marked as text may hold bytes that are not UTF-8.
        encoded = array.cast(pa.large_binary()).dictionary_encode()
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        cells = [stored_cell(value) for value in encoded.dictionary.to_pylist()]
        cells = [decoded(cell) for cell in cells] if texts else cells
        return _without((cells, np.asarray(codes, dtype=np.intp)), missing)
    if pa.types.is_integer(kind):
        return _number_cells(array.fill_null(0).to_numpy(zero_copy_only=False), missing)
    numbers = _arrow_numbers(array)
    if numbers is not None:
        return _number_cells(numbers)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        counts = array.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(pa.int64())
        counts = counts.fill_null(NAT).to_numpy(zero_copy_only=False)
        unit = getattr(kind, "unit", "D" if pa.types.is_date32(kind) else "ms")
        return _instant_cells(counts.view(f"M8[{unit}]"), zoned=getattr(kind, "tz", None) is not None)
    if pa.types.is_decimal(kind):
        return [stored_cell(value) for value in array.to_pylist()], np.arange(len(array))
    return _blank_cells(missing)
