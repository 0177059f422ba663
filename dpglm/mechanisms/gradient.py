"""The gradient of the loss at a released point, on all rows or a random sample of them, with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.mechanisms import why
from dpglm.mechanisms.base import (
    CHOSEN,
    LAWS,
    SUMS,
    Release,
    Rows,
    WorstCase,
    release_error,
    require_positive,
)
from dpglm.mechanisms.noise.lattice import add_normal, grid_step
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.mechanisms.rows import finite, predictor, worst_case_rows
from dpglm.optim.rows import RowChunk
from dpglm.privacy.budget import Relation
from dpglm.privacy.description import Fact, ReleaseDescription
from dpglm.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from dpglm.typing import BoolVector, FloatVector

# Rows widened to float64 at a time: their working copy stays in cache.
_ENTRIES = 2**18
# A rate is a quotient in double precision: what a whole number of rows may lack of itself.
_ROUNDING = 2.0**-50


@dataclass(frozen=True, eq=False)
class Gradient(Release):
    r"""Sums of slope times row at released points, plus Gaussian noise on a grid.

    Releases :math:`\sum_{i \in B} s_i x_i + N(0, scale^2 I)`, shape (p,), s_i the slope of row i's loss at a
    point that was released before, cut so that :math:`|s_i x_i| \le clip`. Sum units: it is a sum over the
    sample B, whatever its size. With ``parts`` J, rows i = j modulo J are summed at the j-th of J points; the
    answer holds J sums, shape (J p,).

    Parameters
    ----------
    family : Family
    scale : float
        Standard deviation of each coordinate of the noise.
    clip : float
        Largest norm of one row's gradient. Families with slopes in [-1, 1] have 1 and are never cut there.
    sampling : {"all", "poisson", "fixed"}
        All rows; each with probability ``rate``; or a uniform subset of ``rate * n`` of them, rounded down, n
        being public (replace-one only). Drawn afresh for each run, and never shown.
    rate : float
        In (0, 1]; 1 where all rows are read.
    parts : int
        Rows are dealt out by their place, which is public under replace-one only.

    Raises
    ------
    MethodError
        A number out of its range, or parts of a sample.

    References
    ----------
    ``gradient.md`` beside this file.
    """

    family: Family
    scale: float
    clip: float = 1.0
    sampling: Literal["all", "poisson", "fixed"] = "all"
    rate: float = 1.0
    parts: int = 1

    name: ClassVar[str] = "gradient"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, SUMS)

    def __post_init__(self) -> None:
        require_positive(self, "scale", "clip")
        if not 0.0 < self.rate <= 1.0 or (self.sampling == "all" and self.rate != 1.0):
            raise release_error(
                f"rate={self.rate!r} with sampling={self.sampling!r}", "a rate in (0, 1], 1 for all"
            )
        if self.sampling not in ("all", "poisson", "fixed"):
            raise release_error(f"sampling={self.sampling!r}", "'all', 'poisson' or 'fixed'")
        if self.parts < 1 or (self.parts > 1 and self.sampling != "all"):
            raise release_error(f"parts={self.parts!r} with sampling={self.sampling!r}", "parts of all rows")
        self.require_grid(1)

    def require_grid(self, size: int) -> None:
        """Refuse noise that no grid serves for gradients of ``size`` columns."""
        grid_step(self.scale, self.clip, self.parts * size)

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the sums by one neighbour that is in the sample, Euclidean norm."""
        return self.clip * (2.0 if relation == "replace-one" else 1.0)  # proof: sensitivity

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        if relation == "add-remove" and (self.sampling == "fixed" or self.parts > 1):
            raise MethodError(
                "samples of a fixed size, or parts by place, under add-remove",
                expected="replace-one, where the number of rows and their places are public",
                remedy="Use relation='replace-one', or another sampling.",
            )
        mu = self.sensitivity(relation) / self.scale
        if self.sampling == "all":
            return ((self.name, GaussianEvent(mu)),)  # proof: gaussian
        event = SampledGaussianEvent(mu, self.rate, self.sampling, relation)  # proof: sampled
        return ((self.name, event),)

    def describe(self, relation: Relation) -> ReleaseDescription:
        sampled = self.sampling != "all"
        rows = {
            "all": "all",
            "poisson": "each with probability rate",
            "fixed": "a uniform subset of share rate",
        }
        rate = (Fact("Rate", self.rate),) if sampled else ()
        kind = {
            "all": "Gaussian mechanism",
            "poisson": "Gaussian mechanism on Poisson samples, composed numerically",
            "fixed": "Gaussian mechanism on samples without replacement, composed numerically",
        }
        return ReleaseDescription(
            name=self.name,
            released="the sum of row gradients at a point that was released before",
            sensitivity=self.sensitivity(relation),
            noise=f"{LAWS['gaussian']}, fresh for every gradient",
            scale=self.scale,
            theorem=f"{kind[self.sampling]} (gradient.md)",
            facts=(
                Fact("Rows of a step", rows[self.sampling]),
                *rate,
                Fact("Gradient of a row, at most", self.clip),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (why.SUM,)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """The sums at the released points ``at``, shape (parts * p,), plus noise."""
        assert at is not None, "a gradient is taken at a released point"
        assert len(at) == self.parts * rows.size, "a point for each part"
        points = finite(at).reshape(self.parts, rows.size)  # proof: finite
        total = np.zeros((self.parts, rows.size))
        first = 0
        for block, chosen in self._sampled(rows, noise):
            count = len(block.y)
            for part in range(self.parts):
                place = (first + np.arange(count)) % self.parts == part if self.parts > 1 else chosen
                total[part] += self._sum(block, place, points[part])
            first += count
        return add_normal(
            total.ravel(), scale=self.scale, sensitivity=self.clip, noise=noise
        )  # proof: lattice

    def _sampled(self, rows: Rows, noise: NoiseSource) -> Iterator[tuple[RowChunk, BoolVector | None]]:
        """Blocks, each with a mask of the rows in the sample, or None for all of them."""
        chosen: BoolVector | None = None
        if self.sampling == "fixed":
            count = rows.row_count()
            chosen = np.zeros(count, dtype=np.bool_)
            size = min(count, math.floor(self.rate * count * (1.0 + _ROUNDING)))
            chosen[noise.subset(count, size)] = True  # proof: subset
        first = 0
        for block in rows.chunks():
            count = len(block.y)
            if self.sampling == "poisson":
                yield block, noise.chances(count, self.rate)  # proof: poisson
            else:
                yield block, None if chosen is None else chosen[first : first + count]
            first += count

    def _sum(self, block: RowChunk, chosen: BoolVector | None, at: FloatVector) -> FloatVector:
        """Over the chosen rows of a block, in double precision."""
        X, y, offset = block.X, block.y, block.offset
        if chosen is not None:
            X, y = X[:, chosen], y[chosen]
            offset = None if offset is None else offset[chosen]
        total = np.zeros(len(at))
        width = max(64, _ENTRIES // len(at))
        for first in range(0, len(y), width):
            part = slice(first, first + width)
            wide = X[:, part].astype(np.float64)
            eta = predictor(at, wide)  # proof: elementwise
            if offset is not None:
                eta += offset[part]
            slope = self.family.slope(eta, y[part])
            norm = np.sqrt(np.einsum("ij,ij->j", wide, wide))
            most = self.clip / np.maximum(norm, self.clip * 2.0**-40)
            total += wide @ np.clip(slope, -most, most)  # proof: clip
        return total

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row, against none or against its opposite; offsets keep their slopes at the largest."""
        first, second = worst_case_rows(self.family, relation, size)
        direction = np.tile(np.eye(size)[0], self.parts)
        return WorstCase(first, second, direction, at=np.zeros(self.parts * size))
