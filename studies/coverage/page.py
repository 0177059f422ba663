"""Write the page of the coverage study: ``python -m studies.coverage.page``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.coverage import gaussian
from studies.coverage.cells import Cell
from studies.coverage.store import cells_in, read_cell
from studies.coverage.study import OUT, ROOT
from studies.coverage.summary import PARTS, POOLED_BAR, SINGLE_BAR, Summary
from studies.coverage.tables import TABLES
from studies.coverage.truth import Truth

PAGE = ROOT / "reports" / "coverage.md"
SHORT = {"add-remove": "ar", "replace-one": "rep"}

INTRODUCTION = """\
# Coverage of printed intervals

Real rows, responses drawn again in every replication from a logistic model with known coefficients:
those of a non-private fit, with |z| < 2 set to exactly zero (the simulated tables say their own).
Zeros move the rate of successes, since the intercept stays. Nominal level 95 %; delta is 10^-6 where it
is not 0. The intercept is in the model and in no figure. `{command}` runs
the study: every response and every draw of noise has a seed that belongs to table,
replication and cell.

The bars are a pooled coverage of {pooled} or more of what is printed, and {single} or more of every
coefficient that is printed in 30 % of the replications or more. Constants of the procedure were chosen
on the tables marked *seen*. `adult_hours` has the rows of `adult` and most of its columns: a new
response, not a new population. On `diabetes130` the unit is the encounter, not the patient, and which
codes keep a level of their own was read off the file. A cell in which a coefficient is below the bar at 300
replications is continued to 1,000, which favours its meeting the bar.

One constant came later and was chosen on 100 replications of nine cells, three of them of tables not marked
*seen*: that the distance of the estimate from the truth is taken half way between declared and learned scales
(cells of `adult`, `adult_merged`, `fair`, `gusto`, `diabetes130`, `sim_rare_a`, `sim_rare_b`). `adult_hours`
and `heart` had no part in it. The numbers below were drawn with an earlier sampler of the same normal law: a
new run has the same responses and other noise.
"""

READING = """\
* **np**: maximum likelihood without privacy on the same responses. **naive**: the released estimate
  with the sampling variance only, over all coefficients (in brackets: those with |z| > 1.96).
  **plain**: one Newton step back from the ridge, without a gate and without the noise of the curvature
  in its variance. Both start from the same two releases in centred coding; both are here to be compared
  with, not to be used.
* **all**: the intervals whether printed or not, mean / least coefficient. **printed**: share of pairs
  of replication and coefficient, in brackets the coefficients printed in more than half of the
  replications.
* **pooled**: over printed pairs, with its standard error over replications. **least**: over
  coefficients printed in 30 % of the replications or more; at 300 replications one coefficient that
  covers .95 has a standard error of .013.
* **width**: of printed intervals, and of all, divided by the non-private interval's; medians.
  **selected**: coverage of printed coefficients with |z| > 1.96.
"""

LINEAR = """\
`family="gaussian"`, the same columns with another of them as response: {counts} replications a cell, delta
10^-6. The response is the least squares fit, |z| < 2 set to zero, plus residuals of other rows; its bounds
are declared a quarter wider than the code book's on both sides, and what is still outside is clipped. With
all 259 levels of `diabetes130`, rare ones unmerged, and the skewed counts among them, coefficients next to
those whose noise hides them covered as little as .35: merge by declaration, or declare a larger `effect`.

"""

COLUMNS = (
    "data",
    "eps, relation",
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; 1 if a cell misses a bar, 2 if there is nothing to write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the results")
    parser.add_argument("--page", type=Path, default=PAGE, help="file to write")
    parser.add_argument("--replications", type=int, help="count only the first ones")
    options = parser.parse_args(arguments)
    found = summaries(options.out, most=options.replications)
    if not found:
        print(f"no results in {options.out}: run python -m studies.coverage.study", file=sys.stderr)
        return 2
    for cell, summary in found.items():
        if summary.codes > 1:
            print(f"{cell.table} {cell.key}: runs of {summary.codes} versions of the code", file=sys.stderr)
    options.page.write_text(page(options.out, found), encoding="utf-8")
    missed = sum(not summary.met for summary in found.values())
    print(f"wrote {options.page}: {len(found)} cells, {missed} below a bar")
    return 1 if missed else 0


def summaries(out: Path, *, most: int | None = None) -> dict[Cell, Summary]:
    """A summary of each private cell on disk, in the order of the page."""
    cells = [cell for cell in cells_in(out) if cell.private and cell.table in TABLES]
    order = list(TABLES)
    cells.sort(key=lambda cell: order.index(cell.table))  # stable: relation and epsilon stay in order
    found = {}
    for cell in cells:
        nonprivate = read_cell(out, Cell(cell.table), most=most)
        private = read_cell(out, cell, most=most)
        if private and nonprivate and set(private["number"]) & set(nonprivate["number"]):
            truth = Truth.read(out / cell.table / "truth.json")
            found[cell] = Summary.of_cell(truth, private, nonprivate)
    return found


def page(out: Path, found: dict[Cell, Summary]) -> str:
    """The page as Markdown."""
    introduction = INTRODUCTION.format(
        command="python -m studies.coverage.study",
        pooled=coverage(POOLED_BAR, 2),
        single=coverage(SINGLE_BAR, 2),
    )
    parts = [introduction, "## Tables", tables(out, found)]
    for definition, title in (("approximate", "(eps, 10^-6)"), ("pure", "Pure epsilon")):
        chosen = {cell: summary for cell, summary in found.items() if cell.definition == definition}
        if chosen:
            parts += [f"## {title}", results(chosen)]
    if (out / gaussian.FILE).exists():
        parts += ["## Linear regression", linear(json.loads((out / gaussian.FILE).read_text("utf-8")))]
    parts += ["## Reading", READING, "## What the variance is made of", sources(found)]
    parts += ["## Coefficients below the bar", below(found)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def tables(out: Path, found: dict[Cell, Summary]) -> str:
    """The designs."""
    lines = []
    for name in dict.fromkeys(cell.table for cell in found):
        truth = Truth.read(out / name / "truth.json")
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
    return markdown(
        ("table", "what", "seen", "n", "coefficients", "zero / non-zero", "rate observed", "rate drawn"),
        lines,
    )


def results(found: dict[Cell, Summary]) -> str:
    """A line a cell."""
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
                "met" if one.met and one.share else "nothing printed" if one.met else "**missed**",
            )
        )
        before = cell.table
    counts = sorted({one.replications for one in found.values()})
    ranged = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{ranged} replications a cell.\n\n" + markdown(COLUMNS, lines)


def linear(cells: list[dict[str, Any]]) -> str:
    """A line a cell of the gaussian study."""
    lines = [
        (
            f"{one['table']}: `{one['response']}`",
            f"{one['epsilon']:g} {SHORT[one['relation']]}",
            f"{one['share']:.2f} ({one['usual']} of {one['coefficients']})",
            coverage(one["pooled"]),
            coverage(one["least"]),
            f"{coverage(one['zeros'])} / {coverage(one['nonzeros'])}",
            number(one["width"]),
            f"{100.0 * one['clipped']:.2f} %",
            "met" if one["pooled"] >= POOLED_BAR and one["least"] >= SINGLE_BAR else "**missed**",
        )
        for one in cells
    ]
    header = ("data: response", "eps, relation", "printed", "pooled", "least", "zero / non-zero", "width")
    counts = sorted({one["replications"] for one in cells})
    return LINEAR.format(counts=" to ".join(map(str, counts))) + markdown((*header, "clipped", "bars"), lines)


def sources(found: dict[Cell, Summary]) -> str:
    """Median shares of the four parts of the variance, and the time a replication takes."""
    lines = [
        (
            cell.table,
            f"{cell.epsilon:g} {SHORT[cell.relation]}" + (" pure" if cell.definition == "pure" else ""),
            *(coverage(part, 2) for part in one.parts),
            number(one.seconds),
        )
        for cell, one in found.items()
    ]
    text = "Median share of each source in the variance of printed intervals; medians need not add up to 1."
    return f"{text}\n\n" + markdown(("data", "eps, relation", *PARTS, "seconds a replication"), lines)


def below(found: dict[Cell, Summary]) -> str:
    """Coefficients that the minimum counts and that cover less than the bar."""
    lines = [
        (
            cell.table,
            f"{cell.epsilon:g} {SHORT[cell.relation]}",
            f"`{name.replace('|', '&#124;')}`",
            coverage(value),
            f"{share:.2f}",
        )
        for cell, one in found.items()
        for name, value, share in one.low
    ]
    if not lines:
        return "None."
    return markdown(("data", "eps, relation", "coefficient", "coverage", "printed"), lines)


def coverage(value: float, digits: int = 3) -> str:
    """A share without its leading zero: .953."""
    if math.isnan(value):
        return "--"
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def number(value: float) -> str:
    """A number with two decimals."""
    return "--" if math.isnan(value) else f"{value:.2f}"


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
