"""What the replications of one cell say: intervals of `dpglm.fit`, and naive ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import dpglm
from dpglm.typing import FloatVector
from studies.coverage.grid import FIT, TRUTH, Cell
from studies.coverage.summary import OFTEN, POOLED_BAR, SINGLE_BAR, Z, clustered_error, mean
from studies.jobs import Result
from studies.study import Findings

Array = NDArray[Any]


@dataclass(frozen=True)
class Intervals:
    """Intervals of one kind in one cell; shares of nothing are NaN, and no intercept is in any of it.

    Attributes
    ----------
    share : float
        Share of pairs of replication and coefficient that have one.
    pooled, pooled_error : float
        Coverage over these pairs; its standard error has replications as clusters.
    least, least_name : float, str
        Least coverage of a coefficient over its intervals, of those that have one in 30 % of the replications
        or more.
    width : float
        Mean width of those with two ends, each divided by the median non-private width of its coefficient.
    width_all : float
        Median of that ratio over all pairs, infinite where an interval or an end is absent.
    """

    share: float
    pooled: float
    pooled_error: float
    least: float
    least_name: str
    width: float
    width_all: float

    @property
    def met(self) -> bool:
        """Whether both bars are kept; nothing printed keeps them."""
        return not self.pooled < POOLED_BAR and not self.least < SINGLE_BAR

    @classmethod
    def of(cls, given: Array, low: Array, high: Array, beta: FloatVector, unit: Array, names: Array) -> Self:
        """From interval ends, shape (replications, k), where ``given``; ``unit`` is the non-private width."""
        hit = (low <= beta) & (beta <= high)
        often = given.mean(axis=0) >= OFTEN
        counts = given.sum(axis=0)
        single = np.where(often, (hit & given).sum(axis=0) / np.maximum(counts, 1), np.inf)
        worst = int(single.argmin())
        with np.errstate(invalid="ignore"):
            ratio = np.where(given, (high - low) / unit, np.inf)
        return cls(
            share=float(given.mean()),
            pooled=mean(hit[given]),
            pooled_error=clustered_error(hit, given),
            least=float(single[worst]) if often.any() else float("nan"),
            least_name=str(names[worst]) if often.any() else "",
            width=mean(ratio[np.isfinite(ratio)]),
            width_all=float(np.median(ratio)),
        )


@dataclass(frozen=True)
class Summary:
    """One cell.

    Attributes
    ----------
    replications : int
    nonprivate : float
        Coverage of the maximum-likelihood intervals: below .95 where the model is wrong.
    own : Intervals
        Reliable intervals of `dpglm.fit`.
    marked : Intervals
        Those marked as resting mostly on declared scales.
    naive : Intervals
        The private estimate with the non-private formula.
    one_sided : float
        Share of reliable intervals that have one end.
    seconds : float
        Mean seconds of a private fit.
    """

    replications: int
    nonprivate: float
    own: Intervals
    marked: Intervals
    naive: Intervals
    one_sided: float
    seconds: float

    @classmethod
    def of(cls, truth: Result, private: Sequence[Result], nonprivate: Sequence[Result]) -> Self:
        """From the results of the same replications."""
        names = np.array(truth["names"])
        studied = names != "Intercept"
        labels, beta = names[studied], np.array(truth["beta"])[studied]

        def stacked(results: Sequence[Result], field: str) -> Array:
            return np.stack([np.asarray(one[field])[studied] for one in results])

        sd = stacked(nonprivate, "sd")
        yardstick = 2.0 * Z * np.median(sd, axis=0)
        low, high = stacked(private, "low"), stacked(private, "high")
        reliable, given = stacked(private, "reliable"), ~(np.isnan(low) | np.isnan(high))
        estimate, margin = stacked(private, "estimate"), Z * stacked(private, "naive_sd")
        everywhere = np.ones_like(given)
        public = beta, yardstick, labels
        return cls(
            replications=len(private),
            nonprivate=mean(np.abs(stacked(nonprivate, "estimate") - beta) <= Z * sd),
            own=Intervals.of(reliable, low, high, *public),
            marked=Intervals.of(given & ~reliable, low, high, *public),
            naive=Intervals.of(everywhere, estimate - margin, estimate + margin, *public),
            one_sided=mean(np.isinf(high - low)[reliable]),
            seconds=float(np.mean([one["seconds"] for one in private])),
        )


def summaries(results: Sequence[Result]) -> dict[Cell, Summary]:
    """A summary of each private cell, over replications that have a non-private fit of the same response."""
    truths = {one["table"]: one for one in results if one["what"] == TRUTH}
    by: dict[Cell, dict[int, Result]] = {}
    for result in results:
        if result["what"] == FIT and "refused" not in result:
            by.setdefault(Cell.of(result), {})[result["number"]] = result
    found = {}
    for cell, own in by.items():
        theirs = by.get(Cell(cell.table), {})
        both = sorted(own.keys() & theirs.keys())
        if cell.epsilon is not None and both:
            private, nonprivate = [own[number] for number in both], [theirs[number] for number in both]
            found[cell] = Summary.of(truths[cell.table], private, nonprivate)
    return found


@cache
def code() -> str:
    """Fingerprint of the sources of dpglm, which a result keeps."""
    found = hashlib.sha256()
    for path in sorted(Path(dpglm.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def stale(findings: Findings[Any]) -> list[str]:
    """A sentence where private fits were made by other code than today's: they are not run again."""
    fits = [one for one in findings.results if one["what"] == FIT and one["epsilon"] is not None]
    other = sum(one.get("code") != code() for one in fits)
    if not other:
        return []
    return [
        f"{other} of {len(fits)} fits are of another state of dpglm; in another folder (--out) all are run."
    ]


def line(cell: Cell, one: Summary) -> str:
    """One cell as one line of text."""
    head = f"{cell.table:18} {cell.key:32} reps {one.replications:3}  ml {one.nonprivate:.3f}"
    parts = [head, _words(f"share {one.own.share:.2f}", one.own)]
    if one.marked.share:
        parts.append(_words(f"marked {one.marked.share:.2f}", one.marked))
    if one.one_sided > 0.0:
        parts.append(f"one-sided {one.one_sided:.2f}")
    return "  | ".join([*parts, _words("naive", one.naive), f"{one.seconds:.2f} s"])


def _words(title: str, one: Intervals) -> str:
    if not one.share:
        return title
    least = f"least {one.least:.3f} {one.least_name}" if one.least_name else "least -"
    return f"{title}  pooled {one.pooled:.3f}  {least}  width {one.width:.2f}, all {one.width_all:.2f}"
