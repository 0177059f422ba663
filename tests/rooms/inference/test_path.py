"""Paths on the released linear model: grids, scales, and the units of the statistician's coefficients."""

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.glm.penalties import penalties
from dpglm.inference.coefficients import sparse_path


def released(seed, p=12, rows=400):
    """A and c of a linear model whose first column is an intercept, four signals, unit noise."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((rows, p)) / np.sqrt(p)
    design[:, 0] = 1.0
    truth = np.zeros(p)
    truth[:5] = [5.0, 3.0, -3.0, 2.0, -2.0]
    matrix = design.T @ design
    return matrix, design.T @ (design @ truth + rng.standard_normal(rows)), np.arange(p) > 0


@pytest.mark.parametrize("name", [name for name in penalties if name not in ("l2", "none")])
def test_default_grid_starts_where_the_first_coefficient_leaves(name):
    matrix, right, penalised = released(0)
    path = sparse_path(matrix, right, penalties[name](), penalised)
    assert path.strengths.shape == path.counts.shape == (100,)
    np.testing.assert_allclose(np.diff(np.log(path.strengths)), np.log(1e-3) / 99, rtol=1e-6)
    assert path.counts[0] == 0
    assert path.counts[:20].max() >= 1
    assert path.counts[-1] >= 10
    assert path.coefficients[:, 0].all()  # the intercept is in every fit
    # Without any penalised coefficient the intercept is its own least squares.
    assert path.coefficients[0, 0] == pytest.approx(right[0] / matrix[0, 0])
    assert path.residuals.max() <= 1e-10 * np.abs(right).max()


def test_ridge_path_goes_from_almost_nothing_to_almost_no_penalty():
    matrix, right, penalised = released(1)
    path = sparse_path(matrix, right, penalties["l2"](), penalised)
    assert np.abs(path.coefficients[0, penalised]).max() <= 1e-3
    np.testing.assert_allclose(path.coefficients[-1], np.linalg.solve(matrix, right), rtol=0.05)


@pytest.mark.parametrize("name", ["l1", "l1/2", "lq", "scad", "mcp", "elastic_net", "group"])
def test_more_information_at_more_strength_is_the_same_problem(name):
    # l1 and its like: strength grows with the information; scad and mcp need their scale to grow as well.
    matrix, right, penalised = released(2)
    one = sparse_path(matrix, right, penalties[name](), penalised)
    other = sparse_path(900.0 * matrix, 900.0 * right, penalties[name](), penalised)
    np.testing.assert_allclose(other.coefficients, one.coefficients, atol=1e-8)
    np.testing.assert_allclose(other.strengths, 900.0 * one.strengths, rtol=1e-10)


@pytest.mark.parametrize("name", ["scad", "mcp"])
def test_strong_signals_are_not_shrunk_by_folded_penalties(name):
    matrix, right, penalised = released(3, rows=20_000)
    path = sparse_path(matrix, right, penalties[name](), penalised)
    at = int(np.flatnonzero(path.counts == 4)[0])
    truth = np.array([5.0, 3.0, -3.0, 2.0, -2.0])
    np.testing.assert_array_equal(np.flatnonzero(path.coefficients[at]), np.arange(5))
    later = path.coefficients[np.flatnonzero(path.counts == 4)[-1]]
    least_squares = np.linalg.solve(matrix[:5, :5], right[:5])
    np.testing.assert_allclose(later[:5], least_squares, atol=1e-9)
    np.testing.assert_allclose(later[:5], truth, atol=0.3)  # 10 standard errors


def test_given_scales_and_strengths_are_kept():
    matrix, right, penalised = released(4)
    penalty = penalties["mcp"](scale=2.0)
    path = sparse_path(matrix, right, penalty, penalised, strengths=np.array([1.0, 5.0]))
    assert path.penalty == penalty
    np.testing.assert_array_equal(path.strengths, [1.0, 5.0])
    assert path.counts[0] >= path.counts[1]


def test_nothing_to_explain_gives_a_path_of_zeros():
    path = sparse_path(np.eye(3), np.zeros(3), penalties["l1/2"]())
    assert not path.coefficients.any()
    assert (path.strengths > 0.0).all()


def test_groups_enter_whole():
    matrix, right, penalised = released(5)
    groups = ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9, 10))  # places among the penalised
    path = sparse_path(matrix, right, penalties["group"](groups=groups), penalised)
    inside = path.coefficients[:, penalised] != 0.0
    for group in groups:
        part = inside[:, list(group)]
        np.testing.assert_array_equal(part.any(axis=1), part.all(axis=1))
    assert set(path.counts) <= {0, 3, 4, 7, 8, 11}


def test_weights_that_do_not_fit_are_refused():
    matrix, right, penalised = released(6)
    with pytest.raises(MethodError):
        sparse_path(matrix, right, penalties["adaptive_l1"](weights=np.ones(12)), penalised)
    assert sparse_path(matrix, right, penalties["adaptive_l1"](weights=np.ones(11)), penalised).counts[0] == 0
