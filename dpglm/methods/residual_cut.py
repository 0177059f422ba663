"""Where residuals are cut, and what that takes from the score: a choice from noisy counts of residuals.

Counts stand in classes of size and sign. What noise hides in them is not taken for nothing: beside the
residuals that the model expects there may be more, which fall exponentially, and the counts tell how many and
how fast. So what each cut takes off has a mean, which is given back, and an error, which the level may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy.special import gammaincc

from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.typing import FloatVector

# Residuals are cut at one of these many of their standard deviations.
CUTS: Final = tuple(2.5 * 2.0 ** (k / 2.0) for k in range(7))
# Those of counts are in Poisson standard deviations, of which an overdispersed count may be many away.
COUNT_CUTS: Final = (*CUTS, 40.0, 80.0, 160.0, 320.0)
# What is cut off is taken to have this correlation with each column, in the choice of the cut and in standard
# errors. On five real tables, cut at 2.5 and 3.5, it is .06 to .31 in the root mean square over columns, and
# .30 to .84 in the column where it is largest.
ALIGNED: Final = 0.35
# Before counts are seen: how far beyond the first cut residuals are that the model does not expect (median,
# and deviation of its logarithm, which is larger for counts, as they may be overdispersed), how probable it
# is that there are none, and the largest share of rows.
EXCESS, EXCESS_DEVIATION, COUNT_EXCESS_DEVIATION, NONE, MOST = 1.0, 0.6, 0.8, 0.6, 0.3
# Rows of a class differ by this share from what is expected. So many deviations of noise away, counts are
# believed.
MISFIT, SURE = 0.5, 4.0
_LENGTHS, _AMOUNTS = np.geomspace(0.3, 12.0, 16), 40
# Residuals beyond the last cut are taken to be this share of it further out.
_FURTHER: Final = 0.2


@dataclass(frozen=True, eq=False)
class Tail:
    """What each cut takes off residuals of one sign, in their standard deviations."""

    cuts: FloatVector  # (k,), rising
    off: FloatVector  # (k,), sum of what is beyond each
    error: FloatVector  # (k,), standard deviation of what is not known of it
    squares: FloatVector  # (k,), sum of squares beyond the square of each

    @classmethod
    def of(cls, cuts: FloatVector, seen: FloatVector, noise: float, usual: FloatVector, rows: float) -> Self:
        """From noisy numbers of rows in the classes beyond the first cut, shape (k,).

        ``usual`` is how many rows the model expects beyond each cut, shape (k,).
        """
        ends = np.append(cuts[1:], (1.0 + _FURTHER) * cuts[-1])
        expected = usual - np.append(usual[1:], 0.0)
        amounts = np.append(0.0, np.geomspace(1e-3 * MOST * rows, MOST * rows, _AMOUNTS))
        amount, length = (each.ravel()[:, None] for each in np.meshgrid(amounts, _LENGTHS))
        more = amount * np.exp(-(cuts - cuts[0]) / length)
        classes = expected + more - np.column_stack([more[:, 1:], np.zeros(len(more))])
        own, gap = classes + (MISFIT * classes) ** 2, seen - classes
        spread = own + noise**2
        logs = np.log(np.where(amount == 0.0, NONE, (1.0 - NONE) / _AMOUNTS))
        unsure_of_length = EXCESS_DEVIATION if len(cuts) <= len(CUTS) else COUNT_EXCESS_DEVIATION
        logs = logs - 0.5 * (np.log(length / EXCESS) / unsure_of_length) ** 2
        logs = logs[:, 0] - 0.5 * (gap**2 / spread + np.log(spread)).sum(axis=1)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()

        own = np.where(np.abs(gap) > SURE * noise, np.maximum(own, gap**2), own)
        moved, unsure = own / (own + noise**2) * gap, own * noise**2 / (own + noise**2)
        width = ends - cuts
        place = cuts + length - width / np.expm1(width / length)  # of a row in each class, on average
        reached = np.triu(np.ones((len(cuts), len(cuts))))  # cut, class: rows of a class beyond its cut
        beyond = reached * (place[:, None, :] - cuts[:, None])  # (grid, cut, class)
        squares = reached * (place[:, None, :] ** 2 - cuts[:, None] ** 2)
        beside = expected + moved
        off = more * length + np.einsum("gcj,gj->gc", beyond, beside)
        mean = weights @ off
        variance = weights @ (off**2 + np.einsum("gcj,gj->gc", beyond**2, unsure)) - mean**2
        second = 2.0 * more * length * (cuts + length) + np.einsum("gcj,gj->gc", squares, beside)
        return cls(cuts, mean, np.sqrt(np.maximum(variance, 0.0)), weights @ second)

    def at(self, place: float) -> FloatVector:
        """`off`, `error` and `squares` of any cut, shape (3,)."""
        least = np.finfo(np.float64).tiny
        logs = (np.log(np.maximum(each, least)) for each in (self.off, self.error, self.squares))
        return np.exp([float(np.interp(place, self.cuts, each)) for each in logs])


@dataclass(frozen=True)
class Taken:
    """What a cut takes from the score, in residual standard deviations."""

    removed: float  # sum of what is cut off, with its sign
    bias: float  # what the cut may move each coordinate of the score by beside that
    error: float  # standard deviation of what is not known of the sum
    squares: float  # sum of squares beyond the square of the cut


@dataclass(frozen=True, eq=False)
class Cut:
    """Where residuals are cut, in their standard deviations, and what is known of those beyond."""

    place: float
    above: Tail
    below: Tail
    size: int

    @classmethod
    def of(
        cls,
        classes: ColumnSums,
        answer: FloatVector,
        deviation: float,
        size: int,
        rows: float,
        usual: tuple[FloatVector, FloatVector],
    ) -> Self:
        """The cut at which noise and what is cut off together cost least, in the mean over coordinates.

        Parameters
        ----------
        classes, answer
            Counts in classes of size and sign, and what was answered.
        deviation : float
            Of the noise of a score whose residuals are cut at 1.
        size : int
            Number of coordinates.
        rows : float
            Number of rows.
        usual : (ndarray, ndarray), shapes (k,)
            How many rows the model expects beyond each cut, above and below.
        """
        counts, noise = answer[int(classes.count_rows) :], float(classes.deviations[-1])
        k = len(counts) // 2
        cuts = np.array(COUNT_CUTS[:k])
        above = Tail.of(cuts, counts[k + 1 :], noise, usual[0], rows)
        below = Tail.of(cuts, counts[:k][::-1], noise, usual[1], rows)
        tried = [cls(float(place), above, below, size) for place in cuts]

        def cost(cut: Self) -> float:
            taken = cut.taken()
            return float((deviation * cut.place) ** 2 + taken.bias**2 + (taken.error / size) ** 2)

        return min(tried, key=cost)

    def taken(self, before: float = 1.0, after: float = 1.0) -> Taken:
        """What it takes off around a point whose level is ``after``, where counts were taken at ``before``.

        Levels are typical means of counts: residuals of a response that is a number do not move so.
        """
        old, new = math.sqrt(before), math.sqrt(after)
        above, below = (
            tail.at((self.place * new + sign * (after - before)) / old) * (old / new) ** np.array([1, 1, 2])
            for tail, sign in ((self.above, 1.0), (self.below, -1.0))
        )
        both = above + below
        bias = float(_bias(both[0], self.size))
        return Taken(float(above[0] - below[0]), bias, math.hypot(above[1], below[1]), float(both[2]))


def _bias(off: FloatVector, size: int) -> FloatVector:
    """What sums that are cut off may move each of so many coordinates of the score by."""
    return ALIGNED * off / math.sqrt(size)


def expected_cut(
    means: FloatVector, weights: FloatVector, over: float, rows: float, deviation: float, size: int
) -> tuple[float, float]:
    """Where residuals of counts will be cut, and what that may move a coordinate of the score by.

    Counts have gamma distributions with these means and weights, shape (k,), and ``over`` times the means as
    variances. As in `Cut.of`, ``deviation`` is of the noise of a score whose residuals are cut at 1.

    Examples
    --------
    >>> means, weights = np.full(2, 4.0), np.full(2, 0.5)
    >>> place, _ = expected_cut(means, weights, 1.0, 1e4, 10.0, 5)
    >>> place < expected_cut(means, weights, 9.0, 1e4, 10.0, 5)[0]
    True
    """
    cuts, shape = np.array(COUNT_CUTS)[:, None], means / over
    ends = means + cuts * np.sqrt(means)
    beyond = means * gammaincc(shape + 1.0, ends / over) - ends * gammaincc(shape, ends / over)
    bias = _bias(rows * (np.maximum(beyond, 0.0) / np.sqrt(means)) @ weights, size)
    best = int(np.argmin((deviation * cuts[:, 0]) ** 2 + bias**2))
    return COUNT_CUTS[best], float(bias[best])
