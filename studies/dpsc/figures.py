"""The paper's ten figures, with more curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.dpsc.fits import EXACT, GAUSSIAN, LOOK, PENALTIES, PRINTED, PURE, label
from studies.dpsc.summary import levels, mean
from studies.jobs import Result
from studies.page import Picture, picture

# Okabe and Ito's colours, told apart without colour vision by marker as well.
STYLES = {
    EXACT: ("#000000", ""),
    PRINTED: ("#D55E00", "x"),
    PURE: ("#E69F00", "s"),
    GAUSSIAN: ("#0072B2", "o"),
    LOOK: ("#009E73", "^"),
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


def draw(plan: Plot, results: Sequence[Result]) -> Picture:
    """One figure: a panel an epsilon where it is against rows, and one otherwise."""
    panels = levels(results, "epsilon") if plan.against == "rows" else [None]
    log = plan.experiment.startswith("kdd")
    figure = Figure(figsize=(3.6 + 3.4 * len(panels), 3.6))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, epsilon in zip(axes, panels, strict=True):
        _panel(axis, plan, [one for one in results if one.get("epsilon", epsilon) == epsilon or not epsilon])
        axis.set_xlabel("epsilon" if plan.against == "epsilon" else "training rows n")
        if epsilon is not None and len(panels) > 1:
            axis.set_title(f"epsilon = {epsilon:g}", fontsize=10)
        if log:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0.0)
    axes[0].set_ylabel(METRICS[plan.metric])
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="center left", bbox_to_anchor=(0.92, 0.5), frameon=False, fontsize=8)
    scale = ", logarithmic scale" if log else ""
    return picture(figure, f"Figure {plan.number}: {plan.caption}{scale}.")


def _panel(axis: Axes, plan: Plot, results: Sequence[Result]) -> None:
    places = levels(results, plan.against)
    for kind, (colour, marker) in STYLES.items():
        for penalty in PENALTIES:
            found = [
                mean(results, plan.metric, kind=kind, penalty=penalty, **{plan.against: place})
                for place in places
            ]
            heights = [float("nan") if one is None else one.value for one in found]
            errors = [0.0 if one is None or one.error != one.error else one.error for one in found]
            line = "-" if penalty == PENALTIES[0] else "--"
            name = label(kind, penalty)
            if kind == EXACT and plan.against == "epsilon":
                axis.axhline(heights[0], color=colour, linestyle=line, linewidth=1.0, label=name)
                continue
            axis.errorbar(
                places,
                heights,
                yerr=errors,
                color=colour,
                marker=marker,
                linestyle=line,
                linewidth=1.2,
                markersize=4,
                capsize=2,
                label=name,
            )
    if plan.against == "epsilon":
        axis.set_xlim(left=0.0)
    else:
        axis.set_xticks(places, [f"{int(place):,}" for place in places], fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", linewidth=0.4, alpha=0.5)
