"""What the replications of one cell say: coverage of the intervals of `dpglm.fit`, and of naive ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpglm.typing import BoolVector, FloatVector, is_intercept
from studies.coverage.grid import Cell
from studies.jobs import Result

Z = 1.959963984540054
# A coefficient counts in the minimum where it has an interval in this share of the replications.
OFTEN = 0.3
POOLED_BAR, SINGLE_BAR, MARKED_BAR = 0.93, 0.88, 0.90
# A pooled coverage is judged where so many pairs have no mark; that of marked ones where so many have one.
SOME_RELIABLE, SOME_MARKED = 0.1, 0.01

Array = NDArray[Any]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class Low:
    """A coefficient that has an interval often and is covered below its bar."""

    name: str
    coverage: float
    share: float


@dataclass(frozen=True)
class Intervals:
    """Intervals of one kind in one cell; shares of nothing are NaN.

    Attributes
    ----------
    share : float
        Share of pairs of replication and coefficient that have one.
    usual : int
        Coefficients that have one in more than half of the replications.
    pooled, pooled_error : float
        Coverage over these pairs; its standard error has replications as clusters.
    least, least_name : float, str
        Least coverage of a coefficient over its intervals, of those that have one in 30 % of the replications
        or more.
    width : float
        Mean width of those with two ends, each divided by the median non-private width of its coefficient.
    width_all : float
        Median of that ratio over all pairs, infinite where an interval or an end is absent.
    low : tuple of Low
    """

    share: float
    usual: int
    pooled: float
    pooled_error: float
    least: float
    least_name: str
    width: float
    width_all: float
    low: tuple[Low, ...]

    @property
    def met(self) -> bool:
        """Whether both bars are kept; few intervals keep the first one."""
        return not (self.pooled < POOLED_BAR and self.share >= SOME_RELIABLE) and not self.least < SINGLE_BAR

    @classmethod
    def of(cls, given: Array, low: Array, high: Array, beta: FloatVector, unit: Array, names: Array) -> Self:
        """From interval ends, shape (replications, k), where ``given``; ``unit`` is the non-private width."""
        hit = (low <= beta) & (beta <= high)
        shares, counts = given.mean(axis=0), given.sum(axis=0)
        often = shares >= OFTEN
        single = np.where(often, (hit & given).sum(axis=0) / np.maximum(counts, 1), np.inf)
        worst = int(single.argmin())
        with np.errstate(invalid="ignore"):
            ratio = np.where(given, (high - low) / unit, np.inf)
        return cls(
            share=float(given.mean()),
            usual=int((shares > 0.5).sum()),
            pooled=mean(hit[given]),
            pooled_error=clustered_error(hit, given),
            least=float(single[worst]) if often.any() else float("nan"),
            least_name=str(names[worst]) if often.any() else "",
            width=mean(ratio[np.isfinite(ratio)]),
            width_all=float(np.median(ratio)),
            low=tuple(
                Low(str(names[j]), float(single[j]), float(shares[j]))
                for j in np.flatnonzero(single < SINGLE_BAR)
            ),
        )


@dataclass(frozen=True)
class Summary:
    """One cell.

    Attributes
    ----------
    replications : int
    coefficients : int
        Without the intercept.
    nonprivate : float
        Coverage of the maximum-likelihood intervals: below .95 where the model is wrong.
    own : Intervals
        Reliable intervals of `dpglm.fit`.
    marked : Intervals
        Those marked as resting mostly on declared scales.
    naive : Intervals
        The private estimate with the non-private formula.
    intercept : Intervals or None
        Reliable intervals of the intercept, or of those of all stages, which is in none of the others; None
        of cells that were run before it was judged.
    one_sided : float
        Share of reliable intervals that have one end.
    error : float
        What privacy adds to an estimate: root mean square distance from the non-private one of the same
        response, in non-private standard errors.
    seconds : float
        Of a replication.
    """

    replications: int
    coefficients: int
    nonprivate: float
    own: Intervals
    marked: Intervals
    naive: Intervals
    intercept: Intervals | None
    one_sided: float
    error: float
    seconds: float

    @property
    def met(self) -> bool:
        """Whether reliable intervals keep both bars, the intercept its own, and marked ones theirs."""
        low = self.intercept is not None and self.intercept.low
        marked = self.marked.pooled < MARKED_BAR and self.marked.share >= SOME_MARKED
        return self.own.met and not low and not marked

    @classmethod
    def of(cls, names: Array, truth: FloatVector, fits: Arrays, seconds: float) -> Self:
        """From arrays of shape (replications, p).

        ``low``, ``high``, ``reliable`` and ``estimate`` of the private fit, NaN where there is no interval;
        ``naive_sd`` at its estimate; ``nonprivate`` and ``sd`` of the non-private fit.
        """
        studied = np.array([not is_intercept(name) for name in names])
        one = {name: values[:, studied] for name, values in fits.items()}
        beta, sd, reliable = truth[studied], one["sd"], one["reliable"]
        low, high, estimate = one["low"], one["high"], one["estimate"]
        given = ~(np.isnan(low) | np.isnan(high))
        margin = Z * one["naive_sd"]
        public = beta, 2.0 * Z * np.median(sd, axis=0), names[studied]
        return cls(
            replications=len(low),
            coefficients=len(beta),
            nonprivate=mean(np.abs(one["nonprivate"] - beta) <= Z * sd),
            own=Intervals.of(reliable, low, high, *public),
            marked=Intervals.of(given & ~reliable, low, high, *public),
            naive=Intervals.of(np.ones_like(given), estimate - margin, estimate + margin, *public),
            intercept=Intervals.of(
                *(fits[name][:, ~studied] for name in ("reliable", "low", "high")),
                truth[~studied],
                2.0 * Z * np.median(fits["sd"][:, ~studied], axis=0),
                names[~studied],
            ),
            one_sided=mean(np.isinf(high - low)[reliable]),
            error=float(np.sqrt(np.mean(((estimate - one["nonprivate"]) / sd) ** 2))),
            seconds=seconds,
        )

    def to_json(self) -> dict[str, Any]:
        """As a job store keeps it."""
        return asdict(self)

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> Self:
        """What `to_json` gave; other entries of a job are passed over."""
        values = {name: entry.get(name) for name in cls.__dataclass_fields__}
        for name in ("own", "marked", "naive", "intercept"):
            if (one := values[name]) is not None:
                values[name] = Intervals(**{**one, "low": tuple(Low(**low) for low in one["low"])})
        return cls(**values)


def summaries(results: Sequence[Result]) -> dict[Cell, Summary]:
    """The summary of each cell that was run and not refused, in the order of the study."""
    return {Cell.of(result): Summary.of_json(result) for result in results if "refused" not in result}


def clustered_error(hit: Array, printed: Array) -> float:
    """Standard error of a coverage pooled over coefficients, replications being the independent units."""
    total = printed.sum()
    if total == 0 or len(hit) < 2:
        return float("nan")
    residual = ((hit & printed) - printed * ((hit & printed).sum() / total)).sum(axis=1)
    return float(np.sqrt(len(hit) / (len(hit) - 1) * (residual**2).sum()) / total)


def mean(values: BoolVector | FloatVector | Iterable[bool]) -> float:
    """The mean, NaN of nothing."""
    array = np.asarray(values)
    return float(array.mean()) if array.size else float("nan")
