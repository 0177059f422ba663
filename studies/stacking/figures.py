"""The paper's four figures: a panel a table and a kind of budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from studies.page import Picture, picture
from studies.paired import Mean
from studies.stacking.claims import mean_alone
from studies.stacking.grid import DELTA, EPSILON, LAWS, METHODS, NOISELESS, Grid, K, cell
from studies.stacking.summary import Areas
from studies.stacking.tables import DESIGNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart without colour vision by line and marker as well.
STYLES = {
    "plr": ("#000000", "-", "o"),
    "plr-units": ("#000000", ":", "s"),
    "pst-s": ("#E69F00", "-", "v"),
    "pst-f-u": ("#0072B2", "-", "^"),
    "pst-f-w": ("#D55E00", "-", "D"),
    "auto": ("#009E73", "--", "o"),
}
BARS = "Bars are 95 % intervals of the mean over repeats. Grey dashes: no privacy."


def draw(areas: Areas, plan: Grid) -> dict[int, Picture]:
    """Figures 1 to 4 by number."""
    epsilons = [one for one in plan.epsilons if one != NOISELESS]
    first = _sweep(
        areas,
        epsilons,
        lambda method, law, x: cell(method, law, x),
        ("plr", "plr-units", "pst-s", "pst-f-u", "pst-f-w", "auto"),
        "epsilon",
        f"Figure 1: area under the ROC curve on test rows against epsilon, K = {K}; Gaussian: delta "
        f"{DELTA:g}. " + BARS,
    )
    second = _sweep(
        areas,
        list(plan.models),
        lambda method, law, x: cell(method, law, EPSILON, models=int(x)),
        ("pst-s", "pst-f-u", "pst-f-w"),
        "models K",
        f"Figure 2: area against the number of models, epsilon {EPSILON:g}. {BARS}",
    )
    third = _sweep(
        areas,
        list(plan.exponents),
        lambda method, law, x: (
            cell(method, law, EPSILON, exponent=x) if method == "pst-f-w" else cell(method, law, EPSILON)
        ),
        ("pst-f-u", "pst-f-w"),
        "exponent of the weights",
        f"Figure 3: area of PST-F(W) against the exponent of its weights, epsilon {EPSILON:g}: 1 is the "
        f"paper's choice, 0 equal weights of sorted groups, below 0 the wrong way round. {BARS}",
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
        for method in methods:
            found = [(x, areas.mean(table, which(method, law, x))) for x in places]
            _line(ax, method, [(x, one) for x, one in found if one is not None])
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
    handles, labels = next(iter(axes.values())).get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    return picture(figure, caption)


def _combining(areas: Areas) -> Picture:
    figure, axes = _panels(areas)
    for (table, law), ax in axes.items():
        found = mean_alone(areas, table, law)
        colours = ["#0072B2"] * (len(found) - 3) + ["#E69F00", "#E69F00", "#D55E00"]
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
    figure = Figure(figsize=(3.1 * len(tables) + 1.0, 2.6 * len(LAWS) + 0.6), layout="constrained")
    grid = figure.subplots(len(LAWS), len(tables), squeeze=False)
    axes = {}
    for line, law in zip(grid, LAWS, strict=True):
        for ax, table in zip(line, tables, strict=True):
            ax.set_title(f"{DESIGNS[table].title}, {law}", fontsize=8)
            ax.tick_params(labelsize=7)
            ax.axhline(0.5, color="grey", linestyle=":", linewidth=0.7)
            ax.grid(alpha=0.25)
            axes[table, law] = ax
    for line in grid:
        line[0].set_ylabel("area", fontsize=8)
    return figure, axes


def _line(ax: Axes, method: str, found: Sequence[tuple[float, Mean]]) -> None:
    if not found:
        return
    colour, line, marker = STYLES[method]
    ax.errorbar(
        [x for x, _ in found],
        [one.value for _, one in found],
        yerr=[0.0 if one.half_width != one.half_width else one.half_width for _, one in found],
        color=colour,
        linestyle=line,
        marker=marker,
        markersize=3.5,
        linewidth=1.2,
        capsize=2,
        label=METHODS[method].label,
    )
