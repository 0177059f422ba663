"""Operations of expressions: what computes each, and a rule for the interval that holds its values.

The intervals hold for the numbers that are computed, not only for the real ones. Addition, subtraction,
multiplication, division, square root and comparison are rounded correctly, hence monotone: the end points
computed with the same operation already enclose every computed value. All other functions are widened
outwards by more than the error of numpy's implementations.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

_ULPS: Final = 16  # numpy documents errors below 4 units in the last place, at the end point and inside
_TWO_PI: Final = 2 * math.pi


class Interval(NamedTuple):
    """All values from ``low`` to ``high``, both included."""

    low: float
    high: float


_EVERYTHING: Final = Interval(-math.inf, math.inf)


class Undefined(Exception):
    """No value for some row: problem, expected, remedy, and position of the argument or None."""


def _power(base: Any, exponent: Any) -> Any:
    # x * x is rounded correctly everywhere, which the tight bounds of even powers rely on.
    if isinstance(exponent, float) and exponent == 2.0:
        return base * base
    return np.power(base, exponent)


def _clip(values: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(values, low), high)


def _outward(low: float, high: float) -> Interval:
    return Interval(low - _ULPS * math.ulp(low), high + _ULPS * math.ulp(high))


def _at(op: str, *arguments: float) -> float:
    return float(OPERATIONS[op].function(*map(np.float64, arguments)))


def truth(op: str, *arguments: Interval) -> Interval:
    return Interval(0.0, 1.0)


def _exact(op: str, *arguments: Interval) -> Interval:
    """An operation that is monotone in each argument and rounded correctly: extremes lie at end points."""
    values = [_at(op, *ends) for ends in itertools.product(*arguments)]
    # min() and max() would pass over a NaN, which only overflow can make here.
    finite = all(map(math.isfinite, values))
    return Interval(min(values), max(values)) if finite else _EVERYTHING


def _division_error(what: str, argument: int | None) -> Undefined:
    return Undefined(
        "Division by 0 can happen within the declared bounds.",
        f"a {what} that stays away from 0",
        f"Declare bounds without 0, or add a constant to the {what}.",
        argument,
    )


def _quotient(op: str, dividend: Interval, divisor: Interval) -> Interval:
    if divisor.low <= 0.0 <= divisor.high:
        raise _division_error("divisor", 1)
    return _exact(op, dividend, divisor)


def _absolute(op: str, x: Interval) -> Interval:
    return Interval(max(0.0, x.low, -x.high), max(-x.low, x.high))


def _powers(op: str, base: Interval, exponent: Interval) -> Interval:
    if exponent.low == exponent.high and exponent.low == round(exponent.low):
        return _integer_powers(base, int(exponent.low))
    if base.low < 0.0 or (base.low == 0.0 and exponent.low <= 0.0):
        raise Undefined(
            "This power has no value for some rows within the declared bounds.",
            "a base > 0, or an integer as exponent",
            "Declare tighter bounds, or use an integer as exponent.",
            None,
        )
    # Monotone in the base and in the exponent, each for a fixed value of the other.
    values = [_at(op, a, b) for a in base for b in exponent]
    low, high = _outward(min(values), max(values))
    return Interval(max(0.0, low), high)


def _integer_powers(base: Interval, exponent: int) -> Interval:
    has_zero = base.low <= 0.0 <= base.high
    if exponent < 0 and has_zero:
        raise _division_error("base", None)
    if exponent == 0:
        return Interval(1.0, 1.0)
    ends = [_at("power", end, float(exponent)) for end in base]
    low, high = min(ends), max(ends)
    if exponent not in (1, 2):
        low, high = _outward(low, high)
    if exponent % 2 == 0 and has_zero:
        low = 0.0
    elif exponent % 2 == 0 or base.low >= 0.0:
        low = max(low, 0.0)
    return Interval(low, high)


def _increasing(
    above: float = -math.inf, *, strict: bool = True, remedy: str = "", within: Interval = _EVERYTHING
) -> Callable[..., Interval]:
    """A rule for an increasing function that is defined above a number (not ``strict``: at it, too)."""

    def rule(op: str, x: Interval) -> Interval:
        if x.low < above or (strict and x.low == above):
            problem = f"{op}() has no value for some rows within the declared bounds."
            raise Undefined(problem, f"an argument {'>' if strict else '>='} {above:g}", remedy, None)
        ends = Interval(_at(op, x.low), _at(op, x.high))
        low, high = ends if op == "sqrt" else _outward(*ends)
        return Interval(max(low, within.low), min(high, within.high))

    return rule


def _wave(peak: float) -> Callable[..., Interval]:
    """A rule for sin or cos, which is 1 at ``peak`` and -1 half a turn later."""

    def hits(x: Interval, point: float) -> bool:
        # Whether the point plus a whole number of turns may lie in the interval.
        return math.floor((x.high - point + 1e-9) / _TWO_PI) >= math.ceil((x.low - point - 1e-9) / _TWO_PI)

    def rule(op: str, x: Interval) -> Interval:
        if x.high - x.low >= _TWO_PI or max(abs(x.low), abs(x.high)) > 1e6:
            return Interval(-1.0, 1.0)
        ends = _at(op, x.low), _at(op, x.high)
        slack = 2.0**-50  # absolute: values are at most 1
        low = -1.0 if hits(x, peak + math.pi) else min(ends) - slack
        high = 1.0 if hits(x, peak) else max(ends) + slack
        return Interval(max(-1.0, low), min(1.0, high))

    return rule


class Operation(NamedTuple):
    """What computes an operation, its rule, and how many arguments a call takes; 0 for an operator."""

    function: Callable[..., Any]
    interval: Callable[..., Interval]
    arguments: int = 0


def _comparison(ufunc: np.ufunc) -> Operation:
    return Operation(lambda left, right: ufunc(left, right).astype(np.float64), truth)


_logarithm = _increasing(0.0, remedy="Use log1p(x), which is defined at 0, or declare a lower bound > 0.")
# A formula may call those with arguments by name, with or without np. in front.
OPERATIONS: Final = {
    "add": Operation(np.add, _exact),
    "subtract": Operation(np.subtract, _exact),
    "multiply": Operation(np.multiply, _exact),
    "divide": Operation(np.divide, _quotient),
    "negative": Operation(np.negative, _exact),
    "power": Operation(_power, _powers),
    "less": _comparison(np.less),
    "less_equal": _comparison(np.less_equal),
    "greater": _comparison(np.greater),
    "greater_equal": _comparison(np.greater_equal),
    "equal": _comparison(np.equal),
    "not_equal": _comparison(np.not_equal),
    "log": Operation(np.log, _logarithm, 1),
    "log1p": Operation(np.log1p, _increasing(-1.0, remedy="Declare a lower bound > -1."), 1),
    "log2": Operation(np.log2, _logarithm, 1),
    "log10": Operation(np.log10, _logarithm, 1),
    "exp": Operation(np.exp, _increasing(within=Interval(0.0, math.inf)), 1),
    "expm1": Operation(np.expm1, _increasing(within=Interval(-1.0, math.inf)), 1),
    "sqrt": Operation(
        np.sqrt, _increasing(0.0, strict=False, remedy="Declare a lower bound >= 0, or use abs()."), 1
    ),
    "abs": Operation(np.abs, _absolute, 1),
    "sin": Operation(np.sin, _wave(math.pi / 2), 1),
    "cos": Operation(np.cos, _wave(0.0), 1),
    "tanh": Operation(np.tanh, _increasing(within=Interval(-1.0, 1.0)), 1),
    "minimum": Operation(np.minimum, _exact, 2),
    "maximum": Operation(np.maximum, _exact, 2),
    "clip": Operation(_clip, _exact, 3),
}
FUNCTIONS: Final = {name: item.arguments for name, item in OPERATIONS.items() if item.arguments}
OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
# Functions that in patsy learn something of the column: what that is, and the numbers that are given here.
STANDARDISERS: Final = {
    "center": ("the mean", {"at": 50}),
    "scale": ("the mean and the standard deviation", {"center": 50, "by": 10}),
    "standardize": ("the mean and the standard deviation", {"center": 50, "by": 10}),
}
USUAL: Final = (
    "Make the column before the fit, row by row, and declare it in the schema. A comparison such as "
    "(age > 50) is a factor by itself."
)
# What stands in the place of functions of R.
_SPLINE: Final = "Use bs(x, df=5), a spline whose knots come from the declared bounds, or x + I(x**2)."
INSTEAD: Final = dict.fromkeys(("poly()", "ns()", "s()", "rcs()", "pspline()"), _SPLINE) | dict.fromkeys(
    ("factor()", "ordered()"), "Write C(x): its levels are the declared ones, the first is the reference."
)
# Functions of a whole column, which no formula may call.
COLUMN_WISE: Final = (
    {"mean", "median", "std", "var", "min", "max", "sum", "cumsum", "rank", "quantile", "percentile"}
    | {"diff", "cut", "qcut", "zscore", "demean"}
    | {"cr", "cc", "te"}
)
