"""Weights of rows: a declared number of each row, as a share of its upper bound.

Why no further noise is needed: the proof beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Numeric
from dpglm.errors import SchemaError, shown
from dpglm.typing import SHARES, BoolVector, FloatVector


@dataclass(frozen=True)
class RowWeights:
    """The column of weights and its declared upper bound, which is a share of 1.

    Parameters
    ----------
    column : str
    high : float
        A weight of this size counts in full; none counts for more.

    Examples
    --------
    >>> shares, counts = RowWeights("w", 8.0).shares(np.array([8.0, 2.0, 0.0, np.nan]))
    >>> shares[:2], counts
    (array([1.  , 0.25]), array([ True,  True, False, False]))
    """

    column: str
    high: float

    @classmethod
    def of(cls, column: object, schema: Schema) -> Self:
        """The weights that a schema declares, or a SchemaError from public facts alone."""
        if not isinstance(column, str) or not column:
            raise SchemaError(
                f"weights of type {type(column).__name__}",
                expected="the name of a column of the table that the schema declares",
                remedy="Write weights='w', and declare w: (0, LARGEST) in the schema.",
            )
        variable = schema.variables.get(column)
        if not isinstance(variable, Numeric) or variable.low < 0.0 or variable.date is not None:
            raise SchemaError(
                f"weights={shown(column)}, which is no declared number of bounds >= 0",
                expected="a column with bounds (LOW, HIGH), LOW >= 0; a weight above HIGH counts as HIGH",
                remedy=f"Declare {column}: (0, LARGEST), from the survey's documentation.",
            )
        return cls(column, variable.high)

    def shares(
        self, weights: FloatVector, of_persons: FloatVector | None = None
    ) -> tuple[FloatVector, BoolVector]:
        """The share of each row, and which rows count at all, from cleaned weights, shapes (k,).

        Shares are whole multiples of one part in `SHARES` and at most 1, or at most that of the row
        ``of_persons``. A row without a weight, or of less than half a part, has the least share and does not
        count.
        """
        with np.errstate(all="ignore"):
            parts = np.floor(np.clip(weights / self.high, 0.0, 1.0) * SHARES + 0.5)  # proof: cap
        parts = np.nan_to_num(parts, nan=0.0)
        if of_persons is not None:
            parts = np.floor(of_persons * parts)  # proof: persons
        counts: BoolVector = parts >= 1.0
        return np.maximum(parts, 1.0) / SHARES, counts  # proof: least
