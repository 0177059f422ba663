"""A noisy sum of several holders: each adds its share of the noise and a mask, and only the total tells.

Holders send whole numbers modulo 2^128. Masks add up to 0, so that the total of all messages is the sum over
the rows of all holders plus the noise of all, exactly; fewer messages look uniform. Proof: ``secure_sum.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource, grid_step
from dpglm.mechanisms.noisy_sum import NoisySum, SumNoise
from dpglm.mechanisms.pairwise_masks import MODULUS
from dpglm.mechanisms.whole_sums import Whole
from dpglm.typing import FloatVector

# A holder's sums are cut at this many steps, 2^72 times the deviation of its noise: the total of at most
# MOST_HOLDERS stays below 2^123 then, and does not wrap.
CUT: Final = 2**112
MOST_HOLDERS: Final = 2**10


def collusion_factor(holders: int, colluding: int) -> float:
    """By how much a price in mu grows for those who know the noise of ``colluding`` of the holders.

    Examples
    --------
    >>> collusion_factor(10, 0), round(collusion_factor(10, 1), 4), round(collusion_factor(2, 1), 4)
    (1.0, 1.0541, 1.4142)
    """
    return math.sqrt(holders / (holders - colluding))  # proof: collusion


def shared_step(noise: SumNoise, holders: int, count: int) -> float:
    """The step of the grid on which holders add: that of one holder's share of the noise, alone."""
    return grid_step(noise.scale / math.sqrt(holders), noise.sensitivity, count)  # proof: step


def share(summed: NoisySum, rows: Rows, at: FloatVector | None, noise: NoiseSource, *, holders: int) -> Whole:
    """A holder's sum in steps, plus its share of the noise: whole numbers, shape (m,). Not to be sent bare.

    Of ``sum_noise``, Gaussian, each holder adds one ``holders``-th of the variance.
    """
    assert summed.sum_noise.law == "gaussian", "as planned"
    assert 1 <= holders <= MOST_HOLDERS
    whole = summed.whole(rows, at, noise)
    steps = whole.steps(shared_step(summed.sum_noise, holders, len(whole)))
    cut = np.minimum(np.maximum(steps, -CUT), CUT)  # proof: cut
    return np.asarray(cut + noise.whole_normal(len(whole)).astype(object))  # proof: share


def masked(own: Whole, mask: Whole) -> Whole:
    """A message: a holder's share under its mask, numbers from 0 to 2^128 - 1, shape (m,)."""
    return np.asarray((own + mask) % MODULUS)  # proof: uniform


def total(messages: Sequence[Whole]) -> Whole:
    """The sum of what all holders hid, exactly: between -2^127 and 2^127, where no sum wraps; shape (m,)."""
    added = np.sum(np.array(messages, dtype=object), axis=0) + MODULUS // 2
    return np.asarray(added % MODULUS - MODULUS // 2)  # proof: total


def opened(summed: NoisySum, messages: Sequence[Whole]) -> FloatVector:
    """What is released: the noisy sum over the rows of all holders, finished."""
    found = total(messages)
    step = shared_step(summed.sum_noise, len(messages), len(found))
    # Each holder's noise was rounded down, by half a step on average.
    return summed.finished((found.astype(np.float64) + 0.5 * len(messages)) * step)
