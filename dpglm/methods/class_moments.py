"""Means and standard deviations of columns of the unit box, by class, from one release of sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from dpglm.mechanisms.class_numbers import ClassNumbers
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import Mapped, RowMapping
from dpglm.privacy.budget import Relation
from dpglm.typing import BoolMatrix, BoolVector, FloatMatrix, FloatVector

# A class is taken to have at least so many rows, and this many standard deviations of the noise of a count.
_LEAST_COUNT: Final = 20.0
_LEAST_NOISE: Final = 3.0
# A standard deviation is at least this share of a column's range.
_LEAST_SHARE: Final = 0.01


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Released moments of both classes, or of parts of them, in the unit box.

    Attributes
    ----------
    means, deviations : ndarray, shape (groups, size)
        Noise is in them; means are in [0, 1] and deviations above 0.
    noise : ndarray, shape (groups, size)
        Standard deviations of the noise of the means.
    enough : ndarray of bool, shape (groups, size)
        Where a count is large enough to divide by; the least such count stands for others.
    """

    means: FloatMatrix
    deviations: FloatMatrix
    noise: FloatMatrix
    enough: BoolMatrix

    @property
    def units(self) -> FloatVector:
        """Root mean square of both classes' standard deviations in each column, shape (size,)."""
        return np.asarray(np.sqrt(np.mean(np.square(self.deviations), axis=0)))


def class_sums(
    missing: BoolVector,
    price: float,
    relation: Relation,
    *,
    pure: bool,
    groups: int = 2,
    mapping: RowMapping | None = None,
) -> Mapped:
    """The release at its price, a mu or a pure epsilon; ``missing`` says which columns may lack a value.

    The ``groups`` of rows are the two classes, or those of another ``mapping`` from the unit box.
    """
    law: Literal["laplace", "gaussian"] = "laplace" if pure else "gaussian"
    sums = ColumnSums(tuple(missing.tolist()), (), groups, count_rows=True, law=law, scale=1.0)
    return Mapped(sums.at_price(price, relation), mapping or ClassNumbers())


def class_moments(sums: ColumnSums, answer: FloatVector) -> ClassMoments:
    """What the sums of a release say."""
    missing = np.array(sums.missing)
    table, noise = answer.reshape(sums.groups, -1), sums.deviations
    first = 1 + np.cumsum(2 + missing) - 2  # where each column's sum stands, and its squares' behind it
    present = np.where(missing, first - 1, 0)
    least = np.maximum(_LEAST_COUNT, _LEAST_NOISE * noise[present])
    counts = np.maximum(table[:, present], least)
    enough = table[:, present] >= least
    means = np.clip(table[:, first] / counts, -1.0, 1.0)
    error = noise[first + 1] / counts
    squares = table[:, first + 1] / counts + 0.5 - means**2
    squares = np.clip(squares, np.maximum((2.0 * _LEAST_SHARE) ** 2, np.minimum(error, 1.0 / 3.0)), 1.0)
    of_means = np.hypot(noise[first], means * noise[present]) / counts
    return ClassMoments(0.5 + 0.5 * means, 0.5 * np.sqrt(squares), 0.5 * of_means, enough)
