"""Coded model: what follows from a formula, a schema and a family, without data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding import submodel
from dpglm.data.coding.coding import Coding, Kind
from dpglm.data.coding.design import Design
from dpglm.data.coding.person_periods import rows_of_persons
from dpglm.data.coding.response import Response
from dpglm.data.coding.row_weights import RowWeights
from dpglm.data.formula.parse import parse
from dpglm.data.formula.periods import Periods
from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.data.tables.sources import open_source
from dpglm.errors import MethodError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties.base import TermColumns
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    from dpglm.data.coding.submodel import Merge, Submodel

# Codings of up to so many columns that were made last: a simulation asks for the same one again and again.
_MOST_KEPT: Final = 300
_made: list[tuple[tuple[object, ...], tuple[object, ...], Coding]] = []


def _coding_of(formula: str, schema: Schema, ordinal: bool, kind: Kind) -> Coding:
    """The coding of a formula, the same one for the very variables that it was made of."""
    variables = tuple(schema.variables.values())  # kept, so that no other object has their ids
    asked = (formula, ordinal, kind, *schema.variables, *map(id, variables))
    for known, _, coding in tuple(_made):
        if known == asked:
            return coding
    coding = Coding.of(parse(formula, schema, ordinal=ordinal), kind=kind)
    if coding.size <= _MOST_KEPT:
        _made[:] = [*_made[-1:], (asked, variables, coding)]
    return coding


@dataclass(frozen=True, eq=False)
class CodedModel:
    """What follows from a formula, a schema and a family: public, no data.

    The coding holds the formula, the family the bound that the schema declares for counts.

    Examples
    --------
    >>> from dpglm.glm.families import families
    >>> schema = Schema.of({"y": ["no", "yes"], "x": (0, 9)})
    >>> CodedModel.of("y ~ x", schema, families["binomial"]()).coding.names
    ('Intercept', 'x')
    """

    schema: Schema
    coding: Coding
    response: Response
    family: Family
    weights: RowWeights | None = None

    @classmethod
    def of(
        cls,
        formula: str,
        schema: Schema,
        family: Family,
        *,
        coding: Kind = "centred",
        weights: str | None = None,
    ) -> Self:
        """The model of tables with this schema, or a FormulaError or SchemaError from public facts alone."""
        counted = None if weights is None else RowWeights.of(weights, schema)
        kind = family.response_kind
        columns = _coding_of(formula, schema, kind == "ordered", coding)
        # Without an intercept nothing gives back the shift of a centred response.
        centred = not columns.penalised.all()
        if columns.model.periods is not None:
            persons = rows_of_persons(columns.model.periods, columns.model.response)
            family = family.of_periods(persons.share)
        response = Response.of(schema, columns.model.response, kind, centred=centred)
        return cls(schema, columns, response, family.with_bound(response.high), counted)

    @property
    def periods(self) -> Periods | None:
        """The periods of discrete-time survival, or stages of ordered levels; None for another response."""
        return self.coding.model.periods

    def standardised(self, moments: Mapping[str, tuple[float, float]], longer: float) -> CodedModel:
        """The same model in measured means and standard deviations; see `Coding.standardised`."""
        return replace(self, coding=self.coding.standardised(moments, longer))

    def design(self, data: object) -> Design:
        """The rows of a table as chunks; none is read yet, only the names of the columns."""
        periods = None if self.periods is None else rows_of_persons(self.periods, self.response.name)
        source = open_source(data)
        return Design(source, self.schema, self.coding, self.response, periods=periods, weights=self.weights)

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns of a row, but the response."""
        return self.coding.columns

    @property
    def term_columns(self) -> tuple[TermColumns, ...]:
        """The coded columns, with the prior scales that the schema declares."""
        return self.coding.term_columns

    def submodel(
        self, drop: Sequence[str], merge: Merge, moments: Mapping[str, tuple[float, float]], longer: float
    ) -> Submodel:
        """The model without terms and with levels merged, in the same means and deviations of numbers.

        A MethodError names a term or level that is not there.
        """
        schema = self.schema
        if self.periods is not None and self.periods.column in merge:
            raise MethodError(
                f"merge of {self.periods.column!r}, whose levels are periods or stages",
                expected="levels of other columns: somebody is at risk in each of two periods",
                remedy="Declare longer periods, or fewer levels, and fit the model anew.",
            )
        for column, groups in merge.items():
            schema = submodel.merged(schema, column, groups)
        stages = self.periods is not None and self.periods.stages
        family = families["ordinal"]() if stages else self.family
        part = CodedModel.of(submodel.without(self.coding.model, drop), schema, family)
        known = {name: pair for name, pair in moments.items() if name in part.coding.standardisable}
        part = part.standardised(known, longer) if known else part
        if drop and part.coding.size == self.coding.size:
            raise MethodError(
                "drop of the baseline hazards",
                expected="terms beside them: a model of survival has hazards that depend on the period",
                remedy="Leave other terms out, or fit it anew with another function of the period.",
            )
        rows = submodel.rows_of(self._with_periods_as_levels, self.columns, self.coding.size)
        matrix = submodel.between(self.coded(rows)[0], part.coded(rows)[0])
        return submodel.Submodel(part.coding, part.schema.to_dict(), matrix, tuple(known), part)

    @property
    def _with_periods_as_levels(self) -> Schema:
        if self.periods is None:
            return self.schema
        levels = Categorical(self.periods.values)
        return replace(self.schema, variables={**self.schema.variables, self.periods.column: levels})

    def coded(self, frame: object, stage: int | None = None) -> tuple[FloatMatrix, FloatVector]:
        """Coded rows, shape (k, p), NaN in rows that cannot be predicted; and offsets, shape (k,).

        At a ``stage``, by its place, where one is given: the column of the response is then not read.
        """
        rows, offsets = [np.empty((0, self.coding.size))], [np.empty(0)]
        for columns in self._columns(frame, stage):
            coded, offset = self.coding.coded(columns)
            rows.append(coded)
            offsets.append(np.zeros(len(coded)) if offset is None else offset)
        return np.concatenate(rows), np.concatenate(offsets)

    def beyond(self, frame: object, stage: int | None = None) -> dict[str, BoolVector]:
        """Which values of each column lie beyond its bounds and are read as the nearer one, shape (k,)."""
        own = self.schema.variables
        wide = {
            name: replace(it, low=-1e300, high=1e300) for name, it in own.items() if isinstance(it, Numeric)
        }
        unbounded = replace(self, schema=replace(self.schema, variables={**own, **wide}))
        found: dict[str, list[BoolVector]] = {}
        both = zip(self._columns(frame, stage), unbounded._columns(frame, stage), strict=True)
        for read, written in both:
            for name, values in read.items():
                found.setdefault(name, []).append((values != written[name]) & ~np.isnan(values))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def predictors(self, frame: object, coded: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Coded rows of a very wide design times coefficients, and offsets: see `coded`; shapes (k,)."""
        etas, offsets = [np.empty(0)], [np.empty(0)]
        for columns in self._columns(frame):
            rows, offset, _ = self.coding.encoded(columns, np.dtype(np.float64), np.nan)
            etas.append(coded @ rows)
            offsets.append(np.zeros(rows.shape[1]) if offset is None else offset)
        return np.concatenate(etas), np.concatenate(offsets)

    def _columns(self, frame: object, stage: int | None = None) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Cleaned columns of a table, some rows at a time."""
        source = open_source(frame)
        needed = self.coding.columns
        stages = self.periods if self.periods is not None and self.periods.stages else None
        if stages is not None and stage is not None:
            needed = tuple(name for name in needed if name != stages.column)
        require_columns(needed, source.column_names)
        numeric = self.schema.plain_numbers(needed)
        for chunk in source.chunks(needed or source.column_names[:1], numeric=numeric):
            # An intercept alone: a row needs no value, only to be there.
            columns = self.schema.clean(chunk, needed) or {"": np.empty(len(chunk))}
            if stages is not None:  # the highest level is none
                at = columns[stages.column] if stage is None else np.full(len(chunk), stage)
                columns = {**columns, stages.column: np.where(at < len(stages.values), at, -1)}
            yield columns
