"""Interval arithmetic: declared bounds of columns become bounds of what a formula makes of them.

The bounds hold for the numbers that are computed, not only for the real ones: addition, subtraction,
multiplication, division, square root and comparison are rounded correctly, hence monotone, so that the end
points computed with the same operation already enclose every computed value. All other functions are
widened outwards by more than the error of numpy's implementations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from dpglm.data.formula.errors import formula_error
from dpglm.data.formula.expressions import COMPARISONS, OPERATIONS, Expression

_ULPS = 16  # numpy documents errors below 4 units in the last place, at the end point and inside
_TWO_PI = 2 * math.pi


class Interval(NamedTuple):
    """All values from ``low`` to ``high``, both included."""

    low: float
    high: float


_EVERYTHING: Final = Interval(-math.inf, math.inf)


def interval(expression: Expression, bounds: Mapping[str, Interval], *, formula: str = "") -> Interval:
    """An interval that holds the value of ``expression`` for every row inside the declared bounds.

    Exact for arithmetic in which no column appears twice, for integer powers, ``abs`` and monotone
    functions; an enclosure otherwise. The formula is for the error text.

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
    arguments = [interval(part, bounds, formula=formula) for part in expression.args]
    if expression.op in COMPARISONS:
        return Interval(0.0, 1.0)
    with np.errstate(all="ignore"):
        try:
            result = _RULES[expression.op](expression.op, *arguments)
        except _Undefined as error:
            culprit = expression if error.argument is None else expression.args[error.argument]
            raise formula_error(
                error.problem, formula, culprit.span, expected=error.expected, remedy=error.remedy
            ) from None
    return _finite(result, expression, formula)


class _Undefined(Exception):
    """Some row within the bounds has no value; ``argument`` is the culprit, None the whole expression."""

    def __init__(self, problem: str, *, expected: str, remedy: str, argument: int | None = None) -> None:
        self.problem, self.expected, self.remedy, self.argument = problem, expected, remedy, argument


def _finite(result: Interval, expression: Expression, formula: str) -> Interval:
    if math.isfinite(result.low) and math.isfinite(result.high):
        return result
    raise formula_error(
        "This is too large for a number within the declared bounds.",
        formula,
        expression.span,
        expected="finite values for every row that the schema allows",
        remedy="Declare tighter bounds, or use a function that grows slower, such as log1p() or tanh().",
    )


def _outward(low: float, high: float) -> Interval:
    return Interval(low - _ULPS * math.ulp(low), high + _ULPS * math.ulp(high))


def _at(op: str, *arguments: float) -> float:
    return float(OPERATIONS[op](*map(np.float64, arguments)))


def _exact(op: str, first: Interval, second: Interval) -> Interval:
    """Arithmetic, which is monotone in each argument: the extremes lie at end points."""
    values = [_at(op, a, b) for a in first for b in second]
    # min() and max() would pass over a NaN, which only overflow can make here.
    finite = all(map(math.isfinite, values))
    return Interval(min(values), max(values)) if finite else Interval(-math.inf, math.inf)


def _division_error(what: str, argument: int | None) -> _Undefined:
    return _Undefined(
        "Division by 0 can happen within the declared bounds.",
        expected=f"a {what} that stays away from 0",
        remedy=f"Declare bounds without 0, or add a constant to the {what}.",
        argument=argument,
    )


def _divide(op: str, dividend: Interval, divisor: Interval) -> Interval:
    if divisor.low <= 0.0 <= divisor.high:
        raise _division_error("divisor", 1)
    return _exact(op, dividend, divisor)


def _negative(op: str, x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def _absolute(op: str, x: Interval) -> Interval:
    return Interval(max(0.0, x.low, -x.high), max(-x.low, x.high))


def _power(op: str, base: Interval, exponent: Interval) -> Interval:
    if exponent.low == exponent.high and exponent.low == round(exponent.low):
        return _integer_power(base, int(exponent.low))
    if base.low < 0.0 or (base.low == 0.0 and exponent.low <= 0.0):
        raise _Undefined(
            "This power has no value for some rows within the declared bounds.",
            expected="a base > 0, or an integer as exponent",
            remedy="Declare tighter bounds, or use an integer as exponent.",
        )
    # Monotone in the base and in the exponent, each for a fixed value of the other.
    values = [_at(op, a, b) for a in base for b in exponent]
    low, high = _outward(min(values), max(values))
    return Interval(max(0.0, low), high)


def _integer_power(base: Interval, exponent: int) -> Interval:
    has_zero = base.low <= 0.0 <= base.high
    if exponent < 0 and has_zero:
        raise _division_error("base", None)
    if exponent == 0:
        return Interval(1.0, 1.0)
    ends = [_at("power", base.low, float(exponent)), _at("power", base.high, float(exponent))]
    low, high = min(ends), max(ends)
    if exponent not in (1, 2):
        low, high = _outward(low, high)
    if exponent % 2 == 0 and has_zero:
        low = 0.0
    elif exponent % 2 == 0 or base.low >= 0.0:
        low = max(low, 0.0)
    return Interval(low, high)


def _increasing(
    *, above: float = -math.inf, strict: bool = True, remedy: str = "", within: Interval = _EVERYTHING
) -> Callable[..., Interval]:
    """A rule for an increasing function that is defined above a number (not ``strict``: at it, too)."""

    def rule(op: str, x: Interval) -> Interval:
        if x.low < above or (strict and x.low == above):
            raise _Undefined(
                f"{op}() has no value for some rows within the declared bounds.",
                expected=f"an argument {'>' if strict else '>='} {above:g}",
                remedy=remedy,
            )
        ends = Interval(_at(op, x.low), _at(op, x.high))
        low, high = ends if op == "sqrt" else _outward(*ends)
        return Interval(max(low, within.low), min(high, within.high))

    return rule


def _wave(peak: float) -> Callable[..., Interval]:
    """A rule for sin or cos, which is 1 at ``peak`` and -1 half a turn later."""

    def rule(op: str, x: Interval) -> Interval:
        if x.high - x.low >= _TWO_PI or max(abs(x.low), abs(x.high)) > 1e6:
            return Interval(-1.0, 1.0)
        ends = _at(op, x.low), _at(op, x.high)
        slack = 2.0**-50  # absolute: values are at most 1
        low = -1.0 if _hits(x, peak + math.pi) else min(ends) - slack
        high = 1.0 if _hits(x, peak) else max(ends) + slack
        return Interval(max(-1.0, low), min(1.0, high))

    return rule


def _hits(x: Interval, point: float) -> bool:
    """Whether ``point`` plus a whole number of turns may lie in the interval."""
    return math.floor((x.high - point + 1e-9) / _TWO_PI) >= math.ceil((x.low - point - 1e-9) / _TWO_PI)


def _minimum(op: str, x: Interval, y: Interval) -> Interval:
    return Interval(min(x.low, y.low), min(x.high, y.high))


def _maximum(op: str, x: Interval, y: Interval) -> Interval:
    return Interval(max(x.low, y.low), max(x.high, y.high))


def _clip(op: str, x: Interval, low: Interval, high: Interval) -> Interval:
    return Interval(min(max(x.low, low.low), high.low), min(max(x.high, low.high), high.high))


_logarithm = _increasing(
    above=0.0, remedy="Use log1p(x), which is defined at 0, or declare a lower bound > 0."
)
_RULES: dict[str, Callable[..., Interval]] = {
    **dict.fromkeys(("add", "subtract", "multiply"), _exact),
    "divide": _divide,
    "negative": _negative,
    "power": _power,
    "abs": _absolute,
    "minimum": _minimum,
    "maximum": _maximum,
    "clip": _clip,
    **dict.fromkeys(("log", "log2", "log10"), _logarithm),
    "log1p": _increasing(above=-1.0, remedy="Declare a lower bound > -1."),
    "sqrt": _increasing(above=0.0, strict=False, remedy="Declare a lower bound >= 0, or use abs()."),
    "exp": _increasing(within=Interval(0.0, math.inf)),
    "expm1": _increasing(within=Interval(-1.0, math.inf)),
    "tanh": _increasing(within=Interval(-1.0, 1.0)),
    "sin": _wave(math.pi / 2),
    "cos": _wave(0.0),
}
