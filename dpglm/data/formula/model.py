"""Model of a formula: its factors, terms and columns, and where the values of a factor can lie.

Every factor has centred coordinates ``c``: a number (x - mid) / (high - low) for a numeric one, the
corners of a centred simplex for a categorical one, points inside such a simplex for a spline. A row can only
lie in the convex hull of ``corners``, whatever the data are. All of it is public, frozen, and without data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.periods import Periods
from dpglm.glm.penalties.base import TermKind
from dpglm.typing import INTERCEPT, FloatMatrix
from dpglm.wide_maps import MOST_DENSE


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
    # Level j + 1 against the mean of the levels before it.
    corners = np.ascontiguousarray(0.0 - scipy.linalg.helmert(levels).T)
    if levels == 2:
        corners = np.array([[-0.5], [0.5]])
    corners.setflags(write=False)
    return corners


@lru_cache(maxsize=256)
def _farthest(levels: int) -> float:
    return float((simplex_corners(levels) ** 2).sum(axis=1).max())


@dataclass(frozen=True)
class Factor(ABC):
    """One factor of a formula.

    Parameters
    ----------
    name : str
        As patsy writes it.
    expression : Expression
        What it reads of a row.
    effect : float or None
        Declared prior standard deviation of a coefficient, the largest of its columns; None where there is
        none.
    """

    name: str
    expression: Expression
    effect: float | None

    # What its coded columns are to inference, where they stand alone in a term.
    kind: ClassVar[TermKind]

    @property
    def share(self) -> float:
        """Public weight of its squared coordinates in the squared norm of a row."""
        return 1.0

    @property
    def prior(self) -> float:
        """Prior standard deviation of a coefficient per unit of a coordinate."""
        return 1.0 if self.effect is None else self.effect

    @property
    def width(self) -> float:
        """How many units of a standardised scale one unit of a coordinate is."""
        return 1.0

    @property
    def key(self) -> Hashable:
        """Equal for two factors whose coordinates are the same function of a row."""
        return self.expression

    @property
    @abstractmethod
    def level_count(self) -> int:
        """Number of levels that a row has weights on; the two bounds of a number."""

    @property
    def corners(self) -> FloatMatrix:
        """Points whose convex hull holds the coordinates of every row, shape (level_count, size)."""
        return simplex_corners(self.level_count)

    def affine(self, table: FloatMatrix | Treatment | None) -> FloatMatrix:
        """User columns as affine functions of the coordinates, shape (1 + size, columns).

        ``table`` holds the value of each user column at each level; None for numeric factors.
        """
        assert isinstance(table, np.ndarray), "of a factor that has a contrast matrix"
        # Weights e on the levels are 1/L + P c with P = corners, except that two levels have +-1/2.
        spread = self.corners * (2.0 if self.level_count == 2 else 1.0)
        return np.vstack([table.mean(axis=0), spread.T @ table])

    @abstractmethod
    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """What a row says about the factor: values (k,), codes (k,) or a spline basis (m, k)."""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.corners.shape[1])

    @property
    def bound(self) -> float:
        """The largest squared norm of the coordinates, attained at a corner."""
        return _farthest(self.level_count)

    @property
    def typical(self) -> float:
        """A typical squared norm of the coordinates."""
        return self.bound

    @property
    def uniform(self) -> float:
        """Mean squared norm of the coordinates where numbers are uniform on their declared range."""
        return self.bound


# A standardised coordinate is so many standard deviations wide.
WIDTH: Final = 4.0
# Prior standard deviation of a slope over its declared range, where none is declared.
USUAL_EFFECT: Final = 3.0


@dataclass(frozen=True)
class NumericFactor(Factor):
    """A number between public bounds; ``low < high``.

    Its coordinate is its place in the declared range, around the middle, or where ``moments``, a public mean
    and standard deviation, are given, (x - mean) / (4 sd). Corners are then 2 sd from the mean, and rows may
    lie beyond them.
    """

    low: float
    high: float
    moments: tuple[float, float] | None = None

    kind = "slope"
    level_count = 2

    @property
    def share(self) -> float:
        """A uniform variable weighs the same on its declared range and in standard deviations."""
        return 2.0 if self.moments is None else WIDTH**2 / 6.0

    @property
    def prior(self) -> float:
        """As declared per declared range; else 3 per declared range, or 1 per standard deviation."""
        if self.moments is None:
            return USUAL_EFFECT if self.effect is None else self.effect
        return WIDTH if self.effect is None else self.effect * self.unit / (self.high - self.low)

    @property
    def width(self) -> float:
        return 1.0 if self.moments is None else WIDTH

    @property
    def typical(self) -> float:
        return self.bound if self.moments is None else 1.0 / WIDTH**2

    @property
    def uniform(self) -> float:
        return self.bound / 3.0

    @property
    def middle(self) -> float:
        """Where the coordinate is 0."""
        return self.low + (self.high - self.low) / 2 if self.moments is None else self.moments[0]

    @property
    def unit(self) -> float:
        """What one unit of the coordinate is."""
        return self.high - self.low if self.moments is None else WIDTH * self.moments[1]

    def affine(self, table: FloatMatrix | Treatment | None) -> FloatMatrix:
        return np.array([[self.middle], [self.unit]])

    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        values: NDArray[Any] = self.expression.evaluate(columns)
        # The schema has cleaned a plain column: it is within these bounds already.
        return values if self.expression.op == "column" else np.clip(values, self.low, self.high)


@dataclass(frozen=True)
class LevelFactor(Factor):
    """A categorical column with declared levels, or a comparison with the levels False and True.

    ``contrast`` is the name of a contrast coding of patsy, and the level in its parentheses if there is one.
    """

    levels: tuple[Any, ...]
    contrast: tuple[Any, ...] = ()

    kind = "levels"

    @property
    def level_count(self) -> int:
        return len(self.levels)

    @property
    def size(self) -> int:
        return len(self.levels) - 1

    @property
    def bound(self) -> float:
        # Of very many levels without the corners, and a little more than theirs.
        return super().bound if len(self.levels) <= MOST_DENSE else 1.0

    def read(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        codes: NDArray[Any] = self.expression.evaluate(columns)
        if codes.dtype.kind == "f":  # of new rows, which may lie between two periods or in none
            codes = np.nan_to_num(np.ceil(codes), nan=-1.0)
        return codes.astype(np.intp)


@dataclass(frozen=True)
class Treatment:
    """The contrast matrix of so many levels against one of them, where it would be too large to be one."""

    levels: int
    reference: int

    @property
    def shape(self) -> tuple[int, int]:
        """Levels and columns."""
        return self.levels, self.levels - 1


@dataclass(frozen=True, eq=False)
class Usage:
    """One factor inside a term: its place in ``Model.factors`` and its columns there.

    ``table``, shape (levels, columns), gives the value of each column at each level (a contrast matrix); None
    for a numeric factor, whose one column is its value.
    """

    factor: int
    table: FloatMatrix | Treatment | None

    @property
    def size(self) -> int:
        """Number of columns."""
        return 1 if self.table is None else int(self.table.shape[1])


# Columns that are all products of the same factors, the first varying fastest; without any, the intercept.
Subterm: TypeAlias = tuple[Usage, ...]


def column_count(subterm: Subterm) -> int:
    """Number of columns of a subterm."""
    return math.prod(usage.size for usage in subterm)


@dataclass(frozen=True, eq=False)
class Term:
    """One term of the formula with the columns ``start`` to ``stop`` of the design."""

    name: str
    start: int
    subterms: tuple[Subterm, ...]

    @property
    def stop(self) -> int:
        """One past the last column."""
        return self.start + sum(map(column_count, self.subterms))

    @property
    def wide(self) -> bool:
        """Whether it is a factor alone, of so many levels that it has no contrast matrix."""
        return any(isinstance(usage.table, Treatment) for subterm in self.subterms for usage in subterm)

    @property
    def order(self) -> int:
        """Number of factors of the largest product; 0 of what is constant, or is so at each stage."""
        return 0 if self.name == INTERCEPT else max(map(len, self.subterms))


@dataclass(frozen=True, eq=False)
class Model:
    """A formula read against a schema; made by `parse`.

    Parameters
    ----------
    formula : str
        As the user wrote it, on one line.
    response : str
        Name of the response column.
    names : tuple of str
        Names of the user's columns, exactly as patsy gives them, in the order of the design.
    terms : tuple of Term
        The terms in the order of the design.
    factors : tuple of Factor
        Each function of a row that the terms use, once.
    offsets : tuple of Expression
        What is added to the linear predictor with coefficient 1, each clipped to its bounds.
    periods : Periods or None
        Those that a row of the table stands for, where the response is ``Surv(time, event)``, or ordinal.
    """

    formula: str
    response: str
    names: tuple[str, ...]
    terms: tuple[Term, ...]
    factors: tuple[Factor, ...]
    offsets: tuple[Expression, ...]
    periods: Periods | None = None

    @property
    def size(self) -> int:
        """Number of the user's columns."""
        return len(self.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The data columns needed besides the response, in order of first mention."""
        needed = [*(factor.expression for factor in self.factors), *self.offsets]
        return tuple(dict.fromkeys(name for expression in needed for name in expression.columns))

    @property
    def offset_range(self) -> tuple[float, float] | None:
        """Declared bounds of the sum of the offsets; None without any."""
        if not self.offsets:
            return None
        ends = [offset.args[1:] for offset in self.offsets]
        return sum(low.value for low, _ in ends), sum(high.value for _, high in ends)
