"""The figure model: axes, marks, words and the table twin of a figure, before anything is drawn.

A figure is made once, by a function in `coefficient_figures` or `guarantee_figures`. `svg` draws it for the
page, `plots` with matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

from dpglm.tables.table import one_line


@dataclass(frozen=True)
class Rows:
    """A table of formatted cells: a caption, column headings, rows. A row's first cell is its heading.

    ``numeric`` names the right-aligned columns.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Axis:
    """A scale with its label.

    Parameters
    ----------
    label : str
    low, high : float
        Values at the two ends, low < high; both > 0 where ``log``.
    log : bool
        Whether equal factors take equal room.
    marks : tuple of (value, text)
        What is written at the axis; by default round values.
    reverse : bool
        Whether values fall from left to right.
    """

    label: str
    low: float
    high: float
    log: bool = False
    marks: tuple[tuple[float, str], ...] = ()
    reverse: bool = False

    def share(self, value: float) -> float:
        """Where ``value`` is between the ends, from 0 to 1; beyond an end it is put at that end.

        Examples
        --------
        >>> Axis("", 0.0, 2.0).share(0.5), Axis("", 1e-6, 1.0, log=True).share(1e-3)
        (0.25, 0.5)
        """
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return 1.0 - share if self.reverse else share

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        """Round values, at most ``most + 1`` of them, ends included where they are round.

        Examples
        --------
        >>> Axis("", 0.0, 2.3).ticks()
        (0.0, 0.5, 1.0, 1.5, 2.0)
        >>> Axis("", 1e-7, 1.0, log=True).ticks(4)
        (1e-06, 0.0001, 0.01, 1.0)
        >>> Axis("", 60.0, 700.0, log=True).ticks(4)
        (100.0, 200.0, 500.0)
        """
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, math.ceil((last - first + 1) / most))
            decades = tuple(float(f"1e{power}") for power in range(last, first - 1, -step))[::-1]
            if len(decades) > 2 or most < 3:
                return decades
            finer = [float(f"{digit}e{power}") for power in range(first - 1, last + 1) for digit in (1, 2, 5)]
            inside = tuple(value for value in finer if self.low <= value <= self.high)
            return inside if 1 < len(inside) <= most + 1 else decades or (self.low, self.high)
        rough = (self.high - self.low) / most
        if rough < 1e-290:  # too near the end of the doubles for round steps
            return (self.low, self.high)
        unit = 10.0 ** math.floor(math.log10(rough))
        width = next(unit * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if unit * factor >= rough)
        first, last = math.ceil(self.low / width - 1e-9), math.floor(self.high / width + 1e-9)
        return tuple(float(f"{k * width:.10g}") for k in range(first, last + 1))

    def labelled(self, most: int = 6) -> tuple[tuple[float, str], ...]:
        """Values to mark, each with its text."""
        return self.marks or tuple((value, _tick(value, self.log)) for value in self.ticks(most))


@dataclass(frozen=True)
class Names:
    """An axis of names, one line each, from top to bottom: line k is at height k.

    ``faint`` names the lines that are written in a quieter way.
    """

    names: tuple[str, ...]
    faint: frozenset[int] = frozenset()


# Marks. ``role`` is a key of `colours.ROLES`; a ``label`` is shown in a legend.


@dataclass(frozen=True)
class Curve:
    """Straight lines through points; ``dots`` is the role of a dot at each of them, or empty."""

    x: Sequence[float]
    y: Sequence[float]
    role: str = "line"
    label: str = ""
    dots: str = ""


@dataclass(frozen=True)
class Band:
    """The area between two heights."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    role: str = "area"


@dataclass(frozen=True)
class Points:
    """Dots."""

    x: Sequence[float]
    y: Sequence[float]
    role: str = "point"
    label: str = ""
    radius: float = 4.0


@dataclass(frozen=True)
class Intervals:
    """Lines from ``low`` to ``high``: level at the heights ``at``, or ``upright`` at these places."""

    at: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    role: str = "interval"
    caps: bool = True
    upright: bool = False


@dataclass(frozen=True)
class Bars:
    """Level bars from ``start`` to ``stop``, on the lines ``at`` of `Names`."""

    at: Sequence[int]
    start: Sequence[float]
    stop: Sequence[float]
    role: str = "bar"
    label: str = ""


@dataclass(frozen=True)
class Rule:
    """A line across the whole figure: vertical at a value of x, level at one of y."""

    value: float
    across: Literal["x", "y"]
    role: str = "reference"
    label: str = ""


@dataclass(frozen=True)
class Note:
    """Words beside (x, y), moved by (right, down) pixels."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "end"] = "start"
    move: tuple[float, float] = (0.0, 0.0)
    faint: bool = False


Mark: TypeAlias = Curve | Band | Points | Intervals | Bars | Rule | Note


@dataclass(frozen=True)
class Figure:
    """A figure as data; one that the page shows has a description, a caption and a table twin.

    Parameters
    ----------
    slug : str
        Names the figure on the page.
    title, description : str
        What a screen reader says.
    x : Axis
    y : Axis or Names
    marks : tuple of Mark
        From back to front.
    caption : str
        The sentences below it.
    twin : Rows, optional
        Every number of the figure, for those who cannot see it.
    wide : bool
        Three times as wide as high, instead of nearly square; `Names` decide for themselves.
    right : (Axis, tuple of Mark), optional
        A second vertical scale with marks of its own, drawn by matplotlib only.
    """

    slug: str
    title: str
    description: str = ""
    _: KW_ONLY
    x: Axis
    y: Axis | Names
    marks: tuple[Mark, ...]
    caption: str = ""
    twin: Rows | None = None
    wide: bool = False
    right: tuple[Axis, tuple[Mark, ...]] | None = None

    @property
    def legend(self) -> tuple[Curve | Points | Bars | Rule, ...]:
        """The marks that have a label."""
        return tuple(
            mark for mark in self.marks if isinstance(mark, Curve | Points | Bars | Rule) and mark.label
        )


def shortened(words: str, most: int) -> str:
    """``words`` with its middle left out where it is longer than ``most``.

    Examples
    --------
    >>> shortened("C(occupation)[T.professional]", 16)
    'C(occupa…sional]'
    """
    words = one_line(words)
    if len(words) <= most:
        return words
    tail = (most - 1) // 2
    return f"{words[: most - 1 - tail]}…{words[-tail:]}"


def _tick(value: float, log: bool) -> str:
    """``1e-5`` on a logarithmic scale; otherwise the shortest text."""
    small = log and value < 0.01
    return f"{value:.0e}".replace("e-0", "e-") if small else f"{value:g}"
