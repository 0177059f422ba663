"""What the paper says that its figures show, fit by fit: does it hold here?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from studies.dpsc.findings import trend
from studies.dpsc.fits import DEFAULT, EXACT, GAUSSIAN, PENALTIES, PREDICT, PRINTED, PURE, label
from studies.dpsc.summary import Fits, gap, levels, mean, value
from studies.jobs import Result
from studies.page import Table
from studies.paired import HOLDS, IN_PART, NOT, UNEXAMINED, UNTOLD, Difference, verdict

CAPTION = (
    "What the paper says of DPLL and DPLH, and what was measured, with 95 % intervals over data sets, or "
    "over draws of noise on one. Rises and falls: means at the first and the last epsilon or number of rows, "
    "and their difference; holds in part: from end to end, but not at every step; not told apart: the "
    "interval contains 0. Above and below: numbers of intervals for / around / against, with the range of "
    "the mean differences; mixed: more intervals on both sides than by chance, that is 2 of 3 to 14. As "
    "printed: the claimed epsilon is not what it costs, NOT PRIVATE."
)
OWN = "The same of what the paper does not say."
# What "similar" is taken to mean: this much more error at most.
CLOSE = 0.01
SHOWN = (
    (PRINTED, "l1"),
    (PRINTED, "l1/2"),
    (PURE, "l1"),
    (GAUSSIAN, "l1"),
    (GAUSSIAN, "l1/2"),
    (DEFAULT, "l1"),
    (PREDICT, "l1"),
)


Row = tuple[str, ...]


def tables(fits: Fits) -> list[Table]:
    """One line per statement and one column per fit: the paper's, then our own; none without results."""
    heads = ("statement", *(label(kind, penalty) for kind, penalty in SHOWN))
    parts = ((CAPTION, [*_simulation(fits), *_kdd(fits)]), (OWN, _beyond(fits)))
    return [Table(caption, heads, rows) for caption, rows in parts if rows]


def _simulation(fits: Fits) -> list[Row]:
    """Figures 1 to 6."""
    rows = []
    if by_epsilon := fits.by.get("simulation by epsilon", ()):
        rows += [
            _row("Figure 1: C.A.N of zero rises with epsilon", by_epsilon, "can", "rises"),
            _against("Figure 1: C.A.N of zero is below that without noise", by_epsilon, "can", -1),
            _penalties("Figure 1: l1/2 keeps fewer columns than l1", by_epsilon, "kept", -1),
            _penalties("Figure 2: IC.A.N of zero of l1/2 is above that of l1", by_epsilon, "ican", 1),
            _row("Figure 3: classification error falls with epsilon", by_epsilon, "error", "falls"),
            _against("Figure 3: classification error is above that without noise", by_epsilon, "error", 1),
            _row("Figure 4: mean squared error falls with epsilon", by_epsilon, "mse", "falls"),
            _against("Figure 4: mean squared error is above that without noise", by_epsilon, "mse", 1),
        ]
    every = fits.by.get("simulation by rows", ())
    for epsilon in levels(every, "epsilon"):
        here, where = _at(every, epsilon), f"epsilon {epsilon:g}"
        for number, metric, words in ((5, "error", "classification error"), (6, "mse", "mean squared error")):
            said = f"Figure {number}, {where}: {words}"
            rows += [
                _row(f"{said} falls with n", here, metric, "falls", along="rows"),
                _against(f"{said} is above that without noise", here, metric, 1, along="rows"),
            ]
        rows.append(_similar(f"Figure 5, {where}: similar to no noise at the largest n", here))
    return rows


def _kdd(fits: Fits) -> list[Row]:
    """Figures 7 to 10."""
    rows = []
    for along, experiment, numbers in (
        ("epsilon", "kdd by epsilon", (7, 8)),
        ("rows", "kdd by rows", (9, 10)),
    ):
        if results := fits.by.get(experiment, ()):
            for number, metric, words in zip(
                numbers, ("error", "mse"), ("classification error", "mean squared error"), strict=True
            ):
                said = (
                    f"Figure {number}: {words} on KDD Cup 99 falls with {'n' if along == 'rows' else along}"
                )
                rows.append(_row(said, results, metric, "falls", along=along))
    return rows


def _beyond(fits: Fits) -> list[Row]:
    """Of KDD Cup 99, where the paper says nothing of fits without noise."""
    rows = []
    if by_epsilon := fits.by.get("kdd by epsilon", ()):
        rows += [
            _against(f"KDD Cup 99: {words} is above that without noise", by_epsilon, metric, 1)
            for metric, words in (("error", "classification error"), ("mse", "mean squared error"))
        ]
    if by_rows := fits.by.get("kdd by rows", ()):
        rows.append(_similar("KDD Cup 99, epsilon 1: similar to no noise at the largest n", by_rows))
    return rows


def _at(results: Sequence[Result], place: float, along: str = "epsilon") -> list[Result]:
    """Results at a place, with those that have none."""
    return [one for one in results if one.get(along, place) == place]


def _row(statement: str, results: Sequence[Result], metric: str, word: str, *, along: str = "epsilon") -> Row:
    """How a metric goes with epsilon, or with the number of rows."""
    cells = []
    for kind, penalty in SHOWN:
        places = levels(results, along)
        wheres = [{"kind": kind, "penalty": penalty, along: place} for place in places]
        heights = [height for where in wheres if not math.isnan(height := value(results, metric, **where))]
        change = gap(results, metric, wheres[-1], wheres[0]) if wheres else None
        if len(heights) < 2 or change is None:
            cells.append("-")
            continue
        ends = f"{_number(metric, heights[0])} to {_number(metric, heights[-1])}"
        sign = 1 if word == "rises" else -1
        found = _told(change, sign)
        if found == HOLDS and not trend(heights).endswith("at every step"):
            found = IN_PART
        cells.append(f"{found}: {ends}, {change}")
    return (statement, *cells)


def _against(
    statement: str, results: Sequence[Result], metric: str, side: int, *, along: str = "epsilon"
) -> Row:
    """At how many places a fit's metric is on that side of the one without noise."""
    cells = []
    for kind, penalty in SHOWN:
        own, exact = {"kind": kind, "penalty": penalty}, {"kind": EXACT, "penalty": penalty}
        found = [gap(_at(results, place, along), metric, own, exact) for place in levels(results, along)]
        gaps = [one for one in found if one is not None and one.count > 1]
        signs = [side * one.sign for one in gaps]
        if not signs:
            cells.append("-")
            continue
        means = [one.mean for one in gaps]
        counts = signs.count(1), signs.count(0), signs.count(-1)
        without = mean(results, metric, **exact)
        told = (
            "" if without is None or along == "rows" else f"; {_number(metric, without.value)} without noise"
        )
        cells.append(
            f"{verdict(*counts)}: {' / '.join(map(str, counts))} ({_signed(metric, min(means))} to "
            f"{_signed(metric, max(means))}{told})"
        )
    return (statement, *cells)


def _penalties(statement: str, results: Sequence[Result], metric: str, side: int) -> Row:
    """l1/2 less l1, over all epsilons together."""
    cells = []
    wheres = [{"kind": EXACT, "penalty": one} for one in PENALTIES]
    exact = gap(results, metric, wheres[1], wheres[0])
    for kind, penalty in SHOWN:
        change = gap(results, metric, {"kind": kind, "penalty": "l1/2"}, {"kind": kind, "penalty": "l1"})
        if penalty != "l1/2" or change is None:
            cells.append("-")
            continue
        without = "" if exact is None else f" (without noise {_told(exact, side)}: {exact})"
        cells.append(f"{_told(change, side)}: {change}{without}")
    return (statement, *cells)


def _similar(statement: str, results: Sequence[Result]) -> Row:
    """Whether errors at the largest number of rows exceed those without noise by a hundredth at most."""
    last = [one for one in results if one["rows"] == max(levels(results, "rows"))]
    cells = []
    for kind, penalty in SHOWN:
        more = gap(last, "error", {"kind": kind, "penalty": penalty}, {"kind": EXACT, "penalty": penalty})
        if more is None or more.count < 2:
            cells.append("-")
            continue
        said = HOLDS if more.high <= CLOSE else NOT if more.low > CLOSE else UNTOLD
        cells.append(f"{said}: {more}")
    return (f"{statement} ({CLOSE:g} more at most)", *cells)


def _told(change: Difference, side: int) -> str:
    """What one interval says of a difference that should be on that side of 0."""
    if change.count < 2:
        return UNEXAMINED
    return {1: HOLDS, 0: UNTOLD, -1: NOT}[side * change.sign]


def _signed(metric: str, number: float) -> str:
    return f"{number:+.1f}" if metric == "can" else f"{number:+.3f}"


def _number(metric: str, number: float) -> str:
    return f"{number:.1f}" if metric == "can" else f"{number:.3f}"
