"""Errors that point into a formula, and the syntax trees whose places they need."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from dpglm.errors import FormulaError

ALLOWED: Final = (
    "declared columns, numbers, + - * / **, comparisons, I(), C(), Q(), bs(), offset(), center(x, at=50), "
    "scale(x, center=50, by=10), and functions of one row such as log1p(), sqrt() and clip()"
)
_MARGIN = 44  # characters shown on either side of the culprit in a long formula

Span = tuple[int, int]


def formula_error(problem: str, formula: str, span: Span, *, expected: str, remedy: str) -> FormulaError:
    """The error for ``formula[span]``: ``found`` is the problem, the formula, and a line of carets.

    Examples
    --------
    >>> error = formula_error("There is no column 'z'.", "y ~ x + z", (8, 9), expected="x", remedy="Use x.")
    >>> print(error.found)
    There is no column 'z'.
        y ~ x + z
                ^
    """
    start = min(max(span[0], 0), len(formula))
    end = min(max(span[1], start + 1), len(formula) + 1)
    left, right = 0, len(formula)
    if len(formula) > 2 * _MARGIN:
        left = max(0, start - _MARGIN)
        right = min(right, left + 2 * _MARGIN + 12)
    prefix, suffix = "..." * (left > 0), "..." * (right < len(formula))
    # One for one, so that the carets stand where they should: an escape sequence would drive the terminal.
    excerpt = "".join(letter if letter.isprintable() else "\ufffd" for letter in formula[left:right])
    blanks = " " * (start - left + len(prefix))
    carets = "^" * max(1, min(end, right + 1) - start)
    found = f"{problem}\n    {prefix}{excerpt}{suffix}\n    {blanks}{carets}"
    return FormulaError(found, expected=expected, remedy=remedy)


@dataclass(frozen=True)
class FormulaText:
    """The text of a formula, on one line: syntax trees of its pieces, and errors that point at a node.

    Examples
    --------
    >>> text = FormulaText("y ~ log(age)")
    >>> text.of(text.tree((8, 11)))
    'age'
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
            raise formula_error(
                "This is not an expression.",
                self.formula,
                (at, span[1]),
                expected=ALLOWED,
                remedy="Correct the syntax at the caret, and list columns by name.",
            ) from None
        except (ValueError, RecursionError, MemoryError):
            raise formula_error(
                "This cannot be parsed.",
                self.formula,
                span,
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
        self, node: ast.expr | ast.keyword, problem: str, *, expected: str, remedy: str
    ) -> FormulaError:
        """The error that points at a node."""
        return formula_error(problem, self.formula, self.span(node), expected=expected, remedy=remedy)

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
