"""Figures of a guarantee: chances as icons, trade-off curve, privacy profile, spend, ledger, audit bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from dpglm.postprocessing.record import LedgerState, Record
from dpglm.privacy.gdp import gdp_delta
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.figure import Axis, Band, Bars, Curve, Figure, Names, Note, Points, Rows, Rule
from dpglm.report.section import price, shown
from dpglm.report.svg import Drawing
from dpglm.tables.table import budget, computed, percent

Pairs: TypeAlias = tuple[tuple[float, float], ...]

FALSE_ALARMS: Final = (
    *(0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2),
    *(0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
)
PROFILE_POINTS: Final = 25
MOST_STEPS: Final = 60


def icon_array(without: float, largest: float) -> Drawing:
    """A hundred guesses before and after reading the report, right ones filled."""
    right, base = min(100, round(100 * largest)), round(100 * without)
    drawing = Drawing(
        "icons",
        412,
        208,
        title=f"Belief in the right answer: {base} of 100 before reading, at most {right} after",
        description=f"Two groups of 100 small figures. In the first {base} are filled, in the second "
        f"{right}: {base} as before and {right - base} in another colour.",
        caption="Each figure is one chance in a hundred; filled ones are for the right answer.",
        twin=Rows(
            "Chances of 100",
            ("for", "before reading", "after reading, at most"),
            (
                ("the right answer", f"{base}", f"{right}"),
                ("the wrong answer", f"{100 - base}", f"{100 - right}"),
            ),
            numeric=(1, 2),
        ),
    )
    for left, heading, filled in ((0, "before reading", base), (220, "after reading, at most", right)):
        drawing.text(left, 12, heading, "label")
        for k in range(100):
            role = "base" if k < min(base, filled) else "extra" if k < filled else "empty"
            drawing.person(left + 19.2 * (k % 10), 22 + 18.6 * (k // 10), f"person {role}")
    return drawing


def trade_off(guarantee: Guarantee) -> Pairs:
    """Type I errors from 0 to 1, the corner of the curve among them, and the least type II error of each."""
    corner = (1.0 - guarantee.delta) / (1.0 + math.exp(min(guarantee.epsilon, 700.0)))
    rates = sorted({*FALSE_ALARMS, corner})
    return tuple((rate, max(0.0, 1.0 - guarantee.true_positive_rate(rate))) for rate in rates)


def trade_off_figure(guarantee: Guarantee) -> Figure:
    """The least type II error against the type I error."""
    points = trade_off(guarantee)
    alarms, misses = zip(*points, strict=True)
    return Figure(
        "tradeoff",
        "Trade-off curve",
        "Type I error from 0 to 1 across, type II error from 0 to 1 upwards. The diagonal is blind guessing. "
        "The curve below it is the most that the guarantee allows a reader who tells neighbouring tables "
        "apart.",
        x=Axis("type I error (false alarm)", 0.0, 1.0),
        y=Axis("type II error (miss)", 0.0, 1.0),
        marks=(
            Band(alarms, (0.0,) * len(alarms), misses),
            Curve((0.0, 1.0), (1.0, 0.0), "reference"),
            Curve(alarms, misses, label=price(guarantee)),
            Note(0.56, 0.6, "blind guessing"),
            Note(0.05, 0.06, "ruled out", faint=True),
        ),
        caption=f"Trade-off curve. Somebody tests whether one {'person' if guarantee.persons else 'row'} is "
        "in the data. No test, whatever else its author knows, has errors below the curve.",
        twin=Rows(
            "Least type II error at each type I error",
            ("type I error", "type II error, at least", "power, at most"),
            tuple((percent(a), percent(b), percent(1.0 - b)) for a, b in points),
            numeric=(0, 1, 2),
        ),
    )


def privacy_profile(guarantee: Guarantee) -> Pairs:
    """Points (epsilon, delta) that the guarantee implies, all at once, by growing epsilon.

    At each epsilon the least of: the Gaussian profile where there is a mu, and what each promised pair
    implies, which at smaller epsilons is randomised response that fails with chance delta.
    """
    known = [(guarantee.epsilon, guarantee.delta), *guarantee.curve]
    profile = []
    for epsilon in _grid(guarantee):
        deltas = [delta + (1.0 - delta) * _response(epsilon, limit) for limit, delta in known]
        if guarantee.mu is not None:
            deltas.append(gdp_delta(epsilon, guarantee.mu))
        profile.append((epsilon, min(deltas)))
    return tuple(profile)


def profile_figure(guarantee: Guarantee) -> Figure:
    """Delta against epsilon."""
    points = privacy_profile(guarantee)
    epsilons, deltas = zip(*points, strict=True)
    top = epsilons[-1] or 1.0
    positive = [delta for delta in deltas if delta > 0]
    log = guarantee.delta > 0 and len(positive) > 1 and min(positive) < max(positive)
    low = max(min(positive), 1e-18) * 0.5 if log else 0.0
    high = 1.0 if log else max(max(positive, default=1.0), 1e-12) * 1.05
    if guarantee.delta > 0 and guarantee.delta >= low:
        # The curve falls: free room is above it on the right, below it on the left.
        late = guarantee.epsilon > 0.6 * top
        declared = Note(
            guarantee.epsilon,
            guarantee.delta,
            f"declared: {budget(guarantee.epsilon)}, {budget(guarantee.delta)}",
            anchor="end" if late else "start",
            move=(-8, 15) if late else (8, -7),
        )
        height = guarantee.delta
    else:
        declared = Note(top, 0.62 * high, f"δ = 0 at ε = {budget(guarantee.epsilon)}", anchor="end")
        height = low
    rows = sorted({*points, (guarantee.epsilon, guarantee.delta)}, key=lambda point: (point[0], -point[1]))
    return Figure(
        "profile",
        "Privacy profile",
        f"Epsilon across, delta upwards{' on a logarithmic scale' if log else ''}. The curve falls: a larger "
        "epsilon holds with a smaller delta.",
        x=Axis("ε", 0.0, top),
        y=Axis("δ", low, high, log=log),
        marks=(
            Curve(epsilons, [max(delta, low) for delta in deltas]),
            Points((guarantee.epsilon,), (height,)),
            declared,
        ),
        caption="Privacy profile. All points (ε, δ) on the curve hold at once; one pair is only one of them.",
        twin=Rows(
            "Delta at each epsilon",
            ("ε", "δ, at most"),
            tuple((budget(epsilon), budget(delta)) for epsilon, delta in rows),
            numeric=(0, 1),
        ),
    )


def spend_figure(record: Record) -> Figure:
    """Share of the fit's budget by release."""
    lines = record.spend_lines
    return Figure(
        "spend",
        "Share of the budget by release",
        x=Axis(f"share of the fit’s budget in %, {price(record.guarantee)}", 0.0, 105.0),
        y=Names(tuple(line.release for line in lines)),
        marks=(Bars(range(len(lines)), [0.0] * len(lines), [100.0 * line.share for line in lines]),),
    )


def cumulative(ledger: LedgerState) -> tuple[str, tuple[float, ...]]:
    """What was spent after each entry of a ledger, and the name of the measure.

    Epsilons add up in a ledger of epsilon. In a ledger of Gaussian DP they do not, the squares of mu do;
    the measure is then ``"mu"``.
    """
    charged = [entry for entry in ledger.entries if entry.status == "charged"]
    total = sum(entry.epsilon for entry in charged)
    additive = math.isclose(total, ledger.spent_epsilon, rel_tol=1e-6, abs_tol=1e-12)
    if additive or any(entry.mu is None for entry in charged):
        costs = [entry.epsilon if entry.status == "charged" else 0.0 for entry in ledger.entries]
        return "epsilon", tuple(accumulate(costs))
    costs = [entry.mu or 0.0 if entry.status == "charged" else 0.0 for entry in ledger.entries]
    return "mu", tuple(accumulate(costs, math.hypot))


def ledger_figure(ledger: LedgerState) -> Figure | None:
    """What was spent after each entry, against the budget; None for an empty ledger."""
    measure, spent = cumulative(ledger)
    if not spent:
        return None
    symbol = "ε" if measure == "epsilon" else "μ"
    first = max(0, len(spent) - MOST_STEPS)
    steps, entries, numbers = spent[first:], ledger.entries[first:], range(first + 1, len(spent) + 1)
    limit = ledger.budget_epsilon if measure == "epsilon" else 0.0
    # Two corners of the staircase in the middle of each entry.
    x = [0.0, *(k + 0.5 for k in range(len(steps)) for _ in "xx"), float(len(steps))]
    y = [height for height in (spent[first - 1] if first else 0.0, *steps) for _ in "yy"]
    dots = []
    for role, wanted in (("point", True), ("hollow", False)):
        places = [k for k, entry in enumerate(entries) if (entry.status == "charged") is wanted]
        dots.append(Points([k + 0.5 for k in places], [steps[k] for k in places], role, radius=3.5))
    budgeted = [Rule(limit, "y", "limit"), Note(0.0, limit, f"budget {budget(limit)}", move=(4, -5))]
    marks = [
        (number - first - 0.5, f"{number}") for number in numbers if len(steps) <= 15 or number % 10 == 0
    ]
    return Figure(
        "steps",
        f"Privacy spent from ledger {shown(ledger.dataset, 60)}, entry by entry",
        f"A staircase of the {symbol} spent after each entry"
        + (", with a line at the budget above it." if limit else "."),
        x=Axis("entry", 0.0, float(len(steps)), marks=tuple(marks)),
        y=Axis(f"{symbol} spent", 0.0, 1.08 * max([*steps, limit, 1e-12])),
        marks=(Band(x, [0.0] * len(x), y), Curve(x, y), *dots, *(budgeted if limit else ())),
        caption=f"Cumulative {symbol} after each entry. Hollow: refused, with nothing released or charged.",
        twin=Rows(
            "Spent after each entry",
            ("entry", "status", f"{symbol} spent so far"),
            tuple(
                (f"{number}", shown(entry.status), budget(computed(value)))
                for number, entry, value in zip(numbers, entries, steps, strict=True)
            ),
            numeric=(2,),
        ),
        wide=True,
    )


def bounds_figure(
    names: Sequence[str], bounds: Sequence[float], claims: Sequence[float], *, refuted: Sequence[bool]
) -> Figure:
    """Lower bounds of an audit on epsilon as bars, from top to bottom, each with its claim as a dot."""
    bars = []
    for role, label, contradicted in (
        ("bar", "lower bound", False),
        ("refuted", "lower bound above the claim", True),
    ):
        lines = [k for k, wrong in enumerate(refuted) if bool(wrong) is contradicted]
        if lines:
            bars.append(Bars(lines, [0.0] * len(lines), [bounds[k] for k in lines], role, label))
    labels = [f"{name} (refuted)" if wrong else name for name, wrong in zip(names, refuted, strict=True)]
    return Figure(
        "bounds",
        "Lower bounds of an audit against claims",
        x=Axis("epsilon at the claimed delta", 0.0, 1.15 * max(*bounds, *claims)),
        y=Names(tuple(labels)),
        marks=(*bars, Points(claims, range(len(names)), "claim", "claim")),
    )


def _response(epsilon: float, limit: float) -> float:
    """Delta at ``epsilon`` of randomised response with parameter ``limit``."""
    if epsilon >= limit:
        return 0.0
    # Divided by exp(limit): both exponentials stay finite for any limit.
    return -math.expm1(epsilon - limit) / (1.0 + math.exp(-limit))


def _grid(guarantee: Guarantee) -> list[float]:
    """Zero, the declared epsilon, and where the curve has points; without one, even steps."""
    ends = {0.0, guarantee.epsilon}
    if guarantee.curve:
        # Between the points of a curve less is known than at them, and the drawing would have teeth.
        known = sorted({epsilon for epsilon, _ in guarantee.curve})
        return sorted(ends | set(known[:: 1 + len(known) // (2 * PROFILE_POINTS)]))
    top = guarantee.epsilon if guarantee.mu is None else 1.5 * guarantee.epsilon
    return sorted(ends | {top * k / (PROFILE_POINTS - 1) for k in range(PROFILE_POINTS)})
