"""Noise for releases: the operating system's generator, and a repeatable twin for simulations."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from dpglm.typing import FloatVector

# Each Gaussian is the scaled sum of this many draws: a double holds 53 bits, and the low bits of a single
# transformed draw would tell which values are reachable (Mironov 2012).
DRAWS_PER_NORMAL = 4


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
        """Uniform draws on (0, 1], shape (size,), of 63 random bits each: small ones keep full precision."""
        words = np.frombuffer(self.bytes(8 * size), dtype="<u8") >> np.uint64(1)
        return np.asarray((words.astype(np.float64) + 0.5) * 2.0**-63, dtype=np.float64)

    def normal(self, size: int, *, scale: float) -> FloatVector:
        """Independent N(0, scale^2) draws, shape (size,)."""
        count = size * DRAWS_PER_NORMAL
        signs = 2.0 * (np.frombuffer(self.bytes(count), dtype=np.uint8) & 1) - 1.0
        magnitudes = -ndtri(0.5 * self.uniform(count))
        draws = (signs * magnitudes).reshape(DRAWS_PER_NORMAL, size)
        return np.asarray(scale * draws.sum(axis=0) / np.sqrt(DRAWS_PER_NORMAL), dtype=np.float64)

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

    Parameters
    ----------
    seed : int
        Seed of a PCG64 stream, >= 0.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)
