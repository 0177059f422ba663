"""The information matrix without noise, and the log-likelihood, for fits that are explicitly not private."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from dpglm.glm.families import Family
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from dpglm.optim.loss import ChunkLoss
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import ReleaseDescription
from dpglm.rows import RowChunk, Together, total
from dpglm.typing import FloatMatrix, FloatVector

_FACTS = 5  # numbers that stand before the gradient


@dataclass(frozen=True)
class ExactInformationAnswer:
    """What `ExactInformation` found, at the given coefficients.

    Attributes
    ----------
    gradient : ndarray, shape (p,)
        Of the loss, sum units.
    information : ndarray, shape (p, p)
        Second derivative of the loss, sum units.
    loss : float
        Sum over usable rows.
    rows : float
        Usable rows: those with a coded number that is not 0.
    constant : float
        Sum of log(y!) over usable rows of counts, else 0.
    weighted : bool
        Whether rows have weights of their own: the rows of a person then count less than one each.
    weights : float
        The sum of these weights over usable rows; 0 where there are none.
    scores : ndarray, shape (p, p)
        Covariance of the score of rows with weights, whatever the model says; zeros where there are none.
    """

    gradient: FloatVector
    information: FloatMatrix
    loss: float
    rows: float
    constant: float
    weighted: bool
    weights: float
    scores: FloatMatrix

    @classmethod
    def of(cls, numbers: FloatVector, size: int) -> ExactInformationAnswer:
        """The answer of a release on p coefficients."""
        loss, rows, constant, weighted, weights = numbers[:_FACTS].tolist()
        gradient, matrices = numbers[_FACTS : _FACTS + size], numbers[_FACTS + size :]
        information, scores = matrices.reshape(2, size, size)
        return cls(gradient, information, loss, rows, constant, bool(weighted), weights, scores)


@dataclass(frozen=True, eq=False)
class ExactInformation(UnclaimedRelease):
    """Gradient, information matrix and loss at given coefficients: NOT PRIVATE."""

    family: Family

    name: ClassVar[str] = "exact information matrix"

    def describe(self, relation: Relation) -> ReleaseDescription:
        return self.exactly("the information matrix and the log-likelihood themselves")

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        assert at is not None
        theta = at
        loss = ChunkLoss(rows.chunks, self.family, size=rows.size, row_count=rows.row_count())
        gradient, information = loss.gradient_and_hessian(theta, precise=True)

        def part(chunks: Iterable[RowChunk]) -> Together:
            lost = count = constant = weighted = weights = 0.0
            covariance = np.zeros((len(theta), len(theta)))
            for chunk in chunks:
                usable = np.asarray(chunk.X.any(axis=0))
                eta = theta @ chunk.X.astype(np.float64)
                eta = eta if chunk.offset is None else eta + chunk.offset
                each = self.family.loss(eta, chunk.y)
                if chunk.weight is not None:
                    each = each * chunk.weight
                    weighted = float(self.family.row_share is None)
                    weights += float(chunk.weight[usable].sum())
                    scores = chunk.weight * self.family.slope(eta, chunk.y)
                    moved = scores * chunk.X
                    covariance += moved @ moved.T
                lost += float(each[usable].sum())
                count += float(usable.sum())
                if self.family.response_kind == "count":
                    constant += float(gammaln(chunk.y[usable] + 1.0).sum())
            return Together((lost, count, constant, weighted, weights, covariance))

        lost, count, constant, weighted, weights, covariance = total(rows.chunks(), part)
        facts = (lost, count, constant, float(weighted > 0.0), weights)
        numbers = (facts, gradient, information.ravel(), covariance.ravel())
        return np.concatenate(numbers).astype(np.float64)
