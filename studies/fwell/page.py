"""Sections of the page: claims, what sees what, the paper's figures, and how it was run."""

from __future__ import annotations

from collections.abc import Sequence

from studies.fwell import claims
from studies.fwell.figures import by_count, by_epsilon, recalls
from studies.fwell.fits import CLASSIFIERS
from studies.fwell.grid import (
    BUDGETED,
    CORRECTED,
    DELTA,
    LEAST,
    LINEAR,
    METHODS,
    ONE,
    ORDERS,
    ORIGINAL,
    PASS,
    PRINTED,
    RANDOM,
    REFERENCE,
    SECOND,
    STRENGTHS,
    Grid,
)
from studies.fwell.reasons import CHANCE, CHANGED, SEES, WHY
from studies.fwell.summary import Runs, Which
from studies.fwell.tables import TABLES
from studies.page import Section, Table, anchor, fraction, link
from studies.paired import COUNTED, VERDICTS, Mean
from studies.study import Findings

FIRST, LAST = "Figures 1 to 12: privacy against accuracy", "Figures 13 to 24: number of features"
PLACES = "Figures and tables of the paper"
# Epsilons at which recalls are in a table.
FEW = (0.5, 4.0)


def sections(findings: Findings[Grid]) -> list[Section]:
    """Claims first, then how to read them, designs, the paper's figures, and settings."""
    runs = Runs(findings.results)
    parts = [_claims(findings, runs), *_reading(findings, runs), *_designs(runs)]
    parts.append(Section("Why, and what was changed", [WHY[0], *claims.witnessed(runs), *WHY[1:], *CHANGED]))
    if runs.tables:
        parts += [
            Section(
                FIRST,
                [CHANCE],
                [
                    by_epsilon(runs, classifier, first)
                    for classifier, first in zip(CLASSIFIERS, (1, 7), strict=True)
                ],
                [_chance(runs), _accuracies(runs), *_details(runs, PRINTED)],
            ),
            Section(
                LAST,
                [],
                [
                    by_count(runs, classifier, first)
                    for classifier, first in zip(CLASSIFIERS, (13, 19), strict=True)
                ],
            ),
            Section("Other strengths", [], tables=[_strengths(runs)]),
        ]
    parts.append(_places(findings, runs))
    return [*parts, _settings(findings, runs)]


def _claims(findings: Findings[Grid], runs: Runs) -> Section:
    text = (
        "The FWELL paper weighs features by local margins, how much farther a row is from its nearest row "
        "of the other class than from that of its own, and adds noise to the weights. Here are its "
        "experiments again: without privacy, as printed, and by `dpglm.rank_features`, whose claims are "
        "proved and audited."
    )
    caption = (
        "What the paper says. As printed: the claimed epsilon is not what it costs, NOT PRIVATE. Corrected: "
        f"prototypes at the same epsilon, with delta {DELTA:g}. {VERDICTS} Cells are tables and classifiers, "
        "and numbers of features. Similar and very close, in our reading: no more than "
        f"{claims.CLOSE:g} below FWELL, which is added to the difference. The smallest epsilon is {LEAST:g} "
        f"as printed and {SECOND:g} corrected."
    )
    columns = ("claim", "as printed", "verdict", "corrected", "verdict")
    lines = claims.lines(runs)
    tables = [Table(caption, columns, lines)] if lines else []
    return Section("Claims", [text, *findings.notes()], tables=tables)


def _reading(findings: Findings[Grid], runs: Runs) -> list[Section]:
    """Against a random order; what dpglm refused."""
    tables = []
    if asked := claims.intervals(claims.own(runs)):
        caption = f"Questions of our own. {COUNTED}"
        tables.append(Table(caption, ("statement", "95 % intervals", "verdict"), asked))
    if refusals := findings.refusals(lambda result: METHODS[result["method"]].label):
        tables.append(Table("Rankings that dpglm refused.", ("ranking", "found", "times"), refusals))
    texts = [
        "Where a random order does as well, being close to FWELL says nothing. Beside the margins stand two "
        "rankings that are no more than a linear model (`objective`) and differences of class means "
        "(`marginal`).",
        *claims.in_short(runs),
    ]
    return [Section("How to read them", texts, tables=tables)] if tables else []


def _designs(runs: Runs) -> list[Section]:
    if not runs.designs:
        return []
    methods = (ORIGINAL, PRINTED, *CORRECTED, REFERENCE, *LINEAR)
    rows = []
    for design in runs.designs:
        for epsilon in FEW:
            means = [runs.recall(design, (name, epsilon if name != ORIGINAL else None)) for name in methods]
            if any(mean is not None for mean in means):
                rows.append((design, f"{epsilon:g}", *(_share(mean) for mean in means)))
    caption = (
        "Share of the true columns among as many of the largest weights; the standard error of the mean "
        "in brackets. The defaults were set on the first five designs; the others judge them. FWELL and "
        "Private FWELL as printed are NOT PRIVATE."
    )
    heads = ("design", "epsilon", *(METHODS[name].label for name in methods))
    sees = Table("Which version sees what.", ("ranking", "it sees", "it does not see"), SEES)
    text = (
        "Linear effects need no margins: there `objective` is as good as prototypes or better, and it is the "
        'short list of `dpglm.fit(goal="select")`. Prototypes are for columns whose classes differ in shape, '
        "clusters and blocks for columns that say something only together. All three read columns in their "
        "declared bounds: where these are wide, `profile=` gives them measured ones (docs/methods.md has the "
        "recalls)."
    )
    return [Section("Which version sees what", [text], [recalls(runs)], [sees, Table(caption, heads, rows)])]


def _chance(runs: Runs) -> Table:
    """From which epsilon on a ranking is better than a random one."""
    rows = []
    for table in runs.tables:
        texts = []
        for method in BUDGETED:
            found = runs.threshold(table, method)
            texts.append("-" if found is None else f"{found:g}")
        exact = "yes" if runs.better_than_chance(table, (ORIGINAL, None)) else "no"
        rows.append((TABLES[table].title, exact, *texts, f"{max(runs.epsilons(table)):g}"))
    heads = ("table", "FWELL", *(METHODS[method].label for method in BUDGETED), "largest that was run")
    return Table(
        "The least epsilon from which on a tenth of the features by a ranking is better than a random "
        "tenth, by the 95 % interval of one classifier at least, - for none that was run; and whether FWELL "
        "is, without privacy. "
        "Private FWELL as printed is NOT PRIVATE, and was run to epsilon 1 on the tables of thousands of "
        "columns.",
        heads,
        rows,
    )


def _accuracies(runs: Runs) -> Table:
    rows = []
    for table in runs.tables:
        count = runs.count_at(table)
        for classifier in CLASSIFIERS:
            cells: list[Which] = [(ORIGINAL, None), (PASS, None), (PRINTED, LEAST), (PRINTED, ONE)]
            cells += [(method, ONE) for method in (*CORRECTED, *LINEAR)]
            cells += [("fwell", max(runs.epsilons(table))), (RANDOM, None)]
            means = [_accuracy(runs.accuracy(table, which, classifier, count)) for which in cells]
            rows.append((f"{TABLES[table].title}, {count:,}, {classifier}", *means))
    heads = ("table, features", "FWELL", "Algorithm 1", f"printed, {LEAST:g}", "printed, 1")
    heads += tuple(f"{METHODS[method].label}, 1" for method in (*CORRECTED, *LINEAR))
    return Table(
        "Accuracy at a tenth of the features, with the epsilon behind the ranking's name; the standard "
        "deviation over folds in brackets. Largest: 64, and 256 for the two tables of thousands of "
        "columns.",
        (*heads, "prototypes, largest", "random"),
        rows,
    )


def _details(runs: Runs, method: str) -> list[Table]:
    return [claim.table() for claim in claims.of_paper(runs, method)[:3] if claim.cells]


def _strengths(runs: Runs) -> Table:
    rows = []
    small = [table for table in runs.tables if not TABLES[table].large]
    for table in small:
        for label, method, epsilon in (
            ("FWELL", ORIGINAL, None),
            ("printed, epsilon 1", PRINTED, ONE),
            ("printed, epsilon .01", PRINTED, SECOND),
        ):
            count = runs.count_at(table)
            texts = []
            for strength in STRENGTHS:
                which: Which = (method, epsilon) if strength == 0.1 else (method, epsilon, strength)
                texts.append(
                    " / ".join(_plain(runs.accuracy(table, which, one, count)) for one in CLASSIFIERS)
                )
            rows.append((f"{TABLES[table].title}, {label}", *texts))
    return Table(
        f"Accuracy of {' / '.join(CLASSIFIERS)} at a tenth of the features with other strengths lambda, "
        "NOT PRIVATE. The printed noise is of the order 1 / lambda, and so are the weights of a strong "
        "lambda: tuning does not change what noise hides.",
        ("table", *(f"{one:g}" for one in STRENGTHS)),
        rows,
    )


def _places(findings: Findings[Grid], runs: Runs) -> Section:
    """A line for each figure and table of the paper."""
    rows: list[tuple[str, str]] = [
        (
            "Table I: samples, features, classes",
            link(f"#{anchor(PLACES)}", "the table of samples, below the list"),
        )
    ]
    second = {
        "lung_gordon": " (other tissues)",
        "soybean": " (the four largest of 19 classes against the others)",
    }
    number = 0
    for what, heading in (
        ("accuracy against epsilon", FIRST),
        ("accuracy against the number of features", LAST),
    ):
        for classifier in CLASSIFIERS:
            for table in TABLES:
                number += 1
                here: str = link(f"#{anchor(heading)}", f"panel {TABLES[table].title}{second.get(table, '')}")
                if table not in runs.tables:
                    here = f"none: {findings.absent.get(table, 'not run')}"
                rows.append((f"Figure {number}: {TABLES[table].title}, {classifier}, {what}", here))
    text = (
        "The paper's figures are curves without printed numbers, so that they are compared by what the "
        "paper says of them. Its text prints no accuracy."
    )
    places = Table(
        "Every table and figure of the paper, and its counterpart.", ("in the paper", "here"), rows
    )
    return Section(PLACES, [text], tables=[places, _samples(runs)])


def _samples(runs: Runs) -> Table:
    rows = []
    for table in runs.tables:
        entry = TABLES[table]
        name, samples, features = entry.printed
        found = next(one for one in runs.results if "counts" in one and one["table"] == table)
        rows.append(
            (
                entry.title,
                f"{name}: {samples:,} x {features:,}, 2 classes",
                f"{found['size']:,} x {runs.features(table):,}",
                f"{found['majority']:.3f}",
                entry.task,
            )
        )
    heads = ("table", "as printed", "here", "larger class", "classes and coding")
    return Table("Table I: samples and features.", heads, rows)


def _settings(findings: Findings[Grid], runs: Runs) -> Section:
    grid = findings.grid
    texts = [
        f"Ten folds in the paper; here {grid.folds} folds with their share of both classes, dealt "
        f"{grid.repeats} time{'s' * (grid.repeats > 1)}, and the first {grid.large_folds} of them once for "
        "the tables of thousands of columns. A ranking reads the rows of nine folds, as many as its "
        "schema declares; classifiers read the first features of the same rows between 0 and 1 by public "
        "bounds, levels as columns of 0 and 1, missing values in the middle: scikit-learn's 3-NN and "
        "linear SVM (LinearSVC, C = 1). A classifier that is trained afterwards on the same rows is not "
        "covered by the promise of a ranking.",
        "Intervals are Student's t of paired differences over folds and deals; training rows of folds "
        "overlap, so that they are about this table and a little too short. There is one per cell and no "
        f"correction for their number. Random is the mean of {ORDERS} random orders in each fold, and "
        "features of equal weight come in a random order. WDBC's upper bounds were read off the file "
        "(studies/schemas/wdbc.schema.yaml), and BASEHOCK's vocabulary was chosen on its documents: they "
        "are not public in the strict sense.",
        f"Designs: {grid.draws} draws; studies/selection/features.py has them.",
        f"{findings.minutes:.0f} minutes of processor time, all from fixed seeds (seeded noise is itself "
        "NOT PRIVATE). Again: `python -m studies run fwell`; it goes on where it was stopped.",
    ]
    tables = []
    if runs.times:
        rows = [
            (
                METHODS[one["method"]].label,
                METHODS[one["method"]].promise,
                f"{one['processor']:.0f} s",
                f"{one['wall']:.0f} s",
                f"{one['gigabytes']:.1f} GB",
            )
            for one in runs.times
        ]
        caption = (
            "A ranking of all of BASEHOCK (1,993 rows, 4,862 columns), without privacy or at epsilon 1: "
            "time of the processor and of the clock, and the most memory of the process with the table in "
            "it."
        )
        tables.append(Table(caption, ("ranking", "promise", "processor", "clock", "memory"), rows))
    return Section("How it was run", texts, tables=tables)


def _share(mean: Mean | None) -> str:
    """A mean with its standard error."""
    if mean is None:
        return "-"
    error = f" ({fraction(mean.error, 2)})" if mean.count > 1 else ""
    return f"{fraction(mean.value, 2)}{error}"


def _accuracy(mean: Mean | None) -> str:
    """A mean with the standard deviation over folds."""
    if mean is None:
        return "-"
    spread = f" ({fraction(mean.deviation, 2)})" if mean.count > 1 else ""
    return f"{fraction(mean.value)}{spread}"


def _plain(mean: Mean | None) -> str:
    return "-" if mean is None else fraction(mean.value, 2)


def lines(findings: Findings[Grid]) -> Sequence[str]:
    """The verdicts, for a terminal."""
    return [f"{line[4]:14}  {line[0]}: {line[3]}" for line in claims.lines(Runs(findings.results))]
