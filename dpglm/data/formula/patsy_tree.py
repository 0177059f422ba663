"""Trees and factors of patsy: how many terms a tree stands for, a shallower tree of the same sum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dpglm.data.formula.errors import formula_error

MOST_COLUMNS: Final = 5_000
_MOST_NESTED_FACTORS = 64  # in one term, before repeated ones are merged


def check_growth(text: str, tree: Any) -> None:
    """Bound the number of terms and of factors in one before patsy multiplies anything out."""
    sizes: dict[int, tuple[int, int]] = {}  # node -> (terms, factors in the largest)
    stack = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack += [(child, False) for child in node.args]
            continue
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
            raise formula_error(
                "This multiplies out to too many terms.",
                text,
                (node.origin.start, node.origin.end),
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
    waiting: list[Any] = []

    def merged(nodes: list[Any]) -> Any:
        if len(nodes) == 1:
            return nodes[0]
        half = len(nodes) // 2
        pair = [merged(nodes[:half]), merged(nodes[half:])]
        return node_of("+", None, pair, pair[0].origin)

    def joined(tree: Any) -> Any:
        return node_of("+", None, [tree, merged(waiting)], tree.origin) if waiting else tree

    for step in reversed(steps):
        operand = step.args[1]
        if step.type == "+" and operand.type not in ("ZERO", "ONE"):
            waiting.append(operand)
        else:
            tree = node_of(step.type, step.token, [joined(tree), operand], step.origin)
            waiting = []
    return joined(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """The factors of a formula from left to right, whether patsy keeps them or a minus takes them out."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.args)
        if node.type == "PYTHON_EXPR":
            yield node


@dataclass(frozen=True)
class StandIn:
    """What patsy sees of a factor: its name and what it gives on the template rows."""

    code: str
    origin: Any
    template: Any

    def __hash__(self) -> int:
        return hash(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and other.code == self.code

    def name(self) -> str:
        return self.code

    def memorize_passes_needed(self, state: dict[str, Any], eval_env: Any) -> int:
        return 0

    def eval(self, state: dict[str, Any], data: Any) -> Any:
        return self.template
