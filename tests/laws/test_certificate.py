"""The bound on a subgradient counts every rounding; where it is too large, ball arithmetic ends the fit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.errors import MethodError
from dpglm.glm.families import Binomial, Family, families
from dpglm.glm.families.binomial import SteepBinomial
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.base import CERTIFICATE
from dpglm.mechanisms.certificate import SLOPE, Certified, is_covered, unit
from dpglm.mechanisms.finishing import _extended, _in_balls, _way, _whole, finished, more_digits
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.optim import minimise as solver
from dpglm.rows import ArrayChunk

COVERED = (
    *sorted(name for name in families if families[name].ball_slope is not Family.ball_slope),
    "shifted",
    "steep 2",
    "steep 4",
)


def family(name: str) -> Any:
    if name.startswith("steep "):
        return SteepBinomial(float(name.removeprefix("steep ")))
    if name == "shifted":
        return families["binomial"]().shifted()
    return families[name]().with_bound(7.0)


@st.composite
def objectives(draw: Any) -> tuple[Certified, Any]:
    """Tables of few kinds of rows, many of each: alike, at the ends, with offsets of any size."""
    size = draw(st.integers(1, 4))
    kinds = draw(st.integers(1, 3))
    X = np.array(
        draw(
            st.lists(
                st.lists(st.floats(-1, 1, width=32), min_size=kinds, max_size=kinds),
                min_size=size,
                max_size=size,
            )
        ),
        dtype=np.float32,
    )
    weight = np.minimum(1.0, (1.0 - 2.0**-20) / np.maximum(np.square(X, dtype=np.float64).sum(axis=0), 1e-30))
    y = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=kinds, max_size=kinds)))
    offset = np.array(
        draw(st.lists(st.sampled_from([0.0, -3.0, 40.0, -1e3, 1e6, 1.7e8]), min_size=kinds, max_size=kinds))
    )
    times = draw(st.sampled_from([1, 3, 257]))
    offsets = np.tile(offset, times) if draw(st.booleans()) else None
    weights = np.tile(weight, times) if offsets is not None or (weight < 1.0).any() else None
    chunk = ArrayChunk(np.tile(X, times), np.tile(y, times), offsets, weights)
    number = st.floats(-1e3, 1e3)
    vectors = st.lists(number, min_size=size, max_size=size).map(np.array)
    mixing = np.eye(size) + 0.3 * np.array(draw(st.lists(vectors, min_size=size, max_size=size))) / 1e3
    strength = draw(st.sampled_from([0.0, 2.0]))
    penalty = penalties[draw(st.sampled_from(["l1", "l2", "elastic_net", "none"]))]().with_strength(strength)
    mask = np.arange(size) > 0
    made = Certified.of(
        lambda: [chunk],
        family(draw(st.sampled_from(COVERED))),
        draw(vectors),
        np.full(size, 0.7),
        mixing,
        penalty,
        mask,
    )
    gamma = draw(vectors) * np.array(
        draw(st.lists(st.sampled_from([0.0, 1e-3, 1.0]), min_size=size, max_size=size))
    )
    return made, gamma


def exact(objective: Certified, gamma: Any) -> Any:
    """The least subgradient in gamma, in theta's coordinates, in 300 bits: its norm, or a little less."""
    size = len(gamma)
    mixing = np.eye(size) if objective.mixing is None else objective.mixing
    theta = [
        sum((arb(m) * arb(g) for m, g in zip(line, gamma.tolist(), strict=True)), arb(0))
        for line in mixing.tolist()
    ]
    slope = [
        arb(b) + arb(r) * t
        for b, r, t in zip(objective.linear.tolist(), objective.ridge.tolist(), theta, strict=True)
    ]
    for chunk in objective.chunks():
        for at in range(len(chunk.y)):
            x = chunk.X[:, at].tolist()
            known = 0.0 if chunk.offset is None else chunk.offset[at].item()
            weight = 1.0 if chunk.weight is None else chunk.weight[at].item()
            eta = sum((t * arb(v) for t, v in zip(theta, x, strict=True)), arb(known))
            s = objective.family.ball_slope(eta, chunk.y[at].item()) * arb(weight)
            slope = [g + s * arb(v) for g, v in zip(slope, x, strict=True)]
    from flint import arb_mat

    turned = arb_mat(size, size, [arb(v) for v in mixing.T.ravel().tolist()])
    inside = (turned * arb_mat(size, 1, slope)).entries()
    left = []
    for g, d, w, x in zip(
        inside, objective.squares.tolist(), objective.weights.tolist(), gamma.tolist(), strict=True
    ):
        g = g + arb(d) * arb(x)
        left.append(g + ((-g.mid()).min(arb(w)).max(arb(-w)) if x == 0.0 else arb(w if x > 0 else -w)))
    outside = turned.inv() * arb_mat(size, 1, left)
    return sum((each.abs_lower() ** 2 for each in outside.entries()), arb(0)).sqrt()


@settings(max_examples=60)
@given(objectives())
def test_the_bound_is_one_whatever_the_rows(made: tuple[Certified, Any]) -> None:
    objective, gamma = made
    with ctx.workprec(300):
        # The least subgradient in theta is no larger than the one that the bound is about, and near it.
        found = exact(objective, gamma)
        assert float(found.lower()) <= objective.residual(gamma)
        assert float(found.lower()) <= objective.residual(gamma.astype(np.longdouble))


def test_the_bound_is_felt_by_a_loose_twin() -> None:
    """Offsets of 10^8: the norm in double precision is below what is left, the bound is not."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(20):
        X = rng.uniform(0.2, 0.7, (2, 400)).astype(np.float32)
        offset = rng.uniform(0.9e8, 1.1e8, 400)
        theta = np.array([-1e8, -1e8])
        offset = -(theta @ X.astype(float)) + rng.normal(size=400)
        chunk = ArrayChunk(X, np.zeros(400), offset, np.ones(400))
        made = Certified(
            lambda c=chunk: [c],
            family("binomial"),
            np.zeros(2),
            np.full(2, 1e-3),
            None,
            np.zeros(2),
            np.zeros(2),
        )
        slopes = made.family.slope(theta @ X.astype(float) + offset, chunk.y)
        linear = -(X @ slopes + 1e-3 * theta)
        made = Certified(made.chunks, made.family, linear, made.ridge, None, np.zeros(2), np.zeros(2))
        twin = float(np.linalg.norm(X @ slopes + linear + 1e-3 * theta))
        with ctx.workprec(300):
            left = float(exact(made, theta).lower())
        assert left <= made.residual(theta)
        worst = max(worst, left / max(twin, 1e-300))
    assert worst > 2.0, "the twin is never wrong"


class _Flat(Binomial):
    """All that is known of a row's curvature is its largest value."""

    def curvature_total(self, slopes: Any) -> float:
        return Family.curvature_total(self, slopes)


def test_rows_far_on_the_right_side_hardly_count() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, (2, 4000)).astype(np.float32)
    theta = np.array([900.0, -400.0])
    y = (theta @ X.astype(float) > 0.0).astype(float)

    slopes = Binomial().slope(theta @ X.astype(float), y)

    def made(family: Family, weight: Any) -> Certified:
        chunk = ArrayChunk(X, y, None, weight)
        linear = -(X @ (slopes if weight is None else slopes * weight))  # so that rounding alone is left
        return Certified(lambda: [chunk], family, linear, np.full(2, 1e-12), None, np.zeros(2), np.zeros(2))

    for weight in (None, np.full(4000, 0.9)):
        steep, flat = made(Binomial(), weight), made(_Flat(), weight)
        assert steep._score(theta, 0.0)[1] < 0.2 * flat._score(theta, 0.0)[1]
        with ctx.workprec(300):
            assert 0.0 < float(exact(steep, theta).lower()) <= steep.residual(theta)
    # A weight that lets a row be so long that its curvature need not be that of its computed predictor.
    far = np.full(4000, 1e-30)
    assert made(Binomial(), far)._score(theta, 0.0)[1] == made(_Flat(), far)._score(theta, 0.0)[1]


@pytest.mark.parametrize("name", ["binomial", "shifted", "steep 2", "steep 4"])
def test_no_curvature_nearby_exceeds_what_a_computed_slope_tells(name: str) -> None:
    """Row by row, to seven digits: a bound that left out the distance or the slope's error would fail."""
    one, near = family(name), 1e-7
    closest = 0.0
    for eta in np.random.default_rng(4).normal(0.0, 12.0, 200):
        for y in (0.0, 1.0):
            piece = ArrayChunk(np.zeros((1, 1), dtype=np.float32), np.array([y]), None)
            made = Certified(lambda: [], one, *[np.zeros(1)] * 2, None, *[np.zeros(1)] * 2)
            bound = made._bent(one.slope(np.array([eta]), piece.y), piece, near, 0.0)
            assert bound <= one.curvature_max
            with ctx.workprec(200):
                for moved in (arb(float(eta)) - near, arb(float(eta)) + near):
                    slope, margin = abs(one.ball_slope(moved, y)), (2.0 * y - 1.0) * moved
                    if one.steepness == 1.0 or margin < 0:
                        curvature = one.steepness * slope * (1 - slope)
                    else:  # the derivative of exp(-m) u
                        curvature = slope * (1 - one.steepness * (1 - slope * margin.exp()))
                    closest = max(closest, float((curvature / arb(bound)).upper()))
    # Of a steep loss the largest curvature is the bound, near which no predictor may lie.
    assert (0.999999 if one.steepness == 1.0 else 0.999) < closest <= 1.0


def test_a_ridge_below_rounding_is_no_error() -> None:
    """Two columns alike, a curvature of 10^20 and a ridge of 1: in doubles the matrix is singular."""
    made = Certified(lambda: [], family("binomial"), np.ones(2), np.ones(2), None, np.zeros(2), np.zeros(2))
    assert _way(made, np.full((2, 2), 1e20), np.ones(2), np.zeros(2)) is None


@pytest.mark.parametrize("precision", [np.float64, np.longdouble])
@pytest.mark.parametrize("name", COVERED)
def test_slopes_are_right_to_what_the_bound_takes(name: str, precision: Any) -> None:
    of, one = family(name), unit(precision)
    eta = np.concatenate(
        [np.linspace(-45.0, 45.0, 4001), np.geomspace(1e-8, 800.0, 500), -np.geomspace(1e-8, 800.0, 500)],
        dtype=precision,
    ) * precision(1.1)
    for y in (0.0, 1.0):
        found = of.slope(eta, np.full(len(eta), y))
        assert found.dtype == precision
        with ctx.workprec(200):
            for value, slope in zip(eta, found, strict=True):
                room = SLOPE * one + 2.0 * one * (1.0 + abs(float(value))) * min(1.0, of.curvature_max or 1.0)
                assert abs(of.ball_slope(ball(value), y) - ball(slope)) < room


def ball(value: Any) -> arb:
    """A number of any precision, exactly."""
    top, bottom = value.as_integer_ratio()
    return arb(top) / arb(bottom)


@pytest.mark.skipif(not more_digits(), reason="this machine has no numbers with more digits than doubles")
@pytest.mark.parametrize("name", ["binomial", "poisson", "huber_svm"])
@pytest.mark.parametrize("penalty", ["none", "l1", "elastic_net"])
def test_more_digits_than_doubles_end_where_doubles_do_not(name: str, penalty: str) -> None:
    """The bound in doubles is ten times what is asked; what extended numbers and balls find is alike."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-0.5, 0.5, (3, 200)).astype(np.float32)
    chunk = ArrayChunk(X, (rng.random(200) < 0.4).astype(float), rng.normal(size=200))
    made = Certified.of(
        lambda: [chunk],
        family(name),
        np.array([3.0, -1.0, 0.5]),
        np.array([0.5, 1.0, 1.0]),
        np.eye(3) + 0.1,
        penalties[penalty]().with_strength(0.5),
        np.array([False, True, True]),
    )
    asked_for = 3e-14
    start = np.asarray(_in_balls(made, np.zeros(3), 1e-4))
    start = start if made.mixing is None else np.linalg.solve(made.mixing, start)
    start[np.abs(start) < 1e-12] = 0.0
    assert made.residual(start) > 10.0 * asked_for
    found, sure = _extended(made, start, asked_for), _in_balls(made, start, 1e-20)
    assert found is not None
    assert np.linalg.norm(np.asarray(found) - np.asarray(sure)) <= 1.1 * asked_for / 0.5
    assert _extended(made, start, 1e-25) is None, "beyond their digits"


@pytest.mark.parametrize("name", ["binomial", "poisson", "huber_svm"])
@pytest.mark.parametrize("penalty", ["none", "l1", "elastic_net"])
def test_ball_arithmetic_ends_from_anywhere_at_any_tolerance(name: str, penalty: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.5, 0.5, (3, 20)).astype(np.float32)
    chunk = ArrayChunk(X, (rng.random(20) < 0.5).astype(float), rng.normal(size=20))
    made = Certified.of(
        lambda: [chunk],
        family(name),
        np.array([3.0, -1.0, 0.5]),
        np.array([0.5, 1.0, 1.0]),
        np.eye(3) + 0.1,
        penalties[penalty]().with_strength(0.5),
        np.array([False, True, True]),
    )
    best = np.asarray(finished(made, np.full(3, np.nan), 1e-25))
    for start in (np.zeros(3), np.full(3, 5.0)):
        assert np.linalg.norm(np.asarray(finished(made, start, 1e-7)) - best) <= 1.1e-7 / 0.5


def asked(penalty: str = "none", **changed: Any) -> PerturbedMinimiser:
    return PerturbedMinimiser(
        family=changed.get("family", families["binomial"]()),
        ridge=2.0,
        law="gaussian",
        scale=4.0,
        tolerance=1e-7,
        residual_noise_scale=1e-6,
        penalty=penalties[penalty]().with_strength(1.0),
        penalty_rows=1.0,
        mixing=np.eye(3),
        penalised=np.array([False, True, True]),
        max_leverage=0.5,
    )


class Table:
    size = 3

    def __init__(self, X: Any, y: Any, offset: Any) -> None:
        self._chunk = ArrayChunk(X, y, offset)

    def chunks(self) -> list[Any]:
        return [self._chunk]

    def row_count(self) -> int:
        return len(self._chunk.y)


def test_a_solver_that_gives_up_changes_no_answer_beyond_what_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Zeros, numbers that are none, or points far off: the release finishes by itself."""
    rng = np.random.default_rng(3)
    table = Table(
        rng.uniform(-0.5, 0.5, (3, 80)).astype(np.float32), (rng.random(80) < 0.3).astype(float), None
    )
    release = asked("l1")
    tilt = SeededNoise(1).normal(3, scale=4.0)
    honest = np.asarray(release.certified_minimum(table, tilt))
    for wrong in (np.zeros(3), np.full(3, np.nan), np.full(3, 1e4)):
        given_up = solver.Minimum(wrong, wrong, 0.0, True)
        monkeypatch.setattr("dpglm.mechanisms.base.minimise", lambda *_, found=given_up, **__: found)
        answer = np.asarray(release.certified_minimum(table, tilt))
        assert np.linalg.norm(answer - honest) <= release.moved
        monkeypatch.undo()


def test_offsets_that_rounding_is_felt_in_are_finished_exactly() -> None:
    rng = np.random.default_rng(4)
    offset = np.full(3000, 3e6)
    table = Table(rng.uniform(0.1, 0.5, (3, 3000)).astype(np.float32), np.zeros(3000), offset)
    release = asked()
    theta = release.certified_minimum(table, np.zeros(3))
    chunk = table.chunks()[0]
    made = Certified(
        lambda: [ArrayChunk(chunk.X, chunk.y, offset, np.ones(3000))],
        release.family,
        np.zeros(3),
        np.full(3, 2.0),
        None,
        np.zeros(3),
        np.zeros(3),
    )
    with ctx.workprec(300):
        assert (
            float(exact(made, np.asarray(theta)).lower()) <= 2.0 * release.tolerance + 3000 * 2.0**-52 * 3e6
        )


def test_what_is_proved_is_no_premise() -> None:
    assert CERTIFICATE not in asked("l1").assumptions
    assert CERTIFICATE in asked("group").assumptions


def plan(offsets: float, epsilon: float) -> Any:
    schema = dpglm.Schema.of({"n": (0, 50), "x": (0, 9), "log_t": (0, offsets)})
    return dpglm.plan("n ~ x + offset(log_t)", schema, family="poisson", privacy=(epsilon, 1e-6))


def test_offsets_beyond_double_precision_are_refused_before_the_charge() -> None:
    with pytest.raises(MethodError, match="narrower bounds of the offset"):
        plan(3e5, 1000.0)
    plan(20.0, 1000.0)
    plan(1e4, 1e-2)


@pytest.mark.parametrize("name", ["binomial", "poisson", "huber_svm", "softplus_hinge"])
@pytest.mark.parametrize("rows", [None, 1000, 10**9])
def test_ordinary_plans_are_never_refused(name: str, rows: int | None) -> None:
    for size in (1, 40, 400):
        numbers = {f"x{at}": (0, 9) for at in range(size)}
        response: Any = (0, 50) if name == "poisson" else ["no", "yes"]
        schema = dpglm.Schema.of({"y": response, **numbers}, rows=rows)
        formula = "y ~ " + " + ".join(numbers)
        for epsilon in (0.01, 1.0, 100.0):
            dpglm.plan(formula, schema, family=name, privacy=(epsilon, 1e-6))


class Derived(Binomial):
    """Another loss with the balls of its parent."""

    def slope(self, eta: Any, y: Any) -> Any:
        return super().slope(eta + 3.0, y)


def test_a_family_of_ones_own_keeps_the_premise_whatever_it_inherits() -> None:
    """Finishing would minimise another loss than the solver does, and no proof would say so."""
    none = penalties["none"]()
    assert is_covered(families["binomial"](), none, 2)
    assert not is_covered(Derived(), none, 2)


def test_middles_of_balls_are_whole_numbers_at_any_working_precision() -> None:
    exact = [arb(3.3e11), arb(-0.1), arb(0)]
    found = []
    for bits in (2, 53, 300):
        with ctx.workprec(bits):
            whole = _whole((tuple(map(int, each.man_exp())) for each in exact), 1e-6)
        found.append([Fraction(value) * Fraction(whole.unit) for value in whole.whole.tolist()])
    assert found[0] == found[1] == found[2]
    assert all(
        abs(a - Fraction(b)) <= Fraction(1e-6) for a, b in zip(found[0], (3.3e11, -0.1, 0.0), strict=True)
    )
