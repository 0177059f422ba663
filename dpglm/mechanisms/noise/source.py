"""Noise for releases: the operating system's generator, and a repeatable twin for simulations."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from dpglm.mechanisms.noise.exact import FINE, WIDTH, Whole, below, laplace_cells, normal_cells
from dpglm.typing import BoolVector, FloatVector, IntVector

# Draws that a seeded source makes at a time.
_AHEAD = 2**10


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
        cells, places = self._normal_cells(size)
        negative = cells < 0
        whole = np.where(negative, -cells - 1, cells)
        # Bits beyond the 29th matter in the two cells beside nought, where a double can tell more.
        place = np.where(negative, 2**FINE - 1 - places, places) + self.uniform(size)
        magnitude = (whole + place * 2.0**-FINE) * (scale / WIDTH)
        return np.asarray(np.where(negative, -magnitude, magnitude), dtype=np.float64)

    def whole_normal(self, size: int) -> Whole:
        """Integer parts of independent N(0, 2^80) draws, shape (size,): floor, not truncation."""
        cells, places = self._normal_cells(size)
        return (cells << 16) | (places >> (FINE - 16))

    def whole_laplace(self, size: int) -> Whole:
        """Integers of probability proportional to exp(-abs(k) / 2^40), shape (size,)."""
        return laplace_cells(self.bytes, size)

    def _normal_cells(self, size: int) -> tuple[Whole, Whole]:
        return normal_cells(self.bytes, size)

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
            _, first = np.unique(drawn, return_index=True)
            taken = drawn[np.sort(first)][:size]
        return taken

    def gamma_norm(self, size: int, *, rate: float) -> FloatVector:
        """A vector with density proportional to exp(-rate * norm), shape (size,).

        Its norm is Gamma(size, 1 / rate), a sum of ``size`` exponentials, and its direction is uniform.
        """
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

    Draws are made many at a time and kept for later calls, which no private source may do.

    Parameters
    ----------
    seed : int
        Seed of a PCG64 stream, >= 0.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._kept: tuple[Whole, Whole] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)

    def _normal_cells(self, size: int) -> tuple[Whole, Whole]:
        cells, places = self._kept
        if len(cells) < size:
            more = normal_cells(self.bytes, max(size, _AHEAD))
            cells, places = np.concatenate([cells, more[0]]), np.concatenate([places, more[1]])
        self._kept = cells[size:], places[size:]
        return cells[:size], places[:size]
