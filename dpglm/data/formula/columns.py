"""Columns of a formula and what each would be used for, before anything is declared of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dpglm.data.formula.expressions import one_line
from dpglm.data.formula.limits import span_of
from dpglm.data.formula.parse import nodes_of, sides
from dpglm.data.formula.reader import Reader

Kind = Literal["number", "levels", "either"]


@dataclass(frozen=True)
class ColumnUse:
    """What a formula does with one column.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "levels", "either"}
        What it must be: ``"either"`` where the declaration decides.
    parts : tuple of str
        The pieces of the formula that read it; none of the response.
    is_time : bool
        Whether it is the time of ``Surv(time, event)``.
    """

    name: str
    kind: Kind
    parts: tuple[str, ...] = ()
    is_time: bool = False

    @property
    def words(self) -> str:
        """What the column would be used for."""
        if self.is_time:
            return "the time: bounds of whole periods, or levels in their order"
        if not self.parts:
            return "the response: two levels, the second the success, ordered ones, or bounds of a number"
        need = {
            "number": "a number",
            "levels": "levels, a coefficient for each but the first",
            "either": "a number with one slope, or levels",
        }[self.kind]
        parts = [part for part in self.parts if part != self.name]
        return f"{need}; used in {', '.join(parts[:3])}" if parts else need


def formula_columns(formula: str) -> tuple[ColumnUse, ...]:
    """The columns that a formula names, the response first; nothing needs to be declared.

    Raises
    ------
    FormulaError
        Wrong syntax. What the whitelist refuses is told by `parse`, which needs the schema.

    Examples
    --------
    >>> for use in formula_columns("ill ~ age + np.log(pay) + C(job):age"):
    ...     print(use.name, "-", use.words)
    ill - the response: two levels, the second the success, ordered ones, or bounds of a number
    age - a number with one slope, or levels
    pay - a number; used in np.log(pay)
    job - levels, a coefficient for each but the first; used in C(job)
    >>> for use in formula_columns("Surv(week, left) ~ age"):
    ...     print(use.name, "-", use.words)
    week - the time: bounds of whole periods, or levels in their order
    left - the response: two levels, the second the success, ordered ones, or bounds of a number
    age - a number with one slope, or levels
    """
    reader = Reader(one_line(formula), {})
    left, right = sides(reader)
    uses: dict[str, ColumnUse] = {}
    tree = reader.tree(span_of(left))
    for name, _ in _named(tree):
        uses[name] = ColumnUse(name, "either", is_time=name == _time(tree))
    response = set(uses)
    leaves: list[Any] = [node for node in nodes_of(right) if node.type == "PYTHON_EXPR"]
    for leaf in sorted(leaves, key=span_of):
        start, end = span_of(leaf)
        part = reader.formula[start:end].strip()
        for name, kind in _named(reader.tree((start, end))):
            if name in response:
                continue
            known = uses.get(name, ColumnUse(name, kind))
            needed = kind if known.kind == "either" else known.kind
            uses[name] = ColumnUse(name, needed, tuple(dict.fromkeys((*known.parts, part))))
    return tuple(uses.values())


def _time(tree: ast.expr) -> str | None:
    """The column of the time in Surv(time, event)."""
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Surv"):
        return None
    given = [*tree.args[:1], *(word.value for word in tree.keywords if word.arg == "time")]
    return _column(given[0]) if given else None


def _named(tree: ast.expr) -> Iterator[tuple[str, Kind]]:
    """Columns in the syntax tree of one factor, and what each must be there."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C":
        given = [*tree.args, *(word.value for word in tree.keywords if word.arg == "x")]
        yield from ((name, "levels") for name, _ in (_named(given[0]) if given else ()))
    elif (name := _column(tree)) is not None:
        yield name, "either"
    else:
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        owners = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if (name := _column(node)) is not None and id(node) not in called | owners:
                yield name, "number"


def _column(node: ast.AST) -> str | None:
    """The column that a name or Q("name") stands for."""
    if isinstance(node, ast.Name):
        return node.id
    quoted = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q"
    if quoted and node.args and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
        value = node.args[0].value  # type: ignore[attr-defined]
        return value if isinstance(value, str) else None
    return None
