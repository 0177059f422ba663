"""Choosing by BIC, lists with a false discovery rate, intervals of a selected list."""

import numpy as np
import pytest
from scipy.stats import norm

from dpglm.errors import MethodError
from dpglm.glm.penalties import penalties
from dpglm.inference.coefficients import sparse_path
from dpglm.inference.contrasts import two_sided_pvalues
from dpglm.inference.selection import (
    benjamini_hochberg,
    choose_bic,
    degrees_of_freedom,
    false_coverage_level,
    refit,
)
from dpglm.optim.quadratic import strength_max


def problem(seed, p=20, signals=4, information=40.0, size=1.0):
    """A noisy linear model of p coefficients with a correlated design: A, c and the truth."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((3 * p, p)) + 0.5 * rng.standard_normal((3 * p, 1))
    matrix = information * design.T @ design / (3 * p)
    truth = np.where(np.arange(p) < signals, size * rng.choice([-1.0, 1.0], p), 0.0)
    right = matrix @ truth + np.linalg.cholesky(matrix + 1e-12 * np.eye(p)) @ rng.standard_normal(p)
    return matrix, right, truth


def without_refits(path, matrix, right, size=1.0):
    """The place of least BIC where each strength is judged by its own shrunken fit."""
    cost = max(np.log(size), 2 * np.log(path.penalised.sum()))
    criteria = [g @ matrix @ g - 2 * right @ g + cost * np.count_nonzero(g) for g in path.coefficients]
    return int(np.argmin(criteria))


def exact_supports(name, seeds, choose=choose_bic):
    """In how many problems BIC chooses exactly the true support."""
    exact = 0
    for seed in range(seeds):
        matrix, right, truth = problem(seed)
        penalty = penalties[name]()
        top = sparse_path(matrix, right, penalty, strengths=np.ones(1)).penalty
        strengths = np.geomspace(1.0, 1e-3, 40) * strength_max(matrix, right, top)
        path = sparse_path(matrix, right, penalty, strengths=strengths)
        chosen = path.coefficients[choose(path, matrix, right, size=5000.0)]
        exact += bool(((chosen != 0.0) == (truth != 0.0)).all())
    return exact


@pytest.mark.parametrize("name", ["l1/2", "scad", "mcp"])
def test_bic_finds_the_support_of_strong_signals(name):
    # 16 pure noises at z^2 > log 5000 let one in with probability .06; the standardised signals are above 5,
    # so that .9 is a modest rate. Binomial(15, .9) is below 9 with probability 3e-4.
    assert exact_supports(name, 15) >= 9


def test_shrinkage_speaks_for_larger_supports_unless_refitted():
    # Seen over 60 problems: 47 and 20 exact.
    assert exact_supports("l1", 15) >= exact_supports("l1", 15, without_refits) + 3


def test_larger_sizes_choose_smaller_models_and_p_alone_sets_a_floor():
    matrix, right, _ = problem(1, size=0.4)
    path = sparse_path(matrix, right, penalties["l1/2"]())
    counts = [path.counts[choose_bic(path, matrix, right, size=size)] for size in (1.0, 1e4, 1e12, 1e100)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0
    assert choose_bic(path, matrix, right) == choose_bic(path, matrix, right, size=20.0**2)
    assert choose_bic(path, matrix, right) == choose_bic(path, matrix, right, size=2.0)


def test_bic_is_what_it_says():
    matrix, right, _ = problem(2)
    path = sparse_path(matrix, right, penalties["l1"]())
    refits = [refit(matrix, right, g != 0.0) for g in path.coefficients]
    criteria = [g @ matrix @ g - 2 * right @ g + 2 * np.log(20) * np.count_nonzero(g) for g in refits]
    chosen = choose_bic(path, matrix, right)
    assert criteria[chosen] <= min(criteria) + 1e-9 * abs(min(criteria))
    assert path.counts[chosen] <= path.counts[without_refits(path, matrix, right)]


def test_ties_go_to_the_smaller_model_and_the_larger_strength():
    matrix, right = np.eye(2), np.array([4.0, 0.0])
    # Beyond its knot MCP does not shrink: many strengths have the same fit.
    strengths = np.array([0.5, 1.2, 0.8])
    path = sparse_path(matrix, right, penalties["mcp"](), strengths=strengths)
    np.testing.assert_allclose(path.coefficients, [[4.0, 0.0]] * 3, atol=1e-12)
    assert choose_bic(path, matrix, right) == 1


def test_unpenalised_coefficients_do_not_count():
    matrix, right, _ = problem(3)
    penalised = np.arange(20) >= 2
    path = sparse_path(matrix, right, penalties["l1"](), penalised)
    assert degrees_of_freedom(path, matrix)[0] == path.counts[0] == 0.0
    assert path.coefficients[0, :2].all()


def test_ridge_degrees_of_freedom_fall_from_p_to_zero():
    matrix, right, _ = problem(4)
    path = sparse_path(matrix, right, penalties["l2"](), strengths=np.geomspace(1e9, 1e-9, 20))
    freedom = degrees_of_freedom(path, matrix)
    assert (np.diff(freedom) > 0).all()
    assert freedom[0] == pytest.approx(0.0, abs=1e-4)
    assert freedom[-1] == pytest.approx(20.0, abs=1e-4)
    own = np.trace(matrix @ np.linalg.inv(matrix + path.strengths[10] * np.eye(20)))
    assert freedom[10] == pytest.approx(own)
    net = sparse_path(matrix, right, penalties["elastic_net"](l1_ratio=0.5))
    assert (degrees_of_freedom(net, matrix) <= net.counts + 1e-12).all()


def test_pvalues_are_two_sided_gaussian():
    estimates, errors = np.array([0.3, -2.5, 9.0]), np.array([0.2, 1.1, 1.0])
    np.testing.assert_allclose(two_sided_pvalues(estimates, errors), 2 * norm.sf(np.abs(estimates / errors)))
    assert np.isnan(two_sided_pvalues(np.ones(1), np.full(1, np.nan))).all()


@pytest.mark.parametrize("q", [0.01, 0.1, 0.4])
def test_false_discovery_list_is_the_step_up_rule(q):
    rng = np.random.default_rng(5)
    for _ in range(200):
        pvalues = rng.uniform(size=30) ** rng.choice([1.0, 3.0, 8.0], 30)
        below = np.flatnonzero(np.sort(pvalues) <= q * np.arange(1, 31) / 30)
        expected = pvalues <= (np.sort(pvalues)[below[-1]] if below.size else -1.0)
        np.testing.assert_array_equal(benjamini_hochberg(pvalues, q), expected)
        holes = np.insert(pvalues, [3, 17], np.nan)
        np.testing.assert_array_equal(benjamini_hochberg(holes, q), np.insert(expected, [3, 17], False))
    assert not benjamini_hochberg(np.full(3, np.nan), q).any()
    assert not benjamini_hochberg(np.zeros(0), q).any()


def test_false_discovery_rate_is_kept():
    rng, shares = np.random.default_rng(6), []
    for _ in range(2000):
        z = rng.standard_normal(40) + np.where(np.arange(40) < 8, 3.0, 0.0)
        rejected = benjamini_hochberg(two_sided_pvalues(z, np.ones(40)), 0.1)
        shares.append(rejected[8:].sum() / max(rejected.sum(), 1))
    # The rate is exactly .1 * 32 / 40 = .08; a standard error of the mean is .0025. Four of them: 3e-5.
    assert np.mean(shares) == pytest.approx(0.08, abs=4 * np.std(shares) / np.sqrt(2000))


def test_intervals_of_a_list_miss_no_more_than_promised_where_plain_ones_do():
    rng, missed, plain = np.random.default_rng(7), [], []
    truth = np.where(np.arange(50) < 10, 1.5, 0.0)
    for _ in range(1500):
        z = truth + rng.standard_normal(50)
        chosen = benjamini_hochberg(two_sided_pvalues(z, np.ones(50)), 0.1)
        level = false_coverage_level(int(chosen.sum()), 50, q=0.1)
        out = np.abs(z - truth) > norm.isf(0.5 * (1.0 - level))
        missed.append(out[chosen].sum() / max(chosen.sum(), 1))
        plain.append((np.abs(z - truth) > norm.isf(0.05))[chosen].sum() / max(chosen.sum(), 1))
    spread = np.std(missed) / np.sqrt(1500)
    assert np.mean(missed) <= 0.1 + 4 * spread  # 3e-5
    assert np.mean(plain) > 0.15  # the selection is what needs correcting


def test_level_of_a_list():
    assert false_coverage_level(50, 50, q=0.05) == pytest.approx(0.95)
    assert false_coverage_level(1, 100, q=0.05) == pytest.approx(0.9995)
    assert false_coverage_level(0, 0) == 1.0


@pytest.mark.parametrize("q", [0.0, 1.0, np.nan])
def test_impossible_rates_are_refused(q):
    with pytest.raises(MethodError):
        benjamini_hochberg(np.ones(2), q)
    with pytest.raises(MethodError):
        false_coverage_level(1, 2, q=q)
