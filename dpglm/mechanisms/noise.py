"""Noise for releases: where randomness comes from, exact draws, and noise added on a public grid.

A value in double precision has bits that noise in double precision does not cover (Mironov 2012). Here both
are whole numbers of steps of a grid, 2^40 times finer than the noise; the proof is ``noise.md``.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.mechanisms import k_norm
from dpglm.mechanisms.exact_draws import (
    FINE,
    WIDTH,
    Bytes,
    Whole,
    below,
    laplace_cells,
    mirrored,
    normal_cells,
)
from dpglm.mechanisms.whole_sums import WholeNumbers
from dpglm.privacy.events import Event, GaussianEvent, PureEvent
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

Law: TypeAlias = Literal["gaussian", "gamma"]

# Steps of the grid to the standard deviation of a whole normal draw, or the scale of a Laplace draw.
STEPS = 2.0**40
# Share of the sensitivity that rounding errors of the value may take, paid for by as much more noise.
SLACK = 1e-4
# Values are cut at this many steps of a grid.
FARTHEST = 2**900
# No step of a grid is finer: it has all of the bits that a double can have.
FINEST = 2.0**-1000


class NoiseSource(ABC):
    """A stream of random bytes and the noise laws made from it.

    Examples
    --------
    >>> SeededNoise(1).normal(2, scale=1.0).shape
    (2,)
    """

    private: ClassVar[bool]

    @abstractmethod
    def bytes(self, count: int) -> bytes:
        """The next ``count`` random bytes."""

    def uniform(self, size: int) -> FloatVector:
        """Uniform draws on (0, 1], shape (size,), within a share of 2^-52 of real ones, however small."""
        words = np.frombuffer(self.bytes(16 * size), dtype="<u8").reshape(2, size) >> np.uint64(1)
        high, low = words.astype(np.float64) * 2.0**-63
        return np.asarray(high + (low + 2.0**-64) * 2.0**-63, dtype=np.float64)

    def normal(self, size: int, *, scale: float) -> FloatVector:
        """Independent N(0, scale^2) draws, shape (size,), each within a share of 2^-50 of a real one."""
        draws = self._drawn(normal_cells, size)
        negative = draws[0] < 0
        cells, places = np.where(negative, mirrored(draws), draws)
        # Bits beyond the 29th matter in the two cells beside nought, where a double can tell more.
        magnitude = (cells + (places + self.uniform(size)) * 2.0**-FINE) * (scale / WIDTH)
        return np.asarray(np.where(negative, -magnitude, magnitude), dtype=np.float64)

    def whole_normal(self, size: int) -> Whole:
        """Integer parts of independent N(0, 2^80) draws, shape (size,): floor, not truncation."""
        cells, places = self._drawn(normal_cells, size)
        return np.asarray((cells << 16) | (places >> (FINE - 16)), dtype=np.int64)

    def whole_laplace(self, size: int) -> Whole:
        """Integers of probability proportional to exp(-abs(k) / 2^40), shape (size,)."""
        return self._drawn(laplace_cells, size)

    def _drawn(self, law: Callable[[Bytes, int], Whole], size: int) -> Whole:
        return law(self.bytes, size)

    def chances(self, size: int, rate: float) -> BoolVector:
        """Independent trials that succeed with probability ``rate``, or 2^-63 less, shape (size,)."""
        words = np.frombuffer(self.bytes(8 * size), dtype="<u8") >> np.uint64(1)
        return np.asarray(words < np.uint64(rate * 2.0**63), dtype=np.bool_)

    def subset(self, count: int, size: int) -> IntVector:
        """``size`` of the numbers 0, ..., count - 1, every subset as likely as any other; size <= count."""
        assert 0 <= size <= count, "a subset is no larger than the whole"
        taken = np.zeros(0, dtype=np.int64)
        while len(taken) < size:  # draws with replacement, in their order, without what was drawn before
            drawn = np.concatenate([taken, below(self.bytes, np.full(size, count, dtype=np.int64))])
            taken = drawn[np.sort(np.unique(drawn, return_index=True)[1])][:size]
        return taken

    def k_norm(self, size: int, *, scale: float) -> FloatVector:
        """A vector with density proportional to exp(-norm / scale), shape (size,).

        Each number is within a share of 2^-51 of a real draw's.
        """
        return np.asarray(k_norm.doubles(self.bytes, size) * scale, dtype=np.float64)

    def whole_k_norm(self, size: int) -> list[int]:
        """Integer parts of a vector with density proportional to exp(-norm / 2^40), ``size`` of any size."""
        return k_norm.floors(self.bytes, size, int(STEPS))


class OsNoise(NoiseSource):
    """Noise from the operating system's cryptographic generator.

    Nothing is kept between calls: two processes, forked or not, never share noise.
    """

    private = True

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


class SeededNoise(NoiseSource):
    """The same laws from a seed, for tests and simulations: whoever knows the seed knows the noise.

    Draws are made many at a time and kept for later calls, which no private source may do. ``seed``, >= 0, is
    that of a PCG64 stream.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._ahead: dict[Callable[[Bytes, int], Whole], Whole] = {}

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)

    def _drawn(self, law: Callable[[Bytes, int], Whole], size: int) -> Whole:
        ahead = self._ahead.get(law, law(self.bytes, 0))
        if ahead.shape[-1] < size:
            ahead = np.concatenate([ahead, law(self.bytes, max(size, 2**10))], axis=-1)
        draws, self._ahead[law] = np.split(ahead, [size], axis=-1)
        return draws


def add_normal(
    values: FloatVector | WholeNumbers, *, scale: float, sensitivity: float, noise: NoiseSource
) -> FloatVector:
    """Values on a grid plus Gaussian noise, shape (m,): as private as N(0, scale^2 I) on real numbers.

    Rounding errors of ``values``, shape (m,), are within the slack of ``sensitivity``, the largest change of
    the exact values between neighbours, Euclidean norm. ``scale`` is the standard deviation calibrated to it;
    what is used is a little larger, since rounding to steps moves neighbours by up to ``sqrt(m)`` steps more.
    """
    step = grid_step(scale, sensitivity, len(values))
    return (_added(values, step, noise.whole_normal(len(values)).tolist()) + 0.5) * step


def add_k_norm(
    values: FloatVector | WholeNumbers, *, scale: float, sensitivity: float, noise: NoiseSource
) -> FloatVector:
    """The same with noise of density exp(-norm / scale), as private as that on real numbers."""
    step = grid_step(scale, sensitivity, len(values))
    return (_added(values, step, noise.whole_k_norm(len(values))) + 0.5) * step


def _added(values: FloatVector | WholeNumbers, step: float, drawn: list[int]) -> FloatVector:
    """Values in whole steps plus whole noise, shape (m,): exact sums of any size, rounded once to doubles."""
    if isinstance(values, WholeNumbers):
        steps = values.steps(step)
    else:
        finite = np.nan_to_num(np.asarray(values, dtype=np.float64)).tolist()
        steps = np.array([round(Fraction(value) / Fraction(step)) for value in finite], dtype=object)
    cut = np.minimum(np.maximum(steps, -FARTHEST), FARTHEST)
    return np.asarray((cut + np.array(drawn, dtype=object)).astype(np.float64))


def grid_step(scale: float, sensitivity: float, count: int) -> float:
    """The step of the grid of ``count`` values; a MethodError where no step is fine enough."""
    # STEPS * step / scale is sensitivity * (1 + SLACK) + sqrt(count) * step over the sensitivity.
    left = STEPS - scale * (math.sqrt(count) / sensitivity)
    step = scale * (1.0 + SLACK) / left if left > 0.0 else 0.0
    if not step > FINEST:
        raise MethodError(
            f"noise of {scale / sensitivity:.3g} times the sensitivity in {count} numbers",
            expected="less than 10^12 over the root of the numbers, of a sensitivity that is not tiny",
            remedy="Spend a larger epsilon.",
        )
    return step


def add_laplace(values: FloatVector | WholeNumbers, *, scale: float, noise: NoiseSource) -> FloatVector:
    """Values on a grid plus independent Laplace noise, shape (m,), at the price of `laplace_price`."""
    step = scale / STEPS
    return _added(values, step, noise.whole_laplace(len(values)).tolist()) * step


def laplace_price(distance: float, scale: float, count: int) -> float:
    """Pure epsilon of `add_laplace` for values ``distance`` apart at most, in the sum of absolute values.

    Examples
    --------
    >>> round(laplace_price(1.0, 10.0, 3), 6)
    0.10001
    """
    return distance / scale * (1.0 + SLACK) + count / STEPS


@dataclass(frozen=True)
class NoiseLaw:
    """Gaussian noise N(0, scale^2 I), or that of the K-norm mechanism, of density exp(-norm / scale).

    Examples
    --------
    >>> NoiseLaw("gamma", 2.0, 3).deviation, NoiseLaw("gaussian", 2.0, 3).event(1.0)
    (4.0, GaussianEvent(mu=0.5))
    """

    law: Law
    scale: float
    dimension: int

    @property
    def words(self) -> str:
        """The law for a reader."""
        if self.law == "gaussian":
            return "Gaussian, N(0, scale^2 I)"
        return "density proportional to exp(-|b| / scale)"

    @property
    def mechanism(self) -> str:
        """What the literature calls a release with this noise."""
        return "Gaussian mechanism" if self.law == "gaussian" else "K-norm mechanism"

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate."""
        return self.scale * (1.0 if self.law == "gaussian" else math.sqrt(self.dimension + 1.0))

    def event(self, sensitivity: float) -> Event:
        """The price of hiding a change of this Euclidean norm."""
        price = sensitivity / self.scale
        return GaussianEvent(price) if self.law == "gaussian" else PureEvent(price)

    def require_grid(self, sensitivity: float) -> None:
        """Refuse noise so large that no grid serves."""
        grid_step(self.scale, sensitivity, self.dimension)

    def draw(self, noise: NoiseSource) -> FloatVector:
        """Noise in double precision, shape (dimension,)."""
        if self.law == "gaussian":
            return noise.normal(self.dimension, scale=self.scale)
        return noise.k_norm(self.dimension, scale=self.scale)

    def add(self, values: FloatVector | WholeNumbers, sensitivity: float, noise: NoiseSource) -> FloatVector:
        """Values plus noise on a grid, shape (dimension,)."""
        add = add_normal if self.law == "gaussian" else add_k_norm
        return add(values, scale=self.scale, sensitivity=sensitivity, noise=noise)

    def log_ratio(self, first: FloatMatrix, second: FloatMatrix) -> FloatVector:
        """Log density of the first noise less that of the second, row by row."""
        norms = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
        if self.law == "gaussian":
            return np.asarray((norms[1] ** 2 - norms[0] ** 2) / (2.0 * self.scale**2))
        return np.asarray((norms[1] - norms[0]) / self.scale)
