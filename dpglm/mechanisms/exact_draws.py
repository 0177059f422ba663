"""Exact draws of whole numbers from fair bits: discrete normal and Laplace laws, trials, uniform numbers.

Every comparison is one of integers, so that no law is approximated; the proof is ``noise.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dpglm.typing import BoolVector, IntVector

Bytes: TypeAlias = Callable[[int], bytes]
Whole: TypeAlias = IntVector

# Standard deviation of a normal draw in cells, and scale of a Laplace draw.
WIDTH, LAPLACE = 2**24, 2**40
_SQUARE = 2 * WIDTH**2
FINE = 29  # bits of the place inside a cell, as far as a double can tell


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
    draws = np.where(_coins(source, draws.shape[1]), mirrored(draws), draws)
    return np.concatenate([draws, normal_cells(source, size - draws.shape[1])], axis=1)


def laplace_cells(source: Bytes, size: int) -> Whole:
    """Integers with probabilities proportional to ``exp(-|k| / LAPLACE)``, shape (size,)."""
    if size == 0:
        return np.zeros(0, dtype=np.int64)
    magnitude = _geometric(source, size + size // 8 + 8, LAPLACE)
    negative = _coins(source, len(magnitude))
    draws = np.where(negative, -magnitude, magnitude)[~(negative & (magnitude == 0))][:size]
    return np.concatenate([draws, laplace_cells(source, size - len(draws))])


def mirrored(draws: Whole) -> Whole:
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
