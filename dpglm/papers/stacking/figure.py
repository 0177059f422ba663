"""The figure of a stack: a row, the models that read it, what puts their answers together, the log odds."""

from __future__ import annotations

from dpglm.papers.stacking.submodels import Stack, columns_text, model_sizes, model_weights
from dpglm.postprocessing.record import FitRecord
from dpglm.report.figure import Rows, shortened
from dpglm.report.section import shown
from dpglm.report.svg import Drawing, Illustration
from dpglm.tables.number import coefficient

MOST_BOXES = 10
HEIGHT, GAP, TOP = 34.0, 9.0, 8.0
# Left and right ends of the four columns of boxes.
COLUMNS = ((0.0, 44.0), (80.0, 238.0), (278.0, 350.0), (372.0, 426.0))


def stack_figure(result: FitRecord, stack: Stack) -> Illustration:
    """Boxes and arrows from left to right, a box a model; of many models the first ones."""
    count = len(stack.names)
    sizes, weights = model_sizes(result, stack), model_weights(stack)
    drawn = count if count <= MOST_BOXES else MOST_BOXES - 1
    lines = [(shortened(stack.names[k], 23), columns_text(sizes[k])) for k in range(drawn)]
    if drawn < count:
        lines.append((f"{count - drawn} more models", "in the table"))
    bottom = TOP + len(lines) * (HEIGHT + GAP) - GAP
    middle = (TOP + bottom) / 2
    meta = stack.combine == "model"
    joint = "meta model" if meta else "votes"
    drawing = Drawing(
        "stack",
        426,
        bottom + 8,
        title=f"From a row to its log odds by way of {count} model{'' if count == 1 else 's'}",
        description=f"From left to right: a row; {count} models, one below the other, each of which reads "
        f"its columns of the row; {'a meta model of their answers' if meta else 'a count of their votes'}; "
        "the log odds. Arrows lead from each box to the next.",
    )
    for k, (name, words) in enumerate(lines):
        top = TOP + k * (HEIGHT + GAP)
        centre = top + HEIGHT / 2
        _arrow(drawing, (COLUMNS[0][1], middle), (COLUMNS[1][0], centre))
        _arrow(drawing, (COLUMNS[1][1], centre), (COLUMNS[2][0], middle))
        _box(drawing, COLUMNS[1], top, "area")
        x = COLUMNS[1][0] + 9
        drawing.text(x, top + 14.5, name, "label")
        drawing.text(x, top + 27.5, words, "tick")
    _arrow(drawing, (COLUMNS[2][1], middle), (COLUMNS[3][0], middle))
    for column, role, words in ((0, "hollow", "a row"), (2, "area", joint), (3, "hollow", "log odds")):
        _box(drawing, COLUMNS[column], middle - HEIGHT / 2, role)
        drawing.text(sum(COLUMNS[column]) / 2, middle + 4, words, "label middle")
    gives = "its probability" if meta else "its vote"
    rows = [
        (shown(stack.names[k], 120), columns_text(sizes[k]), gives, coefficient(float(weights[k])))
        for k in range(drawn)
    ]
    if drawn < count:
        rows.append((f"{count - drawn} more models", "see the table above", gives, "-"))
    rows.append((joint, "what the models give", "log odds", "-"))
    twin = Rows(
        "Steps of the figure",
        ("box", "reads", "gives", "weight" if meta else "vote"),
        tuple(rows),
        numeric=(3,),
    )
    caption = (
        "How a row is predicted. Each model reads its columns only; the meta model weighs their centred "
        "probabilities."
        if meta
        else "How a row is predicted. Each model reads its columns only and casts its vote; the log odds are "
        "those of the share of votes."
    )
    return Illustration(drawing, caption, twin)


def _box(drawing: Drawing, ends: tuple[float, float], top: float, role: str) -> None:
    left, right = ends
    corners = [(left, top), (right, top), (right, top + HEIGHT), (left, top + HEIGHT)]
    drawing.path(corners, role, closed=True)


def _arrow(drawing: Drawing, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line with a head at its end, which comes in level."""
    x, y = end
    drawing.line(*start, x - 5, y, "axis")
    drawing.path([(x - 6, y - 3), (x, y), (x - 6, y + 3)], "base", closed=True)
