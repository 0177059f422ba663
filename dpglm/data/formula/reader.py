"""Factors: what may stand between the operators of a formula, read from its syntax tree."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpglm.data.formula.bounds import interval
from dpglm.data.formula.errors import Span
from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.factors import Factor, LevelFactor, NumericFactor, SplineFactor
from dpglm.data.formula.splines import Spline
from dpglm.data.formula.whitelist import ExpressionReader
from dpglm.data.schema.variables import Categorical, Numeric

# Narrowest range of a number: one over it must be a number too.
_NARROWEST = 1e-300
# Narrowest piece of a spline, relative to its variable's largest value.
_NARROWEST_PIECE = 2.0**-40
_CONTRASTS = {"Treatment": "reference", "Sum": "omit", "Helmert": "", "Diff": "", "Poly": ""}


@dataclass(frozen=True)
class Contrast:
    """A contrast coding of patsy: its name, and the level or number in its parentheses, if any."""

    name: str
    option: Any = None


@dataclass(frozen=True)
class Reading:
    """What one factor of a formula turned out to be."""

    factor: Factor | None
    contrast: Contrast | None = None
    offset: Expression | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns it reads."""
        if self.factor is not None:
            return self.factor.columns
        return tuple(self.offset.column_names()) if self.offset is not None else ()


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
            self.fail(
                node,
                "A column cannot be called Intercept here, because the constant is.",
                expected="another name",
                remedy='Rename the column, or write Q("Intercept").',
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "C":
                return self._category(node, name)
            if node.func.id == "bs":
                return Reading(self._spline(node, name))
            if node.func.id == "offset":
                argument = self.arguments(node, "offset", ("x",))["x"]
                return Reading(None, offset=self._clipped(self.number(argument)))
        column = self.column(node)
        if column is not None and isinstance(self.variables[column], Categorical):
            return Reading(self._levels(column, name))
        expression = self.number(node)
        if expression.boolean:
            effect = self._effect(expression, LevelFactor.usual_effect)
            return Reading(LevelFactor(name, expression, (False, True), effect=effect))
        return Reading(self._numeric(expression, node, name))

    def response(self, span: Span) -> str:
        """The column on the left-hand side."""
        node = self.tree(span)
        column = self.column(node)
        if column is None:
            self.fail(
                node,
                "The response is not a single column.",
                expected="one declared column left of ~",
                remedy="Declare the response as it is to be modelled, and write its name.",
            )
        return column

    def _numeric(self, expression: Expression, node: ast.expr, name: str) -> NumericFactor:
        found = interval(expression, self.bounds, formula=self.formula)
        if not found.low < found.high or not math.isfinite(found.high - found.low):
            self.fail(
                node,
                "This is the same number in every row."
                if found.low == found.high
                else "The range of this is too wide for a number.",
                expected="an expression that varies",
                remedy="Leave it out, or mend the declared bounds.",
            )
        if found.high - found.low < _NARROWEST:
            self.fail(
                node,
                "The range of this is too narrow for a number.",
                expected=f"a range of at least {_NARROWEST:g}",
                remedy="Declare the column in other units.",
            )
        return NumericFactor(
            name, expression, *found, effect=self._effect(expression, NumericFactor.usual_effect)
        )

    def _effect(self, expression: Expression, usual: float) -> float | None:
        """The largest prior scale of the columns of an expression, None where none is declared."""
        declared = [self.variables[name].effect for name in expression.column_names()]
        if all(effect is None for effect in declared):
            return None
        return max(usual if effect is None else effect for effect in declared)

    def _clipped(self, expression: Expression) -> Expression:
        found = interval(expression, self.bounds, formula=self.formula)
        ends = tuple(Expression("constant", value=end) for end in found)
        return Expression("clip", (expression, *ends), span=expression.span)

    def _levels(self, column: str, name: str) -> LevelFactor:
        variable = self.variables[column]
        assert isinstance(variable, Categorical)
        return LevelFactor(name, column, tuple(variable.levels), effect=variable.effect)

    def _category(self, node: ast.Call, name: str) -> Reading:
        parts = self.arguments(node, "C", ("x", "contrast"), optional=("contrast",))
        column = self.column(parts["x"])
        if column is None:
            self.fail(
                parts["x"],
                "C() takes a column, not an expression.",
                expected="C(column)",
                remedy="Add the column to the data and declare its levels.",
            )
        if isinstance(self.variables[column], Numeric):
            self.fail(
                node,
                f"{column!r} is declared with bounds, so its levels are not known.",
                expected="a column declared with levels, which are never looked up in the data",
                remedy=f"Declare them in the schema: {column!r}: [0, 1, 2].",
            )
        factor = self._levels(column, name)
        return Reading(factor, self._contrast(parts.get("contrast"), factor.levels))

    def _contrast(self, node: ast.expr | None, levels: tuple[Any, ...]) -> Contrast | None:
        if node is None:
            return None
        function = node.func if isinstance(node, ast.Call) else node
        if not isinstance(function, ast.Name) or function.id not in _CONTRASTS:
            self.fail(
                node,
                "This is not a contrast coding.",
                expected=", ".join(_CONTRASTS),
                remedy='Write, for example, C(x, Treatment(reference="b")) or C(x, Sum).',
            )
        option = _CONTRASTS[function.id]
        if not isinstance(node, ast.Call):
            return Contrast(function.id)
        parts = self.arguments(node, function.id, (option,) if option else (), optional=(option,))
        if option not in parts:
            return Contrast(function.id)
        inner = parts[option]
        value = inner.value if isinstance(inner, ast.Constant) else None
        if value not in levels and not (type(value) is int and 0 <= value < len(levels)):
            self.fail(
                inner,
                "This is not one of the declared levels.",
                expected=", ".join(map(repr, levels[:12])) + (", ..." if len(levels) > 12 else ""),
                remedy="Name a declared level.",
            )
        return Contrast(function.id, value)

    def _spline(self, node: ast.Call, name: str) -> SplineFactor:
        names = ("x", "df", "knots", "degree", "lower_bound", "upper_bound")
        parts = self.arguments(node, "bs", names, optional=names[1:])
        expression = self.arithmetic(parts["x"])
        ends = self._numeric(expression, parts["x"], name)
        degree = self.constant(parts["degree"]) if "degree" in parts else 3.0
        if degree not in (1.0, 2.0, 3.0, 4.0, 5.0):
            self.fail(
                parts["degree"],
                "This degree is not supported.",
                expected="degree 1 to 5",
                remedy="Leave it out for cubic splines.",
            )
        low = self.constant(parts["lower_bound"]) if "lower_bound" in parts else ends.low
        high = self.constant(parts["upper_bound"]) if "upper_bound" in parts else ends.high
        if low > ends.low or high < ends.high:
            self.fail(
                node,
                "The boundary knots are inside the declared bounds.",
                expected=f"lower_bound <= {ends.low:g} and upper_bound >= {ends.high:g}",
                remedy="Leave them out: boundary knots are the declared bounds.",
            )
        knots = self._knots(node, parts, int(degree), low, high)
        # Pieces that collapse in rounding have no basis: 0 / 0 in some rows and not in others.
        narrowest = _NARROWEST_PIECE * max(abs(low), abs(high))
        if any(right - left <= narrowest for left, right in itertools.pairwise((low, *knots, high))):
            self.fail(
                node,
                "The pieces between the knots are too narrow for numbers of this size.",
                expected=f"knots more than {narrowest:.3g} apart",
                remedy="Shift the variable first, bs(x - 1000, df=5), or use fewer knots.",
            )
        effect = self._effect(expression, SplineFactor.usual_effect)
        return SplineFactor(name, expression, Spline(low, high, knots, int(degree)), effect=effect)

    def _knots(
        self, node: ast.Call, parts: Mapping[str, ast.expr], degree: int, low: float, high: float
    ) -> tuple[float, ...]:
        if ("knots" in parts) == ("df" in parts):
            self.fail(
                node,
                "bs() needs either df or knots.",
                expected="bs(x, df=5) or bs(x, knots=[30, 50])",
                remedy="Give one of the two; df places the knots evenly between the declared bounds.",
            )
        if "df" in parts:
            df = self.constant(parts["df"])
            if df != int(df) or not degree <= df <= 200:
                self.fail(
                    parts["df"],
                    "This df cannot be had.",
                    expected=f"a whole number from {degree} to 200",
                    remedy=f"Use df={degree + 2}, or a smaller degree.",
                )
            inner = int(df) - degree
            return tuple(low + (high - low) * j / (inner + 1) for j in range(1, inner + 1))
        listed = parts["knots"]
        if not isinstance(listed, ast.List | ast.Tuple):
            self.fail(
                listed,
                "The knots are not a list of numbers.",
                expected="knots=[30, 50]",
                remedy="Write the knots out.",
            )
        knots = tuple(self.constant(item) for item in listed.elts)
        ordered = (low, *knots, high)
        if any(left >= right for left, right in itertools.pairwise(ordered)):
            self.fail(
                listed,
                "The knots are not increasing inside the bounds.",
                expected=f"increasing numbers between {low:g} and {high:g}",
                remedy="Order them, each once, and leave the bounds themselves out.",
            )
        return knots
