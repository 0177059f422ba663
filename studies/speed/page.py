"""Sections of the page: goals and figures, curves of cost, and what everything was measured with."""

from __future__ import annotations

from collections.abc import Sequence

from studies.page import Section, Table
from studies.speed.figures import pictures
from studies.speed.grid import Grid
from studies.speed.measure import LIMIT
from studies.speed.summary import Line, machines, notes, refused, table
from studies.study import Findings

INTRODUCTION = (
    "Figures are ratios: what dpglm needs, divided by what a peer or a plain computation needs, in one run "
    "on one machine. Seconds stand beside them for scale only. They are CPU seconds of all processes and "
    "threads, with one thread for linear algebra, unless the row says otherwise. Rows are summed in as many "
    "threads as there are cores, as they are where nothing is set.",
    "Each contestant is a process of its own that has its rows in memory. In each round all of them take "
    "turns. The best of several rounds counts, and of memory the largest. `rounds` is the least and the "
    "largest figure of a single round: where they are far apart, the machine was not idle.",
    "A ready array has rows of norm 1 at most, and its making is not counted. diffprivlib runs as it comes, "
    "with that norm declared. A fit of a frame is the whole call of `dpglm.fit`: formula, schema, coding, "
    "noise, solver and result. An l1 fit is compared with the solver of skglm alone, after it was compiled, "
    "at a twentieth of the strength that selects nothing. Peers without privacy run with their default "
    "tolerances.",
    "A pass decodes a Parquet file and multiplies its columns by a vector. The time of a fit is compared "
    "with as many passes as it made over all rows itself: it decodes and codes them once, and reads them "
    "where it keeps them afterwards.",
    "`make benchmark` installs the peers and runs the study; `python -m studies run speed` goes on with it, "
    "and `--only fit,plan` runs some of its rows. It needs an idle machine and one job at a time. After a "
    "change of the package, delete `studies/runs/full/speed.jsonl` and `studies/results/speed.jsonl.gz` to "
    "measure anew.",
)
COLUMNS = ("what is compared", "goal", "measured", "rounds", "verdict", "CPU s, dpglm", "CPU s, other")
MIXED = (
    "MIXED: rounds were measured with {count} different sets of processor, code and versions, and figures of "
    "one set only can be compared. Delete the results to measure anew."
)


def sections(findings: Findings[Grid]) -> list[Section]:
    """The whole page."""
    found, used = table(findings.results), machines(findings.results)
    mixed = [MIXED.format(count=len(used))] if len(used) > 1 else []
    parts = [
        Section("", [*findings.notes(), *mixed, *([summary(found)] if found else [])]),
        Section("What is measured", INTRODUCTION),
    ]
    if found:
        about = "Goals, figures and seconds. A goal is the largest figure that is allowed."
        rows = [row(line) for line in found]
        parts.append(Section("Figures", notes(findings.results), tables=[Table(about, COLUMNS, rows)]))
    if drawn := pictures(findings.results):
        text = (
            "Simulated rows as in the table. default: no penalty, with intervals, at (epsilon, 1e-6); l2, l1 "
            "and diffprivlib: pure epsilon. Both axes are logarithmic."
        )
        parts.append(Section("What a fit costs", [text], figures=drawn))
    if without := refused(findings.results):
        text = f"Refused by the package, or no answer within {LIMIT:g} seconds."
        parts.append(
            Section("Without a figure", tables=[Table(text, ("row", "contestant", "reason"), without)])
        )
    if used:
        names = list(dict.fromkeys(name for one in used for name in one))
        cells = [(name, *(one.get(name, "-") for one in used)) for name in names]
        columns = ("what", *("version" if len(used) == 1 else f"set {at}" for at in range(1, len(used) + 1)))
        parts.append(Section("Measured with", tables=[Table("Processor and versions.", columns, cells)]))
    return parts


def summary(found: Sequence[Line]) -> str:
    """How many goals are met, and which are not."""
    judged = [line for line in found if line.figure.goal is not None]
    missed = [line.figure.what for line in judged if line.verdict != "met"]
    text = f"{len(judged) - len(missed)} of {len(judged)} goals that were measured are met"
    return f"{text}; not met: {'; '.join(missed)}." if missed else f"{text}."


def row(line: Line) -> tuple[str, ...]:
    """A line as cells."""
    figure = line.figure
    goal = "-" if figure.goal is None else figure.text(figure.goal)
    return (
        *(figure.what, goal, figure.text(line.value), line.spread, line.verdict),
        *(line.seconds(figure.own), line.seconds(figure.other)),
    )


def lines(findings: Findings[Grid]) -> list[str]:
    """The table as text, for a part of the study."""
    rows = [COLUMNS, *(row(line) for line in table(findings.results))]
    widths = [max(len(cells[at]) for cells in rows) for at in range(len(COLUMNS))]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) for cells in rows
    ]
    return [*(text.rstrip() for text in texts), *(" : ".join(one) for one in refused(findings.results))]
