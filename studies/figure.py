"""Figures of the studies: error bars in colours that everybody can tell apart, written as SVG."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from studies.page import Picture

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Style(NamedTuple):
    """How a curve is drawn. Colours are Okabe and Ito's; lines and markers differ as well."""

    colour: str
    line: str
    marker: str


# Pixels of a point, and how much smaller and larger than it was drawn a figure is shown.
PIXELS, LEAST, MOST = 4 / 3, 0.8, 1.7
BLACK, BLUE, RED, GREEN, ORANGE, PINK = "#000000", "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"


def error_bars(
    ax: Axes,
    style: Style,
    label: str,
    points: Sequence[tuple[float, float, float]],
    *,
    across: bool = False,
    capsize: float = 0.0,
) -> None:
    """Draw (place, value, half length of the bar) as one curve; a bar of NaN is not drawn.

    Parameters
    ----------
    across : bool
        Whether values lie on the horizontal axis.
    """
    places = [place for place, _, _ in points]
    values = [value for _, value, _ in points]
    known = any(not math.isnan(bar) for _, _, bar in points)
    bars = [0.0 if math.isnan(bar) else bar for _, _, bar in points] if known else None
    ax.errorbar(
        values if across else places,
        places if across else values,
        xerr=bars if across else None,
        yerr=None if across else bars,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markersize=3.5,
        linewidth=1.2,
        capsize=capsize,
        label=label,
    )


def legend_below(figure: Figure, *, columns: int) -> None:
    """One legend below all panels, from the left, each label once."""
    handles: dict[str, Artist] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower left",
        ncols=columns,
        fontsize=8,
        frameon=False,
    )


def picture(figure: Figure, caption: str) -> Picture:
    """The figure as SVG, the same bytes for the same numbers, in a width in which its labels can be read."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": caption, "svg.fonttype": "none"}):
        buffer = io.StringIO()
        nobody: dict[str, str | None] = {"Date": None, "Creator": None}
        figure.savefig(buffer, format="svg", metadata=nobody, bbox_inches="tight", transparent=True)
    svg = re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), flags=re.DOTALL)
    found = re.search(r'width="([\d.]+)pt"', svg)
    assert found is not None, "matplotlib gives a width in points"
    pixels = float(found[1]) * PIXELS
    widths = f"min-width: {LEAST * pixels:.0f}px; max-width: {MOST * pixels:.0f}px"
    return Picture(svg.replace("<svg", f'<svg style="{widths}"', 1), caption)
