"""The figures of the report, each with its table twin."""

from __future__ import annotations

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.spending import LedgerState
from dpglm.postprocessing.uncertainty import selected
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.curves import cumulative, privacy_profile, trade_off
from dpglm.report.section import Figure, Rows
from dpglm.report.svg import Axis, Drawing, shortened
from dpglm.report.wording import percent, shown
from dpglm.tables.number import budget, coefficient

MOST_DOTS = 40  # coefficients drawn; the table lists more
MOST_STEPS = 60
ROW = 21.0


def icon_array(without: float, largest: float) -> Figure:
    """A hundred guesses before and after reading the report, right ones filled."""
    right = min(100, round(100 * largest))
    base = round(100 * without)
    drawing = Drawing(
        "icons",
        412,
        208,
        title=f"Belief in the right answer: {base} of 100 before reading, at most {right} after",
        description=f"Two groups of 100 small figures. In the first {base} are filled, in the second "
        f"{right}: {base} as before and {right - base} in another colour.",
    )
    for left, heading, filled in ((0, "before reading", base), (220, "after reading, at most", right)):
        drawing.text(left, 12, heading, "label")
        for k in range(100):
            role = (
                "person base" if k < min(base, filled) else "person extra" if k < filled else "person empty"
            )
            drawing.person(left + 19.2 * (k % 10), 22 + 18.6 * (k // 10), role)
    twin = Rows(
        "Chances of 100",
        ("for", "before reading", "after reading, at most"),
        (
            ("the right answer", f"{base}", f"{right}"),
            ("the wrong answer", f"{100 - base}", f"{100 - right}"),
        ),
        numeric=(1, 2),
    )
    return Figure(
        drawing, "Each figure is one chance in a hundred; filled ones are for the right answer.", twin
    )


def trade_off_figure(guarantee: Guarantee) -> Figure:
    """The least type II error against the type I error."""
    points = trade_off(guarantee)
    drawing, x, y = _square(
        "tradeoff",
        "Trade-off curve",
        "Type I error from 0 to 1 across, type II error from 0 to 1 upwards. The diagonal is blind "
        "guessing; the "
        "curve below it is the most that the guarantee allows a reader who tells neighbouring tables "
        "apart.",
        Axis(0, 1, start=44, stop=302),
        Axis(0, 1, start=222, stop=12),
        ("type I error (false alarm)", "type II error (miss)"),
    )
    curve = [(x(a), y(b)) for a, b in points]
    drawing.path([(x(0), y(0)), *curve], "area", closed=True)
    drawing.line(x(0), y(1), x(1), y(0), "reference")
    drawing.path(curve, "line")
    drawing.text(x(0.56), y(0.6), "blind guessing", "label")
    drawing.text(x(0.05), y(0.06), "ruled out", "label faint")
    twin = Rows(
        "Least type II error at each type I error",
        ("type I error", "type II error, at least", "power, at most"),
        tuple((percent(a), percent(b), percent(1.0 - b)) for a, b in points),
        numeric=(0, 1, 2),
    )
    caption = (
        "Trade-off curve. Somebody tests whether one row is in the data. No test, whatever else its "
        "maker knows, "
        "has errors below the curve."
    )
    return Figure(drawing, caption, twin)


def profile_figure(guarantee: Guarantee) -> Figure:
    """Delta against epsilon."""
    points = privacy_profile(guarantee)
    top = points[-1][0] or 1.0
    positive = [delta for _, delta in points if delta > 0]
    log = guarantee.delta > 0 and len(positive) > 1 and min(positive) < max(positive)
    low = max(min(positive), 1e-18) * 0.5 if log else 0.0
    high = 1.0 if log else max(max(positive, default=1.0), 1e-12) * 1.05
    drawing, x, y = _square(
        "profile",
        "Privacy profile",
        f"Epsilon across, delta upwards{' on a logarithmic scale' if log else ''}. The curve falls: a "
        f"larger epsilon "
        "holds with a smaller delta.",
        Axis(0, top, start=44, stop=302),
        Axis(low, high, start=222, stop=12, log=log),
        ("ε", "δ"),
    )
    drawing.path([(x(e), y(d)) for e, d in points], "line")
    if guarantee.delta > 0 and guarantee.delta >= low:
        drawing.circle(x(guarantee.epsilon), y(guarantee.delta), 4, "point")
        # The curve falls: free room is above it on the right, below it on the left.
        side = guarantee.epsilon > 0.6 * top
        words = f"declared: {budget(guarantee.epsilon)}, {budget(guarantee.delta)}"
        drawing.text(
            x(guarantee.epsilon) + (-8 if side else 8),
            y(guarantee.delta) + (15 if side else -7),
            words,
            "label end" if side else "label",
        )
    else:
        drawing.circle(x(guarantee.epsilon), y(0.0), 4, "point")
        drawing.text(x.stop, y(0.62 * high), f"δ = 0 at ε = {budget(guarantee.epsilon)}", "label end")
    rows = sorted({*points, (guarantee.epsilon, guarantee.delta)}, key=lambda point: (point[0], -point[1]))
    twin = Rows(
        "Delta at each epsilon",
        ("ε", "δ, at most"),
        tuple((budget(e), budget(d)) for e, d in rows),
        numeric=(0, 1),
    )
    caption = (
        "Privacy profile. Every point (ε, δ) on the curve holds, all at once; one pair is only one of them."
    )
    return Figure(drawing, caption, twin)


def coefficient_figure(result: FitRecord) -> Figure | None:
    """A dot for each coefficient but the intercept; None where there is none."""
    kept = selected(result)
    drawn = [j for j, name in enumerate(result.names) if name != "Intercept"]
    if len(drawn) > MOST_DOTS:
        largest = sorted(drawn, key=lambda j: (-abs(float(result.estimates[j])), j))[:MOST_DOTS]
        drawn = sorted(largest)
    if not drawn:
        return None
    kind = "Coefficients" if result.predictor is None else "Coefficients of the linear approximation"
    names = [shortened(result.names[j], 30) for j in drawn]
    values = [float(result.estimates[j]) for j in drawn]
    edge = 14 + 6.5 * max(len(name) for name in names)
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.06 * (high - low) or 1.0
    x = Axis(low - room, high + room, start=edge, stop=412)
    height = ROW * len(drawn) + 40
    drawing = Drawing(
        "coefficients",
        420,
        height,
        title=f"{kind}, original scale",
        description="One line for each coefficient, from zero to a dot at its value; hollow dots at zero "
        "were not selected.",
    )
    for tick in x.ticks(5):
        drawing.line(x(tick), 6, x(tick), height - 32, "zero" if tick == 0 else "grid")
        drawing.text(x(tick), height - 18, f"{tick:g}", "tick middle")
    drawing.text((edge + 412) / 2, height - 3, f"coefficient, {shown(result.link, 20)} scale", "label middle")
    for k, (j, name, value) in enumerate(zip(drawn, names, values, strict=True)):
        middle, chosen = 16 + ROW * k, bool(kept[j])
        drawing.text(edge - 10, middle + 4, name, "label end" if chosen else "label end faint")
        if chosen:
            drawing.line(x(0), middle, x(value), middle, "stem")
        drawing.circle(x(value), middle, 4, "point" if chosen else "point hollow")
    left_out = len(result.names) - len(drawn) - ("Intercept" in result.names)
    intercept = ", without the intercept" if "Intercept" in result.names else ""
    largest_only = f"; the {MOST_DOTS} largest" if left_out else ""
    caption = f"{kind} in original units{intercept}{largest_only}."
    caption += " Hollow: not selected. Units differ between variables, so lengths compare only within a unit."
    twin = Rows(
        "Coefficients drawn",
        ("coefficient", "value", "selected"),
        tuple(
            (shown(result.names[j]), coefficient(v), "yes" if kept[j] else "no")
            for j, v in zip(drawn, values, strict=True)
        ),
        numeric=(1,),
    )
    return Figure(drawing, caption, twin)


def ledger_figure(ledger: LedgerState) -> Figure | None:
    """What was spent after each entry, against the budget; None for an empty ledger."""
    measure, spent = cumulative(ledger)
    if not spent:
        return None
    symbol = "ε" if measure == "epsilon" else "μ"
    first = max(0, len(spent) - MOST_STEPS)
    before = spent[first - 1] if first else 0.0
    steps = spent[first:]
    limit = ledger.budget_epsilon if measure == "epsilon" else None
    top = 1.08 * max([*steps, limit or 0.0, 1e-12])
    x, y = Axis(0, len(steps), start=40, stop=412), Axis(0, top, start=152, stop=12)
    drawing = Drawing(
        "steps",
        420,
        190,
        title=f"Privacy spent from ledger {shown(ledger.dataset, 60)}, entry by entry",
        description=f"A staircase of the {symbol} spent after each entry"
        + (", with a line at the budget above it." if limit else "."),
    )
    for tick in y.ticks(4):
        drawing.line(40, y(tick), 412, y(tick), "grid")
        drawing.text(34, y(tick) + 4, f"{tick:g}", "tick end")
    path, level = [(x(0), y(before))], before
    for k, value in enumerate(steps):
        path += [(x(k + 0.5), y(level)), (x(k + 0.5), y(value))]
        level = value
    path.append((x(len(steps)), y(level)))
    drawing.path([(x(0), y(0)), *path, (x(len(steps)), y(0))], "area", closed=True)
    drawing.path(path, "line")
    for k, value in enumerate(steps):
        refused = ledger.entries[first + k].status != "charged"
        drawing.circle(x(k + 0.5), y(value), 3.5, "point hollow" if refused else "point")
        if len(steps) <= 15 or (first + k + 1) % 10 == 0:
            drawing.text(x(k + 0.5), 168, f"{first + k + 1}", "tick middle")
    if limit:
        drawing.line(40, y(limit), 412, y(limit), "limit")
        drawing.text(44, y(limit) - 5, f"budget {budget(limit)}", "label")
    drawing.text(226, 186, "entry", "label middle")
    twin = Rows(
        "Spent after each entry",
        ("entry", "status", f"{symbol} spent so far"),
        tuple(
            (f"{first + k + 1}", shown(ledger.entries[first + k].status), budget(_clean(value)))
            for k, value in enumerate(steps)
        ),
        numeric=(2,),
    )
    caption = (
        f"Cumulative {symbol} after each entry. Hollow: refused, nothing was released and nothing charged."
    )
    return Figure(drawing, caption, twin)


def _square(
    slug: str, title: str, description: str, x: Axis, y: Axis, labels: tuple[str, str]
) -> tuple[Drawing, Axis, Axis]:
    """An empty plot of two axes with grid, ticks and labels."""
    drawing = Drawing(slug, 312, 262, title=title, description=description)
    for tick in y.ticks(5):
        drawing.line(x.start, y(tick), x.stop, y(tick), "grid")
        drawing.text(x.start - 6, y(tick) + 4, _tick(tick, y), "tick end")
    for tick in x.ticks(5):
        drawing.line(x(tick), y.start, x(tick), y.start + 4, "axis")
        drawing.text(x(tick), y.start + 17, f"{tick:g}", "tick middle")
    drawing.line(x.start, y.start, x.stop, y.start, "axis")
    drawing.line(x.start, y.start, x.start, y.stop, "axis")
    drawing.text((x.start + x.stop) / 2, y.start + 34, labels[0], "label middle")
    drawing.text(9, (y.start + y.stop) / 2, labels[1], "label middle", turned=True)
    return drawing, x, y


def _tick(value: float, axis: Axis) -> str:
    return (
        f"{value:.0e}".replace("e-0", "e-").replace("e+00", "") if axis.log and value < 0.01 else f"{value:g}"
    )


def _clean(value: float) -> float:
    """A running sum without the last two digits, which are its rounding."""
    return float(f"{value:.14g}")
