"""ADMM finds the minimiser of convex penalties and stationary points of others, by code of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.glm.families import families
from dpglm.glm.families.binomial import Binomial
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import Penalty
from dpglm.glm.penalties.lq import LHalf
from dpglm.mechanisms.exact import ExactAnswer, ExactMinimiser
from dpglm.mechanisms.noise import SeededNoise
from dpglm.optim.admm import default_augmentation, lipschitz, minimise_by_admm
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import minimise
from dpglm.rows import ArrayChunk
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

CONVEX = [name for name in penalties if penalties[name].convex]
FOLDED = [name for name in penalties if not penalties[name].convex]
# Coefficients of the simulation of the DPSC paper.
PAPER = (10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.5)


class Table:
    """Rows of norm at most 1 in blocks, columns correlated 0.5^|i - j| as in the DPSC paper."""

    def __init__(
        self, seed: int, n: int, p: int, *, truth: tuple[float, ...] = PAPER, certain: bool = False
    ) -> None:
        rng = np.random.default_rng(seed)
        apart = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
        X = rng.standard_normal((n, p)) @ np.linalg.cholesky(0.5**apart).T
        eta = X[:, : len(truth)] @ np.array(truth[:p])
        chance = 1.0 / (1.0 + np.exp(-eta))
        self.y = np.where(certain, eta >= 0.0, rng.random(n) < chance).astype(np.float64)
        X = X / (1.2 * np.sqrt(p))
        # Rounding to float32 must not lift a row above 1.
        self.X = (X / np.maximum(1.0, 1.0001 * np.linalg.norm(X, axis=1))[:, None]).astype(np.float32)
        self.size = p

    def part(self, rows: slice) -> Table:
        chosen = object.__new__(Table)
        chosen.X, chosen.y, chosen.size = self.X[rows], self.y[rows], self.size
        return chosen

    def chunks(self) -> list[ArrayChunk]:
        firsts = range(0, len(self.y), 1000)
        return [
            ArrayChunk(np.ascontiguousarray(self.X[one : one + 1000].T), self.y[one : one + 1000], None)
            for one in firsts
        ]

    def row_count(self) -> int:
        return len(self.y)

    def loss(self, family: str = "binomial") -> ChunkLoss:
        kept = self.chunks()
        return ChunkLoss(lambda: kept, families[family](), self.size)

    def value(self, theta: FloatVector) -> float:
        return float(Binomial().loss(self.X.astype(float) @ theta, self.y).sum())

    def score(self, theta: FloatVector) -> FloatVector:
        wide = self.X.astype(float)
        return np.asarray(wide.T @ (1.0 / (1.0 + np.exp(-wide @ theta)) - self.y))

    def curvature(self, theta: FloatVector) -> FloatMatrix:
        wide = self.X.astype(float)
        mean = 1.0 / (1.0 + np.exp(-wide @ theta))
        return np.asarray((wide.T * (mean * (1.0 - mean))) @ wide)


def scaled(name: str, strength: float, table: Table) -> Penalty:
    curvature = np.diagonal(table.curvature(np.zeros(table.size)))
    return penalties[name]().with_strength(strength).with_scale(curvature)


def test_the_bound_on_the_curvature_is_one_and_is_sharp_at_zero() -> None:
    """Sharp for the logistic loss at zero, where every row's curvature is 1/4; never above R^2 / 4 a row."""
    table = Table(1, 500, 6)
    found = lipschitz(table.loss(), np.eye(6), np.ones(6, np.bool_))
    assert found == pytest.approx(np.linalg.eigvalsh(table.curvature(np.zeros(6)))[-1], rel=1e-5)
    assert found <= 500 / 4
    free = np.array([True, True, False, True, True, True])
    inverse = np.linalg.inv(table.curvature(np.zeros(6)))[np.ix_(free, free)]
    # The others minimised out: a Schur complement is the inverse of a block of the inverse.
    assert lipschitz(table.loss(), np.eye(6), free) == pytest.approx(
        1.0 / np.linalg.eigvalsh(inverse)[0], rel=1e-4
    )


@pytest.mark.parametrize("family", ["binomial", "gaussian", "poisson"])
@pytest.mark.parametrize("name", CONVEX)
def test_convex_penalties_end_at_the_minimiser(name: str, family: str) -> None:
    table = Table(2, 300, 6)
    rng = np.random.default_rng(3)
    mixed = np.eye(6) + 0.3 * rng.standard_normal((6, 6))
    for mixing, strength in itertools.product((None, mixed), (0.1, 2.0, 20.0)):
        mask = np.arange(6) != 2
        penalty = penalties[name]().with_strength(strength)
        loss = table.loss(family)
        found = minimise_by_admm(loss, penalty, ridge=0.1, mixing=mixing, penalised=mask, tolerance=1e-8)
        peer = minimise(
            loss,
            linear=np.zeros(6),
            ridge=0.1,
            mixing=mixing,
            penalty=penalty,
            penalised=mask,
            tolerance=1e-9,
        )
        assert found.certified
        # The ridge makes the minimiser lie within residual / 0.1 of the coded point.
        np.testing.assert_allclose(found.theta, peer.theta, atol=1e-6)
        assert list(found.gamma != 0.0) == list(np.abs(peer.gamma) > 1e-6)


@pytest.mark.parametrize("name", FOLDED)
def test_a_point_is_stationary_on_its_support_and_off_it(name: str) -> None:
    """On 2000 rows of 20 columns; derivatives by differences, zeros by a grid, not by the package's prox."""
    table = Table(4, 2000, 20)
    for strength in (1.0, 5.0, 20.0):
        penalty = scaled(name, strength, table)
        found = minimise_by_admm(table.loss(), penalty)
        assert found.certified
        assert 0 < np.count_nonzero(found.gamma) < 20
        slope = table.score(found.theta)
        augmentation = default_augmentation(table.loss(), 0.0, np.eye(20), np.ones(20, np.bool_))
        kept = np.flatnonzero(found.gamma)
        for j in kept:
            left = slope[j] + one_sided(penalty, found.gamma, j)
            assert abs(left) < 1e-5  # central differences of the value are good to 1e-6
        grid = np.concatenate([np.geomspace(1e-6, 1e3, 4000), -np.geomspace(1e-6, 1e3, 4000)])
        for j in np.flatnonzero(found.gamma == 0.0):
            lifted = np.zeros((len(grid), 20))
            lifted[:, j] = grid
            gain = slope[j] * grid + 0.5 * augmentation * grid**2
            total = gain + penalty.values(lifted, np.full(len(grid), strength))
            assert total.min() >= 0.0  # zero minimises the model that the prox minimises


def one_sided(penalty: Penalty, gamma: FloatVector, j: int) -> float:
    step = np.zeros_like(gamma)
    step[j] = 1e-5 * abs(gamma[j])
    return (penalty.value(gamma + step) - penalty.value(gamma - step)) / (2.0 * step[j])


@pytest.mark.audit
@pytest.mark.parametrize("strength", [0.4, 1.5])
def test_l_half_against_all_stationary_points_of_tiny_problems(strength: float) -> None:
    """Three columns, 40 rows: supports, signs and starts enumerated, Newton on each, closed-form conditions.

    ADMM must end in a point of the list that meets the half-threshold's conditions at its step, and the two
    starts that a fit uses must find the global minimum in most problems; they need not in all.
    """
    best = 0
    for seed in range(8):
        table = Table(seed, 40, 3, truth=(6.0, -4.0, 1.0))
        points = enumerated(table, strength)
        c = default_augmentation(table.loss(), 0.0, np.eye(3), np.ones(3, np.bool_))
        stationary = [z for z in points if kept_by_half_threshold(table, z, strength, c)]
        found = minimise_by_admm(table.loss(), LHalf(strength), tolerance=1e-8)
        assert found.certified
        assert min(float(np.abs(found.gamma - z).max()) for z in stationary) < 1e-6
        release = ExactMinimiser(Binomial(), LHalf(strength / 40), np.eye(3), np.ones(3, np.bool_))
        whole = ExactAnswer.of(release.run(table, None, SeededNoise(0)), 3)
        least = min(objective(table, z, strength) for z in points)
        value = objective(table, whole.gamma, strength)
        assert value >= least - 1e-6  # the list holds the global minimum
        best += value <= least + 1e-6
    assert best >= 7


def objective(table: Table, z: FloatVector, strength: float) -> float:
    return table.value(z) + strength * float(np.sqrt(np.abs(z)).sum())


def enumerated(table: Table, strength: float) -> list[FloatVector]:
    """Local minimisers on each support and pattern of signs, from a grid of starts."""
    points = [np.zeros(3)]
    for signs in itertools.product((-1.0, 0.0, 1.0), repeat=3):
        used = np.flatnonzero(signs)
        if used.size == 0:
            continue
        for sizes in itertools.product((1.0, 6.0), repeat=used.size):
            z = np.zeros(3)
            z[used] = np.array(signs)[used] * sizes
            z = newton(table, z, used, strength)
            if z.any() and all(np.abs(z - other).max() > 1e-6 for other in points):
                points.append(z)
    return points


def newton(table: Table, z: FloatVector, used: np.ndarray, strength: float) -> FloatVector:
    """Descent to a local minimiser with these signs; zero where there is none."""
    signs = np.sign(z[used])
    for _ in range(500):
        size = np.abs(z[used])
        left = table.score(z)[used] + 0.5 * strength * signs / np.sqrt(size)
        curvature = table.curvature(z)[np.ix_(used, used)]
        whole = curvature - np.diag(0.25 * strength * size**-1.5)
        if np.abs(left).max() < 1e-10:
            return z if np.linalg.eigvalsh(whole)[0] > 0.0 else np.zeros(3)
        # Where the whole is not convex the loss alone gives a direction of descent.
        move = np.linalg.solve(whole if np.linalg.eigvalsh(whole)[0] > 1e-8 else curvature, -left)
        length, now = 1.0, objective(table, z, strength)
        while length > 1e-12:
            trial = z.copy()
            trial[used] += length * move
            same = bool((np.sign(trial[used]) == signs).all())
            if same and objective(table, trial, strength) <= now + 1e-4 * length * float(left @ move) + 1e-13:
                break
            length *= 0.5
        else:
            return np.zeros(3)
        z = trial
        if np.abs(z[used]).min() < 1e-9:  # on its way to a smaller support
            return np.zeros(3)
    return np.zeros(3)


def kept_by_half_threshold(table: Table, z: FloatVector, strength: float, c: float) -> bool:
    """Xu et al. (2012): zeros below 3/2 (s/c)^(2/3), the others beyond the jump (s/c)^(2/3)."""
    slope, jump = table.score(z), (strength / c) ** (2.0 / 3.0)
    zero = z == 0.0
    small = np.abs(slope[zero]) / c <= 1.5 * jump * (1.0 + 1e-9)
    return bool(small.all() and (np.abs(z[~zero]) >= jump * (1.0 - 1e-9)).all())


@pytest.mark.parametrize("name", ["l1", "l1/2", "scad", "mcp", "lq"])
def test_hard_tables_end_in_finite_points(name: str) -> None:
    """Separable, of one class, of equal columns, of zero rows only: with RIDGE as a fit has it."""
    table = Table(6, 60, 4, certain=True)
    tables: list[Callable[[Table], None]] = [
        lambda one: None,
        lambda one: one.y.fill(1.0),
        lambda one: one.X.__setitem__((slice(None), 1), one.X[:, 0]),
        lambda one: one.X.fill(0.0),
    ]
    for change in tables:
        one = table.part(slice(None))
        one.X, one.y = one.X.copy(), one.y.copy()
        change(one)
        penalty = penalties[name]().with_strength(0.5).with_scale(np.diagonal(one.curvature(np.zeros(4))))
        found = minimise_by_admm(one.loss(), penalty, ridge=1e-8)
        assert np.isfinite(found.gamma).all()
        assert found.certified


@pytest.mark.parametrize("penalty", ["l1", "l1/2", "scad"])
def test_with_nothing_to_select_the_intercept_is_the_log_odds(penalty: str) -> None:
    frame = pd.DataFrame({"y": ["no"] * 30 + ["yes"] * 10})
    found = dpglm.fit(
        "y ~ 1",
        frame,
        schema={"y": ["no", "yes"]},
        penalty=penalty,
        strength=0.1,
        privacy=None,
        progress=False,
    )
    np.testing.assert_allclose(found.params, [math.log(10 / 30)], rtol=1e-6)


def test_equal_columns_do_not_share_a_coefficient() -> None:
    """Half and half is a saddle: the l1/2 penalty of (b, 0) is less than that of (b / 2, b / 2)."""
    table = Table(8, 500, 3, truth=(6.0, 0.0, 2.0))
    table.X[:, 1] = table.X[:, 0]
    start = np.array([3.0, 3.0, 1.0])
    found = minimise_by_admm(table.loss(), LHalf(1.0), start=start)
    assert found.certified
    assert np.count_nonzero(found.gamma[:2]) == 1
    table.X, table.size = np.ascontiguousarray(table.X[:, [0, 2]]), 2
    alone = minimise_by_admm(table.loss(), LHalf(1.0), start=np.array([6.0, 1.0]))
    merged = np.array([found.gamma[:2].sum(), found.gamma[2]])
    # The curvature is above 1, so a residual of 1e-6 moves the point by less than that.
    np.testing.assert_allclose(merged, alone.gamma, atol=1e-6)


def chosen_by_cross_validation(table: Table, name: str, mask: BoolVector) -> ExactAnswer:
    release = ExactMinimiser(Binomial(), penalties[name](), np.eye(table.size), mask, folds=5, strengths=20)
    return ExactAnswer.of(release.run(table, None, SeededNoise(0)), table.size)


@pytest.mark.audit
def test_lha_is_sparser_than_lla_and_no_worse_on_the_simulation_of_the_paper() -> None:
    """10,000 rows of 100 columns, 1,000 to test on, responses certain as in the paper; strengths by 5 folds.

    The seed is fixed. No worse: by less than one standard error of the difference in misclassified rows.
    """
    table = Table(7, 11_000, 100, certain=True)
    train, test = table.part(slice(0, 10_000)), table.part(slice(10_000, None))
    mask = np.ones(100, np.bool_)
    lla, lha = (chosen_by_cross_validation(train, name, mask) for name in ("l1", "l1/2"))
    wrong = [(test.X.astype(float) @ one.theta >= 0.0) != (test.y > 0.5) for one in (lla, lha)]
    counts = [np.count_nonzero(one.gamma) for one in (lla, lha)]
    assert counts[1] < counts[0]
    assert set(np.flatnonzero(lha.gamma)) <= set(range(8))
    assert set(range(7)) <= set(np.flatnonzero(lha.gamma))
    differ = float(np.count_nonzero(wrong[0] != wrong[1]))
    assert float(wrong[1].sum()) - float(wrong[0].sum()) <= np.sqrt(differ)
    assert lha.residual <= 1e-6
