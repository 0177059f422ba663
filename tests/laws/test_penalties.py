"""What is true of every registered penalty; a new one is tested here without being listed."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty, penalties
from dpglm.glm.penalties.l1 import L1

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
    # Sorted input gives sorted output, since registered penalties treat coordinates alike and apart.
    penalty = penalties[name](strength=strength)
    mapped = penalty.prox(np.sort(v), step)
    assert (np.diff(mapped) >= 0.0).all()
    assert (np.abs(penalty.prox(v, step)) <= np.abs(v)).all()


@every_penalty
@law
@given(strength=strengths, step=steps, v=vectors, data=st.data())
def test_convex_prox_is_nonexpansive(name, strength, step, v, data):
    penalty = penalties[name](strength=strength)
    assume(penalty.convex)
    w = data.draw(arrays(np.float64, v.shape, elements=st.floats(-20.0, 20.0)))
    moved = np.linalg.norm(penalty.prox(v, step) - penalty.prox(w, step))
    assert moved <= np.linalg.norm(v - w) * (1 + 1e-12) + 1e-13  # rounding of numbers up to 20


@every_penalty
@law
@given(
    gradient=arrays(np.float64, 4, elements=st.floats(-5.0, 5.0).filter(lambda g: g == 0 or abs(g) > 1e-3))
)
def test_zero_is_a_fixed_point_exactly_from_strength_max_on(name, gradient):
    penalty = penalties[name]()
    least = penalty.strength_max(gradient)

    def zero_is_solution(strength: float, step: float) -> bool:
        return not penalty.with_strength(strength).prox(-step * gradient, step).any()

    if not gradient.any():
        assert least == 0.0
        return
    assert least > 0.0
    for step in (0.125, 1.0, 7.0):
        if math.isfinite(least):
            assert zero_is_solution(least, step)
            assert zero_is_solution(2.0 * least, step)
            assert not zero_is_solution(least * (1 - 1e-9), step)
        else:
            assert not zero_is_solution(1e6, step)


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
