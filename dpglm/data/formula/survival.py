"""The response of a formula: a column, or Surv(time, event), which needs baseline hazards right of ~."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from dpglm.data.formula.expressions import Expression, Span
from dpglm.data.formula.model import Factor
from dpglm.data.formula.periods import FARTHEST, MOST_PERIODS, Periods, values_of
from dpglm.data.formula.reader import Reader
from dpglm.data.schema.variables import Numeric
from dpglm.errors import FormulaError


def response_of(reader: Reader, left: Span) -> tuple[str, Periods | None]:
    """The response, which is the event of Surv(time, event), and its periods; None of another response.

    Raises
    ------
    FormulaError
        A time without declared whole bounds or levels, or too many periods.
    """
    node = reader.tree(left)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Surv"):
        return reader.response(left), None
    parts = reader.arguments(node, "Surv", ("time", "event"))
    columns: dict[str, str] = {}
    for name, part in parts.items():
        column = reader.column(part)
        if column is None:
            raise _time_error(reader, part, "Surv() takes two columns, not expressions.")
        columns[name] = column
    time, event = columns["time"], columns["event"]
    if time == event:
        raise _time_error(reader, node, "Time and event are the same column.")
    variable = reader.variables[time]
    numeric = isinstance(variable, Numeric)
    if isinstance(variable, Numeric):
        count = variable.high - variable.low + 1.0
        whole = all(end.is_integer() and abs(end) < FARTHEST for end in (variable.low, variable.high))
        if variable.date is not None or not whole:
            raise _time_error(
                reader, parts["time"], f"The bounds of {time!r} are not those of whole periods."
            )
    else:
        count = float(len(variable.levels))
    if not count <= MOST_PERIODS:
        raise _time_error(reader, parts["time"], f"{time!r} has more than {MOST_PERIODS} periods.")
    return event, Periods(time, values_of(variable), numeric)


def with_baseline(reader: Reader, left: Span) -> str:
    """The formula with a hazard of its own for each period."""
    call, cut = reader.tree(left), reader.formula.index("~", left[1]) + 1
    assert isinstance(call, ast.Call)
    time = reader.of(reader.arguments(call, "Surv", ("time", "event"))["time"])
    return f"{reader.formula[:cut]} C({time}) + {reader.formula[cut:].strip()}"


def _time_error(reader: Reader, where: ast.expr, problem: str) -> FormulaError:
    return reader.error(
        where,
        problem,
        expected=f"Surv(time, event): the last of at most {MOST_PERIODS} periods, and whether it ended there",
        remedy="Declare whole periods, time: (1, 6), or levels in their order, time: ['year 1', 'year 2'], "
        "and an event of two levels, event: ['no', 'yes']; make longer periods of many short ones.",
    )


def has_baseline(terms: list[Any], readings: Mapping[str, Factor | Expression], periods: Periods) -> bool:
    """Whether some term is a function of the period alone."""
    for term in terms:
        factors = [readings[factor.code] for factor in term.factors]
        columns = {name for each in factors if isinstance(each, Factor) for name in each.expression.columns}
        if columns == {periods.column}:
            return True
    return False
