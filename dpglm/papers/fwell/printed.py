"""FWELL and Private FWELL as they were printed: near hits and misses among the private rows, NOT PRIVATE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.glm.families.binomial import Binomial
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.mechanisms.unclaimed import UnclaimedRelease
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.papers.printed import REASON
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.events import Fact, ReleaseDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector

# Distances that are computed at a time.
_ENTRIES = 2**22
# Largest gradient of the minimiser, sum units, as a share of the number of rows.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class NeighbourWeights(UnclaimedRelease):
    """Weights by margins between near hits and near misses among all rows: equations 1 to 3 of the paper.

    Parameters
    ----------
    strength : float
        lambda of ``lambda |w|^2``, the loss averaged, > 0.
    single_pass : bool
        Algorithm 1: one normalised gradient step for each row, from ones; else the minimiser.
    epsilon : float or None
        Of Algorithm 2, Private FWELL: noise of density exp(-n epsilon lambda |b| / 2). None: no noise.
    """

    strength: float
    single_pass: bool = False
    epsilon: float | None = None

    name: ClassVar[str] = "margin weights of all rows"

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=self.name,
            released="the weights of an algorithm as it was printed",
            sensitivity=self.sensitivity(relation),
            noise="none"
            if self.epsilon is None
            else "density proportional to exp(-n epsilon lambda |b| / 2)",
            scale=0.0,
            theorem="none: NOT PRIVATE",
            facts=(Fact("Strength per row", self.strength),),
        )

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        chunks = list(rows.chunks())
        X = np.concatenate([chunk.X.T for chunk in chunks]).astype(np.float64)
        y = np.concatenate([chunk.y for chunk in chunks])
        z = neighbour_margins(X[y >= 0.0], y[y >= 0.0])
        weights = single_pass(z, self.strength) if self.single_pass else minimiser(z, self.strength)
        if self.epsilon is None:
            return weights
        return weights + noise.k_norm(
            len(weights), scale=2.0 / (max(len(z), 1) * self.epsilon * self.strength)
        )


def neighbour_margins(X: FloatMatrix, y: FloatVector) -> FloatMatrix:
    """|x - near miss| - |x - near hit| of each row, shape (n, size), by the Manhattan distance.

    A value that is missing is read as the middle, and its margin is 0; so are those of a row without a hit or
    a miss.

    Examples
    --------
    >>> X = np.array([[0.0, 0.5], [0.25, 0.5], [1.0, 0.5], [0.75, 0.5]])
    >>> neighbour_margins(X, np.array([0.0, 0.0, 1.0, 1.0]))[:, 0]
    array([0.5 , 0.25, 0.5 , 0.25])
    """
    from scipy.spatial.distance import cdist

    missing = np.isnan(X)
    filled = np.where(missing, 0.5, X)
    z = np.zeros_like(filled)
    width = max(1, _ENTRIES // max(len(X), 1))
    for first in range(0, len(X), width):
        part = slice(first, first + width)
        distances = cdist(filled[part], filled, "cityblock")
        distances[np.arange(len(distances)), np.arange(first, first + len(distances))] = math.inf
        alike = y[part, None] == y[None, :]
        hits, misses = np.where(alike, distances, math.inf), np.where(alike, math.inf, distances)
        usable = np.isfinite(hits.min(axis=1)) & np.isfinite(misses.min(axis=1))
        found = np.abs(filled[part] - filled[misses.argmin(axis=1)])
        found -= np.abs(filled[part] - filled[hits.argmin(axis=1)])
        z[part] = np.where(usable[:, None], found, 0.0)
    z[missing] = 0.0
    return z


def minimiser(z: FloatMatrix, strength: float) -> FloatVector:
    """argmin of mean log(1 + exp(-w'z)) + strength |w|^2, shape (size,)."""
    count, size = z.shape
    chunk = ArrayChunk(np.ascontiguousarray(z.T, dtype=np.float32), np.ones(count), None)
    loss = ChunkLoss(lambda: [chunk], Binomial(), size, row_count=count)
    ridge = 2.0 * strength * max(count, 1)
    found = minimise(loss, linear=np.zeros(size), ridge=ridge, tolerance=_TOLERANCE * max(count, 1))
    return found.theta


def single_pass(z: FloatMatrix, strength: float) -> FloatVector:
    """Algorithm 1: from ones, a step of length 1 against the gradient of each row's own term."""
    weights = np.ones(z.shape[1])
    for row in z:
        slope = -1.0 / (1.0 + math.exp(min(float(weights @ row), 700.0)))
        gradient = slope / len(z) * row + 2.0 * strength * weights
        length = float(np.linalg.norm(gradient))
        weights = weights - gradient / length if length > 0.0 else weights
    return weights


def exact_fwell(strength: float, *, single_pass: bool) -> PricedReleases:
    """FWELL without privacy."""
    release = NeighbourWeights(strength, single_pass)
    return PricedReleases((release,), Guarantee.none("no privacy was asked for"), None)


def printed_fwell(privacy: Privacy, strength: float, *, single_pass: bool) -> PricedReleases:
    """Private FWELL at the printed noise.

    Raises
    ------
    MethodError
        Another budget than the printed one: a pure epsilon under replace-one.
    """
    if privacy.definition != "pure" or privacy.relation != "replace-one":
        raise MethodError(
            "paper_exact with a delta, or under add-remove",
            expected="the printed setting: a pure epsilon, one row exchanged",
            remedy="Use privacy=1.0.",
        )
    release = NeighbourWeights(strength, single_pass, privacy.epsilon)
    return PricedReleases((release,), Guarantee.none(REASON), None)
