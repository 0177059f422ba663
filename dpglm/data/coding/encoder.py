"""Rows: whole columns in, bounded coded rows out, each row by itself and without patsy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.geometry import Group, Part, Product
from dpglm.data.formula.model import Model
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector

_CHUNK_ROWS = 8192  # rows worked on at a time, so that what is in use stays in cache

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """Writes the coded rows of cleaned columns: a model, and its public coding.

    Examples
    --------
    >>> from dpglm.data.coding.coding import Coding
    >>> from dpglm.data.formula.parse import parse
    >>> from dpglm.data.schema.schema import Schema
    >>> model = parse("y ~ age", Schema.of({"y": ["no", "yes"], "age": (20, 80)}))
    >>> encoder = RowEncoder(model, Coding.of(model))
    >>> rows, offset, usable = encoder.encode({"age": np.array([20.0, 50.0, np.nan])})
    >>> rows.round(3), usable
    (array([[ 0.577,  0.577,  0.   ],
           [-0.816,  0.   ,  0.   ]], dtype=float32), array([ True,  True, False]))
    """

    model: Model
    coding: Coding

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that `encode` reads: all but the response."""
        return self.model.columns

    @property
    def size(self) -> int:
        """Number of coded columns p."""
        return self.coding.size

    def encode(self, columns: Columns) -> tuple[FloatBlock, FloatVector | None, BoolVector]:
        """Coded rows in float32 (p, k), sum of the offsets (k,) or None, and the mask of usable rows (k,).

        ``columns`` is what ``schema.clean`` gives: float64 with NaN, or codes with -1, where a row cannot be
        used. A formula that reads no column at all needs ``columns`` to hold one of any name. A coded row has
        norm at most 1 and is zero where it cannot be used. It depends on the same row of ``columns`` only.
        Nothing is raised or warned for any data.
        """
        return self._rows(columns, np.dtype(np.float32), 0.0)

    def coded(self, columns: Columns) -> tuple[FloatMatrix, FloatVector | None]:
        """Coded rows in float64, row by row, shape (k, p), for prediction; NaN where a row cannot be used."""
        rows, offset, _ = self._rows(columns, np.dtype(np.float64), np.nan)
        return np.ascontiguousarray(rows.T), offset

    def coded_chunks(self, chunks: Iterable[Columns]) -> tuple[FloatMatrix, FloatVector]:
        """`coded` for a table in chunks, shapes (n, p) and (n,); the offset is 0 where there is none."""
        rows, offsets = [np.empty((0, self.size))], [np.empty(0)]
        for chunk in chunks:
            coded, offset = self.coded(chunk)
            rows.append(coded)
            offsets.append(np.zeros(len(coded)) if offset is None else offset)
        return np.concatenate(rows), np.concatenate(offsets)

    def _rows(
        self, columns: Columns, dtype: np.dtype[Any], blank: float
    ) -> tuple[NDArray[Any], FloatVector | None, BoolVector]:
        needed = {name: np.ascontiguousarray(columns[name]) for name in self.columns}
        count = len(next(iter(needed.values() if needed else columns.values()), ()))
        rows = np.empty((self.size, count), dtype=dtype)
        offset = np.zeros(count) if self.model.offsets else None
        usable = np.ones(count, dtype=bool)
        with np.errstate(all="ignore"):
            for start in range(0, count, _CHUNK_ROWS):
                part = slice(start, min(start + _CHUNK_ROWS, count))
                chunk = {name: column[part] for name, column in needed.items()}
                read = [factor.read(chunk) for factor in self.model.factors]
                self._mark(chunk, usable[part])
                for writer in self._writers[dtype]:
                    writer.write(read, rows[:, part])
                if self.coding.clips:
                    self._clip(rows[:, part])
                if offset is not None:
                    for expression in self.model.offsets:
                        offset[part] += expression.evaluate(chunk)
        if not usable.all():
            lost = np.flatnonzero(~usable)
            rows[:, lost] = blank
            if offset is not None:
                offset[lost] = blank
        return rows, offset, usable

    @staticmethod
    def _mark(chunk: Columns, usable: BoolVector) -> None:
        """Strike out rows that lack a value."""
        numbers = np.zeros(len(usable))  # NaN where any number is: cheaper than asking each column
        for column in chunk.values():
            if column.dtype.kind in "iu":
                usable &= column >= 0
            else:
                numbers += column
        usable &= ~np.isnan(numbers)

    @staticmethod
    def _clip(rows: NDArray[Any]) -> None:
        norms = np.sqrt(_combined(np.ones((1, len(rows))), rows.astype(np.float64) ** 2)[0])
        # More than rounding to float32 and less than SLACK: a row at the bound itself is left alone.
        rows /= np.maximum(norms * (1.0 + 2.0**-20), 1.0).astype(rows.dtype)

    @cached_property
    def _writers(self) -> dict[np.dtype[Any], tuple[_GroupWriter, ...]]:
        return {
            dtype: tuple(_GroupWriter.of(group, dtype) for group in self.coding.groups)
            for dtype in map(np.dtype, (np.float32, np.float64))
        }


@dataclass(frozen=True, eq=False)
class _GroupWriter:
    """Writes one group of coded columns, the sum of its products, in one precision.

    The scale of a product is in its first part; tables and mixing are transposed.
    """

    columns: slice
    products: tuple[Product, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, group: Group, dtype: np.dtype[Any]) -> _GroupWriter:
        # Where products are added up that is done in float64 and rounded once.
        if len(group.products) > 1 or group.products[0].mixing is not None:
            dtype = np.dtype(np.float64)
        products = []
        for product in group.products:
            parts, scale = [], product.scale
            for part in product.parts:
                table = None if part.table is None else np.ascontiguousarray(part.table.T * scale, dtype)
                parts.append(Part(part.factor, part.shift, part.scale * scale, table))
                scale = 1.0
            mixing = None if product.mixing is None else np.ascontiguousarray(product.mixing.T)
            products.append(Product(tuple(parts), product.scale, mixing))
        return cls(slice(group.start, group.stop), tuple(products), dtype)

    def write(self, read: list[NDArray[Any]], rows: NDArray[Any]) -> None:
        """Fill its columns from what the factors read, shapes (k,) or (m, k)."""
        out = rows[self.columns]
        first = self.products[0]
        if len(self.products) == 1 and len(first.parts) == 1 and first.mixing is None:
            self._part(first.parts[0], read, out)
            return
        values = self._product(first, read, out.shape[1])
        for product in self.products[1:]:
            values += self._product(product, read, out.shape[1])
        out[...] = values

    def _product(self, product: Product, read: list[NDArray[Any]], count: int) -> NDArray[Any]:
        """Rows of a product, shape (m, k)."""
        if not product.parts:
            values: NDArray[Any] = np.full((1, count), product.scale)
        else:
            values = self._part(product.parts[0], read)
        for part in product.parts[1:]:
            values = (self._part(part, read)[:, None, :] * values[None, :, :]).reshape(-1, count)
        return values if product.mixing is None else _combined(product.mixing, values)

    def _part(self, part: Part, read: list[NDArray[Any]], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Rows of a part, shape (m, k), in ``out`` where that is given."""
        source = read[part.factor]
        if out is None:
            size = 1 if part.table is None else len(part.table)
            out = np.empty((size, source.shape[-1]), dtype=self.dtype)
        if part.table is None:
            # The difference in float64: a float32 value far from 0 has lost what the shift leaves.
            np.multiply(source - part.shift, part.scale, out=out[0], casting="same_kind")
        elif source.dtype.kind == "i":  # codes of levels
            for row, levels in enumerate(part.table):
                np.take(levels, source, out=out[row], mode="clip")
        else:
            out[...] = _combined(part.table, source)
        return out


def _combined(weights: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """``weights @ values``, shape (m, k), with each column rounded the same wherever it stands.

    A matrix product of BLAS rounds a column by its position in the chunk, so that removing one row of data
    would change others in their last digits.
    """
    out = np.zeros((len(weights), values.shape[1]))
    for column, row in zip(weights.T, values, strict=True):
        used = np.flatnonzero(column)
        if 2 * len(used) > len(column):
            out += column[:, None] * row
        else:
            for index in used:
                out[index] += column[index] * row
    return out
