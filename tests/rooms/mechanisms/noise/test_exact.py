"""Exact samplers: right at small widths, where every probability can be told, and at the one in use.

Each goodness-of-fit test rejects a right sampler with probability 1e-6; beside it a law a little off is
rejected.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpglm.mechanisms import exact_draws as exact
from dpglm.mechanisms.noise import SeededNoise

LEVEL = 1e-6
DRAWS = 40_000


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """P value of counts against probabilities, rare cells put together."""
    expected = probabilities * counts.sum()
    common = expected >= 10.0
    seen = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], counts.sum() - expected[common].sum())
    return float(stats.chi2.sf(((seen - wanted) ** 2 / np.maximum(wanted, 1e-9)).sum(), common.sum()))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> int:
    """Eight cells to a standard deviation: trials that are one in a million elsewhere happen often."""
    monkeypatch.setattr(exact, "WIDTH", 8)
    monkeypatch.setattr(exact, "_SQUARE", 128)
    monkeypatch.setattr(exact, "LAPLACE", 3)
    return 8


@pytest.mark.audit
def test_normal_cells_have_their_probabilities_and_places(narrow: int) -> None:
    cells, places = exact.normal_cells(SeededNoise(1).bytes, 5 * DRAWS)
    edges = np.arange(-56, 57)
    law = np.diff(stats.norm.cdf(edges / narrow))
    counts = np.array([(cells == k).sum() for k in edges[:-1]])
    assert chi_square(counts, law) > LEVEL
    assert chi_square(counts, np.diff(stats.norm.cdf(edges / (1.05 * narrow)))) < LEVEL
    draws = (cells + (places + 0.5) * 2.0**-exact.FINE) / narrow
    assert stats.kstest(draws, "norm").pvalue > LEVEL
    assert stats.kstest(draws, stats.norm(scale=1.05).cdf).pvalue < LEVEL
    # Within cells far out the density falls: places uniform there would be noticed.
    inside = places[(cells >= 16) & (cells < 24)] * 2.0**-exact.FINE
    assert stats.kstest(inside, "uniform").pvalue < 1e-3


def test_laplace_integers_have_their_probabilities(narrow: int) -> None:
    found = exact.laplace_cells(SeededNoise(2).bytes, DRAWS)
    values = np.arange(-40, 41)
    law = np.exp(-np.abs(values) / 3.0)
    counts = np.array([(found == k).sum() for k in values])
    assert chi_square(counts, law / law.sum()) > LEVEL
    wrong = np.exp(-np.abs(values) / 3.15)
    assert chi_square(counts, wrong / wrong.sum()) < LEVEL


@pytest.mark.parametrize(("top", "bottom"), [(0, 5), (1, 3), (3, 3), (7, 3), (5, 2**49), (2**49 - 1, 2**49)])
def test_exponential_trials_succeed_as_often_as_they_should(top: int, bottom: int) -> None:
    found = exact.exponential(SeededNoise(3).bytes, np.full(DRAWS, top), bottom)
    chance = math.exp(-top / bottom)
    # Six standard errors: a right sampler fails with probability 2e-9.
    assert abs(found.mean() - chance) <= 6.0 * math.sqrt(chance * (1.0 - chance) / DRAWS) + 1e-12


def test_remainders_are_uniform_for_bounds_that_do_not_divide() -> None:
    bound = 3 * 2**60  # 2^63 holds it two and two thirds times: plain remainders would favour small ones
    found = exact.below(SeededNoise(4).bytes, np.full(DRAWS, bound))
    assert 0 <= found.min() <= found.max() < bound
    assert stats.kstest(found / bound, "uniform").pvalue > LEVEL
    words = np.frombuffer(SeededNoise(4).bytes(8 * DRAWS), dtype="<u8") >> np.uint64(1)
    assert stats.kstest((words % np.uint64(bound)) / bound, "uniform").pvalue < LEVEL


def test_whole_draws_at_full_width_follow_their_laws() -> None:
    source = SeededNoise(5)
    assert stats.kstest(source.whole_normal(DRAWS) * 2.0**-40, "norm").pvalue > LEVEL
    assert stats.kstest(source.whole_laplace(DRAWS) * 2.0**-40, "laplace").pvalue > LEVEL
    # All low bits are in use: each of the last forty is fair to six standard errors.
    for whole in (source.whole_normal(DRAWS), source.whole_laplace(DRAWS)):
        for bit in range(40):
            assert abs(((whole >> bit) & 1).mean() - 0.5) < 6 * 0.5 / math.sqrt(DRAWS)
