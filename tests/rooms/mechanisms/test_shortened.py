"""The minimiser on shortened rows: its factor, the rows it reads, and what it releases."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpglm.errors import MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser, NormClippedRows, length_sensitivity
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.optim.rows import ArrayChunk
from dpglm.privacy.accountant import basic_composition
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import GaussianEvent, PerturbedEvent, PureEvent
from dpglm.typing import FloatBlock, FloatVector
from tests.calibrated import calibrate_pair, calibrate_pair_pure

BINOMIAL = families["binomial"]()
QUIET = 1e-9


class Table:
    """Given rows in blocks of at most ``width``."""

    def __init__(self, X: Any, y: Any = None, width: int = 100, offset: Any = None) -> None:
        self.X = np.asarray(X, dtype=np.float32)
        self.y = np.zeros(self.X.shape[1]) if y is None else np.asarray(y, dtype=float)
        self.offset, self.width, self.size = offset, width, len(self.X)

    def chunks(self) -> list[ArrayChunk]:
        parts = [slice(i, i + self.width) for i in range(0, len(self.y), self.width)]
        offsets = [None if self.offset is None else self.offset[part] for part in parts]
        return [
            ArrayChunk(np.ascontiguousarray(self.X[:, part]), self.y[part], offset)
            for part, offset in zip(parts, offsets, strict=True)
        ]

    def row_count(self) -> int:
        return len(self.y)


def minimiser(
    size: int, law: Literal["gamma", "gaussian"] = "gaussian", scale: float = QUIET, **more: Any
) -> PerturbedMinimiser:
    numbers: dict[str, Any] = {
        "family": BINOMIAL,
        "ridge": 1.0,
        "law": law,
        "scale": scale,
        "tolerance": 1e-9,
        "residual_noise_scale": 1e-9,
        "penalty": penalties["none"](),
        "penalty_rows": 1.0,
        "mixing": np.eye(size),
        "penalised": np.ones(size, dtype=bool),
    }
    return PerturbedMinimiser(**(numbers | more))


def shortened(table: Any, factor: float, weights: FloatVector | None = None) -> FloatBlock:
    return np.concatenate([block.X for block in NormClippedRows(table, factor, weights).chunks()], axis=1)


def exact_square(row: FloatVector) -> Fraction:
    return sum((Fraction(float(entry)) ** 2 for entry in row), Fraction(0))


def random_table(size: int = 5, count: int = 400, length: float = 0.2, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, count))
    X *= length * rng.uniform(0.5, 1.5, count) / np.linalg.norm(X, axis=0)
    return Table(X, rng.integers(0, 2, count), 150, rng.normal(size=count))


# The factor


@pytest.mark.parametrize("law", ["gaussian", "gamma"])
@pytest.mark.parametrize("count_rows", [True, False])
@pytest.mark.parametrize(("length", "expected"), [(0.2, 4.0), (0.5, 1.6), (0.05, 10.0), (0.9, 1.0)])
def test_the_factor_brings_the_root_mean_square_to_one_over_margin(
    law: Any, count_rows: bool, length: float, expected: float
) -> None:
    """Rows of one length, one above and one below in squares by the same; limits 1 and ``most``."""
    table = random_table()
    squares = length**2 * np.where(np.arange(400) % 2, 0.9, 1.1)
    table.X *= (np.sqrt(squares) / np.linalg.norm(table.X, axis=0)).astype(np.float32)
    release = NormClippedMinimiser(minimiser(5, law), QUIET, count_rows)
    found = release.run(table, None, SeededNoise(1))
    assert found.shape == (6,)
    assert found[0] == pytest.approx(expected, rel=1e-3)  # squares are rounded down to a millionth


def test_rows_of_zeros_count_where_rows_are_not_counted_by_the_release() -> None:
    """A public number of rows says nothing of how many can be used; a released one does."""
    table = random_table()
    table.X[:] = 0.0
    table.X[0, :100] = 0.5
    with_count = NormClippedMinimiser(minimiser(5), QUIET, True).run(table, None, SeededNoise(1))[0]
    without = NormClippedMinimiser(minimiser(5), QUIET, False).run(table, None, SeededNoise(1))[0]
    assert with_count == pytest.approx(1.6, rel=1e-4)
    assert without == pytest.approx(3.2, rel=1e-4)


@pytest.mark.parametrize("law", ["gaussian", "gamma"])
@pytest.mark.parametrize(
    "numbers", [[math.nan, 1.0], [math.inf, 0.0], [-1e300, 1e300], [0.0, 0.0], [-5.0, math.nan]]
)
def test_every_released_number_gives_a_factor(law: Any, numbers: list[float]) -> None:
    for count_rows, measured in ((True, numbers), (False, numbers[:1])):
        release = NormClippedMinimiser(minimiser(2, law), 3.0, count_rows)
        for count in (0, 1, 10**9):
            found = release.factor(np.array(measured), count)
            assert 1.0 <= found <= 10.0
            assert found == float(np.float32(found))


def test_a_mean_that_noise_alone_would_show_does_not_make_the_factor_large() -> None:
    release = NormClippedMinimiser(minimiser(2), 50.0, False)
    assert release.factor(np.array([-40.0]), 500) == pytest.approx(1.0 / (1.25 * math.sqrt(0.1)), rel=1e-6)


# What one row moves


@given(
    hnp.arrays(np.float32, (3, 2), elements=st.floats(-1.0, 1.0, width=32)),
    st.sampled_from(["add-remove", "replace-one"]),
    st.booleans(),
    st.booleans(),
)
def test_one_row_moves_the_sums_by_no_more_than_is_paid_for(
    pair: FloatBlock, relation: Relation, count_rows: bool, array: bool
) -> None:
    """Also where a row breaks its promise: entries up to 1 make norms up to sqrt(3)."""
    more = {"ridge": np.array([0.5, 1.0, 2.0]), "max_leverage": 1.0} if array else {}
    release = NormClippedMinimiser(minimiser(3, **more), 1.0, count_rows or relation == "add-remove")
    base = random_table(3, 20).X
    second = base if relation == "add-remove" else np.column_stack([pair[:, 1], base])
    sums = [release._sums(Table(X)) for X in (np.column_stack([pair[:, 0], base]), second)]
    assert np.linalg.norm(sums[0] - sums[1]) <= length_sensitivity(relation)


def test_the_sensitivities_are_attained() -> None:
    unit, none = np.array([[1.0], [0.0]]), np.zeros((2, 0))
    short = np.array([[1e-6], [0.0]])
    counted = NormClippedMinimiser(minimiser(2), 1.0, True)
    plain = NormClippedMinimiser(minimiser(2), 1.0, False)
    moved = counted._sums(Table(unit)) - counted._sums(Table(none))
    assert np.linalg.norm(moved) == pytest.approx(length_sensitivity("add-remove"), abs=1e-15)
    for release in (counted, plain):
        moved = release._sums(Table(unit)) - release._sums(Table(short))
        assert np.linalg.norm(moved) == length_sensitivity("replace-one")


def test_sums_do_not_depend_on_the_order_of_rows_or_blocks() -> None:
    table = random_table(7, 999)
    release = NormClippedMinimiser(minimiser(7), 1.0, True)
    order = np.random.default_rng(2).permutation(999)
    other = Table(table.X[:, order], width=13)
    np.testing.assert_array_equal(release._sums(table), release._sums(other))


# The rows that are read


def hostile_rows(size: int) -> FloatBlock:
    """Lengths at and around 1 and 1 / c, subnormal, zero, and beyond what is promised."""
    rng = np.random.default_rng(size)
    near = rng.normal(size=(size, 4000))
    near /= np.linalg.norm(near, axis=0)
    targets = np.concatenate([np.repeat([1.0, 1 / 3, 0.1], 1200), rng.uniform(0.0, 1.2, 400)])
    near = (near * targets).astype(np.float32)
    near[:, ::3] = np.nextafter(near[:, ::3], np.float32(np.inf))
    near[:, 1::3] = np.nextafter(near[:, 1::3], -np.float32(np.inf))
    odd = np.zeros((size, 10), dtype=np.float32)
    odd[0] = [
        0.0,
        1.0,
        np.nextafter(np.float32(1), np.float32(2)),
        1e-45,
        3e-39,
        -1.0,
        3e38,
        np.inf,
        np.nan,
        1e-20,
    ]
    odd[-1, :6] = [0.0, 1e-45, 1e-30, 1e-45, -3e-39, 2.0**-12]
    tiny = (rng.normal(size=(size, 50)) * 1e-42).astype(np.float32)
    return np.concatenate([near, odd, tiny], axis=1)


@pytest.mark.parametrize("size", [2, 3, 17, 100])
@pytest.mark.parametrize("factor", [1.0, 3.0, float(np.float32(10 / 3)), 10.0, 1e6])
def test_rows_that_are_read_have_norm_at_most_one_exactly(size: int, factor: float) -> None:
    X = hostile_rows(size)
    with np.errstate(over="raise"):
        found = shortened(Table(X), factor)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    lengths = np.linalg.norm(X.astype(float), axis=0)
    finite = np.isfinite(lengths)
    np.testing.assert_array_equal(found[:, ~finite], 0.0)
    largest = np.argsort(-np.linalg.norm(found.astype(float), axis=0))[:300]
    assert all(exact_square(found[:, j]) <= 1 for j in largest)
    np.testing.assert_allclose(
        np.linalg.norm(found.astype(float), axis=0)[finite],
        np.minimum(factor * lengths[finite], 1.0),
        rtol=2e-6,
        atol=1e-37,
    )
    plain = finite & (factor * lengths < 0.999)
    np.testing.assert_array_equal(found[:, plain], X[:, plain] * np.float32(factor))


def test_with_an_array_of_ridges_rows_are_within_the_reach_too() -> None:
    from dpglm.mechanisms.rows import _within

    ridge, max_leverage = np.array([0.5, 1.0, 4.0]), 0.8
    X = hostile_rows(3)
    weights = 1.0 / (ridge * max_leverage)
    found = shortened(Table(X), 3.0, weights)
    assert _within(found, weights).all()  # so that the minimiser blanks none
    exact = [Fraction(float(w)) for w in weights]
    for j in range(found.shape[1]):
        assert exact_square(found[:, j]) <= 1
        assert sum(w * Fraction(float(z)) ** 2 for w, z in zip(exact, found[:, j], strict=True)) <= 1
    alive = np.isfinite(X).all(axis=0) & (np.abs(X).max(axis=0) > 1e-6)
    assert (np.abs(found[:, alive]).max(axis=0) > 0.0).all()


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 37))
def test_a_row_has_the_same_bits_whatever_the_others_are(seed: int, count: int, width: int) -> None:
    """Replaced, removed, or elsewhere in a block of another width: the others are read as they were."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(11, count)) * rng.uniform(0.0, 0.6, count)).astype(np.float32)
    place = int(rng.integers(count))
    first = shortened(Table(X), 2.5)
    other = X.copy()
    other[:, place] = rng.normal(size=11) * 10.0 ** rng.uniform(-40, 38)
    replaced = shortened(Table(other, width=width), 2.5)
    kept = np.arange(count) != place
    np.testing.assert_array_equal(first[:, kept], replaced[:, kept])
    if count > 1:
        removed = shortened(Table(X[:, kept], width=width), 2.5)
        np.testing.assert_array_equal(first[:, kept], removed)


def test_rows_are_the_same_at_each_pass_and_pass_through_else() -> None:
    table = random_table()
    rows = NormClippedRows(table, 4.0)
    assert rows.size == 5
    assert rows.row_count() == 400
    for ours, again, theirs in zip(rows.chunks(), rows.chunks(), table.chunks(), strict=True):
        np.testing.assert_array_equal(ours.X, again.X)
        np.testing.assert_array_equal(ours.y, theirs.y)
        np.testing.assert_array_equal(ours.offset, theirs.offset)


# What is released


def test_coefficients_are_those_of_the_plain_minimiser_where_no_row_is_shortened() -> None:
    """c theta minimises the plain objective with ridge / c^2, up to the rounding of rows to float32."""
    table = random_table(length=0.2)  # lengths up to .3, c about 2
    release = NormClippedMinimiser(minimiser(5, ridge=4.0), QUIET, False, margin=2.0)
    c, *theta = release.run(table, None, SeededNoise(1))
    assert 2.0 < c < 3.0
    plain = minimiser(5, ridge=4.0 / c**2).run(table, None, SeededNoise(1))
    np.testing.assert_allclose(c * np.array(theta), plain, atol=2e-6)


def test_with_a_factor_of_one_short_rows_are_left_as_they_are() -> None:
    table = random_table()
    inner = minimiser(5, tolerance=1e-12, residual_noise_scale=1e-14)
    release = NormClippedMinimiser(inner, QUIET, True, most=1.0)
    found = release.run(table, None, SeededNoise(1))
    assert found[0] == 1.0
    np.testing.assert_allclose(found[1:], inner.run(table, None, SeededNoise(2)), atol=1e-8)


def test_an_array_of_ridges_goes_through() -> None:
    table = random_table()
    inner = minimiser(5, ridge=np.array([1.0, 1.0, 2.0, 2.0, 2.0]), max_leverage=0.8)
    found = NormClippedMinimiser(inner, QUIET, True).run(table, None, SeededNoise(1))
    assert found[0] > 2.0
    assert np.abs(found[1:]).max() > 1e-3


# Prices


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_staged_calibration_pays_for_both(relation: Relation, epsilon: float) -> None:
    ridge = 2.0 / epsilon
    found = calibrate_pair(
        epsilon,
        1e-6,
        max_leverage_of=lambda scale: 1.0 / ridge,
        relation=relation,
        information_sensitivity=length_sensitivity(relation),
        share=0.03,
    )
    inner = minimiser(
        3,
        scale=found.score_scale,
        ridge=ridge,
        max_leverage=1.0 / ridge,
    )
    inner = replace(inner, residual_noise_scale=inner.residual_noise_for(found.residual_price))
    release = NormClippedMinimiser(inner, found.information_scale, relation == "add-remove")
    labels, events = zip(*release.events(relation), strict=True)
    assert labels == ("row length", "perturbed minimiser", "solver residual")
    assert [type(event) for event in events] == [GaussianEvent, PerturbedEvent, GaussianEvent]
    assert 0.999 * epsilon < basic_composition(events, 1e-6) <= epsilon * (1.0 + 1e-9)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_pure_calibration_pays_for_both(relation: Relation) -> None:
    found = calibrate_pair_pure(
        1.0,
        max_leverage_of=lambda scale: 0.5,
        relation=relation,
        information_sensitivity=length_sensitivity(relation),
        share=0.03,
    )
    ridge = 2.0 * found.ridge_factor
    inner = minimiser(3, "gamma", found.score_scale, ridge=ridge)
    inner = replace(inner, residual_noise_scale=inner.residual_noise_for(found.residual_price))
    events = [
        event for _, event in NormClippedMinimiser(inner, found.information_scale, True).events(relation)
    ]
    assert all(isinstance(event, PureEvent) for event in events)
    assert basic_composition(events, 0.0) == pytest.approx(1.0, rel=1e-6)
    assert basic_composition(events, 0.0) <= 1.0


def test_a_private_number_of_rows_must_be_counted() -> None:
    release = NormClippedMinimiser(minimiser(2), 1.0, False)
    with pytest.raises(MethodError, match="add-remove"):
        release.events("add-remove")


@pytest.mark.parametrize(
    "more",
    [{"length_scale": 0.0}, {"length_scale": math.nan}, {"margin": 0.0}, {"most": 0.5}, {"most": math.inf}],
)
def test_numbers_out_of_range_are_refused(more: dict[str, float]) -> None:
    with pytest.raises(MethodError):
        NormClippedMinimiser(minimiser(2), **({"length_scale": 1.0, "count_rows": True} | more))  # type: ignore[arg-type]


def test_a_minimiser_claimed_at_one_epsilon_is_refused() -> None:
    with pytest.raises(MethodError, match="claimed"):
        NormClippedMinimiser(minimiser(2, claimed_epsilon=1.0), 1.0, True)
