"""The perturbed minimiser with a ridge matrix: what it refuses, what it reads, and what it costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.rows import WithinLeverage
from dpglm.privacy.events import BoundedSlopeEvent, GaussianEvent, PerturbedEvent, PureEvent
from dpglm.privacy.theorems import gamma_epsilon
from dpglm.rows import ArrayChunk, RowChunk

RIDGE = np.array([0.5, 2.0, 2.0])


def release(**changed: Any) -> PerturbedMinimiser:
    made = PerturbedMinimiser(
        family=families["binomial"](),
        ridge=RIDGE,
        law="gaussian",
        scale=4.0,
        tolerance=1e-9,
        residual_noise_scale=1e-7,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(3),
        penalised=np.array([False, True, True]),
        max_leverage=0.6,
    )
    return replace(made, **changed)


class Table:
    """Rows in blocks; counts its reads."""

    size = 3

    def __init__(self, *blocks: RowChunk) -> None:
        self._chunks, self.reads = blocks, 0

    def chunks(self) -> tuple[RowChunk, ...]:
        self.reads += 1
        return self._chunks

    def row_count(self) -> int:
        return sum(len(block.y) for block in self._chunks)


def table(seed: int, count: int = 60, offset: bool = False) -> Table:
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(2):
        X = rng.uniform(-0.3, 0.3, (3, count)).astype(np.float32)
        y = rng.integers(0, 2, count).astype(float)
        blocks.append(ArrayChunk(X, y, rng.normal(size=count) if offset else None))
    return Table(*blocks)


def test_the_release_is_stationary_for_the_ridge_matrix() -> None:
    asked, rows = release(), table(1)
    found = asked.run(rows, None, SeededNoise(4))
    tilt = SeededNoise(4).normal(3, scale=4.0)
    gradient = tilt + RIDGE * found
    for block in rows.chunks():
        X = block.X.astype(float)
        gradient += X @ asked.family.slope(found @ X, block.y)
    assert np.linalg.norm(gradient) < 1e-5  # the blur


def test_rows_beyond_the_reach_are_read_as_zeros() -> None:
    good = table(2, offset=True)
    first, second = good.chunks()
    X = first.X.copy()
    X[:, 7] = [0.9, 0.0, 0.0]  # norm below 1, but .81 / .5 is above .6
    X[:, 9] = np.nan
    blank = X.copy()
    blank[:, [7, 9]] = 0.0
    bad = Table(ArrayChunk(X, first.y, first.offset), second)
    mended = Table(ArrayChunk(blank, first.y, first.offset), second)
    answers = [release().run(rows, None, SeededNoise(4)) for rows in (bad, mended)]
    np.testing.assert_array_equal(*answers)
    assert np.isfinite(answers[0]).all()
    # The rows themselves are not touched.
    assert bad.chunks()[0].X[0, 7] == np.float32(0.9)


def test_rows_within_reach_are_passed_on_untouched_at_every_read() -> None:
    rows = table(3)
    within = WithinLeverage(rows, RIDGE, 0.6)
    assert within.size == 3
    assert within.row_count() == 120
    for _ in range(2):
        assert [one.X is two.X for one, two in zip(within.chunks(), rows.chunks(), strict=True)] == [True] * 2
    # A row at the reach itself, to the last digit, is within it.
    edge = np.array([[math.sqrt(0.5 * 0.6)], [0.0], [0.0]], dtype=np.float32)
    q = float(edge[0, 0].astype(np.float64) ** 2 / 0.5)
    block = ArrayChunk(edge, np.zeros(1), None)
    (kept,) = WithinLeverage(Table(block), RIDGE, q * (1 + 1e-12)).chunks()
    assert kept.X is block.X
    (lost,) = WithinLeverage(Table(block), RIDGE, q * (1 - 1e-9)).chunks()
    assert not lost.X.any()


@pytest.mark.parametrize(
    "changed",
    [
        {"max_leverage": None},
        {"max_leverage": 0.49},
        {"max_leverage": math.nan},
        {"ridge": np.array([0.5, -1.0, 1.0])},
        {"ridge": np.array([0.5, math.inf, 1.0])},
        {"ridge": np.zeros(0)},
        {"ridge": 0.0, "max_leverage": None},
        {"ridge": 2.0, "max_leverage": 0.49},
    ],
)
def test_ridges_and_reaches_that_cannot_be_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(MethodError):
        release(**changed)


def test_prices_say_which_theorem_holds() -> None:
    residual = ("solver residual", GaussianEvent(4 * 1e-9 / 0.5 / 1e-7))
    found = release().events("replace-one")
    assert found == (("perturbed minimiser", PerturbedEvent(0.25, 0.6, "replace-one")), residual)
    assert release(ridge=2.0, max_leverage=0.5).events("add-remove")[0][1] == PerturbedEvent(
        0.25, 0.5, "add-remove"
    )
    # No row is longer than 1, whatever the bounds of its blocks add up to.
    assert release(max_leverage=2.5).events("add-remove")[0][1] == PerturbedEvent(0.25, 2.0, "add-remove")
    # A leverage of at most 1 / (2 scale^2): Gaussian differential privacy, whatever the least ridge.
    large = release(ridge=np.array([32.0, 64.0, 64.0]), max_leverage=1 / 40)
    assert large.events("replace-one")[0][1] == GaussianEvent(0.5)
    uneven = release(ridge=np.array([8.0, 64.0, 64.0]), max_leverage=1 / 32)
    assert uneven.events("replace-one")[0][1] == GaussianEvent(0.5)
    beyond = release(ridge=np.array([8.0, 64.0, 64.0]), max_leverage=1 / 31.9)
    assert beyond.events("replace-one")[0][1] == PerturbedEvent(0.25, 1 / 31.9, "replace-one")
    pure = release(law="gamma").events("add-remove")
    assert pure[0][1] == PureEvent(gamma_epsilon(0.25, 1 / 0.6, relation="add-remove"))
    # Three coordinates of Laplace noise: distances count by the sum of absolute values.
    assert pure[1][1].epsilon == pytest.approx(4 * 1e-9 / 0.5 / 1e-7 * math.sqrt(3), rel=2e-4)


@pytest.mark.parametrize("law", ["gamma", "gaussian"])
@pytest.mark.parametrize("price", [1e-9, 0.01, 3.0])
def test_the_blur_costs_what_was_asked(law: str, price: float) -> None:
    asked = release(law=law)
    (_, event) = replace(asked, residual_noise_scale=asked.residual_noise_for(price)).events("add-remove")[1]
    paid = event.epsilon if law == "gamma" else event.mu
    assert price * (1.0 - 1e-9) <= paid <= price * (1.0 + 1e-12)


def test_a_price_below_the_grid_is_refused() -> None:
    with pytest.raises(MethodError, match="solver's residual"):
        release(law="gamma").residual_noise_for(1e-13)


def test_one_number_and_a_vector_of_it_give_the_same_answer() -> None:
    answers = [
        release(ridge=ridge, max_leverage=0.5).run(table(5), None, SeededNoise(1))
        for ridge in (2.0, np.full(3, 2.0))
    ]
    np.testing.assert_allclose(*answers, atol=1e-6)


def test_counts_have_prices_of_their_own_and_no_claim_at_one_epsilon() -> None:
    counts = families["poisson"]().with_bound(20.0)
    found = release(family=counts).events("replace-one")
    assert found[0][1] == BoundedSlopeEvent(0.25, 0.6, "replace-one")
    # At no ridge is it Gaussian differential privacy; one number needs no reach.
    large = release(family=counts, ridge=100.0, max_leverage=None).events("add-remove")
    assert large[0][1] == BoundedSlopeEvent(0.25, 0.01, "add-remove")
    pure = release(family=counts, law="gamma")
    assert pure.events("add-remove")[0][1] == PureEvent(0.25 + math.log1p(0.6))
    assert pure.events("replace-one")[0][1] == PureEvent(0.5 + math.log1p(0.6))
    with pytest.raises(MethodError, match="one epsilon"):
        release(family=counts, claimed_epsilon=1.0, ridge=1.0, max_leverage=None)
    with pytest.raises(MethodError, match="interval of length 1"):
        release(family=families["gaussian"]())


@pytest.mark.parametrize("seed", range(40))
def test_counts_are_minimised_to_the_certificate_on_any_table(seed: int) -> None:
    """Zeros and counts at the bound, identical rows, far offsets: the curvature jumps, the solver arrives."""
    rng = np.random.default_rng(seed)
    bound = float(rng.choice([1.0, 20.0, 1000.0]))
    y = [np.zeros(200), np.full(200, bound), rng.choice([0.0, bound], 200), np.round(bound * rng.random(200))]
    X = rng.uniform(-0.5, 0.5, (3, 200))
    X = X[:, :1] + 0.0 * X if seed % 3 == 0 else X
    offset = None if seed % 2 else rng.normal(size=200) * float(rng.choice([1.0, 1000.0]))
    rows = Table(ArrayChunk(X.astype(np.float32), y[seed % 4], offset))
    asked = release(
        family=families["poisson"]().with_bound(bound),
        ridge=float(rng.choice([0.01, 1.0, 20.0])),
        max_leverage=None,
        scale=float(rng.choice([0.1, 10.0, 1e3])),
        tolerance=1e-7,
        residual_noise_scale=1e-12,
    )
    found = asked.run(rows, None, SeededNoise(seed))
    gradient = SeededNoise(seed).normal(3, scale=asked.scale) + asked.least_ridge * found
    for block in rows.chunks():
        eta = found @ block.X.astype(float) + (0.0 if block.offset is None else block.offset)
        gradient += block.X.astype(float) @ asked.family.slope(eta, block.y)
    assert np.linalg.norm(gradient) < 2e-7
    assert found.any()  # zeros would stand for a missing certificate
