"""What the paper says of its figures, asked of this study's numbers; verdicts follow from intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from studies.fwell.fits import CLASSIFIERS
from studies.fwell.grid import (
    BUDGETED,
    CORRECTED,
    LEAST,
    LINEAR,
    METHODS,
    ONE,
    ORIGINAL,
    PASS,
    PRINTED,
    RANDOM,
    SECOND,
)
from studies.fwell.summary import Runs, Which
from studies.fwell.tables import TABLES
from studies.paired import Claim, Difference, most

# "Similar" and "very close": accuracies no further apart than this.
CLOSE = 0.03
EXACT: Which = (ORIGINAL, None)
CHANCE: Which = (RANDOM, None)
CELLS = list[tuple[str, str, Difference]]


def of_paper(runs: Runs, method: str) -> list[Claim]:
    """The paper's remarks on its figures, of Private FWELL as printed or of another ranking."""
    least = LEAST if method == PRINTED else SECOND
    return [
        Claim(
            "Figures 1 to 12: at epsilon 1 accuracy is similar to FWELL's",
            f"{METHODS[method].label} at epsilon 1 less FWELL, plus {CLOSE:g}",
            _cells(runs, (method, ONE), EXACT, shift=CLOSE),
        ),
        Claim(
            "Figures 1 to 12: accuracy falls as epsilon falls",
            f"{METHODS[method].label} at epsilon 1 less epsilon {least:g}",
            _cells(runs, (method, ONE), (method, least)),
        ),
        Claim(
            "Figures 1 to 12: at the smallest epsilon accuracy is below FWELL's",
            f"FWELL less {METHODS[method].label} at epsilon {least:g}",
            _cells(runs, EXACT, (method, least)),
        ),
        Claim(
            "Figures 13 to 24: at epsilon .01 accuracy is very close to FWELL's in most cases",
            f"{METHODS[method].label} at epsilon .01 less FWELL, plus {CLOSE:g}",
            _by_count(runs, (method, SECOND), EXACT, shift=CLOSE),
            most,
        ),
    ]


def own(runs: Runs) -> list[Claim]:
    """What has to be known to read the paper's figures."""
    return [
        Claim(
            "A tenth of the features by FWELL is better than a random tenth",
            "FWELL less random",
            _cells(runs, EXACT, CHANCE),
        ),
        Claim(
            "Algorithm 1, the single pass that is printed, is as good as the minimiser",
            f"Algorithm 1 less minimiser, plus {CLOSE:g}",
            _cells(runs, (PASS, None), EXACT, shift=CLOSE),
        ),
        *(
            Claim(
                f"{METHODS[method].label}, epsilon {epsilon:g}: better than a random tenth",
                f"{METHODS[method].label} less random",
                _cells(runs, (method, epsilon), CHANCE),
            )
            for method in (PRINTED, *CORRECTED, *LINEAR)
            for epsilon in (SECOND, ONE)
        ),
    ]


def lines(runs: Runs) -> list[tuple[str, ...]]:
    """Lines of the table of claims: as printed and by prototypes, each with its verdict."""
    pairs = zip(of_paper(runs, PRINTED), of_paper(runs, "fwell"), strict=True)
    return [(*one.row(), *other.row()[1:]) for one, other in pairs if one.cells]


def witnessed(runs: Runs) -> list[str]:
    """By how much one row breaks the printed promise, in words."""
    if (witness := runs.witness) is None:
        return []
    return [
        f"A table that breaks Theorem 1: one row changes {witness['changed']:,} of {witness['rows']:,} "
        f"margins; the weights move by {witness['apart']:.2f}, where the proof says "
        f"{witness['claimed']:.2f}. At a claimed epsilon of {witness['epsilon']:g} the privacy loss is "
        f"{witness['loss']:.1f}."
    ]


def in_short(runs: Runs) -> list[str]:
    """On how many tables a private ranking is better than chance."""
    tables = [table for table in runs.tables if runs.better_than_chance(table, EXACT)]
    if not tables:
        return []
    told = []
    for epsilon in (SECOND, ONE):
        counts = []
        for method in BUDGETED:
            better = sum(runs.better_than_chance(table, (method, epsilon)) for table in tables)
            counts.append(f"{METHODS[method].label} on {better}")
        told.append(f"at epsilon {epsilon:g} {', '.join(counts)}")
    return [
        f"On {len(tables)} of {len(runs.tables)} tables a tenth of the features by FWELL is better than a "
        f"random tenth. Of these, private rankings are better than a random tenth: {'; '.join(told)}."
    ]


def _cells(runs: Runs, first: Which, second: Which, *, shift: float = 0.0) -> CELLS:
    """At a tenth of the features, by table and classifier."""
    found = []
    for table in runs.tables:
        for classifier in CLASSIFIERS:
            gap = runs.gap(table, first, second, classifier, runs.count_at(table))
            _add(found, TABLES[table].title, classifier, gap, shift)
    return found


def _by_count(runs: Runs, first: Which, second: Which, *, shift: float = 0.0) -> CELLS:
    """At all numbers of features but the last, which is all of them."""
    found: CELLS = []
    for table in runs.tables:
        for classifier in CLASSIFIERS:
            counts = runs.counts(table)[:-1]
            for place, count in enumerate(counts, start=1):
                gap = runs.gap(table, first, second, classifier, count)
                _add(found, f"{TABLES[table].title}, {classifier}", f"number {place}", gap, shift)
    return found


def _add(found: CELLS, line: str, head: str, gap: Difference | None, shift: float) -> None:
    if gap is not None:
        moved = replace(gap, mean=gap.mean + shift, low=gap.low + shift, high=gap.high + shift)
        found.append((line, head, moved))


def intervals(claims: Sequence[Claim]) -> list[tuple[str, str, str]]:
    """Lines of a table of questions."""
    return [claim.row() for claim in claims if claim.cells]
