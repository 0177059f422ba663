"""Noise for releases: the operating system's generator, and a repeatable twin for simulations."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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

    Draws are made many at a time and kept for later calls, which no private source may do. ``seed``, >= 0, is
    that of a PCG64 stream.
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


Bytes = Callable[[int], bytes]
Whole = NDArray[np.int64]

# Standard deviation of a normal draw in cells, and scale of a Laplace draw.
WIDTH, LAPLACE = 2**24, 2**40
_SQUARE = 2 * WIDTH**2
# Bits of the place inside a cell, as far as a double can tell.
FINE = 29
_DEEP = 128
_TOP = 2**63


def normal_cells(source: Bytes, size: int) -> tuple[Whole, Whole]:
    """Cells of N(0, WIDTH^2) draws and their places inside, shapes (size,).

    A draw X lies in ``[k, k + 1)``, k the first number; the second is the integer part of
    ``(X - k) * 2**FINE``.

    Notes
    -----
    |X| = k + u has a density proportional to ``exp(-k^2 / 2W^2) exp(-(2ku + u^2) / 2W^2)``: a discrete normal
    draw k (Canonne, Kamath and Steinke 2020, algorithm 3) and a uniform u, kept with the second probability
    (Karney 2016). Both factors are at most 1.
    """
    kept: list[tuple[Whole, Whole]] = []
    missing = size
    while missing > 0:
        cells = _half_normal(source, missing + missing // 8 + 8)
        keep, places = _within(source, cells)
        cells, places = cells[keep][:missing], places[keep][:missing]
        negative = _bits(source, len(cells)) == 1
        # -(k + u) lies in the cell -k - 1, at 1 - u from its lower end.
        cells = np.where(negative, -cells - 1, cells)
        places = np.where(negative, 2**FINE - 1 - places, places)
        kept.append((cells, places))
        missing -= len(cells)
    if not kept:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    first, second = (np.concatenate([pair[part] for pair in kept]) for part in (0, 1))
    return first, second


def laplace_cells(source: Bytes, size: int) -> Whole:
    """Integers with probabilities proportional to ``exp(-|k| / LAPLACE)``, shape (size,)."""
    kept: list[Whole] = []
    missing = size
    while missing > 0:
        found = _geometric(source, missing + missing // 8 + 8, LAPLACE)
        negative = _bits(source, len(found)) == 1
        found = np.where(negative, -found, found)[~(negative & (found == 0))][:missing]
        kept.append(found)
        missing -= len(found)
    return np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)


def _half_normal(source: Bytes, least: int) -> Whole:
    """Integers k >= 0 with probabilities proportional to ``exp(-k^2 / 2W^2)``; about ``least`` of them."""
    found = _geometric(source, 2 * least, WIDTH)
    return found[exponential(source, (found - WIDTH) ** 2, _SQUARE)]


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


def _within(source: Bytes, cells: Whole) -> tuple[NDArray[np.bool_], Whole]:
    """Which cells are kept, with probability ``exp(-(2ku + u^2) / 2W^2)``, u uniform; and u in 2^-FINE."""
    places = below(source, np.full(len(cells), 2**FINE))
    keep = np.ones(len(cells), dtype=np.bool_)
    # 2ku + u^2 < 2k + 1 <= 2W^2: but for some in a million this first trial is lost, whatever u.
    for place in np.flatnonzero(below(source, np.full(len(cells), _SQUARE)) < 2 * cells + 1):
        k = int(cells[place])
        u = Fraction(int(places[place]) * 2**_DEEP + _deep(source), 2 ** (_DEEP + FINE))
        exponent = 2 * k * u + u**2
        trials = 1
        if _deeply(source, exponent / (2 * k + 1)):
            trials = 2
            while _deeply(source, exponent / (_SQUARE * trials)):
                trials += 1
        keep[place] = trials % 2 == 1
    return keep, places


def exponential(source: Bytes, top: Whole, bottom: int) -> NDArray[np.bool_]:
    """True with probability ``exp(-top / bottom)``, shape of ``top``; integers, top >= 0, bottom up to 2^49.

    Notes
    -----
    Canonne, Kamath and Steinke (2020), algorithm 1 (after von Neumann): with x in [0, 1] the number of the
    first lost trial of probabilities x, x/2, x/3, ... is odd with probability exp(-x).
    """
    whole, rest = np.divmod(top, bottom)
    found = _small_exponential(source, rest, bottom)
    going = np.flatnonzero(found & (whole > 0))
    while len(going):
        again = _small_exponential(source, np.full(len(going), bottom), bottom)
        found[going[~again]] = False
        going = going[again]
        whole[going] -= 1
        going = going[whole[going] > 0]
    return found


def _small_exponential(source: Bytes, top: Whole, bottom: int) -> NDArray[np.bool_]:
    """`exponential` for top <= bottom."""
    odd = np.ones(len(top), dtype=np.bool_)
    going, trial = np.arange(len(top)), 1
    while len(going):
        going = going[below(source, np.full(len(going), bottom * trial)) < top[going]]
        trial += 1
        odd[going] = trial % 2 == 1
    return odd


def below(source: Bytes, bounds: Whole) -> Whole:
    """Integers uniform on 0, ..., bound - 1, for each bound from 1 to 2^62, shape of ``bounds``."""
    found = np.empty(len(bounds), dtype=np.int64)
    going = np.arange(len(bounds))
    while len(going):
        words = np.frombuffer(source(8 * len(going)), dtype="<u8") >> np.uint64(1)
        wide = bounds[going].astype(np.uint64)
        found[going] = (words % wide).astype(np.int64)
        # Words beyond the last full round of remainders are drawn again.
        going = going[words >= np.uint64(_TOP) // wide * wide]
    return found


def _bits(source: Bytes, size: int) -> Whole:
    return (np.frombuffer(source(size), dtype=np.uint8) & 1).astype(np.int64)


def _deep(source: Bytes) -> int:
    return int.from_bytes(source(_DEEP // 8), "little")


def _deeply(source: Bytes, chance: Fraction) -> bool:
    """True with this probability, to within 2^-128."""
    return bool(_deep(source) < chance * 2**_DEEP)
