"""Public maps between coefficients of very wide designs: factors with many levels, without a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpglm.errors import MethodError
from dpglm.factor_rows import SimplexColumns
from dpglm.typing import FloatMatrix, FloatVector, IntVector

# Columns of a design whose maps are matrices, at most.
MOST_DENSE = 5_000


def too_wide(what: str, size: int) -> MethodError:
    """For what needs a matrix of a design of so many columns."""
    return MethodError(
        f"{what} with {size:,} columns",
        expected=f"at most {MOST_DENSE:,} columns: beyond, there is no matrix of them",
        remedy="Merge levels in the schema, or use family='binomial', method='objective' and penalty='l2' or "
        "'none', without a strength.",
    )


@dataclass(frozen=True)
class NoTable:
    """Stands for a table of so many columns that is too large; whatever is asked of it is refused."""

    columns: int

    def __array__(self, *args: object, **kwargs: object) -> FloatMatrix:
        raise too_wide("a table of levels", self.columns)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise too_wide("a table of levels", self.columns)


@dataclass(frozen=True, eq=False)
class TreatedLevels:
    """Coefficients of a factor's levels against one of them, and their coded columns.

    With t the coefficients of all levels, 0 at the reference, and P the corners of the simplex, coded ones
    are ``scale * P't``, and the constant's is ``share * sum(t)`` more.

    Parameters
    ----------
    user : int
        Place of the first of the user's columns, of L - 1.
    columns : SimplexColumns
        The corners P in double precision, at their place among the coded columns.
    reference : int
    scale, share : float

    Examples
    --------
    >>> corners = SimplexColumns(0, np.array([-(0.5**0.5), -(6**-0.5)]), np.array([0.5**0.5, 2 * 6**-0.5]))
    >>> levels = TreatedLevels(0, corners, reference=0, scale=2.0, share=0.0)
    >>> coded = levels.coded(np.array([3.0, -1.0]))
    >>> levels.user_from(coded).round(12)
    array([ 3., -1.])
    """

    user: int
    columns: SimplexColumns
    reference: int
    scale: float
    share: float

    @property
    def users(self) -> slice:
        """Places of the user's columns."""
        return slice(self.user, self.user + self.columns.levels - 1)

    @property
    def codes(self) -> slice:
        """Places of the coded columns."""
        return slice(self.columns.start, self.columns.stop)

    @property
    def length(self) -> float:
        """Norm of a coded column of P't, for one level."""
        return self.scale * math.sqrt(1.0 - 1.0 / self.columns.levels)

    def coded(self, beta: FloatVector) -> FloatVector:
        """Coded coefficients of the user's, but for the constant's."""
        return self.scale * self.columns.sums(np.insert(beta, self.reference, 0.0))

    def user_from(self, theta: FloatVector) -> FloatVector:
        """The user's coefficients of coded ones."""
        levels = self.columns.values(theta)[:-1]
        return np.asarray(np.delete(levels - levels[self.reference], self.reference) / self.scale)


@dataclass(frozen=True, eq=False)
class WideMap:
    """Coded coefficients from the user's, ``map @ beta``, and back, ``map.solve(theta)``.

    Parameters
    ----------
    user, coded : ndarray, shape (m,)
        Places of the other columns among the user's and the coded ones.
    matrix, inverse : ndarray, shape (m, m)
        The map of these, and its inverse.
    constant : int
        Place of the coded constant, to which factors add.
    factors : tuple of TreatedLevels
    """

    user: IntVector
    coded: IntVector
    matrix: FloatMatrix
    inverse: FloatMatrix
    constant: int
    factors: tuple[TreatedLevels, ...]

    __array_ufunc__ = None

    def __len__(self) -> int:
        return len(self.user) + sum(factor.columns.levels - 1 for factor in self.factors)

    @property
    def shape(self) -> tuple[int, int]:
        """Coded and user's coefficients, as many of each."""
        return len(self), len(self)

    def __matmul__(self, beta: FloatVector) -> FloatVector:
        theta = np.empty(len(self))
        theta[self.coded] = self.matrix @ beta[self.user]
        for factor in self.factors:
            theta[factor.codes] = factor.coded(beta[factor.users])
            theta[self.constant] += factor.share * beta[factor.users].sum()
        return theta

    def solve(self, theta: FloatVector) -> FloatVector:
        """The user's coefficients whose coded ones are these."""
        beta, left = np.empty(len(self)), theta.copy()
        for factor in self.factors:
            beta[factor.users] = factor.user_from(theta[factor.codes])
            left[self.constant] -= factor.share * beta[factor.users].sum()
        beta[self.user] = self.inverse @ left[self.coded]
        return beta

    def scaled(self, matrix: FloatMatrix) -> WideMap:
        """The map of coefficients whose coded columns have norm 1 and no part in the constant."""
        factors = tuple(
            replace(factor, scale=factor.scale / factor.length, share=0.0) for factor in self.factors
        )
        inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        return replace(self, matrix=matrix, inverse=inverse, factors=factors)

    def __array__(self, *args: object, **kwargs: object) -> FloatMatrix:
        raise too_wide("a matrix", len(self))


def wide_map(map_: object) -> WideMap | None:
    """A map of a very wide design, which stands where a matrix would; None for a matrix."""
    return map_ if isinstance(map_, WideMap) else None


@dataclass(frozen=True, eq=False)
class InverseMap:
    """The user's coefficients from coded ones, ``inverse @ theta``."""

    of: WideMap

    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """User's and coded coefficients, as many of each."""
        return self.of.shape

    def __matmul__(self, theta: FloatVector) -> FloatVector:
        return self.of.solve(theta)

    def __array__(self, *args: object, **kwargs: object) -> FloatMatrix:
        raise too_wide("a matrix", len(self.of))


def inverse_map(map_: object) -> WideMap | None:
    """The map that a user's map of a very wide design is the inverse of; None for a matrix."""
    return map_.of if isinstance(map_, InverseMap) else None
