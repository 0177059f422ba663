"""The paper's four figures: one panel per table and kind of budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from studies.figure import BLACK, BLUE, GREEN, ORANGE, RED, Style, error_bars, legend_below, picture
from studies.page import Picture
from studies.stacking.claims import mean_alone
from studies.stacking.grid import DELTA, EPSILON, LAWS, METHODS, NOISELESS, PAPER, PRINTED, Grid, K, cell
from studies.stacking.summary import Areas
from studies.stacking.tables import DESIGNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "plr": Style(BLACK, "-", "o"),
    "plr-units": Style(BLACK, ":", "s"),
    "pst-s": Style(ORANGE, "-", "v"),
    "pst-f-u": Style(BLUE, "-", "^"),
    "pst-f-w": Style(RED, "-", "D"),
    "auto": Style(GREEN, "--", "o"),
}
BARS = "Bars are 95 % intervals of the mean over repeats. Grey dashes: no privacy."


def draw(areas: Areas, grid: Grid) -> dict[int, Picture]:
    """Figures 1 to 4 by number."""
    epsilons = [one for one in grid.epsilons if one != NOISELESS]
    first = _sweep(
        areas,
        epsilons,
        lambda method, law, x: cell(method, law, x),
        ("plr", "plr-units", "pst-s", "pst-f-u", "pst-f-w", "auto"),
        "epsilon",
        f"Figure 1: area under the ROC curve on test rows against epsilon, K = {K}; top: as printed; "
        f"Gaussian: delta {DELTA:g}. " + BARS,
    )
    second = _sweep(
        areas,
        list(grid.models),
        lambda method, law, x: cell(method, law, EPSILON, models=int(x)),
        ("pst-s", "pst-f-u", "pst-f-w"),
        "models K",
        f"Figure 2: area against the number of models, epsilon {EPSILON:g}. {BARS}",
    )
    third = _sweep(
        areas,
        list(grid.alphas),
        lambda method, law, x: (
            cell(method, law, EPSILON, weights=x) if method == "pst-f-w" else cell(method, law, EPSILON)
        ),
        ("pst-f-u", "pst-f-w"),
        "alpha",
        f"Figure 3: area of PST-F(W) against alpha, epsilon {EPSILON:g}. The i-th most important column has "
        "the weight alpha^i: 1 weighs sorted groups alike, above 1 the least important columns count most. "
        f"{BARS}",
        log=False,
    )
    return {1: first, 2: second, 3: third, 4: _combining(areas)}


def _sweep(
    areas: Areas,
    places: Sequence[float],
    which: Callable[[str, str, float], dict[str, Any]],
    methods: Sequence[str],
    label: str,
    caption: str,
    *,
    log: bool = True,
) -> Picture:
    figure, axes = _panels(areas)
    for (table, law), ax in axes.items():
        for method in methods if law != PRINTED else [one for one in methods if one in PAPER]:
            means = [(x, areas.mean(table, which(method, law, x))) for x in places]
            points = [(x, mean.value, mean.half_width) for x, mean in means if mean is not None]
            if points:
                error_bars(ax, STYLES[method], METHODS[method].label, points, capsize=2.0)
        ceiling = areas.mean(table, cell("nonprivate"))
        if ceiling is not None:
            ax.axhline(ceiling.value, color="grey", linestyle="--", linewidth=0.9)
        if log:
            ax.set_xscale("log")
        ax.set_xticks(list(places), [f"{x:g}" for x in places])
        ax.set_xticks([], minor=True)
        ax.set_xlabel(label, fontsize=8)
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, 0.0), min(high, 1.02))  # intervals may be wider than what an area can be
    legend_below(figure, columns=3)
    return picture(figure, caption)


def _combining(areas: Areas) -> Picture:
    figure, axes = _panels(areas)
    for (table, law), ax in axes.items():
        found = mean_alone(areas, table, law)
        colours = [BLUE] * (len(found) - 3) + [ORANGE, ORANGE, RED]
        ax.bar(range(len(found)), [value for _, value in found], color=colours)
        ax.set_xticks(range(len(found)), [name for name, _ in found], rotation=90)
        ax.set_ylim(0.4, 1.0)
    return picture(
        figure,
        "Figure 4: areas of the models of PST-F(W) alone (C-0 has the columns of largest weight), of "
        "majority and weighted votes of these models (C-mv, C-wmv) and of the high-level model (C-hl), "
        f"epsilon {EPSILON:g}. Axes begin at .4; .5 is chance.",
    )


def _panels(areas: Areas) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    from matplotlib.figure import Figure

    tables = areas.tables()
    laws = (PRINTED, *LAWS)
    figure = Figure(figsize=(3.1 * len(tables) + 1.0, 2.5 * len(laws) + 0.6), layout="constrained")
    grid = figure.subplots(len(laws), len(tables), squeeze=False)
    axes = {}
    for line, law in zip(grid, laws, strict=True):
        for ax, table in zip(line, tables, strict=True):
            note = " (NOT PRIVATE)" if law == PRINTED else ""
            ax.set_title(f"{DESIGNS[table].title}, {law}{note}", fontsize=8)
            ax.tick_params(labelsize=7)
            ax.axhline(0.5, color="grey", linestyle=":", linewidth=0.7)
            ax.grid(alpha=0.25)
            axes[table, law] = ax
    for line in grid:
        line[0].set_ylabel("area", fontsize=8)
    return figure, axes
