"""A perturbed minimiser on rows that are stretched to a typical length of 1, and shortened where longer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpglm.errors import MethodError
from dpglm.mechanisms.base import (
    CERTIFICATE,
    CHOSEN,
    FAR,
    IDEAL_NOISE,
    TAIL,
    NoisyRelease,
    Rows,
    WorstCase,
    release_error,
    require_positive,
)
from dpglm.mechanisms.noise import NoiseLaw, NoiseSource
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.rows import SHRINK, RowView, one_piece, squares, unweighted
from dpglm.optim.rows import ArrayChunk, RowChunk
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.events import Event, Fact, ReleaseDescription
from dpglm.typing import FloatBlock, FloatMatrix, FloatVector

# Squared lengths are rounded down to multiples of this, so that their sum has no rounding error.
_GRID = 2.0**-20
# Rows of the audit's tables beside the one that differs; even.
_BESIDE = 64


def length_sensitivity(relation: Relation) -> float:
    """What one row moves the sums of (|x|^2 - 1/2, 1/2) by, Euclidean norm; with or without the second."""
    return math.sqrt(0.5 * STEPS[relation])  # proof: sensitivity


@dataclass(frozen=True, eq=False)
class NormClippedMinimiser(NoisyRelease):
    r"""A factor c from a noisy mean of squared row lengths, and a minimiser on the rows times c.

    The declared bounds keep |x| <= 1, but a typical row of many columns is much shorter, while the noise is
    meant for rows of norm 1. So the mean of |x|^2 is released first, and the minimiser then reads

        min(c, 1 / |x|) x,      c = 1 / (margin * root mean square of |x|), between 1 and ``most``.

    With a ridge P for each coordinate the length of a row is the larger of |x| and of the square root of
    ``x' P^-1 x / max_leverage``, so that clipped rows are within that, too. Released is c, followed by the
    minimiser; the coefficients of rows that were not shortened are c times it.

    Parameters
    ----------
    minimiser : PerturbedMinimiser
        Calibrated for rows of norm at most 1; ``claimed_epsilon`` None. Its ridge, penalty strength and
        tolerance act on coefficients of the stretched rows, which are 1 / c times those of the coded rows.
    length_scale : float
        Scale of the noise of the sums, which is of the minimiser's law.
    count_rows : bool
        Whether the number of rows is released with noise, too, as it must be under add-remove: of rows that
        are not zero. If not, the sum is divided by the number of rows, usable or not.
    margin : float
        Between 0.001 and 1000. A row as long as ``margin`` times the root mean square gets norm 1.
    most : float
        Largest c, between 1 and a million.
    """

    minimiser: PerturbedMinimiser
    length_scale: float
    count_rows: bool
    margin: float = 1.25
    most: float = 10.0

    name: ClassVar[str] = "perturbed minimiser on shortened rows"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL, IDEAL_NOISE)

    @property
    def noise_scales(self) -> tuple[float, ...]:
        return self.length_scale, *self.minimiser.noise_scales

    def describe(self, relation: Relation) -> ReleaseDescription:
        described = self.minimiser.describe(relation)
        facts = (
            Fact("Row lengths", "measured first, rows scaled up and the longest clipped"),
            Fact("Noise scale of the row lengths", self.length_scale),
        )
        return replace(described, name=self.name, facts=(*described.facts, *facts))

    def why(self, relation: Relation) -> tuple[str, ...]:
        return self.minimiser.why(relation)

    @staticmethod
    def coefficients(answer: FloatVector) -> tuple[float, FloatVector]:
        """The released factor c, and coefficients of rows that were not scaled, shape (p,)."""
        factor = float(answer[0])
        return factor, np.asarray(factor * answer[1:])

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector:
        """Of the sum of squared lengths that c tells of, and of the minimiser at that c."""
        factor = answers[:, 0]
        count = 0.5 * (first.row_count() + second.row_count())
        told = count / (self.margin * factor) ** 2
        sums = [float(np.square(one_piece(table)[0]).sum()) for table in (first, second)]
        scale = self.length_scale * (math.sqrt(2.0) if self.count_rows else 1.0)
        law = replace(self.noise_law, scale=scale)
        lengths = law.log_ratio((told - sums[0])[:, None], (told - sums[1])[:, None])
        return lengths + self.minimiser.log_ratio(answers[:, 1:], first, second, None, factor)

    @property
    def noise_law(self) -> NoiseLaw:
        """Of the sums that tell how long rows are."""
        return NoiseLaw(self.minimiser.law, self.length_scale, 2 if self.count_rows else 1)

    def __post_init__(self) -> None:
        require_positive(self, "length_scale")
        if not (1e-3 <= self.margin <= 1e3 and 1.0 <= self.most <= 1e6):
            raise release_error(
                f"margin={self.margin!r}, most={self.most!r}",
                "margin from 1e-3 to 1e3; most from 1 to 1e6",
            )
        self.noise_law.require_grid(length_sensitivity("add-remove"), 2)
        if self.minimiser.claimed_epsilon is not None:
            raise release_error(
                f"a minimiser claimed at epsilon={self.minimiser.claimed_epsilon:g} after another release",
                "claimed_epsilon=None, whose price composes",
            )

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the minimiser's score; that of the lengths is `length_sensitivity`."""
        return self.minimiser.sensitivity(relation)

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        if relation == "add-remove" and not self.count_rows:
            raise MethodError(
                "row lengths divided by the number of rows under add-remove, where it is private",
                expected="count_rows=True",
                remedy="Count the rows with noise, or use replace-one.",
            )
        length = self.noise_law.event(length_sensitivity(relation))  # proof: law
        return ("row length", length), *self.minimiser.events(relation)  # proof: order

    def expected_factor(self, mean_square: float) -> float:
        """The factor c for rows of this mean squared length, > 0."""
        return min(max(1.0 / (self.margin * math.sqrt(mean_square)), 1.0), self.most)

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Measure, stretch and shorten, minimise; shape (p + 1,): c, and coefficients of shortened rows."""
        assert at is None, "a minimiser is not evaluated at a point"
        least = length_sensitivity("add-remove")
        measured = self.noise_law.add(self._sums(rows), least, noise)  # proof: fresh
        factor = self.factor(measured, 0 if self.count_rows else rows.row_count())  # proof: released
        shortened = NormClippedRows(rows, factor, self._weights)
        return np.concatenate([[factor], self.minimiser.run(shortened, None, noise)])

    def factor(self, measured: FloatVector, count: int) -> float:
        """The factor c from released sums and, where these have none, the public number of rows.

        Not larger than for a mean as small as noise alone would make it; a float32 number.
        """
        dimension = len(measured)
        number = max(2.0 * float(measured[1]) if dimension == 2 else float(count), 1.0)
        mean = float(measured[0]) / number + (0.5 if dimension == 2 else 0.0)
        mean = max(mean, self.deviation / number)
        return float(np.float32(self.expected_factor(mean))) if mean > 0.0 else 1.0  # no number says nothing

    @property
    def _weights(self) -> FloatVector | None:
        if np.ndim(self.minimiser.ridge) == 0:
            return None
        assert self.minimiser.max_leverage is not None, "checked by the minimiser"
        return 1.0 / (np.asarray(self.minimiser.ridge) * self.minimiser.max_leverage)

    def _sums(self, rows: Rows) -> FloatVector:
        """Sum of squared lengths; with a count, sums of squared lengths - 1/2 and of 1/2 over rows not 0."""
        total, number = 0.0, 0
        with np.errstate(all="ignore"):
            for block in unweighted(rows):
                lengths = _squared_lengths(block.X, self._weights)
                lengths = np.where(np.isfinite(lengths), np.minimum(lengths, 1.0), 0.0)  # proof: length
                total += _GRID * float(np.floor(lengths / _GRID).sum())  # proof: exact
                number += int(np.count_nonzero(lengths))
        if not self.count_rows:
            return np.array([total])
        return np.array([total - 0.5 * number, 0.5 * number])  # proof: centred

    def worst_case(self, relation: Relation, size: int) -> WorstCase:
        """The minimiser's, beside short rows in pairs that cancel; a replaced row is short before stretching.

        Where c is at least ``sqrt(most)`` both stages are at their worst at once. ``direction`` looks at the
        minimiser; c is looked at by itself.
        """
        axis = np.eye(size, 1)
        beside = np.repeat(axis / self.most**2, _BESIDE, axis=1)
        answers = np.arange(_BESIDE) % 2

        def table(row: FloatVector | None, answer: int) -> ArrayChunk:
            X, y = beside, answers
            if row is not None:
                X, y = np.column_stack([X, row]), np.append(y, answer)
            return ArrayChunk(X.astype(np.float32), y.astype(np.float64), FAR * np.where(y > 0, -1.0, 1.0))

        other = None if relation == "add-remove" else axis / math.sqrt(self.most)
        return WorstCase(table(axis, 1), table(other, 0), np.eye(size + 1)[1])


class NormClippedRows(RowView):
    """The same rows times ``factor``, or less where a row would be longer than 1.

    A row's bits depend on the row and on ``factor`` alone, not on its neighbours or its place in a chunk.
    ``factor`` is public, a float32 number. ``weights``, shape (p,), are the inverse of ridge times
    max_leverage: ``sum_j weights_j x_j**2`` is held to 1 as well.
    """

    def __init__(self, rows: Rows, factor: float, weights: FloatVector | None = None) -> None:
        super().__init__(rows)
        self._factor, self._weights = factor, weights
        self._factors: list[FloatBlock] = []

    def chunks(self) -> Iterator[RowChunk]:
        for place, block in enumerate(unweighted(self._rows)):
            if place == len(self._factors):
                self._factors.append(self._factors_of(block.X))
            yield ArrayChunk(_scaled(block.X, self._factors[place]), block.y, block.offset)

    def _factors_of(self, X: FloatBlock) -> FloatBlock:
        """The factor of each row, shape (k,); 0 for a row that is not at most 1 in the numbers then read."""
        with np.errstate(all="ignore"):
            lengths = np.sqrt(_squared_lengths(X, self._weights))
            factors: FloatBlock = np.minimum(self._factor, SHRINK / lengths).astype(np.float32)
            scaled = _squared_lengths(_scaled(X, factors), self._weights)
        factors[~(scaled <= 1.0 - len(X) * 2.0**-50)] = 0.0  # proof: bounded
        return factors


def _scaled(X: FloatBlock, factors: FloatBlock) -> FloatBlock:
    with np.errstate(all="ignore"):
        scaled: FloatBlock = X * factors
    scaled[:, np.flatnonzero(factors == 0.0)] = 0.0  # not 0 * inf
    return scaled


def _squared_lengths(X: FloatBlock, weights: FloatVector | None) -> FloatVector:
    """Squared length of each row, shape (k,), added up coordinate by coordinate."""
    norms = squares(np.ones(len(X)), X)  # proof: elementwise
    return norms if weights is None else np.maximum(norms, squares(weights, X))
