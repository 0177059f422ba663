"""Expressions: row-wise functions of declared columns, their bounds, and where they stand in a formula.

Interval arithmetic carries the declared bounds of columns to what a formula makes of them.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.operations import OPERATIONS, Interval, Undefined, truth
from dpglm.errors import FormulaError
from dpglm.typing import encodable

Span: TypeAlias = tuple[int, int]
Values: TypeAlias = NDArray[np.float64]

ALLOWED: Final = (
    "declared columns, numbers, + - * / **, comparisons, I(), C(), Q(), bs(), offset(), center(x, at=50), "
    "scale(x, center=50, by=10), and functions of one row such as log1p(), sqrt() and clip()"
)
_MARGIN: Final = 44  # characters shown on either side of the culprit in a long formula
_MOST_CHARACTERS: Final = 20_000


def one_line(formula: str) -> str:
    if not isinstance(formula, str):
        raise FormulaError(
            f"formula of type {type(formula).__name__}",
            expected="a string such as 'y ~ x1 + x2'",
            remedy="Write the formula as a string.",
        )
    if len(formula) > _MOST_CHARACTERS:
        raise FormulaError(
            f"a formula of {len(formula):,} characters",
            expected=f"at most {_MOST_CHARACTERS:,}",
            remedy="Use fewer or shorter terms.",
        )
    if not encodable(formula):
        raise FormulaError(
            "a formula with half a character (a lone surrogate)",
            expected="text of whole characters",
            remedy="Retype the formula, or rename the column that its text was taken from.",
        )
    return "".join(" " if letter in "\n\r\f\v\t" else letter for letter in formula).rstrip()


@dataclass(frozen=True)
class FormulaText:
    """The text of a formula, on one line: syntax trees of its pieces, and errors that point at a node.

    Examples
    --------
    >>> text = FormulaText("y ~ log(age)")
    >>> text.of(text.tree((8, 11)))
    'age'
    >>> print(text.error((8, 11), "There is no column 'age'.", expected="x", remedy="Use x.").found)
    There is no column 'age'.
        y ~ log(age)
                ^^^
    """

    formula: str

    def tree(self, span: Span) -> ast.expr:
        """The Python syntax tree of ``formula[span]``."""
        before, piece = self.formula[: span[0]], self.formula[slice(*span)]
        # Blanks put every node at its place in the formula (in bytes, as ast counts) plus one for the
        # bracket, which keeps leading blanks from mattering.
        blanks = " " * len(before.encode())
        try:
            tree = ast.parse(f"({blanks}{piece})", mode="eval").body
        except SyntaxError as error:
            at = (error.offset or 2) - 2 - (len(blanks) - len(before))
            at = min(max(at, span[0]), max(span[0], span[1] - 1))
            raise self.error(
                (at, span[1]),
                "This is not an expression.",
                expected=ALLOWED,
                remedy="Correct the syntax at the caret, and list columns by name.",
            ) from None
        except (ValueError, RecursionError, MemoryError):
            raise self.error(
                span,
                "This cannot be parsed.",
                expected=ALLOWED,
                remedy="Write it shorter, with fewer parentheses.",
            ) from None
        if not piece.isascii():
            self._require_plain_names(tree)
        return tree

    def _require_plain_names(self, tree: ast.expr) -> None:
        """Refuse names that Python reads as others: a ligature or a wide letter would mean another column."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                read = node.id if isinstance(node, ast.Name) else node.attr
                written = self.of(node)
                if written != read and not (isinstance(node, ast.Attribute) and written.endswith(read)):
                    raise self.error(
                        node,
                        f"This name would be read as {read!r}.",
                        expected="letters that stand for themselves",
                        remedy=f'Write {read}, or Q("...") around the name of a column.',
                    )

    def span(self, node: ast.expr | ast.keyword) -> Span:
        """Where a node stands in the formula."""
        raw = self.formula.encode()
        ends = (node.col_offset - 1, (node.end_col_offset or node.col_offset) - 1)
        first, last = (len(raw[:end].decode(errors="ignore")) for end in ends)
        return first, last

    def of(self, node: ast.expr) -> str:
        """The text of a node."""
        return self.formula[slice(*self.span(node))]

    def error(
        self, where: ast.expr | ast.keyword | Span | None, problem: str, *, expected: str, remedy: str
    ) -> FormulaError:
        """The error that points at a node or a span, or at the whole formula: a line of carets below it."""
        formula = self.formula
        if where is None:
            where = 0, len(formula)
        span = where if isinstance(where, tuple) else self.span(where)
        start = min(max(span[0], 0), len(formula))
        end = min(max(span[1], start + 1), len(formula) + 1)
        left, right = 0, len(formula)
        if len(formula) > 2 * _MARGIN:
            left = max(0, start - _MARGIN)
            right = min(right, left + 2 * _MARGIN + 12)
        prefix, suffix = "..." * (left > 0), "..." * (right < len(formula))
        # One for one, so that the carets stand where they should; an escape would drive the terminal.
        excerpt = "".join(letter if letter.isprintable() else "\ufffd" for letter in formula[left:right])
        blanks = " " * (start - left + len(prefix))
        carets = "^" * max(1, min(end, right + 1) - start)
        excerpt_lines = f"{problem}\n    {prefix}{excerpt}{suffix}\n    {blanks}{carets}"
        return FormulaError(excerpt_lines, expected=expected, remedy=remedy)

    def constant(self, node: ast.expr) -> float:
        """A number written out, with its sign."""
        sign, inner = 1.0, node
        while isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub | ast.UAdd):
            sign = -sign if isinstance(inner.op, ast.USub) else sign
            inner = inner.operand
        value = inner.value if isinstance(inner, ast.Constant) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            return sign * float(value)
        raise self.error(
            node,
            "This is not a finite number.",
            expected="a number such as 50 or 0.5",
            remedy="Write the number out; it must not depend on the data.",
        )

    def arguments(
        self, call: ast.Call, name: str, names: tuple[str, ...], *, optional: tuple[str, ...] = ()
    ) -> dict[str, ast.expr]:
        """Positional and keyword arguments of a call by name."""
        form = f"{name}({', '.join(names)})"
        by_name = dict(zip(names, call.args, strict=False))
        surplus: list[ast.expr | ast.keyword] = [*call.args[len(names) :]]
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg in by_name or keyword.arg not in names:
                surplus.append(keyword)
            else:
                by_name[keyword.arg] = keyword.value
        surplus += [item for item in call.args if isinstance(item, ast.Starred)]
        if surplus:
            raise self.error(
                surplus[0], f"{name}() does not take this.", expected=form, remedy="Leave it out."
            )
        missing = [item for item in names if item not in by_name and item not in optional]
        if missing:
            raise self.error(call, f"{name}() lacks {missing[0]}.", expected=form, remedy="Add it.")
        return by_name


@dataclass(frozen=True)
class Expression:
    """A function of the declared columns of one row.

    ``op`` is ``"column"`` with a name, ``"constant"`` with a value, or a key of ``OPERATIONS``, applied to
    ``args``. Two expressions are equal when they compute the same thing in the same way; where they stand in
    the formula (``span``) does not matter.

    Examples
    --------
    >>> age = Expression("column", name="age")
    >>> older = Expression("add", (age, Expression("constant", value=1.0)))
    >>> older.evaluate({"age": np.array([18.0, 40.0])})
    array([19., 41.])
    """

    op: str
    args: tuple[Expression, ...] = ()
    name: str = ""
    value: float = 0.0
    span: Span = field(default=(0, 0), compare=False)

    def evaluate(self, columns: Mapping[str, Values]) -> Any:
        """Values for all rows at once, shape (k,); a bare number where no column is involved."""
        if self.op == "column":
            return columns[self.name]
        if self.op == "constant":
            return self.value
        return OPERATIONS[self.op].function(*(part.evaluate(columns) for part in self.args))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, in order of mention."""
        inner = (name for part in self.args for name in part.columns)
        return (self.name,) if self.op == "column" else tuple(dict.fromkeys(inner))

    @property
    def boolean(self) -> bool:
        """True for a comparison, which is a factor with the levels False and True."""
        return self.op in OPERATIONS and OPERATIONS[self.op].interval is truth


def clipped(expression: Expression, low: float, high: float) -> Expression:
    """The expression, with values outside the bounds moved to the nearer one."""
    ends = (Expression("constant", value=end) for end in (low, high))
    return Expression("clip", (expression, *ends), span=expression.span)


def interval(expression: Expression, bounds: Mapping[str, Any], *, formula: str = "") -> Interval:
    """An interval that holds the value of ``expression`` for every row inside the declared bounds.

    Exact for arithmetic in which no column appears twice, for integer powers, ``abs`` and monotone
    functions; an enclosure otherwise. ``bounds`` gives each column's ``low`` and ``high``.

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
    if expression.op == "column":
        declared = bounds[expression.name]
        return Interval(float(declared.low), float(declared.high))
    arguments = [interval(part, bounds, formula=formula) for part in expression.args]
    with np.errstate(all="ignore"):
        try:
            if expression.op == "constant":
                result = Interval(expression.value, expression.value)
            else:
                result = OPERATIONS[expression.op].interval(expression.op, *arguments)
        except Undefined as error:
            problem, expected, remedy, argument = error.args
            culprit = expression if argument is None else expression.args[argument]
            text = FormulaText(formula)
            raise text.error(culprit.span, problem, expected=expected, remedy=remedy) from None
    if math.isfinite(result.low) and math.isfinite(result.high):
        return result
    raise FormulaText(formula).error(
        expression.span,
        "This is too large for a number within the declared bounds.",
        expected="finite values for every row that the schema allows",
        remedy="Declare tighter bounds, or use a function that grows slower, such as log1p() or tanh().",
    )
