"""Held-out errors: sums of squared errors of released models, with Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.glm.families import Family
from dpglm.mechanisms.base import CHOSEN, FAR, WHY_SUM, Release, Rows, WorstCase, release_error
from dpglm.mechanisms.noise import SLACK, STEPS, NoiseSource, add_laplace, laplace_price
from dpglm.mechanisms.whole_sums import Whole, WholeNumbers
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, PureEvent, ReleaseDescription
from dpglm.privacy.gdp import SAFETY
from dpglm.row_loops import predictors
from dpglm.rows import ArrayChunk, RowChunk, total
from dpglm.typing import FloatMatrix, FloatVector, IntVector

# Squared errors are rounded to this grid in [0, 1], so that sums of them are exact.
GRID = 2**16


@dataclass(frozen=True)
class HeldOutErrors(Release):
    r"""Sums over rows of the squared error of each of m models, the response scaled to [0, 1].

    Of a binary response it is the Brier score (Brier 1950); of a margin loss, the number of wrong levels. A
    row that cannot be used counts 0.

    Parameters
    ----------
    families : tuple of Family
        Of the models, which `run` is given one after the other, p coded coefficients each.
    scale : float
        Of the Laplace noise on each sum; 0 for exact sums, which have no price.

    Examples
    --------
    >>> from dpglm.glm.families import Binomial
    >>> HeldOutErrors((Binomial(), Binomial()), 4.0).sensitivity("replace-one")
    2.0
    """

    families: tuple[Family, ...]
    scale: float

    name: ClassVar[str] = "held-out errors"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN,)

    def __post_init__(self) -> None:
        if not (self.families and 0.0 <= self.scale < math.inf):
            raise release_error("no model, or a scale out of range", "models, and a scale >= 0")

    @classmethod
    def at_price(cls, families: tuple[Family, ...], epsilon: float) -> HeldOutErrors:
        """The least noise that costs no more than a pure ``epsilon``."""
        left = epsilon - len(families) / STEPS
        if not left > 0.0:
            raise release_error(f"a pure epsilon of {epsilon:g} for errors", "a larger epsilon")
        return cls(families, len(families) * (1.0 + SLACK) / left * (1.0 + SAFETY))

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each sum."""
        return math.sqrt(2.0) * self.scale

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the sums by one neighbour, in the sum of absolute values."""
        return float(len(self.families))  # proof: bounded

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        assert self.scale > 0.0, "exact errors have no price: they are never part of a private plan"
        count = len(self.families)
        return ((self.name, PureEvent(laplace_price(self.sensitivity(relation), self.scale, count))),)

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=self.name,
            released="sums of squared errors of released models, once",
            sensitivity=self.sensitivity(relation),
            noise="independent Laplace noise" if self.scale else "none",
            scale=self.scale,
            theorem="Laplace mechanism on bounded errors (held_out.md)",
            facts=(Fact("Models", len(self.families)),),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (WHY_SUM,)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Sums of squared errors, shape (m,), at m models' coded coefficients, shape (m * p,)."""
        assert at is not None, "errors of models"
        models = np.asarray(at, dtype=np.float64).reshape(len(self.families), rows.size)
        sums = self._sums(rows, models)
        return add_laplace(sums, scale=self.scale, noise=noise) if self.scale else np.asarray(sums)

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector:
        assert at is not None, "errors of models"
        models = at[0].reshape(len(self.families), first.size)
        sums = (np.asarray(self._sums(rows, models)) for rows in (first, second))
        near, far = (np.abs(answers - each).sum(axis=1) for each in sums)
        return np.asarray((far - near) / self.scale)

    def _sums(self, rows: Rows, models: FloatMatrix) -> WholeNumbers:
        def part(chunks: Iterable[RowChunk]) -> Whole:
            steps: Whole = np.zeros(len(models), dtype=object)
            for chunk in chunks:
                steps += self._steps(chunk, models).sum(axis=1)  # proof: exact
            return steps

        return WholeNumbers(total(rows.chunks(), part), 1.0 / GRID)

    def _steps(self, chunk: RowChunk, models: FloatMatrix) -> IntVector:
        """Squared errors in steps of the grid, shape (m, k)."""
        X = chunk.X
        usable = X.any(axis=0)
        errors = []
        for family, model in zip(self.families, models, strict=True):
            eta = predictors(model, X) + (0.0 if chunk.offset is None else chunk.offset)
            low, high = family.response_bounds
            predicted = np.clip(family.prediction(eta), low, high)
            error = np.square((predicted - chunk.y) / (high - low))
            error = np.where(np.isnan(error), 1.0, np.clip(error, 0.0, 1.0))  # proof: clip
            errors.append(np.rint(np.where(usable, error, 0.0) * GRID).astype(np.int64))
        return np.array(errors).reshape(len(models), -1)

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """A row that every model predicts wrongly, against one that it predicts rightly, or against none."""
        axis = np.eye(size, 1, dtype=np.float32)
        high = np.array([self.families[0].response_bounds[1]])
        low = np.array([self.families[0].response_bounds[0]])
        first, second = (ArrayChunk(axis, y, np.array([FAR])) for y in (low, high))
        if relation == "add-remove":
            second = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
        count = len(self.families)
        return WorstCase(first, second, np.ones(count), np.zeros(count * size))
