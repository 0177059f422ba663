"""What the paper says that its figures show, fit by fit: does it hold here?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from studies.dpsc.findings import compared, trend
from studies.dpsc.fits import DEFAULT, EXACT, GAUSSIAN, PENALTIES, PREDICT, PRINTED, PURE, label
from studies.dpsc.summary import Fits, gap, levels, mean, value
from studies.jobs import Result
from studies.page import Table

CAPTION = (
    "What the paper says of DPLL and DPLH, and what was measured: means from the first to the last epsilon "
    "or number of rows, their difference with its 95 % interval over data sets, or over draws of noise on "
    "one, and whether the statement holds: yes, mostly (from end to end, not at every step), same (the "
    "interval contains 0), or no. Below and above: at how many epsilons such an interval does not contain 0; "
    "partly is at some of them. Similar: the whole interval of the difference to no noise is that small."
)
# What "similar" is taken to mean: this much more error at most.
CLOSE = 0.01
VERDICTS = {"goes at every step": "yes", "stays the same": "same"}
SHOWN = (
    (PRINTED, "l1"),
    (PRINTED, "l1/2"),
    (PURE, "l1"),
    (GAUSSIAN, "l1"),
    (GAUSSIAN, "l1/2"),
    (DEFAULT, "l1"),
    (PREDICT, "l1"),
)


def table(fits: Fits) -> Table | None:
    """One line per statement and one column per fit; None without results."""
    rows = []
    by_epsilon = fits.by.get("simulation by epsilon", ())
    if by_epsilon:
        rows += [
            _row("C.A.N of zero rises with epsilon", by_epsilon, "can", "rises"),
            _nearer("C.A.N of zero is below that without noise", by_epsilon, "can", "smaller than"),
            _sparser(by_epsilon),
        ]
    for name, words in (("simulation", "Simulation"), ("kdd", "KDD Cup 99")):
        results = fits.by.get(f"{name} by epsilon", ())
        if results:
            rows += [
                _row(f"{words}: classification error falls with epsilon", results, "error", "falls"),
                _row(f"{words}: mean squared error falls with epsilon", results, "mse", "falls"),
                _nearer(f"{words}: error above that without noise", results, "error", "larger than"),
            ]
        every = fits.by.get(f"{name} by rows", ())
        for epsilon in levels(every, "epsilon"):
            here = [one for one in every if one.get("epsilon", epsilon) == epsilon]
            where = f"{words}, epsilon {epsilon:g}"
            rows += [
                _row(f"{where}: classification error falls with n", here, "error", "falls", against="rows"),
                _similar(f"{where}: similar to no noise at the largest n", here),
            ]
    if not rows:
        return None
    return Table(CAPTION, ("statement", *(label(kind, penalty) for kind, penalty in SHOWN)), rows)


def _row(
    statement: str, results: Sequence[Result], metric: str, word: str, *, against: str = "epsilon"
) -> tuple[str, ...]:
    cells = []
    for kind, penalty in SHOWN:
        places = levels(results, against)
        wheres = [{"kind": kind, "penalty": penalty, against: place} for place in places]
        heights = [height for where in wheres if not math.isnan(height := value(results, metric, **where))]
        change = gap(results, metric, wheres[-1], wheres[0]) if wheres else None
        if len(heights) < 2 or change is None:
            cells.append("-")
            continue
        how = trend(heights)
        verdict = VERDICTS.get(how.replace(word, "goes"), "mostly" if how.startswith(word) else "no")
        if change.count > 1 and not change.sign:
            verdict = "same"
        cells.append(f"{verdict}: {_number(metric, heights[0])} to {_number(metric, heights[-1])}, {change}")
    return (statement, *cells)


def _nearer(statement: str, results: Sequence[Result], metric: str, word: str) -> tuple[str, ...]:
    """At how many epsilons a fit's metric is on the said side of that without noise."""
    epsilons = levels(results, "epsilon")
    cells = []
    for kind, penalty in SHOWN:
        without = mean(results, metric, kind=EXACT, penalty=penalty)
        if without is None:
            cells.append("-")
            continue
        count = 0
        for epsilon in epsilons:
            here = [one for one in results if one.get("epsilon", epsilon) == epsilon]
            own, exact = {"kind": kind, "penalty": penalty}, {"kind": EXACT, "penalty": penalty}
            count += compared(here, metric, own, exact) == word
        verdict = "yes" if count == len(epsilons) else "no" if not count else "partly"
        cells.append(
            f"{verdict}: at {count} of {len(epsilons)} ({_number(metric, without.value)} without noise)"
        )
    return (statement, *cells)


def _sparser(results: Sequence[Result]) -> tuple[str, ...]:
    """Columns kept with l1/2 against l1, at all epsilons together."""
    cells = []
    for kind, penalty in SHOWN:
        if penalty != "l1/2":
            cells.append("")
            continue
        kept = [value(results, "kept", kind=kind, penalty=one) for one in PENALTIES]
        cells.append(f"{'yes' if kept[1] < kept[0] else 'no'}: keeps {kept[1]:.1f} against {kept[0]:.1f}")
    return ("l1/2 is sparser than l1 (mean over epsilons)", *cells)


def _similar(statement: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Whether errors at the largest number of rows exceed those without noise by a hundredth at most."""
    last = [one for one in results if one["rows"] == max(levels(results, "rows"))]
    cells = []
    for kind, penalty in SHOWN:
        more = gap(last, "error", {"kind": kind, "penalty": penalty}, {"kind": EXACT, "penalty": penalty})
        if more is None:
            cells.append("-")
            continue
        low, high = (more.low, more.high) if more.count > 1 else (more.mean, more.mean)
        verdict = "yes" if high <= CLOSE else "no" if low > CLOSE else "not told apart"
        cells.append(f"{verdict}: {more}")
    return (f"{statement} ({CLOSE:g} more at most)", *cells)


def _number(metric: str, number: float) -> str:
    return f"{number:.1f}" if metric == "can" else f"{number:.3f}"
