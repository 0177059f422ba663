"""Public maps between coefficients of very wide designs: factors with many levels, without a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        remedy="Merge levels in the schema, or use family='binomial', method='objective' and a budget.",
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

    def coded(self, beta: NDArray[Any]) -> NDArray[Any]:
        """Coded coefficients of the user's, but for the constant's, at their precision."""
        return self.scale * self.columns.sums(np.insert(beta, self.reference, 0.0))

    def user_from(self, theta: FloatVector) -> FloatVector:
        """The user's coefficients of coded ones."""
        levels = self.columns.values(theta)[:-1]
        return np.asarray(np.delete(levels - levels[self.reference], self.reference) / self.scale)

    def turned(self, slope: NDArray[Any]) -> NDArray[Any]:
        """A gradient in the user's coefficients from one in the coded ones, but for the constant's part."""
        return np.asarray(self.scale * np.delete(self.columns.values(slope)[:-1], self.reference))

    def unturned(self, gradient: NDArray[Any]) -> NDArray[Any]:
        """A gradient in the coded coefficients whose `turned` is this."""
        return np.asarray(
            self.columns.sums(np.insert(gradient, self.reference, -gradient.sum())) / self.scale
        )

    def __abs__(self) -> TreatedLevels:
        """With the absolute values of the numbers that are multiplied."""
        return replace(self, columns=abs(self.columns), scale=abs(self.scale), share=abs(self.share))


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

    def __matmul__(self, beta: NDArray[Any]) -> NDArray[Any]:
        theta = np.empty(len(self), dtype=beta.dtype)
        theta[self.coded] = self.matrix @ beta[self.user]
        for factor in self.factors:
            theta[factor.codes] = factor.coded(beta[factor.users])
            theta[self.constant] += factor.share * beta[factor.users].sum()
        return theta

    @property
    def T(self) -> Turned:  # noqa: N802
        """Its transpose, for products with gradients."""
        return Turned(self)

    def __abs__(self) -> WideMap:
        """With the absolute values of the numbers that are multiplied."""
        return replace(self, matrix=np.abs(self.matrix), factors=tuple(map(abs, self.factors)))

    def unturned(self, gradient: NDArray[Any]) -> NDArray[Any]:
        """``z`` with ``map.T @ z`` equal to a gradient, for a map without shares, at its precision."""
        slope = np.empty(len(self), dtype=gradient.dtype)
        slope[self.coded] = self.inverse.T @ gradient[self.user]
        for factor in self.factors:
            slope[factor.codes] = factor.unturned(gradient[factor.users])
        return slope

    @cached_property
    def inverse_norm(self) -> float:
        """A bound on the norm of the inverse of a map without shares, infinite if none is known."""
        near = np.abs(self.inverse @ self.matrix - np.eye(len(self.user)))
        near += (len(self.user) + 3) * 2.0**-53 * (np.abs(self.inverse) @ np.abs(self.matrix))
        left = float(np.linalg.norm(near))
        small = float(np.linalg.norm(self.inverse)) / (1.0 - left) if left < 0.5 else math.inf
        # The least singular value of P't is 1 / sqrt L, and doubles are off by less than 3 L 2^-53 of that.
        wide = (math.sqrt(factor.columns.levels) / factor.scale for factor in self.factors)
        return 1.001 * max(small, *wide)

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


@dataclass(frozen=True, eq=False)
class Turned:
    """The transpose of a map."""

    of: WideMap

    __array_ufunc__ = None

    def __matmul__(self, slope: NDArray[Any]) -> NDArray[Any]:
        of = self.of
        gradient = np.empty(len(of), dtype=slope.dtype)
        gradient[of.user] = of.matrix.T @ slope[of.coded]
        for factor in of.factors:
            gradient[factor.users] = factor.turned(slope[factor.codes]) + factor.share * slope[of.constant]
        return gradient


def has_table(table: object) -> bool:
    """Whether it is a table, and not what stands for one that is too large."""
    return not isinstance(table, NoTable)


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
