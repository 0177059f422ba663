"""Interval arithmetic: declared bounds of columns become bounds of what a formula makes of them.

The bounds hold for the numbers that are computed, not only for the real ones: addition, subtraction,
multiplication, division, square root and comparison are rounded correctly, hence monotone, so that the end
points computed with the same operation already enclose every computed value. All other functions are
widened outwards by more than the error of numpy's implementations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from dpglm.data.formula.errors import formula_error
from dpglm.data.formula.expressions import COMPARISONS, OPERATIONS, Expression
from dpglm.errors import FormulaError

_ULPS = 16  # numpy documents errors below 4 units in the last place, at the end point and inside
_TWO_PI = 2 * math.pi


class Interval(NamedTuple):
    """All values from ``low`` to ``high``, both included."""

    low: float
    high: float


def interval(expression: Expression, bounds: Mapping[str, Interval], *, formula: str = "") -> Interval:
    """An interval that holds the value of ``expression`` for every row inside the declared bounds.

    Exact for arithmetic in which no column appears twice, for integer powers, ``abs`` and monotone
    functions; an enclosure otherwise.

    Parameters
    ----------
    expression : Expression
        What is computed.
    bounds : mapping of str to Interval
        The declared bounds of the columns.
    formula : str
        Where the expression stands, for the error text.

    Raises
    ------
    FormulaError
        Where some row inside the bounds has no finite value: logarithm of 0, division by 0, overflow.

    Examples
    --------
    >>> x = Expression("column", name="x")
    >>> interval(Expression("power", (x, Expression("constant", value=2.0))), {"x": Interval(-3, 2)})
    Interval(low=0.0, high=9.0)
    """
    if expression.op == "constant":
        return _finite(Interval(expression.value, expression.value), expression, formula)
    if expression.op == "column":
        declared = bounds[expression.name]
        return Interval(float(declared.low), float(declared.high))
    parts = [interval(part, bounds, formula=formula) for part in expression.args]
    if expression.op in COMPARISONS:
        return Interval(0.0, 1.0)
    with np.errstate(all="ignore"):
        found = _RULES[expression.op](expression, parts, formula)
    return _finite(found, expression, formula)


def _finite(found: Interval, expression: Expression, formula: str) -> Interval:
    if math.isfinite(found.low) and math.isfinite(found.high):
        return found
    raise formula_error(
        "This is too large for a number within the declared bounds.",
        formula,
        expression.span,
        expected="finite values for every row that the schema allows",
        remedy="Declare tighter bounds, or use a function that grows slower, such as log1p() or tanh().",
    )


def _outward(low: float, high: float) -> Interval:
    return Interval(low - _ULPS * math.ulp(low), high + _ULPS * math.ulp(high))


def _corners(op: str, parts: list[Interval]) -> list[float]:
    """The operation at all combinations of end points."""
    function = OPERATIONS[op]
    return [float(function(np.float64(a), np.float64(b))) for a in parts[0] for b in parts[1]]


def _exact(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    values = _corners(expression.op, parts)
    # min() and max() would pass over a NaN, which only overflow can make here.
    finite = all(map(math.isfinite, values))
    return Interval(min(values), max(values)) if finite else Interval(-math.inf, math.inf)


def _divide(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    if parts[1].low <= 0.0 <= parts[1].high:
        raise _undefined(
            "Division by 0 can happen within the declared bounds.",
            expression.args[1],
            formula,
            "a divisor that stays away from 0",
            "Declare bounds without 0, or add a constant to the divisor.",
        )
    return _exact(expression, parts, formula)


def _negative(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    return Interval(-parts[0].high, -parts[0].low)


def _absolute(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    low, high = parts[0]
    return Interval(max(0.0, low, -high), max(-low, high))


def _power(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    base, exponent = parts
    if exponent.low == exponent.high and exponent.low == round(exponent.low):
        return _integer_power(expression, parts, int(exponent.low), formula)
    if base.low < 0.0 or (base.low == 0.0 and exponent.low <= 0.0):
        raise _undefined(
            "This power has no value for some rows within the declared bounds.",
            expression,
            formula,
            "a base > 0, or a whole number as exponent",
            "Declare tighter bounds, or use a whole number as exponent.",
        )
    # Monotone in the base and in the exponent, each for a fixed value of the other.
    values = _corners("power", parts)
    low, high = _outward(min(values), max(values))
    return Interval(max(0.0, low), high)


def _integer_power(expression: Expression, parts: list[Interval], exponent: int, formula: str) -> Interval:
    base = parts[0]
    if exponent < 0 and base.low <= 0.0 <= base.high:
        raise _undefined(
            "Division by 0 can happen within the declared bounds.",
            expression,
            formula,
            "a base that stays away from 0",
            "Declare bounds without 0, or add a constant to the base.",
        )
    if exponent == 0:
        return Interval(1.0, 1.0)
    ends = [float(OPERATIONS["power"](np.float64(end), float(exponent))) for end in base]
    low, high = min(ends), max(ends)
    if exponent not in (1, 2):
        low, high = _outward(low, high)
    if exponent % 2 == 0 and base.low <= 0.0 <= base.high:
        low = 0.0
    elif exponent % 2 == 0 or base.low >= 0.0:
        low = max(low, 0.0)
    return Interval(low, high)


def _increasing(least: float, *, strict: bool, remedy: str) -> Callable[..., Interval]:
    """A rule for an increasing function defined above ``least`` (``strict``: not at it)."""

    def rule(expression: Expression, parts: list[Interval], formula: str) -> Interval:
        low, high = parts[0]
        if low < least or (strict and low == least):
            sign = ">" if strict else ">="
            raise _undefined(
                f"{expression.op}() has no value for some rows within the declared bounds.",
                expression,
                formula,
                f"an argument {sign} {least:g}",
                remedy,
            )
        function = OPERATIONS[expression.op]
        ends = float(function(np.float64(low))), float(function(np.float64(high)))
        return Interval(*ends) if expression.op == "sqrt" else _outward(*ends)

    return rule


def _exponential(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    found = _increasing(-math.inf, strict=False, remedy="")(expression, parts, formula)
    floor = 0.0 if expression.op == "exp" else -1.0
    return Interval(max(floor, found.low), found.high)


def _within_one(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    found = _increasing(-math.inf, strict=False, remedy="")(expression, parts, formula)
    return Interval(max(-1.0, found.low), min(1.0, found.high))


def _wave(peak: float) -> Callable[..., Interval]:
    """A rule for sin or cos, which is 1 at ``peak`` and -1 half a turn later."""

    def rule(expression: Expression, parts: list[Interval], formula: str) -> Interval:
        low, high = parts[0]
        if high - low >= _TWO_PI or max(abs(low), abs(high)) > 1e6:
            return Interval(-1.0, 1.0)
        ends = [float(OPERATIONS[expression.op](np.float64(end))) for end in parts[0]]
        slack = 2.0**-50  # absolute: values are at most 1
        least, most = min(ends) - slack, max(ends) + slack
        if _hits(low, high, peak):
            most = 1.0
        if _hits(low, high, peak + math.pi):
            least = -1.0
        return Interval(max(-1.0, least), min(1.0, most))

    return rule


def _hits(low: float, high: float, point: float) -> bool:
    """Whether ``point`` plus a whole number of turns may lie in the interval."""
    return math.floor((high - point + 1e-9) / _TWO_PI) >= math.ceil((low - point - 1e-9) / _TWO_PI)


def _extreme(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    choose = min if expression.op == "minimum" else max
    return Interval(choose(parts[0].low, parts[1].low), choose(parts[0].high, parts[1].high))


def _clip(expression: Expression, parts: list[Interval], formula: str) -> Interval:
    values, low, high = parts
    return Interval(min(max(values.low, low.low), high.low), min(max(values.high, low.high), high.high))


def _undefined(problem: str, culprit: Expression, formula: str, expected: str, remedy: str) -> FormulaError:
    return formula_error(problem, formula, culprit.span, expected=expected, remedy=remedy)


_LOG_REMEDY = "Use log1p(x), which is defined at 0, or declare a lower bound > 0."
_RULES: dict[str, Callable[[Expression, list[Interval], str], Interval]] = {
    "add": _exact,
    "subtract": _exact,
    "multiply": _exact,
    "divide": _divide,
    "negative": _negative,
    "power": _power,
    "abs": _absolute,
    "minimum": _extreme,
    "maximum": _extreme,
    "clip": _clip,
    "log": _increasing(0.0, strict=True, remedy=_LOG_REMEDY),
    "log2": _increasing(0.0, strict=True, remedy=_LOG_REMEDY),
    "log10": _increasing(0.0, strict=True, remedy=_LOG_REMEDY),
    "log1p": _increasing(-1.0, strict=True, remedy="Declare a lower bound > -1."),
    "sqrt": _increasing(0.0, strict=False, remedy="Declare a lower bound >= 0, or use abs()."),
    "exp": _exponential,
    "expm1": _exponential,
    "tanh": _within_one,
    "sin": _wave(math.pi / 2),
    "cos": _wave(0.0),
}
