"""Sums over columns: how many rows, how many at each level, and first and second powers of numbers, by group.

They are what a table of sample characteristics ("Table 1") is made of, and the scale of every column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from dpglm.errors import PrivacyError
from dpglm.mechanisms.base import DECLARED, WHY_SUM, Covered, Rows, WorstCase, release_error, require_positive
from dpglm.mechanisms.noise import SLACK, STEPS, NoiseSource, grid_step, laplace_price
from dpglm.mechanisms.noisy_sum import SumNoise, SumRelease
from dpglm.mechanisms.rows import shares_alone
from dpglm.mechanisms.whole_sums import Whole, WholeNumbers
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, GaussianEvent, PureEvent, ReleaseDescription
from dpglm.privacy.gdp import SAFETY
from dpglm.row_loops import steps
from dpglm.rows import ArrayChunk, RowChunk, total
from dpglm.typing import SHARES, BoolVector, FloatBlock, FloatMatrix, FloatVector, IntVector

# Numbers are rounded to this grid in [-1, 1], so that sums of them and of their squares are exact.
GRID = 2**16
# Rows added at once: of shares of at most 2^12 and squares of at most 2^32, below 2^63.
_ROWS = 2**12
# What a row, a value that is there, a number, its square less 1/2, and a level count for in the sensitivity.
ROW, PRESENT, FIRST, SECOND, LEVEL = 0.5, 0.25, 0.5, 1.0, 0.75
# How far (FIRST z, SECOND z^2) move when z is exchanged: squared length, from 1 to the place _APART, and sum
# of absolute values, from 1 to -1/4.
_APART = -0.5 + math.sqrt(0.125)
_EXCHANGED = (1.0 - _APART) ** 2 * (FIRST**2 + (1.0 + _APART) ** 2)
_EXCHANGED_ABSOLUTE = 25.0 / 16.0


@dataclass(frozen=True)
class ColumnSums(SumRelease):
    r"""Numbers of rows and levels, sums of numbers and of their squares, in each group, with noise.

    A row holds its group, numbers z in [-1, 1], and codes of levels; a number or a code may be missing. It
    adds to the sums of its group

        (1/2;  1/4 where z is there, z/2, z^2 - 1/2  for each number;  3/4 at its level  for each factor),

    and nothing for what is missing. Noise of one scale is added to all of them, and the weights are divided
    out again.

    Parameters
    ----------
    missing : tuple of bool
        For each number, whether it may be missing; where it cannot, its count is that of the rows.
    levels : tuple of int
        Number of levels of each factor.
    groups : int
        Number of groups, >= 1.
    count_rows : bool
        Whether the number of rows of a group is released.
    law : {"gaussian", "laplace"}
    scale : float
        Standard deviation of Gaussian noise, or the scale of Laplace noise, on each sum.

    Examples
    --------
    >>> sums = ColumnSums((False,), (2,), 1, True, "gaussian", 1.0)
    >>> round(sums.sensitivity("add-remove") ** 2, 4)  # 1/4 + 1/2 + 9/16
    1.3125
    >>> sums.width
    5
    """

    missing: tuple[bool, ...]
    levels: tuple[int, ...]
    groups: int
    count_rows: bool
    law: Literal["gaussian", "laplace"]
    scale: float

    name: ClassVar[str] = "column sums"
    premises: ClassVar[tuple[str, ...]] = (DECLARED,)

    def __post_init__(self) -> None:
        require_positive(self, "scale")
        if self.groups < 1 or any(count < 2 for count in self.levels) or self.width == 0:
            raise release_error("no columns, no group, or a factor of one level", "columns of a schema")
        if self.law == "gaussian":
            grid_step(self.scale, self._least_sensitivity, self.size)

    @property
    def width(self) -> int:
        """Number of sums of one group."""
        numbers = sum(2 + missing for missing in self.missing)
        return int(self.count_rows) + numbers + sum(self.levels)

    @property
    def size(self) -> int:
        """Number of sums in all."""
        return self.groups * self.width

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the weighted sums: Euclidean norm; for Laplace noise, sum of absolute values."""
        if self.law == "laplace":
            each = ROW * self.count_rows + LEVEL * len(self.levels)
            each += sum(PRESENT * missing + 1.0 for missing in self.missing)  # proof: absolute
            if relation == "add-remove":
                return each
            same = _EXCHANGED_ABSOLUTE * len(self.missing) + 2.0 * LEVEL * len(self.levels)
            return max(same, self._moved_at_once * each)  # proof: absolute-exchange
        square = ROW**2 * self.count_rows + LEVEL**2 * len(self.levels)
        square += sum(PRESENT**2 * missing + 0.5 for missing in self.missing)  # proof: add-remove
        if relation == "add-remove":
            return math.sqrt(square)
        same = _EXCHANGED * len(self.missing) + 2.0 * LEVEL**2 * len(self.levels)  # proof: same-group
        return math.sqrt(max(same, self._moved_at_once * square))  # proof: two-groups

    @property
    def covers(self) -> Covered:
        return "all rows"  # proof: persons

    @property
    def _moved_at_once(self) -> float:
        """Blocks of sums that an exchanged row may move whole: it leaves one for another, or for none."""
        return 2.0 if self.groups > 1 else 1.0

    @property
    def _least_sensitivity(self) -> float:
        return min(self.sensitivity("add-remove"), self.sensitivity("replace-one"))

    def at_price(self, price: float, relation: Relation) -> Self:
        """The same sums with the least noise that costs no more than ``price``: a mu, or a pure epsilon."""
        moved = self.sensitivity(relation)
        if self.law == "gaussian":
            return replace(self, scale=moved / price * (1.0 + SAFETY))
        left = price - self.size / STEPS
        if not left > 0.0:
            raise PrivacyError(
                f"a pure epsilon of {price:g} for {self.size} sums",
                expected=f"more than {self.size / STEPS:.1g}, which rounding to a grid costs",
                remedy="Spend a larger epsilon.",
            )
        return replace(self, scale=moved * (1.0 + SLACK) / left * (1.0 + SAFETY))

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        moved = self.sensitivity(relation)
        if self.law == "gaussian":
            return ((self.name, GaussianEvent(moved / self.scale)),)  # proof: gaussian
        return ((self.name, PureEvent(laplace_price(moved, self.scale, self.size))),)  # proof: laplace

    def describe(self, relation: Relation) -> ReleaseDescription:
        gaussian = self.law == "gaussian"
        return ReleaseDescription(
            name=self.name,
            released="weighted sums in each group, once: rows, levels, numbers and their squares",
            sensitivity=self.sensitivity(relation),
            noise="Gaussian, N(0, scale^2 I)" if gaussian else "independent Laplace noise",
            scale=self.scale,
            theorem=f"{'Gaussian' if gaussian else 'Laplace'} mechanism on sums (column_sums.md)",
            facts=(
                Fact("Groups", self.groups),
                Fact("Sums released", self.size),
                Fact(
                    "Scale of the noise on a number of rows, and of rows with a value",
                    (2.0 * self.scale, 4.0 * self.scale),
                ),
                Fact("On a number of rows at a level", 4.0 / 3.0 * self.scale),
                Fact("On a sum of numbers in [-1, 1], and of their squares", (2.0 * self.scale, self.scale)),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (WHY_SUM,)

    @property
    def deviations(self) -> FloatVector:
        """Standard deviation of the noise on each sum of a group, weights divided out, shape (width,)."""
        return self.scale * (1.0 if self.law == "gaussian" else math.sqrt(2.0)) / self._weights

    @property
    def sum_noise(self) -> SumNoise:
        return SumNoise(self.law, self.scale, self._least_sensitivity)

    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """The weighted sums, shape (groups * width,).

        The first row of a chunk's ``X`` holds the group, from 0 on; then come the numbers, and then the codes
        of levels. Whatever is not a declared group, number or level counts as missing.
        """
        assert at is None, "sums are not evaluated at a point"
        return self._weighted_sums(rows)

    def finished(self, noisy: FloatVector) -> FloatVector:
        """The same sums with weights divided out."""
        return np.asarray((noisy.reshape(self.groups, self.width) / self._weights).ravel())

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector:
        drawn = (answers.reshape(len(answers), self.groups, self.width) * self._weights).reshape(
            len(answers), -1
        )
        near, far = (np.abs(drawn - np.asarray(self._weighted_sums(rows))) for rows in (first, second))
        if self.law == "gaussian":
            return np.asarray((far**2 - near**2).sum(axis=1) / (2.0 * self.scale**2))
        return np.asarray((far - near).sum(axis=1) / self.scale)

    def _weighted_sums(self, rows: Rows) -> WholeNumbers:
        def part(chunks: Iterable[RowChunk]) -> Whole:
            # Python's whole numbers: sums of shares of squares outgrow those of 64 bits.
            whole: Whole = np.zeros((self.groups, len(self._kept)), dtype=object)
            for chunk in chunks:
                share = shares_alone(chunk)
                parts = None if share is None else np.rint(share * SHARES).astype(np.int64)
                for first in range(0, chunk.count, _ROWS):
                    rows_of = slice(first, first + _ROWS)
                    some = None if parts is None else parts[rows_of]
                    whole += self._whole_sums(chunk.X[:, rows_of], some) * (SHARES if parts is None else 1)
            return whole

        whole = total(rows.chunks(), part)
        units = self._units * self._weights / SHARES
        return WholeNumbers(self._sums(whole).ravel(), np.tile(units, self.groups))

    @property
    def _weights(self) -> FloatVector:
        numbers = [w for missing in self.missing for w in ([PRESENT] if missing else []) + [FIRST, SECOND]]
        return np.array([ROW] * self.count_rows + numbers + [LEVEL] * sum(self.levels))

    @property
    def _units(self) -> FloatVector:
        """Of whole sums: a row, a value that is there, a step of the grid, its square, and a level."""
        numbers = [1.0, 1.0 / GRID, 1.0 / GRID**2] * len(self.missing)
        return np.array([1.0, *numbers, *[1.0] * sum(self.levels)])[self._kept]

    @property
    def _kept(self) -> BoolVector:
        """Which of the rows, the three sums of each number, and the levels are released."""
        numbers = [kept for missing in self.missing for kept in (missing, True, True)]
        return np.array([self.count_rows, *numbers, *[True] * sum(self.levels)])

    def _whole_sums(self, X: FloatBlock, parts: IntVector | None = None) -> IntVector:
        """Rows; values, steps of the grid and their squares for each number; levels: shape (groups, k).

        ``parts`` are shares of rows in `SHARES`-ths, shape (k,); without them each row counts for 1.
        """
        group, member = codes_of(X[0], self.groups)
        shares = member.astype(np.int64) if parts is None else np.where(member, parts, 0)
        numbers = X[1 : 1 + len(self.missing)]
        columns = [self._by_group(group, shares[None])]
        if self.groups == 1 and parts is None:
            columns.append(steps(numbers, member, GRID).reshape(1, -1))  # proof: clip, exact
        else:
            present = np.isfinite(numbers) & member
            whole = np.rint(np.clip(np.where(present, numbers, 0.0), -1.0, 1.0) * GRID).astype(np.int64)
            weighted = whole * shares
            powers = np.stack([present * shares, weighted, weighted * whole], axis=1)
            columns.append(self._by_group(group, powers.reshape(3 * len(numbers), len(shares))))
        for codes, count in zip(X[1 + len(self.missing) :], self.levels, strict=True):
            level, there = codes_of(codes, count)
            cell, counted = group * count + level, np.where(there, shares, 0)
            sums = np.bincount(cell, weights=counted, minlength=self.groups * count)  # proof: exact
            columns.append(sums.astype(np.int64).reshape(self.groups, count))
        return np.concatenate(columns, axis=1)

    def _by_group(self, group: IntVector, values: IntVector) -> IntVector:
        """Sums of whole numbers, shape (m, k), over the rows of each group; exact, shape (groups, m)."""
        if self.groups == 1:
            return np.asarray(values.sum(axis=1)[None])
        sums = np.zeros((self.groups, len(values)), dtype=np.int64)
        np.add.at(sums, group, values.T)  # proof: exact
        return sums

    def _sums(self, whole: Whole) -> Whole:
        """What is released but for noise, weights and units, shape (groups, width); squares less 1/2."""
        sums = whole.copy()
        for number in range(len(self.missing)):
            count, _, squares = range(1 + 3 * number, 4 + 3 * number)
            sums[:, squares] -= whole[:, count] * (GRID**2 // 2)  # proof: centred
        return sums[:, self._kept]

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """A row at an end of every range against none, or against the row that moves the sums most."""
        first = self._row(0, 1.0, 0)
        other: FloatBlock = first[:, :0]
        if relation == "replace-one":
            away = self.groups > 1
            other = self._row(1, 1.0, 0) if away else self._row(0, _APART, 1)
        tables: list[RowChunk] = [ArrayChunk(X, np.zeros(X.shape[1]), None) for X in (first, other)]
        apart = self._sums(self._whole_sums(first) - self._whole_sums(other))
        return WorstCase(tables[0], tables[1], (apart * self._units * self._weights**2).ravel())

    def _row(self, group: int, number: float, level: int) -> FloatBlock:
        values = [group, *[number] * len(self.missing), *[level] * len(self.levels)]
        return np.array(values, dtype=np.float32)[:, None]


def codes_of(values: FloatBlock, count: int) -> tuple[IntVector, BoolVector]:
    """Whole numbers from 0 to ``count - 1``, shape (k,), and which values are that; others become 0."""
    with np.errstate(invalid="ignore"):
        valid: BoolVector = (values >= 0) & (values < count) & (values == np.floor(values))
    return np.where(valid, values, 0.0).astype(np.intp), valid
