"""Whitelist of a formula: the syntax tree of a number becomes a row-wise expression, or an error.

Nothing is ever evaluated as Python. What is not listed here is refused, so that a formula can neither run
code nor let one row depend on another.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpglm.data.formula.expressions import FUNCTIONS, Expression, clipped
from dpglm.data.formula.syntax import ALLOWED, FormulaText
from dpglm.data.schema.variables import Categorical, Variable
from dpglm.errors import FormulaError

_OPERATORS: dict[type[ast.AST], str] = {
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
_TERMS = ("C", "bs", "offset")
# Functions that in patsy learn something of the column: what that is, and the numbers that are given here.
_STANDARDISERS = {
    "center": ("the mean", {"at": 50}),
    "scale": ("the mean and the standard deviation", {"center": 50, "by": 10}),
    "standardize": ("the mean and the standard deviation", {"center": 50, "by": 10}),
}
_COLUMN_WISE = (
    {"mean", "median", "std", "var", "min", "max", "sum", "cumsum", "rank", "quantile", "percentile"}
    | {"diff", "cut", "qcut", "zscore", "demean"}
    | {"cr", "cc", "te"}
)
_DEEPEST = 120  # nested operations in one factor


@dataclass(frozen=True)
class ExpressionReader(FormulaText):
    """Reads columns and numbers in one formula against the declared variables, numeric and categorical."""

    variables: Mapping[str, Variable]

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
        if name not in self.variables:
            raise self._unknown_column_error(node, name)
        return name

    def _unknown_column_error(self, node: ast.expr, name: str) -> FormulaError:
        close = difflib.get_close_matches(name, list(self.variables), n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Declare it in the schema: {name!r}: (low, high)."
        if name in FUNCTIONS or name in _STANDARDISERS or name in ("I", "Q", *_TERMS):
            remedy = f"Call it with a column: {name}(x)."
        known = ", ".join(list(self.variables)[:20]) + (", ..." if len(self.variables) > 20 else "")
        return self.error(
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
        if column is not None:
            return self._numeric_column(column, node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self.arithmetic(node.operand, depth)
            if isinstance(node.op, ast.UAdd):
                return replace(operand, span=span)
            if operand.op == "constant":
                return Expression("constant", value=-operand.value, span=span)
            return Expression("negative", (operand,), span=span)
        match node:
            case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
                if type(operator) in _OPERATORS:
                    pair = self.arithmetic(left, depth), self.arithmetic(right, depth)
                    return Expression(_OPERATORS[type(operator)], pair, span=span)
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

    def _numeric_column(self, column: str, node: ast.expr) -> Expression:
        if isinstance(self.variables[column], Categorical):
            raise self.error(
                node,
                f"{column!r} has levels, and levels are not numbers.",
                expected="a numeric column",
                remedy=f"Use it as a factor: {column} or C({column}), "
                f"or declare it with bounds: {column!r}: (low, high).",
            )
        return Expression("column", name=column, span=self.span(node))

    def _call(self, node: ast.Call, depth: int) -> Expression:
        name = self._function_name(node)
        if name == "I":
            return self.number(self.arguments(node, "I", ("x",))["x"], depth + 1)
        if name == "clip":
            return self._clip(node, depth)
        if name in FUNCTIONS:
            arguments = self.arguments(node, name, ("x", "y")[: FUNCTIONS[name]])
            return Expression(name, tuple(self.arithmetic(part, depth) for part in arguments.values()))
        if name in _STANDARDISERS:
            return self._standardised(node, name, depth)
        if name in _TERMS:
            raise self.error(
                node,
                f"{name}() cannot stand inside an expression.",
                expected="a term of its own",
                remedy=f"Write {name}(...) as a term, joined to others by +, : or *.",
            )
        if name in _COLUMN_WISE:
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
            if numpy and (function.attr in FUNCTIONS or function.attr in _COLUMN_WISE):
                return function.attr
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
        learned, example = _STANDARDISERS[name]
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
                "Attributes and methods are not allowed in a formula: they could read the whole column "
                "or run code.",
                expected=ALLOWED,
                remedy="Use a fixed number instead, as in I(age - 50).",
            )
        return self.error(
            node,
            f"{what} is not allowed in a formula.",
            expected=ALLOWED,
            remedy="Compute the column before the fit, row by row, and declare it.",
        )
