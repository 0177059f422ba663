"""A ranking of features from released weights: order, selection, and the formula of the next fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.labels import quoted
from dpglm.postprocessing.record import Record, plain_copy
from dpglm.tables.table import ABSENT, Column, Table, coefficient
from dpglm.typing import BoolVector, FloatVector, IntVector

if TYPE_CHECKING:
    import pandas as pd

# Lines of a printed table.
MOST_LINES = 30
# Characters of a printed formula.
LONGEST_FORMULA = 240


@dataclass(frozen=True, eq=False, kw_only=True)
class RankingRecord(Record):
    """What a :class:`~dpglm.results.ranking.FeatureRanking` is made of; ``names`` are the features."""

    schema: Mapping[str, object]  # as `Schema.to_dict` writes it
    formula: str  # as the user wrote it
    response: str
    method: str
    k: int | None  # how many features are selected; None: those above the noise
    weights: FloatVector  # (features,)
    deviation: float | None  # of the noise of a column's weight, at most; None where it is not known
    columns: int  # of the unit box, of which the largest weight of a feature is told

    most_names: ClassVar[int] = 2**17  # there is no matrix of them

    def __post_init__(self) -> None:
        if np.shape(self.weights) != (len(self.names),) or not self.names:
            raise store_error("weights that do not belong to the features", "one for each")
        if len(self.names) > self.most_names:
            raise store_error("too many names", f"at most {self.most_names} features")
        if self.k is not None and not 1 <= self.k <= len(self.names):
            raise store_error("a number of features that there are not", "1 to the number of features")
        object.__setattr__(self, "schema", plain_copy(self.schema, "schema"))
        super().__post_init__()

    @cached_property
    def order(self) -> IntVector:
        """Places of the features, from the largest weight down; of equal ones the first, and NaN last."""
        weights = np.where(np.isnan(self.weights), -np.inf, self.weights)
        return np.argsort(-weights, kind="stable")

    @property
    def ranks(self) -> IntVector:
        """Rank of each feature, from 1 on."""
        found = np.empty(len(self.names), dtype=np.int64)
        found[self.order] = np.arange(1, len(self.names) + 1)
        return found

    @property
    def noise_level(self) -> float:
        """What the noise of the release alone makes of the largest of so many weights; NaN if not known."""
        if self.deviation is None:
            return math.nan
        return self.deviation * math.sqrt(2.0 * math.log(max(self.columns, 2)))

    @property
    def above_noise(self) -> BoolVector:
        """Which weights are larger than noise alone would be, shape (features,)."""
        level = self.noise_level
        return np.asarray(self.weights > (0.0 if math.isnan(level) else level))

    @property
    def selected(self) -> tuple[str, ...]:
        """Features by rank: the first k, or those above the noise."""
        count = int(self.above_noise.sum()) if self.k is None else self.k
        return tuple(self.names[place] for place in self.order[:count])

    @property
    def next_formula(self) -> str:
        """The response by the selected features, in the order of the schema's formula."""
        chosen = set(self.selected)
        terms = [quoted(name) for name in self.names if name in chosen]
        return f"{quoted(self.response)} ~ {' + '.join(terms) or '1'}"


def tidy(record: RankingRecord) -> pd.DataFrame:
    """A row for each feature, by rank."""
    import pandas as pd

    chosen = set(record.selected)
    frame = pd.DataFrame(
        {
            "rank": np.arange(1, len(record.names) + 1),
            "feature": [record.names[place] for place in record.order],
            "weight": record.weights[record.order],
            "above_noise": record.above_noise[record.order],
            "selected": [record.names[place] in chosen for place in record.order],
        }
    )
    return marked(frame, record)


def summary(record: RankingRecord) -> Table:
    """The first features with their weights, the noise level, the price and the promise."""
    rows = first_rows(record, MOST_LINES)
    left = len(record.names) - len(rows)
    notes = [f"{left} more features have smaller weights."] if left else []
    if record.guarantee.private:
        notes.append(
            "A model of the selected features that is fitted to the same rows has a price of its own."
        )
    return Table(
        title=f"Features that tell {record.response} apart",
        columns=(Column("feature", "left"), Column("rank"), Column("weight"), Column("selected")),
        rows=rows,
        wide=(
            ("Method", f"{record.method}: {record.description.algorithm}"),
            ("Noise", noise_words(record)),
            ("Next formula", shortened_formula(record)),
            ("Privacy", record.promise),
        ),
        notes=tuple(notes),
        alarm=record.alarm,
    )


def first_rows(record: RankingRecord, most: int) -> tuple[tuple[str, ...], ...]:
    """The first features by rank: name, rank, weight, and whether each is selected."""
    chosen = set(record.selected)
    return tuple(
        (
            record.names[place],
            str(rank),
            coefficient(float(record.weights[place])),
            "yes" if record.names[place] in chosen else "",
        )
        for rank, place in enumerate(record.order[:most].tolist(), start=1)
    )


def shortened_formula(record: RankingRecord) -> str:
    """The formula of the next fit as far as a line of a table goes."""
    formula = record.next_formula
    return formula if len(formula) <= LONGEST_FORMULA else formula[: LONGEST_FORMULA - 1] + "…"


def noise_words(record: RankingRecord) -> str:
    """What a weight must exceed to be told from 0."""
    level = record.noise_level
    if math.isnan(level) and math.isinf(record.guarantee.epsilon):
        return "not known: the algorithm is as it was printed"
    if math.isnan(level):
        return "the penalty sets to 0 what noise alone would show"
    if level == 0.0:
        return ABSENT
    return (
        f"that of the release alone makes weights of up to {coefficient(level)}; sampling error is not in "
        "it, and of many rows features that do not differ are above it, too"
    )
