"""Row-wise functions: expressions and B-splines, evaluated on whole columns, each row by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.errors import Span
from dpglm.typing import FloatMatrix, FloatVector

Values = NDArray[np.float64]


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
        return OPERATIONS[self.op](*(part.evaluate(columns) for part in self.args))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, in order of mention."""
        inner = (name for part in self.args for name in part.columns)
        return (self.name,) if self.op == "column" else tuple(dict.fromkeys(inner))

    @property
    def boolean(self) -> bool:
        """True for a comparison, which is a factor with the levels False and True."""
        return self.op in COMPARISONS


def clipped(expression: Expression, low: float, high: float) -> Expression:
    """The expression, with values outside the bounds moved to the nearer one."""
    ends = (Expression("constant", value=end) for end in (low, high))
    return Expression("clip", (expression, *ends), span=expression.span)


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
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "power": _power,
    **COMPARISONS,
    **{name: function for name, (function, _) in FUNCTIONS.items()},
}


@dataclass(frozen=True)
class Spline:
    """A B-spline basis on ``[low, high]`` whose knots are public.

    All columns together are >= 0 and add up to 1 in every row. A formula uses all but the first, as
    patsy and R do. The inner knots increase strictly between the boundary knots ``low`` and ``high``; values
    outside count as the nearer one. Degree 3 gives cubic pieces.

    Examples
    --------
    >>> Spline(0.0, 2.0, (1.0,), 1).basis(np.array([0.0, 0.5, 2.0]))
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    low: float
    high: float
    knots: tuple[float, ...]
    degree: int

    @property
    def size(self) -> int:
        """Number of columns of the whole basis."""
        return len(self.knots) + self.degree + 1

    def basis(self, values: FloatVector) -> FloatMatrix:
        """The whole basis, shape (size, k), for values of shape (k,); NaN where the value is NaN.

        References
        ----------
        .. [1] de Boor (2001), "A Practical Guide to Splines", chapter X, algorithm BSPLVB.
        """
        degree = self.degree
        t = np.concatenate([np.full(degree + 1, self.low), self.knots, np.full(degree + 1, self.high)])
        x = np.clip(values, self.low, self.high)
        # The last piece is closed on the right: the upper bound belongs to it. NaN falls there too.
        piece = degree + np.searchsorted(np.asarray(self.knots), x, side="right")
        local = np.zeros((degree + 1, x.size))
        local[0] = np.where(np.isnan(x), np.nan, 1.0)
        for order in range(1, degree + 1):
            carried = np.zeros(x.size)
            for j in range(order):
                right, left = t[piece + j + 1], t[piece + j + 1 - order]
                share = local[j] / (right - left)
                local[j] = carried + (right - x) * share
                carried = (x - left) * share
            local[order] = carried
        out = np.zeros((self.size, x.size))
        rows = np.arange(x.size)
        for j in range(degree + 1):
            out[piece - degree + j, rows] = local[j]
        return out
