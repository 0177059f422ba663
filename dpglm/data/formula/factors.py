"""The factors of a formula and their public geometry: where the values of one factor can lie.

Every factor has centred coordinates ``c``: a number (x - mid) / (high - low) for a numeric one, the
corners of a centred simplex for a categorical one, points inside such a simplex for a spline. A row can only
lie in the convex hull of ``corners``, whatever the data are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.splines import Spline
from dpglm.typing import FloatMatrix


@lru_cache(maxsize=256)
def simplex_corners(levels: int) -> FloatMatrix:
    """The corners of the centred simplex, shape (levels, levels - 1); row l belongs to level l.

    For three levels and more, rows of an orthonormal basis of the vectors that add up to zero, so that
    each has squared norm ``1 - 1/levels``; for two levels the numbers -1/2 and 1/2.

    Examples
    --------
    >>> simplex_corners(2).ravel()
    array([-0.5,  0.5])
    >>> (simplex_corners(5) ** 2).sum(axis=1).round(12)
    array([0.8, 0.8, 0.8, 0.8, 0.8])
    """
    if levels == 2:
        corners = np.array([[-0.5], [0.5]])
    else:
        # Normalised Helmert contrasts: level j + 1 against the mean of the levels before it.
        corners = np.zeros((levels, levels - 1))
        for j in range(1, levels):
            corners[:j, j - 1] = -1.0
            corners[j, j - 1] = j
            corners[:, j - 1] /= np.sqrt(j * (j + 1.0))
    corners.setflags(write=False)
    return corners


@dataclass(frozen=True)
class Factor(ABC):
    """One factor of a formula.

    Parameters
    ----------
    name : str
        As patsy writes it.
    effect : float, optional
        Declared prior scale of its coefficients: the largest that the schema declares of its columns.

    Attributes
    ----------
    share : float
        Public weight of its squared coordinates in the squared norm of a row.
    usual_effect : float
        The prior scale where nothing is declared.
    """

    name: str
    effect: float | None = field(default=None, kw_only=True)

    share: ClassVar[float]
    role: ClassVar[str]
    usual_effect: ClassVar[float]

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for two factors whose coordinates are the same function of a row."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The declared columns it reads."""

    @property
    @abstractmethod
    def corners(self) -> FloatMatrix:
        """Points whose convex hull holds the coordinates of every row, shape (m, size)."""

    @abstractmethod
    def affine(self, table: FloatMatrix | None) -> FloatMatrix:
        """User columns as affine functions of the coordinates, shape (1 + size, columns).

        ``table`` holds the value of each user column at each level; None for numeric factors.
        """

    @abstractmethod
    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """What a row says about the factor: values (k,), codes (k,) or a spline basis (m, k)."""

    @property
    def prior(self) -> float:
        """Prior standard deviation of a coefficient per unit of a coordinate."""
        return self.usual_effect if self.effect is None else self.effect

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.corners.shape[1])

    @property
    def bound(self) -> float:
        """The largest squared norm of the coordinates, attained at a corner."""
        return float((self.corners**2).sum(axis=1).max())


@dataclass(frozen=True)
class NumericFactor(Factor):
    """A number between public bounds; ``low < high``."""

    expression: Expression
    low: float
    high: float

    share = 2.0
    role = "slope"
    usual_effect = 3.0

    @property
    def key(self) -> Hashable:
        return self.expression

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.expression.column_names()))

    @property
    def middle(self) -> float:
        """The middle of the bounds, where the coordinate is 0."""
        return self.low + (self.high - self.low) / 2

    @property
    def corners(self) -> FloatMatrix:
        return simplex_corners(2)

    def affine(self, table: FloatMatrix | None) -> FloatMatrix:
        return np.array([[self.middle], [self.high - self.low]])

    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        values: NDArray[Any] = self.expression.evaluate(columns)
        if self.expression.op == "column":
            return values  # within these bounds already: the schema has cleaned it
        clipped: NDArray[Any] = np.clip(values, self.low, self.high)
        return clipped


@dataclass(frozen=True)
class SimplexFactor(Factor):
    """A factor whose rows are weights on levels: ``levels`` is how many."""

    share = 1.0
    usual_effect = 1.0

    @property
    @abstractmethod
    def level_count(self) -> int:
        """Number of levels."""

    @property
    def corners(self) -> FloatMatrix:
        return simplex_corners(self.level_count)

    def affine(self, table: FloatMatrix | None) -> FloatMatrix:
        assert table is not None
        # Weights e on the levels are 1/L + P c with P = corners, except that two levels have +-1/2.
        spread = self.corners * (2.0 if self.level_count == 2 else 1.0)
        return np.vstack([table.mean(axis=0), spread.T @ table])


@dataclass(frozen=True)
class LevelFactor(SimplexFactor):
    """A categorical column with declared levels, or a comparison with the levels False and True."""

    source: str | Expression
    levels: tuple[Any, ...]

    @property
    def role(self) -> str:  # type: ignore[override]
        """``"binary"`` or ``"levels"``."""
        return "binary" if len(self.levels) == 2 else "levels"

    @property
    def key(self) -> Hashable:
        return self.source

    @property
    def columns(self) -> tuple[str, ...]:
        if isinstance(self.source, str):
            return (self.source,)
        return tuple(dict.fromkeys(self.source.column_names()))

    @property
    def level_count(self) -> int:
        return len(self.levels)

    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        found = columns[self.source] if isinstance(self.source, str) else self.source.evaluate(columns)
        return found.astype(np.intp)


@dataclass(frozen=True)
class SplineFactor(SimplexFactor):
    """A B-spline of an expression; the columns of its basis are weights that add up to 1."""

    expression: Expression
    spline: Spline

    role = "spline"

    @property
    def key(self) -> Hashable:
        return (self.expression, self.spline)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.expression.column_names()))

    @property
    def level_count(self) -> int:
        return self.spline.size

    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        return self.spline.basis(self.expression.evaluate(columns))
