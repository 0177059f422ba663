"""The second derivative of the loss at a released point, with noise: how much was learnt about what."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
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
    release_error,
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
from dpglm.rows import ArrayChunk, RowChunk, Together, total
from dpglm.typing import FloatMatrix, FloatVector

# Cells of a grid of rows, by the chance of the response that the model does not expect, from 0 to 1/2. In a
# cell the largest slope and the largest information count: the bound is .25 % too large at most.
_CELLS: Final = 400
# More than all roundings of a price, or of what a row moves.
_ROUNDING: Final = 1e-12


def information_sensitivity(weight_max: float, relation: Relation) -> float:
    """Largest change of a sum of w x x', whose norms ``w |x|**2`` are at most ``weight_max``."""
    return weight_max * math.sqrt(STEPS[relation])  # proof: sensitivity


@lru_cache(maxsize=64)
def largest_change(score_weight: float, steepness: float, relation: Relation) -> float:
    """Largest change of an information with a score beside it, of a logistic loss or a steep one.

    A row with a large slope has little curvature, and the other way round: both together cost little more
    than the dearer of the two.

    Parameters
    ----------
    score_weight : float
        > 0; what multiplies the score beside the information, whose coordinates are orthonormal in Frobenius
        norm. Rows have norm 1 at most, and weights for which w times the squared norm is 1 at most.
    steepness : float
        C, at least 1.

    Examples
    --------
    >>> [round(largest_change(weight, 1.0, "add-remove"), 3) for weight in (0.1, 0.25, 1.0)]
    [0.256, 0.284, 1.0]
    >>> round(largest_change(0.18, 1.0, "replace-one") / information_sensitivity(0.25, "replace-one"), 3)
    1.072
    """
    squares, _ = _changes(score_weight, steepness, relation)
    return math.sqrt(float(squares.max())) * (1.0 + _ROUNDING)


def _changes(score_weight: float, steepness: float, relation: Relation) -> tuple[FloatMatrix, FloatMatrix]:
    """Squares of what one row, or a pair of them, changes at most in each cell, and the pair's cosines."""
    chances = np.linspace(0.0, 0.5, _CELLS + 1)
    slopes = _wrong_slope(chances, steepness)
    most, scored = slopes[:-1] * chances[1:], score_weight * slopes[:-1]  # proof: cells
    squares = scored**2 + most**2
    if STEPS[relation] == 1:
        return squares, np.ones_like(squares)
    least, both = slopes[1:] * chances[:-1], np.outer(scored, scored)
    against = np.outer(least, least)
    # At an angle with this cosine scores add up most, and products cancel least.
    cosines = both / np.maximum(both, 2.0 * against)
    return np.add.outer(squares, squares) + 2.0 * cosines * (
        both - against * cosines
    ), cosines  # proof: angle


def _wrong_slope(chances: FloatVector, steepness: float) -> FloatVector:
    """Size of a row's slope where its response had this chance, at most 1/2; times it the information."""
    return np.asarray(1.0 / (1.0 + (chances / (1.0 - chances)) ** steepness / (2.0 * steepness - 1.0)))


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
    score_weight : float
        Where it is not 0, the sum of w_i s_i x_i, s_i the slope of a logistic loss there, is released in the
        same vector, times this: p more numbers behind the matrix, with the same noise each.
    """

    family: Family
    scale: float
    law: Literal["gaussian", "gamma"]
    span: Span
    what: Literal["curvature", "score"] = "curvature"
    score_weight: float = 0.0

    name: ClassVar[str] = "information matrix"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN,)
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_bounded_slopes(self.family, "an information matrix")
        require_positive(self, "scale")
        if self.score_weight:  # proof: both
            require_positive(self, "score_weight")
            if not self.family.score_weight or self.what == "score":
                raise release_error("a score beside that", "a score beside the curvature of a logistic loss")
        self.noise_law.require_grid(self.sensitivity("add-remove"))

    @property
    def covers(self) -> Covered:
        return "all rows"  # proof: persons

    @property
    def noise_law(self) -> NoiseLaw:
        scored = self.span.size if self.score_weight else 0
        return NoiseLaw(self.law, self.scale, self.span.dimension + scored)

    def pooled(self, deviation: float) -> tuple[float, float]:
        """Share of the score in the best mean with another one, and the deviation of that mean's noise."""
        if not self.score_weight:
            return 0.0, deviation
        own = self.deviation / self.score_weight
        return deviation**2 / (deviation**2 + own**2), deviation * own / math.hypot(deviation, own)

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the sum in Frobenius norm, with a score in Euclidean norm of both."""
        if self.score_weight:
            return largest_change(self.score_weight, self.family.steepness, relation)  # proof: both
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
        if self.score_weight:
            factor = other.family.score_weight / self.family.score_weight
            other = replace(other, score_weight=self.score_weight * factor)
        most = max(other.sensitivity(relation) / self.sensitivity(relation) for relation in STEPS)
        return replace(other, scale=self.scale * most * (1.0 + _ROUNDING))

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        label = "score covariance" if self.what == "score" else self.name
        return ((label, self.noise_law.event(self.sensitivity(relation))),)  # proof: law

    def describe(self, relation: Relation) -> ReleaseDescription:
        weight = "squared slope" if self.what == "score" else "curvature"
        noise = "Gaussian" if self.law == "gaussian" else "of density proportional to exp(-|E| / scale)"
        scored = f", and {self.score_weight:.3g} times that of slope times x" if self.score_weight else ""
        score = "score and " if scored else ""
        return ReleaseDescription(
            name=self.name,
            released=f"the sum of {weight} times x x' at that point{scored}",
            sensitivity=self.sensitivity(relation),
            noise=f"symmetric, {noise}, of one scale in Frobenius norm",
            scale=self.scale,
            theorem=f"{self.noise_law.mechanism} on the {score}information matrix (information.md)",
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        scored = (
            "The score there is released in the same vector: a row with a large slope has little curvature, "
            "so both together change little more than the dearer of them does. "
        )
        return (
            "The information matrix is a second release, taken at the point that was released already. "
            "One row adds the outer product of a row of bounded norm, times a weight that the loss bounds, "
            "so that its Frobenius norm is bounded too; symmetric noise, equally strong in every direction "
            f"of that norm, hides it. {scored if self.score_weight else ''}The two releases compose.",
        )

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector | None:
        if at is None:
            return None
        noises = []
        for table in (first, second):
            X, y, offset, weight = one_piece(table)
            eta = at @ X + offset
            added = self._weights(eta, y, weight) @ outer_products(X).T
            if self.score_weight:
                scores = self.score_weight * (self.family.slope(eta, y) * weight) @ X.T
                added = np.concatenate([added, scores], axis=1)
            noises.append(answers - added)
        return self.noise_law.log_ratio(noises[0], noises[1])

    @property
    def sum_noise(self) -> SumNoise:
        return SumNoise(self.law, self.scale, self.sensitivity("add-remove"))  # proof: lattice

    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """The sum at the released point ``at``, projected onto the span, in its coordinates."""
        assert at is not None, "a curvature is taken at a released point"
        assert rows.size == self.span.size == len(at), "rows, point and span have the same columns"
        found, score = self._sum(rows, finite(at))  # proof: finite
        whole = self.span.whole_coordinates(found.total())  # proof: projection
        unit = found.unit * 2.0**-FINE
        if not self.score_weight:
            return WholeNumbers(whole, unit)
        units = np.repeat([unit, self.score_weight * score.unit], [len(whole), len(at)])
        return WholeNumbers(np.concatenate([whole, score.total()]), units)

    def finished(self, noisy: FloatVector) -> FloatVector:
        """The matrix, shape (p * p,)."""
        inside = noisy[: self.span.dimension]
        return np.concatenate([self.span.matrix(inside).ravel(), noisy[self.span.dimension :]])

    def _sum(self, rows: Rows, at: FloatVector) -> Together:
        """The weighted sum, exact for rows on a grid, in one read."""

        def part(chunks: Iterable[RowChunk]) -> Together:
            found = WholeSum((len(at), len(at)), math.sqrt(self.weight_max))
            score = WholeSum((len(at),), 1.0)
            for chunk in chunks:
                for wide, eta, y, weight in widened(chunk, at):  # proof: elementwise
                    if self.score_weight:
                        score.add_terms(wide, np.clip(self.family.slope(eta, y), -1.0, 1.0) * weight)
                    wide *= np.sqrt(self._weights(eta, y, weight))  # proof: weight
                    found.add_products(wide)
            return Together((found, score))

        return total(rows.chunks(), part)

    def _weights(self, eta: FloatVector, y: FloatVector, weight: FloatVector | float) -> FloatVector:
        if self.what == "score":
            return np.minimum(np.square(self.family.slope(eta, y)), self.weight_max) * np.square(weight)
        return np.minimum(self.family.information(eta, y), self.weight_max) * weight

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """One row of norm 1 and full weight at zero, against none or against one at a right angle.

        In a single column there is no right angle: the second row has no weight, half the price is used. With
        a score, the rows of the cell where both change most.
        """
        if self.score_weight:
            return self._scored_worst_case(relation, size)
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

    def _scored_worst_case(self, relation: Relation, size: int) -> WorstCase:
        squares, cosines = _changes(self.score_weight, self.family.steepness, relation)
        if size == 1:  # no angle
            squares = np.where(cosines < 1.0, 0.0, squares)
        cell = np.unravel_index(int(squares.argmax()), squares.shape)
        far = np.log(2.0 * _CELLS / (np.array(cell) + 0.5) - 1.0)  # of even odds, in the middle of the cell
        cosine, eye = cosines[cell], np.eye(size, dtype=np.float32)
        first, second = ArrayChunk(eye[:, :1], np.ones(1), -far[:1]), ArrayChunk(eye[:, :0], far[:0], far[:0])
        change = self._of_row(first)
        if relation == "replace-one":
            turned = cosine * eye[:, :1] + math.sqrt(1.0 - cosine**2) * np.roll(eye[:, :1], 1, axis=0)
            second = ArrayChunk((turned if size > 1 else eye).astype(np.float32), np.zeros(1), far[1:])
            change = change - self._of_row(second)
        return WorstCase(first, second, change / np.linalg.norm(change), at=np.zeros(size))

    def _of_row(self, row: ArrayChunk) -> FloatVector:
        """What a row adds where it has no predictor but its offset."""
        x, eta = row.X[:, 0].astype(np.float64), row.offset
        assert eta is not None, "the predictor"
        products = float(self.family.information(eta, row.y)[0]) * np.outer(x, x)
        return np.append(products, self.score_weight * float(self.family.slope(eta, row.y)[0]) * x)
