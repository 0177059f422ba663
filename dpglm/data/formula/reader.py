"""Factors of a formula: what may stand between its operators, read from the syntax tree."""

from __future__ import annotations

import ast
import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpglm.data.formula.expression_reader import ExpressionReader
from dpglm.data.formula.expressions import Expression, Interval, clipped, interval
from dpglm.data.formula.model import Factor, LevelFactor, NumericFactor, Spline, SplineFactor
from dpglm.data.formula.syntax import Span
from dpglm.data.schema.variables import Categorical, Numeric

# Narrowest range of a number: one over it must be a number too.
_NARROWEST = 1e-300
# Narrowest piece of a spline, relative to its variable's largest value.
_NARROWEST_PIECE = 2.0**-40
_MOST_DF = 200
_CONTRASTS = {"Treatment": "reference", "Sum": "omit", "Helmert": "", "Diff": "", "Poly": ""}


@dataclass(frozen=True)
class Reading:
    """What one factor of a formula turned out to be: a factor with its contrast, or an offset.

    ``contrast`` is the name of a contrast coding of patsy, and the level in its parentheses if there is one.
    """

    factor: Factor | None = None
    contrast: tuple[Any, ...] = ()
    offset: Expression | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns it reads."""
        expression = self.factor.expression if self.factor else self.offset
        return expression.columns if expression else ()


@dataclass(frozen=True)
class Reader(ExpressionReader):
    """Reads factors of one formula against the declared variables.

    Examples
    --------
    >>> reader = Reader("y ~ log(age)", {"age": Numeric(1, 100)})
    >>> round(reader.read((4, 12), "log(age)").factor.high, 3)
    4.605
    """

    def read(self, span: Span, name: str) -> Reading:
        """The factor in ``formula[span]``; ``name`` is how patsy writes it.

        Raises
        ------
        FormulaError
            For anything that is not on the whitelist.
        """
        node = self.tree(span)
        if isinstance(node, ast.Name) and node.id == "Intercept":
            raise self.error(
                node,
                "A column cannot be called Intercept here, because the constant is.",
                expected="another name",
                remedy='Rename the column, or write Q("Intercept").',
            )
        match node:
            case ast.Call(func=ast.Name(id="C")):
                return self._category(node, name)
            case ast.Call(func=ast.Name(id="bs")):
                return Reading(self._spline(node, name))
            case ast.Call(func=ast.Name(id="offset")):
                offset = self.number(self.arguments(node, "offset", ("x",))["x"])
                return Reading(offset=clipped(offset, *self._interval(offset)))
        column = self.column(node)
        if column is not None and isinstance(variable := self.variables[column], Categorical):
            return Reading(self._levels(Expression("column", name=column), name, variable.levels))
        expression = self.number(node)
        if expression.boolean:
            return Reading(self._levels(expression, name, (False, True)))
        return Reading(self._numeric(expression, node, name))

    def response(self, span: Span) -> str:
        """The column on the left-hand side."""
        node = self.tree(span)
        column = self.column(node)
        if column is None:
            raise self.error(
                node,
                "The response is not a single column.",
                expected="one declared column left of ~",
                remedy="Declare the response as it is to be modelled, and write its name.",
            )
        return column

    @cached_property
    def _bounds(self) -> dict[str, Interval]:
        numeric = {name: item for name, item in self.variables.items() if isinstance(item, Numeric)}
        return {name: Interval(variable.low, variable.high) for name, variable in numeric.items()}

    def _interval(self, expression: Expression) -> Interval:
        return interval(expression, self._bounds, formula=self.formula)

    def _prior(self, expression: Expression, usual: float) -> float:
        """The largest prior scale of the columns of an expression."""
        return max((self.variables[name].effect or usual for name in expression.columns), default=usual)

    def _levels(self, expression: Expression, name: str, levels: tuple[Any, ...]) -> LevelFactor:
        return LevelFactor(name, expression, self._prior(expression, LevelFactor.usual_prior), levels)

    def _numeric(self, expression: Expression, node: ast.expr, name: str) -> NumericFactor:
        low, high = self._interval(expression)
        if not low < high or not math.isfinite(high - low):
            constant = "This is the same number in every row."
            raise self.error(
                node,
                constant if low == high else "The range of this is too wide for a number.",
                expected="an expression that varies",
                remedy="Leave it out, or correct the declared bounds.",
            )
        if high - low < _NARROWEST:
            raise self.error(
                node,
                "The range of this is too narrow for a number.",
                expected=f"a range of at least {_NARROWEST:g}",
                remedy="Declare the column in other units.",
            )
        return NumericFactor(name, expression, self._prior(expression, NumericFactor.usual_prior), low, high)

    def _category(self, call: ast.Call, name: str) -> Reading:
        parts = self.arguments(call, "C", ("x", "contrast"), optional=("contrast",))
        column = self.column(parts["x"])
        if column is None:
            raise self.error(
                parts["x"],
                "C() takes a column, not an expression.",
                expected="C(column)",
                remedy="Add the column to the data and declare its levels.",
            )
        variable = self.variables[column]
        if isinstance(variable, Numeric):
            raise self.error(
                call,
                f"{column!r} is declared with bounds, so its levels are not known.",
                expected="a column declared with levels, which are never looked up in the data",
                remedy=f"Declare them in the schema: {column!r}: [0, 1, 2].",
            )
        factor = self._levels(Expression("column", name=column), name, variable.levels)
        contrast = self._contrast(parts["contrast"], factor.levels) if "contrast" in parts else ()
        return Reading(factor, contrast)

    def _contrast(self, node: ast.expr, levels: tuple[Any, ...]) -> tuple[Any, ...]:
        function = node.func if isinstance(node, ast.Call) else node
        if not isinstance(function, ast.Name) or function.id not in _CONTRASTS:
            raise self.error(
                node,
                "This is not a contrast coding.",
                expected=", ".join(_CONTRASTS),
                remedy='Write, for example, C(x, Treatment(reference="b")) or C(x, Sum).',
            )
        option = _CONTRASTS[function.id]
        parts = {}
        if isinstance(node, ast.Call):
            parts = self.arguments(node, function.id, (option,) if option else (), optional=(option,))
        if not parts:
            return (function.id,)
        level = parts[option]
        value = level.value if isinstance(level, ast.Constant) else None
        if value not in levels and not (type(value) is int and 0 <= value < len(levels)):
            raise self.error(
                level,
                "This is not one of the declared levels.",
                expected=", ".join(map(repr, levels[:12])) + (", ..." if len(levels) > 12 else ""),
                remedy="Name a declared level.",
            )
        return function.id, value

    def _spline(self, call: ast.Call, name: str) -> SplineFactor:
        names = ("x", "df", "knots", "degree", "lower_bound", "upper_bound")
        parts = self.arguments(call, "bs", names, optional=names[1:])
        constants = {
            key: self.constant(parts[key])
            for key in ("degree", "lower_bound", "upper_bound", "df")
            if key in parts
        }
        expression = self.arithmetic(parts["x"])
        bounds = self._numeric(expression, parts["x"], name)
        degree = constants.get("degree", 3.0)
        if degree not in (1.0, 2.0, 3.0, 4.0, 5.0):
            raise self.error(
                parts["degree"],
                "This degree is not supported.",
                expected="degree 1 to 5",
                remedy="Leave it out for cubic splines.",
            )
        low = constants.get("lower_bound", bounds.low)
        high = constants.get("upper_bound", bounds.high)
        if low > bounds.low or high < bounds.high:
            raise self.error(
                call,
                "The boundary knots are inside the declared bounds.",
                expected=f"lower_bound <= {bounds.low:g} and upper_bound >= {bounds.high:g}",
                remedy="Leave them out: boundary knots are the declared bounds.",
            )
        if ("knots" in parts) == ("df" in parts):
            raise self.error(
                call,
                "bs() needs either df or knots.",
                expected="bs(x, df=5) or bs(x, knots=[30, 50])",
                remedy="Give one of the two; df places the knots evenly between the declared bounds.",
            )
        if "knots" in parts:
            knots = self._written_knots(parts["knots"], low, high)
        else:
            knots = self._even_knots(constants["df"], parts["df"], int(degree), low, high)
        # Pieces that collapse in rounding have no basis: 0 / 0 in some rows and not in others.
        narrowest = _NARROWEST_PIECE * max(abs(low), abs(high))
        if any(right - left <= narrowest for left, right in itertools.pairwise((low, *knots, high))):
            raise self.error(
                call,
                "The pieces between the knots are too narrow for numbers of this size.",
                expected=f"knots more than {narrowest:.3g} apart",
                remedy="Shift the variable first, bs(x - 1000, df=5), or use fewer knots.",
            )
        prior = self._prior(expression, SplineFactor.usual_prior)
        return SplineFactor(name, expression, prior, Spline(low, high, knots, int(degree)))

    def _even_knots(
        self, df: float, node: ast.expr, degree: int, low: float, high: float
    ) -> tuple[float, ...]:
        if df != int(df) or not degree <= df <= _MOST_DF:
            raise self.error(
                node,
                "This df is not possible.",
                expected=f"an integer from {degree} to {_MOST_DF}",
                remedy=f"Use df={degree + 2}, or a smaller degree.",
            )
        pieces = int(df) - degree + 1
        return tuple(low + (high - low) * j / pieces for j in range(1, pieces))

    def _written_knots(self, node: ast.expr, low: float, high: float) -> tuple[float, ...]:
        if not isinstance(node, ast.List | ast.Tuple):
            raise self.error(
                node,
                "The knots are not a list of numbers.",
                expected="knots=[30, 50]",
                remedy="Write the knots out.",
            )
        knots = tuple(self.constant(item) for item in node.elts)
        if any(left >= right for left, right in itertools.pairwise((low, *knots, high))):
            raise self.error(
                node,
                "The knots are not increasing inside the bounds.",
                expected=f"increasing numbers between {low:g} and {high:g}",
                remedy="Order them, each once, and leave the bounds themselves out.",
            )
        return knots
