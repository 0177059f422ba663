"""The second derivative of the loss at a released point, with noise: how much was learnt about what."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

import numpy as np

from dpglm.glm.families import Family
from dpglm.mechanisms.base import (
    CHOSEN,
    FAR,
    Covered,
    NoisyRelease,
    Rows,
    WorstCase,
    require_bounded_slopes,
    require_positive,
)
from dpglm.mechanisms.densities import one_piece, outer_products
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource
from dpglm.mechanisms.noisy_sum import SumNoise, SumRelease
from dpglm.mechanisms.rows import finite, widened
from dpglm.mechanisms.span import Span
from dpglm.mechanisms.whole_sums import FINE, WholeNumbers, WholeSum
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.events import Event, ReleaseDescription
from dpglm.rows import ArrayChunk, RowChunk, total
from dpglm.typing import FloatMatrix, FloatVector

# More noise than all roundings of a price.
_ROUNDING: Final = 1e-12


def information_sensitivity(weight_max: float, relation: Relation) -> float:
    """Largest change of a sum of w x x', whose norms ``w |x|**2`` are at most ``weight_max``."""
    return weight_max * math.sqrt(STEPS[relation])  # proof: sensitivity


@dataclass(frozen=True, eq=False)
class Information(SumRelease, NoisyRelease):
    r"""A sum of weighted products of rows, with symmetric noise, on the span of declared rows.

    Releases :math:`\Pi(\sum_i w_i x_i x_i') + E`, shape (p, p) flattened, with w_i the curvature of the loss
    of row i at a point that was released before, of a steep loss its mean (`Family.information`: at most 1/4
    for binomial, 2 - 1/C times that of steepness C, 1 for poisson), or its squared
    slope (at most 1), times the row's own weight, or its square. Pi is the Frobenius projection onto
    ``span``. Sum units.

    Gaussian noise E is the projection of a symmetric matrix with variance ``scale**2`` on the diagonal and
    half of that off it, added on a grid. Gamma noise has density exp(-|E|_F / scale) on the span.

    Parameters
    ----------
    family : Family
        With slopes in an interval of length 1 that holds 0, and a bound on its curvature of at most 1.
    span : Span
        Public; its columns are those of the rows.
    what : {"curvature", "score"}
        The second derivative, or the sum of squared slopes times x x' (for robust variances).
    """

    family: Family
    scale: float
    law: Literal["gaussian", "gamma"]
    span: Span
    what: Literal["curvature", "score"] = "curvature"

    name: ClassVar[str] = "information matrix"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN,)
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_bounded_slopes(self.family, "an information matrix")
        require_positive(self, "scale")
        self.noise_law.require_grid(self.weight_max)

    @property
    def covers(self) -> Covered:
        return "all rows"  # proof: persons

    @property
    def noise_law(self) -> NoiseLaw:
        return NoiseLaw(self.law, self.scale, self.span.dimension)

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the sum in Frobenius norm."""
        return information_sensitivity(self.weight_max, relation)

    @property
    def weight_max(self) -> float:
        """The largest weight of a row."""
        most = self.family.information_max
        assert most is not None, "checked on construction"
        return 1.0 if self.what == "score" else most

    def steeper(self, steepness: float) -> Information:
        """The same of the family's `steeper` loss, with noise at which it costs no more."""
        other = replace(self, family=self.family.steeper(steepness))
        return replace(other, scale=self.scale * (other.weight_max / self.weight_max) * (1.0 + _ROUNDING))

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        label = "score covariance" if self.what == "score" else self.name
        return ((label, self.noise_law.event(self.sensitivity(relation))),)  # proof: law

    def describe(self, relation: Relation) -> ReleaseDescription:
        weight = "squared slope" if self.what == "score" else "curvature"
        noise = "Gaussian" if self.law == "gaussian" else "of density proportional to exp(-|E| / scale)"
        return ReleaseDescription(
            name=self.name,
            released=f"the sum of {weight} times x x' at that point",
            sensitivity=self.sensitivity(relation),
            noise=f"symmetric, {noise}, of one scale in Frobenius norm",
            scale=self.scale,
            theorem=f"{self.noise_law.mechanism} on the information matrix (information.md)",
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (
            "The information matrix is a second release, taken at the point that was released already. "
            "One row adds the outer product of a row of bounded norm, times a weight that the loss bounds, "
            "so that its Frobenius norm is bounded too; symmetric noise, equally strong in every direction "
            "of that norm, hides it. The two releases compose.",
        )

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        if at is None:
            return None
        noises = []
        for table in (first, second):
            X, y, offset, weight = one_piece(table)
            weights = self._weights(at @ X + offset, y, weight)
            noises.append(answers - weights @ outer_products(X).T)
        return self.noise_law.log_ratio(noises[0], noises[1])

    @property
    def sum_noise(self) -> SumNoise:
        return SumNoise(self.law, self.scale, self.weight_max)  # proof: lattice

    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """The sum at the released point ``at``, projected onto the span, in its coordinates."""
        assert at is not None, "a curvature is taken at a released point"
        assert rows.size == self.span.size == len(at), "rows, point and span have the same columns"
        found = self._sum(rows, finite(at))  # proof: finite
        whole = self.span.whole_coordinates(found.total())  # proof: projection
        return WholeNumbers(whole, found.unit * 2.0**-FINE)

    def finished(self, noisy: FloatVector) -> FloatVector:
        """The matrix, shape (p * p,)."""
        return self.span.matrix(noisy).ravel()

    def _sum(self, rows: Rows, at: FloatVector) -> WholeSum:
        """The weighted sum, exact for rows on a grid, in one read."""

        def part(chunks: Iterable[RowChunk]) -> WholeSum:
            found = WholeSum((len(at), len(at)), math.sqrt(self.weight_max))
            for chunk in chunks:
                for wide, eta, y, weight in widened(chunk, at):  # proof: elementwise
                    wide *= np.sqrt(self._weights(eta, y, weight))  # proof: weight
                    found.add_products(wide)
            return found

        return total(rows.chunks(), part)

    def _weights(self, eta: FloatVector, y: FloatVector, weight: FloatVector | float) -> FloatVector:
        if self.what == "score":
            return np.minimum(np.square(self.family.slope(eta, y)), self.weight_max) * np.square(weight)
        return np.minimum(self.family.information(eta, y), self.weight_max) * weight

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row of norm 1 and full weight at zero, against none or against one at a right angle.

        In a single column there is no right angle: the second row has no weight, half the price is used.
        """
        axes = np.eye(size, min(size, 2), dtype=np.float32)
        offset, y = np.array([-FAR if self.what == "score" else 0.0]), np.array([1.0])
        none = np.array([FAR])
        if self.family.response_kind == "count":  # a mean at the bound, or beyond it, with a response of 0
            at_bound = math.log(float(self.family.mean(np.array([FAR]))[0]))
            offset = np.array([FAR if self.what == "score" else at_bound])
            y, none = np.array([0.0]), np.array([-FAR if self.what == "score" else FAR])
        first = ArrayChunk(axes[:, :1], y, offset)
        second = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
        direction = np.zeros((size, size))
        direction[0, 0] = 1.0
        if relation == "replace-one":
            if size > 1:
                second = ArrayChunk(np.ascontiguousarray(axes[:, 1:]), y, offset)
                direction[1, 1] = -1.0
            else:
                second = ArrayChunk(axes[:, :1], y, none)
        return WorstCase(first, second, direction.ravel(), at=np.zeros(size))
