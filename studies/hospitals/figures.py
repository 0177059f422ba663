"""Mean areas of a network at a glance."""

from __future__ import annotations

from studies.figure import BLUE, RED, Style, error_bars, picture
from studies.hospitals.grid import ALLOWED, LAWS, METHODS
from studies.hospitals.summary import Areas
from studies.hospitals.tables import SOURCES
from studies.page import Picture

STYLES = {"pure": Style(RED, "", "o"), "Gaussian": Style(BLUE, "", "s")}


def draw(areas: Areas, table: str) -> Picture:
    """Mean over branches by method, with 95 % intervals over repeats."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    ax = figure.subplots()
    names = list(reversed(METHODS))
    for shift, law in zip((0.15, -0.15), LAWS, strict=True):
        means = [(place + shift, areas.mean(table, law, name)) for place, name in enumerate(names)]
        points = [(place, mean.value, mean.half_width) for place, mean in means if mean is not None]
        error_bars(ax, STYLES[law], law, points, across=True, capsize=2.0)
    ax.set_yticks(range(len(names)), [METHODS[name] for name in names], fontsize=8)
    ax.axhline(len(METHODS) - len(ALLOWED) - 0.5, color="grey", linewidth=0.7)
    ax.axvline(0.5, color="grey", linestyle=":", linewidth=0.7)
    ax.set_xlabel("area under the ROC curve, mean of branches", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(axis="x", alpha=0.25)
    ax.legend(fontsize=8, frameon=False)
    return picture(
        figure,
        f"{SOURCES[table].title}: mean area over branches and its 95 % interval over repeats. Below the "
        "line: what no branch may do.",
    )
