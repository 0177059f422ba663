"""Means and standard deviations of numbers, from two looks at their sums.

The noise of the first look is that of declared ranges, and a number may vary far less than that. The second
look is within ranges that the first one leaves possible, so that its noise is smaller by as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.coordinates import Coordinates
from dpglm.mechanisms.mapped import Mapped
from dpglm.methods.base import Ask, Geometry, Problem
from dpglm.privacy.budget import Privacy
from dpglm.typing import FloatMatrix, FloatVector

# A standard deviation is taken to be at least this share of the declared range, and at most that of a number
# which is at either end of it.
LEAST_SHARE, MOST_SHARE = 0.002, 0.5
UNIFORM_SHARE: Final = math.sqrt(1.0 / 12.0)
# A variance is seen clearly if it is this many times its noise; it is at least so much where no range became
# closer.
CLEARLY: Final = 3.0
# Where it is not seen clearly a number is looked at again within so many standard deviations of its mean, of
# the variance that is seen or of so much noise. Set on two designs, see ``docs/methods.md``.
WITHIN: Final = 2.0
POSSIBLE: Final = 1.5


def number_sums(
    problem: Problem, privacy: Privacy, *, response: bool = False
) -> tuple[ColumnSums, Coordinates]:
    """Of numbers that are to be measured, and of their squares, before they have a price.

    Those are numbers that can be standardised, unless their moments are known, and the ``response``, last.
    """
    constant, slopes = number_columns(problem.geometry)
    if problem.moments is not None:
        slopes = ()
    sums = ColumnSums(
        missing=(False,) * (len(slopes) + response),
        levels=(),
        groups=1,
        count_rows=True,  # of rows that can be used, which is private under both relations
        law="laplace" if privacy.definition == "pure" else "gaussian",
        scale=1.0,
    )
    return sums, Coordinates(constant, slopes, response)


def number_looks(
    problem: Problem, privacy: Privacy, price: float, *, response: bool = False
) -> tuple[Mapped, Mapped]:
    """Two looks at the sums, each at this price: within declared ranges, and within closer ones."""
    sums, coordinates = number_sums(problem, privacy, response=response)
    priced = sums.at_price(price, privacy.relation)
    return Mapped(priced, coordinates), Mapped(priced, replace(coordinates, closer=True))


def number_columns(geometry: Geometry) -> tuple[tuple[int, float], tuple[tuple[int, float], ...]]:
    """Column of the constant and its value; those of the numbers, and their values per declared range."""

    def place(term: TermColumns) -> tuple[int, float]:
        return term.start, float(term.table[0, 0])

    (constant,) = (place(term) for term in geometry.term_columns if term.kind == "intercept")
    slopes = (place(term) for term in geometry.term_columns if term.label in geometry.standardisable)
    return constant, tuple(slopes)


@dataclass(frozen=True, eq=False)
class MeasuredNumbers:
    """What the two looks say, as shares of declared ranges from their middles."""

    rows: float  # that can be used, >= 1
    means: FloatVector  # (k,)
    deviations: FloatVector  # (k,)
    mean_noise: FloatVector  # (k,), standard deviation of the noise of the means

    @classmethod
    def of(cls, plan: PricedReleases, ask: Ask, *, response: bool = False) -> Self:
        """Ask for the first two releases of a plan; a ``response`` is the last number, apart from others."""
        sums, again, *_ = plan.of_kind(ColumnSums)
        count, noise = len(sums.missing), sums.deviations
        apart = slice(0, count - response), slice(count - response, count)
        parts = [part for part in apart if part.stop > part.start]
        answer = ask(plan.releases[0])
        rows = max(float(answer[0]), float(noise[0]), 1.0)
        first = [_Look.of(answer, noise, rows, part) for part in parts]
        ranges = np.concatenate([look.closer_ranges() for look in first])
        if response:  # residuals of a response whose tails were cut would be cut too early
            ranges[-1] = first[-1].whole_ranges()[-1]
        closer = ask(plan.releases[1], ranges.ravel())
        # Both counts have noise of one size.
        rows = max(0.5 * float(answer[0] + closer[0]), math.sqrt(0.5) * float(noise[0]), 1.0)
        found = []
        for part in parts:
            other = _Look.of(closer, again.deviations, rows, part)
            found.append(_Look.of(answer, noise, rows, part).with_closer(other, ranges[part]))
        means, deviations, errors = (0.5 * np.concatenate(each) for each in zip(*found, strict=True))
        return cls(rows, means, deviations, errors)

    def places(self, names: tuple[str, ...]) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation by name, of as many numbers as there are names."""
        return dict(zip(names, zip(self.means.tolist(), self.deviations.tolist(), strict=True), strict=False))


@dataclass(frozen=True, eq=False)
class _Look:
    """Means of numbers and of their squares within [-1, 1], and standard deviations of their noise, (k,)."""

    means: FloatVector
    squares: FloatVector
    mean_noise: FloatVector
    square_noise: FloatVector
    count_noise: float  # of the number of rows, as a share of it

    @classmethod
    def of(cls, answer: FloatVector, noise: FloatVector, rows: float, part: slice) -> Self:
        """From released sums of rows, numbers and squares less 1/2, of numbers ``part``."""
        sums, errors = answer[1:] / rows, noise[1:] / rows
        means, mean_noise = pooled(sums[::2][part], errors[::2][part], 0.0)
        squares = 0.5 + sums[1::2][part]
        squares, square_noise = pooled(squares, errors[1::2][part], float(squares.mean()))
        return cls(np.clip(means, -1.0, 1.0), squares, mean_noise, square_noise, float(noise[0]) / rows)

    @property
    def variances(self) -> FloatVector:
        return self.squares - self.means**2

    @property
    def noise(self) -> FloatVector:
        """Standard deviation of the noise of `variances`, that of the number of rows included."""
        counted = (0.5 - self.squares + 2.0 * self.means**2) * self.count_noise
        return np.sqrt(self.square_noise**2 + (2.0 * self.means * self.mean_noise) ** 2 + counted**2)

    def whole_ranges(self) -> FloatMatrix:
        """Mean of each number and the farthest that it may be from it, shape (k, 2)."""
        return np.column_stack([self.means, 1.0 + np.abs(self.means)])

    def closer_ranges(self) -> FloatMatrix:
        """Middle and half a width for each number, shape (k, 2): all that it may be, or a few deviations.

        A number of which nearly all rows are at an end of its range, such as one that is 0 or 1, has tails
        that nobody may cut.
        """
        # A number of mean m in [-1, 1] has a variance of 1 - m^2 at most.
        most = np.clip(1.0 - self.means**2 + 2.0 * np.abs(self.means) * self.mean_noise, 0.0, 1.0)
        possible = np.minimum(np.maximum(self.variances, POSSIBLE * self.noise), most)
        half = WITHIN * np.sqrt(np.maximum(possible, (2.0 * LEAST_SHARE) ** 2))
        clear = self.variances >= CLEARLY * self.noise
        at_ends = self.squares >= 1.0 - CLEARLY * np.hypot(self.square_noise, 0.5 * self.count_noise)
        whole = self.whole_ranges()
        whole[:, 1] = np.where(clear | at_ends, whole[:, 1], np.minimum(half, whole[:, 1]))
        return whole

    def with_closer(self, other: _Look, ranges: FloatMatrix) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Means, standard deviations and noise of the means, from both looks; each of shape (k,).

        Within a closer range the first look says little, and is left out of the variance, which is its noise
        at the least.
        """
        centre, half = ranges.T
        own, its = self.mean_noise**-2.0, (half * other.mean_noise) ** -2.0
        means = (own * self.means + its * (centre + half * other.means)) / (own + its)
        variances, noise = half**2 * other.variances, half**2 * other.noise
        own_part, its_part = self.noise**-2.0, noise**-2.0
        both = (own_part * self.variances + its_part * variances) / (own_part + its_part)
        # What noise alone makes is no more than a uniform number has.
        least = np.minimum(CLEARLY / np.sqrt(own_part + its_part), (2.0 * UNIFORM_SHARE) ** 2)
        whole = half >= 1.0 + np.abs(centre)
        found = np.where(whole, np.maximum(both, least), np.maximum(variances, noise))
        deviations = np.sqrt(np.clip(found, (2.0 * LEAST_SHARE) ** 2, (2.0 * MOST_SHARE) ** 2))
        return np.clip(means, -1.0, 1.0), deviations, 1.0 / np.sqrt(own + its)


def pooled(values: FloatVector, noise: FloatVector, centre: float) -> tuple[FloatVector, FloatVector]:
    """Values drawn towards a centre where noise alone would scatter them so; and the noise that is left.

    The estimate of James and Stein (1961): it helps from three values on.
    """
    if len(values) < 3:
        return values, noise
    spread = float(np.mean((values - centre) ** 2))
    kept = max(1.0 - float(np.mean(noise**2)) / spread, 0.0) if spread else 0.0
    return centre + kept * (values - centre), noise * math.sqrt(kept + (1.0 - kept) / len(values))
