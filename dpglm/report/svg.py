"""Inline SVG: draws a `Figure` for the page; every text escaped, colours left to the page's style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from dpglm.report import figure as shapes
from dpglm.report.figure import Axis, Figure, Labelled, Mark, Names, Note, Rows, shortened
from dpglm.tables.table import one_line

ROW = 21.0  # height of a line of names
LETTER = 6.5  # width of a letter of a label
MOST_LETTERS = 30  # of a name


@dataclass
class Drawing:
    """Shapes in the order in which they were drawn, each with a key of `ROLES` as its class.

    The page shows ``caption`` below them, and ``twin``, every number of the drawing as a table.

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
    caption: str = ""
    twin: Rows | None = None
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

    def bar(self, left: float, right: float, middle: float, half: float, role: str) -> None:
        """A level bar, ``half`` of its height on each side of ``middle``."""
        top, bottom = middle - half, middle + half
        self.path([(left, top), (right, top), (right, bottom), (left, bottom)], role, closed=True)

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


@dataclass(frozen=True)
class Scale:
    """A map from the values of an axis to places on the drawing; ``start > stop`` runs upwards.

    Examples
    --------
    >>> Scale(Axis("", 0.0, 2.0), 100.0, 0.0)(0.5), Scale(Axis("", 1e-6, 1.0, log=True), 0.0, 10.0)(1e-3)
    (75.0, 5.0)
    """

    axis: Axis
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The place of ``value``; values beyond an end are put at that end."""
        low, high = self.axis.low, self.axis.high
        value = min(max(value, low), high)
        log = self.axis.log
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return self.start + share * (self.stop - self.start)


def drawn(figure: Figure) -> Drawing:
    """A figure as the page shows it."""
    names = figure.y.names if isinstance(figure.y, Names) else ()
    width = 420.0 if names or figure.wide else 312.0
    left = 14 + LETTER * max(len(shortened(name, MOST_LETTERS)) for name in names) if names else 44.0
    row = ROW * figure.y.spacing if isinstance(figure.y, Names) else ROW
    bottom = row * len(names) + 8 if names else 152.0 if figure.wide else 222.0
    below = 32 if names else 40
    words = (figure.title, figure.description, figure.caption)
    drawing = Drawing(figure.slug, width, bottom + below, *words, figure.twin)
    x = Scale(figure.x, left, width - 8)
    if isinstance(figure.y, Names):
        rows = Axis("", 0.0, float(max(1, len(names) - 1)))
        y = Scale(rows, 5.5 + row / 2, 5.5 + row / 2 + row * rows.high)
        for value, text in figure.x.labelled(5):
            drawing.line(x(value), 6, x(value), bottom, "zero" if value == 0 else "grid")
            drawing.text(x(value), bottom + 14, text, "tick middle")
        drawing.text((x.start + x.stop) / 2, bottom + 29, figure.x.label, "label middle")
        for k, name in enumerate(names):
            role = "label end faint" if k in figure.y.faint else "label end"
            drawing.text(left - 10, y(k) + 4, shortened(name, MOST_LETTERS), role)
        _marks(drawing, figure.marks, x, y, (6.0, bottom))
    else:
        y = Scale(figure.y, bottom, 12.0)
        _frame(drawing, x, y)
        _marks(drawing, figure.marks, x, y, (bottom, 12.0))
        drawing.line(x.start, bottom, x.stop, bottom, "axis")
        drawing.line(x.start, bottom, x.start, 12.0, "axis")
    # The caption explains dots.
    series = [mark for mark in figure.legend if not isinstance(mark, shapes.Points)]
    if len(series) > 1:
        _legend(drawing, series)
    return drawing


def _frame(drawing: Drawing, x: Scale, y: Scale) -> None:
    """Grid, ticks and labels of two scales."""
    for value, text in y.axis.labelled(5):
        drawing.line(x.start, y(value), x.stop, y(value), "grid")
        drawing.text(x.start - 6, y(value) + 4, text, "tick end")
    for value, text in x.axis.labelled(5):
        drawing.line(x(value), y.start, x(value), y.start + 4, "axis")
        drawing.text(x(value), y.start + 17, text, "tick middle")
    drawing.text((x.start + x.stop) / 2, y.start + 34, x.axis.label, "label middle")
    drawing.text(9, (y.start + y.stop) / 2, y.axis.label, "label middle", turned=True)


def _marks(drawing: Drawing, marks: tuple[Mark, ...], x: Scale, y: Scale, ends: tuple[float, float]) -> None:
    """The marks of a figure; ``ends`` are the lower and upper ends of a vertical rule."""
    for mark in marks:
        match mark:
            case shapes.Curve():
                points = [(x(a), y(b)) for a, b in zip(mark.x, mark.y, strict=True)]
                drawing.path(points, mark.role)
                for point in points if mark.dots else ():
                    drawing.circle(*point, 3, mark.dots)
            case shapes.Band():
                upper = [(x(a), y(b)) for a, b in zip(mark.x, mark.high, strict=True)]
                lower = [(x(a), y(b)) for a, b in zip(mark.x, mark.low, strict=True)]
                drawing.path([*upper, *lower[::-1]], mark.role, closed=True)
            case shapes.Points():
                for a, b in zip(mark.x, mark.y, strict=True):
                    drawing.circle(x(a), y(b), mark.radius, mark.role)
            case shapes.Intervals():
                for at, low, high in zip(mark.at, mark.low, mark.high, strict=True):
                    drawing.line(x(low), y(at), x(high), y(at), mark.role)
                    for end in (x(low), x(high)) if mark.caps else ():
                        drawing.line(end, y(at) - 3, end, y(at) + 3, mark.role)
            case shapes.Bars():
                for k, start, stop in zip(mark.at, mark.start, mark.stop, strict=True):
                    if x(stop) - x(start) >= 0.1:  # a tenth of a unit is not seen
                        drawing.bar(x(start), x(stop), y(k), 6.5, mark.role)
            case shapes.Rule():
                if mark.across == "x":
                    drawing.line(x(mark.value), ends[0], x(mark.value), ends[1], mark.role)
                else:
                    drawing.line(x.start, y(mark.value), x.stop, y(mark.value), mark.role)
            case Note():
                role = f"label{' end' if mark.anchor == 'end' else ''}{' faint' if mark.faint else ''}"
                drawing.text(x(mark.x) + mark.move[0], y(mark.y) + mark.move[1], mark.text, role)


def _legend(drawing: Drawing, series: Sequence[Labelled]) -> None:
    """A swatch and a label per series, in lines below the figure."""
    left, middle = 8.0, drawing.height + 8
    for mark in series:
        room = 27 + 5.6 * len(mark.label)
        if left > 8.0 and left + room > drawing.width:
            left, middle = 8.0, middle + 16
        if isinstance(mark, shapes.Bars):
            drawing.bar(left, left + 12, middle, 5, mark.role)
        else:
            drawing.line(left, middle, left + 12, middle, mark.role)
        drawing.text(left + 17, middle + 4, mark.label, "label")
        left += room
    drawing.height = middle + 10


def _n(value: float) -> str:
    """A coordinate to a tenth of a unit, without a trailing zero or a minus zero."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"
