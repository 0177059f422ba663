"""Quadratics plus any penalty: exact where convex, and elsewhere never beaten by a search of all supports."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.errors import MethodError
from dpglm.glm.penalties import Penalty, penalties
from dpglm.optim.quadratic import (
    minimise_quadratic_path,
    profiled,
    strength_max,
)
from tests.effort import quick

NOT_CONVEX = ("l1/2", "lq", "scad", "mcp")
GROUPS = ((0, 3), (1, 2, 5))


def quadratic(seed, p, condition, noise=1.0):
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((p, p)))
    matrix = (basis * np.geomspace(1.0, condition, p)) @ basis.T
    truth = 3.0 * rng.standard_normal(p) * (rng.uniform(size=p) < 0.5)
    return 0.5 * (matrix + matrix.T), matrix @ truth + noise * np.sqrt(np.diag(matrix)) * rng.standard_normal(
        p
    )


def minimise_quadratic(matrix, right, penalty):
    return minimise_quadratic_path(matrix, right, penalty, np.array([penalty.weight]))


def path_of(matrix, right, penalty, count=30):
    top = strength_max(matrix, right, penalty)
    return minimise_quadratic_path(matrix, right, penalty, np.geomspace(top, 1e-3 * top, count))


def objective(matrix, right, penalty, strength, points):
    smooth = 0.5 * np.sum((points @ matrix) * points, axis=-1) - points @ right
    return smooth + penalty.values(np.atleast_2d(points), np.full(len(np.atleast_2d(points)), strength))


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=st.integers(0, 9999), p=st.integers(1, 12), power=st.floats(0.0, 4.0))
@pytest.mark.parametrize("name", [name for name in penalties if name not in ("l2", "none")])
def test_every_strength_of_a_path_is_certified(name, seed, p, power):
    matrix, right = quadratic(seed, p, 10.0**power)
    penalty = penalties[name]().with_scale(np.diag(matrix))
    found = path_of(matrix, right, penalty)
    # The bar of the design: 1e-10 of the largest gradient.
    assert found.residuals.max() <= 1e-10 * np.abs(right).max()
    if penalty.convex:  # zero first; larger strengths, larger objectives and smaller penalties
        assert not found.coefficients[0].any()
        assert (np.diff(found.objectives) <= 1e-12 * np.abs(right).max() ** 2).all()


def violation(matrix, right, weights, ridge, z):
    slope = matrix @ z - right + ridge * z
    left = np.where(z == 0, np.maximum(np.abs(slope) - weights, 0.0), np.abs(slope + weights * np.sign(z)))
    return left.max(initial=0.0)


@pytest.mark.parametrize("condition", [10.0, 1e4])
def test_lasso_elastic_net_and_adaptive_paths_satisfy_their_conditions(condition):
    matrix, right = quadratic(3, 60, condition)
    weights = np.linspace(0.5, 2.0, 60)
    for name, arguments, ratio, each in (
        ("l1", {}, 1.0, np.ones(60)),
        ("elastic_net", {"l1_ratio": 0.3}, 0.3, np.ones(60)),
        ("adaptive_l1", {"weights": weights}, 1.0, weights),
    ):
        found = path_of(matrix, right, penalties[name](**arguments), 100)
        for strength, z in zip(found.strengths, found.coefficients, strict=True):
            left = violation(matrix, right, ratio * strength * each, (1 - ratio) * strength, z)
            assert left <= 1e-12 * np.abs(right).max()  # 60 products of numbers up to the largest


def test_ridge_and_no_penalty_have_their_closed_forms():
    matrix, right = quadratic(4, 8, 100.0)
    strengths = np.array([10.0, 0.1])
    ridge = minimise_quadratic_path(matrix, right, penalties["l2"](), strengths).coefficients
    for strength, z in zip(strengths, ridge, strict=True):
        np.testing.assert_allclose(z, np.linalg.solve(matrix + strength * np.eye(8), right), rtol=1e-10)
    plain = minimise_quadratic(matrix, right, penalties["none"]()).coefficients[0]
    np.testing.assert_allclose(plain, np.linalg.solve(matrix, right), rtol=1e-10)


@pytest.mark.parametrize("name", ["l1", "elastic_net", "l1/2", "mcp", "group"])
def test_unpenalised_coordinates_are_minimised_out_exactly(name):
    matrix, right = quadratic(5, 10, 50.0)
    mask = np.arange(10) % 4 != 1
    penalty = penalties[name]()
    reduced, pulled = profiled(matrix, right, mask)
    strengths = strength_max(reduced, pulled, penalty) * np.array([1.0, 0.3, 0.01])
    found = minimise_quadratic_path(matrix, right, penalty, strengths, penalised=mask)
    inner = minimise_quadratic_path(reduced, pulled, penalty, strengths)
    np.testing.assert_array_equal(found.coefficients[:, mask], inner.coefficients)
    slope = found.coefficients @ matrix - right
    assert np.abs(slope[:, ~mask]).max() <= 1e-12 * np.abs(right).max()
    for strength, z, value in zip(strengths, found.coefficients, found.objectives, strict=True):
        own = 0.5 * z @ matrix @ z - right @ z + penalty.with_strength(strength).value(z[mask])
        assert value == pytest.approx(own, rel=1e-12)


def test_group_path_agrees_with_a_proximal_gradient_reference():
    matrix, right = quadratic(6, 6, 20.0)
    penalty = penalties["group"](groups=GROUPS)
    found = path_of(matrix, right, penalty, 8)
    step = 1.0 / np.linalg.eigvalsh(matrix)[-1]
    for strength, z in zip(found.strengths, found.coefficients, strict=True):
        reference = np.zeros(6)
        for _ in range(3000):  # contraction 1 - 1/20 a step
            slope = matrix @ reference - right
            reference = penalty.with_strength(strength).prox(reference - step * slope, step)
        np.testing.assert_allclose(z, reference, atol=1e-9)
        for group in GROUPS:
            assert z[list(group)].all() or not z[list(group)].any()


@dataclass(frozen=True)
class Outside(Penalty):
    """A penalty of somebody else: value and prox only."""

    inner: str = "l1"

    name = "outside"
    convex = True

    @property
    def _other(self):
        return penalties[self.inner](strength=self.weight)

    def value(self, beta):
        return self._other.value(beta)

    def prox(self, v, step):
        return self._other.prox(v, step)

    def strength_max(self, gradient_at_zero, step=1.0):
        return self._other.strength_max(gradient_at_zero, step)


@dataclass(frozen=True)
class OutsideNotConvex(Outside):
    inner: str = "mcp"
    convex = False


def test_a_penalty_of_which_only_the_prox_is_known_is_minimised():
    matrix, right = quadratic(7, 15, 30.0)
    found, exact = path_of(matrix, right, Outside(), 10), path_of(matrix, right, penalties["l1"](), 10)
    np.testing.assert_allclose(found.coefficients, exact.coefficients, atol=1e-9)
    assert found.residuals.max() <= 1e-10 * np.abs(right).max()
    matrix, right = matrix / 30.0, right / 30.0
    other = path_of(matrix, right, OutsideNotConvex(), 10)
    assert other.residuals.max() <= 1e-10 * np.abs(right).max()
    known = minimise_quadratic_path(matrix, right, penalties["mcp"](), other.strengths)
    assert (known.objectives <= other.objectives + 1e-12 * np.abs(other.objectives)).all()


def least_over_supports(matrix, right, penalty, strength, seed):
    """Least objective over all supports and signs: bounded descent by scipy from least squares and beyond."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    p, best = right.size, 0.0
    for count in range(1, p + 1):
        for support in map(list, itertools.combinations(range(p), count)):
            block, pulled = matrix[np.ix_(support, support)], right[support]
            least_squares = np.linalg.solve(block, pulled)
            # No penalty shrinks a support's best objective below that of least squares.
            if -0.5 * pulled @ least_squares >= best:
                continue
            starts = [least_squares, *(least_squares * rng.uniform(0.1, 1.1, count) for _ in range(1))]

            def function(part, support=support, block=block, pulled=pulled):
                whole = np.zeros(p)
                whole[support] = part
                own = penalty.with_strength(strength)
                slope, _ = own.derivatives(whole)
                value = 0.5 * part @ block @ part - pulled @ part + own.value(whole)
                return value, block @ part - pulled + slope[support]

            for start in starts:
                best = min(best, float(minimize(function, start, jac=True, method="BFGS").fun))
    return best


@pytest.mark.parametrize("name", quick(NOT_CONVEX, "l1/2", "scad"))
@pytest.mark.parametrize("condition", quick([10.0, 1e3], 1e3))
def test_hardly_a_support_holds_anything_better(name, condition):
    # Local minima that no move of one or two coordinates leaves are rare, not impossible.
    missed = 0
    for seed in range(2):
        matrix, right = quadratic(seed, 4, condition)
        penalty = penalties[name]().with_scale(np.diag(matrix))
        found = path_of(matrix, right, penalty, 30)
        for at in (3, 14):
            best = least_over_supports(matrix, right, penalty, found.strengths[at], seed)
            alone = minimise_quadratic(matrix, right, penalty.with_strength(float(found.strengths[at])))
            reached = max(found.objectives[at], alone.objectives[0])
            assert reached <= 0.9 * best
            missed += reached > best + 1e-7 * abs(best)  # BFGS stops at a gradient of 1e-5
    assert missed <= 1


@pytest.mark.parametrize("name", quick(NOT_CONVEX, "l1/2", "scad"))
def test_no_random_start_of_a_descent_beats_the_path(name):
    matrix, right = quadratic(11, 20, 200.0)
    penalty = penalties[name]().with_scale(np.diag(matrix))
    found = path_of(matrix, right, penalty, 40)
    step, rng = 1.0 / np.linalg.eigvalsh(matrix)[-1], np.random.default_rng(0)
    starts = np.linalg.solve(matrix, right) * (rng.uniform(size=(60, 20)) < rng.uniform(size=(60, 1)))
    for at in (5, 15, 25, 35):
        points, strength = starts.copy(), found.strengths[at]
        for _ in range(2000):
            points = penalty.prox_rows(
                points - step * (points @ matrix - right), step, np.full(len(points), strength)
            )
        best = objective(matrix, right, penalty, strength, points).min()
        assert found.objectives[at] <= best + 1e-12 * abs(best)


def test_orthogonal_quadratic_is_solved_coordinate_by_coordinate():
    right = np.array([-5.0, 0.3, 2.0, 1.4, 0.9])
    for name in penalties:
        for strength in (0.1, 0.7, 2.0):
            penalty = penalties[name](strength=strength)
            found = minimise_quadratic(np.eye(5), right, penalty).coefficients[0]
            np.testing.assert_allclose(found, penalty.prox(right, 1.0), atol=1e-12)


@pytest.mark.parametrize("name", quick(NOT_CONVEX, "l1/2", "scad"))
def test_top_of_the_path_is_where_a_single_coordinate_leaves(name):
    matrix, right = quadratic(12, 7, 30.0)
    penalty = penalties[name]().with_scale(np.diag(matrix))
    top = strength_max(matrix, right, penalty)
    grid = np.linspace(-20.0, 20.0, 200_001)
    for factor, better in ((1.0 + 1e-6, False), (1.0 - 1e-3, True)):
        least = 0.0
        for j in range(7):
            points = np.zeros((grid.size, 7))
            points[:, j] = grid
            least = min(least, objective(matrix, right, penalty, factor * top, points).min())
        assert (least < 0.0) == better


def test_answers_repeat_bit_by_bit_and_keep_the_order_asked_for():
    matrix, right = quadratic(13, 12, 100.0)
    top = strength_max(matrix, right, penalties["l1/2"]())
    strengths = top * np.array([0.01, 0.5, 0.1])
    first = minimise_quadratic_path(matrix, right, penalties["l1/2"](), strengths)
    again = minimise_quadratic_path(matrix, right, penalties["l1/2"](), strengths)
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    np.testing.assert_array_equal(first.strengths, strengths)
    counts = np.count_nonzero(first.coefficients, axis=1)
    assert counts[0] >= counts[2] >= counts[1]


def test_singular_quadratics_are_answered_as_the_residual_says():
    rng = np.random.default_rng(14)
    rows = rng.standard_normal((4, 9))
    matrix, right = rows.T @ rows, rows.T @ rng.standard_normal(4)
    for name in ("l1", "elastic_net", "group", *NOT_CONVEX):
        found = path_of(matrix, right, penalties[name]().with_scale(np.diag(matrix)), 20)
        assert np.isfinite(found.coefficients).all()
        # Down to a tenth of the top, where the penalty holds the minimiser.
        assert found.residuals[:7].max() <= 1e-9 * np.abs(right).max()


def test_a_column_of_nothing_stays_zero():
    matrix, right = quadratic(15, 5, 10.0)
    matrix[:, 2] = matrix[2, :] = right[2] = 0.0
    for name in ("l1", "group", *NOT_CONVEX):
        found = path_of(matrix, right, penalties[name]().with_scale(np.diag(matrix)), 10)
        assert not found.coefficients[:, 2].any()
        assert found.residuals.max() <= 1e-10 * np.abs(right).max()


def test_no_coordinates_and_no_strengths_are_no_trouble():
    empty = minimise_quadratic_path(np.zeros((0, 0)), np.zeros(0), penalties["l1"](), np.ones(2))
    assert empty.coefficients.shape == (2, 0)
    matrix, right = quadratic(16, 3, 5.0)
    assert minimise_quadratic_path(matrix, right, penalties["mcp"](), np.zeros(0)).coefficients.shape == (
        0,
        3,
    )
    free = minimise_quadratic_path(
        matrix, right, penalties["l1/2"](), np.ones(1), penalised=np.zeros(3, dtype=bool)
    )
    np.testing.assert_allclose(free.coefficients[0], np.linalg.solve(matrix, right), rtol=1e-9)


@pytest.mark.parametrize(
    ("matrix", "right", "strengths", "penalised"),
    [
        (np.eye(2), np.ones(3), np.ones(1), None),
        (np.eye(3), np.ones(3), np.ones(1), np.ones(2, dtype=bool)),
        (np.full((2, 2), np.nan), np.ones(2), np.ones(1), None),
        (np.eye(2), np.ones(2), np.array([-1.0]), None),
        (np.eye(2), np.ones(2), np.array([np.inf]), None),
    ],
)
def test_impossible_requests_are_refused(matrix, right, strengths, penalised):
    with pytest.raises(MethodError):
        minimise_quadratic_path(matrix, right, penalties["l1"](), strengths, penalised=penalised)


@pytest.mark.parametrize("name", sorted(penalties))
def test_a_coordinate_without_information_stays_at_zero(name: str) -> None:
    """Its linear weight is what rounding left, and a penalty that ends would let it run to 10^287."""
    penalty = penalties[name]()
    alone = np.array([[0.0]]), np.array([1.1e-16])
    explained = (
        np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([1.0, 1.0 + 1e-16, 2.0]),
    )
    for matrix, right in (alone, explained):
        mask = np.arange(len(right)) > 0 if len(right) > 1 else np.ones(1, dtype=bool)
        reduced, _ = profiled(matrix, right, mask)
        scaled = penalty.with_scale(np.maximum(np.diagonal(reduced), 1e-300))
        path = minimise_quadratic_path(matrix, right, scaled, np.geomspace(1.0, 1e-16, 30), penalised=mask)
        assert np.all(path.coefficients[:, mask][:, 0] == 0.0)
        assert np.abs(path.coefficients).max() <= 2.0 + 1e-9
