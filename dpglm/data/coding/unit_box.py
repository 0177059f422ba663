"""Unit-box coding: each column between 0 and 1 by public bounds, each level a column of 0 and 1.

What compares rows by distances reads it: a number's place in its range, and whether a row has a level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dpglm.data.coding.column_table import ColumnTable, may_be_missing
from dpglm.data.formula.model import LevelFactor, NumericFactor
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.data.tables.sources import open_source
from dpglm.errors import FormulaError, SchemaError
from dpglm.kept_rows import KeptRows
from dpglm.rows import ArrayChunk, LazyChunk, RowChunk
from dpglm.typing import BoolVector, FloatBlock, IntVector

# Half the width of a number's box where its mean and standard deviation are known, in standard deviations.
_REACH = 2.0


@dataclass(frozen=True, eq=False)
class UnitBox:
    """Declared columns as features between 0 and 1, and a response of two levels; public, no data.

    A number has one column: its place between its declared bounds or, where the schema's moments are known (a
    profile's), between two standard deviations on either side of its mean. A factor has a column for each
    level but the first of two, 1 at that level and 0 elsewhere. A row's coordinates depend on that row alone.

    Parameters
    ----------
    schema : Schema
    response : str
        Declared with two levels.
    features : tuple of str
        Other declared columns, in the user's order.

    Examples
    --------
    >>> schema = Schema.of({"ill": ["no", "yes"], "age": (20, 80), "job": ["a", "b", "c"]})
    >>> box = UnitBox.of("ill ~ .", schema)
    >>> box.features, box.size, box.owner.tolist()
    (('age', 'job'), 4, [0, 1, 1, 1])
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ill": ["yes", "no"], "age": [35, None], "job": ["a", "c"]})
    >>> next(box.table(frame).chunks()).X.T
    array([[0.25, 1.  , 0.  , 0.  ],
           [ nan, 0.  , 0.  , 1.  ]], dtype=float32)
    """

    schema: Schema
    response: str
    features: tuple[str, ...]

    @classmethod
    def of(cls, formula: str, schema: Schema) -> Self:
        """The features of a formula: declared columns joined by +, or ``.`` for all but the response.

        Raises
        ------
        FormulaError
            Interactions, functions of columns or no feature at all.
        SchemaError
            A column that is not declared, or a response without two levels.
        """
        response, features = _sides(formula, schema)
        variable = schema.variables[response]
        if not isinstance(variable, Categorical) or len(variable.levels) != 2:
            raise SchemaError(
                f"the response {response} declared without two levels",
                expected="two levels: features are ranked by how they tell one from the other",
                remedy=f"Write in the schema:\n  {response}: {{levels: [FAILURE, SUCCESS]}}",
            )
        return cls(schema, response, features)

    @cached_property
    def columns_of(self) -> tuple[int, ...]:
        """Number of columns of each feature."""
        return tuple(_width(self.schema.variables[name]) for name in self.features)

    @property
    def size(self) -> int:
        """Number of columns."""
        return sum(self.columns_of)

    @cached_property
    def owner(self) -> IntVector:
        """The place of each column's feature, shape (size,)."""
        return np.repeat(np.arange(len(self.features)), self.columns_of)

    @cached_property
    def may_be_missing(self) -> BoolVector:
        """Which columns may lack a value in a row that counts, shape (size,)."""
        return np.array([_may_lack(self.schema.variables[name]) for name in self.features])[self.owner]

    def table(self, data: object) -> BoxTable:
        """The rows of a table in the box; none is read yet, only the names of the columns."""
        numbers, factors = (
            tuple(name for name in self.features if isinstance(self.schema.variables[name], kind))
            for kind in (Numeric, Categorical)
        )
        columns = ColumnTable(open_source(data), self.schema, numbers, factors, self.response)
        return BoxTable(self, columns)


@dataclass(frozen=True, eq=False)
class BoxTable:
    """A private table in the unit box, unread. Only the curator may hold one.

    A row's response is 0 or 1, or -1 where it has none; a feature without a value is NaN.
    """

    box: UnitBox
    columns: ColumnTable

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent: the box, and none of the rows."""
        return {"box": self.box, "columns": self.columns}

    @property
    def size(self) -> int:
        """Number of columns of the box. Public."""
        return self.box.size

    def row_count(self) -> int:
        """Number of rows. **Private under add-remove**, public under replace-one."""
        return self.columns.row_count()

    def chunks(self) -> Iterator[RowChunk]:
        """All rows in order, as columns of the box, shape (size, k), each between 0 and 1 or NaN."""
        return self._kept.chunks()

    @cached_property
    def _kept(self) -> KeptRows:
        return KeptRows(self._coded)

    def _coded(self) -> Iterator[RowChunk]:
        for chunk in self.columns.chunks():
            yield LazyChunk.of(chunk, self._boxed)

    def _boxed(self, chunk: RowChunk) -> RowChunk:
        place = {name: at for at, name in enumerate((*self.columns.numbers, *self.columns.factors), start=1)}
        X = np.empty((self.size, chunk.count), dtype=np.float32)
        at = 0
        for name, width in zip(self.box.features, self.box.columns_of, strict=True):
            self._write(name, chunk.X[place[name]], X[at : at + width])
            at += width
        return ArrayChunk(X, chunk.X[0].astype(np.float64), None, chunk.share, chunk.share)

    def _write(self, name: str, values: FloatBlock, out: FloatBlock) -> None:
        """The columns of one feature, from numbers in [-1, 1] or NaN, or from codes of levels or -1."""
        variable = self.box.schema.variables[name]
        with np.errstate(all="ignore"):
            if isinstance(variable, Numeric):
                low, high = _ends(variable, known=self.box.schema.moments == "known")
                out[0] = np.clip((values.astype(np.float64) - low) / (high - low), 0.0, 1.0)
                return
            for level, column in enumerate(out, start=int(len(out) == 1)):
                column[:] = values == level
            out[:, np.flatnonzero(values < 0)] = np.nan


def _sides(formula: str, schema: Schema) -> tuple[str, tuple[str, ...]]:
    """Response and features."""
    left, tilde, right = formula.partition("~") if isinstance(formula, str) else ("", "", "")
    if tilde and right.strip() == ".":
        response = left.strip()
        schema.require([response])
        unit = schema.unit_column
        others = {response} if unit is None else {response, unit.column}
        features = tuple(name for name in schema.variables if name not in others)
    else:
        model = parse(formula, schema)
        response = model.response
        if model.periods is not None:
            raise _not_plain(model.formula)
        if model.offsets or any(term.order > 1 for term in model.terms):
            raise _not_plain(model.formula)
        features = tuple(
            model.factors[usage.factor].expression.columns[0]
            for term in model.terms
            for usage in (term.subterms[-1] if term.order else ())
            if _plain(model.factors[usage.factor])
        )
        if len(features) != sum(term.order for term in model.terms):
            raise _not_plain(model.formula)
    if not features:
        raise FormulaError(
            "a formula without features", expected="columns to rank", remedy="Write y ~ x1 + x2, or y ~ ."
        )
    return response, features


def _plain(factor: object) -> bool:
    return isinstance(factor, NumericFactor | LevelFactor) and factor.expression.op == "column"


def _not_plain(formula: str) -> FormulaError:
    return FormulaError(
        f"interactions, offsets, times or functions of columns in {formula!r}",
        expected="features that are declared columns, joined by +",
        remedy="Write y ~ x1 + x2, or y ~ . for all columns; make a column of a function of others first.",
    )


def _width(variable: Variable) -> int:
    if isinstance(variable, Numeric):
        return 1
    return 1 if len(variable.levels) == 2 else len(variable.levels)


def _may_lack(variable: Variable) -> bool:
    return may_be_missing(variable) or (isinstance(variable, Categorical) and variable.other == "omit")


def _ends(variable: Numeric, *, known: bool) -> tuple[float, float]:
    """Of a number's box, where its declared bounds are -1 and 1."""
    if not known or variable.mean is None or variable.sd is None:
        return -1.0, 1.0
    middle, half = 0.5 * variable.low + 0.5 * variable.high, 0.5 * variable.high - 0.5 * variable.low
    mean, reach = (variable.mean - middle) / half, _REACH * variable.sd / half
    return max(mean - reach, -1.0), min(mean + reach, 1.0)
