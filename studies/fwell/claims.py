"""What the paper and the documentation say, asked of this study's numbers; verdicts follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from studies.paired import Claim, Difference

# "Similar" and "very close": accuracies no further apart than this.
CLOSE = 0.03
EXACT: Which = (ORIGINAL, None)
CHANCE: Which = (RANDOM, None)
# Where a linear ranking is blind, and where it is not.
BLIND = ("two thresholds", "U-shaped", "XOR")
LINE, LARGE_EPSILON, SMALL_EPSILON = "linear", 4.0, 0.5
# Least recalls that were asked for, with room for the last bit of a mean.
BAR, LINE_BAR = 0.9 - 1e-9, 0.95 - 1e-9
CELLS = list[tuple[str, str, Difference]]


@dataclass(frozen=True)
class Statement:
    """A claim of the paper, as printed and by prototypes, each in words with its verdict."""

    claim: str
    printed: tuple[str, str]
    corrected: tuple[str, str]

    def row(self) -> tuple[str, ...]:
        """A line of the table of claims."""
        return (self.claim, *self.printed, *self.corrected)


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
            "Figures 13 to 24: at epsilon .01 accuracy is very close to FWELL's",
            f"{METHODS[method].label} at epsilon .01 less FWELL, plus {CLOSE:g}",
            _by_count(runs, (method, SECOND), EXACT, shift=CLOSE),
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


def statements(runs: Runs) -> list[Statement]:
    """The table of claims: the theorem, the figures, and what margins see that a linear ranking does not."""
    found = []
    if (witness := runs.witness) is not None:
        found.append(
            Statement(
                "Theorem 1: Private FWELL is epsilon-differentially private",
                (
                    f"one row changes {witness['changed']:,} of {witness['rows']:,} margins; weights move "
                    f"by {witness['apart']:.2f}, the proof says {witness['claimed']:.2f}: at a claimed "
                    f"epsilon of {witness['epsilon']:g} the loss is {witness['loss']:.1f}",
                    "fails",
                ),
                ("one row changes one margin row of length at most 1 (margins.md, blocks.md)", "holds"),
            )
        )
    pairs = zip(of_paper(runs, PRINTED), of_paper(runs, "fwell"), strict=True)
    found += [Statement(one.statement, one.row()[1:], other.row()[1:]) for one, other in pairs if one.cells]
    return found + designs(runs)


def designs(runs: Runs) -> list[Statement]:
    """What was asked of the corrected versions: they must earn their place where a linear model is blind."""
    found = []
    for design in BLIND:
        recalls = {name: _recall(runs, design, name, LARGE_EPSILON) for name in (*CORRECTED, *LINEAR)}
        printed = _recall(runs, design, PRINTED, LARGE_EPSILON)
        if None in recalls.values():
            continue
        values = {name: value for name, value in recalls.items() if value is not None}
        best = max(CORRECTED, key=lambda name: values[name])
        holds = values[best] >= BAR and max(values[name] for name in LINEAR) < 0.5
        words = ", ".join(f"{METHODS[name].label} {values[name]:.2f}" for name in (best, *LINEAR))
        found.append(
            Statement(
                f"Ours: {design}, epsilon {LARGE_EPSILON:g}: margins find the columns, linear rankings do "
                "not",
                _printed(printed),
                (f"recall: {words}", "holds" if holds else "fails"),
            )
        )
    found += _linear(runs)
    return found


def _linear(runs: Runs) -> list[Statement]:
    prototypes, objective = (_recall(runs, LINE, name, SMALL_EPSILON) for name in ("fwell", "objective"))
    if prototypes is None or objective is None:
        return []
    words = f"recall: prototypes {prototypes:.2f}, objective {objective:.2f}"
    better = objective >= prototypes
    return [
        Statement(
            f"Ours: linear, epsilon {SMALL_EPSILON:g}: prototypes find the columns",
            _printed(_recall(runs, LINE, PRINTED, SMALL_EPSILON)),
            (words, "holds" if prototypes >= LINE_BAR else "fails"),
        ),
        Statement(
            f"Ours: linear, epsilon {SMALL_EPSILON:g}: the linear ranking is as good or better",
            ("-", "-"),
            (words, "holds" if better else "fails"),
        ),
    ]


def open_points(runs: Runs) -> list[str]:
    """What does not hold, before everything else."""
    texts = []
    failed = [one for one in statements(runs) if one.corrected[1] in ("fails", "mixed")]
    if failed:
        texts.append(
            "What does not hold of the corrected version: "
            + "; ".join(f"{one.claim} ({one.corrected[0]}: {one.corrected[1]})" for one in failed)
            + "."
        )
    weak = []
    for design in runs.designs:
        recalls = {name: _recall(runs, design, name, LARGE_EPSILON) for name in CORRECTED}
        values = {name: value for name, value in recalls.items() if value is not None}
        if not values or max(values.values()) >= BAR:
            continue
        best = max(values, key=lambda name: values[name])
        linear = max(
            (_recall(runs, design, name, LARGE_EPSILON) or 0.0, METHODS[name].label) for name in LINEAR
        )
        weak.append(f"{design} ({METHODS[best].label} {values[best]:.2f}, {linear[1]} {linear[0]:.2f})")
    if weak:
        texts.append(
            f"Designs on which no version of margins finds nine tenths of the columns at epsilon "
            f"{LARGE_EPSILON:g}: {'; '.join(weak)}."
        )
    return texts


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


def _recall(runs: Runs, design: str, method: str, epsilon: float | None) -> float | None:
    found = runs.recall(design, (method, epsilon))
    return None if found is None else found.value


def _printed(recall: float | None) -> tuple[str, str]:
    if recall is None:
        return "-", "-"
    return f"recall: {recall:.2f}, NOT PRIVATE", "holds" if recall >= BAR else "fails"


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
