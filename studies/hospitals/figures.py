"""Mean areas of a network at a glance."""

from __future__ import annotations

from studies.hospitals.grid import ALLOWED, LAWS, METHODS
from studies.hospitals.summary import Areas
from studies.hospitals.tables import SOURCES
from studies.page import Picture, picture

COLOURS = {"pure": "#D55E00", "Gaussian": "#0072B2"}


def draw(areas: Areas, table: str) -> Picture:
    """Mean over branches by method, with 95 % intervals over repeats."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    ax = figure.subplots()
    names = list(reversed(METHODS))
    for shift, law in zip((0.15, -0.15), LAWS, strict=True):
        found = [(place, areas.mean(table, law, name)) for place, name in enumerate(names)]
        known = [(place, one) for place, one in found if one is not None]
        ax.errorbar(
            [one.value for _, one in known],
            [place + shift for place, _ in known],
            xerr=[0.0 if one.half_width != one.half_width else one.half_width for _, one in known],
            fmt="o" if law == "pure" else "s",
            color=COLOURS[law],
            markersize=4,
            capsize=2,
            label=law,
        )
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
