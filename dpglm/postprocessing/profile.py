"""Sample characteristics from released sums and counts: shares, means, quartiles and their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.correlations import ColumnProducts, ProfiledColumn
from dpglm.postprocessing.quartiles import (
    NORMAL,
    PROBABILITIES,
    ROUNDING,
    ClassCounts,
    Distribution,
    shortest,
)
from dpglm.postprocessing.record import Record, plain_copy
from dpglm.typing import LATER, FloatMatrix, FloatVector

Statistic: TypeAlias = Literal["n", "share", "mean", "sd", "q1", "median", "q3"]
Group: TypeAlias = "Mapping[tuple[str, str, Statistic], Estimate]"  # by column, level and name
Count: TypeAlias = tuple[float, float]  # a number and the variance of its noise
OVERALL = "overall"
# A statistic of fewer values than this many standard errors of their number is absent.
LEAST_COUNT = 3.0
# Where intervals end at the latest.
_POSSIBLE = {"n": (0.0, math.inf), "share": (0.0, 1.0), "sd": (0.0, math.inf)}


@dataclass(frozen=True, eq=False, kw_only=True)
class ProfileRecord(Record):
    """What a :class:`~dpglm.results.profile.Profile` is made of."""

    schema: Mapping[str, object]  # as `Schema.to_dict` writes it
    columns: tuple[ProfiledColumn, ...]  # numbers, then factors
    by: str | None
    groups: tuple[str, ...]  # labels of the levels of ``by``; one, "overall", without
    group_rows: tuple[int, ...] | None  # number of rows of each group, where that is public
    counted: bool  # whether the number of rows of each group was released
    released: FloatMatrix  # (groups, sums): rows if counted; values there, z and z^2 - 1/2; levels
    deviations: FloatVector  # (sums,) standard deviations of their noise
    classes: ClassCounts | None = None  # for quartiles, where these were asked for
    products: ColumnProducts | None = field(default=None, metadata=LATER)  # for correlations, likewise

    def __post_init__(self) -> None:
        width = self.counted + sum(column.width for column in self.columns)
        if np.shape(self.released) != (len(self.groups), width) or np.shape(self.deviations) != (width,):
            raise store_error("sums that do not belong to the columns", "a row for each group")
        if set(self.names) != {column.name for column in self.columns} or not self.groups:
            raise store_error("columns that do not belong together", "each column once")
        if any(not column.levels and not column.low < column.high for column in self.columns):
            raise store_error("a number without a range", "low < high")
        whole = self.groups == (OVERALL,)
        named = (self.by is None) if whole else (self.by is not None and OVERALL not in self.groups)
        if not named or len(set(self.groups)) < len(self.groups):
            raise store_error("groups that do not belong together", "one, or the levels of a factor")
        if self.group_rows is None and not self.counted:
            raise store_error("no number of rows", "one that was released or is public")
        if self.group_rows is not None and len(self.group_rows) != len(self.groups):
            raise store_error("numbers of rows that do not belong to the groups", "one for each group")
        if self.classes is not None:
            self.classes.check(sum(not column.levels for column in self.columns), len(self.groups))
        if self.products is not None:
            self.products.check(self.columns)
        object.__setattr__(self, "schema", plain_copy(self.schema, "schema"))
        super().__post_init__()

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """All statistics, group by group and then overall, in the order of the columns."""
        totals = [(label, slice(at, at + 1)) for at, label in enumerate(self.groups)]
        if self.by is not None:
            totals.append((OVERALL, slice(None)))
        return tuple(each for label, groups in totals for each in self._of_groups(label, groups))

    def of(self, group: str) -> Group:
        """The statistics of one group."""
        return {(e.column, e.level, e.statistic): e for e in self.estimates if e.group == group}

    def counts(self, groups: slice = slice(None)) -> dict[str, Count]:
        """How many rows groups together have, by the name "", and how many values of each number."""
        sums, variances = self._added(groups)
        if self.group_rows is None:
            rows = _number_of_rows(self, sums, variances)
        else:
            rows = float(sum(self.group_rows[groups])), 0.0
        found = {"": rows}
        for column, part in self._parts():
            if not column.levels:
                first = part.start
                found[column.name] = (float(sums[first]), float(variances[first])) if column.missing else rows
        return found

    def _added(self, groups: slice) -> tuple[FloatVector, FloatVector]:
        """Sums of groups together, and the variances of their noise."""
        released = self.released[groups]
        return released.sum(axis=0), len(released) * self.deviations**2

    def _parts(self) -> Iterator[tuple[ProfiledColumn, slice]]:
        """Where the sums of each column stand."""
        start = int(self.counted)
        for column in self.columns:
            yield column, slice(start, start + column.width)
            start += column.width

    def _of_groups(self, label: str, groups: slice) -> Iterator[Estimate]:
        """Statistics of groups added up."""
        sums, variances = self._added(groups)
        counts = self.counts(groups)
        rows, rows_variance = counts[""]
        yield Estimate("", "", label, "n", rows, 0.0, math.sqrt(rows_variance))
        found: dict[str, list[Estimate]] = {}
        numbers = 0
        for column, part in self._parts():
            if column.levels:
                found[column.name] = list(_shares(column, label, sums[part], variances[part], rows))
                continue
            count = counts[column.name]
            powers = sums[part][-2:], variances[part][-2:]
            found[column.name] = list(_moments(column, label, *count, *powers))
            if self.classes is not None:
                known = self.classes.distribution(numbers, groups, *count) if _enough(*count) else None
                found[column.name] += _quartiles(column, label, known)
            numbers += 1
        for name in self.names:
            yield from found[name]


@dataclass(frozen=True)
class Estimate:
    """A statistic with its standard error by source: from sampling, and from the noise of the release."""

    column: str
    level: str
    group: str
    statistic: Statistic
    value: float
    sampling: float
    noise: float
    ends: tuple[float, float] | None = None  # of a 95 % interval that is not value +- 1.96 errors

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.hypot(self.sampling, self.noise)

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of its 95 % interval."""
        if self.ends is not None:
            return self.ends
        low, high = _POSSIBLE.get(self.statistic, (-math.inf, math.inf))
        return max(self.value - NORMAL * self.error, low), min(self.value + NORMAL * self.error, high)


def _number_of_rows(record: ProfileRecord, sums: FloatVector, variances: FloatVector) -> Count:
    """The number of rows and its variance: from its own sum and all factors that are never missing."""
    told = [(sums[0], variances[0])] if record.counted else []
    for column, part in record._parts():
        if column.levels and not column.missing:
            told.append((float(sums[part].sum()), float(variances[part].sum())))
    precision = sum(1.0 / variance for _, variance in told)
    return max(sum(value / variance for value, variance in told) / precision, 0.0), 1.0 / precision


def _shares(
    column: ProfiledColumn, group: str, counts: FloatVector, variances: FloatVector, rows: float
) -> Iterator[Estimate]:
    """Shares of the levels among the values that are there; they are at least 0 and add up to 1."""
    total = float(counts.sum()) if column.missing else rows
    shares = (
        _on_simplex(counts / total)
        if _enough(total, float(variances.sum()))
        else np.full(len(counts), np.nan)
    )
    for label, share, variance in zip(column.levels, shares.tolist(), variances.tolist(), strict=True):
        # Of c / sum(c) with independent noise of one variance on each count c.
        noise = math.sqrt(variance * max(1.0 - 2.0 * share + len(counts) * share**2, 0.0)) / max(total, 1.0)
        sampling = math.sqrt(max(share * (1.0 - share), 0.0) / max(total, 1.0))
        yield Estimate(column.name, label, group, "share", share, sampling, noise)


def _moments(
    column: ProfiledColumn,
    group: str,
    count: float,
    count_variance: float,
    sums: FloatVector,
    variances: FloatVector,
) -> Iterator[Estimate]:
    """Mean and standard deviation from the sums of z and of z^2 - 1/2, z on [-1, 1] between the bounds."""
    if not _enough(count, count_variance):
        for name in ("mean", "sd"):
            yield Estimate(column.name, "", group, name, math.nan, math.nan, math.nan)
        return
    half, middle = column.half, column.middle
    mean, centred = float(sums[0]) / count, float(sums[1]) / count
    variance = centred + 0.5 - mean**2
    noise = math.sqrt(variances[0] + mean**2 * count_variance) / count
    mean = min(max(mean, -1.0), 1.0)
    # By the delta method for the variance, and the wider half of what two standard errors are for its root.
    slope = 2.0 * mean**2 - centred
    own = 2.0 * math.sqrt(variances[1] + 4.0 * mean**2 * variances[0] + slope**2 * count_variance) / count
    spread = math.sqrt(max(variance, 0.0))
    above = math.sqrt(max(variance, 0.0) + own) - spread
    below = spread - math.sqrt(max(variance - own, 0.0))
    error = half * spread / math.sqrt(count)
    yield Estimate(column.name, "", group, "mean", middle + half * mean, error, half * noise)
    # As of a normal variable.
    sampling = error / math.sqrt(2.0)
    yield Estimate(column.name, "", group, "sd", half * spread, sampling, half * 0.5 * max(above, below))


def _quartiles(column: ProfiledColumn, group: str, known: Distribution | None) -> Iterator[Estimate]:
    """Quartiles with intervals by Woodruff's method, of which standard errors are the widths."""

    def between(first: int, last: int) -> tuple[float, float]:
        """Ends of classes in the user's units, a rounding apart from where they are."""
        assert known is not None
        low, high = known.ends[first] - ROUNDING, known.ends[last] + ROUNDING
        low, high = (column.middle + column.half * float(end) for end in (low, high))
        return max(low, column.low), min(high, column.high)

    values = []
    for probability in PROBABILITIES.values() if known is not None else ():
        assert known is not None
        value = column.middle + column.half * known.quantile(probability)
        if (alike := known.alike(probability)) is not None:
            value = shortest(*between(*alike), value)
        values.append(value)
    if values:  # each was rounded by itself
        values = [min(values[0], values[1]), values[1], max(values[1], values[2])]
    for place, (name, probability) in enumerate(PROBABILITIES.items()):
        if known is None:
            yield Estimate(column.name, "", group, name, math.nan, math.nan, math.nan, (math.nan, math.nan))
            continue
        value = values[place]
        ends = between(*known.places(probability, NORMAL))
        first, last = between(*known.places(probability, NORMAL, sampling=False))
        whole, noise = (ends[1] - ends[0]) / (2.0 * NORMAL), (last - first) / (2.0 * NORMAL)
        sampling = math.sqrt(whole + noise) * math.sqrt(max(whole - noise, 0.0))  # no square overflows
        yield Estimate(column.name, "", group, name, value, sampling, noise, ends)


def _enough(count: float, variance: float) -> bool:
    return count >= max(LEAST_COUNT * math.sqrt(variance), 1.0)


def _on_simplex(values: FloatVector) -> FloatVector:
    """The nearest numbers that are at least 0 and add up to 1, shape (k,).

    Examples
    --------
    >>> _on_simplex(np.array([0.7, 0.4, -0.2])).round(3)
    array([0.65, 0.35, 0.  ])
    """
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(values) + 1)
    if not np.isfinite(values).all():
        return np.full(len(values), np.nan)
    return np.asarray(np.maximum(values - excess[np.flatnonzero(ordered > excess)[-1]], 0.0))
