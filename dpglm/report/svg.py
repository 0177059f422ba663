"""Inline SVG: shapes, text, linear and logarithmic axes; every text escaped, colours left to the page."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

from dpglm.tables.content import one_line


@dataclass(frozen=True)
class Axis:
    """A map from values to places on the drawing.

    Parameters
    ----------
    low, high : float
        Values at the two ends, low < high; both > 0 where ``log``.
    start, stop : float
        Places of the two ends; ``start > stop`` for an axis that runs upwards.
    log : bool
        Whether equal factors take equal room.

    Examples
    --------
    >>> Axis(0.0, 2.0, start=100.0, stop=0.0)(0.5)
    75.0
    >>> Axis(1e-6, 1.0, start=0.0, stop=60.0, log=True)(1e-3)
    30.0
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of ``value``; values beyond an end are put at that end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        """Round values to mark, at most ``most`` of them, ends included where they are round.

        Examples
        --------
        >>> Axis(0.0, 2.3, start=0.0, stop=1.0).ticks()
        (0.0, 0.5, 1.0, 1.5, 2.0)
        >>> Axis(1e-7, 1.0, start=0.0, stop=1.0, log=True).ticks(4)
        (1e-06, 0.0001, 0.01, 1.0)
        """
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, math.ceil((last - first + 1) / most))
            return tuple(float(f"1e{power}") for power in range(last, first - 1, -step))[::-1]
        rough = (self.high - self.low) / most
        if rough < 1e-290:  # too near the end of the doubles for round steps
            return (self.low, self.high)
        unit = 10.0 ** math.floor(math.log10(rough))
        width = next(unit * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if unit * factor >= rough)
        first, last = math.ceil(self.low / width - 1e-9), math.floor(self.high / width + 1e-9)
        return tuple(float(f"{k * width:.10g}") for k in range(first, last + 1))


@dataclass
class Drawing:
    """Shapes in the order in which they were drawn.

    Classes name roles (``line``, ``point``, ``value``); the page's style gives them colours, light and dark.

    Examples
    --------
    >>> drawing = Drawing("demo", 20, 10, title="A <b>", description="One dot.")
    >>> drawing.circle(5, 5, 2, "point")
    >>> print(drawing.__html__())
    <svg class="plot" viewBox="0 0 20 10" role="img" aria-labelledby="demo-t demo-d">
    <title id="demo-t">A &lt;b&gt;</title>
    <desc id="demo-d">One dot.</desc>
    <circle class="point" cx="5" cy="5" r="2"/>
    </svg>
    """

    slug: str
    width: float
    height: float
    title: str
    description: str
    shapes: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, role: str) -> None:
        """A straight line."""
        self.shapes.append(f'<line class="{role}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>')

    def path(self, points: list[tuple[float, float]], role: str, *, closed: bool = False) -> None:
        """Straight lines through ``points``."""
        corners = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        self.shapes.append(f'<path class="{role}" d="M{corners}{"Z" if closed else ""}"/>')

    def circle(self, x: float, y: float, radius: float, role: str) -> None:
        """A dot."""
        self.shapes.append(f'<circle class="{role}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>')

    def person(self, x: float, y: float, role: str) -> None:
        """A head and shoulders, 12 by 15, upper left corner at (x, y)."""
        self.shapes.append(
            f'<path class="{role}" d="M{_n(x + 6)} {_n(y + 0.8)}a2.7 2.7 0 1 1-.01 0zm-5 13.2v-2.6'
            'a4.2 4.2 0 0 1 4.2-4.2h1.6a4.2 4.2 0 0 1 4.2 4.2v2.6z"/>'
        )

    def text(self, x: float, y: float, words: str, role: str, *, turned: bool = False) -> None:
        """Words at (x, y); ``turned`` by a quarter for a vertical axis."""
        turn = f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turned else ""
        self.shapes.append(
            f'<text class="{role}" x="{_n(x)}" y="{_n(y)}"{turn}>{escape(one_line(words))}</text>'
        )

    def __html__(self) -> str:
        """The drawing as an ``<svg>`` element; templates take it as markup."""
        head = (
            f'<svg class="plot" viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img"'
            f' aria-labelledby="{self.slug}-t {self.slug}-d">'
        )
        title = f'<title id="{self.slug}-t">{escape(one_line(self.title))}</title>'
        description = f'<desc id="{self.slug}-d">{escape(one_line(self.description))}</desc>'
        return "\n".join([head, title, description, *self.shapes, "</svg>"])


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


def _n(value: float) -> str:
    """A coordinate to a tenth of a unit, without a trailing zero or a minus zero."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"
