"""Tables of means: a line per strength and epsilon, a column per method."""

from __future__ import annotations

from collections.abc import Sequence

from studies.page import Table
from studies.radmm.grid import FAMILIES, METHODS, STRENGTHS
from studies.radmm.summary import Cell, Fits
from studies.radmm.tables import TITLES

EVERY: tuple[float | None, ...] = (None, *STRENGTHS)


def table(
    fits: Fits,
    where: tuple[str, str],
    methods: Sequence[str],
    measure: str,
    caption: str,
    strengths: Sequence[float | None] = EVERY,
) -> Table | None:
    """Means and standard errors on a table with a loss; None where nothing was run."""
    name, family = where
    lines = []
    for strength in strengths:
        for epsilon in fits.epsilons():
            cell = Cell(name, family, strength, epsilon)
            means = [fits.mean(method, cell, measure) for method in methods]
            if any(mean is not None for mean in means):
                texts = ["-" if mean is None else spread(mean.value, mean.error) for mean in means]
                lines.append((called(strength), f"{epsilon:g}", *texts))
    if not lines:
        return None
    columns = ("strength", "epsilon", *(METHODS[method].label for method in methods))
    return Table(caption, columns, lines)


def called(strength: float | None) -> str:
    """A strength, or that it is each method's own."""
    return "default" if strength is None else f"{strength:g}"


def without_privacy(fits: Fits, name: str, family: str) -> str:
    """What fits without privacy reach on a table, as the end of a caption."""
    cell = Cell(name, family, None, None)
    ceiling, majority = fits.ceiling(cell, "accuracy"), fits.ceiling(cell, "majority")
    if ceiling is None or majority is None:
        return ""
    text = f" Without privacy, strength {STRENGTHS[0]:g}: {share(ceiling.value)}"
    text += f"; majority class: {share(majority.value)}"
    truth = fits.ceiling(cell, "truth") if name == "simulated" else None
    return f"{text}." if truth is None else f"{text}; true coefficients: {share(truth.value)}."


def titled(name: str, family: str) -> str:
    """A table and a loss."""
    return f"{TITLES[name]}, {FAMILIES[family]}"


def spread(value: float, error: float) -> str:
    """A share and its standard error, without leading zeros: .845 (.002)."""
    text = share(value)
    return text if error != error else f"{text} ({share(error)})"


def share(value: float) -> str:
    """Three decimals, without a leading zero."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
