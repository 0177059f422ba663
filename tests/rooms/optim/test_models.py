"""Quadratics plus an L1 norm or another penalty: exact to rounding, whatever the conditioning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.glm.penalties.elastic_net import ElasticNet
from dpglm.optim.quadratic_solvers import minimise_with_l1, minimise_with_prox, solve


def quadratic(seed, m, condition):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((m, m)))
    hessian = (basis * np.geomspace(1.0, condition, m)) @ basis.T
    return 0.5 * (hessian + hessian.T), rng.standard_normal(m) * 10.0, rng.standard_normal(m)


def violation(hessian, gradient, x, weights, z):
    slope = gradient + hessian @ (z - x)
    left = np.where(z == 0, np.maximum(np.abs(slope) - weights, 0.0), np.abs(slope + weights * np.sign(z)))
    return left.max(initial=0.0)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 9999),
    m=st.integers(1, 40),
    power=st.floats(0.0, 6.0),
    strength=st.floats(0.0, 30.0),
    start=st.booleans(),
)
def test_active_set_satisfies_the_optimality_conditions(seed, m, power, strength, start):
    hessian, gradient, x = quadratic(seed, m, 10.0**power)
    if not start:
        x = np.zeros(m)
    weights = np.where(np.arange(m) % 5 == 3, 0.0, strength)
    z = minimise_with_l1(hessian, gradient, x, weights)
    # Rounding of H (z - x): sizes of H up to 1e6 and of z - x up to 100.
    assert violation(hessian, gradient, x, weights, z) <= 1e-14 * 10.0**power * 1e3 + 1e-11


def test_active_set_leaves_exact_zeros_and_all_of_it_above_the_largest_gradient():
    hessian, gradient, _ = quadratic(1, 20, 100.0)
    largest = np.abs(gradient).max()
    assert not minimise_with_l1(hessian, gradient, np.zeros(20), np.full(20, largest)).any()
    z = minimise_with_l1(hessian, gradient, np.zeros(20), np.full(20, 0.999 * largest))
    assert np.count_nonzero(z) == 1


def test_active_set_survives_equal_columns():
    hessian = np.ones((6, 6)) + 1e-9 * np.eye(6)
    z = minimise_with_l1(hessian, -np.arange(1.0, 7.0), np.zeros(6), np.full(6, 0.5))
    assert violation(hessian, -np.arange(1.0, 7.0), np.zeros(6), np.full(6, 0.5), z) <= 1e-6


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 9999), m=st.integers(1, 15), power=st.floats(0.0, 4.0), strength=st.floats(0.0, 20.0)
)
def test_prox_solver_agrees_with_the_active_set(seed, m, power, strength):
    hessian, gradient, x = quadratic(seed, m, 10.0**power)
    z, pull = minimise_with_prox(hessian, gradient, x, ElasticNet(strength, l1_ratio=0.5).prox, accuracy=1e-9)
    ridge = 0.5 * strength
    exact = minimise_with_l1(hessian + ridge * np.eye(m), gradient + ridge * x, x, np.full(m, 0.5 * strength))
    np.testing.assert_allclose(z, exact, atol=1e-8)  # residual 1e-9, least eigenvalue 1
    assert np.linalg.norm(gradient + hessian @ (z - x) + pull) <= 1e-9
    for j in np.flatnonzero(z):  # the pull is a subgradient of the penalty at z
        assert pull[j] == pytest.approx(0.5 * strength * np.sign(z[j]) + ridge * z[j], abs=1e-6)


def test_solving_never_raises():
    np.testing.assert_allclose(solve(np.diag([2.0, 4.0]), np.array([2.0, 2.0])), [1.0, 0.5])
    for matrix in (np.zeros((2, 2)), np.diag([1.0, -1e-17]), np.ones((2, 2)), np.full((2, 2), np.nan)):
        assert np.isfinite(solve(matrix, np.ones(2))).all()
    assert solve(np.zeros((0, 0)), np.zeros(0)).size == 0
