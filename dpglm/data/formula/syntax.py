"""Syntax trees of pieces of a formula: names, constants and arguments, with carets where they are wrong."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from dpglm.data.formula.errors import Span, refuse
from dpglm.data.formula.expressions import FUNCTIONS
from dpglm.data.schema.variables import Categorical, Numeric

ALLOWED = (
    "declared columns, numbers, + - * / **, comparisons, I(), C(), Q(), bs(), offset(), center(x, at=50), "
    "scale(x, center=50, by=10), and functions of one row such as log1p(), sqrt() and clip()"
)


@dataclass(frozen=True)
class SyntaxReader:
    """Reads names, constants and arguments in one formula.

    Parameters
    ----------
    formula : str
        The whole formula, on one line.
    variables : mapping of str to Numeric or Categorical
        The declarations of the schema.

    Examples
    --------
    >>> reader = SyntaxReader("y ~ age", {"age": Numeric(18, 95)})
    >>> reader.column(reader.tree((4, 7)))
    'age'
    """

    formula: str
    variables: Mapping[str, Numeric | Categorical]

    def tree(self, span: Span) -> ast.expr:
        """The syntax tree of ``formula[span]``."""
        before, text = self.formula[: span[0]], self.formula[slice(*span)]
        # Blanks put every node at its place in the formula (in bytes, as ast counts) plus one for the
        # bracket, which keeps leading blanks from mattering.
        blanks = " " * len(before.encode())
        try:
            found = ast.parse(f"({blanks}{text})", mode="eval").body
        except SyntaxError as error:
            at = (error.offset or 2) - 2 - (len(blanks) - len(before))
            at = min(max(at, span[0]), max(span[0], span[1] - 1))
            raise refuse(
                "This is not an expression.",
                self.formula,
                (at, span[1]),
                expected=ALLOWED,
                remedy="Mend the syntax at the caret; list columns by name.",
            ) from None
        except (ValueError, RecursionError, MemoryError):
            raise refuse(
                "This cannot be parsed.",
                self.formula,
                span,
                expected=ALLOWED,
                remedy="Write it shorter, with fewer parentheses.",
            ) from None
        if not text.isascii():
            self._refuse_lookalikes(found)
        return found

    def _refuse_lookalikes(self, tree: ast.expr) -> None:
        """Refuse names that Python reads as others: a ligature or a wide letter would mean another column."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Name | ast.Attribute):
                read = node.id if isinstance(node, ast.Name) else node.attr
                written = self._text(node)
                if written != read and not (isinstance(node, ast.Attribute) and written.endswith(read)):
                    self.fail(
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

    def fail(self, node: ast.expr | ast.keyword, problem: str, *, expected: str, remedy: str) -> NoReturn:
        """Refuse a node."""
        raise refuse(problem, self.formula, self.span(node), expected=expected, remedy=remedy)

    def constant(self, node: ast.expr) -> float:
        """A number written out, with its sign."""
        sign = 1.0
        inner = node
        while isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub | ast.UAdd):
            sign = -sign if isinstance(inner.op, ast.USub) else sign
            inner = inner.operand
        found = inner.value if isinstance(inner, ast.Constant) else None
        if isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e300:
            return sign * float(found)
        return self.fail(
            node,
            "This is not a finite number.",
            expected="a number such as 50 or 0.5",
            remedy="Write the number out; it must not depend on the data.",
        )

    def column(self, node: ast.expr) -> str | None:
        """The column that a name or Q("name") stands for; None where it is something else."""
        if isinstance(node, ast.Name):
            if node.id in self.variables:
                return node.id
            self._unknown(node, node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            inner = self.arguments(node, "Q", ("name",))["name"]
            if not isinstance(inner, ast.Constant) or not isinstance(inner.value, str):
                self.fail(
                    node,
                    "Q() takes a column name in quotes.",
                    expected='Q("odd name")',
                    remedy="Write the name in quotes.",
                )
            if inner.value in self.variables:
                return inner.value
            self._unknown(node, inner.value)
        return None

    def _unknown(self, node: ast.expr, name: str) -> NoReturn:
        close = difflib.get_close_matches(name, list(self.variables), n=1)
        shown = ", ".join(list(self.variables)[:20]) + (", ..." if len(self.variables) > 20 else "")
        hint = f"Did you mean {close[0]}?" if close else f"Declare it in the schema: {name!r}: (low, high)."
        if name in FUNCTIONS or name in ("I", "C", "Q", "bs", "offset", "center", "scale"):
            hint = f"Call it with a column: {name}(x)."
        self.fail(
            node, f"There is no column {name!r} in the schema.", expected=f"one of {shown}", remedy=hint
        )

    def arguments(
        self, node: ast.Call, name: str, names: tuple[str, ...], *, optional: tuple[str, ...] = ()
    ) -> dict[str, ast.expr]:
        """Positional and keyword arguments of a call by name."""
        form = f"{name}({', '.join(names)})"
        found = dict(zip(names, node.args, strict=False))
        surplus: list[ast.expr | ast.keyword] = [*node.args[len(names) :]]
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in found or keyword.arg not in names:
                surplus.append(keyword)
            else:
                found[keyword.arg] = keyword.value
        surplus += [item for item in node.args if isinstance(item, ast.Starred)]
        if surplus:
            self.fail(surplus[0], f"{name}() does not take this.", expected=form, remedy="Leave it out.")
        missing = [part for part in names if part not in found and part not in optional]
        if missing:
            self.fail(node, f"{name}() lacks {missing[0]}.", expected=form, remedy="Fill it in.")
        return found

    def _text(self, node: ast.expr) -> str:
        return self.formula[slice(*self.span(node))]
