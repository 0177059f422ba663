"""Quartiles of numbers from counts in classes: where classes lie, and what their noisy counts say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias

import numpy as np

from dpglm.postprocessing.codec import store_error
from dpglm.typing import FloatMatrix, FloatVector

Quartile: TypeAlias = Literal["q1", "median", "q3"]
PROBABILITIES: Final[Mapping[Quartile, float]] = {"q1": 0.25, "median": 0.5, "q3": 0.75}
NORMAL: Final = 1.959964  # of a 95 % interval
# Counts are made in rounds: each puts its classes where the one before found the quartiles. This is the share
# of each in what is spent on quartiles, of mu squared (pure: of epsilon). Only the last one is reported.
ROUND_SHARES: Final = (0.14, 0.24, 0.62)
# The first edges: as many at equal distances as from this many standard deviations below the mean to as many
# above. By Chebyshev's inequality on one side, quartiles are less than 1.74 of them away.
EDGES: Final = 28
NEAR: Final = 1.75
# Later edges: these quantiles, which are for groups unlike the whole, and six for each quartile. These are
# from end to end of the classes that hold the quartile, give or take so many standard errors.
BETWEEN: Final = (0.02, 0.08, 0.16, 0.33, 0.42, 0.58, 0.67, 0.84, 0.92, 0.98)
AROUND: Final = 6
SURE: Final = 2.5
# Of the distance between the quartiles: no reader minds that an estimate moves as little. The number with the
# fewest digits is told of those as near, so that heaps and whole numbers are told exactly.
NEGLIGIBLE: Final = 0.02
# Numbers are read in single precision: an edge may be off by this, where the bounds are -1 and 1.
ROUNDING: Final = 2.0**-23
# Saved counts and their noise are less than this, so that no square overflows.
MOST: Final = 1e100


def first_edges(mean: float, deviation: float) -> FloatVector:
    """Rising edges in [-1, 1] for a number of this mean and standard deviation, NaN if unknown; (EDGES,)."""
    half = EDGES // 2
    if not math.isfinite(mean) or not math.isfinite(deviation):
        return np.linspace(-1.0, 1.0, EDGES + 2)[1:-1]
    near = mean + deviation * np.linspace(-NEAR, NEAR, EDGES - half)
    return np.sort(np.clip([*np.linspace(-1.0, 1.0, half + 2)[1:-1], *near], -1.0, 1.0))


def next_edges(found: Distribution) -> FloatVector:
    """Rising edges at which the next round counts, shape (EDGES,)."""
    edges = list(map(found.quantile, BETWEEN))
    for probability in PROBABILITIES.values():
        first, last = found.places(probability, SURE)
        shares = np.linspace(found.shares[first], found.shares[last], AROUND)[1:-1]
        edges += [found.ends[first], *map(found.quantile, shares.tolist()), found.ends[last]]
    return np.asarray(np.clip(np.sort(edges), -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class Distribution:
    """What is known of a number's distribution: its share up to each end of a class, with noise.

    Parameters
    ----------
    ends : ndarray, shape (k + 1,)
        Ends of classes, from -1 to 1.
    shares : ndarray, shape (k + 1,)
        Of the values up to each end, from 0 to 1, never falling.
    noise : dict of float to ndarray, shape (k + 1,)
        For each probability of a quartile, the standard error by noise of a share that equals it.
    total : float
        Number of values, at least 1.
    """

    ends: FloatVector
    shares: FloatVector
    noise: dict[float, FloatVector]
    total: float

    @classmethod
    def of(
        cls, edges: FloatVector, counts: FloatVector, variance: float, total: float, total_variance: float
    ) -> Self:
        """From counts with noise of one variance, and a number of values that was released beside them.

        The counts are made to add up to that number, as far as both are precise: by least squares. Classes of
        no width, but the first, hold nothing and are left out.
        """
        from scipy.optimize import isotonic_regression

        ends = np.concatenate([[-1.0], edges, [1.0]])
        kept = np.concatenate([[True], np.diff(ends)[1:] > 0.0])
        counts, uppers, size = counts[kept], ends[1:][kept], int(kept.sum())
        pull = variance / (size * variance + total_variance)
        counts = counts + pull * (total - counts.sum())
        whole = max(float(counts.sum()), 1.0)
        shares = np.cumsum(counts)[:-1] / whole
        if size > 1:
            shares = np.clip(isotonic_regression(shares).x, 0.0, 1.0)
        below = np.arange(size + 1.0)
        noise = {}
        for p in PROBABILITIES.values():
            # Of the counts below, times 1 - p, less those above, times p, after they were made to add up.
            square = below * (1.0 - p) ** 2 + (size - below) * p**2 - pull * (below - p * size) ** 2
            noise[p] = np.sqrt(variance * np.maximum(square, 0.0)) / whole
        return cls(np.concatenate([[-1.0], uppers]), np.array([0.0, *shares, 1.0]), noise, whole)

    def quantile(self, probability: float) -> float:
        """Where the share reaches this probability, by a straight line inside of a class."""
        last = max(int(np.searchsorted(self.shares, probability)), 1)
        low, high = self.shares[last - 1 : last + 1]
        within = (probability - low) / (high - low) if high > low else 0.5
        inside = self.ends[last - 1] + within * (self.ends[last] - self.ends[last - 1])
        return float(min(inside, self.ends[last]))  # which rounding may pass

    def places(self, probability: float, errors: float, *, sampling: bool = True) -> tuple[int, int]:
        """Ends between which the quantile lies, give or take so many standard errors of the shares there.

        At the first one the share is below the probability, and at the last one above, by more than that
        (Woodruff 1952). It holds however values lie inside of a class.
        """
        variance = probability * (1.0 - probability) / self.total if sampling else 0.0
        margin = errors * np.sqrt(self.noise[probability] ** 2 + variance)
        surely_below = np.flatnonzero(self.shares[1:-1] + margin[1:-1] < probability)
        surely_above = np.flatnonzero(self.shares[1:-1] - margin[1:-1] > probability)
        first = int(surely_below[-1]) + 1 if surely_below.size else 0
        last = int(surely_above[0]) + 1 if surely_above.size else len(self.ends) - 1
        return first, last

    def alike(self, probability: float) -> tuple[int, int] | None:
        """Ends between which any number may stand for the quantile; None where they are too far apart.

        They are those of the 95 % interval, where that is one class or short; or those of a narrow class.
        """
        negligible = NEGLIGIBLE * (self.quantile(0.75) - self.quantile(0.25))
        last = max(int(np.searchsorted(self.shares, probability)), 1)
        places = self.places(probability, NORMAL)
        if places[1] - places[0] == 1 or self.ends[places[1]] - self.ends[places[0]] <= negligible:
            return places
        return (last - 1, last) if self.ends[last] - self.ends[last - 1] <= negligible else None


def shortest(low: float, high: float, near: float) -> float:
    """The number from low to high with the fewest digits, of two such the one nearer to a third number.

    Examples
    --------
    >>> shortest(1.9987, 2.0013, 1.999), shortest(44.2, 44.9, 44.7), shortest(-0.01, 0.004, 0.001)
    (2.0, 44.7, 0.0)
    """
    size = math.floor(math.log10(max(abs(low), abs(high), 1e-290)))
    for exponent in range(size, size - 18, -1):
        steps = near / 10.0**exponent
        for whole in sorted((math.floor(steps), math.ceil(steps)), key=lambda whole: abs(whole - steps)):
            number = float(f"{whole}e{exponent}")
            if low <= number <= high:
                return number
    return near


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Released counts of the last round."""

    edges: FloatMatrix  # (numbers, EDGES) rising, where bounds are -1 and 1
    counts: FloatMatrix  # (groups, numbers * (EDGES + 1))
    deviation: float  # of the noise on each of them

    def check(self, numbers: int, groups: int) -> None:
        """Refuse what is not made of these numbers and groups, with a StoreError."""
        bounded = np.pad(self.edges, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, 1)))
        rising = self.edges.ndim == 2 and (np.diff(bounded, axis=1) >= 0.0).all()
        shapes = self.edges.shape[:1] + self.counts.shape
        if not rising or shapes != (numbers, groups, numbers * (self.edges.shape[-1] + 1)):
            raise store_error("classes that do not belong to the numbers and groups", "rising edges of each")
        if not 0.0 < self.deviation < MOST or not (np.abs(self.counts) < MOST).all():
            raise store_error("noise of classes that is not positive, or huge counts", "a number > 0")

    def distribution(self, number: int, groups: slice, total: float, total_variance: float) -> Distribution:
        """Of a number in some groups together."""
        width = self.edges.shape[1] + 1
        counts = self.counts[groups, number * width : (number + 1) * width]
        return Distribution.of(
            self.edges[number], counts.sum(axis=0), len(counts) * self.deviation**2, total, total_variance
        )
