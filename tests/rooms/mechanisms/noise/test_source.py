"""Noise follows its law, comes from the operating system, and is never shared."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpglm.mechanisms.noise import OsNoise, SeededNoise

# Each goodness-of-fit test rejects a right sampler with probability 1e-6; at 200,000 draws it rejects a scale
# that is 2 % off with probability above 0.99 (the test after it shows it).
LEVEL = 1e-6
DRAWS = 200_000


def gaussian_p(draws: Any, scale: float) -> float:
    return float(stats.kstest(draws, stats.norm(scale=scale).cdf).pvalue)


def test_normal_draws_are_normal() -> None:
    assert gaussian_p(SeededNoise(1).normal(DRAWS, scale=3.0), 3.0) > LEVEL


def test_a_scale_two_percent_off_is_noticed() -> None:
    assert gaussian_p(SeededNoise(1).normal(DRAWS, scale=3.0), 3.06) < 1e-3
    assert abs(SeededNoise(1).normal(DRAWS, scale=3.0).std() / 3.0 - 1) < 6 / np.sqrt(2 * DRAWS)


def test_uniform_draws_are_never_zero_and_reach_small_values() -> None:
    class Zeros(SeededNoise):
        def bytes(self, count: int) -> bytes:
            return b"\0" * count

    class Ones(SeededNoise):
        def bytes(self, count: int) -> bytes:
            return b"\xff" * count

    assert 0.0 < Zeros(0).uniform(3).min() < 2.0**-120
    assert Ones(0).uniform(3).max() <= 1.0


def test_operating_system_noise_asks_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return real(count)

    real = os.urandom
    monkeypatch.setattr(os, "urandom", urandom)
    for draw in (OsNoise().whole_normal, OsNoise().whole_laplace, OsNoise().whole_k_norm, OsNoise().uniform):
        before = sum(asked)
        draw(5)
        draw(5)
        assert sum(asked) >= before + 2 * 5 * 8  # nothing is kept for later calls


def test_the_seeded_twin_repeats_itself_and_says_so() -> None:
    assert (SeededNoise(3).normal(9, scale=1.0) == SeededNoise(3).normal(9, scale=1.0)).all()
    assert not SeededNoise.private
    assert OsNoise.private


def _draw(queue: Any, source: OsNoise) -> None:
    queue.put(source.normal(4, scale=1.0).tolist())


def test_forked_processes_never_share_noise() -> None:
    context = multiprocessing.get_context("fork")
    queue, source = context.Queue(), OsNoise()
    source.normal(1, scale=1.0)
    children = [context.Process(target=_draw, args=(queue, source)) for _ in range(2)]
    for child in children:
        child.start()
    drawn = [tuple(queue.get(timeout=30)) for _ in children] + [tuple(source.normal(4, scale=1.0))]
    for child in children:
        child.join()
    assert len(set(drawn)) == 3
