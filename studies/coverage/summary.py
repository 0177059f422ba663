"""What the replications of one cell say: coverage, share printed, width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpglm.typing import BoolVector, FloatVector
from studies.coverage.grid import FIT, TRUTH, Cell
from studies.coverage.truth import Truth
from studies.jobs import Result

Z = 1.959963984540054
# A coefficient counts in the minimum where it is printed in this share of the replications.
OFTEN = 0.3
POOLED_BAR, SINGLE_BAR = 0.93, 0.88
PARTS = ("sampling", "estimate", "curvature", "adjustment")

Table = NDArray[np.bool_]
Arrays = dict[str, NDArray[Any]]


def summaries(results: Sequence[Result]) -> dict[Cell, Summary]:
    """A summary of each private cell that was run, in the order of the study."""
    truths = {result["table"]: Truth.of_json(result) for result in results if result["what"] == TRUTH}
    by: dict[Cell, list[Result]] = {}
    for result in results:
        if result["what"] == FIT:
            by.setdefault(Cell.of(result), []).append(result)
    found = {}
    for cell, own in by.items():
        nonprivate = {result["number"] for result in by.get(Cell(cell.table), ())}
        if cell.epsilon is not None and nonprivate & {result["number"] for result in own}:
            arrays = _stacked(own), _stacked(by[Cell(cell.table)])
            found[cell] = Summary.of_cell(truths[cell.table], *arrays)
    return found


def _stacked(results: Sequence[Result]) -> Arrays:
    """Arrays over replications, in their order."""
    ordered = sorted(results, key=lambda result: int(result["number"]))
    names = [name for name, value in ordered[0].items() if not isinstance(value, str | None)]
    return {name: np.stack([np.asarray(result[name]) for result in ordered]) for name in names}


@dataclass(frozen=True, eq=False)
class Summary:
    """One cell. Coverage of a set is NaN where the set is empty; no intercept is in any of it.

    Attributes
    ----------
    replications : int
        Replications counted: those with a non-private fit of the same response.
    nonprivate, naive, naive_selected, plain : float
        Coverage over all coefficients by the maximum-likelihood fit, by the naive recipe (all; |z| > 1.96),
        by the plain recipe without a gate.
    everything, everything_least : float
        Coverage of the intervals printed or not: mean, and the least coefficient.
    share : float
        Share of pairs of replication and coefficient that are printed.
    usual, of : int
        Coefficients printed in more than half of the replications, and all.
    pooled, pooled_error : float
        Coverage over printed pairs, and its standard error with replications as clusters.
    least : float
        Least coverage over coefficients printed in 30 % of the replications or more.
    zeros, nonzeros : float
        Pooled coverage where the truth is zero, or not.
    width, width_all : float
        Median over printed (all) pairs of the interval's width divided by the median width of the
        non-private interval of that coefficient.
    selected : float
        Coverage of printed pairs with |z| > 1.96.
    parts : tuple of float
        Median share of the four sources in the variance of printed pairs.
    low : tuple of (str, float, float)
        Name, coverage among printed, share printed, of coefficients that the minimum counts and that are
        below `SINGLE_BAR`.
    seconds : float
        Mean seconds a replication.
    """

    replications: int
    nonprivate: float
    naive: float
    naive_selected: float
    plain: float
    everything: float
    everything_least: float
    share: float
    usual: int
    of: int
    pooled: float
    pooled_error: float
    least: float
    zeros: float
    nonzeros: float
    width: float
    width_all: float
    selected: float
    parts: tuple[float, ...]
    low: tuple[tuple[str, float, float], ...]
    seconds: float

    @property
    def met(self) -> bool:
        """Whether the cell keeps both bars; a cell that prints nothing keeps them."""
        return not self.pooled < POOLED_BAR and not self.least < SINGLE_BAR

    @classmethod
    def of_cell(cls, truth: Truth, private: Arrays, nonprivate: Arrays) -> Self:
        """Summarise the replications that both have."""
        _, mine, theirs = np.intersect1d(private["number"], nonprivate["number"], return_indices=True)
        studied = truth.studied
        beta = truth.beta[studied]

        def of(name: str) -> NDArray[Any]:
            return np.asarray(private[name][mine][:, studied])

        np_estimate = nonprivate["estimate"][theirs][:, studied]
        np_sd = nonprivate["sd"][theirs][:, studied]
        estimate, sd, printed = of("estimate"), of("sd"), of("printed")
        hit = covered(beta, estimate, sd)
        naive_hit = covered(beta, of("naive_estimate"), of("naive_sd"))
        naive_far = np.abs(of("naive_estimate")) > Z * of("naive_sd")
        wide = sd / np.median(np_sd, axis=0)
        often = printed.mean(axis=0) >= OFTEN
        with np.errstate(invalid="ignore"):
            single = (hit & printed).sum(axis=0) / printed.sum(axis=0)
        low = often & (single < SINGLE_BAR)
        names = np.array(truth.names)[studied]
        variances = np.stack([of(f"variance_{part}") for part in PARTS])[:, printed]
        zero = np.broadcast_to(beta == 0.0, printed.shape)
        return cls(
            replications=len(mine),
            nonprivate=float(covered(beta, np_estimate, np_sd).mean()),
            naive=float(naive_hit.mean()),
            naive_selected=mean(naive_hit[naive_far]),
            plain=float(covered(beta, of("plain_estimate"), of("plain_sd")).mean()),
            everything=float(hit.mean()),
            everything_least=float(hit.mean(axis=0).min()),
            share=float(printed.mean()),
            usual=int((printed.mean(axis=0) > 0.5).sum()),
            of=int(studied.sum()),
            pooled=mean(hit[printed]),
            pooled_error=clustered_error(hit, printed),
            least=float(single[often].min()) if often.any() else float("nan"),
            zeros=mean(hit[printed & zero]),
            nonzeros=mean(hit[printed & ~zero]),
            width=median(wide[printed]),
            width_all=float(np.median(wide)),
            selected=mean(hit[printed & (np.abs(estimate) > Z * sd)]),
            parts=tuple(median(part) for part in variances / variances.sum(axis=0)),
            low=tuple(
                (str(names[j]), float(single[j]), float(printed[:, j].mean())) for j in np.flatnonzero(low)
            ),
            seconds=float(private["seconds"].mean()),
        )


def covered(beta: FloatVector, estimate: NDArray[Any], sd: NDArray[Any]) -> Table:
    """Whether 95 % normal intervals hold the truth; NaN does not."""
    return np.asarray(np.abs(estimate - beta) <= Z * sd)


def clustered_error(hit: Table, printed: Table) -> float:
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


def median(values: FloatVector) -> float:
    """The median, NaN of nothing."""
    return float(np.median(values)) if values.size else float("nan")
