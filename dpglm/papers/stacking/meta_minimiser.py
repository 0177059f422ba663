"""A model of the answers of released models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.mechanisms.base import CERTIFICATE, CHOSEN, TAIL, Rows, WorstCase, worst_case_rows
from dpglm.mechanisms.mapped import Wrapper
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.rows import finite, unweighted
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.row_loops import predictors
from dpglm.rows import ArrayChunk, RowChunk
from dpglm.typing import FloatMatrix, FloatVector

# What stands in the column of the intercept, and the length that is left for the answers.
INTERCEPT = 0.5
LEFT = math.sqrt(1.0 - INTERCEPT**2) * (1.0 - 1e-6)


class _Answers:
    """Rows of answers: the constant, then ``(2 / sqrt(K)) (p_k - 1/2)`` of each model."""

    def __init__(self, rows: Rows, coefficients: FloatMatrix) -> None:
        self._rows, self._coefficients = rows, coefficients

    @property
    def size(self) -> int:
        return len(self._coefficients) + 1

    def row_count(self) -> int:
        return self._rows.row_count()

    def chunks(self) -> Iterator[RowChunk]:
        count = len(self._coefficients)
        for block in unweighted(self._rows):
            X = block.X
            # Row by row: neighbours differ in the answers to one row and in no other.
            log_odds = np.array([predictors(coefficients, X) for coefficients in self._coefficients])
            answers = 2.0 / math.sqrt(count) * (expit(log_odds) - 0.5)
            usable = np.any(X != 0.0, axis=0)
            made = np.concatenate([np.full((1, len(block.y)), INTERCEPT), LEFT * answers])  # proof: norm
            made = np.where(usable & np.isfinite(made).all(axis=0), made, 0.0)
            yield ArrayChunk(np.ascontiguousarray(made, dtype=np.float32), block.y, block.offset)


@dataclass(frozen=True, eq=False)
class MetaMinimiser(Wrapper):
    """A perturbed minimiser on the answers of released models to the rows.

    It is run at the coefficients of all K models in coded columns, shape (K * p,), released before. Offsets
    are those of the rows; the models' answers are without them.

    Parameters
    ----------
    inner : PerturbedMinimiser
        Of K + 1 coefficients, the intercept's first.
    weight : float
        Public: the v of a `Stack`, alike for all models, to which the ridge pulls; 0 for none.

    References
    ----------
    ``meta_minimiser.md`` beside this file.
    """

    inner: PerturbedMinimiser
    weight: float = 0.0

    name: ClassVar[str] = "meta minimiser"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL)

    @property
    def models(self) -> int:
        """K."""
        return len(self.inner.mixing) - 1

    def __post_init__(self) -> None:
        if self.models < 1:
            raise MethodError(
                "a meta model of nothing", expected="an intercept and a model", remedy="Let a method make it."
            )
        if not self.inner.within_double_precision(self.centre):
            raise MethodError(
                f"weight={self.weight!r}",
                expected="a finite, moderate number",
                remedy="Let a method make it.",
            )

    @property
    def centre(self) -> FloatVector:
        """Where the ridge pulls to, in coefficients on rows of answers, shape (K + 1,)."""
        return np.concatenate([[0.0], np.full(self.models, self.weight / LEFT)])

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        (_, tilt), *others = self.inner.events(relation)  # proof: price
        return (self.name, tilt), *others

    def describe(self, relation: Relation) -> ReleaseDescription:
        described = self.inner.describe(relation)
        return replace(
            described,
            name=self.name,
            released="a perturbed minimiser on the answers of all models, once",
            theorem=f"{described.theorem} on answers of released models (meta_minimiser.md)",
            facts=(*described.facts, Fact("Weight of each model to which that ridge pulls", self.weight)),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return self.inner.why(relation)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Intercept and weights on rows of answers, shape (K + 1,)."""
        assert at is not None, "answers of models that were released"
        coefficients = finite(at).reshape(self.models, rows.size)  # proof: finite
        return self.inner.run(_Answers(rows, coefficients), self.centre, noise)  # proof: centre

    @staticmethod
    def weights(answer: FloatVector) -> FloatVector:
        """v_0 and v of a `Stack` from what was released, shape (K + 1,)."""
        return np.concatenate([[INTERCEPT * answer[0]], LEFT * answer[1:]])

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row to which all models answer 1, and either response; offsets keep slopes at 1."""
        first, second = worst_case_rows(self.inner.family, relation, size)
        at = np.zeros((self.models, size))
        at[:, 0] = 1e3
        direction = np.array([INTERCEPT, *np.full(self.models, LEFT / math.sqrt(self.models))])
        return WorstCase(first, second, direction, at.ravel())
