"""Exact draws: as many as are asked for, and the right law to the last cell where cells are wide."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats

from dpglm.mechanisms import exact_draws as exact
from dpglm.mechanisms.noise import NoiseSource, SeededNoise

COUNT = 40_000


def improbable(found: np.ndarray, edges: np.ndarray, probabilities: np.ndarray) -> bool:
    """Whether a chi-squared test rejects at 1e-6; the faults below are rejected."""
    observed = np.histogram(found, edges)[0]
    assert observed.sum() == len(found)
    return bool(stats.chisquare(observed, probabilities * len(found)).pvalue < 1e-6)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7])
def test_there_are_as_many_draws_as_were_asked_for(size: int) -> None:
    for _ in range(20):
        cells, places = exact.normal_cells(os.urandom, size)
        assert cells.shape == places.shape == exact.laplace_cells(os.urandom, size).shape == (size,)
        assert np.all((places >= 0) & (places < 2**exact.FINE))


def test_places_inside_cells_follow_the_normal_law_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WIDTH", 8), ("_SQUARE", 128), ("FINE", 2)):
        monkeypatch.setattr(exact, name, value)
    cells, places = exact.normal_cells(SeededNoise(5).bytes, COUNT)
    edges = np.concatenate([[-1000], np.arange(-64, 65), [1000]])
    ends = stats.norm.cdf(np.concatenate([[-np.inf], np.arange(-64, 65) / 32.0, [np.inf]]))
    assert not improbable(4 * cells + places, edges - 0.5, np.diff(ends))
    assert improbable(4 * cells + places + (cells < 0), edges - 0.5, np.diff(ends))


def test_whole_laplace_draws_have_zero_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "LAPLACE", 3)
    found = exact.laplace_cells(SeededNoise(6).bytes, COUNT)
    whole = np.arange(-12, 13)
    ratio = np.exp(-1.0 / 3.0)
    mass = (1.0 - ratio) / (1.0 + ratio) * ratio ** np.abs(whole)
    tail = ratio**13 / (1.0 + ratio)
    edges = np.concatenate([[-1000], np.arange(-12, 14), [1000]]) - 0.5
    assert not improbable(found, edges, np.concatenate([[tail], mass, [tail]]))
    assert improbable(found[found != 1], edges, np.concatenate([[tail], mass, [tail]]))


def test_a_normal_draw_lies_in_its_cell_and_its_integer_part_is_below_it() -> None:
    class Fixed(NoiseSource):
        private = False

        def __init__(self) -> None:
            self.bytes = SeededNoise(9).bytes  # type: ignore[method-assign]

        def bytes(self, count: int) -> bytes:
            raise AssertionError

    cells, places = exact.normal_cells(SeededNoise(9).bytes, 500)
    steps = Fixed().normal(500, scale=3.0) * (exact.WIDTH / 3.0)
    np.testing.assert_array_equal(np.floor(steps), cells)
    np.testing.assert_allclose(steps - cells, (places + 0.5) * 2.0**-exact.FINE, atol=1e-6)
