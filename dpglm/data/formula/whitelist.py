"""The whitelist: the syntax tree of a number becomes a row-wise expression, or an error with a caret.

Nothing is ever evaluated as Python. What is not listed here is refused, so that a formula can neither run
code nor let one row depend on another.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from dpglm.data.formula.bounds import Interval
from dpglm.data.formula.expressions import FUNCTIONS, Expression
from dpglm.data.formula.syntax import ALLOWED, SyntaxReader
from dpglm.data.schema.variables import Categorical, Numeric

_DEPTH = 120  # nested operations in one factor

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
_COLUMN_WISE = {
    "mean",
    "median",
    "std",
    "var",
    "min",
    "max",
    "sum",
    "cumsum",
    "rank",
    "quantile",
    "percentile",
    "cr",
    "cc",
    "te",
    "demean",
    "zscore",
    "diff",
    "cut",
    "qcut",
}


@dataclass(frozen=True)
class ExpressionReader(SyntaxReader):
    """Reads numbers in one formula against the declared variables.

    Examples
    --------
    >>> reader = ExpressionReader("y ~ I(age - 50)", {"age": Numeric(18, 95)})
    >>> reader.number(reader.tree((4, 15))).op
    'subtract'
    """

    @cached_property
    def bounds(self) -> dict[str, Interval]:
        """The declared bounds of all numeric columns."""
        return {
            name: Interval(float(variable.low), float(variable.high))
            for name, variable in self.variables.items()
            if isinstance(variable, Numeric)
        }

    def number(self, node: ast.expr, depth: int = 0) -> Expression:
        """A numeric or comparing expression."""
        span = self.span(node)
        if depth > _DEPTH:
            self.fail(
                node,
                "This is nested too deeply.",
                expected=f"at most {_DEPTH} nested operations",
                remedy="Write it shorter, or add a column with the result to the data.",
            )
        if isinstance(node, ast.Constant):
            return Expression("constant", value=self.constant(node), span=span)
        column = self.column(node)
        if column is not None:
            variable = self.variables[column]
            if isinstance(variable, Categorical):
                self.fail(
                    node,
                    f"{column!r} has levels, and levels are not numbers.",
                    expected="a numeric column",
                    remedy=f"Use it as a factor: {column} or C({column}), "
                    f"or declare it with bounds: {column!r}: (low, high).",
                )
            return Expression("column", name=column, span=span)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.arithmetic(node.operand, depth)
            if isinstance(node.op, ast.UAdd):
                return replace(inner, span=span)
            if inner.op == "constant":
                return Expression("constant", value=-inner.value, span=span)
            return Expression("negative", (inner,), span=span)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            pair = self.arithmetic(node.left, depth), self.arithmetic(node.right, depth)
            return Expression(_OPERATORS[type(node.op)], pair, span=span)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            pair = self.arithmetic(node.left, depth), self.arithmetic(node.comparators[0], depth)
            return Expression(_COMPARISONS[type(node.ops[0])], pair, span=span)
        if isinstance(node, ast.Call):
            found = self._call(node, depth)
            # I() keeps the place of what is inside.
            return found if found.span != (0, 0) else replace(found, span=span)
        return self._refuse_rest(node)

    def arithmetic(self, node: ast.expr, depth: int = 0) -> Expression:
        """An operand; numpy has no arithmetic on truth values that a statistician would expect."""
        found = self.number(node, depth + 1)
        if found.boolean:
            self.fail(
                node,
                "A comparison is not a number.",
                expected="a number",
                remedy="Use the comparison as a factor of its own, or clip() and minimum() for kinks.",
            )
        return found

    def _call(self, node: ast.Call, depth: int) -> Expression:
        name = self._function_name(node)
        if name == "I":
            return self.number(self.arguments(node, "I", ("x",))["x"], depth + 1)
        if name in FUNCTIONS:
            _, count = FUNCTIONS[name]
            if name == "clip":
                return self._clip(node, depth)
            inner = self.arguments(node, name, ("x", "y")[:count])
            return Expression(name, tuple(self.arithmetic(part, depth) for part in inner.values()))
        if name == "center":
            return self._centre(node, depth)
        if name in ("scale", "standardize"):
            return self._scale(node, name, depth)
        if name in ("bs", "offset", "C"):
            self.fail(
                node,
                f"{name}() cannot stand inside an expression.",
                expected="a term of its own",
                remedy=f"Write {name}(...) as a term, joined to others by +, : or *.",
            )
        if name in _COLUMN_WISE:
            self.fail(
                node,
                f"{name}() reads the whole column, so every row would depend on every other "
                "and no noise could be calibrated.",
                expected="a function of one row",
                remedy="Use a fixed number instead, as in I(age - 50); for a smooth curve use "
                "bs(x, df=5), whose knots come from the declared bounds.",
            )
        return self.fail(
            node,
            f"{name}() is not a function that a formula may call."
            if name
            else "This call is not allowed in a formula.",
            expected=ALLOWED,
            remedy="Compute the column before the fit, row by row, and declare it.",
        )

    def _function_name(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Name):
            return function.id
        if isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            numpy = owner in ("np", "numpy") and owner not in self.variables
            if not numpy or (function.attr not in FUNCTIONS and function.attr not in _COLUMN_WISE):
                self._refuse_attribute(function, called=True)
            return function.attr
        return ""

    def _clip(self, node: ast.Call, depth: int) -> Expression:
        numpy = any(keyword.arg == "a_min" for keyword in node.keywords)
        names = ("x", "a_min", "a_max") if numpy else ("x", "min", "max")
        parts = self.arguments(node, "clip", names)
        low, high = (self.constant(parts[key]) for key in names[1:])
        if low > high:
            self.fail(
                node,
                "clip() has its bounds reversed.",
                expected="clip(x, low, high) with low <= high",
                remedy="Swap the two numbers.",
            )
        ends = tuple(Expression("constant", value=end) for end in (low, high))
        return Expression("clip", (self.arithmetic(parts["x"], depth), *ends))

    def _centre(self, node: ast.Call, depth: int) -> Expression:
        parts = self.arguments(node, "center", ("x", "at"), optional=("at",))
        if "at" not in parts:
            self._learns(node, "center", "the mean", f"center({self._text(parts['x'])}, at=50)")
        at = Expression("constant", value=self.constant(parts["at"]))
        return Expression("subtract", (self.arithmetic(parts["x"], depth), at))

    def _scale(self, node: ast.Call, name: str, depth: int) -> Expression:
        parts = self.arguments(node, name, ("x", "center", "by"), optional=("center", "by"))
        if "center" not in parts or "by" not in parts:
            self._learns(
                node,
                name,
                "the mean and the standard deviation",
                f"{name}({self._text(parts['x'])}, center=50, by=10)",
            )
        centre, by = (Expression("constant", value=self.constant(parts[key])) for key in ("center", "by"))
        if by.value == 0.0:
            self.fail(parts["by"], "Division by 0.", expected="by > 0", remedy="Give a positive number.")
        span = self.span(node)
        shifted = Expression("subtract", (self.arithmetic(parts["x"], depth), centre), span=span)
        return Expression("divide", (shifted, by))

    def _learns(self, node: ast.expr, name: str, what: str, declared: str) -> NoReturn:
        self.fail(
            node,
            f"{name}() learns {what} of the whole column, so every row would depend on every other "
            "and no noise could be calibrated.",
            expected="a function of one row and fixed numbers",
            remedy=f"Name the numbers: {declared}, or leave it: columns are scaled by their declared bounds.",
        )

    def _refuse_attribute(self, node: ast.Attribute, *, called: bool = False) -> NoReturn:
        what = "A method call" if called else "Attribute access"
        self.fail(
            node,
            f"{what} is not allowed in a formula: it could read the whole column or run code.",
            expected=ALLOWED,
            remedy="Use a fixed number instead, as in I(age - 50).",
        )

    def _refuse_rest(self, node: ast.expr) -> NoReturn:
        if isinstance(node, ast.Attribute):
            self._refuse_attribute(node)
        kind = {
            ast.Subscript: "Indexing",
            ast.Lambda: "A lambda",
            ast.ListComp: "A comprehension",
            ast.BoolOp: "and/or",
            ast.Compare: "A chain of comparisons",
            ast.Constant: "This constant",
            ast.JoinedStr: "An f-string",
            ast.IfExp: "if/else",
            ast.NamedExpr: "An assignment",
        }.get(type(node), "This")
        self.fail(
            node,
            f"{kind} is not allowed in a formula.",
            expected=ALLOWED,
            remedy="Compute the column before the fit, row by row, and declare it.",
        )
