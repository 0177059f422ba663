"""Curves of cost: seconds against rows, columns, levels, threads and epsilon."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figure import BLACK, BLUE, GREEN, RED, Style, error_bars, legend_below, picture
from studies.jobs import Result
from studies.page import Picture
from studies.speed.summary import Point, points

STYLES = {
    "default": Style(BLACK, "-", "o"),
    "l2": Style(BLUE, "-", "s"),
    "l1": Style(GREEN, "-", "^"),
    "diffprivlib": Style(RED, "--", "x"),
}
AXES = {
    "rows": "rows n",
    "columns": "columns p",
    "levels": "levels of a factor",
    "threads": "threads that sum rows (DPGLM_THREADS)",
    "epsilon": "epsilon",
}
WALL = "wall seconds"


def pictures(results: Sequence[Result]) -> list[Picture]:
    """A figure for each axis that something was measured on."""
    return [draw(axis, found) for axis in AXES if (found := points(results, axis))]


def draw(axis: str, found: Sequence[Point]) -> Picture:
    """CPU seconds against an axis; against threads wall seconds as well."""
    kinds = ("CPU seconds", WALL) if axis == "threads" else ("CPU seconds",)
    figure = Figure(figsize=(0.8 + 4.2 * len(kinds), 3.6), layout="constrained")
    for ax, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        _panel(ax, axis, kind, found)
    legend_below(figure, columns=4)
    return picture(figure, f"{' and '.join(kinds)} of one fit against {AXES[axis]}.")


def _panel(ax: Axes, axis: str, kind: str, found: Sequence[Point]) -> None:
    for name, style in STYLES.items():
        curve = [
            (point.size, point.wall if kind == WALL else point.cpu, float("nan"))
            for point in found
            if point.curve == name
        ]
        if curve:
            error_bars(ax, style, name, curve)
    ax.set_xscale("log", base=2 if axis == "threads" else 10)
    ax.set_yscale("log")
    ax.set_xlabel(AXES[axis])
    ax.set_ylabel(kind)
    ax.grid(alpha=0.25, which="both", linewidth=0.5)
