"""Rows of persons and periods, or stages: what a row of a table with times and events, or levels, becomes.

Whether they bias hazards, and what they cost: the proof beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.periods import Periods
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.unit import Unit
from dpglm.data.schema.variables import Numeric
from dpglm.data.tables.source import CHUNK_ROWS
from dpglm.errors import PrivacyError
from dpglm.typing import SHARES, FloatVector, IntVector

Columns = Mapping[str, NDArray[Any]]
# Whether somebody is above a stage. No schema declares a column without a name.
ABOVE: Final = ""


@dataclass(frozen=True)
class PersonPeriods:
    """A row for each period in which a person was at risk, each with the same public share.

    Parameters
    ----------
    periods : Periods
    event : str
        Column of the event, of two levels.

    Examples
    --------
    >>> rows = PersonPeriods(Periods("week", (1, 2, 3), True), "left")
    >>> found = rows.expanded({"week": np.array([2.0, 4.0]), "left": np.array([1, 1]), "x": np.array([7, 8])})
    >>> for name, column in found.items():
    ...     print(name, column)
    week [1. 2. 1. 2. 3.]
    left [0 1 0 0 0]
    x [7 7 8 8 8]
    >>> rows.share * 3 <= 1.0
    True
    """

    periods: Periods
    event: str

    @property
    def share(self) -> float:
        """Of each row: a public number, whatever the time, so that those of a person add up to at most 1."""
        return (SHARES // len(self.periods.values)) / SHARES  # proof: share

    def reading(self, schema: Schema) -> Schema:
        """The schema that tells times beyond the last period, and before the first one, from those in it."""
        variable = schema.variables[self.periods.column]
        if not isinstance(variable, Numeric):
            return schema
        wider = replace(variable, low=variable.low - 1.0, high=variable.high + 1.0)
        return replace(schema, variables={**schema.variables, self.periods.column: wider})

    def pieces(self, columns: Columns) -> Iterator[tuple[dict[str, NDArray[Any]], FloatVector]]:
        """Rows and their shares, of so many persons at a time that these have at most `CHUNK_ROWS` of them.

        All rows of a frame at once would take a memory that grows with the times.
        """
        persons = CHUNK_ROWS // len(self.periods.values)
        for first in range(0, len(columns[self.periods.column]), persons):
            some = {name: column[first : first + persons] for name, column in columns.items()}
            rows = self.expanded(some)
            yield rows, self.shares(len(rows[self.event]))

    def expanded(self, columns: Columns) -> dict[str, NDArray[Any]]:
        """Columns of the rows of persons and periods, from cleaned columns of persons.

        The event happens in the period that holds its time; without one a person was at risk to the end of
        the last whole period. Who is beyond the last period has no event, who is before the first one, or has
        no time or event, no row.
        """
        time, event = columns[self.periods.column], columns[self.event]
        last, happened = self._ends(time, event == 1)
        at_risk = np.where(event >= 0, np.clip(last + 1, 0, len(self.periods.values)), 0)  # proof: rows
        person = np.repeat(np.arange(len(at_risk)), at_risk)
        first = np.repeat(np.cumsum(at_risk) - at_risk, at_risk)
        period = np.arange(len(person)) - first
        found = {name: column[person] for name, column in columns.items()}
        values = period + float(self.periods.values[0]) if self.periods.numeric else period
        found[self.periods.column] = values.astype(time.dtype)
        found[self.event] = (happened[person] & (period == last[person])).astype(event.dtype)  # proof: event
        return found

    def _ends(self, time: NDArray[Any], event: NDArray[np.bool_]) -> tuple[IntVector, NDArray[np.bool_]]:
        """Place of the last period at risk, -1 for none, and whether it had the event, shapes (k,)."""
        count = len(self.periods.values)
        if not self.periods.numeric:
            return time.astype(np.int64), event
        with np.errstate(invalid="ignore"):
            place = np.where(event, np.ceil(time), np.floor(time)) - float(self.periods.values[0])
        place = np.nan_to_num(place, nan=-1.0)
        return np.clip(place, -1, count - 1).astype(np.int64), event & (place <= count - 1)

    def shares(self, count: int) -> FloatVector:
        """Shares of so many rows."""
        return np.full(count, self.share)


@dataclass(frozen=True)
class PersonStages(PersonPeriods):
    """A row for each stage of an ordinal response that a person reached, each with the same public share.

    Levels are times at which everybody has the event, but who has the highest level: this person is above
    all stages. A row asks the opposite of an event, whether somebody is above its stage.

    Examples
    --------
    >>> rows = PersonStages(Periods("grade", ("low", "mid"), False, True))
    >>> for name, column in rows.expanded({"grade": np.array([0, 1, 2, -1]), "x": np.arange(4)}).items():
    ...     print(repr(name), column)
    'grade' [0 0 1 0 1]
    'x' [0 1 1 2 2]
    '' [0 1 0 1 1]
    """

    event: str = ABOVE

    def expanded(self, columns: Columns) -> dict[str, NDArray[Any]]:
        """Columns of the rows of persons and stages, from cleaned columns of persons; see `PersonPeriods`.

        Who has no level has no row.
        """
        stays = np.ones_like(columns[self.periods.column])
        found = super().expanded({**columns, self.event: stays})
        return {**found, self.event: 1 - found[self.event]}  # proof: above


def rows_of_persons(periods: Periods, response: str) -> PersonPeriods:
    """What each row of a table becomes."""
    return PersonStages(periods) if periods.stages else PersonPeriods(periods, response)


def require_one_row(unit: Unit | None) -> None:
    """Refuse a column of persons of whom several rows are read: their periods would count more than once."""
    if unit is not None and unit.shared:
        raise PrivacyError(
            "Surv(time, event), or an ordinal response, for persons who may have several rows",
            expected="one row of each person, with the last period, or the level, of this person",
            remedy=f"Write unit: {{column: {unit.column}, rows: 1}}; each person's first row is read.",
        )
