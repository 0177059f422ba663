"""Factors of a formula: what may stand between its operators, read from the syntax tree."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpglm.data.formula.bounds import Interval, interval
from dpglm.data.formula.errors import FormulaText, Span
from dpglm.data.formula.expression_reader import ExpressionReader
from dpglm.data.formula.expressions import Expression, Spline, clipped
from dpglm.data.formula.model import Factor, LevelFactor, NumericFactor, SplineFactor
from dpglm.data.schema.variables import Categorical, Numeric, Variable

# Narrowest range of a number: one over it must be a number too.
_NARROWEST = 1e-300
# Narrowest piece of a spline, relative to its variable's largest value.
_NARROWEST_PIECE = 2.0**-40
_MOST_DF = 200
_CONTRASTS = {"Treatment": "reference", "Sum": "omit", "Helmert": "", "Diff": "", "Poly": ""}


@dataclass(frozen=True)
class Contrast:
    """A contrast coding of patsy: its name, and the level or number in its parentheses, if any."""

    name: str
    option: Any = None


@dataclass(frozen=True)
class Reading:
    """What one factor of a formula turned out to be: a factor with its contrast, or an offset."""

    factor: Factor | None = None
    contrast: Contrast | None = None
    offset: Expression | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns it reads."""
        if self.factor is not None:
            return self.factor.columns
        return self.offset.columns if self.offset is not None else ()


@dataclass(frozen=True)
class Reader:
    """Reads factors of one formula against the declared variables.

    Examples
    --------
    >>> reader = Reader(FormulaText("y ~ log(age)"), {"age": Numeric(1, 100)})
    >>> round(reader.read((4, 12), "log(age)").factor.high, 3)
    4.605
    """

    text: FormulaText
    variables: Mapping[str, Variable]

    def read(self, span: Span, name: str) -> Reading:
        """The factor in ``formula[span]``; ``name`` is how patsy writes it.

        Raises
        ------
        FormulaError
            For anything that is not on the whitelist.
        """
        node = self.text.tree(span)
        if isinstance(node, ast.Name) and node.id == "Intercept":
            raise self.text.error(
                node,
                "A column cannot be called Intercept here, because the constant is.",
                expected="another name",
                remedy='Rename the column, or write Q("Intercept").',
            )
        function = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if isinstance(node, ast.Call) and function == "C":
            return self._category(node, name)
        if isinstance(node, ast.Call) and function == "bs":
            return Reading(self._spline(node, name))
        if isinstance(node, ast.Call) and function == "offset":
            offset = self._expressions.number(self.text.arguments(node, "offset", ("x",))["x"])
            return Reading(offset=clipped(offset, *self._interval(offset)))
        column = self._expressions.column(node)
        if column is not None and isinstance(self.variables[column], Categorical):
            return Reading(self._levels(column, name))
        expression = self._expressions.number(node)
        if expression.boolean:
            effect = self._effect(expression, LevelFactor.usual_effect)
            return Reading(LevelFactor(name, expression, (False, True), effect=effect))
        return Reading(self._numeric(expression, node, name))

    def response(self, span: Span) -> str:
        """The column on the left-hand side."""
        node = self.text.tree(span)
        column = self._expressions.column(node)
        if column is None:
            raise self.text.error(
                node,
                "The response is not a single column.",
                expected="one declared column left of ~",
                remedy="Declare the response as it is to be modelled, and write its name.",
            )
        return column

    @cached_property
    def _expressions(self) -> ExpressionReader:
        return ExpressionReader(self.text, self.variables)

    @cached_property
    def _bounds(self) -> dict[str, Interval]:
        numeric = {name: item for name, item in self.variables.items() if isinstance(item, Numeric)}
        return {name: Interval(variable.low, variable.high) for name, variable in numeric.items()}

    def _interval(self, expression: Expression) -> Interval:
        return interval(expression, self._bounds, formula=self.text.formula)

    def _numeric(self, expression: Expression, node: ast.expr, name: str) -> NumericFactor:
        low, high = self._interval(expression)
        if not low < high or not math.isfinite(high - low):
            constant = "This is the same number in every row."
            raise self.text.error(
                node,
                constant if low == high else "The range of this is too wide for a number.",
                expected="an expression that varies",
                remedy="Leave it out, or correct the declared bounds.",
            )
        if high - low < _NARROWEST:
            raise self.text.error(
                node,
                "The range of this is too narrow for a number.",
                expected=f"a range of at least {_NARROWEST:g}",
                remedy="Declare the column in other units.",
            )
        effect = self._effect(expression, NumericFactor.usual_effect)
        return NumericFactor(name, expression, low, high, effect=effect)

    def _effect(self, expression: Expression, usual: float) -> float | None:
        """The largest prior scale of the columns of an expression, None where none is declared."""
        declared = [self.variables[name].effect for name in expression.columns]
        if all(effect is None for effect in declared):
            return None
        return max(usual if effect is None else effect for effect in declared)

    def _levels(self, column: str, name: str) -> LevelFactor:
        variable = self.variables[column]
        assert isinstance(variable, Categorical)
        expression = Expression("column", name=column)
        return LevelFactor(name, expression, variable.levels, effect=variable.effect)

    def _category(self, call: ast.Call, name: str) -> Reading:
        parts = self.text.arguments(call, "C", ("x", "contrast"), optional=("contrast",))
        column = self._expressions.column(parts["x"])
        if column is None:
            raise self.text.error(
                parts["x"],
                "C() takes a column, not an expression.",
                expected="C(column)",
                remedy="Add the column to the data and declare its levels.",
            )
        if isinstance(self.variables[column], Numeric):
            raise self.text.error(
                call,
                f"{column!r} is declared with bounds, so its levels are not known.",
                expected="a column declared with levels, which are never looked up in the data",
                remedy=f"Declare them in the schema: {column!r}: [0, 1, 2].",
            )
        factor = self._levels(column, name)
        contrast = self._contrast(parts["contrast"], factor.levels) if "contrast" in parts else None
        return Reading(factor, contrast)

    def _contrast(self, node: ast.expr, levels: tuple[Any, ...]) -> Contrast:
        function = node.func if isinstance(node, ast.Call) else node
        if not isinstance(function, ast.Name) or function.id not in _CONTRASTS:
            raise self.text.error(
                node,
                "This is not a contrast coding.",
                expected=", ".join(_CONTRASTS),
                remedy='Write, for example, C(x, Treatment(reference="b")) or C(x, Sum).',
            )
        if not isinstance(node, ast.Call):
            return Contrast(function.id)
        option = _CONTRASTS[function.id]
        parts = self.text.arguments(node, function.id, (option,) if option else (), optional=(option,))
        if not parts:
            return Contrast(function.id)
        level = parts[option]
        value = level.value if isinstance(level, ast.Constant) else None
        if value not in levels and not (type(value) is int and 0 <= value < len(levels)):
            raise self.text.error(
                level,
                "This is not one of the declared levels.",
                expected=", ".join(map(repr, levels[:12])) + (", ..." if len(levels) > 12 else ""),
                remedy="Name a declared level.",
            )
        return Contrast(function.id, value)

    def _spline(self, call: ast.Call, name: str) -> SplineFactor:
        names = ("x", "df", "knots", "degree", "lower_bound", "upper_bound")
        parts = self.text.arguments(call, "bs", names, optional=names[1:])
        constants = {
            key: self.text.constant(parts[key])
            for key in ("degree", "lower_bound", "upper_bound", "df")
            if key in parts
        }
        expression = self._expressions.arithmetic(parts["x"])
        bounds = self._numeric(expression, parts["x"], name)
        degree = constants.get("degree", 3.0)
        if degree not in (1.0, 2.0, 3.0, 4.0, 5.0):
            raise self.text.error(
                parts["degree"],
                "This degree is not supported.",
                expected="degree 1 to 5",
                remedy="Leave it out for cubic splines.",
            )
        low = constants.get("lower_bound", bounds.low)
        high = constants.get("upper_bound", bounds.high)
        if low > bounds.low or high < bounds.high:
            raise self.text.error(
                call,
                "The boundary knots are inside the declared bounds.",
                expected=f"lower_bound <= {bounds.low:g} and upper_bound >= {bounds.high:g}",
                remedy="Leave them out: boundary knots are the declared bounds.",
            )
        if ("knots" in parts) == ("df" in parts):
            raise self.text.error(
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
            raise self.text.error(
                call,
                "The pieces between the knots are too narrow for numbers of this size.",
                expected=f"knots more than {narrowest:.3g} apart",
                remedy="Shift the variable first, bs(x - 1000, df=5), or use fewer knots.",
            )
        effect = self._effect(expression, SplineFactor.usual_effect)
        return SplineFactor(name, expression, Spline(low, high, knots, int(degree)), effect=effect)

    def _even_knots(
        self, df: float, node: ast.expr, degree: int, low: float, high: float
    ) -> tuple[float, ...]:
        if df != int(df) or not degree <= df <= _MOST_DF:
            raise self.text.error(
                node,
                "This df is not possible.",
                expected=f"an integer from {degree} to {_MOST_DF}",
                remedy=f"Use df={degree + 2}, or a smaller degree.",
            )
        pieces = int(df) - degree + 1
        return tuple(low + (high - low) * j / pieces for j in range(1, pieces))

    def _written_knots(self, node: ast.expr, low: float, high: float) -> tuple[float, ...]:
        if not isinstance(node, ast.List | ast.Tuple):
            raise self.text.error(
                node,
                "The knots are not a list of numbers.",
                expected="knots=[30, 50]",
                remedy="Write the knots out.",
            )
        knots = tuple(self.text.constant(item) for item in node.elts)
        if any(left >= right for left, right in itertools.pairwise((low, *knots, high))):
            raise self.text.error(
                node,
                "The knots are not increasing inside the bounds.",
                expected=f"increasing numbers between {low:g} and {high:g}",
                remedy="Order them, each once, and leave the bounds themselves out.",
            )
        return knots
