"""Single trials of the exact samplers, from bytes that are given: what is rare in a draw is told here."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from dpglm.mechanisms import exact_draws as exact
from dpglm.mechanisms.noise import NoiseSource, add_normal, grid_step


class Given(NoiseSource):
    """Bytes that are given, and no more."""

    private = False

    def __init__(self, *parts: bytes) -> None:
        self._left = b"".join(parts)

    def bytes(self, count: int) -> bytes:
        assert count <= len(self._left), "more bytes are asked for than a draw needs"
        taken, self._left = self._left[:count], self._left[count:]
        return taken


def word(value: int) -> bytes:
    """The eight bytes from which `exact.below` makes this number."""
    return (2 * value).to_bytes(8, "little")


def test_the_least_uniform_draw_is_above_nought() -> None:
    assert Given(bytes(16)).uniform(1).tolist() == [2.0**-127]
    assert Given(b"\xff" * 16).uniform(1).tolist() == [1.0]


@pytest.mark.parametrize("cell", [0, 1, exact.WIDTH])
def test_a_first_trial_is_lost_exactly_from_its_chance_on(cell: int) -> None:
    # 2k + 1 of the 2 W^2 outcomes go on to further trials; all others keep the draw and need no more bytes.
    keep, places = exact._within(Given(word(7), word(2 * cell + 1)).bytes, np.array([cell]))
    assert keep.tolist() == [True]
    assert places.tolist() == [7]
    with pytest.raises(AssertionError, match="more bytes"):
        exact._within(Given(word(7), word(2 * cell)).bytes, np.array([cell]))


@pytest.mark.parametrize(("won", "kept"), [(0, True), (1, False), (2, True), (3, False), (4, True)])
def test_trials_inside_a_cell_have_the_chances_of_the_series(
    won: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chances x, x/2, x/3, ... with x = (2ku + u^2) / 2W^2, the first of them in two steps."""
    cell, place, deep = 5, 2**28, 3
    chances: list[Fraction] = []
    outcomes: Iterator[bool] = iter([True] * won + [False])

    def told(source: exact.Bytes, chance: Fraction) -> bool:
        chances.append(chance)
        return next(outcomes)

    monkeypatch.setattr(exact, "_deeply", told)
    given = Given(word(place), word(0), deep.to_bytes(16, "little"))
    keep, _ = exact._within(given.bytes, np.array([cell]))
    u = Fraction(place, 2**29) + Fraction(deep, 2**157)
    x = (2 * cell * u + u * u) / (2 * exact.WIDTH**2)
    first = Fraction(2 * cell + 1, 2 * exact.WIDTH**2)
    assert chances == [x / first, *(x / trial for trial in range(2, won + 2))][: won + 1]
    assert keep.tolist() == [kept]


def test_a_draw_on_the_grid_stands_for_the_middle_of_its_cell() -> None:
    """Whole draws are integer parts, half a step too small on average: -1 and 0 lie alike around nought."""

    class Fixed(Given):
        def whole_normal(self, size: int) -> exact.Whole:
            return np.array([-1, 0])

    step = grid_step(3.0, 1.0, 2)
    drawn = add_normal(np.zeros(2), scale=3.0, sensitivity=1.0, noise=Fixed())
    assert drawn.tolist() == [-0.5 * step, 0.5 * step]
