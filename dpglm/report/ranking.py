"""The page of a ranking of features: its table, and a figure of the weights with their noise level."""

from __future__ import annotations

import math
from typing import Final

from dpglm.postprocessing.ranking import RankingRecord, first_rows, noise_words, shortened_formula
from dpglm.report.figure import Axis, Figure, Intervals, Mark, Names, Points, Rows, Rule
from dpglm.report.section import Section, Subject, shown
from dpglm.tables.table import coefficient

MOST_ROWS: Final = 40  # lines of a figure
MOST_TABLE_ROWS: Final = 100
LONGEST_NAME: Final = 60


def ranking_subject(record: RankingRecord) -> Subject:
    """A ranking as a page tells it."""
    return Subject(
        noun="ranking",
        standfirst="Features by weight",
        asked=shown(record.formula, 900),
        schema=record.schema,
        public="features and method",
        decided=("bounds", "exploration", "columns", "repeats", "unit"),
        results=(_section(record),),
    )


def _section(record: RankingRecord) -> Section:
    first = first_rows(record, MOST_TABLE_ROWS)
    rows = tuple((shown(name, LONGEST_NAME), *cells) for name, *cells in first)
    content = {
        "table": Rows("Features by weight", ("feature", "rank", "weight", "selected"), rows, numeric=(1, 2)),
        "left_out": len(record.names) - len(rows),
        "noise": noise_words(record),
        "formula": shortened_formula(record),
        "figure": weights_figure(record),
    }
    return Section("ranking", "Features by weight", content)


def weights_figure(record: RankingRecord) -> Figure:
    """Stems from 0 to the largest weights, and a line at the noise level."""
    drawn = record.order[:MOST_ROWS].tolist()
    names = tuple(shown(record.names[place], LONGEST_NAME) for place in drawn)
    weights = [float(record.weights[place]) for place in drawn]
    finite = [weight for weight in weights if math.isfinite(weight)]
    level = record.noise_level
    known = math.isfinite(level) and level > 0.0
    ends = [0.0, *finite, *([level] if known else [])]
    pad = 0.04 * (max(ends) - min(ends) or 1.0)
    chosen = set(record.selected)
    marks: list[Mark] = [Rule(0.0, "x", "zero")]
    if known:
        marks.append(Rule(level, "x", "limit", label="noise level"))
    places = [at for at, weight in enumerate(weights) if math.isfinite(weight)]
    marks.append(Intervals(places, [min(w, 0.0) for w in finite], [max(w, 0.0) for w in finite], "interval"))
    for role, kept, label in (("point", True, "selected"), ("hollow", False, "not selected")):
        lines = [at for at in places if (record.names[drawn[at]] in chosen) is kept]
        if lines:
            marks.append(Points([weights[at] for at in lines], lines, role, label))
    left = len(record.names) - len(drawn)
    left_out = f", without the {left} of smaller weights" if left else ""
    rows = tuple((name, coefficient(weight)) for name, weight in zip(names, weights, strict=True))
    return Figure(
        "weights",
        "Largest weights",
        "One line per feature, by rank: a dot at its weight, and a bar from zero.",
        x=Axis("weight", min(ends) - pad, max(ends) + pad),
        y=Names(names),
        marks=tuple(marks),
        caption=f"Features by weight{left_out}. Hollow: not selected. Weights compare only within a ranking.",
        twin=Rows("Weights drawn", ("feature", "weight"), rows, numeric=(1,)),
    )
