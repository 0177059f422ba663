"""Second moments of rows and responses, released once: all that a linear regression needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpglm.mechanisms import base
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource
from dpglm.mechanisms.noisy_sum import SumNoise, SumRelease
from dpglm.mechanisms.rows import shares_alone
from dpglm.mechanisms.span import Span
from dpglm.mechanisms.whole_sums import FINE, WholeNumbers, WholeSum
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.rows import ArrayChunk, RowChunk, Together, total
from dpglm.typing import SHARES, FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Sums over rows: X'X, shape (p, p), X'y, shape (p,), y'y, and the number of usable rows."""

    gram: FloatMatrix
    cross: FloatVector
    square: float
    count: float

    @classmethod
    def of(cls, flat: FloatVector, size: int) -> MomentSums:
        """Unpack what :class:`SecondMoments` releases for ``size`` coded columns.

        Examples
        --------
        >>> MomentSums.of(np.array([4.0, 1.0, 0.5, 3.0]), 1).gram
        array([[4.]])
        """
        entries = size * (size + 1) // 2
        gram = np.zeros((size, size))
        gram[np.triu_indices(size)] = flat[:entries]
        gram += np.triu(gram, 1).T
        return cls(gram, flat[entries : entries + size], float(flat[-2]), float(flat[-1]))

    def packed(self) -> FloatVector:
        """Upper triangle of X'X row by row, X'y, y'y and the count, shape (p (p + 1) / 2 + p + 2,)."""
        upper = self.gram[np.triu_indices(len(self.gram))]
        return np.concatenate([upper, self.cross, [self.square, self.count]])


@dataclass(frozen=True, eq=False)
class SecondMoments(SumRelease, base.NoisyRelease):
    r"""X'X, X'y, y'y and the number of usable rows, with noise of one scale in public weights.

    With rows x of norm at most 1 and coded responses y in [-1, 1], a row adds

        phi(x, y) = (gram_weight * svec(xx'), cross_weight * x y, square_weight * y^2, count_weight),

    svec being the upper triangle with off-diagonal entries times sqrt(2), so that its norm is the Frobenius
    norm. An offset is taken off the response, and the difference is clipped to [-1, 1]. Noise is added to the
    sum of phi and the weights are divided out again: a larger weight means less noise on that part.

    Parameters
    ----------
    span : Span
        Where X'X is known to lie, from the public coding of p columns; what is released is projected onto it.
    gram_weight, cross_weight, square_weight, count_weight : float
        Public weights, > 0; square_weight at most cross_weight, count_weight at most gram_weight.

    References
    ----------
    Wang (2018), "Revisiting differentially private linear regression", UAI, for the three statistics.
    """

    span: Span
    law: Literal["gaussian", "gamma"]
    scale: float
    gram_weight: float
    cross_weight: float
    square_weight: float
    count_weight: float

    name: ClassVar[str] = "second moments"
    premises: ClassVar[tuple[str, ...]] = (base.CHOSEN,)

    def __post_init__(self) -> None:
        base.require_positive(self, "scale", "gram_weight", "cross_weight", "square_weight", "count_weight")
        self.noise_law.require_grid(self._least_sensitivity)
        if self.square_weight > self.cross_weight or self.count_weight > self.gram_weight:  # proof: weights
            raise base.release_error(
                "weights out of order", "square_weight <= cross_weight and count_weight <= gram_weight"
            )

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the sum of phi, Euclidean norm."""
        gram, cross = self.gram_weight**2, self.cross_weight**2
        if relation == "add-remove":
            return math.sqrt(gram + cross + self.square_weight**2 + self.count_weight**2)  # proof: add-remove
        if cross <= 2.0 * gram:
            return math.sqrt(2.0 * gram + 2.0 * cross + cross**2 / (2.0 * gram))  # proof: replace-one
        return 2.0 * self.cross_weight  # proof: opposite

    @property
    def covers(self) -> base.Covered:
        return "all rows"  # proof: persons

    @property
    def _least_sensitivity(self) -> float:
        return min(self.sensitivity("add-remove"), self.sensitivity("replace-one"))

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        return ((self.name, self.noise_law.event(self.sensitivity(relation))),)  # proof: law

    def describe(self, relation: Relation) -> ReleaseDescription:
        return ReleaseDescription(
            name=self.name,
            released="X'X, X'y, y'y and the number of rows that can be used, once",
            sensitivity=self.sensitivity(relation),
            noise=f"{self.noise_law.words} on weighted moments",
            scale=self.scale,
            theorem=f"{self.noise_law.mechanism} on second moments (moments.md)",
            facts=(
                Fact("Noise of X'X, standard deviation on the diagonal", self.gram_deviation),
                Fact("Noise of X'y, standard deviation", self.cross_deviation),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        return (base.WHY_SUM,)

    @property
    def gram_deviation(self) -> float:
        """Standard deviation of the noise of X'X, on the diagonal and before it is projected."""
        return self.deviation / self.gram_weight

    @property
    def cross_deviation(self) -> float:
        """Standard deviation of the noise of X'y."""
        return self.deviation / self.cross_weight

    @property
    def count_deviation(self) -> float:
        """Standard deviation of the noise of the number of rows."""
        return self.deviation / self.count_weight

    @property
    def dimension(self) -> int:
        """Number of independent noises: free entries of X'X, and p + 2."""
        return self.span.dimension + self.size + 2

    @property
    def size(self) -> int:
        """Number of coded columns p."""
        return self.span.size

    @property
    def noise_law(self) -> NoiseLaw:
        return NoiseLaw(self.law, self.scale, self.dimension)

    @property
    def sum_noise(self) -> SumNoise:
        return SumNoise(self.law, self.scale, self._least_sensitivity)  # proof: lattice

    def whole(self, rows: base.Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        """The sum of phi, X'X in coordinates of the span, shape (dimension,)."""
        assert at is None, "moments are not evaluated at a point"
        return self._weighted(*self._sums(rows))  # proof: projection

    def finished(self, noisy: FloatVector) -> FloatVector:
        """Weights divided out; shape (p (p + 1) / 2 + p + 2,), see :meth:`MomentSums.of`."""
        return self._unweighted(noisy).packed()

    def _weighted(self, products: WholeSum, count: int) -> WholeNumbers:
        """The sum of phi, in orthonormal coordinates, X'X inside the span."""
        sums, size = products.total(), self.size
        gram = self.span.whole_coordinates(sums[:size, :size])
        others = (sums[:size, size], sums[size:, size], np.array([count], dtype=object))
        weights = (self.gram_weight, self.cross_weight, self.square_weight, self.count_weight)
        units = (products.unit * 2.0**-FINE, products.unit, products.unit, 1.0 / SHARES)
        parts = (gram, *others)
        repeated = [
            np.full(len(part), weight * unit)
            for part, weight, unit in zip(parts, weights, units, strict=True)
        ]
        return WholeNumbers(np.concatenate(parts), np.concatenate(repeated))

    def _unweighted(self, flat: FloatVector) -> MomentSums:
        entries = self.span.dimension
        return MomentSums(
            self.span.matrix(flat[:entries] / self.gram_weight),
            flat[entries:-2] / self.cross_weight,
            float(flat[-2]) / self.square_weight,
            float(flat[-1]) / self.count_weight,
        )

    def _sums(self, rows: base.Rows) -> tuple[WholeSum, int]:
        """Products of rows with the response as their last number, and how many count, in `SHARES`-ths."""

        def part(chunks: Iterable[RowChunk]) -> Together:
            products, count = WholeSum((self.size + 1, self.size + 1), 1.0), 0
            for block in chunks:
                y = block.y if block.offset is None else block.y - block.offset
                factors = np.vstack([block.X, np.clip(y, -1.0, 1.0)]).astype(np.float64)  # proof: response
                usable = factors.any(axis=0)  # proof: unusable
                share = shares_alone(block)
                if share is None:
                    count += int(usable.sum()) * SHARES
                else:
                    factors *= np.sqrt(share)
                    count += int(np.rint(share[usable] * SHARES).astype(np.int64).sum())
                products.add_products(factors)
            return Together((products, count))

        products, count = total(rows.chunks(), part)
        return products, count

    def worst_case(self, relation: Relation, size: int) -> base.WorstCase:
        """A row against none, or two rows at the angle that moves most; in one column there is no angle."""
        first, second = np.eye(size, 1), np.zeros((size, 0))
        if relation == "replace-one":
            shared = min(1.0, (self.cross_weight / self.gram_weight) ** 2 / 2.0) if size > 1 else 1.0
            second = -shared * np.eye(size, 1)
            second[1:2] = math.sqrt(1.0 - shared**2)
        tables = [ArrayChunk(x.astype(np.float32), np.ones(x.shape[1]), None) for x in (first, second)]
        apart = _added(first).packed() - _added(second).packed()
        weights = MomentSums(
            np.full((size, size), 2.0 * self.gram_weight**2) - self.gram_weight**2 * np.eye(size),
            np.full(size, self.cross_weight**2),
            self.square_weight**2,
            self.count_weight**2,
        ).packed()
        return base.WorstCase(tables[0], tables[1], weights * apart)


def _added(x: FloatMatrix) -> MomentSums:
    """What rows in columns with response 1 add."""
    return MomentSums(x @ x.T, x.sum(axis=1), float(x.shape[1]), float(x.shape[1]))
