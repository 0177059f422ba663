"""Noise of the K-norm mechanism follows its law, whatever number of bits is looked at first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from dpglm.errors import MethodError
from dpglm.mechanisms import k_norm
from dpglm.mechanisms.noise import SLACK, STEPS, OsNoise, SeededNoise, add_k_norm, grid_step
from tests.effort import quick
from tests.silence import Silence

# Each goodness-of-fit test rejects a right sampler with probability 1e-6; at 20,000 draws it rejects norms
# that are 5 % off with probability above 0.99, as the line after it shows.
LEVEL = 1e-6
DRAWS = 20_000


class Words:
    """A source of given numbers, of 64 bytes each, from whose first bytes every call goes on."""

    def __init__(self, seed: int, count: int) -> None:
        random = Random(seed)
        self.words = [random.randbytes(64) for _ in range(count)]
        self.place = 0

    def __call__(self, count: int) -> bytes:
        width = count // len(self.words)
        start, self.place = self.place, self.place + width
        return b"".join(word[start : self.place] for word in self.words)


@pytest.mark.parametrize("size", quick([1, 2, 7], 2))
def test_norms_are_gamma_and_directions_uniform(size: int) -> None:
    source = SeededNoise(size)
    draws = np.array([source.k_norm(size, scale=2.0) for _ in range(DRAWS)])
    norms = np.sqrt((draws**2).sum(axis=1))
    assert stats.kstest(norms, stats.gamma(size, scale=2.0).cdf).pvalue > LEVEL
    assert stats.kstest(norms, stats.gamma(size, scale=2.1).cdf).pvalue < 1e-3
    # The square of a coordinate's share of the norm is Beta, and its sign is fair.
    if size > 1:
        shares = (draws[:, -1] / norms) ** 2
        assert stats.kstest(shares, stats.beta(0.5, (size - 1) / 2).cdf).pvalue > LEVEL
    assert abs((draws[:, 0] > 0).mean() - 0.5) < 6 * 0.5 / math.sqrt(DRAWS)


def test_integer_parts_have_the_probabilities_of_their_intervals() -> None:
    """In one dimension, two steps to the scale: P(k) = integral of exp(-|x|) / 2 from k/2 to (k + 1)/2."""
    source = Random(5).randbytes
    draws = np.array([k_norm.floors(source, 1, 2)[0] for _ in range(DRAWS)])
    edges = np.arange(-6, 7)
    counts = np.array([(draws == k).sum() for k in edges[:-1]])
    chances = np.diff(stats.laplace.cdf(edges / 2.0))
    expected = np.append(chances, 1.0 - chances.sum()) * DRAWS
    assert stats.chisquare(np.append(counts, DRAWS - counts.sum()), expected).pvalue > LEVEL


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize(("first", "more"), [(1, 1), (2, 3), (4, 1)])
def test_the_bits_that_are_looked_at_first_do_not_matter(
    size: int, first: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one byte of each number almost every answer is open: more are drawn, and it is the same."""
    count = size + 2 * ((size + 1) // 2)
    steps = int(STEPS)
    for seed in range(20):
        monkeypatch.setattr(k_norm, "FIRST", 48)
        at_once = k_norm.floors(Words(seed, count), size, steps)
        doubles = k_norm.doubles(Words(seed, count), size)
        monkeypatch.setattr(k_norm, "FIRST", first)
        monkeypatch.setattr(k_norm, "MORE", more)
        little = Words(seed, count)
        assert k_norm.floors(little, size, steps) == at_once
        assert little.place > first, "some answer was open"
        np.testing.assert_allclose(k_norm.doubles(Words(seed, count), size), doubles, rtol=2.0**-52)
        # The integers are those of the real numbers that the doubles are near to.
        np.testing.assert_allclose(np.array(at_once) + 0.5, doubles * STEPS, rtol=1e-12, atol=0.6)


def test_numbers_that_begin_with_noughts_are_no_infinities() -> None:
    def noughts_first() -> Iterator[bytes]:
        yield b"\0" * 100
        random = Random(1)
        while True:
            yield random.randbytes(100)

    pieces = noughts_first()

    def source(count: int) -> bytes:
        return next(pieces)[:count]

    found = k_norm.doubles(source, 1)
    # The uniform number is below 2^-128, the exponential above 88.
    assert 88.0 < abs(found[0]) < 140.0


def test_sums_of_whole_numbers_are_exact_whatever_the_noise() -> None:
    """Noise beyond the whole numbers of double precision rounds the sum, not what it is added to."""

    class Huge(Silence):
        def whole_k_norm(self, size: int) -> Any:
            return [2**60 + 129 * at for at in range(size)]

    step = 2.0 * add_k_norm(np.zeros(1), scale=1.0, sensitivity=1.0, noise=Silence())[0]
    for value in (0, 1, 127, -129):
        (found,) = add_k_norm(np.full(1, value * step), scale=1.0, sensitivity=1.0, noise=Huge())
        assert found == float(2**60 + value) * step
    far = add_k_norm(np.array([1e300, -np.inf]), scale=1e-280, sensitivity=1.0, noise=Silence())
    assert np.isfinite(far).all()
    assert k_norm.floors(Random(1).randbytes, 0, 1000) == []


@pytest.mark.parametrize("count", [1, 7, 230])
@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1.0), (40.0, 0.25), (1e-3, 2.0)])
def test_the_step_pays_for_rounding_and_slack(scale: float, sensitivity: float, count: int) -> None:
    """Sensitivity in steps over noise in steps is at most sensitivity over scale, which is charged."""
    half_step = add_k_norm(np.zeros(count), scale=scale, sensitivity=sensitivity, noise=Silence())[0]
    step = 2.0 * half_step
    moved = sensitivity * (1.0 + SLACK) / step + math.sqrt(count)
    assert moved / STEPS <= sensitivity / scale * (1.0 + 1e-12)
    assert step * STEPS <= scale * (1.0 + 2.0 * SLACK)


def test_threads_do_not_disturb_each_other() -> None:
    """The precision of ball arithmetic is one number for all threads."""

    def drawn(seed: int) -> list[list[int]]:
        source = SeededNoise(seed)
        return [source.whole_k_norm(300) for _ in range(5)]

    before = flint.ctx.prec
    alone = [drawn(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(drawn, range(4))) == alone
    assert flint.ctx.prec == before


def test_noise_for_which_no_step_is_fine_enough_is_refused() -> None:
    for scale, sensitivity in ((1e-310, 1e-307), (2e-312, 1e-308), (1e13, 1.0)):
        with pytest.raises(MethodError, match="times the sensitivity"):
            grid_step(scale, sensitivity, 3)


def test_a_draw_in_230_dimensions_has_the_norm_of_that_many() -> None:
    """Sd of the mean of 50 norms: 230^.5 / 50^.5 = 2.1; six of them fail with probability 2e-9."""
    norms = [float(np.linalg.norm(np.array(OsNoise().whole_k_norm(230)) / STEPS)) for _ in range(50)]
    assert abs(np.mean(norms) - 230.0) < 6 * 2.2
