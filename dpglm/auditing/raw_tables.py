"""Neighbouring tables of raw cells, made from what is declared; no private table is touched.

They are cleaned and coded as tables of a fit are, so that an audit sees what a row does on all of its way.
Cells hold what readers go wrong with, too: numbers beyond the bounds, a number in a text, codes for missing
values, and many rows of one person.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.coding.coding import Coding
from dpglm.data.schema.dates import UNITS, DateReading
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.data.tables.instants import SECOND
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk, rows_at
from dpglm.typing import FloatBlock, FloatMatrix

# Rows that hold a fit where the row that differs has its largest slope.
REST = 200
# Rows of the person that differs, where a column tells whose a row is.
OF_A_PERSON = 20
# Rows at ends of declared ranges that are looked at; drawn where there are more.
_CORNERS = 512
_SEED = 20_240_229
# Two rows less opposite than this (a cosine) can both have slopes near 1.
_OPPOSITE = -0.75

# Share of a declared range by which a date may miss the number that it stands for.
_EXACT = 1e-9

# A row by its place among the corners, and its response in units of the coded one.
Row: TypeAlias = tuple[int, float]


@dataclass(frozen=True)
class Corners:
    """Rows at ends and middles of declared ranges and at levels: cleaned values, and coded in columns."""

    values: dict[str, NDArray[Any]]
    X: FloatBlock

    @classmethod
    def of(cls, schema: Schema, coding: Coding) -> Corners:
        """All of them, or some where they are too many; those that the formula can use."""
        ends: dict[str, NDArray[Any]] = {}
        for name in coding.columns:
            variable = schema.variables[name]
            periods = coding.model.periods
            if periods is not None and periods.stages and name == periods.column:  # the last level is none
                ends[name] = np.arange(len(periods.values))
            elif isinstance(variable, Categorical):
                ends[name] = np.arange(len(variable.levels))
            else:
                middle = 0.5 * variable.low + 0.5 * variable.high
                ends[name] = np.array([variable.low, variable.high, middle])
        generator = np.random.default_rng(_SEED)
        if math.prod(len(column) for column in ends.values()) <= _CORNERS:
            listed = list(itertools.product(*ends.values()))
            columns = zip(ends, zip(*listed, strict=True), strict=True)
            values = {name: np.array(column) for name, column in columns}
        else:
            values = {name: generator.choice(column, _CORNERS) for name, column in ends.items()}
        X, _, usable = coding.encode(values or {"": np.zeros(1)})
        places = np.flatnonzero(usable)
        values = {name: column[places] for name, column in values.items()}
        return cls(values, np.ascontiguousarray(X[:, places]))

    @property
    def longest(self) -> int:
        """The place of the longest row."""
        return int(np.argmax(np.square(self.X, dtype=np.float64).sum(axis=0)))

    @property
    def widest(self) -> int:
        """The row whose product x x' is farthest from that of the longest one."""
        wide = self.X.astype(np.float64)
        own = np.square(wide).sum(axis=0)
        return int(np.argmax(own**2 - 2.0 * (wide.T @ wide[:, self.longest]) ** 2))

    @property
    def most_unlike(self) -> tuple[int, int]:
        """A row and the sign of its response: far from the longest in score, both with slopes near 1."""
        wide, longest = self.X.astype(np.float64), self.longest
        products = wide.T @ wide[:, longest]
        square = float(products[longest])
        own = np.square(wide).sum(axis=0)
        best = (longest, 1, -math.inf)
        for sign in (1, -1):
            apart = square + own - 2.0 * sign * products
            allowed = sign * products > _OPPOSITE * math.sqrt(square) * np.sqrt(own) - 1e-9
            index = int(np.argmax(np.where(allowed, apart, -math.inf)))
            if allowed[index] and apart[index] > best[2]:
                best = (index, sign, float(apart[index]))
        return best[0], best[1]


def declared_axes(schema: Schema, coding: Coding) -> FloatMatrix:
    """The longest declared row and, in models of more than one column, one at a wide angle; shape (p, k)."""
    corners = Corners.of(schema, coding)
    places = [corners.longest]
    if len(corners.X) > 1:
        places.append(corners.widest)
    return np.ascontiguousarray(corners.X[:, places].astype(np.float64))


def declared_neighbours(model: CodedModel, relation: Relation) -> list[Neighbours]:
    """Pairs of raw tables that the schema allows.

    The longest declared row against none or against the opposite response, alone and beside a rest that
    holds the fit where its slope is largest; under replace-one also against the row that is most unlike it.
    Beside rows without numbers the row that differs is written as text. Where a column tells whose a row is,
    a person of `OF_A_PERSON` rows differs, too.
    """
    corners = Corners.of(model.schema, model.coding)
    low, high = model.family.worst_case_responses
    # Without an event, but not of a level, a person has a row in every period.
    if model.periods is not None and not model.periods.stages:
        low, high = high, low
    longest, (unlike, sign) = corners.longest, corners.most_unlike
    row, flipped = (longest, high), (longest, low)
    answer, against = (high, low) if sign > 0 else (low, high)
    other: list[Row] = [] if relation == "add-remove" else [(unlike, answer)]
    pairs: list[tuple[str, list[Row], list[Row], Sequence[Row]]]
    if relation == "add-remove":
        pairs = [
            ("longest declared row or none, empty rest", [row], [], ()),
            ("longest declared row or none, small rest", [row], [], (flipped,)),
        ]
    else:
        rest = (flipped, (unlike, against))
        pairs = [
            ("longest declared row, two responses, empty rest", [row], [flipped], ()),
            ("longest declared row or one at a wide angle, empty rest", [row], [(corners.widest, high)], ()),
            ("longest declared row or the one most unlike it, empty rest", [row], other, ()),
            ("longest declared row or the one most unlike it, small rest", [row], other, rest),
        ]
    tables = _Tables(model, corners)
    found = [Neighbours(label, tables.of(a, rest), tables.of(b, rest)) for label, a, b, rest in pairs]
    words = "none" if relation == "add-remove" else "the one most unlike it"
    found.append(
        Neighbours(
            f"longest declared row, as text, or {words}, beside missing values",
            tables.of([row], (flipped,), text=True, blank=True),
            tables.of(other, (flipped,), blank=True),
        )
    )
    if model.schema.unit_column is not None:
        found.append(
            Neighbours(
                f"a person of {OF_A_PERSON} longest declared rows or {words}, empty rest",
                tables.of([row] * OF_A_PERSON),
                tables.of(other * OF_A_PERSON),
            )
        )
    return found


@dataclass(frozen=True)
class _Tables:
    """Raw tables of declared rows, read as a fit reads its own."""

    model: CodedModel
    corners: Corners

    def of(
        self, rows: Sequence[Row], rest: Sequence[Row] = (), *, text: bool = False, blank: bool = False
    ) -> Table:
        """The rows of one person, numbers as ``text``, and about `REST` of others, numbers ``blank``."""
        import pandas as pd

        others = [row for row in rest for _ in range(REST // len(rest))]
        cells = [self._cells(row, text=text) for row in rows]
        cells += [self._cells(row, blank=blank) for row in others]
        columns = {name: [each[name] for each in cells] for name in self._names}
        weights = self.model.weights
        if weights is not None and weights.column not in columns:  # far above the bound: a row in full
            columns[weights.column] = [3.0 * weights.high] * len(cells)
        unit = self.model.schema.unit_column
        if unit is not None:
            columns[unit.column] = ["the person"] * len(rows) + [f"person {k}" for k in range(len(others))]
        chunks = [rows_at(chunk, slice(None)) for chunk in self.model.design(pd.DataFrame(columns)).chunks()]
        if not chunks:
            none = ArrayChunk(np.zeros((len(self.corners.X), 0), dtype=np.float32), np.zeros(0), np.zeros(0))
            return Table(none)
        return Table(*chunks)

    @property
    def _names(self) -> tuple[str, ...]:
        time = () if self.model.periods is None else (self.model.periods.column,)
        return tuple(dict.fromkeys((*self.corners.values, self.model.response.name, *time)))

    def _cells(self, row: Row, *, text: bool = False, blank: bool = False) -> dict[str, Any]:
        """The raw cells of one row; a ``blank`` one lacks its numbers, or its response in a model of none."""
        place, answer = row
        variables, response = self.model.schema.variables, self.model.response
        values = {name: column[place] for name, column in self.corners.values.items()}
        values[response.name] = response.shift + response.unit * answer
        periods = self.model.periods
        if periods is not None:  # without an event to the end of the last period
            values[periods.column] = periods.values[-1] if periods.numeric else len(periods.values) - 1
        numbers = [name for name in self.corners.values if not isinstance(variables[name], Categorical)]
        cells = {name: _cell(variables[name], values[name], text=text) for name in self._names}
        if periods is not None and periods.stages:
            level = variables[periods.column].labels[-1 if answer else 0]  # type: ignore[union-attr]
            cells[periods.column] = level  # above all stages, or above none
        elif periods is not None and answer:  # an event in the first one
            cells[periods.column] = str(periods.values[0]) if text else periods.values[0]
        for name in (numbers or [response.name]) if blank else []:
            codes = variables[name].missing_codes
            cells[name] = codes[0] if codes else None
        return cells


def _cell(variable: Variable, value: Any, *, text: bool) -> Any:
    """A cell that is cleaned to this value: a level, or a number that lies beyond its bound."""
    if isinstance(variable, Categorical):
        return variable.labels[int(value)]
    number = float(value)
    beyond = {variable.low: number - 1.0, variable.high: number + 1.0}.get(number, number)
    spelled = [repr(beyond), repr(number)] if text else []
    for cell in (*spelled, *_dates(variable, beyond, text=text), beyond):
        if abs(variable.clean([cell])[0] - number) <= _EXACT * (variable.high - variable.low):
            return cell
    return number


def _dates(variable: Numeric, number: float, *, text: bool) -> list[Any]:
    """The date that a number of units stands for, where the column holds dates and the calendar has it."""
    if not isinstance(variable.date, DateReading):
        return []
    seconds = number * (UNITS[variable.date.unit] / SECOND)
    try:
        moment = dt.datetime.fromisoformat(variable.date.origin) + dt.timedelta(seconds=seconds)
    except OverflowError:
        return []
    return [moment.isoformat(" "), moment] if text else [moment]
