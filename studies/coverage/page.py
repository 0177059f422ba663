"""Sections of the page: coverage and width of every cell, and what the variance is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from studies.coverage.grid import LINEAR, TRUTH, Cell, Grid
from studies.coverage.summary import PARTS, POOLED_BAR, SINGLE_BAR, Summary, summaries
from studies.coverage.tables import TABLES
from studies.coverage.truth import Truth
from studies.jobs import Result
from studies.page import Section, Table
from studies.study import Findings

SHORT = {"add-remove": "ar", "replace-one": "rep"}
TITLES = {"approximate": "(epsilon, 1e-6)", "pure": "Pure epsilon"}

INTRODUCTION = (
    "The rows are real. In every replication the responses are drawn again from a logistic model with known "
    "coefficients: those of a non-private fit, with |z| < 2 set to exactly zero (the simulated tables bring "
    "their own). Zeros change the rate of successes, since the intercept stays. The nominal level is 95 %; "
    "delta is 1e-6 where it is not 0. The intercept is in the model and in none of the figures. "
    "`python -m studies run coverage` runs the study. The seed of every response and of every draw of noise "
    "belongs to its table, replication and cell.",
    f"There are two bars: a pooled coverage of {POOLED_BAR:g} or more of the printed intervals, and "
    f"{SINGLE_BAR:g} or more for every coefficient that is printed in at least 30 % of the replications. A "
    "cell in which a coefficient is below the bar after 300 replications is continued to 1,000, which "
    "favours its meeting the bar.",
    "Constants of the procedure were chosen on the tables marked as seen. `adult_hours` has the rows of "
    "`adult` and most of its columns: a new response, not a new population. On `diabetes130` the unit is the "
    "encounter, not the patient, and which codes keep a level of their own was read off the file.",
    "One constant came later and was chosen on 100 replications of nine cells, three of them of tables not "
    "marked as seen: the distance of the estimate from the truth is taken half way between declared and "
    "learned scales (cells of `adult`, `adult_merged`, `fair`, `gusto`, `diabetes130`, `sim_rare_a` and "
    "`sim_rare_b`). `adult_hours` and `heart` had no part in it.",
)
READING = (
    "np: maximum likelihood without privacy on the same responses. naive: the released estimate with the "
    "sampling variance only, over all coefficients (in brackets: those with |z| > 1.96). plain: one Newton "
    "step back from the ridge, without a gate and without the noise of the information matrix in its "
    "variance. Both start from the same two releases in centred coding. Both are here to be compared with, "
    "not to be used.",
    "all: the intervals whether printed or not, mean / least coefficient. printed: the share of pairs of "
    "replication and coefficient; in brackets the coefficients printed in more than half of the "
    "replications.",
    "pooled: over printed pairs, with its standard error over replications. least: over coefficients printed "
    "in at least 30 % of the replications. At 300 replications a coefficient that covers .95 has a standard "
    "error of .013.",
    "width: of printed intervals, and of all, divided by the width of the non-private interval; medians. "
    "selected: coverage of printed coefficients with |z| > 1.96. ar: add-remove. rep: replace-one.",
)
REGRESSION = (
    'Here `family="gaussian"` has the same columns, with another of them as response; delta is 1e-6. The '
    "response is the least-squares fit, with |z| < 2 set to zero, plus residuals of other rows. Its bounds "
    "are declared a quarter wider than the code book's on both sides, and what is still outside is clipped.",
    "With all 259 levels of `diabetes130`, rare ones unmerged, and the skewed counts among them, some "
    "coefficients next to those whose noise hides them covered as little as .35. Merge levels by "
    "declaration, or declare a larger `effect`.",
)
SOURCES = "Median share of each source in the variance of printed intervals; medians need not add up to 1."
DESIGNS = ("table", "what", "seen", "n", "coefficients", "zero / non-zero", "rate observed", "rate drawn")
COLUMNS = (
    "data",
    "epsilon, relation",
    "np",
    "naive: all (selected)",
    "plain",
    "all: mean / least",
    "printed",
    "pooled",
    "least",
    "zero / non-zero",
    "width, printed",
    "width, all",
    "selected",
    "bars",
)


REGRESSIONS = (
    *("data: response", "epsilon, relation", "printed", "pooled", "least", "zero / non-zero", "width"),
    *("clipped", "bars"),
)
VARIANCE = ("data", "epsilon, relation", *PARTS, "seconds per replication")
BELOW = ("data", "epsilon, relation", "coefficient", "coverage", "printed")
Lines = Sequence[Sequence[str]]


def sections(findings: Findings[Grid]) -> list[Section]:
    """The whole page."""
    truths = {one["table"]: Truth.of_json(one) for one in findings.results if one["what"] == TRUTH}
    found = summaries(findings.results)
    by_definition = {
        name: {cell: summary for cell, summary in found.items() if cell.definition == name} for name in TITLES
    }
    regressions = [one for one in findings.results if one["what"] == LINEAR]
    return laid_out(
        findings.notes(),
        designs(truths),
        {name: (counts(cells.values()), coverages(cells)) for name, cells in by_definition.items() if cells},
        (_range({one["replications"] for one in regressions}), linear(regressions)),
        sources(found),
        below(found),
    )


def laid_out(
    notes: Sequence[str],
    design_lines: Lines,
    coverage_lines: Mapping[str, tuple[str, Lines]],
    regression_lines: tuple[str, Lines],
    source_lines: Lines,
    low_lines: Lines,
) -> list[Section]:
    """The page from the lines of its tables; replications stand before the lines that have them."""
    each = "{} replications of each cell."
    parts = [
        Section("", [*notes, *INTRODUCTION]),
        Section("Tables", tables=[Table("Designs of the study.", DESIGNS, design_lines)]),
    ]
    for definition, (replications, lines) in coverage_lines.items():
        parts.append(Section(TITLES[definition], tables=[Table(each.format(replications), COLUMNS, lines)]))
    replications, lines = regression_lines
    if lines:
        table = Table(each.format(replications), REGRESSIONS, lines)
        parts.append(Section("Linear regression", REGRESSION, tables=[table]))
    low = Table("Printed often, and below the bar.", BELOW, low_lines)
    return [
        *parts,
        Section("Reading", READING),
        Section("What the variance is made of", tables=[Table(SOURCES, VARIANCE, source_lines)]),
        Section(
            "Coefficients below the bar",
            () if low_lines else ("None.",),
            tables=[low] if low_lines else (),
        ),
    ]


def designs(truths: Mapping[str, Truth]) -> Lines:
    """The designs."""
    lines = []
    for name, truth in truths.items():
        beta = truth.beta[truth.studied]
        zeros = int((beta == 0.0).sum())
        observed = "--" if math.isnan(truth.observed_rate) else f"{100 * truth.observed_rate:.1f} %"
        lines.append(
            (
                f"`{name}`",
                TABLES[name].about,
                "yes" if TABLES[name].seen else "no",
                f"{truth.rows:,}",
                str(len(beta)),
                f"{zeros} / {len(beta) - zeros}",
                observed,
                f"{100 * truth.true_rate:.1f} %",
            )
        )
    return lines


def counts(found: Iterable[Summary]) -> str:
    """From the fewest to the most replications."""
    return _range({summary.replications for summary in found})


def _range(numbers: set[int]) -> str:
    return " to ".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)})) if numbers else ""


def coverages(found: Mapping[Cell, Summary]) -> Lines:
    """One line per cell."""
    lines, before = [], ""
    for cell, one in found.items():
        lines.append(
            (
                cell.table if cell.table != before else "",
                f"{cell.epsilon:g} {SHORT[cell.relation]}",
                coverage(one.nonprivate),
                f"{coverage(one.naive)} ({coverage(one.naive_selected)})",
                coverage(one.plain),
                f"{coverage(one.everything)} / {coverage(one.everything_least)}",
                f"{one.share:.2f} ({one.usual} of {one.of})",
                f"{coverage(one.pooled)} ± {coverage(one.pooled_error)}",
                coverage(one.least),
                f"{coverage(one.zeros)} / {coverage(one.nonzeros)}",
                number(one.width),
                number(one.width_all),
                coverage(one.selected),
                "met" if one.met and one.share else "nothing printed" if one.met else "missed",
            )
        )
        before = cell.table
    return lines


def linear(cells: Sequence[Result]) -> Lines:
    """One line per cell of the linear regressions."""
    return [
        (
            f"{one['table']}: `{one['response']}`",
            f"{one['epsilon']:g} {SHORT[one['relation']]}",
            f"{one['share']:.2f} ({one['usual']} of {one['coefficients']})",
            coverage(one["pooled"]),
            coverage(one["least"]),
            f"{coverage(one['zeros'])} / {coverage(one['nonzeros'])}",
            number(one["width"]),
            f"{100.0 * one['clipped']:.2f} %",
            "met" if one["pooled"] >= POOLED_BAR and one["least"] >= SINGLE_BAR else "missed",
        )
        for one in cells
    ]


def sources(found: Mapping[Cell, Summary]) -> Lines:
    """Median shares of the four parts of the variance, and the time a replication takes."""
    return [
        (
            cell.table,
            f"{cell.epsilon:g} {SHORT[cell.relation]}" + (" pure" if cell.definition == "pure" else ""),
            *(coverage(part, 2) for part in one.parts),
            number(one.seconds),
        )
        for cell, one in found.items()
    ]


def below(found: Mapping[Cell, Summary]) -> Lines:
    """Coefficients that the minimum counts and that cover less than the bar."""
    return [
        (
            cell.table,
            f"{cell.epsilon:g} {SHORT[cell.relation]}",
            f"`{name}`",
            coverage(value),
            f"{share:.2f}",
        )
        for cell, one in found.items()
        for name, value, share in one.low
    ]


def coverage(value: float, digits: int = 3) -> str:
    """A share without its leading zero: .953."""
    if math.isnan(value):
        return "--"
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def number(value: float) -> str:
    """A number with two decimals."""
    return "--" if math.isnan(value) else f"{value:.2f}"
