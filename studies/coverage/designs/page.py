"""Sections of the page: what misses a bar, then coverage and width in both halves, and the designs."""

from __future__ import annotations

from collections.abc import Sequence

from studies.coverage.designs.registry import DESIGNS
from studies.coverage.grid import Cell, Grid
from studies.coverage.page import BARS, READING, below, coverages, replications, stale, verdict
from studies.coverage.summary import summaries
from studies.page import Section, Table
from studies.study import Findings

INTRODUCTION = (
    "Rows are simulated once for each design. In every replication the responses are drawn again, and so is "
    'the noise. The fit is `dpglm.fit(..., penalty="none", goal="explain")`, the nominal level is 95 %, and '
    "delta is 1e-6 where it is not 0. The intercept is in the model and has a column of its own. "
    "`python -m studies run coverage_designs` runs the study, and with `--only slopes_strong,level_99 "
    "--epsilon 1 --reps 40` a part of it, which is printed.",
    "What is to be covered are the coefficients that maximise the expected likelihood of these rows. Where "
    "the model is right, these are the true ones. Where it is wrong, they are what maximum likelihood "
    "estimates without privacy.",
    "Constants of the procedure may be chosen on the first half of the designs, and are never chosen on the "
    "second. Cases that are marked as known were looked at before the halves were made: in the second half, "
    "too, they are not new to the procedure.",
    BARS,
)
HALVES = {"judged": "Designs never used to choose", "set": "Designs on which constants may be chosen"}
LISTED = ("design", "what", "kind", "half", "known", "family", "n", "coefficients")


def sections(findings: Findings[Grid]) -> list[Section]:
    """The whole page."""
    found = summaries(findings.results)
    halves = {
        half: {cell: one for cell, one in found.items() if DESIGNS[cell.table].half == half}
        for half in HALVES
    }
    halves = {half: own for half, own in halves.items() if own}
    first = [*findings.notes(), *stale(findings.results)]
    first += [verdict(HALVES[half], own) for half, own in halves.items()]
    refused = findings.refusals(lambda one: f"{one['table']} {Cell.of(one).key}")
    return [
        Section("", first),
        below(found),
        Section("What is done", INTRODUCTION),
        Section("Reading", READING),
        *(
            Section(HALVES[half], tables=[coverages(f"Half: {half}. {replications(own)}", own)])
            for half, own in halves.items()
        ),
        *([Section("Refused", tables=[Table("", ("fit", "message", "cells"), refused)])] if refused else ()),
        Section("Designs", tables=[Table("All designs.", LISTED, listed())]),
    ]


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
