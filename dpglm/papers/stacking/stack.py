"""A stack: several released models, and what puts their answers together."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, logit

from dpglm.errors import MethodError
from dpglm.typing import FloatMatrix, FloatVector

Combine = Literal["model", "majority", "weighted"]
# Bounds what a saved result may hold.
MOST_MODELS = 1000


@dataclass(frozen=True, eq=False)
class Stack:
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

    def __post_init__(self) -> None:
        for name in ("coefficients", "weights"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "groups", tuple(tuple(group) for group in self.groups))
        count = len(self.names)
        good = (
            self.combine in get_args(Combine)
            and 1 <= count <= MOST_MODELS
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

    def __eq__(self, other: object) -> bool:
        """Equal to the last bit."""
        if not isinstance(other, Stack):
            return NotImplemented
        return all(_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        return hash((self.names, self.combine, self.weights.tobytes()))

    def link(self, coded: FloatMatrix) -> FloatVector:
        """Log odds of coded rows, shape (n, p) to (n,); NaN where a row has NaN.

        Votes have the log odds of their share, kept half a vote from 0 and from 1.
        """
        answers = expit(coded @ self.coefficients.T)
        if self.combine == "model":
            return np.asarray(self.weights[0] + self.meta(answers) @ self.weights[1:], dtype=np.float64)
        total = float(self.weights.sum())
        share = (answers > 0.5) @ self.weights / total
        least = 0.5 / (len(self.names) + 1.0)
        found = logit(least + (1.0 - 2.0 * least) * share)
        return np.where(np.isnan(answers).any(axis=1), np.nan, found)

    @staticmethod
    def meta(answers: FloatMatrix) -> FloatMatrix:
        """Answers in (0, 1) as the meta model reads them, shape (n, K), rows of norm at most 1."""
        return (2.0 / math.sqrt(answers.shape[-1])) * (answers - 0.5)

    def linear(self) -> FloatVector:
        """The log odds to first order where no model says anything, as coded coefficients, shape (p,).

        The intercept of the meta model is left out; votes are taken as a meta model with equal answers.
        """
        weights = self.weights[1:] if self.combine == "model" else self.weights / self.weights.sum()
        scale = 2.0 / math.sqrt(len(self.names)) / 4.0 if self.combine == "model" else 1.0
        return np.asarray(scale * weights @ self.coefficients, dtype=np.float64)


def _votes(weights: FloatVector) -> bool:
    """Whether these are weights of votes: public, so that an error about them tells nothing."""
    return bool(np.isfinite(weights).all() and (weights >= 0.0).all() and 0.0 < weights.sum() < math.inf)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other
