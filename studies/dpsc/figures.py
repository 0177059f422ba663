"""The paper's ten figures, with more curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.dpsc.fits import DEFAULT, EXACT, GAUSSIAN, PENALTIES, PREDICT, PRINTED, PURE, label
from studies.dpsc.summary import levels, mean
from studies.figure import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style, error_bars, legend_below, picture
from studies.jobs import Result
from studies.page import Picture

STYLES = {
    EXACT: (BLACK, ""),
    PRINTED: (RED, "x"),
    PURE: (ORANGE, "s"),
    GAUSSIAN: (BLUE, "o"),
    DEFAULT: (GREEN, "^"),
    PREDICT: (PINK, "v"),
}
METRICS = {
    "can": "C.A.N of zero",
    "ican": "IC.A.N of zero",
    "error": "classification error",
    "mse": "mean squared error",
}


@dataclass(frozen=True)
class Plot:
    """A figure of the paper: which experiment, which metric, against what."""

    number: int
    experiment: str
    metric: str
    against: str
    caption: str


FIGURES = tuple(
    Plot(number, experiment, metric, against, caption)
    for number, experiment, metric, against, caption in (
        (1, "simulation by epsilon", "can", "epsilon", "correctly identified zeros, simulation"),
        (2, "simulation by epsilon", "ican", "epsilon", "incorrectly identified zeros, simulation"),
        (3, "simulation by epsilon", "error", "epsilon", "classification error, simulation"),
        (4, "simulation by epsilon", "mse", "epsilon", "mean squared error, simulation"),
        (5, "simulation by rows", "error", "rows", "classification error against n, simulation"),
        (6, "simulation by rows", "mse", "rows", "mean squared error against n, simulation"),
        (7, "kdd by epsilon", "error", "epsilon", "classification error, KDD Cup 99"),
        (8, "kdd by epsilon", "mse", "epsilon", "mean squared error, KDD Cup 99"),
        (9, "kdd by rows", "error", "rows", "classification error against n, KDD Cup 99"),
        (10, "kdd by rows", "mse", "rows", "mean squared error against n, KDD Cup 99"),
    )
)


def draw(plot: Plot, results: Sequence[Result]) -> Picture:
    """One figure, with one panel per epsilon where rows are on its axis."""
    panels = levels(results, "epsilon") if plot.against == "rows" else [None]
    log = plot.experiment.startswith("kdd")
    figure = Figure(figsize=(1.8 + 2.8 * len(panels), 4.2), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, epsilon in zip(axes, panels, strict=True):
        _panel(axis, plot, [one for one in results if one.get("epsilon", epsilon) == epsilon or not epsilon])
        axis.set_xlabel("epsilon" if plot.against == "epsilon" else "training rows n")
        if epsilon is not None and len(panels) > 1:
            axis.set_title(f"epsilon = {epsilon:g}", fontsize=10)
        if log:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0.0)
    axes[0].set_ylabel(METRICS[plot.metric])
    legend_below(figure, columns=2 * len(panels))
    scale = ", logarithmic scale" if log else ""
    return picture(figure, f"Figure {plot.number}: {plot.caption}{scale}.")


def _panel(axis: Axes, plot: Plot, results: Sequence[Result]) -> None:
    places = levels(results, plot.against)
    for kind, (colour, marker) in STYLES.items():
        for penalty in PENALTIES:
            means = [
                (place, mean(results, plot.metric, kind=kind, penalty=penalty, **{plot.against: place}))
                for place in places
            ]
            points = [(place, one.value, one.error) for place, one in means if one is not None]
            style = Style(colour, "-" if penalty == PENALTIES[0] else "--", marker)
            name = label(kind, penalty)
            if not points:
                continue
            if kind == EXACT and plot.against == "epsilon":
                axis.axhline(points[0][1], color=colour, linestyle=style.line, linewidth=1.0, label=name)
            else:
                error_bars(axis, style, name, points, capsize=2.0)
    if plot.against == "epsilon":
        axis.set_xlim(left=0.0)
    else:
        axis.set_xticks(places, [f"{int(place):,}" for place in places], fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
