"""What is true of every registered penalty; a new one is tested here without being listed."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty, penalties
from dpglm.glm.penalties.elastic_net import L1

every_penalty = pytest.mark.parametrize("name", list(penalties))
strengths = st.floats(1e-3, 10.0)
steps = st.floats(1e-3, 10.0)
vectors = arrays(np.float64, st.integers(0, 6), elements=st.floats(-20.0, 20.0))
law = settings(derandomize=True, deadline=None, max_examples=60)


def gain_over_prox(penalty: Penalty, v: np.ndarray, step: float) -> float:
    """How much a grid around and a grid of all values beat the prox by, one coordinate at a time."""
    best = penalty.prox(v, step)

    def objective(b: np.ndarray) -> float:
        return float(0.5 * np.sum((b - v) ** 2) + step * penalty.value(b))

    least = objective(best)
    gain = -math.inf
    for j in range(v.size):
        for value in np.concatenate(
            [np.linspace(-25.0, 25.0, 101), best[j] + np.linspace(-1e-2, 1e-2, 21), [0.0]]
        ):
            other = best.copy()
            other[j] = value
            gain = max(gain, least - objective(other))
    return gain


@every_penalty
@law
@given(strength=strengths, step=steps, v=vectors)
def test_no_grid_point_beats_the_prox(name, strength, step, v):
    # Rounding of an objective of size up to 6 * 20^2 + 10 * 10 * 6 * 20^2.
    assert gain_over_prox(penalties[name](strength=strength), v, step) <= 1e-10


def test_grid_catches_a_prox_with_half_its_threshold():
    @dataclass(frozen=True)
    class Broken(L1):
        def prox(self, v, step):
            return super().prox(v, 0.5 * step)

    assert gain_over_prox(L1(strength=1.0), np.array([3.0]), 1.0) <= 1e-10
    assert gain_over_prox(Broken(strength=1.0), np.array([3.0]), 1.0) > 1e-5


@every_penalty
@law
@given(strength=strengths, v=vectors)
def test_prox_with_step_zero_changes_nothing(name, strength, v):
    np.testing.assert_array_equal(penalties[name](strength=strength).prox(v, 0.0), v)


@every_penalty
@law
@given(step=steps, v=vectors)
def test_unset_strength_counts_as_zero(name, step, v):
    penalty = penalties[name]()
    assert penalty.value(v) == 0.0
    np.testing.assert_array_equal(penalty.prox(v, step), v)


@every_penalty
@law
@given(strength=strengths, step=steps, v=vectors)
def test_prox_is_odd(name, strength, step, v):
    penalty = penalties[name](strength=strength)
    np.testing.assert_array_equal(penalty.prox(-v, step), -penalty.prox(v, step))


@every_penalty
@law
@given(strength=strengths, step=steps, v=vectors)
def test_prox_is_monotone_and_shrinks(name, strength, step, v):
    # Sorted input gives sorted output, since registered penalties treat coordinates alike and apart; but for
    # the rounding of powers and cosines of numbers up to 20.
    penalty = penalties[name](strength=strength)
    mapped = penalty.prox(np.sort(v), step)
    assert (np.diff(mapped) >= -1e-13).all()
    assert (np.abs(penalty.prox(v, step)) <= np.abs(v)).all()


convex_penalty = pytest.mark.parametrize("name", [name for name in penalties if penalties[name].convex])
other_penalty = pytest.mark.parametrize("name", [name for name in penalties if not penalties[name].convex])


@convex_penalty
@law
@given(strength=strengths, step=steps, v=vectors, data=st.data())
def test_convex_prox_is_nonexpansive(name, strength, step, v, data):
    penalty = penalties[name](strength=strength)
    w = data.draw(arrays(np.float64, v.shape, elements=st.floats(-20.0, 20.0)))
    moved = np.linalg.norm(penalty.prox(v, step) - penalty.prox(w, step))
    assert moved <= np.linalg.norm(v - w) * (1 + 1e-12) + 1e-13  # rounding of numbers up to 20


@other_penalty
@law
@given(strength=strengths, step=steps)
def test_prox_that_is_not_convex_expands_somewhere(name, strength, step):
    penalty = penalties[name](strength=strength)
    grid = np.geomspace(1e-5, 1e4, 20_001)
    assert (np.diff(penalty.prox(grid, step)) / np.diff(grid)).max() > 1 + 1e-6


@every_penalty
@law
@given(
    gradient=arrays(np.float64, 4, elements=st.floats(-5.0, 5.0).filter(lambda g: g == 0 or abs(g) > 1e-3)),
    step=st.sampled_from([0.125, 1.0, 7.0]),
)
def test_zero_is_a_fixed_point_exactly_from_strength_max_on(name, gradient, step):
    penalty = penalties[name]()
    least = penalty.strength_max(gradient, step)
    if penalty.convex:  # whatever the step
        assert least == pytest.approx(penalty.strength_max(gradient), rel=1e-14)

    def zero_is_solution(strength: float) -> bool:
        return not penalty.with_strength(strength).prox(-step * gradient, step).any()

    if not gradient.any():
        assert least == 0.0
        return
    assert least > 0.0
    if math.isfinite(least):
        assert zero_is_solution(least)
        assert zero_is_solution(2.0 * least)
        assert not zero_is_solution(least * (1 - 1e-9))
    else:
        assert not zero_is_solution(1e6)


@every_penalty
@law
@given(strength=strengths, step=steps, rows=arrays(np.float64, (3, 4), elements=st.floats(-20.0, 20.0)))
def test_rows_are_treated_one_by_one(name, strength, step, rows):
    penalty = penalties[name]()
    several = strength * np.array([0.5, 1.0, 2.0])
    mapped = penalty.prox_rows(rows, step, several)
    values = penalty.values(rows, several)
    for row, one, found, value in zip(rows, several, mapped, values, strict=True):
        alone = penalty.with_strength(float(one))
        np.testing.assert_allclose(found, alone.prox(row, step), rtol=1e-14)
        assert value == pytest.approx(alone.value(row), rel=1e-13)


@every_penalty
@law
@given(strength=strengths, beta=arrays(np.float64, 4, elements=st.floats(0.05, 20.0)), data=st.data())
def test_derivatives_are_those_of_the_value(name, strength, beta, data):
    penalty = penalties[name](strength=strength)
    beta = beta * np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4)))
    known = penalty.derivatives(beta)
    assert known is not None
    slope, curvature = known
    h = 1e-4 * np.abs(beta)
    for j, e in enumerate(np.diag(h)):
        up, down = penalty.value(beta + e), penalty.value(beta - e)
        size = 1.0 + penalty.value(beta)
        # A central difference of relative width 1e-4 of powers up to two; half the jump of a
        # curvature at a knot.
        assert (up - down) / (2 * h[j]) == pytest.approx(slope[j], abs=1e-4 * strength + 1e-11 * size / h[j])
        ahead, behind = penalty.derivatives(beta + e)[0], penalty.derivatives(beta - e)[0]
        jump = 1.0 if name in ("scad", "mcp") else 0.0
        assert (ahead - behind) / (2 * h[j]) == pytest.approx(
            curvature[:, j],
            abs=jump + 1e-4 * strength / abs(beta[j]) + 1e-10 * (1 + strength) / h[j],
        )


@every_penalty
@law
@given(strength=strengths, v=vectors)
def test_value_is_zero_at_zero_even_and_growing(name, strength, v):
    penalty = penalties[name](strength=strength)
    assert penalty.value(np.zeros_like(v)) == 0.0
    assert penalty.value(v) == penalty.value(-v) >= 0.0
    assert penalty.value(2.0 * v) >= penalty.value(v)


@every_penalty
@law
@given(strength=strengths, v=vectors)
def test_weights_where_given_make_up_the_value(name, strength, v):
    penalty = penalties[name](strength=strength)
    if penalty.l1_weight is None or penalty.ridge_weight is None:
        return
    made = penalty.l1_weight * np.abs(v).sum() + penalty.ridge_weight * (v @ v) / 2
    assert penalty.value(v) == pytest.approx(made, rel=1e-14)


@every_penalty
@pytest.mark.parametrize("strength", [-1.0, math.nan, math.inf, "strong"])
def test_impossible_strength_is_refused_with_a_remedy(name, strength):
    with pytest.raises(MethodError) as caught:
        penalties[name](strength=strength)
    assert "strength" in caught.value.found
    assert caught.value.expected
    assert caught.value.remedy


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.1, math.nan, None])
def test_impossible_l1_ratio_is_refused(l1_ratio):
    with pytest.raises(MethodError):
        penalties["elastic_net"](strength=1.0, l1_ratio=l1_ratio)


def test_elastic_net_between_lasso_and_ridge():
    v = np.array([-3.0, 0.2, 1.0])
    for ratio, name in [(1.0, "lasso"), (0.0, "ridge")]:
        net, other = penalties["elastic_net"](strength=0.7, l1_ratio=ratio), penalties[name](strength=0.7)
        assert net.value(v) == other.value(v)
        np.testing.assert_array_equal(net.prox(v, 2.0), other.prox(v, 2.0))
        assert net.strength_max(v) == other.strength_max(v)


def least_on_a_line(penalty: Penalty, v: float, step: float) -> float:
    """Minimiser of the prox objective of one coefficient: a fine grid, then finer ones around its best."""

    def objective(b: np.ndarray) -> np.ndarray:
        rows = b[:, None]
        return 0.5 * (b - v) ** 2 + step * penalty.values(rows, np.full(b.size, penalty.weight))

    low, high = -0.1, abs(v) + 0.1
    grid = np.append(np.linspace(low, high, 4001), 0.0)
    best, width = float(grid[np.argmin(objective(grid))]), (high - low) / 4000
    while width > 1e-7:  # beyond which objectives near their minimum are equal
        near = np.append(np.linspace(best - width, best + width, 41), best)
        best, width = float(near[np.argmin(objective(near))]), width / 10
    return best


def polished(slope, b: float, v: float, strength: float, step: float) -> float:
    """Root of ``b - v + step * strength * slope(b)`` next to b, by bisection."""
    low, high = b - 1e-5, b + 1e-5
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle - v + step * strength * slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_lq_and_half_thresholding_are_brute_force_minimisers(q):
    random = np.random.default_rng(0)
    for _ in range(150):
        v, strength, step = random.uniform(0.0, 8.0), random.uniform(0.01, 5.0), random.uniform(0.05, 4.0)
        penalty = penalties["lq"](strength=strength, q=q)
        found = float(penalty.prox(np.array([v]), step)[0])
        brute = least_on_a_line(penalty, v, step)
        if abs(brute) < 1e-3 and found == 0.0:
            continue
        exact = polished(lambda b, q=q: q * b ** (q - 1.0), brute, v, strength, step)
        assert found == pytest.approx(exact, abs=1e-9)
        if q == 0.5:
            half = penalties["l1/2"](strength=strength).prox(np.array([v]), step)
            assert half[0] == pytest.approx(exact, abs=1e-9)


@law
@given(strength=strengths, step=steps, v=vectors)
def test_lq_of_one_half_is_half_thresholding(strength, step, v):
    lq, half = penalties["lq"](strength=strength, q=0.5), penalties["l1/2"](strength=strength)
    assert lq.value(v) == pytest.approx(half.value(v), rel=1e-13)
    np.testing.assert_allclose(lq.prox(v, step), half.prox(v, step), atol=1e-13)


def test_small_q_thresholds_hard_and_q_near_one_softly():
    v = np.linspace(-5.0, 5.0, 1001)
    hard = np.where(np.abs(v) > math.sqrt(2.0 * 0.7), v, 0.0)
    # At exponent q the penalty is within q |log b| of a count.
    np.testing.assert_allclose(penalties["lq"](strength=0.7, q=1e-7).prox(v, 1.0), hard, atol=1e-5)
    soft = penalties["l1"](strength=0.7).prox(v, 1.0)
    np.testing.assert_allclose(penalties["lq"](strength=0.7, q=1 - 1e-7).prox(v, 1.0), soft, atol=1e-5)


def test_half_thresholding_jumps_at_its_threshold():
    for t in (1e-6, 0.3, 40.0):
        threshold = 1.5 * t ** (2 / 3)
        v = threshold * np.array([1 - 1e-9, 1 + 1e-9])
        below, above = penalties["l1/2"](strength=t).prox(v, 1.0)
        assert below == 0.0
        assert above == pytest.approx(t ** (2 / 3), rel=1e-7)


@other_penalty
@pytest.mark.parametrize("extra", [{}, {"weights": (0.5, 1.0, 3.0)}])
def test_no_random_point_beats_a_prox_with_weights_and_scales(name, extra):
    random = np.random.default_rng(1)
    if name in ("scad", "mcp"):
        extra = {**extra, "scale": (0.2, 3.0, 40.0)}
    for _ in range(200):
        penalty = penalties[name](strength=random.uniform(0.01, 5.0), **extra)
        step, v = random.uniform(0.01, 8.0), random.uniform(-8.0, 8.0, 3)
        found = penalty.prox(v, step)
        others = random.uniform(-10.0, 10.0, (400, 3)) * (random.uniform(size=(400, 3)) < 0.7)
        rows = np.vstack([found, others, found + 0.01 * random.standard_normal((100, 3)) * (found != 0)])
        objective = 0.5 * ((rows - v) ** 2).sum(axis=1) + step * penalty.values(
            rows, np.full(len(rows), penalty.weight)
        )
        assert objective[0] <= objective.min() + 1e-12 * (1 + objective[0])


def test_strength_scales_with_the_loss():
    # A loss c times as strong with a strength and scale c times as large is the same problem.
    v, step, c = np.array([-3.0, 0.9, 1.7, 2.9]), 0.8, 50.0
    for name in ("scad", "mcp"):
        one = penalties[name](strength=1.0, scale=1.0)
        other = penalties[name](strength=c, scale=c)
        np.testing.assert_allclose(one.prox(v, step), other.prox(v, step / c), atol=1e-14)
        assert other.value(v) == pytest.approx(c * one.value(v))
        filled = penalties[name](strength=c).with_scale(np.full(4, c))
        np.testing.assert_array_equal(filled.prox(v, step / c), other.prox(v, step / c))
        assert other.with_scale(np.ones(4)) is other


@pytest.mark.parametrize("name", ["scad", "mcp"])
def test_derivatives_know_each_coefficient_its_scale_and_weight(name):
    penalty = penalties[name](strength=1.0, scale=(0.2, 3.0, 1.0), weights=(1.0, 2.0, 1.0))
    beta = np.array([1.7, -0.9, 0.0])
    slope, curvature = penalty.derivatives(beta)
    for j, e in enumerate(1e-5 * np.eye(3)[:2]):
        assert (penalty.value(beta + e) - penalty.value(beta - e)) / 2e-5 == pytest.approx(slope[j], abs=1e-8)
        apart = (penalty.derivatives(beta + e)[0] - penalty.derivatives(beta - e)[0]) / 2e-5
        assert apart[:2] == pytest.approx(curvature[:2, j], abs=1e-8)


@pytest.mark.parametrize("name", ["adaptive_l1", "l1/2", "lq", "scad", "mcp"])
def test_weights_multiply_the_strength(name):
    v = np.array([-3.0, 0.9, 2.2])
    weighted = penalties[name](strength=1.0, weights=np.array([0.0, 1.0, 0.5]))
    for j, weight in enumerate((0.0, 1.0, 0.5)):
        alone = penalties[name](strength=weight).prox(v[j : j + 1], 1.0)
        assert weighted.prox(v, 1.0)[j] == alone[0]
    assert weighted.strength_max(np.array([1.0, 1.0, 1.0])) == math.inf
    assert weighted.strength_max(np.array([0.0, 1.0, 1.0])) > 0.0
    assert weighted.with_strength(2.0).weights == (0.0, 1.0, 0.5)
    with pytest.raises(MethodError):
        weighted.prox(np.ones(2), 1.0)


def test_adaptive_weights_are_small_where_the_first_estimate_is_large():
    made = penalties["adaptive_lasso"].from_estimates(np.array([2.0, -0.5, 0.0]), power=2.0, floor=1e-3)
    assert made.weights == pytest.approx((1.0, 16.0, 1e6))
    assert penalties["adaptive_lasso"].from_estimates(np.zeros(2)).weights == (1.0, 1.0)


GROUPS = ((0, 3), (1, 2, 4))


@law
@given(strength=strengths, step=steps, v=arrays(np.float64, 6, elements=st.floats(-20.0, 20.0)))
def test_groups_are_shrunk_along_their_own_direction(strength, step, v):
    penalty = penalties["group"](strength=strength, groups=GROUPS)
    mapped = penalty.prox(v, step)
    for group in (*GROUPS, (5,)):
        part, norm = v[list(group)], np.linalg.norm(v[list(group)])
        left = max(norm - step * strength * math.sqrt(len(group)), 0.0)
        # Differences of norms up to 20 sqrt(3).
        assert np.linalg.norm(mapped[list(group)]) == pytest.approx(left, abs=1e-13)
        np.testing.assert_allclose(mapped[list(group)] * norm, part * left, atol=1e-11)
    objective = 0.5 * np.sum((mapped - v) ** 2) + step * penalty.value(mapped)
    random = np.random.default_rng(3)
    for size in (1e-3, 0.1, 3.0):
        for other in mapped + size * random.standard_normal((40, 6)):
            assert objective <= 0.5 * np.sum((other - v) ** 2) + step * penalty.value(other) + 1e-9


@law
@given(
    strength=strengths,
    step=steps,
    v=arrays(np.float64, 6, elements=st.floats(-20.0, 20.0).filter(lambda g: g == 0 or abs(g) > 1e-3)),
    w=arrays(np.float64, 6, elements=st.floats(-20.0, 20.0)),
)
def test_group_prox_is_nonexpansive_and_zero_from_strength_max_on(strength, step, v, w):
    penalty = penalties["group"](strength=strength, groups=GROUPS)
    moved = np.linalg.norm(penalty.prox(v, step) - penalty.prox(w, step))
    assert moved <= np.linalg.norm(v - w) * (1 + 1e-12) + 1e-13
    least = penalty.strength_max(v)
    assert not penalty.with_strength(least * (1 + 1e-14)).prox(-step * v, step).any()
    assert not penalty.with_strength(least).prox(-v, 1.0).any()
    if least > 1e-3:
        assert penalty.with_strength(least * (1 - 1e-9)).prox(-step * v, step).any()


def test_group_derivatives_are_those_of_the_value():
    penalty = penalties["group"](strength=0.7, groups=GROUPS)
    beta = np.array([1.0, -2.0, 0.5, 0.3, 1.5, -0.8])
    slope, curvature = penalty.derivatives(beta)
    for j, e in enumerate(1e-5 * np.eye(6)):
        assert (penalty.value(beta + e) - penalty.value(beta - e)) / 2e-5 == pytest.approx(slope[j], abs=1e-8)
        apart = penalty.derivatives(beta + e)[0] - penalty.derivatives(beta - e)[0]
        np.testing.assert_allclose(apart / 2e-5, curvature[:, j], atol=1e-8)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lq", {"q": 0.0}),
        ("lq", {"q": 1.0}),
        ("lq", {"q": math.nan}),
        ("scad", {"a": 2.0}),
        ("scad", {"scale": 0.0}),
        ("mcp", {"gamma": 1.0}),
        ("mcp", {"scale": (1.0, -1.0)}),
        ("l1/2", {"weights": (1.0, -1.0)}),
        ("adaptive_l1", {"weights": "heavy"}),
        ("adaptive_l1", {"weights": (math.inf,)}),
        ("group", {"groups": ((0, 1), (1, 2))}),
        ("group", {"groups": ((-1,),)}),
        ("group", {"groups": 3}),
    ],
)
def test_impossible_options_are_refused_with_a_remedy(name, arguments):
    with pytest.raises(MethodError) as caught:
        penalties[name](**arguments)
    assert caught.value.expected
    assert caught.value.remedy


def test_a_group_beyond_the_coefficients_is_refused():
    with pytest.raises(MethodError):
        penalties["group"](strength=1.0, groups=((0, 9),)).prox(np.ones(3), 1.0)


def test_penalties_compare_and_hash_as_values():
    for name in penalties:
        assert penalties[name](strength=1.0) == penalties[name](strength=1.0)
        assert len({penalties[name](strength=1.0), penalties[name](strength=2.0)}) == 2
