"""Sample characteristics from released sums: counts, shares, means, standard deviations and their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.record import Record, plain_copy
from dpglm.tables.table import ABSENT, Column, Table, coefficient
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

Statistic: TypeAlias = Literal["n", "share", "mean", "sd"]
Group: TypeAlias = "Mapping[tuple[str, str, Statistic], Estimate]"  # by column, level and name
OVERALL = "overall"
# A statistic of fewer values than this many standard errors of their number is absent.
LEAST_COUNT = 3.0


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


@dataclass(frozen=True, eq=False, kw_only=True)
class ProfileRecord(Record):
    """What a :class:`~dpglm.results.profile.Profile` is made of."""

    schema: Mapping[str, object]  # as `Schema.to_dict` writes it
    columns: tuple[ProfiledColumn, ...]  # numbers, then factors
    by: str | None
    groups: tuple[str, ...]  # labels of the levels of ``by``; one, "overall", without
    counted: bool  # whether the number of rows of each group was released
    released: FloatMatrix  # (groups, sums): rows if counted; values there, z and z^2 - 1/2; levels
    deviations: FloatVector  # (sums,) standard deviations of their noise

    def __post_init__(self) -> None:
        width = self.counted + sum(column.width for column in self.columns)
        if np.shape(self.released) != (len(self.groups), width) or np.shape(self.deviations) != (width,):
            raise store_error("sums that do not belong to the columns", "a row for each group")
        if set(self.names) != {column.name for column in self.columns} or not self.groups:
            raise store_error("columns that do not belong together", "each column once")
        if self.n_rows is None and not self.counted:
            raise store_error("no number of rows", "one that was released or is public")
        object.__setattr__(self, "schema", plain_copy(self.schema, "schema"))
        super().__post_init__()

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """All statistics, group by group and then overall, in the order of the columns."""
        totals = [(label, row, 1) for label, row in zip(self.groups, self.released, strict=True)]
        if self.by is not None:
            totals.append((OVERALL, self.released.sum(axis=0), len(self.groups)))
        return tuple(each for label, sums, count in totals for each in self._of_group(label, sums, count))

    def of(self, group: str) -> Group:
        """The statistics of one group."""
        return {(e.column, e.level, e.statistic): e for e in self.estimates if e.group == group}

    def _of_group(self, group: str, sums: FloatVector, blocks: int) -> Iterator[Estimate]:
        """Statistics of ``blocks`` groups added up."""
        variances = blocks * self.deviations**2
        rows, rows_variance = _number_of_rows(self, sums, variances)
        yield Estimate("", "", group, "n", rows, 0.0, math.sqrt(rows_variance))
        found: dict[str, list[Estimate]] = {}
        start = int(self.counted)
        for column in self.columns:
            part = slice(start, start + column.width)
            start += column.width
            if column.levels:
                found[column.name] = list(_shares(column, group, sums[part], variances[part], rows))
                continue
            count, count_variance = (
                (sums[part][0], variances[part][0]) if column.missing else (rows, rows_variance)
            )
            powers = sums[part][-2:], variances[part][-2:]
            found[column.name] = list(_moments(column, group, count, count_variance, *powers))
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

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.hypot(self.sampling, self.noise)


def _number_of_rows(record: ProfileRecord, sums: FloatVector, variances: FloatVector) -> tuple[float, float]:
    """The number of rows and its variance: from its own sum and all factors that are never missing."""
    if record.n_rows is not None and record.by is None:
        return float(record.n_rows), 0.0
    told = [(sums[0], variances[0])] if record.counted else []
    start = int(record.counted)
    for column in record.columns:
        if column.levels and not column.missing:
            part = slice(start, start + column.width)
            told.append((float(sums[part].sum()), float(variances[part].sum())))
        start += column.width
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
    half, middle = 0.5 * column.high - 0.5 * column.low, 0.5 * column.low + 0.5 * column.high
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


def tidy(record: ProfileRecord) -> pd.DataFrame:
    """A row for each statistic: column, level, group, statistic, estimate and standard errors by source."""
    import pandas as pd

    rows = [
        (e.column, e.level, e.group, e.statistic, e.value, e.error, e.sampling, e.noise)
        for e in record.estimates
    ]
    names = "column", "level", "group", "statistic", "estimate", "std_error", "sampling_se", "privacy_se"
    return marked(pd.DataFrame(rows, columns=list(names)), record)


def overall(record: ProfileRecord, statistic: Statistic) -> pd.Series[float]:
    """A statistic of all groups together, by column, and by level too where it is a share."""
    frame = tidy(record)
    frame = frame[(frame["group"] == OVERALL) & (frame["statistic"] == statistic)]
    index = ["column", "level"] if statistic == "share" else "column"
    return marked(frame.set_index(index)["estimate"].rename(statistic), record)


def summary(record: ProfileRecord) -> Table:
    """The table of sample characteristics: a row for each number and level, a column for each group."""
    labels = [*record.groups, *([OVERALL] if record.by is not None else [])]
    groups = [record.of(label) for label in labels]
    rows = [("rows", *(_plus_minus(group["", "", "n"]) for group in groups))]
    indented: list[int] = []
    known = {column.name: column for column in record.columns}
    for name in record.names:
        levels = known[name].levels
        if not levels:
            rows.append((f"{name}, mean (sd)", *(_mean_and_deviation(group, name) for group in groups)))
        elif len(levels) == 2:
            rows.append((f"{name} = {levels[1]}", *(_share(group, name, levels[1]) for group in groups)))
        else:
            rows.append((name, *("" for _ in groups)))
            indented += range(len(rows), len(rows) + len(levels))
            rows += [(level, *(_share(group, name, level) for group in groups)) for level in levels]
    return Table(
        title="Sample characteristics",
        columns=(Column("", "left"), *map(Column, labels)),
        rows=tuple(rows),
        wide=(("Privacy", record.promise),),
        notes=(
            "Standard errors follow the sign +-; they hold sampling and the noise of the release. A number "
            "that its noise hides is absent (-).",
        ),
        alarm=record.alarm,
        indented=tuple(indented),
    )


def _plus_minus(estimate: Estimate) -> str:
    if not math.isfinite(estimate.value):
        return ABSENT
    value = f"{estimate.value:,.0f}"
    return value if estimate.error == 0.0 else f"{value} +- {estimate.error:,.0f}"


def _share(group: Group, name: str, level: str) -> str:
    estimate = group[name, level, "share"]
    if not math.isfinite(estimate.value):
        return ABSENT
    return f"{100.0 * estimate.value:.1f} +- {100.0 * estimate.error:.1f} %"


def _mean_and_deviation(group: Group, name: str) -> str:
    mean, deviation = group[name, "", "mean"], group[name, "", "sd"]
    if not math.isfinite(mean.value):
        return ABSENT
    numbers = (_digits(value, mean.error) for value in (mean.value, mean.error, deviation.value))
    return "{} +- {} ({})".format(*numbers)


def _digits(value: float, error: float) -> str:
    """As many decimals as two digits of the error need."""
    if not 0.0 < error < math.inf:
        return coefficient(value)
    return f"{value:.{min(max(1 - math.floor(math.log10(error)), 0), 12)}f}"
