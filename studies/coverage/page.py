"""What the pages of both coverage studies share: a line a cell, and what is said first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from studies.coverage.cell import code
from studies.coverage.grid import DECLARED, Cell, Grid
from studies.coverage.summary import (
    MARKED_BAR,
    OFTEN,
    POOLED_BAR,
    SINGLE_BAR,
    SOME_MARKED,
    SOME_RELIABLE,
    Intervals,
    Summary,
    summaries,
)
from studies.jobs import Result
from studies.page import Section, Table
from studies.study import Findings

SHORT = {"add-remove": "ar", "replace-one": "rep"}
BARS = (
    f"There are three bars: a pooled coverage of {POOLED_BAR:g} or more of the intervals without a mark, "
    f"where {100 * SOME_RELIABLE:g} % of pairs have one; {SINGLE_BAR:g} or more for every coefficient, the "
    f"intercept among them, that has one in at least {100 * OFTEN:g} % of the replications; and a pooled "
    f"coverage of {MARKED_BAR:g} of the marked ones, which rest mostly on declared scales, where "
    f"{100 * SOME_MARKED:g} % of pairs have one."
)
READING = (
    "ml: maximum likelihood without privacy, on the same responses. It covers less than .95 where rows are "
    "clustered or counts overdispersed, and no private interval of the same formula can be asked for more.",
    "printed: the share of pairs of replication and coefficient with an interval that has no mark; in "
    "brackets, the coefficients that have one in more than half of the replications. pooled: coverage over "
    "these pairs, with its standard error over replications. least: over coefficients that have one in at "
    "least 30 % of the replications. A coefficient that covers .95 has a standard error of .013 at 300 "
    "replications, and the least of 40 such coefficients is .92 on average.",
    "width: the mean of intervals with two ends and no mark, and the median of all pairs, divided by the "
    "width of the non-private interval; a coefficient without an interval is infinitely wide. error: the "
    "root mean square distance of private from non-private estimates of the same response, in non-private "
    "standard errors. ar: add-remove. rep: replace-one.",
    "intercept: share and coverage of its intervals without a mark; it is in no other column. "
    "marked: intervals that rest mostly on declared scales, share and coverage. naive: the private estimate "
    "with the standard error of maximum likelihood at it, pooled / least / width. It is here to be compared "
    "with, not to be used.",
)
COLUMNS = (
    *("data", "epsilon, relation", "ml", "printed", "pooled", "least", "width, printed", "width, all"),
    *("error", "intercept", "marked", "naive", "bars"),
)
BELOW = ("data", "epsilon, relation", "coefficient", "coverage", "printed")


def verdict(title: str, found: Mapping[Cell, Summary]) -> str:
    """How many cells miss a bar, and which tables they are of."""
    printed = [one for one in found.values() if one.own.share]
    missed = [cell for cell, one in found.items() if not one.met]
    low = list(dict.fromkeys(cell.table for cell in missed))
    names = f", of {len(low)}: " + ", ".join(f"`{name}`" for name in low) if low else ""
    none = len(found) - len(printed)
    judged = sum(one.intercept is not None for one in found.values())
    rest = "" if judged == len(found) else f" Intercepts are judged in {judged} cells."
    return (
        f"{title}: {len(missed)} of {len(found)} cells miss a bar{names}. {none} cells have no interval "
        f"without a mark.{rest}"
    )


def coverages(caption: str, found: Mapping[Cell, Summary]) -> Table:
    """One line a cell."""
    return Table(caption, COLUMNS, [_line(cell, one, first) for cell, one, first in _grouped(found)])


def below(found: Mapping[Cell, Summary]) -> Section:
    """Coefficients that the minimum counts and that cover less than the bar."""
    rows = [
        (cell.table, budget(cell), f"`{low.name}`", coverage(low.coverage), f"{low.share:.2f}")
        for cell, one in found.items()
        for low in (*one.own.low, *(one.intercept.low if one.intercept else ()))
    ]
    table = Table("Printed often, and below the bar.", BELOW, rows)
    return Section("Coefficients below the bar", () if rows else ("None.",), tables=[table] if rows else ())


def replications(found: Mapping[Cell, Summary]) -> str:
    """From the fewest to the most of a cell."""
    numbers = {one.replications for one in found.values()}
    words = " to ".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)})) if numbers else "0"
    return f"{words} replications of each cell."


def stale(results: Sequence[Result]) -> list[str]:
    """A sentence where cells were run by other code than today's: they are not run again."""
    other = sum(one.get("code") != code() for one in results)
    if not other:
        return []
    return [
        f"{other} of {len(results)} cells are of another state of dpglm; "
        "in another folder (--out) all are run."
    ]


def lines(findings: Findings[Grid]) -> Sequence[str]:
    """The cells as lines of text, and a warning where results are of other code."""
    cells = [one for one in findings.results if "epsilon" in one]
    return [*(_text(cell, one) for cell, one in summaries(cells).items()), *stale(cells)]


def budget(cell: Cell) -> str:
    """Epsilon and relation, and what else is not the rule."""
    words = [f"{cell.epsilon:g} {SHORT[cell.relation]}"]
    words += ["pure"] if cell.definition == "pure" else []
    words += ["declared"] if cell.scales == DECLARED else []
    return " ".join(words)


def _grouped(found: Mapping[Cell, Summary]) -> list[tuple[Cell, Summary, bool]]:
    """Cells, and whether each is the first one of its table."""
    tables = ["", *(cell.table for cell in found)]
    return [(cell, one, cell.table != tables[place]) for place, (cell, one) in enumerate(found.items())]


def _line(cell: Cell, one: Summary, first: bool) -> Sequence[str]:
    own = one.own
    return (
        cell.table if first else "",
        budget(cell),
        coverage(one.nonprivate),
        f"{own.share:.2f} ({own.usual} of {one.coefficients})",
        f"{coverage(own.pooled)} ± {coverage(own.pooled_error)}" if own.share else "--",
        _least(own),
        number(own.width),
        number(own.width_all),
        number(one.error),
        _shared(one.intercept),
        _shared(one.marked),
        f"{coverage(one.naive.pooled)} / {coverage(one.naive.least)} / {number(one.naive.width)}",
        "missed" if not one.met else "met" if own.share else "nothing printed",
    )


def _shared(one: Intervals | None) -> str:
    return f"{one.share:.2f}: {coverage(one.pooled)}" if one is not None and one.share else "--"


def _least(one: Intervals) -> str:
    return f"{coverage(one.least)} `{one.least_name}`" if one.least_name else "--"


def _text(cell: Cell, one: Summary) -> str:
    head = f"{cell.table:18} {cell.key:32} reps {one.replications:3}  ml {one.nonprivate:.3f}"
    parts = [head, _words(f"share {one.own.share:.2f}", one.own)]
    parts.append(f"intercept {_shared(one.intercept)}")
    if one.marked.share:
        parts.append(_words(f"marked {one.marked.share:.2f}", one.marked))
    if one.one_sided > 0.0:
        parts.append(f"one-sided {one.one_sided:.2f}")
    return "  | ".join([*parts, _words("naive", one.naive), f"error {one.error:.2f}", f"{one.seconds:.2f} s"])


def _words(title: str, one: Intervals) -> str:
    if not one.share:
        return title
    least = f"least {one.least:.3f} {one.least_name}" if one.least_name else "least -"
    return f"{title}  pooled {one.pooled:.3f}  {least}  width {one.width:.2f}, all {one.width_all:.2f}"


def coverage(value: float) -> str:
    """A share without its leading zero: .953."""
    if math.isnan(value):
        return "--"
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def number(value: float) -> str:
    """A number with two decimals; infinite is "inf"."""
    return "--" if math.isnan(value) else "inf" if math.isinf(value) else f"{value:.2f}"
