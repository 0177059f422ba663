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


def verdict(signs: Sequence[int]) -> str:
    """What the intervals of a statement amount to: 1 where one supports it, -1 where one contradicts it.

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
    """A statement, tested in several cells: the difference of a cell is above 0 where it is true.

    Parameters
    ----------
    statement : str
    contrast : str
        What less what.
    cells : sequence of (str, str, Difference)
        Line, column and difference.
    """

    statement: str
    contrast: str
    cells: Sequence[tuple[str, str, Difference]]

    @property
    def verdict(self) -> str:
        """See `verdict`."""
        return verdict([one.sign for _, _, one in self.cells])

    def row(self) -> tuple[str, str, str]:
        """A line of the table of verdicts."""
        signs = [one.sign for _, _, one in self.cells]
        counts = f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}" if signs else "-"
        return self.statement, counts, self.verdict

    def table(self) -> Table:
        """All differences."""
        heads = list(dict.fromkeys(head for _, head, _ in self.cells))
        texts = {(line, head): str(gap) for line, head, gap in self.cells}
        lines = dict.fromkeys(line for line, _, _ in self.cells)
        rows = [(line, *(texts.get((line, head), "-") for head in heads)) for line in lines]
        return Table(f"{self.statement}? {self.contrast}.", ("", *heads), rows)


VERDICTS = (
    "Numbers of 95 % intervals above / around / below 0, where above speaks for the statement. "
    "holds: every 95 % interval is on the statement's side of 0; holds in part: some are, none on the other; "
    "not seen: all contain 0; mixed: intervals on both sides; fails: some on the wrong side, none on it."
)
