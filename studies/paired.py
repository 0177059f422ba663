"""Paired comparisons: areas under ROC curves, differences over repeats with their intervals, verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpglm.typing import BoolVector, FloatVector
from studies.jobs import Result
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
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2.0
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return math.nan
    ranks = middle[places]
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
    mean = mean_of([float(one) - float(other) for one, other in zip(first, second, strict=True)])
    return Difference(mean.value, mean.value - mean.half_width, mean.value + mean.half_width, mean.count)


@dataclass(frozen=True)
class Mean:
    """A mean over repeats and their standard deviation, NaN for a single one."""

    value: float
    deviation: float
    count: int

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.count)

    @property
    def half_width(self) -> float:
        """Half the width of the mean's 95 % interval by Student's t."""
        if self.count < 2:
            return math.nan
        from scipy.special import stdtrit

        return float(stdtrit(self.count - 1, 0.5 + LEVEL / 2.0)) * self.error


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of some repeats.

    Examples
    --------
    >>> mean = mean_of([0.7, 0.8, 0.9])
    >>> round(mean.value, 3), round(mean.deviation, 3), round(mean.half_width, 3)
    (0.8, 0.1, 0.248)
    """
    count = len(values)
    value = math.fsum(values) / count
    if count < 2:
        return Mean(value, math.nan, count)
    return Mean(value, math.sqrt(math.fsum((one - value) ** 2 for one in values) / (count - 1)), count)


Value = Callable[[Result], float]


class Repeats:
    """Results by cell and repeat.

    Parameters
    ----------
    results : sequence of mapping
        Of one study; those without an area, which dpglm refused, are in no cell.
    cells : callable
        The cells that a result belongs to.
    """

    def __init__(self, results: Sequence[Result], cells: Callable[[Result], Iterable[Hashable]]) -> None:
        self.results = results
        self._by: dict[Hashable, dict[int, Result]] = {}
        for result in results:
            if "auc" in result:
                for cell in cells(result):
                    self._by.setdefault(cell, {})[int(result["repeat"])] = result

    def tables(self) -> list[str]:
        """Names of the tables, in the order of the study."""
        return list(dict.fromkeys(result["table"] for result in self.results))

    def cells(self) -> list[Hashable]:
        """All cells, in the order of the study."""
        return list(self._by)

    def count(self) -> int:
        """The most repeats of a cell."""
        return max((len(runs) for runs in self._by.values()), default=0)

    def cell_runs(self, cell: Hashable) -> dict[int, Result]:
        """Results of a cell by repeat."""
        return self._by.get(cell, {})

    def cell_mean(self, cell: Hashable, value: Value) -> Mean | None:
        """Mean of a cell over repeats; None without any."""
        runs = self.cell_runs(cell)
        return mean_of([value(runs[repeat]) for repeat in sorted(runs)]) if runs else None

    def cell_difference(
        self, first: Hashable, second: Hashable, values: tuple[Value, Value]
    ) -> Difference | None:
        """``first`` less ``second`` over the repeats that both have; None without any."""
        one, other = self.cell_runs(first), self.cell_runs(second)
        both = sorted(one.keys() & other.keys())
        if not both:
            return None
        return difference([values[0](one[at]) for at in both], [values[1](other[at]) for at in both])


def closeness(gap: Difference, room: float) -> Difference:
    """``room`` less the size of a difference: above 0 where the two are closer than that.

    Its interval is all above 0 where the whole interval of the difference lies within ``room`` of 0.

    Examples
    --------
    >>> print(closeness(Difference(-0.010, -0.015, -0.005, 10), 0.02))
    +0.010 [+0.005, +0.015]
    """
    ends = (abs(gap.low), abs(gap.high))
    return Difference(
        room - abs(gap.mean), room - max(ends), room - (min(ends) if gap.sign else 0.0), gap.count
    )


def beyond_chance(cells: int) -> int:
    """The least number of 95 % intervals on one side of 0 that is no chance.

    Where no difference is real an interval lies on a given side with probability 2.5 %; so many of
    ``cells`` independent ones do in less than one claim of twenty.

    Examples
    --------
    >>> [beyond_chance(cells) for cells in (1, 2, 3, 14, 15, 33, 34)]
    [1, 1, 2, 2, 3, 3, 4]
    """
    chance, count = 1.0, 0
    while chance >= 1.0 - LEVEL:
        chance -= math.comb(cells, count) * 0.025**count * 0.975 ** (cells - count)
        count += 1
    return count


def every(cells: int) -> int:
    """How many cells "is" speaks of: all."""
    return cells


def most(cells: int) -> int:
    """How many cells "is in most cases" speaks of: more than half."""
    return cells // 2 + 1


# What "can be" speaks of.
some = beyond_chance
Scope = Callable[[int], int]
HOLDS, IN_PART, MIXED, NOT = "holds", "holds in part", "mixed", "does not hold"
UNTOLD, UNEXAMINED = "not told apart", "not examined"


def verdict(above: int, around: int, below: int, scope: Scope = every) -> str:
    """What the intervals of a statement amount to, where those above 0 speak for it.

    Parameters
    ----------
    above, around, below : int
        Numbers of intervals that lie above 0, contain it, and lie below it.
    scope : callable
        What the statement says: `every`, `most` or `some`.

    Examples
    --------
    >>> verdict(12, 0, 0), verdict(9, 3, 0), verdict(9, 0, 3), verdict(1, 8, 3), verdict(1, 11, 0)
    ('holds', 'holds in part', 'mixed', 'does not hold', 'not told apart')
    >>> verdict(9, 0, 3, most), verdict(3, 6, 3, some), verdict(0, 6, 6, some), verdict(0, 0, 0)
    ('holds', 'holds', 'not told apart', 'not examined')
    """
    cells = above + around + below
    if not cells:
        return UNEXAMINED
    least = beyond_chance(cells)
    if above >= max(least, scope(cells)):
        return HOLDS
    # That something can be is refuted where it is the other way round nearly everywhere.
    speaks, against = above >= least, below >= (cells - least + 1 if scope is some else least)
    return MIXED if speaks and against else IN_PART if speaks else NOT if against else UNTOLD


@dataclass(frozen=True)
class Claim:
    """A statement, tested in several cells: the difference of a cell is above 0 where it is true.

    Parameters
    ----------
    statement : str
    contrast : str
        What less what.
    cells : sequence of (str, str, Difference)
        Line, column and difference.
    scope : callable
        In how many of its cells the statement has to be true: `every`, `most` or `some`.
    """

    statement: str
    contrast: str
    cells: Sequence[tuple[str, str, Difference]]
    scope: Scope = every

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of intervals above, around and below 0."""
        signs = [one.sign for _, _, one in self.cells]
        return signs.count(1), signs.count(0), signs.count(-1)

    @property
    def verdict(self) -> str:
        """See `verdict`."""
        return verdict(*self.counts, self.scope)

    def row(self) -> tuple[str, str, str]:
        """A line of the table of verdicts: statement, counts with the range of differences, verdict."""
        if not self.cells:
            return self.statement, "-", self.verdict
        means = [one.mean for _, _, one in self.cells]
        told = f"{min(means):+.3f} to {max(means):+.3f}" if len(means) > 1 else str(self.cells[0][2])
        return self.statement, f"{' / '.join(map(str, self.counts))} ({told})", self.verdict

    def table(self) -> Table:
        """All differences."""
        heads = list(dict.fromkeys(head for _, head, _ in self.cells))
        texts = {(line, head): str(gap) for line, head, gap in self.cells}
        lines = dict.fromkeys(line for line, _, _ in self.cells)
        rows = [(line, *(texts.get((line, head), "-") for head in heads)) for line in lines]
        return Table(f"{self.statement}? {self.contrast}.", ("", *heads), rows)


COUNTED = (
    "Numbers of 95 % intervals above / around / below 0, where above speaks for the statement, and the range "
    "of the mean differences."
)
VERDICTS = (
    f"{COUNTED} A side speaks where it has more intervals than chance gives it, 2.5 % of them each: 1 of 2, "
    "2 of 3 to 14, 3 of 15 to 33. holds: all intervals speak for the statement (of what is said of most "
    "cases, more than half; of what can be, more than by chance); holds in part: that side alone speaks; "
    "mixed: both do; does not hold: the other side alone (of what can be, in nearly all); not told apart: "
    "neither."
)
