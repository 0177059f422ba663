"""The paper's four figures, two panels side by side; variants of the two ADMMs have figures of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studies.figure import BLACK, BLUE, GREEN, ORANGE, PINK, RED, Style, error_bars, legend_below, picture
from studies.page import Picture
from studies.radmm.fits import TOPS
from studies.radmm.grid import ITERATIVE, METHODS, SELECT, SELECTING, STRENGTHS
from studies.radmm.means import called
from studies.radmm.summary import Cell, Fits
from studies.radmm.tables import REAL, TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAIN = (*ITERATIVE, "auto")
TO_SELECT = ("select", *(name + SELECT for name in SELECTING))
TUNED = "mpadmm-eta1"
OF_MPADMM = ("mpadmm", TUNED, *(name for name in METHODS if name.startswith("printed-")))
OF_SSADMM = ("ssadmm", "long", "samples", "samples-printed")
STYLES = {
    "ssadmm": Style(BLUE, "-", "o"),
    "long": Style(GREEN, "--", "D"),
    "samples": Style(ORANGE, "-.", "s"),
    "samples-printed": Style(BLACK, ":", "x"),
    "mpadmm": Style(RED, "-", "o"),
    TUNED: Style(RED, "--", "D"),
    "printed-1-20": Style(BLACK, "--", "v"),
    "printed-1-200": Style(BLACK, "-", "s"),
    "printed-5-20": Style(PINK, "--", "^"),
    "printed-5-200": Style(PINK, "-", "x"),
    "dpsgd": Style(GREEN, "-", "o"),
    "dp-admm": Style(PINK, "-", "o"),
    "dpsc": Style(ORANGE, "-", "o"),
    "auto": Style(BLACK, "-", "o"),
    "select": Style(BLACK, "--", "D"),
    "ssadmm-select": Style(BLUE, "-.", "P"),
    "mpadmm-select": Style(RED, "-.", "P"),
    "dpsgd-select": Style(GREEN, "-.", "P"),
}
# Inches, two panels to a row: on a telephone one panel fills the screen.
WIDE, HIGH, LEGEND_LINE = 8.0, 2.5, 0.2
MAJORITY = "Grey dashes: the fit without privacy; grey dots: the majority class, where it is in range."
PRINTED = (
    "What is printed has no guarantee: with eta 1 the printed noise suffices, with eta 5 it does not: NOT "
    "PRIVATE."
)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a measure against epsilon, a curve for each of these methods."""

    title: str
    where: Cell
    measure: str
    methods: Sequence[str]


def real_tables(fits: Fits, family: str, number: int, title: str) -> list[Picture]:
    """Figure 1 or 2: both measures at both strengths; accuracy at default strengths; variants."""
    tables = [name for name in REAL if name in fits.tables()]
    cells = [Cell(name, family, strength, None) for name in tables for strength in STRENGTHS]
    given = [
        Panel(f"{_where(cell)}: {measure}", cell, measure, MAIN)
        for cell in cells
        for measure in ("accuracy", "objective")
    ]
    own = [
        Panel(f"{TITLES[name]}, default strengths", Cell(name, family, None, None), "accuracy", MAIN)
        for name in tables
    ]
    variants = [Panel(f"mpADMM, {_where(cell)}", cell, "accuracy", OF_MPADMM) for cell in cells]
    variants += _of_ssadmm(fits, cells)
    return _pictures(
        fits,
        (
            given,
            2,
            f"Figure {number}, {title}: accuracy (left) and objective (right) on test rows against epsilon "
            f"at the paper's two strengths. {MAJORITY} Objectives are on a logarithmic axis, in units of the "
            "clipped coding: they compare methods of one coding (the last table has each method's).",
        ),
        (
            own,
            2,
            f"Figure {number} with every method's own default strength, {title}: accuracy against epsilon. "
            f"{MAJORITY} Its strength is {STRENGTHS[0]:g}.",
        ),
        (variants, 1, f"Figure {number}, variants, {title}: accuracy against epsilon. {PRINTED} {MAJORITY}"),
    )


def simulated(fits: Fits) -> list[Picture]:
    """Figures 3 and 4: accuracy, and shares of relevant columns among the k largest."""
    if "simulated" not in fits.tables():
        return []
    own, *cells = (Cell("simulated", "binomial", strength, None) for strength in (None, *STRENGTHS))
    third = [Panel(f"strength {cell.strength:g}", cell, "accuracy", MAIN) for cell in cells]
    third += [
        Panel("default strengths", own, "accuracy", MAIN),
        Panel("default strengths, to select", own, "accuracy", TO_SELECT),
    ]
    other = [Panel(f"mpADMM, strength {cell.strength:g}", cell, "accuracy", OF_MPADMM) for cell in cells]
    other += _of_ssadmm(fits, cells)
    tops = [
        Panel(f"k = {k}, strength {cell.strength:g}", cell, f"xi{k}", (*MAIN, TUNED))
        for k in TOPS
        for cell in cells
    ]
    chosen = [
        Panel(f"k = {k}, default strengths{text}", own, f"xi{k}", methods)
        for k in TOPS
        for text, methods in (("", (*MAIN, TUNED)), (", to select", TO_SELECT))
    ]
    printed = [
        Panel(f"k = {k}, mpADMM, strength {cell.strength:g}", cell, f"xi{k}", OF_MPADMM)
        for k in TOPS
        for cell in cells
    ]
    dashes = "Grey dashes: the fit without privacy."
    shares = "the share of the 20 relevant columns among the k largest coefficients that are not zero"
    return _pictures(
        fits,
        (third, 2, f"Figure 3, simulation: accuracy on test rows against epsilon. {dashes}"),
        (other, 1, f"Figure 3, variants, simulation: accuracy against epsilon. {PRINTED} {dashes}"),
        (
            tops,
            2,
            f"Figure 4, simulation, the paper's two strengths: xi_k against epsilon, {shares}. {dashes}",
        ),
        (chosen, 2, f"Figure 4 with every method's own default strength: xi_k, {shares}. {dashes}"),
        (printed, 1, f"Figure 4, variants, simulation: xi_k against epsilon. {PRINTED} {dashes}"),
    )


def _where(cell: Cell) -> str:
    return f"{TITLES[cell.table]}, strength {called(cell.strength)}"


def _of_ssadmm(fits: Fits, cells: Sequence[Cell]) -> list[Panel]:
    """Where there are samples and long runs."""
    run = [
        cell
        for cell in cells
        if any(fits.repetitions(name, cell.table, cell.strength) for name in OF_SSADMM[1:])
        and cell.family == "binomial"
    ]
    return [Panel(f"ssADMM, {_where(cell)}", cell, "accuracy", OF_SSADMM) for cell in run]


def _pictures(fits: Fits, *drawn: tuple[Sequence[Panel], int, str]) -> list[Picture]:
    """One picture for each list of panels that is not empty: panels, columns of the legend, caption."""
    return [_picture(fits, panels, columns, caption) for panels, columns, caption in drawn if panels]


def _picture(fits: Fits, panels: Sequence[Panel], columns: int, caption: str) -> Picture:
    from matplotlib.figure import Figure

    rows = -(-len(panels) // 2)
    methods = {name for panel in panels for name in panel.methods}
    legend = LEGEND_LINE * -(-len(methods) // columns)
    drawing = Figure(figsize=(WIDE, HIGH * rows + legend), layout="constrained")
    axes = drawing.subplots(rows, 2, squeeze=False).ravel()
    for ax, panel in zip(axes, panels, strict=False):
        _draw(ax, fits, panel)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    legend_below(drawing, columns=columns)
    return picture(drawing, caption)


def _draw(ax: Axes, fits: Fits, panel: Panel) -> None:
    """One curve per method, with bars of one standard error."""
    where, measure = panel.where, panel.measure
    cells = fits.cells(tables=[where.table], strengths=[where.strength])
    epsilons = sorted({cell.epsilon for cell in cells if cell.epsilon is not None})
    for method in panel.methods:
        if measure == "objective" and method == "auto":  # its strength has other units
            continue
        run = [Cell(where.table, where.family, where.strength, epsilon) for epsilon in epsilons]
        means = [(cell.epsilon, fits.mean(method, cell, measure)) for cell in run]
        points = [(epsilon, mean.value, mean.error) for epsilon, mean in means if mean is not None]
        if points:
            error_bars(ax, STYLES[method], METHODS[method].label, points)
    ax.set_title(panel.title, fontsize=9)
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    ax.set_xticks([], minor=True)
    ax.tick_params(labelsize=8)
    ax.set_xlabel("epsilon", fontsize=8)
    ax.set_ylabel(measure.replace("xi", "xi_"), fontsize=8)
    ax.grid(alpha=0.25)
    if measure == "objective":
        _logarithmic(ax)
        return
    if (ceiling := fits.ceiling(where, measure)) is not None:
        ax.axhline(ceiling.value, color="grey", linestyle="--", linewidth=0.9)
    majority = fits.ceiling(where, "majority")
    low, high = ax.get_ylim()
    if measure == "accuracy" and majority is not None and low <= majority.value <= high:
        ax.axhline(majority.value, color="grey", linestyle=":", linewidth=0.9)


def _logarithmic(ax: Axes) -> None:
    from matplotlib.ticker import StrMethodFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(StrMethodFormatter("{x:.2g}"))
    ax.tick_params(axis="y", which="both", labelsize=8)
