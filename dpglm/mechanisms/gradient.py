"""The gradient of the loss at a released point, on all rows or a random sample of them, with noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from dpglm.errors import MethodError
from dpglm.factor_rows import squares
from dpglm.glm.families import Family
from dpglm.mechanisms import base
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource, grid_step
from dpglm.mechanisms.noisy_sum import NoisySum, SumNoise, SumRelease
from dpglm.mechanisms.rows import chosen_rows, finite
from dpglm.mechanisms.whole_sums import WholeNumbers, WholeSum
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.events import Event, Fact, GaussianEvent, ReleaseDescription, SampledGaussianEvent
from dpglm.row_loops import predictors
from dpglm.rows import LazyChunk, Placed, RowChunk, Together, rows_at, total
from dpglm.typing import FloatVector

_ENTRIES = 2**18  # in double precision at a time: they stay in cache
# Rows of a step and the mechanism, in words.
_SAMPLES = {
    "all": ("all", "Gaussian mechanism"),
    "poisson": ("each with probability rate", "Gaussian mechanism on Poisson samples, composed numerically"),
    "fixed": (
        "a uniform subset of share rate",
        "Gaussian mechanism on samples without replacement, composed numerically",
    ),
}
# A rate is a quotient in double precision: what a whole number of rows may lack of itself.
_ROUNDING = 2.0**-50


@dataclass(frozen=True, eq=False)
class Gradient(SumRelease, base.NoisyRelease):
    r"""Sums of slope times row at released points, plus Gaussian noise on a grid.

    Releases :math:`\sum_{i \in B} s_i x_i + N(0, scale^2 I)`, shape (p,), s_i the slope of row i's loss at a
    point that was released before, cut so that :math:`|s_i x_i| \le clip`. Sum units: it is a sum over the
    sample B, whatever its size. With ``parts`` J, rows i = j modulo J are summed at the j-th of J points; the
    answer holds J sums, shape (J p,).

    Parameters
    ----------
    clip : float
        Largest norm of one row's gradient. Families with slopes in [-1, 1] have 1 and are never cut there.
    sampling : {"all", "poisson", "fixed"}
        All rows; each with probability ``rate``; or a uniform subset of ``rate * n`` of them, rounded down, n
        being public (replace-one only). Drawn afresh for each run, and never shown.
    rate : float
        In (0, 1]; 1 where all rows are read.
    parts : int
        Rows are dealt out by their place, which is public under replace-one only. No parts of a sample.
    """

    family: Family
    scale: float
    clip: float = 1.0
    sampling: Literal["all", "poisson", "fixed"] = "all"
    rate: float = 1.0
    parts: int = 1

    name: ClassVar[str] = "gradient"
    premises: ClassVar[tuple[str, ...]] = (base.CHOSEN,)

    def __post_init__(self) -> None:
        base.require_positive(self, "scale", "clip")
        if not 0.0 < self.rate <= 1.0 or (self.sampling == "all" and self.rate != 1.0):
            raise base.release_error(
                f"rate={self.rate!r} with sampling={self.sampling!r}", "a rate in (0, 1], 1 for all"
            )
        if self.sampling not in ("all", "poisson", "fixed"):
            raise base.release_error(f"sampling={self.sampling!r}", "'all', 'poisson' or 'fixed'")
        if self.parts < 1 or (self.parts > 1 and self.sampling != "all"):
            raise base.release_error(
                f"parts={self.parts!r} with sampling={self.sampling!r}", "parts of all rows"
            )
        self.require_grid(1)

    @property
    def noise_law(self) -> NoiseLaw:
        return NoiseLaw("gaussian", self.scale, 1)

    def require_grid(self, size: int) -> None:
        """Refuse noise that no grid serves for gradients of ``size`` columns."""
        grid_step(self.scale, self.clip, self.parts * size)

    @property
    def covers(self) -> base.Covered:
        return "nothing" if self.parts > 1 else "one row"  # proof: persons

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the sums by one neighbour that is in the sample, Euclidean norm."""
        return self.clip * STEPS[relation]  # proof: sensitivity

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
        rows, mechanism = _SAMPLES[self.sampling]
        rate = () if self.sampling == "all" else (Fact("Rate", self.rate),)
        return ReleaseDescription(
            name=self.name,
            released="the sum of row gradients at a point that was released before",
            sensitivity=self.sensitivity(relation),
            noise=f"{self.noise_law.words}, fresh for every gradient",
            scale=self.scale,
            theorem=f"{mechanism} (gradient.md)",
            facts=(Fact("Rows of a step", rows), *rate, Fact("Gradient of a row, at most", self.clip)),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (base.WHY_SUM,)

    @property
    def sum_noise(self) -> SumNoise:
        return SumNoise("gaussian", self.scale, self.clip)  # proof: lattice

    @property
    def summed(self) -> NoisySum | None:
        # Parts are dealt by place in one table, and a sample is paid for by events that no one else computes.
        return self if self.parts == 1 and self.sampling == "all" else None

    def whole(self, rows: base.Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """The sums at the released points ``at``, shape (parts * p,)."""
        assert at is not None, "a gradient is taken at a released point"
        assert len(at) == self.parts * rows.size, "a point for each part"
        points = finite(at).reshape(self.parts, rows.size)  # proof: finite

        def part(placed: Iterable[Placed]) -> Together:
            sums = [WholeSum((points.shape[1],), self.clip) for _ in points]
            for first, chunk in placed:
                for party, sum_ in enumerate(sums):
                    own = slice((party - first) % self.parts, None, self.parts)
                    self._add(rows_at(chunk, own), points[party], sum_)
            return Together(sums)

        sums = total(self._sampled(rows, noise), part)
        whole = np.concatenate([sum_.total() for sum_ in sums])
        return WholeNumbers(whole, sums[0].unit)

    def _sampled(self, rows: base.Rows, noise: NoiseSource) -> Iterator[Placed]:
        """Chunks of the rows of a step, and how many of these rows come before each."""
        chosen = np.zeros(0, dtype=np.bool_)
        if self.sampling == "fixed":
            count = rows.row_count()
            chosen = np.zeros(count, dtype=np.bool_)
            size = min(count, math.floor(self.rate * count * (1.0 + _ROUNDING)))
            chosen[noise.subset(count, size)] = True  # proof: subset
        first = before = 0
        for chunk in rows.chunks():
            count = chunk.count
            if self.sampling == "all":
                yield Placed(first, chunk)
                first += count
                continue
            poisson = self.sampling == "poisson"
            # Drawn here, in the order of the rows, and not by the threads that read them.
            own = (
                noise.chances(count, self.rate) if poisson else chosen[before : before + count]
            )  # proof: poisson
            taken = int(own.sum())
            yield Placed(first, LazyChunk.of(chunk, partial(chosen_rows, chosen=own), taken))
            first, before = first + taken, before + count

    def _add(self, block: RowChunk, at: FloatVector, sum_: WholeSum) -> None:
        """Add the rows' cut gradients to a sum."""
        width = max(64, _ENTRIES // len(at))
        for first in range(0, block.count, width):
            piece = rows_at(block, slice(first, first + width))
            eta = predictors(at, piece.X)  # proof: elementwise
            slope = self.family.slope(eta if piece.offset is None else eta + piece.offset, piece.y)
            slope = slope if piece.weight is None else slope * piece.weight
            norm = np.sqrt(squares(np.ones(len(at)), piece.X))
            most = self.clip / np.maximum(norm, self.clip * 2.0**-40)
            sum_.add_terms(piece.X, np.clip(slope, -most, most))  # proof: clip

    def worst_case(self, relation: Relation, size: int) -> base.WorstCase:
        first, second = base.worst_case_rows(self.family, relation, size)
        direction = np.tile(np.eye(size)[0], self.parts)
        return base.WorstCase(first, second, direction, at=np.zeros(self.parts * size))
