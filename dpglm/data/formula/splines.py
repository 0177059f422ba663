"""Splines: a B-spline basis whose knots are public, and how ``bs()`` in a formula writes it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.expressions import FormulaText
from dpglm.data.formula.model import Factor

# Narrowest piece of a spline, relative to its variable's largest value.
_NARROWEST_PIECE = 2.0**-40
_MOST_DF = 200


@dataclass(frozen=True)
class SplineFactor(Factor):
    """A B-spline basis of an expression, on ``[low, high]``, whose knots are public.

    All columns together are >= 0 and add up to 1 in every row. A formula uses all but the first, as
    patsy and R do. The inner knots increase strictly between the boundary knots ``low`` and ``high``; values
    outside count as the nearer one. Degree 3 gives cubic pieces.

    Examples
    --------
    >>> from dpglm.data.formula.expressions import Expression
    >>> x = Expression("column", name="x")
    >>> SplineFactor("bs(x)", x, 1.0, 0.0, 2.0, (1.0,), 1).read({"x": np.array([0.0, 0.5, 2.0])})
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    low: float
    high: float
    knots: tuple[float, ...]
    degree: int

    kind = "other"

    @property
    def key(self) -> Hashable:
        return (self.expression, self.low, self.high, self.knots, self.degree)

    @property
    def level_count(self) -> int:
        return len(self.knots) + self.degree + 1

    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        from scipy.interpolate import BSpline

        outer = self.degree + 1
        knots = (*[self.low] * outer, *self.knots, *[self.high] * outer)
        functions = BSpline(knots, np.eye(self.level_count), self.degree)
        return np.ascontiguousarray(
            functions(np.clip(self.expression.evaluate(columns), self.low, self.high)).T
        )


ARGUMENTS: Final = ("x", "df", "knots", "degree", "lower_bound", "upper_bound")


def basis_of(
    text: FormulaText, call: ast.Call, low: float, high: float
) -> tuple[float, float, tuple[float, ...], int]:
    """Ends, inner knots and degree that ``bs(...)`` in a formula gives a number between ``low`` and ``high``.

    Raises
    ------
    FormulaError
        Neither or both of ``df`` and ``knots``, or knots that give no basis between the bounds.
    """
    parts = text.arguments(call, "bs", ARGUMENTS, optional=ARGUMENTS[1:])
    constants = {key: text.constant(node) for key, node in parts.items() if key not in ("x", "knots")}
    degree = constants.get("degree", 3.0)
    if degree not in (1.0, 2.0, 3.0, 4.0, 5.0):
        raise text.error(
            parts["degree"],
            "This degree is not supported.",
            expected="degree 1 to 5",
            remedy="Leave it out for cubic splines.",
        )
    first, last = constants.get("lower_bound", low), constants.get("upper_bound", high)
    if first > low or last < high:
        raise text.error(
            call,
            "The boundary knots are inside the declared bounds.",
            expected=f"lower_bound <= {low:g} and upper_bound >= {high:g}",
            remedy="Leave them out: boundary knots are the declared bounds.",
        )
    if ("knots" in parts) == ("df" in parts):
        raise text.error(
            call,
            "bs() needs either df or knots.",
            expected="bs(x, df=5) or bs(x, knots=[30, 50])",
            remedy="Give one of the two; df places the knots evenly between the declared bounds.",
        )
    if "knots" in parts:
        knots = _written_knots(text, parts["knots"], first, last)
    else:
        knots = _even_knots(text, constants["df"], parts["df"], int(degree), first, last)
    # Pieces that collapse in rounding have no basis: 0 / 0 in some rows and not in others.
    narrowest = _NARROWEST_PIECE * max(abs(first), abs(last))
    if any(right - left <= narrowest for left, right in itertools.pairwise((first, *knots, last))):
        raise text.error(
            call,
            "The pieces between the knots are too narrow for numbers of this size.",
            expected=f"knots more than {narrowest:.3g} apart",
            remedy="Shift the variable first, bs(x - 1000, df=5), or use fewer knots.",
        )
    return first, last, knots, int(degree)


def _even_knots(
    text: FormulaText, df: float, node: ast.expr, degree: int, low: float, high: float
) -> tuple[float, ...]:
    if df != int(df) or not degree <= df <= _MOST_DF:
        raise text.error(
            node,
            "This df is not possible.",
            expected=f"an integer from {degree} to {_MOST_DF}",
            remedy=f"Use df={degree + 2}, or a smaller degree.",
        )
    pieces = int(df) - degree + 1
    return tuple(low + (high - low) * j / pieces for j in range(1, pieces))


def _written_knots(text: FormulaText, node: ast.expr, low: float, high: float) -> tuple[float, ...]:
    if not isinstance(node, ast.List | ast.Tuple):
        raise text.error(
            node,
            "The knots are not a list of numbers.",
            expected="knots=[30, 50]",
            remedy="Write the knots out.",
        )
    knots = tuple(text.constant(item) for item in node.elts)
    if any(left >= right for left, right in itertools.pairwise((low, *knots, high))):
        raise text.error(
            node,
            "The knots are not increasing inside the bounds.",
            expected=f"increasing numbers between {low:g} and {high:g}",
            remedy="Order them, each once, and leave the bounds themselves out.",
        )
    return knots
