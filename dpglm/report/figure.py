"""The figure model: colours, axes, marks, words and the table twin of a figure, before anything is drawn.

A figure is made once, by a function in `coefficient_figures`, `guarantee_figures` or `sample`. `svg` draws it
for the page, `plots` with matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeAlias

from dpglm.tables.table import one_line


@dataclass(frozen=True)
class Ink:
    """How a part of a figure is painted: colours of the palette or ``"none"``, and lengths in pixels."""

    fill: str = "none"
    stroke: str = "none"
    width: float = 1.0
    dash: tuple[float, ...] = ()


NAMES: Final = (
    *("paper", "panel", "ink", "soft", "rule", "strong"),  # grounds, text, lines
    *("accent", "wash", "clay", "alarm", "on-alarm"),  # marks, areas, second colour, warnings
)
PALETTES: Final = {
    media: dict(zip(NAMES, colours.split(), strict=True))
    for media, colours in {
        "light": "#fcfbf8 #f4f1ea #1c2024 #555a61 #d8d3c8 #83807a #1d5571 #d9e6ec #9a3d16 #a11212 #ffffff",
        "dark": "#15181c #1e2227 #e8e4db #adb0b4 #373c43 #858a91 #8ec5e0 #24404e #f0a67e #ff9a90 #15181c",
        "print": "#ffffff #ffffff #000000 #444444 #cccccc #777777 #1d5571 #e4ecf0 #8a3412 #a11212 #ffffff",
    }.items()
}

ROLES: Final[dict[str, Ink]] = {
    # axes and lines to compare with
    "grid": Ink(stroke="rule", width=0.7),
    "axis": Ink(stroke="strong"),
    "zero": Ink(stroke="strong"),
    "reference": Ink(stroke="strong", dash=(3, 3)),
    "limit": Ink(stroke="clay", width=1.2, dash=(6, 3)),
    # curves and estimates
    "line": Ink(stroke="accent", width=2),
    "second": Ink(stroke="clay", width=2),
    "faint-line": Ink(stroke="strong"),
    "area": Ink(fill="wash"),
    "interval": Ink(stroke="accent", width=1.6),
    "wide": Ink(stroke="strong", width=0.8, dash=(2, 2)),
    "error": Ink(stroke="clay"),
    "point": Ink("accent", "accent", 1.4),
    "hollow": Ink("paper", "strong", 1.4),
    "claim": Ink("clay", "paper", 1.4),
    # groups: told apart by colour, and by hollow dots
    **{
        f"group-{4 * k + j}": Ink(fill or colour, colour, 1.4)
        for k, fill in enumerate(("", "paper"))
        for j, colour in enumerate(("accent", "clay", "ink", "strong"))
    },
    # bars
    "bar": Ink("accent", "paper"),
    "refuted": Ink("alarm", "paper"),
    "part-one": Ink("accent", "paper"),
    "part-two": Ink("clay", "paper"),
    "part-three": Ink("paper", "clay"),
    "part-four": Ink("strong", "paper"),
    # icons and boxes
    "base": Ink(fill="strong"),
    "extra": Ink(fill="accent"),
    "empty": Ink(stroke="strong", width=0.8),
    # paths of coefficients: told apart by colour and dashes
    **{
        f"path-{4 * k + j}": Ink(stroke=colour, width=1.5, dash=dash)
        for k, dash in enumerate(((), (6, 2), (2, 2)))
        for j, colour in enumerate(("accent", "clay", "strong", "ink"))
    },
}
PATHS: Final = tuple(role for role in ROLES if role.startswith("path-"))
MOST_GROUPS: Final = sum(role.startswith("group-") for role in ROLES)


@dataclass(frozen=True)
class Rows:
    """A table of formatted cells: a caption, column headings, rows. A row's first cell is its heading."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()  # columns that are aligned right

    @staticmethod
    def of_columns(caption: str, columns: Mapping[str, Iterable[str]], numeric: tuple[int, ...]) -> Rows:
        """The table with these columns of equal length, by heading."""
        return Rows(caption, tuple(columns), tuple(zip(*columns.values(), strict=True)), numeric)


@dataclass(frozen=True)
class Axis:
    """A scale with its label, from ``low`` to ``high``, both above 0 where it is logarithmic."""

    label: str
    low: float
    high: float
    log: bool = False
    marks: tuple[tuple[float, str], ...] = ()  # value and text; by default round values
    reverse: bool = False  # values fall from left to right, in matplotlib only

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
        """Values to mark, each with its text: ``1e-5`` on a logarithmic scale."""
        texts = (
            (value, f"{value:.0e}".replace("e-0", "e-") if self.log and value < 0.01 else f"{value:g}")
            for value in self.ticks(most)
        )
        return self.marks or tuple(texts)


@dataclass(frozen=True)
class Names:
    """An axis of names, one line each, from top to bottom: line k is at height k."""

    names: tuple[str, ...]
    faint: frozenset[int] = frozenset()  # lines that are written in a quieter way
    spacing: float = 1.0  # of lines, larger where several groups share one


# Marks. ``role`` is a key of `ROLES`; a ``label`` is shown in a legend.


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
    label: str = ""


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


Labelled: TypeAlias = Curve | Points | Bars | Rule | Intervals
Mark: TypeAlias = Labelled | Band | Note


@dataclass(frozen=True)
class Figure:
    """A figure as data; one that the page shows has a description, a caption and a table twin.

    A screen reader says ``title`` and ``description``; ``twin`` has every number for those who cannot see it.
    """

    slug: str
    title: str
    description: str = ""
    _: KW_ONLY
    x: Axis
    y: Axis | Names
    marks: tuple[Mark, ...]  # from back to front
    caption: str = ""
    twin: Rows | None = None
    wide: bool = False  # three times as wide as high, and not nearly square; `Names` decide for themselves
    right: tuple[Axis, tuple[Mark, ...]] | None = None  # a second vertical scale, in matplotlib only

    @property
    def legend(self) -> tuple[Labelled, ...]:
        """The marks that have a label."""
        return tuple(mark for mark in self.marks if isinstance(mark, Labelled) and mark.label)


def padded(label: str, low: float, high: float) -> Axis:
    """A linear axis with some room beyond its values."""
    room = 0.06 * (high - low) or 1.0
    return Axis(label, low - room, high + room)


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
