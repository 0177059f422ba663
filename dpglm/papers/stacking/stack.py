"""Stack of submodels: the models that one fit released, and the meta-model or vote that combines them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit

from dpglm.errors import MethodError
from dpglm.papers.stacking.section import counted, stack_section
from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.parts import ResultPart, parts
from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section, shown
from dpglm.tables.table import Fact, coefficient
from dpglm.typing import BoolMatrix, BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

INTERCEPT = "Intercept"
MOST_MODELS_SHOWN = 12
LONGEST_NAME = 40
Combine = Literal["model", "majority", "weighted"]
# Bounds what a saved result may hold.
MOST_MODELS = 1000


@parts.register("stack")
@dataclass(frozen=True, eq=False)
class Stack(ResultPart):
    r"""Logistic models on groups of columns or on parts of the rows, combined.

    A row x has the answers :math:`p_k = 1 / (1 + e^{-x'w_k})`. A meta model reads their centred, publicly
    scaled vector :math:`m = (2 / \sqrt{K}) (p_k - 1/2)_k`, of norm at most 1, and its log odds are
    :math:`v_0 + m'v`. Votes count the models with :math:`p_k > 1/2`, each once or by a public weight.

    Parameters
    ----------
    names : tuple of str
        Of the K models.
    groups : tuple of tuple of str
        Terms of the formula that each model reads; empty for all of them.
    coefficients : ndarray, shape (K, p)
        w_k in coded columns, zero where a model reads nothing.
    combine : {"model", "majority", "weighted"}
    weights : ndarray, shape (K + 1,) or (K,)
        v_0 and v of the meta model, or public weights of votes, >= 0, their sum > 0.

    Raises
    ------
    MethodError
        Parts of different lengths, no model or too many, or weights of votes below 0 or that sum to 0.

    Examples
    --------
    >>> stack = Stack(("a", "b"), ((), ()), np.eye(2), "majority", np.ones(2))
    >>> stack.link(np.array([[1.0, 3.0], [-1.0, -2.0], [1.0, -1.0]])).round(3).tolist()
    [1.609, -1.609, 0.0]
    """

    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    coefficients: FloatMatrix
    combine: Combine
    weights: FloatVector

    name: ClassVar[str] = "stack"
    predicts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count = len(self.names)
        good = (
            1 <= count <= MOST_MODELS
            and len(self.groups) == count
            and self.coefficients.ndim == 2
            and len(self.coefficients) == count
            and self.weights.shape == (count + (self.combine == "model"),)
            and (self.combine == "model" or _votes(self.weights))
        )
        if not good:
            raise MethodError(
                "a stack whose parts do not fit each other",
                expected="a name, a group, coefficients and a weight a model; votes >= 0, one above 0",
                remedy="Save the result again from the fit itself.",
            )

    def link(self, coded: FloatMatrix) -> FloatVector:
        """Log odds of coded rows, shape (n, p) to (n,); NaN where a row has NaN.

        Votes have the log odds of their share, kept half a vote from 0 and from 1.
        """
        answers = expit(coded @ self.coefficients.T)
        if self.combine == "model":
            scaled = (2.0 / math.sqrt(len(self.names))) * (answers - 0.5)
            return np.asarray(self.weights[0] + scaled @ self.weights[1:], dtype=np.float64)
        share = (answers > 0.5) @ self.weights / self.weights.sum()
        least = 0.5 / (len(self.names) + 1.0)
        log_odds = logit(least + (1.0 - 2.0 * least) * share)
        return np.where(np.isnan(answers).any(axis=1), np.nan, log_odds)

    def linear(self) -> FloatVector:
        """The log odds to first order where no model says anything, as coded coefficients, shape (p,).

        The intercept of the meta model is left out; votes are taken as a meta model with equal answers.
        """
        weights = self.weights[1:] if self.combine == "model" else self.weights / self.weights.sum()
        scale = 2.0 / math.sqrt(len(self.names)) / 4.0 if self.combine == "model" else 1.0
        return np.asarray(scale * weights @ self.coefficients, dtype=np.float64)

    @property
    def deals_rows(self) -> bool:
        """True: submodels or the meta-model may read different rows."""
        return True

    @property
    def title(self) -> str:
        """How many models, in words."""
        return f"a stack of {counted(len(self.names), 'model')}"

    def check(self, record: FitRecord) -> None:
        """Refuse another number of coefficients, another link, or a released linear model beside it."""
        if self.coefficients.shape[1] != len(record.names):
            raise store_error("coefficients of a stack of another length", "one per model and name")
        if record.released is not None or record.link != "logit":
            raise store_error("a stack beside a released model or another link", "the logit link")

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        """Each model with its number of columns and its weight, as label and text."""
        models = zip(self.names, self.sizes(record), self.model_weights, strict=True)
        lines = [
            f"{shown(name, LONGEST_NAME)}: {counted(size, 'column')}, "
            f"{self.weight_label} {coefficient(weight)}"
            for name, size, weight in models
        ]
        listed = lines if len(lines) <= MOST_MODELS_SHOWN else lines[: MOST_MODELS_SHOWN - 1]
        facts = [("Stack", f"{counted(len(lines), 'model')}, combined by {self.combined_by}")]
        facts += [(f"Model {k}", line) for k, line in enumerate(listed, start=1)]
        if len(listed) < len(lines):
            facts.append(("More", f"{len(lines) - len(listed)} more models, which submodels() lists"))
        return tuple(facts)

    def no_intervals(self) -> str:
        """Why a stack has no standard errors."""
        return (
            f"{self.title} has no released information matrix, and its log odds are no linear function of "
            'coefficients; method "objective" can have them'
        )

    def section(self, record: FitRecord) -> Section:
        """The section of the report."""
        return stack_section(self, record)

    def submodels(self, record: FitRecord) -> pd.DataFrame:
        """One row per model and coefficient that it reads; see :meth:`FitResult.submodels`."""
        import pandas as pd

        with np.errstate(all="ignore"):
            estimates = np.asarray(self.coefficients @ record.user_from_coded.T)
        models, places = np.nonzero(self.reads(record))
        frame = pd.DataFrame(
            {
                "model": [self.names[k] for k in models],
                "term": [record.names[j] for j in places],
                "estimate": estimates[models, places],
                "weight": self.model_weights[models],
            }
        )
        return marked(frame, record)

    @property
    def model_weights(self) -> FloatVector:
        """Weights of the models in the meta-model, or of their votes, shape (K,)."""
        return self.weights[1:] if self.combine == "model" else self.weights

    @property
    def weight_label(self) -> str:
        """What a weight is called."""
        return "meta weight" if self.combine == "model" else "vote"

    @property
    def combined_by(self) -> str:
        """What puts the answers together."""
        if self.combine == "model":
            return f"meta model, intercept {coefficient(float(self.weights[0]))}"
        return "votes, equal" if self.combine == "majority" else "votes, publicly weighted"

    def terms(self, record: FitRecord) -> tuple[tuple[str, ...], ...]:
        """What each model reads beside the intercept: terms, and coefficients of terms read in part."""
        return tuple(_terms(record, read) for read in self.reads(record))

    def sizes(self, record: FitRecord) -> tuple[int, ...]:
        """How many of the user's coefficients each model reads, the intercept left out."""
        slopes = np.array([name != INTERCEPT for name in record.names], dtype=np.bool_)
        return tuple((self.reads(record) & slopes).sum(axis=1).tolist())

    def reads(self, record: FitRecord) -> BoolMatrix:
        """Which of the user's coefficients each model reads, shape (K, p).

        Those of its group, and those that a column with a coefficient of its own reaches, as the intercept.
        """
        reached = np.asarray((self.coefficients != 0.0) @ (record.user_from_coded != 0.0).T)
        positions = {name: (j,) for j, name in enumerate(record.names)} | dict(record.terms)
        for k, group in enumerate(self.groups):
            if not group:
                reached[k] = True
            for term in group:
                reached[k, list(positions.get(term, ()))] = True
        return reached


def _votes(weights: FloatVector) -> bool:
    """Whether these are weights of votes: public, so that an error about them tells nothing."""
    return bool(np.isfinite(weights).all() and (weights >= 0.0).all() and 0.0 < weights.sum() < math.inf)


def _terms(record: FitRecord, read: BoolVector) -> tuple[str, ...]:
    texts: list[str] = []
    for term, positions in record.terms:
        used = [position for position in positions if read[position]]
        if term != INTERCEPT and used:
            texts += [term] if len(used) == len(positions) else [record.names[position] for position in used]
    return tuple(texts)
