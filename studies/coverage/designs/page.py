"""Sections of the page: the designs, and coverage and width in both halves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from studies.coverage.designs.grid import Grid
from studies.coverage.designs.registry import DESIGNS
from studies.coverage.designs.summary import Intervals, Summary, stale, summaries
from studies.coverage.grid import Cell
from studies.coverage.page import SHORT, coverage, number
from studies.coverage.summary import POOLED_BAR, SINGLE_BAR
from studies.page import Section, Table
from studies.study import Findings

INTRODUCTION = (
    "Rows are simulated once for each design. In every replication the responses are drawn again, and so is "
    'the noise. The fit is `dpglm.fit(..., penalty="none", goal="explain")`, the nominal level is 95 %, and '
    "delta is 1e-6 where it is not 0. The intercept is in the model and in none of the figures. "
    "`python -m studies run coverage_designs` runs the study, and with `--only slopes_strong,level_99 "
    "--epsilon 1 --reps 40` a part of it, which is printed.",
    "What is to be covered are the coefficients that maximise the expected likelihood of these rows. Where "
    "the model is right, these are the true ones. Where it is wrong, they are what maximum likelihood "
    "estimates without privacy.",
    "Constants of the procedure may be chosen on the first half of the designs, and are never chosen on the "
    "second. Cases that are marked as known were looked at before the halves were made: in the second half, "
    "too, they are not new to the procedure.",
    f"There are two bars: a pooled coverage of {POOLED_BAR:g} or more of the printed intervals, and "
    f"{SINGLE_BAR:g} or more for every coefficient that is printed in at least 30 % of the replications.",
)
READING = (
    "ml: maximum likelihood without privacy, on the same responses. It covers less than .95 where rows are "
    "clustered or counts overdispersed, and no private interval of the same formula can be asked for more.",
    "printed: the share of pairs of replication and coefficient that have an interval. pooled: coverage over "
    "them, with its standard error over replications. least: over coefficients printed in at least 30 % of "
    "the replications. A coefficient that covers .95 has a standard error of .013 at 300 replications and of "
    ".034 at 40, where the least of many is below the bar by chance.",
    "width: the mean of printed intervals with two ends, and the median of all, divided by the width of the "
    "non-private interval; a coefficient without an interval is infinitely wide. ar: add-remove. rep: "
    "replace-one.",
    "marked: intervals that rest mostly on declared scales, share and coverage. naive: the private estimate "
    "with the standard error of maximum likelihood at it, pooled / least / width. It is here to be compared "
    "with, not to be used.",
)
HALVES = {"judged": "Designs never used to choose", "set": "Designs on which constants may be chosen"}
LISTED = ("design", "what", "kind", "half", "known", "family", "n", "coefficients")
COLUMNS = (
    "design",
    "epsilon, relation",
    "replications",
    "ml",
    "printed",
    "pooled",
    "least",
    "width, printed",
    "width, all",
    "marked",
    "naive",
    "bars",
)


def sections(findings: Findings[Grid]) -> list[Section]:
    """The whole page."""
    found = summaries(findings.results)
    halves = {
        half: {cell: one for cell, one in found.items() if DESIGNS[cell.table].half == half}
        for half in HALVES
    }
    refused = findings.refusals(lambda one: f"{one['table']} {Cell.of(one).key}")
    parts = [
        Section(
            "",
            [
                *findings.notes(),
                *stale(findings),
                *(_verdict(half, own) for half, own in halves.items() if own),
            ],
        ),
        Section("What is done", INTRODUCTION),
        Section("Reading", READING),
    ]
    for half, own in halves.items():
        if own:
            parts.append(Section(HALVES[half], tables=[Table(f"Half: {half}.", COLUMNS, lines(own))]))
    if refused:
        parts.append(Section("Refused", tables=[Table("", ("fit", "message", "fits"), refused)]))
    return [*parts, Section("Designs", tables=[Table("All designs.", LISTED, listed())])]


def _verdict(half: str, found: Mapping[Cell, Summary]) -> str:
    printed = [one.own for one in found.values() if one.own.share]
    missed = sum(not one.met for one in printed)
    low = list(dict.fromkeys(cell.table for cell, one in found.items() if not one.own.met))
    names = ": " + ", ".join(f"`{name}`" for name in low) if low else ""
    return (
        f"{HALVES[half]}: {missed} of {len(printed)} cells that print intervals miss a bar, of "
        f"{len(low)} designs{names}. {len(found) - len(printed)} cells print none."
    )


def lines(found: Mapping[Cell, Summary]) -> Sequence[Sequence[str]]:
    """One line per cell."""
    shown, before = [], ""
    for cell, one in found.items():
        own = one.own
        shown.append(
            (
                cell.table if cell.table != before else "",
                f"{cell.epsilon:g} {SHORT[cell.relation]}" + (" pure" if cell.definition == "pure" else ""),
                str(one.replications),
                coverage(one.nonprivate),
                f"{own.share:.2f}",
                f"{coverage(own.pooled)} ± {coverage(own.pooled_error)}" if own.share else "--",
                _least(own),
                ratio(own.width),
                ratio(own.width_all),
                f"{one.marked.share:.2f}: {coverage(one.marked.pooled)}" if one.marked.share else "--",
                f"{coverage(one.naive.pooled)} / {coverage(one.naive.least)} / {ratio(one.naive.width)}",
                "nothing printed" if not own.share else "met" if own.met else "missed",
            )
        )
        before = cell.table
    return shown


def _least(one: Intervals) -> str:
    return f"{coverage(one.least)} `{one.least_name}`" if one.least_name else "--"


def listed() -> Sequence[Sequence[str]]:
    """The designs."""
    return [
        (
            f"`{one.name}`",
            one.about,
            one.kind,
            one.half,
            "yes" if one.known else "no",
            one.law.family,
            f"{one.n:,}",
            str(one.p),
        )
        for one in DESIGNS.values()
    ]


def ratio(value: float) -> str:
    """A ratio with two decimals; infinite is "inf"."""
    return "inf" if math.isinf(value) else number(value)
