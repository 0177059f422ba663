"""Accuracies against epsilon and against the number of features, table by table; recalls of designs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from studies.figure import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style, error_bars, legend_below, picture
from studies.fwell.grid import (
    BUDGETED,
    CORRECTED,
    LEAST,
    LINEAR,
    METHODS,
    ORIGINAL,
    PASS,
    PRINTED,
    RANDOM,
    REFERENCE,
    SECOND,
    SWEPT,
)
from studies.fwell.summary import Runs, Which
from studies.fwell.tables import TABLES
from studies.page import Picture
from studies.paired import Mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    ORIGINAL: Style(BLACK, "-", "."),
    PASS: Style(BLACK, "--", "+"),
    PRINTED: Style(RED, "-", "x"),
    "fwell": Style(BLUE, "-", "o"),
    "fwell-kmeans": Style("#8C510A", "-", "P"),
    "fwell-block": Style(GREEN, "-", "s"),
    REFERENCE: Style("#56B4E9", "-.", "D"),
    "objective": Style(ORANGE, "--", "^"),
    "marginal": Style(PINK, "--", "v"),
    RANDOM: Style("#808080", ":", ""),
}
# Where the paper's smallest epsilon is drawn, beyond a break of the axis.
EDGE = 1e-3
# Panels beside each other.
ACROSS = 2


def by_epsilon(runs: Runs, classifier: str, first: int) -> Picture:
    """The paper's figures ``first`` to ``first + 5``: accuracy at a tenth of the features against epsilon."""
    figure, axes = _panels([(TABLES[table].title, table) for table in _tables(runs)])
    for table, ax in axes.items():
        count = runs.count_at(table)
        for method in (ORIGINAL, PASS, RANDOM):
            mean = runs.accuracy(table, (method, None), classifier, count)
            _level(ax, method, mean)
        for method in BUDGETED:
            _curve(
                ax,
                method,
                (
                    (max(epsilon, EDGE), runs.accuracy(table, (method, epsilon), classifier, count))
                    for epsilon in runs.epsilons(table, method)
                ),
            )
        ax.set_xscale("log")
        ticks = runs.epsilons(table)
        ax.set_xticks([EDGE, *ticks], [f"{LEAST:g}", *(f"{tick:g}" for tick in ticks)])
        ax.set_xticks([], minor=True)
        ax.axvline(math.sqrt(EDGE * min(ticks)), color="grey", linestyle=(0, (1, 3)), linewidth=0.8)
        ax.set_xlabel("epsilon", fontsize=8)
    _label(axes, "accuracy")
    legend_below(figure, columns=3)
    return picture(
        figure,
        f"Figures {first} to {first + 5}: accuracy of {classifier} at a tenth of the features against "
        "epsilon. FWELL and its single pass are NOT PRIVATE, and so is Private FWELL as printed. The axis is "
        f"broken at the grey line: left of it is the paper's smallest epsilon, {LEAST:g}, as printed.",
    )


def by_count(runs: Runs, classifier: str, first: int) -> Picture:
    """The paper's figures ``first`` to ``first + 5``: accuracy at epsilon .01 against the features."""
    figure, axes = _panels([(TABLES[table].title, table) for table in _tables(runs)])
    for table, ax in axes.items():
        for method in (ORIGINAL, PASS, *BUDGETED, RANDOM):
            which: Which = (method, SECOND if method in BUDGETED else None)
            counts = runs.counts(table)
            _curve(ax, method, ((x, runs.accuracy(table, which, classifier, x)) for x in counts))
        ax.set_xscale("log")
        ax.set_xticks(runs.counts(table), [f"{count:,}" for count in runs.counts(table)])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("features", fontsize=8)
    _label(axes, "accuracy")
    legend_below(figure, columns=3)
    return picture(
        figure,
        f"Figures {first} to {first + 5}: accuracy of {classifier} against the number of features, epsilon "
        f"{SECOND:g}. At this epsilon private rankings are near a random order; with all features all are "
        "one.",
    )


def recalls(runs: Runs) -> Picture:
    """Recall of the true columns of simulated designs against epsilon."""
    figure, axes = _panels([(name, name) for name in SWEPT if name in runs.designs])
    for design, ax in axes.items():
        _level(ax, ORIGINAL, runs.recall(design, (ORIGINAL, None)))
        for method in (PRINTED, *CORRECTED, REFERENCE, *LINEAR):
            places = runs.epsilons(design)
            _curve(ax, method, ((x, runs.recall(design, (method, x))) for x in places), bars=True)
        ax.set_xscale("log")
        ticks = runs.epsilons(design)
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel("epsilon", fontsize=8)
    _label(axes, "recall")
    legend_below(figure, columns=3)
    return picture(
        figure,
        "Share of the true columns among as many of the largest weights, 40 columns, 5,000 rows, delta 1e-6. "
        "Bars are 95 % intervals of the mean over draws.",
    )


def _tables(runs: Runs) -> list[str]:
    return [name for name in TABLES if name in runs.tables]


def _curve(ax: Axes, method: str, points: Iterable[tuple[float, Mean | None]], *, bars: bool = False) -> None:
    """A curve through the means that there are."""
    found = [(x, mean.value, mean.half_width if bars else math.nan) for x, mean in points if mean is not None]
    if found:
        error_bars(ax, STYLES[method], METHODS[method].label, found, capsize=2.0)


def _level(ax: Axes, method: str, mean: Mean | None) -> None:
    if mean is not None:
        style = STYLES[method]
        ax.axhline(
            mean.value, color=style.colour, linestyle=style.line, linewidth=1.0, label=METHODS[method].label
        )


def _label(axes: dict[str, Axes], label: str) -> None:
    for place, ax in enumerate(axes.values()):
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.03))  # no share is larger than 1
        if place % ACROSS == 0:
            ax.set_ylabel(label, fontsize=8)


def _panels(titles: Sequence[tuple[str, str]]) -> tuple[Figure, dict[str, Axes]]:
    from matplotlib.figure import Figure

    lines = -(-len(titles) // ACROSS)
    figure = Figure(figsize=(8.0, 2.6 * lines + 0.9), layout="constrained")
    grid = figure.subplots(lines, min(ACROSS, len(titles)), squeeze=False).ravel()
    for ax in grid[len(titles) :]:
        ax.set_axis_off()
    axes = {}
    for ax, (title, name) in zip(grid, titles, strict=False):
        ax.set_title(title, fontsize=9)
        ax.tick_params(labelsize=7)
        ax.grid(alpha=0.25)
        axes[name] = ax
    return figure, axes
