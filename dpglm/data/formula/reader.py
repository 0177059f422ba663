"""Whitelist of a formula: what may stand between its operators, read from the syntax tree of each factor.

Nothing is ever evaluated as Python. What is not listed here is refused, so that a formula can neither run
code nor let one row depend on another.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpglm.data.formula.expressions import ALLOWED, Expression, FormulaText, Span, clipped, interval
from dpglm.data.formula.model import USUAL_EFFECT, Factor, LevelFactor, NumericFactor
from dpglm.data.formula.operations import COLUMN_WISE, FUNCTIONS, INSTEAD, OPERATORS, STANDARDISERS, USUAL
from dpglm.data.formula.periods import values_of
from dpglm.data.formula.splines import ARGUMENTS, SplineFactor, basis_of
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.errors import FormulaError

# Narrowest range of a number: one over it must be a number too.
_NARROWEST = 1e-300
_CONTRASTS = {"Treatment": "reference", "Sum": "omit", "Helmert": "", "Diff": "", "Poly": ""}
_TERMS = ("C", "bs", "offset")
_DEEPEST = 120  # nested operations in one factor


@dataclass(frozen=True)
class Reader(FormulaText):
    """Reads factors of one formula against the declared variables.

    Examples
    --------
    >>> reader = Reader("y ~ log(age)", {"age": Numeric(1, 100)})
    >>> round(reader.read((4, 12), "log(age)").high, 3)
    4.605
    """

    variables: Mapping[str, Variable]
    period: str = ""  # a column of whole numbers, which C() may take

    def read(self, span: Span, name: str) -> Factor | Expression:
        """The factor in ``formula[span]``, whose name is how patsy writes it; an expression is an offset.

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
                return self._spline(node, name)
            case ast.Call(func=ast.Name(id="offset")):
                offset = self.number(self.arguments(node, "offset", ("x",))["x"])
                return clipped(offset, *interval(offset, self.variables, formula=self.formula))
        column = self.column(node)
        if column is not None and isinstance(variable := self.variables[column], Categorical):
            return self._levels(Expression("column", name=column), name, variable.levels)
        expression = self.number(node)
        if expression.boolean:
            return self._levels(expression, name, (False, True))
        return self._numeric(expression, node, name)

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

    def _effect(self, expression: Expression, usual: float = 1.0) -> float | None:
        """The largest prior scale of the columns of an expression; None where none is declared."""
        declared = [self.variables[name].effect for name in expression.columns]
        if not any(declared):
            return None
        return max(effect or usual for effect in declared)

    def _levels(
        self, expression: Expression, name: str, levels: tuple[Any, ...], contrast: tuple[Any, ...] = ()
    ) -> LevelFactor:
        return LevelFactor(name, expression, self._effect(expression), levels, contrast)

    def _numeric(self, expression: Expression, node: ast.expr, name: str) -> NumericFactor:
        low, high = interval(expression, self.variables, formula=self.formula)
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
        return NumericFactor(name, expression, self._effect(expression, USUAL_EFFECT), low, high)

    def _category(self, call: ast.Call, name: str) -> LevelFactor:
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
        if isinstance(variable, Numeric) and column != self.period:
            raise self.error(
                call,
                f"{column!r} is declared with bounds, so its levels are not known.",
                expected="a column declared with levels, which are never looked up in the data",
                remedy=f"Declare them in the schema: {column!r}: [0, 1, 2].",
            )
        expression, levels = Expression("column", name=column), values_of(variable)
        if isinstance(variable, Numeric):
            expression = Expression("subtract", (expression, Expression("constant", value=variable.low)))
        contrast = self._contrast(parts["contrast"], levels) if "contrast" in parts else ()
        return self._levels(expression, name, levels, contrast)

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
        parts = self.arguments(call, "bs", ARGUMENTS, optional=ARGUMENTS[1:])
        of = self._numeric(self.arithmetic(parts["x"]), parts["x"], name)
        effect = self._effect(of.expression)
        return SplineFactor(name, of.expression, effect, *basis_of(self, call, of.low, of.high))

    def column(self, node: ast.expr) -> str | None:
        """The column that a name or Q("name") stands for; None where it is something else."""
        if isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            quoted = self.arguments(node, "Q", ("name",))["name"]
            if not isinstance(quoted, ast.Constant) or not isinstance(quoted.value, str):
                raise self.error(
                    node,
                    "Q() takes a column name in quotes.",
                    expected='Q("odd name")',
                    remedy="Write the name in quotes.",
                )
            name = quoted.value
        else:
            return None
        if name in self.variables:
            return name
        close = difflib.get_close_matches(name, list(self.variables), n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Declare it in the schema: {name!r}: (low, high)."
        if name in FUNCTIONS or name in STANDARDISERS or name in ("I", "Q", *_TERMS):
            remedy = f"Call it with a column: {name}(x)."
        known = ", ".join(list(self.variables)[:20]) + (", ..." if len(self.variables) > 20 else "")
        raise self.error(
            node, f"There is no column {name!r} in the schema.", expected=f"one of {known}", remedy=remedy
        )

    def number(self, node: ast.expr, depth: int = 0) -> Expression:
        """A numeric or comparing expression."""
        span = self.span(node)
        if depth > _DEEPEST:
            raise self.error(
                node,
                "This is nested too deeply.",
                expected=f"at most {_DEEPEST} nested operations",
                remedy="Write it shorter, or add a column with the result to the data.",
            )
        if isinstance(node, ast.Constant):
            return Expression("constant", value=self.constant(node), span=span)
        column = self.column(node)
        if column is not None and isinstance(self.variables[column], Categorical):
            raise self.error(
                node,
                f"{column!r} has levels, and levels are not numbers.",
                expected="a numeric column",
                remedy=f"Use it as a factor: {column} or C({column}), "
                f"or declare it with bounds: {column!r}: (low, high).",
            )
        if column is not None:
            return Expression("column", name=column, span=span)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self.arithmetic(node.operand, depth)
            if isinstance(node.op, ast.UAdd):
                return replace(operand, span=span)
            if operand.op == "constant":
                return Expression("constant", value=-operand.value, span=span)
            return Expression("negative", (operand,), span=span)
        match node:
            case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
                if type(operator) in OPERATORS:
                    pair = self.arithmetic(left, depth), self.arithmetic(right, depth)
                    return Expression(OPERATORS[type(operator)], pair, span=span)
            case ast.Call():
                result = self._call(node, depth)
                # I() keeps the place of what is inside.
                return result if result.span != (0, 0) else replace(result, span=span)
        raise self._forbidden_error(node)

    def arithmetic(self, node: ast.expr, depth: int = 0) -> Expression:
        """An operand; numpy has no arithmetic on truth values that a statistician would expect."""
        operand = self.number(node, depth + 1)
        if operand.boolean:
            raise self.error(
                node,
                "A comparison is not a number.",
                expected="a number",
                remedy="Use the comparison as a factor of its own, or clip() and minimum() for kinks.",
            )
        return operand

    def _call(self, node: ast.Call, depth: int) -> Expression:
        name = self._function_name(node)
        if name == "I":
            return self.number(self.arguments(node, "I", ("x",))["x"], depth + 1)
        if name == "clip":
            return self._clip(node, depth)
        if name in FUNCTIONS:
            arguments = self.arguments(node, name, ("x", "y")[: FUNCTIONS[name]])
            return Expression(name, tuple(self.arithmetic(part, depth) for part in arguments.values()))
        if name in STANDARDISERS:
            return self._standardised(node, name, depth)
        if name in _TERMS:
            raise self.error(
                node,
                f"{name}() cannot stand inside an expression.",
                expected="a term of its own",
                remedy=f"Write {name}(...) as a term, joined to others by +, : or *.",
            )
        if name in COLUMN_WISE:
            raise self.error(
                node,
                f"{name}() reads the whole column, so every row would depend on every other "
                "and no noise could be calibrated.",
                expected="a function of one row",
                remedy="Use a fixed number instead, as in I(age - 50). For a smooth curve use "
                "bs(x, df=5), whose knots come from the declared bounds.",
            )
        raise self._forbidden_error(node, f"{name}()" if name else "This call")

    def _function_name(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Name):
            return function.id
        if isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            numpy = owner in ("np", "numpy") and owner not in self.variables
            if numpy and (function.attr in FUNCTIONS or function.attr in COLUMN_WISE):
                return function.attr
            if owner and owner not in self.variables:
                raise self._forbidden_error(node, f"{owner}.{function.attr}()")
            raise self._forbidden_error(function)
        return ""

    def _clip(self, node: ast.Call, depth: int) -> Expression:
        as_numpy = any(keyword.arg == "a_min" for keyword in node.keywords)
        names = ("x", "a_min", "a_max") if as_numpy else ("x", "min", "max")
        parts = self.arguments(node, "clip", names)
        ends = [self.constant(parts[name]) for name in names[1:]]
        if ends[0] > ends[1]:
            raise self.error(
                node,
                "clip() has its bounds reversed.",
                expected="clip(x, low, high) with low <= high",
                remedy="Swap the two numbers.",
            )
        return replace(clipped(self.arithmetic(parts["x"], depth), *ends), span=self.span(node))

    def _standardised(self, node: ast.Call, name: str, depth: int) -> Expression:
        """The value minus a fixed number, divided by another where the function scales."""
        learned, example = STANDARDISERS[name]
        parts = self.arguments(node, name, ("x", *example), optional=tuple(example))
        if not parts.keys() >= example.keys():
            fixed = ", ".join(f"{key}={value}" for key, value in example.items())
            raise self.error(
                node,
                f"{name}() learns {learned} of the whole column, so every row would depend on every other "
                "and no noise could be calibrated.",
                expected="a function of one row and fixed numbers",
                remedy=f"Name the numbers: {name}({self.of(parts['x'])}, {fixed}), "
                "or leave it: columns are scaled by their declared bounds.",
            )
        shift, *divisor = (
            Expression("constant", value=self.constant(parts[key]), span=self.span(parts[key]))
            for key in example
        )
        span = self.span(node)
        shifted = Expression("subtract", (self.arithmetic(parts["x"], depth), shift), span=span)
        return Expression("divide", (shifted, *divisor), span=span) if divisor else shifted

    def _forbidden_error(self, node: ast.expr, what: str = "This") -> FormulaError:
        if isinstance(node, ast.Attribute):
            return self.error(
                node,
                "Attributes and methods are not allowed: they could read the whole column or run code.",
                expected=ALLOWED,
                remedy="Use a fixed number instead, as in I(age - 50).",
            )
        return self.error(
            node, f"{what} is not allowed in a formula.", expected=ALLOWED, remedy=INSTEAD.get(what, USUAL)
        )
