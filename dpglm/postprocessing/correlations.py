"""How columns go together: released sums of their products, and correlations of these with their errors."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self, TypeAlias

import numpy as np
from scipy.linalg import block_diag

from dpglm.factor_rows import contrasts
from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.quartiles import MOST
from dpglm.typing import FloatMatrix, FloatVector

# A correlation is absent where the variance of a column is not so many standard errors of its noise.
LEAST: Final = 3.0
# Mean of a number or share of a level and its noise, standard deviation and its noise.
Told: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class ProfiledColumn:
    """A column: bounds of a number, or labels of levels; ``missing`` where rows may have no value."""

    name: str
    missing: bool
    low: float = 0.0
    high: float = 0.0
    levels: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of its sums."""
        return len(self.levels) if self.levels else 2 + self.missing

    @property
    def middle(self) -> float:
        """Between the bounds; halved first, since bounds may be as large as numbers get."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half(self) -> float:
        """Half the width between the bounds, above 0."""
        return max(0.5 * self.high - 0.5 * self.low, sys.float_info.min)


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Sums of products of columns over the rows that have a value in each of them.

    A row is a vector of a coordinate for each number, from -1 to 1 between its bounds, and L - 1 for each
    factor of L levels: orthonormal contrasts of its indicators.

    Parameters
    ----------
    columns : tuple of ProfiledColumn
        Numbers, then factors.
    products : ndarray, shape (d, d)
        Sum of u u' over vectors u.
    sums : ndarray, shape (d,)
    rows : float
    deviations : ndarray, shape (3,)
        Standard deviations of the noise of the square of a coordinate, of a sum, and of the number of rows;
        that of other products is the first one's over the root of 2.
    """

    columns: tuple[ProfiledColumn, ...]
    products: FloatMatrix
    sums: FloatVector
    rows: float
    deviations: FloatVector

    @classmethod
    def added(cls, parts: Sequence[Self]) -> Self:
        """Those of all rows of several tables."""
        return replace(
            parts[0],
            products=np.sum([each.products for each in parts], axis=0),
            sums=np.sum([each.sums for each in parts], axis=0),
            rows=sum(each.rows for each in parts),
            deviations=math.sqrt(len(parts)) * parts[0].deviations,
        )

    def check(self, columns: Sequence[ProfiledColumn]) -> None:
        """A StoreError for what no profile of these columns has."""
        size = sum(each.stop - each.start for each in places(self.columns))
        shapes = np.shape(self.products), np.shape(self.sums), np.shape(self.deviations)
        if shapes != ((size, size), (size,), (3,)) or not set(columns) <= set(self.columns):
            raise store_error("products that do not belong to the columns", "a number for each two of them")
        numbers = (*self.products.ravel(), *self.sums, self.rows, *self.deviations)
        if not all(abs(number) < MOST for number in numbers) or not (self.deviations > 0.0).all():
            raise store_error("products that are no numbers", f"numbers below {MOST:g}, and noise")

    def merged(self, name: str, levels: tuple[str, ...], joins: Sequence[int]) -> Self:
        """The same with levels of a factor merged; ``joins`` are the new places of the old ones."""
        columns = tuple(
            replace(each, levels=levels) if each.name == name and len(each.levels) == len(joins) else each
            for each in self.columns
        )
        maps, shifts = [], []
        for old, new, place in zip(self.columns, columns, places(self.columns), strict=True):
            if old == new:
                maps.append(np.eye(place.stop - place.start))
                shifts.append(np.zeros(place.stop - place.start))
                continue
            joined = np.zeros((len(levels), len(joins)))
            joined[list(joins), np.arange(len(joins))] = 1.0
            corners = indicators((new,)).T @ joined
            maps.append(corners @ indicators((old,)))
            shifts.append(corners.sum(axis=1) / len(joins))
        whole, shift = block_diag(*maps), np.concatenate(shifts)
        sums = whole @ self.sums
        return replace(
            self,
            columns=columns,
            products=whole @ self.products @ whole.T
            + np.outer(sums, shift)
            + np.outer(shift, sums)
            + self.rows * np.outer(shift, shift),
            sums=sums + self.rows * shift,
        )

    @property
    def size(self) -> int:
        """Number of coordinates d."""
        return len(self.sums)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise in `covariance`, of a typical two coordinates."""
        of_product = float(self.deviations[0]) / math.sqrt(2.0)
        of_means = float(self.deviations[1]) * math.sqrt(2.0 * float(np.mean(self.means**2)))
        return math.hypot(of_product, of_means) / max(self.rows, 1.0)

    @property
    def means(self) -> FloatVector:
        """Means of the coordinates over complete rows, shape (d,)."""
        return np.asarray(self.sums / max(self.rows, 1.0))

    @property
    def covariance(self) -> FloatMatrix:
        """Of the coordinates, as released: with noise, perhaps not positive definite; shape (d, d)."""
        return self.products / max(self.rows, 1.0) - np.outer(self.means, self.means)

    def variance(self, name: str) -> tuple[float, float] | None:
        """Of a number, and the standard deviation of its noise; None for a factor."""
        for column, place in zip(self.columns, places(self.columns), strict=True):
            if column.name == name and not column.levels:
                at, (product, total, _) = place.start, self.deviations
                noise = math.hypot(float(product), 2.0 * float(self.means[at] * total)) / max(self.rows, 1.0)
                return column.half**2 * float(self.covariance[at, at]), column.half**2 * noise
        return None

    def correlations(self, told: Mapping[tuple[str, str], Told]) -> tuple[FloatMatrix, FloatMatrix]:
        """Of numbers and indicators of levels, and their standard errors by the delta method, shape (k, k).

        ``told`` is what the profile says, by column and level. NaN where noise hides a column.
        """
        to_values, rows = indicators(self.columns), max(self.rows, 1.0)
        inner = to_values @ to_values.T
        about_zero = to_values @ (self.products / rows) @ to_values.T
        lengths = np.diag(inner)
        of_product = self.deviations[0] / rows * np.sqrt(0.5 * (np.outer(lengths, lengths) + inner**2))
        own = to_values @ self.means, np.diag(about_zero) - (to_values @ self.means) ** 2
        own_noise = self.deviations[1] / rows * np.sqrt(lengths)
        of_square = np.hypot(np.diag(of_product), 2.0 * own[0] * own_noise)
        means, noise, squares, of_square = self._with_told(told, own[0], own_noise, own[1], of_square)
        hidden = squares <= LEAST * of_square
        spread = np.sqrt(np.where(hidden, np.nan, squares))
        scale = np.outer(spread, spread)
        values = (about_zero - np.outer(means, means)) / scale
        of_mean = (values * (means / spread**2)[:, None] - means[None, :] / scale) * noise[:, None]
        of_spread = 0.5 * values * (of_square / spread**2)[:, None]
        of_rows = about_zero / scale * self.deviations[2] / rows
        variance = (of_product / scale) ** 2 + of_mean**2 + of_mean.T**2 + of_spread**2 + of_spread.T**2
        sampling = (1.0 - np.minimum(values**2, 1.0)) ** 2 / rows
        errors = np.sqrt(variance + of_rows**2 + sampling)
        values = np.clip(values, -1.0, 1.0)
        np.fill_diagonal(values, np.where(hidden, np.nan, 1.0))
        np.fill_diagonal(errors, np.where(hidden, np.nan, 0.0))
        return values, errors

    def _with_told(self, told: Mapping[tuple[str, str], Told], *own: FloatVector) -> Iterator[FloatVector]:
        """Means of `indicators` times coordinates and their noise, variances and theirs, shape (k,) each.

        What was told and the ``own``, which have noise of their own, are weighted by their precision.
        """
        kept = [each.copy() for each in own]
        stop = 0
        for column in self.columns:
            start, stop = stop, stop + max(len(column.levels), 1)
            keys = [(column.name, level) for level in column.levels or ("",)]
            middle, half = (1.0 / len(keys), 1.0) if column.levels else (column.middle, column.half)
            numbers = np.array([told.get(key, (math.nan,) * 4) for key in keys]).T / half
            numbers[0] -= middle / half
            numbers[2:] = numbers[2] ** 2, 2.0 * numbers[2] * numbers[3]
            if not np.isfinite(numbers).all():
                continue
            for value, noise in ((0, 1), (2, 3)):
                first, second = kept[noise][start:stop] ** 2, numbers[noise] ** 2
                weight = first / np.maximum(first + second, np.finfo(np.float64).tiny)
                kept[value][start:stop] += weight * (numbers[value] - kept[value][start:stop])
                kept[noise][start:stop] = np.sqrt(weight * second)
        return iter(kept)


def places(columns: Sequence[ProfiledColumn]) -> Iterator[slice]:
    """Where the coordinates of each column stand."""
    start = 0
    for column in columns:
        stop = start + (len(column.levels) - 1 if column.levels else 1)
        yield slice(start, stop)
        start = stop


def indicators(columns: Sequence[ProfiledColumn]) -> FloatMatrix:
    """Numbers and indicators of levels from coordinates, constants aside; shape (k, d)."""
    return np.asarray(block_diag(*(contrasts(len(c.levels)) if c.levels else np.eye(1) for c in columns)))


def column_names(columns: Sequence[ProfiledColumn]) -> list[str]:
    """Names of numbers, and of levels as ``sex[F]``."""
    return [
        name
        for column in columns
        for name in ([f"{column.name}[{level}]" for level in column.levels] or [column.name])
    ]
