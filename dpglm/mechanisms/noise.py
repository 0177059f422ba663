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
from dpglm.privacy.events import Event, GaussianEvent, PureEvent
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

Law: TypeAlias = Literal["gaussian", "gamma"]
Bytes: TypeAlias = Callable[[int], bytes]
Whole: TypeAlias = IntVector

# Steps of the grid to the standard deviation of a whole normal draw, or the scale of a Laplace draw.
STEPS = 2.0**40
# Share of the sensitivity that rounding errors of the value may take, paid for by as much more noise.
SLACK = 1e-4
# Standard deviation of a normal draw in cells, and scale of a Laplace draw.
WIDTH, LAPLACE = 2**24, 2**40
_SQUARE = 2 * WIDTH**2
FINE = 29  # bits of the place inside a cell, as far as a double can tell


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
        cells, places = np.where(negative, _mirrored(draws), draws)
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

    def gamma_norm(self, size: int, *, rate: float) -> FloatVector:
        """A vector with density proportional to exp(-rate * norm), shape (size,)."""
        # A uniform direction and a norm of Gamma(size, 1 / rate), which is a sum of ``size`` exponentials.
        norm = -np.log(self.uniform(size)).sum() / rate
        direction = self.normal(size, scale=1.0)
        return np.asarray(direction * (norm / np.sqrt(direction @ direction)), dtype=np.float64)


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


def normal_cells(source: Bytes, size: int) -> Whole:
    """Cells of N(0, WIDTH^2) draws and their places inside, shape (2, size).

    A draw X lies in [k, k + 1), k the first number; the second is floor((X - k) * 2**FINE). |X| = k + u has a
    density proportional to exp(-k^2 / 2W^2) exp(-(2ku + u^2) / 2W^2): a discrete normal draw k (Canonne,
    Kamath and Steinke 2020, algorithm 3) and a uniform u, kept with the second probability (Karney 2016).
    """
    if size == 0:
        return np.zeros((2, 0), dtype=np.int64)
    cells = _geometric(source, 2 * (size + size // 8 + 8), WIDTH)
    cells = cells[exponential(source, (cells - WIDTH) ** 2, _SQUARE)]
    keep, places = _within(source, cells)
    draws = np.stack([cells, places])[:, keep][:, :size]
    draws = np.where(_coins(source, draws.shape[1]), _mirrored(draws), draws)
    return np.concatenate([draws, normal_cells(source, size - draws.shape[1])], axis=1)


def laplace_cells(source: Bytes, size: int) -> Whole:
    """Integers with probabilities proportional to ``exp(-|k| / LAPLACE)``, shape (size,)."""
    if size == 0:
        return np.zeros(0, dtype=np.int64)
    magnitude = _geometric(source, size + size // 8 + 8, LAPLACE)
    negative = _coins(source, len(magnitude))
    draws = np.where(negative, -magnitude, magnitude)[~(negative & (magnitude == 0))][:size]
    return np.concatenate([draws, laplace_cells(source, size - len(draws))])


def _mirrored(draws: Whole) -> Whole:
    """-X for draws X: -(k + u) lies in the cell -k - 1, at 1 - u from its lower end."""
    return np.array([[-1], [2**FINE - 1]]) - draws


def _geometric(source: Bytes, least: int, width: int) -> Whole:
    """Integers k >= 0 with probabilities proportional to ``exp(-k / width)``; about ``least`` of them."""
    low = below(source, np.full(2 * least, width))
    low = low[exponential(source, low, width)]
    high = np.zeros(len(low), dtype=np.int64)
    going = np.arange(len(low))
    while len(going):
        going = going[exponential(source, np.ones(len(going), dtype=np.int64), 1)]
        high[going] += 1
    return low + width * high


def _within(source: Bytes, cells: Whole) -> tuple[BoolVector, Whole]:
    """Which cells are kept, with probability ``exp(-(2ku + u^2) / 2W^2)``, u uniform; and u in 2^-FINE."""
    places = below(source, np.full(len(cells), 2**FINE))
    keep = np.ones(len(cells), dtype=np.bool_)
    # 2ku + u^2 < 2k + 1 <= 2W^2: but for some in a million this first trial is lost, whatever u.
    for draw in np.flatnonzero(below(source, np.full(len(cells), _SQUARE)) < 2 * cells + 1):
        k = int(cells[draw])
        u = (int(places[draw]) + _deep(source)) / 2**FINE
        exponent = 2 * k * u + u**2
        trials, chance = 1, exponent / (2 * k + 1)
        while _deeply(source, chance):
            trials += 1
            chance = exponent / (_SQUARE * trials)
        keep[draw] = trials % 2 == 1
    return keep, places


def exponential(source: Bytes, top: Whole, bottom: int) -> BoolVector:
    """True with probability exp(-top / bottom), shape of ``top``; integers, top >= 0, bottom up to 2^49."""
    whole, rest = np.divmod(top, bottom)
    success, going = np.ones(len(top), dtype=np.bool_), np.arange(len(top))
    while len(going):
        success[going] = _small_exponential(source, rest[going], bottom)
        going = going[success[going] & (whole[going] > 0)]
        whole[going] -= 1
        rest[going] = bottom
    return success


def _small_exponential(source: Bytes, top: Whole, bottom: int) -> BoolVector:
    """`exponential` for top <= bottom: among trials of chances x, x/2, x/3, ... the first lost is an odd one.

    Canonne, Kamath and Steinke (2020), algorithm 1, after von Neumann.
    """
    odd = np.ones(len(top), dtype=np.bool_)
    going, trial = np.arange(len(top)), 1
    while len(going):
        going = going[below(source, np.full(len(going), bottom * trial)) < top[going]]
        trial += 1
        odd[going] = trial % 2 == 1
    return odd


def below(source: Bytes, bounds: Whole) -> Whole:
    """Integers uniform on 0, ..., bound - 1, for each bound from 1 to 2^62, shape of ``bounds``."""
    drawn = np.empty(len(bounds), dtype=np.int64)
    going = np.arange(len(bounds))
    while len(going):
        words = np.frombuffer(source(8 * len(going)), dtype="<u8") >> np.uint64(1)
        wide = bounds[going].astype(np.uint64)
        drawn[going] = (words % wide).astype(np.int64)
        # Words beyond the last full round of remainders are drawn again.
        going = going[words >= np.uint64(2**63) // wide * wide]
    return drawn


def _coins(source: Bytes, size: int) -> BoolVector:
    return (np.frombuffer(source(size), dtype=np.uint8) & 1).astype(np.bool_)


def _deep(source: Bytes) -> Fraction:
    return Fraction(int.from_bytes(source(16), "little"), 2**128)


def _deeply(source: Bytes, chance: Fraction) -> bool:
    """True with this probability, to within 2^-128."""
    return _deep(source) < chance


def add_normal(values: FloatVector, *, scale: float, sensitivity: float, noise: NoiseSource) -> FloatVector:
    """Values on a grid plus Gaussian noise, shape (m,): as private as N(0, scale^2 I) on real numbers.

    Rounding errors of ``values``, shape (m,), are within the slack of ``sensitivity``, the largest change of
    the exact values between neighbours, Euclidean norm. ``scale`` is the standard deviation calibrated to it;
    what is used is a little larger, since rounding to steps moves neighbours by up to ``sqrt(m)`` steps more.
    """
    step = grid_step(scale, sensitivity, len(values))
    steps = np.rint(values / step) + noise.whole_normal(len(values))
    return np.asarray((steps + 0.5) * step, dtype=np.float64)


def grid_step(scale: float, sensitivity: float, count: int) -> float:
    """The step of `add_normal`'s grid for ``count`` values; a MethodError where no step is fine enough."""
    # STEPS * step / scale is sensitivity * (1 + SLACK) + sqrt(count) * step over the sensitivity.
    left = STEPS - scale * (math.sqrt(count) / sensitivity)
    if not left > 0.0:
        raise MethodError(
            f"noise of {scale / sensitivity:.3g} times the sensitivity in {count} numbers",
            expected="less than 10^12 over the root of the numbers",
            remedy="Spend a larger epsilon.",
        )
    return scale * (1.0 + SLACK) / left


def add_laplace(values: FloatVector, *, scale: float, noise: NoiseSource) -> FloatVector:
    """Values on a grid plus independent Laplace noise, shape (m,), at the price of `laplace_price`."""
    step = scale / STEPS
    return np.asarray((np.rint(values / step) + noise.whole_laplace(len(values))) * step, dtype=np.float64)


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

    def require_grid(self, sensitivity: float, count: int) -> None:
        """Refuse Gaussian noise so large that no grid serves ``count`` values."""
        if self.law == "gaussian":
            grid_step(self.scale, sensitivity, count)

    def draw(self, noise: NoiseSource) -> FloatVector:
        """Noise in double precision, shape (dimension,)."""
        if self.law == "gaussian":
            return noise.normal(self.dimension, scale=self.scale)
        return noise.gamma_norm(self.dimension, rate=1.0 / self.scale)

    def add(self, values: FloatVector, sensitivity: float, noise: NoiseSource) -> FloatVector:
        """Values plus noise, shape (dimension,): Gaussian noise on a grid, the other in double precision."""
        if self.law == "gaussian":
            return add_normal(values, scale=self.scale, sensitivity=sensitivity, noise=noise)
        return np.asarray(values + self.draw(noise), dtype=np.float64)

    def log_ratio(self, first: FloatMatrix, second: FloatMatrix) -> FloatVector:
        """Log density of the first noise less that of the second, row by row."""
        norms = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
        if self.law == "gaussian":
            return np.asarray((norms[1] ** 2 - norms[0] ** 2) / (2.0 * self.scale**2))
        return np.asarray((norms[1] - norms[0]) / self.scale)
