"""Rows: whole columns in, bounded coded rows out, each row by itself and without patsy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.geometry import Group, Part
from dpglm.data.formula.model import LevelFactor, Model
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector

_BLOCK = 8192  # rows worked on at a time, so that what is in use stays in cache

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """Writes the coded rows of cleaned columns.

    Parameters
    ----------
    model : Model
        The formula, read against the schema.
    coding : Coding
        Its public coding.

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
        """Coded rows in float32, variable by variable.

        Parameters
        ----------
        columns : mapping of str to ndarray, shape (k,)
            What ``schema.clean`` gives: float64 with NaN, or codes with -1, where a row cannot be used.
            A formula that reads no column at all needs ``columns`` to hold one of any name.

        Returns
        -------
        rows : ndarray of float32, shape (p, k)
            Column i is row i of the data: its norm is at most 1, and it is zero where ``usable`` is False.
        offset : ndarray of float64, shape (k,), or None
            Sum of the offsets, None where the formula has none.
        usable : ndarray of bool, shape (k,)
            Whether all values that the formula needs are there.

        Notes
        -----
        Row i of the result depends on row i of ``columns`` only. Nothing is raised or warned for any data.
        """
        rows, offset, usable = self._rows(columns, np.dtype(np.float32), 0.0)
        return rows, offset, usable

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
            for start in range(0, count, _BLOCK):
                part = slice(start, min(start + _BLOCK, count))
                block = {name: column[part] for name, column in needed.items()}
                read = [factor.read(block) for factor in self.model.factors]
                self._mark(block, usable[part])
                for operation in self._operations(dtype):
                    operation.write(read, rows[:, part])
                if self.coding.clips:
                    self._clip(rows[:, part])
                if offset is not None:
                    for expression in self.model.offsets:
                        offset[part] += expression.evaluate(block)
        if not usable.all():
            lost = np.flatnonzero(~usable)
            rows[:, lost] = blank
            if offset is not None:
                offset[lost] = blank
        return rows, offset, usable

    @staticmethod
    def _mark(block: Columns, usable: BoolVector) -> None:
        """Strike out rows that lack a value."""
        numbers = np.zeros(len(usable))  # NaN where any number is: cheaper than asking each column
        for column in block.values():
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

    def _operations(self, dtype: np.dtype[Any]) -> tuple[_Operation, ...]:
        return self._single if dtype == np.float32 else self._double

    @cached_property
    def _single(self) -> tuple[_Operation, ...]:
        return self._compiled(np.dtype(np.float32))

    @cached_property
    def _double(self) -> tuple[_Operation, ...]:
        return self._compiled(np.dtype(np.float64))

    def _compiled(self, dtype: np.dtype[Any]) -> tuple[_Operation, ...]:
        return tuple(_Operation.of(self.model, group, dtype) for group in self.coding.groups)


@dataclass(frozen=True, eq=False)
class _Factor:
    """One factor of a product in one precision: its table transposed and scaled."""

    part: Part
    scale: float
    table: NDArray[Any] | None
    of_codes: bool
    dtype: np.dtype[Any]

    def values(self, read: list[NDArray[Any]], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Its rows, shape (m, k), in ``out`` where that is given."""
        source = read[self.part.factor]
        if out is None:
            out = np.empty((self.part.size, source.shape[-1]), dtype=self.dtype)
        if self.table is None:
            # The difference in float64: a float32 value far from 0 has lost what the shift leaves.
            np.multiply(source - self.part.shift, self.scale, out=out[0], casting="same_kind")
        elif self.of_codes:
            for row, levels in enumerate(self.table):
                np.take(levels, source, out=out[row], mode="clip")
        else:
            out[...] = _combined(self.table, source)
        return out


@dataclass(frozen=True, eq=False)
class _Operation:
    """Writes one group of coded columns: products with their factors, scale and mixing."""

    start: int
    stop: int
    products: tuple[tuple[tuple[_Factor, ...], float, NDArray[Any] | None], ...]

    @classmethod
    def of(cls, model: Model, group: Group, dtype: np.dtype[Any]) -> _Operation:
        """Tables of a group; where products are added up that is done in float64 and rounded once."""
        if len(group.products) > 1 or group.products[0].mixing is not None:
            dtype = np.dtype(np.float64)
        found = []
        for product in group.products:
            factors = []
            for place, part in enumerate(product.parts):
                scale = product.scale if place == 0 else 1.0
                table = (
                    None if part.table is None else np.ascontiguousarray(part.table.T * scale, dtype=dtype)
                )
                of_codes = isinstance(model.factors[part.factor], LevelFactor)
                factors.append(_Factor(part, part.scale * scale, table, of_codes, dtype))
            mixing = None if product.mixing is None else np.ascontiguousarray(product.mixing.T)
            found.append((tuple(factors), product.scale, mixing))
        return cls(group.start, group.stop, tuple(found))

    def write(self, read: list[NDArray[Any]], rows: NDArray[Any]) -> None:
        """Fill ``rows[start:stop]`` from what the factors read, shapes (k,) or (m, k)."""
        out = rows[self.start : self.stop]
        factors, _, mixing = self.products[0]
        if len(self.products) == 1 and len(factors) == 1 and mixing is None:
            factors[0].values(read, out)
            return
        values = self._product(0, read, out.shape[1])
        for place in range(1, len(self.products)):
            values += self._product(place, read, out.shape[1])
        out[...] = values

    def _product(self, place: int, read: list[NDArray[Any]], count: int) -> NDArray[Any]:
        factors, scale, mixing = self.products[place]
        values = factors[0].values(read) if factors else np.full((1, count), scale)
        for factor in factors[1:]:
            values = (factor.values(read)[:, None, :] * values[None, :, :]).reshape(-1, count)
        return values if mixing is None else _combined(mixing, values)


def _combined(weights: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """``weights @ values``, shape (m, k), with each column rounded the same wherever it stands.

    A matrix product of BLAS rounds a column by its place in the block, so that removing one row of data would
    change others in their last digits.
    """
    out = np.zeros((len(weights), values.shape[1]))
    for column, row in zip(weights.T, values, strict=True):
        used = np.flatnonzero(column)
        if 2 * len(used) > len(column):
            out += column[:, None] * row
        else:
            for place in used:
                out[place] += column[place] * row
    return out
