"""Stack of submodels in the report: the models, what each reads, what combines them, and a figure of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpglm.postprocessing.record import FitRecord
from dpglm.report.figure import Rows, shortened
from dpglm.report.section import Section, fact_words, shown
from dpglm.report.svg import Drawing
from dpglm.tables.table import coefficient

if TYPE_CHECKING:
    from dpglm.papers.stacking.stack import Stack

MOST_ROWS = 100
LONGEST_TERMS = 600
MOST_BOXES = 10
HEIGHT, GAP, TOP = 34.0, 9.0, 8.0
# Left and right ends of the four columns of boxes.
COLUMNS = ((0.0, 44.0), (80.0, 238.0), (278.0, 350.0), (372.0, 426.0))
PARTS = (
    "Every row was assigned to one part by its position in the table, before anything was read. Each part is "
    "read by one model only. Replacing a row changes one part. The price of all parts together is therefore "
    "that of the most expensive part, and not a sum over parts."
)
GROUPS = (
    "The models on groups of columns read the same rows, each its own columns. A row affects all of them, "
    "and the price of this fit counts them all."
)
HELD_OUT = (
    "The rows on which the meta model was fitted were read by no other model. They were held out by their "
    "position in the table, so a row is in only one of the two parts. The price of both together is that of "
    "the more expensive part, and not their sum."
)


def counted(number: int, what: str) -> str:
    """How many, in words: ``"1 model"``, ``"2 columns"``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def stack_section(stack: Stack, record: FitRecord) -> Section:
    """Diagram, models with their terms and weights, and what the method says of groups and source."""
    facts = [("Put together by", stack.combined_by)]
    facts += [(shown(fact.label, 80), fact_words(fact.value)) for fact in record.description.facts]
    content = {
        "count": len(stack.names),
        "combine": stack.combine,
        "facts": facts,
        "figure": _figure(stack, record),
        "models": _models(stack, record),
        "left_out": max(0, len(stack.names) - MOST_ROWS),
        "parallel": _parallel(stack, record),
    }
    return Section("stack", "The stack of models", content)


def _models(stack: Stack, record: FitRecord) -> Rows:
    """One row per model."""
    rows = [
        (
            shown(name, 120),
            shown(", ".join(terms) or "the intercept alone", LONGEST_TERMS),
            coefficient(weight),
        )
        for name, terms, weight in zip(
            stack.names[:MOST_ROWS], stack.terms(record), stack.model_weights, strict=False
        )
    ]
    return Rows("Models of the stack", ("model", "reads", stack.weight_label), tuple(rows), numeric=(2,))


def _parallel(stack: Stack, record: FitRecord) -> list[str]:
    """Why parts of the rows cost no more than one of them, where a replaced row stays in its part."""
    if not record.private or record.guarantee.relation != "replace-one" or len(stack.names) == 1:
        return []
    by_columns = any(stack.groups)
    return [GROUPS if by_columns else PARTS, *([HELD_OUT] if stack.combine == "model" else [])]


def _figure(stack: Stack, record: FitRecord) -> Drawing:
    """Boxes and arrows from left to right, a box a model; of many models the first ones."""
    count = len(stack.names)
    sizes, weights = stack.sizes(record), stack.model_weights
    drawn = count if count <= MOST_BOXES else MOST_BOXES - 1
    lines = [(shortened(stack.names[k], 23), counted(sizes[k], "column")) for k in range(drawn)]
    if drawn < count:
        lines.append((f"{count - drawn} more models", "in the table"))
    bottom = TOP + len(lines) * (HEIGHT + GAP) - GAP
    middle = (TOP + bottom) / 2
    meta = stack.combine == "model"
    joint = "meta model" if meta else "votes"
    gives = "its probability" if meta else "its vote"
    rows = [
        (shown(stack.names[k], 120), counted(sizes[k], "column"), gives, coefficient(float(weights[k])))
        for k in range(drawn)
    ]
    if drawn < count:
        rows.append((f"{count - drawn} more models", "see the table above", gives, "-"))
    rows.append((joint, "what the models give", "log odds", "-"))
    headings = ("box", "reads", "gives", "weight" if meta else "vote")
    caption = (
        "How a row is predicted. Each model reads its columns only; the meta model weighs their centred "
        "probabilities."
        if meta
        else "How a row is predicted. Each model reads its columns only and casts its vote; the log odds are "
        "those of the share of votes."
    )
    drawing = Drawing(
        "stack",
        426,
        bottom + 8,
        title=f"From a row to its log odds by way of {counted(count, 'model')}",
        description=f"From left to right: a row; {count} models, one below the other, each of which reads "
        f"its columns of the row; {'a meta model of their answers' if meta else 'a count of their votes'}; "
        "the log odds. Arrows lead from each box to the next.",
        caption=caption,
        twin=Rows("Steps of the figure", headings, tuple(rows), numeric=(3,)),
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
    return drawing


def _box(drawing: Drawing, ends: tuple[float, float], top: float, role: str) -> None:
    left, right = ends
    corners = [(left, top), (right, top), (right, top + HEIGHT), (left, top + HEIGHT)]
    drawing.path(corners, role, closed=True)


def _arrow(drawing: Drawing, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line with a head at its end, which comes in level."""
    x, y = end
    drawing.line(*start, x - 5, y, "axis")
    drawing.path([(x - 6, y - 3), (x, y), (x - 6, y + 3)], "base", closed=True)
