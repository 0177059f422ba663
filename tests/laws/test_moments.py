"""Second moments: the sensitivity holds for all pairs of rows and is attained, and every budget is met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpglm
from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.span import Span
from dpglm.methods.base import Problem
from dpglm.methods.moments import Moments
from dpglm.privacy.accountant import basic_composition
from dpglm.rows import ArrayChunk
from tests.silence import Silence

SIZE = 3


def blocks(size: int = SIZE) -> tuple[TermColumns, ...]:
    return (TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),)


class Table:
    """Given blocks of rows."""

    def __init__(self, *pieces: ArrayChunk) -> None:
        self.size, self._pieces = len(pieces[0].X), pieces

    def chunks(self) -> tuple[ArrayChunk, ...]:
        return self._pieces

    def row_count(self) -> int:
        return sum(len(piece.y) for piece in self._pieces)


def release(weights: tuple[float, float, float, float], size: int = SIZE) -> SecondMoments:
    gram, cross, square, count = weights
    return SecondMoments(Span(blocks(size)), "gaussian", 1.0, gram, cross, square, count)


def table(x: Any, y: float, offset: float | None = None) -> Table:
    known = None if offset is None else np.array([offset])
    return Table(ArrayChunk(np.asarray(x, dtype=np.float32).reshape(-1, 1), np.array([y]), known))


def moved(kind: SecondMoments, one: Table, other: Table | None) -> float:
    """Distance of the weighted moments of two tables, the second one empty where it is None."""
    first = MomentSums.of(kind.run(one, None, Silence()), kind.size)
    zero = MomentSums.of(np.zeros_like(first.packed()), kind.size)
    second = zero if other is None else MomentSums.of(kind.run(other, None, Silence()), kind.size)
    return float(
        np.sqrt(
            kind.gram_weight**2 * ((first.gram - second.gram) ** 2).sum()
            + kind.cross_weight**2 * ((first.cross - second.cross) ** 2).sum()
            + kind.square_weight**2 * (first.square - second.square) ** 2
            + kind.count_weight**2 * (first.count - second.count) ** 2
        )
    )


SHARES = st.floats(0.01, 1.0)
WEIGHTS = st.tuples(SHARES, SHARES, SHARES, SHARES).map(
    lambda w: (w[0], w[1], w[1] * w[2], w[0] * w[3])  # y'y and the count no heavier than X'y and X'X
)
ROWS = arrays(np.float64, SIZE, elements=st.floats(-1.0, 1.0))
RESPONSES = st.one_of(st.floats(-1.0, 1.0), st.sampled_from([-1.0, 1.0]), st.floats(-1e300, 1e300))
ROUNDING = 1 + 1e-6  # rows are float32


def inside(x: Any) -> Any:
    return x / max(1.0, float(np.sqrt(x @ x)))


@settings(max_examples=300)
@given(WEIGHTS, ROWS, RESPONSES)
def test_one_row_moves_the_moments_by_no_more_than_the_sensitivity(weights: Any, x: Any, y: float) -> None:
    kind = release(weights)
    assert moved(kind, table(inside(x), y), None) <= kind.sensitivity("add-remove") * ROUNDING


@settings(max_examples=500)
@given(WEIGHTS, ROWS, RESPONSES, ROWS, RESPONSES, st.floats(-1e300, 1e300))
def test_two_rows_move_the_moments_by_no_more_than_the_sensitivity(
    weights: Any, x: Any, y: float, u: Any, v: float, offset: float
) -> None:
    kind = release(weights)
    one, other = table(inside(x), y), table(inside(u), v, offset)
    assert moved(kind, one, other) <= kind.sensitivity("replace-one") * ROUNDING


def test_no_pair_on_a_grid_exceeds_the_sensitivity_and_the_worst_case_attains_it() -> None:
    angles, lengths = np.linspace(0.0, np.pi, 25), np.linspace(0.0, 1.0, 6)
    responses = np.linspace(-1.0, 1.0, 9)
    for gram, cross, square, count in [(0.7, 0.7, 0.7, 0.7), (0.8, 0.5, 0.1, 0.1), (0.3, 0.9, 0.9, 0.3)]:
        kind = release((gram, cross, square, count), 2)
        inner = np.cos(angles)[:, None, None, None, None]
        a, b = lengths[:, None, None, None] ** 2, lengths[:, None, None] ** 2
        y, v = responses[:, None], responses[None, :]
        k = inner * np.sqrt(a * b)
        found = (
            gram**2 * (a**2 + b**2 - 2 * k**2)
            + cross**2 * (a * y**2 + b * v**2 - 2 * k * y * v)
            + square**2 * (y**2 - v**2) ** 2
        )
        assert np.sqrt(found.max()) <= kind.sensitivity("replace-one") * (1 + 1e-12)
        for relation in ("add-remove", "replace-one"):
            case = kind.worst_case(relation, 2)  # type: ignore[arg-type]
            second = None if relation == "add-remove" else Table(case.second)
            max_leverage = kind.sensitivity(relation)  # type: ignore[arg-type]
            assert moved(kind, Table(case.first), second) == pytest.approx(max_leverage, rel=1e-6)
            # The statistic of the audit sees all of it.
            ends = [
                kind.run(Table(piece), None, Silence()) @ case.direction
                for piece in (case.first, case.second)
            ]
            assert (ends[0] - ends[1]) / max_leverage == pytest.approx(max_leverage, rel=1e-6)


@pytest.mark.parametrize("weights", [(1.0, 0.5, 0.6, 0.1), (0.5, 1.0, 0.1, 0.6), (0.0, 1.0, 0.1, 0.0)])
def test_weights_that_the_proof_does_not_cover_are_refused(weights: Any) -> None:
    with pytest.raises(MethodError):
        release(weights)


def test_moments_are_those_of_the_rows_and_unusable_rows_count_for_nothing() -> None:
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(SIZE, 50)) / 10).astype(np.float32)
    y, offset = rng.uniform(-1, 1, 50), rng.normal(size=50) / 5
    X[:, ::7] = y[::7] = offset[::7] = 0.0
    kind = release((0.7, 0.7, 0.1, 0.1))
    halves = [ArrayChunk(X[:, part], y[part], offset[part]) for part in (slice(0, 20), slice(20, 50))]
    found = MomentSums.of(kind.run(Table(*halves), None, Silence()), SIZE)
    wide, left = X.astype(float), np.clip(y - offset, -1, 1)
    np.testing.assert_allclose(found.gram, wide @ wide.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.cross, wide @ left, rtol=1e-12, atol=1e-12)
    assert found.square == pytest.approx(left @ left)
    assert found.count == pytest.approx(50 - len(y[::7]), abs=1e-9)  # a grid of that fineness
    np.testing.assert_array_equal(MomentSums.of(found.packed(), SIZE).gram, found.gram)


@pytest.mark.audit
def test_noise_has_the_stated_deviations() -> None:
    kind = release((0.8, 0.5, 0.2, 0.1))
    noise, empty = SeededNoise(2), Table(ArrayChunk(np.zeros((SIZE, 0), np.float32), np.zeros(0), None))
    drawn = np.array([kind.run(empty, None, noise) for _ in range(20_000)])
    diagonal = np.equal(*np.triu_indices(SIZE))
    expected = np.concatenate(
        [np.where(diagonal, 1.0, np.sqrt(0.5)) / 0.8, np.full(SIZE, 1 / 0.5), [1 / 0.2, 1 / 0.1]]
    )
    # A standard deviation of 20,000 draws is off by .5 %: 5 standard errors, 11 numbers, failure below 1e-5.
    np.testing.assert_allclose(drawn.std(axis=0) / expected, 1.0, atol=0.025)
    between = np.corrcoef(drawn.T) - np.eye(len(expected))
    assert np.abs(between).max() < 5.5 / np.sqrt(20_000)


RELATIONS = st.sampled_from(["add-remove", "replace-one"])
EPSILONS = st.floats(1e-3, 50.0)
BUDGETS = st.one_of(
    st.builds(lambda e, r: dpglm.Privacy(e, relation=r), EPSILONS, RELATIONS),
    st.builds(
        lambda e, d, r: dpglm.Privacy(e, 10.0**d, relation=r), EPSILONS, st.floats(-12.0, -1.0), RELATIONS
    ),
    st.builds(lambda m, r: dpglm.Privacy.gdp(m, relation=r), st.floats(1e-3, 30.0), RELATIONS),
)


class Columns:
    """The public geometry of a model with columns that are not tied."""

    def __init__(self, size: int) -> None:
        self.names = tuple(f"x{j}" for j in range(size))
        self.user_from_coded = self.coded_from_user = np.eye(size)
        self.penalised = np.arange(size) > 0
        self.term_columns = blocks(size)


def problem(size: int = SIZE, **settings: Any) -> Problem:
    return Problem(Columns(size), dpglm.families.Gaussian(), dpglm.penalties.NoPenalty(), **settings)


@settings(max_examples=200)
@given(BUDGETS, st.integers(1, 20))
@pytest.mark.filterwarnings("error")
def test_every_budget_is_met_by_the_releases_own_events(privacy: dpglm.Privacy, size: int) -> None:
    plan = Moments().plan(problem(size), privacy)
    (costs,) = plan.parallel()
    spent = basic_composition([event for _, event in costs], privacy.delta)
    assert privacy.epsilon * (1 - 1e-6) <= spent <= privacy.epsilon * (1 + 1e-9)
    (kind,) = plan.releases
    assert isinstance(kind, SecondMoments)
    assert kind.law == ("gamma" if privacy.delta == 0.0 else "gaussian")


@settings(max_examples=50)
@given(BUDGETS)
def test_replacing_a_row_costs_less_than_twice_what_adding_one_does(privacy: dpglm.Privacy) -> None:
    assume(privacy.definition != "pure")
    noisy = [
        Moments()
        .plan(problem(), dpglm.Privacy(privacy.epsilon, privacy.delta, relation=relation))  # type: ignore[arg-type]
        .releases[0]
        for relation in ("add-remove", "replace-one")
    ]
    ratio = noisy[1].scale / noisy[0].scale  # type: ignore[attr-defined]
    assert 1.4 < ratio < 2.0


@pytest.mark.parametrize(
    ("settings_", "family", "privacy"),
    [
        ({}, dpglm.families.Gaussian(), None),
        ({}, dpglm.families.Binomial(), dpglm.Privacy(1.0, 1e-6)),
        ({"strength": "cv"}, dpglm.families.Gaussian(), dpglm.Privacy(1.0, 1e-6)),
    ],
)
def test_what_the_method_cannot_do_is_refused_from_public_facts(
    settings_: dict[str, Any], family: Any, privacy: Any
) -> None:
    asked = Problem(Columns(2), family, dpglm.penalties.L1(), **settings_)
    with pytest.raises(MethodError):
        Moments().plan(asked, privacy)


def test_the_estimate_is_finite_whatever_is_released() -> None:
    plan = Moments().plan(problem(), dpglm.Privacy(0.1, 1e-6, relation="add-remove"))
    rng = np.random.default_rng(3)
    for size in (1e-9, 1.0, 1e3, 1e9):
        for _ in range(20):
            flat = size * rng.normal(size=SIZE * (SIZE + 1) // 2 + SIZE + 2)
            found = Moments().solve(problem(), plan, lambda kind, at=None, flat=flat: flat)
            assert np.isfinite(found.estimates).all()
            assert found.released is not None
            assert 0.0 < found.released.dispersion <= 1.0
