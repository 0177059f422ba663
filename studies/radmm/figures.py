"""The paper's four figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studies.figure import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style, error_bars, legend_below, picture
from studies.page import Picture
from studies.radmm.fits import TOPS
from studies.radmm.grid import METHODS, STRENGTHS
from studies.radmm.summary import Cell, Fits
from studies.radmm.tables import REAL, TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Variants of a method share a colour.
STYLES = {
    "ssadmm": Style(BLUE, "-", "o"),
    "long": Style(BLUE, "--", "D"),
    "samples": Style(BLUE, ":", "s"),
    "mpadmm": Style(RED, "-", "o"),
    "samples-printed": Style(BLUE, ":", "x"),
    "printed-1-20": Style(RED, "--", "v"),
    "printed-5-20": Style(RED, ":", "^"),
    "printed-1-200": Style(RED, "--", "<"),
    "printed-5-200": Style(RED, ":", ">"),
    "dpsgd": Style(GREEN, "-", "o"),
    "dp-admm": Style(PINK, "-", "o"),
    "dpsc": Style(ORANGE, "-", "o"),
    "auto": Style(BLACK, "-", "o"),
    "select": Style(BLACK, "--", "D"),
    "ssadmm-select": Style(BLUE, "-.", "P"),
    "mpadmm-select": Style(RED, "-.", "P"),
    "dpsgd-select": Style(GREEN, "-.", "P"),
}
MEASURES = {"accuracy": "accuracy", "objective": "objective"}


def real_tables(fits: Fits, family: str, number: int, title: str) -> list[Picture]:
    """Figure 1 or 2: accuracy and objective at both strengths, and accuracy at default strengths."""
    tables = [name for name in REAL if name in fits.tables()]
    if not tables:
        return []
    columns = [(name, strength) for name in tables for strength in STRENGTHS]
    drawing, axes = _grid(2, len(columns))
    for row, measure in enumerate(MEASURES):
        for place, (name, strength) in enumerate(columns):
            ax = axes[row][place]
            _lines(ax, fits, Cell(name, family, strength, None), measure)
            if row == 0:
                ax.set_title(f"{TITLES[name]}, strength {strength:g}", fontsize=9)
            else:
                _logarithmic(ax)
            if place == 0:
                ax.set_ylabel(MEASURES[measure])
    legend_below(drawing, columns=4)
    given = picture(
        drawing,
        f"Figure {number}, {title}: accuracy and objective on test rows against epsilon at the paper's two "
        "strengths. Grey dashes: accuracy of the fit without privacy. Objectives are on a logarithmic axis, "
        "in units of the clipped coding: they compare methods of one coding (the last table has each "
        "method's).",
    )
    drawing, axes = _grid(1, len(tables))
    for place, name in enumerate(tables):
        ax = axes[0][place]
        _lines(ax, fits, Cell(name, family, None, None), "accuracy")
        ax.set_title(f"{TITLES[name]}, default strengths", fontsize=9)
    axes[0][0].set_ylabel("accuracy")
    legend_below(drawing, columns=4)
    own = picture(
        drawing,
        f"Figure {number} with every method's own default strength, {title}: accuracy against epsilon. Grey "
        f"dashes: no privacy, strength {STRENGTHS[0]:g}; grey dots: the majority class.",
    )
    return [given, own]


def simulated(fits: Fits) -> list[Picture]:
    """Figures 3 and 4: accuracy, and shares of relevant columns among the k largest."""
    if "simulated" not in fits.tables():
        return []
    strengths: Sequence[float | None] = (None, *STRENGTHS)
    drawing, axes = _grid(1, len(strengths))
    for place, strength in enumerate(strengths):
        _lines(axes[0][place], fits, Cell("simulated", "binomial", strength, None), "accuracy")
        axes[0][place].set_title(_strength(strength), fontsize=9)
    axes[0][0].set_ylabel("accuracy")
    legend_below(drawing, columns=4)
    third = picture(
        drawing,
        "Figure 3, simulation: accuracy on test rows against epsilon, at default strengths and at the two of "
        "the paper. Grey dashes: the fit without privacy.",
    )
    drawing, axes = _grid(len(strengths), len(TOPS))
    for row, strength in enumerate(strengths):
        for place, k in enumerate(TOPS):
            ax = axes[row][place]
            _lines(ax, fits, Cell("simulated", "binomial", strength, None), f"xi{k}")
            if row == 0:
                ax.set_title(f"k = {k}", fontsize=9)
            if place == 0:
                ax.set_ylabel(f"xi_k, {_strength(strength)}", fontsize=8)
    legend_below(drawing, columns=4)
    fourth = picture(
        drawing,
        "Figure 4, simulation: xi_k against epsilon, the share of the 20 relevant columns among the k "
        "largest coefficients that are not zero. Grey dashes: the fit without privacy.",
    )
    return [third, fourth]


def _strength(strength: float | None) -> str:
    return "default strengths" if strength is None else f"strength {strength:g}"


def _grid(rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(max(2.6 * columns, 6.0), 2.4 * rows + 0.7), layout="constrained")
    axes = drawing.subplots(rows, columns, squeeze=False)
    return drawing, [list(row) for row in axes]


def _lines(ax: Axes, fits: Fits, where: Cell, measure: str) -> None:
    """One line per method, with bars of one standard error."""
    cells = fits.cells(tables=[where.table], strengths=[where.strength])
    epsilons = sorted({cell.epsilon for cell in cells if cell.epsilon is not None})
    for method, style in STYLES.items():
        if measure == "objective" and method == "auto":  # its strength has other units
            continue
        cells = [Cell(where.table, where.family, where.strength, epsilon) for epsilon in epsilons]
        means = [(cell.epsilon, fits.mean(method, cell, measure)) for cell in cells]
        points = [(epsilon, mean.value, mean.error) for epsilon, mean in means if mean is not None]
        if points:
            error_bars(ax, style, METHODS[method].label, points)
    ceiling = fits.ceiling(where, measure)
    if ceiling is not None and measure != "objective":
        ax.axhline(ceiling.value, color="grey", linestyle="--", linewidth=0.9)
    majority = fits.ceiling(where, "majority")
    if measure == "accuracy" and majority is not None and where.table in REAL:
        ax.axhline(majority.value, color="grey", linestyle=":", linewidth=0.9)
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons], fontsize=7)
    ax.set_xticks([], minor=True)
    ax.tick_params(axis="y", labelsize=7)
    ax.set_xlabel("epsilon", fontsize=8)
    ax.grid(alpha=0.25)


def _logarithmic(ax: Axes) -> None:
    from matplotlib.ticker import StrMethodFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(StrMethodFormatter("{x:.2g}"))
    ax.tick_params(axis="y", which="both", labelsize=6)
