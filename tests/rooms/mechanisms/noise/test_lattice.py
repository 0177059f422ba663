"""Noise on a grid hides low-order bits; noise in double precision does not (Mironov 2012)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpglm.mechanisms.noise import (
    SLACK,
    STEPS,
    NoiseSource,
    SeededNoise,
    add_laplace,
    add_normal,
    laplace_price,
)

DRAWS = 4000


def textbook(value: float, source: SeededNoise) -> np.ndarray:
    """Laplace noise of scale 1 from the logarithm of a 53-bit uniform, added in double precision."""
    words = np.frombuffer(source.bytes(8 * DRAWS), dtype="<u8")
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    signs = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
    return np.asarray(value + signs * np.log(uniform))


def reachable(output: float, value: float) -> bool:
    """Whether textbook noise can carry ``value`` to ``output``: whether some uniform has that logarithm."""
    noise = -abs(output - value)
    place = math.exp(noise) * 2.0**53 - 0.5
    for step in range(-4, 5):
        number = math.floor(place) + step
        if number >= 0:
            log = math.log((number + 0.5) * 2.0**-53)
            if value + log == output or value - log == output:
                return True
    return False


def test_textbook_noise_tells_neighbours_apart() -> None:
    """Outputs of one value are reachable from it, and often not from the other: the low bits do not fit."""
    outputs = textbook(0.0, SeededNoise(1))
    near = outputs[np.abs(outputs) < 2.0]  # where the grid of logarithms is coarser than that of doubles
    assert np.mean([reachable(output, 0.0) for output in near]) > 0.99
    assert np.mean([reachable(output, 1.0) for output in near]) < 0.9


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_on_the_grid_every_output_of_one_value_is_one_of_the_other(law: str) -> None:
    """All outputs are whole steps (and a half), whatever the value, and every residue of steps occurs."""
    for value in (0.0, 1.0, math.pi, 0.1 + 0.2, 1e-17, -2.0 / 3.0):
        step, steps = outputs(law, value)
        np.testing.assert_array_equal(steps, np.round(steps))
        # The last ten bits of whole steps: fair to six standard errors for any value.
        for bit in range(10):
            share = (steps.astype(np.int64) >> bit & 1).mean()
            assert abs(share - 0.5) < 6 * 0.5 / math.sqrt(len(steps))
        assert 0.0 < step < 2.0**-38


def outputs(law: str, value: float) -> tuple[float, np.ndarray]:
    """The public step, and outputs in whole steps."""
    values, noise = np.full(DRAWS, value), SeededNoise(2)
    if law == "laplace":
        found = add_laplace(values, scale=1.0, noise=noise)
        return 1.0 / STEPS, found * STEPS
    step = (1.0 + SLACK) / (STEPS - math.sqrt(DRAWS))
    found = add_normal(values, scale=1.0, sensitivity=1.0, noise=noise)
    return step, np.round(found / step * 2.0) / 2.0 - 0.5


class Fixed(SeededNoise):
    """The same whole draws again and again."""

    def __init__(self, draws: list[int]) -> None:
        super().__init__(0)
        self.draws = np.array(draws, dtype=np.int64)

    def whole_normal(self, size: int) -> np.ndarray:
        return self.draws[:size]

    def whole_laplace(self, size: int) -> np.ndarray:
        return self.draws[:size]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6),
    st.floats(1e-3, 1e3),
    st.integers(-(2**44), 2**44),
)
def test_an_output_is_a_function_of_whole_steps(values: list[float], scale: float, drawn: int) -> None:
    """Two values in one step give the same bits; a value a step away gives the neighbouring output."""
    noise: NoiseSource = Fixed([drawn] * len(values))
    step = scale / STEPS
    exact = np.round(np.array(values) / step) * step
    first = add_laplace(exact, scale=scale, noise=noise)
    second = add_laplace(exact * (1.0 + 2.0**-60), scale=scale, noise=noise)
    np.testing.assert_array_equal(first, second)


@given(st.floats(1e-6, 1e3), st.floats(1e-3, 1e3), st.integers(1, 5000))
def test_the_step_pays_for_rounding_and_slack(scale: float, sensitivity: float, count: int) -> None:
    """Sensitivity in steps over noise in steps is at most sensitivity over scale, which is charged."""

    class Silent(SeededNoise):
        def whole_normal(self, size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.int64)

    half_step = add_normal(np.zeros(count), scale=scale, sensitivity=sensitivity, noise=Silent(0))[0]
    step = 2.0 * half_step
    moved = sensitivity * (1.0 + SLACK) / step + math.sqrt(count)
    assert moved / STEPS <= sensitivity / scale * (1.0 + 1e-12)
    assert step * STEPS <= scale * (1.0 + 2.0 * SLACK) or scale / sensitivity > 1e3


def test_the_price_of_laplace_noise_counts_rounding() -> None:
    assert laplace_price(1.0, 2.0, 0) == pytest.approx(0.5 * (1.0 + SLACK))
    assert laplace_price(0.0, 1.0, 7) == 7 / STEPS
