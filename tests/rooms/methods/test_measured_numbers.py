"""Means and standard deviations from two looks: what the second one sees that the first cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.auditing.neighbours import Table
from dpglm.errors import MethodError
from dpglm.mechanisms.coordinates import Coordinates
from dpglm.methods.measured_numbers import LEAST_SHARE, MOST_SHARE, MeasuredNumbers
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector

COUNT_NOISE, NUMBER_NOISE, SQUARE_NOISE = 2.0, 2.0, 1.0  # in units of the scale, as `ColumnSums` weighs them


class Sums:
    """Two releases of a plan as `MeasuredNumbers` sees them, of numbers in [-1, 1], shape (k, n)."""

    def __init__(self, numbers: FloatMatrix, scale: float, seed: int | None = None) -> None:
        self.numbers, self.scale = numbers, scale
        self.random = None if seed is None else np.random.default_rng(seed)
        self.missing = (False,) * len(numbers)
        self.releases = ("declared", "closer")
        self.asked: FloatMatrix | None = None

    @property
    def deviations(self) -> FloatVector:
        return self.scale * np.array([COUNT_NOISE, *[NUMBER_NOISE, SQUARE_NOISE] * len(self.numbers)])

    def of_kind(self, kind: type) -> tuple[Sums, Sums]:
        return self, self

    def ask(self, release: str, at: FloatVector | None = None) -> FloatVector:
        numbers = self.numbers
        if release == "closer":
            assert at is not None
            self.asked = at.reshape(-1, 2)
            numbers = np.clip((numbers - self.asked[:, :1]) / self.asked[:, 1:], -1.0, 1.0)
        sums = np.column_stack([numbers.sum(axis=1), (numbers**2 - 0.5).sum(axis=1)]).ravel()
        exact = np.append(numbers.shape[1], sums)
        return exact if self.random is None else exact + self.random.normal(size=len(exact)) * self.deviations

    def measured(self, *, response: bool = False) -> MeasuredNumbers:
        plan: Any = self
        return MeasuredNumbers.of(plan, self.ask, response=response)


def numbers(*laws: tuple[float, float], rows: int = 20_000) -> FloatMatrix:
    """Normal numbers of these means and standard deviations within [-1, 1]."""
    random = np.random.default_rng(3)
    return np.clip([m + s * random.normal(size=rows) for m, s in laws], -1.0, 1.0)


def test_what_the_first_look_sees_clearly_is_the_mean_and_the_deviation() -> None:
    z = numbers((0.1, 0.3), (-0.4, 0.2))
    found = Sums(z, 1.0).measured()
    np.testing.assert_allclose(2.0 * found.means, z.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(2.0 * found.deviations, z.std(axis=1), rtol=1e-6)
    assert found.rows == 20_000


@pytest.mark.parametrize("deviation", [0.02, 0.05])
@pytest.mark.parametrize("mean", [0.0, 0.6, -0.9])
def test_the_second_look_sees_a_deviation_that_noise_hides_in_the_first(
    mean: float, deviation: float
) -> None:
    z = numbers((mean, deviation))
    scale = 60.0  # of variances: .003 or more, where .0004 and .0025 are to be seen
    found = np.array([2.0 * float(Sums(z, scale, seed).measured().deviations[0]) for seed in range(100, 130)])
    assert np.median(found) == pytest.approx(deviation, rel=0.25)
    # The first look is sure by mistake in 3 of 1,000 draws: in three of 30 hardly ever.
    assert (found < 2.5 * deviation).sum() >= 28
    declared = np.sqrt(3.0 * SQUARE_NOISE * scale / 20_000)
    assert declared > 1.5 * deviation


def test_a_range_becomes_closer_only_where_the_first_look_does_not_see_clearly() -> None:
    sums = Sums(numbers((0.0, 0.5), (0.5, 0.02)), 40.0)
    sums.measured()
    assert sums.asked is not None
    (_, wide), (middle, close) = sums.asked
    assert wide == pytest.approx(1.0, abs=0.01)
    assert middle == pytest.approx(0.5, abs=0.01)
    assert close < 0.2


def test_two_looks_at_a_whole_range_are_one_with_half_the_variance() -> None:
    z = numbers((0.0, 0.5))
    found = np.array([2.0 * float(Sums(z, 100.0, seed).measured().means[0]) for seed in range(400)])
    # A standard deviation of 400 draws is within 12 % of its own in all but one case in 1,000.
    assert found.std() == pytest.approx(np.sqrt(0.5) * NUMBER_NOISE * 100.0 / 20_000, rel=0.12)


def test_a_response_is_measured_apart_from_the_numbers() -> None:
    z = numbers((0.1, 0.3), (0.2, 0.3), (0.3, 0.3), (-0.8, 0.1))
    apart = Sums(z, 300.0).measured(response=True)
    alone = Sums(z[-1:], 300.0).measured(response=True)
    assert apart.means[-1] == alone.means[-1]
    assert apart.deviations[-1] == alone.deviations[-1]


answers = st.floats(-1e30, 1e30)


@settings(max_examples=200)
@given(
    first=st.lists(answers, min_size=7, max_size=7),
    second=st.lists(answers, min_size=7, max_size=7),
    scale=st.floats(1e-3, 1e6),
)
def test_whatever_is_answered_ranges_are_proper_and_deviations_bounded(
    first: list[float], second: list[float], scale: float
) -> None:
    sums = Sums(np.zeros((3, 1)), scale)
    given_answers = iter([np.array(first), np.array(second)])

    def ask(release: str, at: FloatVector | None = None) -> FloatVector:
        if at is not None:
            middle, half = at.reshape(-1, 2).T
            assert (np.abs(middle) <= 1.0).all()
            assert ((half > 0.0) & (half <= 2.0)).all()
        return next(given_answers)

    plan: Any = sums
    with np.errstate(all="ignore"):
        found = MeasuredNumbers.of(plan, ask)
    assert found.rows >= 1.0
    assert (np.abs(found.means) <= 0.5).all()
    assert ((found.deviations >= LEAST_SHARE) & (found.deviations <= MOST_SHARE)).all()


@pytest.mark.parametrize("at", [None, [0.0], [0.0, 0.0], [0.0, -1.0], [np.nan, 1.0], [0.0, np.inf]])
def test_closer_ranges_that_are_none_are_refused(at: list[float] | None) -> None:
    mapping = Coordinates((0, 0.5), ((1, 1.0),), closer=True)
    rows = Table(ArrayChunk(np.full((2, 1), 0.5, dtype=np.float32), np.zeros(1), None))
    with pytest.raises(MethodError, match="no closer ranges"):
        mapping.mapped(rows, None if at is None else np.array(at))


def test_intervals_do_not_lean_on_how_wide_a_range_was_declared() -> None:
    random = np.random.default_rng(1)
    z, x = random.normal(size=6_000), random.normal(size=6_000)
    y = (random.random(6_000) < 1.0 / (1.0 + np.exp(-z - 0.5 * x))).astype(int)
    widths = []
    for width in (4.0, 30.0):
        fit = dpglm.fit(
            "y ~ z + x",
            pd.DataFrame({"z": z, "x": x, "y": y}),
            schema={"y": [0, 1], "z": (-width, width), "x": (-width, width)},
            privacy=dpglm.Privacy(1.0, 1e-6),
            seed=2,
            progress=False,
        )
        rows = fit.tidy().set_index("term")
        assert rows["reliable"].all()
        widths.append(rows["conf_high"] - rows["conf_low"])
    np.testing.assert_allclose(widths[1], widths[0], rtol=0.1)
