"""Rankings and paired comparisons: areas under ROC curves, differences over repeats with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpglm.typing import BoolVector, FloatVector
from studies.page import Table

LEVEL = 0.95


def auc(positive: BoolVector, scores: FloatVector) -> float:
    """Area under the ROC curve: how often a positive row has the larger score, ties counted as half.

    A row whose score is NaN has the median of the others. NaN without rows of both kinds.

    Examples
    --------
    >>> auc(np.array([False, True, True, False]), np.array([0.1, 0.4, 0.2, 0.2]))
    0.875
    """
    positive = np.asarray(positive, dtype=np.bool_)
    scores = np.asarray(scores, dtype=np.float64)
    known = np.isfinite(scores)
    if known.any() and not known.all():
        scores = np.where(known, scores, np.median(scores[known]))
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2.0
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return math.nan
    ranks = middle[place]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2.0) / (ones * zeros))


@dataclass(frozen=True)
class Difference:
    """A mean of paired differences with its 95 % interval by Student's t; NaN bounds for a single pair."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)

    def __str__(self) -> str:
        if math.isnan(self.low) or self.low == self.high:
            return f"{self.mean:+.3f}"
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """``first`` less ``second``, pair by pair.

    Examples
    --------
    >>> print(difference([0.9, 0.8, 0.85], [0.7, 0.7, 0.7]))
    +0.150 [+0.026, +0.274]
    """
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    mean = float(gaps.mean())
    half_width = _half_width(gaps)
    return Difference(mean, mean - half_width, mean + half_width, len(gaps))


@dataclass(frozen=True)
class Mean:
    """A mean over repeats, its standard deviation, and half the width of its 95 % interval."""

    value: float
    deviation: float
    half_width: float
    count: int


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of some repeats.

    Examples
    --------
    >>> found = mean_of([0.7, 0.8, 0.9])
    >>> round(found.value, 3), round(found.deviation, 3), round(found.half_width, 3)
    (0.8, 0.1, 0.248)
    """
    numbers = np.asarray(values, dtype=np.float64)
    deviation = float(numbers.std(ddof=1)) if len(numbers) > 1 else math.nan
    return Mean(float(numbers.mean()), deviation, _half_width(numbers), len(numbers))


def _half_width(numbers: FloatVector) -> float:
    if len(numbers) < 2:
        return math.nan
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(numbers) - 1, 0.5 + LEVEL / 2.0))
    return quantile * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))


def verdict(signs: Sequence[int]) -> str:
    """What a saying's intervals amount to: 1 where one supports it, -1 where one speaks against it.

    Examples
    --------
    >>> verdict([1, 1]), verdict([1, 0, 1]), verdict([0, 0]), verdict([1, -1]), verdict([-1, 0])
    ('holds', 'holds in part', 'not seen', 'mixed', 'fails')
    """
    if not signs:
        return "not asked"
    some, against = 1 in signs, -1 in signs
    if some and against:
        return "mixed"
    if against:
        return "fails"
    if not some:
        return "not seen"
    return "holds" if all(one == 1 for one in signs) else "holds in part"


@dataclass(frozen=True)
class Claim:
    """A saying, asked in several cells: each has a difference that is above 0 where it is so.

    Parameters
    ----------
    said : str
    what : str
        What less what.
    cells : sequence of (str, str, Difference)
        Line, column and difference.
    """

    said: str
    what: str
    cells: Sequence[tuple[str, str, Difference]]

    @property
    def verdict(self) -> str:
        """See `verdict`."""
        return verdict([one.sign for _, _, one in self.cells])

    def row(self) -> tuple[str, str, str]:
        """A line of the table of verdicts."""
        signs = [one.sign for _, _, one in self.cells]
        counts = f"{signs.count(1)} above 0, {signs.count(0)} around 0, {signs.count(-1)} below 0"
        return self.said, counts, self.verdict

    def table(self) -> Table:
        """All differences."""
        heads = list(dict.fromkeys(head for _, head, _ in self.cells))
        found = {(line, head): str(one) for line, head, one in self.cells}
        lines = dict.fromkeys(line for line, _, _ in self.cells)
        rows = [(line, *(found.get((line, head), "-") for head in heads)) for line in lines]
        return Table(f"{self.said}? {self.what}.", ("", *heads), rows)


VERDICTS = (
    "holds: every 95 % interval is on the saying's side of 0; holds in part: some are, none on the other; "
    "not seen: all contain 0; mixed: intervals on both sides; fails: some on the wrong side, none on it."
)
