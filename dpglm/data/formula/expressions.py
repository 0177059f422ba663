"""Row-wise expressions: a small tree that can be evaluated on whole columns, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.errors import Span

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Expression:
    """A function of the declared columns of one row.

    Two expressions are equal when they compute the same thing in the same way; where they stand in
    the formula does not matter.

    Parameters
    ----------
    op : str
        ``"column"``, ``"constant"`` or a key of ``OPERATIONS``.
    args : tuple of Expression
        What the operation is applied to.
    name : str
        The column, for ``"column"``.
    value : float
        The number, for ``"constant"``.
    span : tuple of int
        Where it stands in the formula.

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
        return OPERATIONS[self.op](*(part.evaluate(columns) for part in self.args))

    def column_names(self) -> Iterator[str]:
        """The columns it reads, in order of mention, with repeats."""
        if self.op == "column":
            yield self.name
        for part in self.args:
            yield from part.column_names()

    @property
    def boolean(self) -> bool:
        """True for a comparison, which is a factor with the levels False and True."""
        return self.op in COMPARISONS


def _power(base: Any, exponent: Any) -> Any:
    # x * x is rounded correctly everywhere, which the tight bounds of even powers rely on.
    if isinstance(exponent, float) and exponent == 2.0:
        return base * base
    return np.power(base, exponent)


def _compare(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def compare(left: Any, right: Any) -> Any:
        return ufunc(left, right).astype(np.float64)

    return compare


def _clip(values: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(values, low), high)


COMPARISONS: dict[str, Callable[..., Any]] = {
    "less": _compare(np.less),
    "less_equal": _compare(np.less_equal),
    "greater": _compare(np.greater),
    "greater_equal": _compare(np.greater_equal),
    "equal": _compare(np.equal),
    "not_equal": _compare(np.not_equal),
}

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "power": _power,
}

# What a formula may call by name, with or without np. in front, and how many arguments each takes.
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "log": (np.log, 1),
    "log1p": (np.log1p, 1),
    "log2": (np.log2, 1),
    "log10": (np.log10, 1),
    "exp": (np.exp, 1),
    "expm1": (np.expm1, 1),
    "sqrt": (np.sqrt, 1),
    "abs": (np.abs, 1),
    "sin": (np.sin, 1),
    "cos": (np.cos, 1),
    "tanh": (np.tanh, 1),
    "minimum": (np.minimum, 2),
    "maximum": (np.maximum, 2),
    "clip": (_clip, 3),
}

OPERATIONS: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    **COMPARISONS,
    **{name: function for name, (function, _) in FUNCTIONS.items()},
}
