"""Parse trees of terms: the same sum as a shallower tree, and the factors as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


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
