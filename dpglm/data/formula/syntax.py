"""Syntax of a formula: errors that point into it, trees of its factors (Python) and of its terms (patsy)."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dpglm.errors import FormulaError

ALLOWED: Final = (
    "declared columns, numbers, + - * / **, comparisons, I(), C(), Q(), bs(), offset(), center(x, at=50), "
    "scale(x, center=50, by=10), and functions of one row such as log1p(), sqrt() and clip()"
)
_MARGIN = 44  # characters shown on either side of the culprit in a long formula

Span = tuple[int, int]


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


MOST_COLUMNS: Final = 5_000
_MOST_NESTED_FACTORS = 64  # in one term, before repeated ones are merged


def check_growth(text: FormulaText, tree: Any) -> None:
    """Bound the number of terms and of factors in one before patsy multiplies anything out."""
    nodes = [tree]
    for node in nodes:
        nodes += node.args
    sizes: dict[int, tuple[int, int]] = {}  # node -> (terms, factors in the largest)
    for node in reversed(nodes):
        below = [sizes[id(child)] for child in node.args]
        count, order = 1, 1
        if node.type == "**":
            (terms, factors), power = below[0], _exponent(node.args[1])
            power = min(power, terms)
            count = sum(math.comb(terms, k) for k in range(1, min(power, 16) + 1))
            order = factors * power
        elif len(below) == 2 and node.type in "*:/":
            (a, m), (b, n) = below
            count = {"*": a + b + a * b, ":": a * b, "/": a + b}[node.type]
            order = m + n if node.type != "/" else a * m + n
        elif below:
            count, order = sum(terms for terms, _ in below), max(factors for _, factors in below)
        if count > MOST_COLUMNS or order > _MOST_NESTED_FACTORS:
            raise text.error(
                span_of(node),
                "This multiplies out to too many terms.",
                expected=f"at most {MOST_COLUMNS:,} columns",
                remedy="Name the interactions wanted.",
            )
        sizes[id(node)] = count, order


def _exponent(node: Any) -> int:
    text = node.token.extra if node.type in ("ONE", "NUMBER") else "1"
    try:
        return max(1, int(text))
    except (TypeError, ValueError):
        return 1  # patsy says what is wrong with it


def balanced(tree: Any) -> Any:
    """The same sum as a shallow tree: patsy's evaluator is recursive, and 800 columns are not unusual."""
    node_of = type(tree)  # patsy's, whose only door is the formula file
    steps = []
    while tree.type in ("+", "-") and len(tree.args) == 2:
        steps.append(tree)
        tree = tree.args[0]

    def added(left: Any, right: Any) -> Any:
        return node_of("+", None, [left, right], left.origin)

    def adds_terms(step: Any) -> bool:
        return step.type == "+" and step.args[1].type not in ("ZERO", "ONE")

    for terms_alone, run in itertools.groupby(reversed(steps), adds_terms):
        if terms_alone:
            nodes = [step.args[1] for step in run]
            while len(nodes) > 1:
                nodes = [*map(added, nodes[::2], nodes[1::2]), *nodes[len(nodes) // 2 * 2 :]]
            tree = added(tree, nodes[0])
        else:
            for step in run:
                tree = node_of(step.type, step.token, [tree, step.args[1]], step.origin)
    return tree


def span_of(item: Any) -> Span:
    """Where a node, a factor or an error of patsy points."""
    return item.origin.start, item.origin.end


def leaves(tree: Any) -> Iterator[Any]:
    """The factors of a formula from left to right, whether patsy keeps them or a minus takes them out."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.args)
        if node.type == "PYTHON_EXPR":
            yield node
