"""Writers of coded columns: each row by itself, rounded the same wherever it stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding.geometry import Group, Part, Product
from dpglm.factor_rows import SimplexColumns
from dpglm.row_loops import affine


@dataclass(frozen=True, eq=False)
class GroupWriter:
    """Writes one group of coded columns, the sum of its products, in one precision.

    The scale of a product is in its first part; tables and mixing are transposed.
    """

    columns: slice
    products: tuple[Product, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, group: Group, dtype: np.dtype[Any]) -> GroupWriter:
        # Where products are added up that is done in float64 and rounded once.
        if len(group.products) > 1 or group.products[0].mixing is not None:
            dtype = np.dtype(np.float64)
        products = []
        for product in group.products:
            parts, scale = [], product.scale
            for part in product.parts:
                table = part.table
                if isinstance(table, SimplexColumns):
                    table = table.scaled(scale, dtype)
                elif table is not None:
                    table = np.ascontiguousarray(table.T * scale, dtype)
                parts.append(Part(part.factor, part.shift, part.scale * scale, table))
                scale = 1.0
            mixing = None if product.mixing is None else np.ascontiguousarray(product.mixing.T)
            products.append(Product(tuple(parts), product.scale, mixing))
        return cls(slice(group.start, group.stop), tuple(products), dtype)

    def write(self, read: list[NDArray[Any]], rows: NDArray[Any]) -> None:
        """Fill its columns from what the factors read, shapes (k,) or (m, k)."""
        if self._number is not None:
            part = self._number
            affine(read[part.factor], part.shift, part.scale, rows[self.columns.start])
            return
        values = [self._product(product, read, rows.shape[1]) for product in self.products]
        rows[self.columns] = sum(values[1:], values[0])

    @cached_property
    def _number(self) -> Part | None:
        """The number that it writes, if it writes nothing else."""
        only = self.products[0]
        plain = len(self.products) == len(only.parts) == 1 and only.mixing is None
        return only.parts[0] if plain and only.parts[0].table is None else None

    def _product(self, product: Product, read: list[NDArray[Any]], count: int) -> NDArray[Any]:
        """Rows of a product, shape (m, k)."""
        values = self._part(product.parts[0], read) if product.parts else np.full((1, count), product.scale)
        for part in product.parts[1:]:
            values = (self._part(part, read)[:, None, :] * values[None, :, :]).reshape(-1, count)
        return values if product.mixing is None else combined(product.mixing, values)

    def _part(self, part: Part, read: list[NDArray[Any]]) -> NDArray[Any]:
        """Rows of a part, shape (m, k)."""
        source = read[part.factor]
        if part.table is None:
            # The difference in float64: a float32 value far from 0 has lost what the shift leaves.
            values = ((source - part.shift) * part.scale)[None]
        elif isinstance(part.table, SimplexColumns):
            values = part.table.at(source)
        elif source.dtype.kind == "i":  # codes of levels
            values = np.take(part.table, source, axis=1, mode="clip")
        else:
            values = combined(part.table, source)
        return values.astype(self.dtype, copy=False)


def combined(weights: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
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


def clip(rows: NDArray[Any]) -> None:
    """Shorten rows, shape (p, k), to norm 1 where they are longer, in place."""
    norms = np.sqrt(combined(np.ones((1, len(rows))), rows.astype(np.float64) ** 2)[0])
    # More than rounding to float32 and less than SLACK: a row at the bound itself is left alone.
    rows /= np.maximum(norms * (1.0 + 2.0**-20), 1.0).astype(rows.dtype)
