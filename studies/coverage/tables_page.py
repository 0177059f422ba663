"""Sections of the page on tables: what misses a bar, every cell, and linear regression by both scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from studies.coverage.grid import DECLARED, MEASURED, Cell, Grid
from studies.coverage.page import (
    BARS,
    READING,
    SHORT,
    below,
    coverages,
    number,
    replications,
    stale,
    verdict,
)
from studies.coverage.summary import Summary, summaries
from studies.coverage.tables import TABLES
from studies.jobs import Result
from studies.page import Section, Table
from studies.study import Findings

INTRODUCTION = (
    "The rows are real. In every replication the responses are drawn again from a model with known "
    "coefficients: those of a non-private fit, with |z| < 2 set to exactly zero (the simulated tables bring "
    "their own). Zeros change the rate of successes, since the intercept stays. The fit is "
    '`dpglm.fit(..., penalty="none", goal="explain")`, the nominal level is 95 %, and delta is 1e-6 where '
    "it is not 0. The intercept is in the model and has a column of its own. "
    "`python -m studies run coverage` runs the study. The seed of every response and of every draw of noise "
    "belongs to its table, replication and cell.",
    BARS,
    "Constants of the procedure were chosen on the tables marked as seen. `adult_hours` has the rows of "
    "`adult` and most of its columns: a new response, not a new population. On `diabetes130` the unit is the "
    "encounter, not the patient, and which codes keep a level of their own was read off the file. One "
    "constant was chosen on cells of tables not marked as seen, too: the distance of the estimate from the "
    "truth is taken half way between declared and learned scales. `adult_hours` and `heart` had no part in "
    "it.",
)
REGRESSION = (
    "The response is the least-squares fit, with |z| < 2 set to zero, plus residuals of other rows. Its "
    "bounds are declared a quarter wider than the code book's on both sides, and what is still outside is "
    "clipped.",
)
COUNTS = (
    "The response is a count, drawn as negative binomial: its variance exceeds its mean m by a multiple of "
    "m squared, with the multiple that the table's own counts have. Truths are those of a quasi-Poisson "
    "fit, and maximum likelihood is Poisson regression with standard errors times the root of Pearson's "
    "dispersion. Rates are mean counts. Bounds are twice the largest count of the table or more.",
)
LEVELS = (
    "The response has ordered levels. It is drawn level by level from the continuation ratios that are "
    "fitted: of those who reach a level, who is above it. Maximum likelihood is logistic regression on rows "
    "of persons and stages. The intercepts of all stages are in the intercepts' column. Rates are shares "
    "above the lowest level.",
)
UNORDERED = (
    "The response has levels without an order. It is drawn from the multinomial model, whose coefficients "
    "are those of non-private fits of each level against the first, and `dpglm.fit` reads the table anew "
    "each time. Rates are shares at another level than the first. On `diabetes130` who has no diabetes drug "
    "has no insulin: a level without a single response of the rarer kind.",
)
# Family, definition, and what is said of the model.
MODELS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Logistic regression, (epsilon, 1e-6)": ("binomial", "approximate", ()),
    "Logistic regression, pure epsilon": ("binomial", "pure", ()),
    "Linear regression, (epsilon, 1e-6)": ("gaussian", "approximate", REGRESSION),
    "Counts, (epsilon, 1e-6)": ("poisson", "approximate", COUNTS),
    "Ordered levels, (epsilon, 1e-6)": ("ordinal", "approximate", LEVELS),
    "Unordered levels, (epsilon, 1e-6)": ("multinomial", "approximate", UNORDERED),
}
DESIGNS = (
    *("table", "what", "seen", "n", "coefficients", "zero / non-zero", "rate observed", "rate drawn"),
    "clipped",
)
TOLD_AT = (0.5, 1.0, 4.0)
TOLD = ("table", "coefficients", *(f"epsilon {epsilon:g}" for epsilon in TOLD_AT))
ERRORS = ("data", "epsilon, relation", "declared", "measured", "ratio")


def sections(findings: Findings[Grid]) -> list[Section]:
    """The whole page."""
    results = [one for one in findings.results if "epsilon" in one]
    everything = summaries(results)
    found = {cell: one for cell, one in everything.items() if cell.scales == MEASURED}
    kinds = {
        title: _only(
            found,
            lambda cell, kind=kind: (TABLES[cell.table].family, cell.definition) == kind[:2],  # type: ignore[misc]
        )
        for title, kind in MODELS.items()
    }
    kinds = {title: own for title, own in kinds.items() if own}
    first = [*findings.notes(), *stale(results), *(verdict(title, own) for title, own in kinds.items())]
    refused = findings.refusals(lambda one: f"{one['table']} {Cell.of(one).key}")
    truths = {one["table"]: one for one in findings.results if "epsilon" not in one}
    return [
        Section("", first),
        below(found),
        Section("What is done", INTRODUCTION),
        Section("Tables", tables=[Table("All tables.", DESIGNS, designs(truths))]),
        Section("Reading", READING),
        *_told(found),
        *(
            Section(
                title,
                MODELS[title][2],
                tables=[coverages(replications(own), own)],
            )
            for title, own in kinds.items()
        ),
        *_errors(everything),
        *([Section("Refused", tables=[Table("", ("fit", "message", "cells"), refused)])] if refused else ()),
    ]


def designs(truths: Mapping[str, Result]) -> Sequence[Sequence[str]]:
    """What is true of each table."""
    return [
        (
            f"`{name}`",
            TABLES[name].about,
            "yes" if TABLES[name].seen else "no",
            f"{one['rows']:,}",
            str(one["coefficients"]),
            f"{one['zeros']} / {one['coefficients'] - one['zeros']}",
            *_rates(one),
            _percent(one["clipped"], 2),
        )
        for name, one in truths.items()
    ]


def _rates(one: Result) -> tuple[str, str]:
    if "spread" in one:
        return number(one["observed_mean"]), number(one["true_mean"])
    return _percent(one["observed_rate"], 1), _percent(one["true_rate"], 1)


def _told(found: Mapping[Cell, Summary]) -> list[Section]:
    """How many coefficients have an interval without a mark, by table and epsilon."""
    cells = _only(found, lambda cell: cell.relation == "add-remove" and cell.definition == "approximate")
    rows = []
    for name in dict.fromkeys(cell.table for cell in cells):
        own = {cell.epsilon: one for cell, one in cells.items() if cell.table == name}
        told = (own.get(epsilon) for epsilon in TOLD_AT)
        size = next(iter(own.values())).coefficients
        rows.append((name, str(size), *(str(one.own.usual) if one else "--" for one in told)))
    text = (
        "Coefficients that have an interval without a mark in more than half of the fits, with add-remove "
        "neighbours. What keeps the others from one is the number of their rows: of the 98 coefficients of "
        "`adult` most are levels that hold less than a hundredth of the table, and merging levels by "
        "declaration (`adult_merged`) tells more."
    )
    told = Section("How many coefficients are told", (text,), tables=[Table("", TOLD, rows)])
    return [told] if rows else []


def _errors(everything: Mapping[Cell, Summary]) -> list[Section]:
    """Linear regressions by measured and by declared scales."""
    rows, ratios = [], []
    for cell, one in everything.items():
        measured = everything.get(replace(cell, scales=MEASURED))
        if cell.scales == DECLARED and measured is not None:
            ratios.append(measured.error / one.error)
            numbers = (one.error, measured.error, ratios[-1])
            relation = f"{cell.epsilon:g} {SHORT[cell.relation]}"
            rows.append((cell.table, relation, *(number(value) for value in numbers)))
    if not rows:
        return []
    text = (
        "What privacy adds to an estimate of a linear regression, in least-squares standard errors, by "
        'declared ranges, `Moments(scales="declared")`, and by the default in two stages. The median of the '
        f"{len(ratios)} ratios is {number(median(ratios))}. Where bounds are tight and columns are levels "
        "(`fair`, `adult`) measuring gains least."
    )
    return [Section("Linear regression by declared ranges", (text,), tables=[Table("", ERRORS, rows)])]


def _only(found: Mapping[Cell, Summary], wanted: Callable[[Cell], bool]) -> dict[Cell, Summary]:
    return {cell: one for cell, one in found.items() if wanted(cell)}


def _percent(share: float, digits: int) -> str:
    return "--" if math.isnan(share) else f"{100 * share:.{digits}f} %"
