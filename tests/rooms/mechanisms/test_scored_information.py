"""A score and an information in one vector: what it sums, and how far a row moves both."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpglm.errors import MethodError
from dpglm.glm.families import Binomial, families
from dpglm.glm.families.binomial import ShiftedBinomial, SteepBinomial
from dpglm.mechanisms.information import Information, information_sensitivity, largest_change
from dpglm.mechanisms.noise import SeededNoise
from dpglm.privacy.budget import STEPS, Relation
from dpglm.typing import FloatMatrix, FloatVector
from tests.rooms.mechanisms.test_curvature import COUNTS, Empty, Table, free, release, tied

LOSSES = [Binomial(), SteepBinomial(2.0), SteepBinomial(4.0), ShiftedBinomial()]
RELATIONS: list[Relation] = ["add-remove", "replace-one"]
WEIGHTS = [0.05, 0.177, 0.25, 0.3, 0.4, 1.0]


def test_the_score_is_behind_the_matrix_times_its_weight() -> None:
    table, at = Table(), np.array([0.3, -1.0, 2.0, 0.0])
    answer = release(score_weight=0.25).run(table, at, SeededNoise(1))
    np.testing.assert_allclose(answer[:16], release().run(table, at, SeededNoise(1)), atol=1e-10)
    expected = np.zeros(4)
    for chunk in table.chunks():
        X = chunk.X.astype(float)
        assert chunk.offset is not None
        expected += X @ Binomial().slope(at @ X + chunk.offset, chunk.y)
    np.testing.assert_allclose(answer[16:], 0.25 * expected, atol=1e-9)


@pytest.mark.parametrize("span", [free(3), tied()], ids=["free", "tied"])
def test_matrix_and_score_have_noise_of_one_scale(span: object) -> None:
    """Each of four mean squares of 6,000 numbers or more is within 6 %: by chance outside once in 10^3."""
    drawn, noise = release(2.0, span=span, score_weight=0.3), SeededNoise(3)  # type: ignore[arg-type]
    draws = np.array([drawn.run(Empty(3), np.zeros(3), noise) for _ in range(2000)]) / 2.0
    assert np.square(draws[:, 9:]).mean() == pytest.approx(1.0, abs=0.06)
    inside = np.square(draws[:, :9]).sum(axis=1).mean() / drawn.span.dimension
    assert inside == pytest.approx(1.0, abs=0.06)
    assert abs(np.corrcoef(draws[:, 0], draws[:, 9])[0, 1]) < 0.1


def moved(loss: Binomial, weight: float, rows: FloatMatrix, eta: FloatVector, y: FloatVector) -> FloatMatrix:
    """What rows of norm 1, shape (n, 2), add: products in orthonormal coordinates, and the score."""
    information, slope = loss.information(eta, y)[:, None], loss.slope(eta, y)[:, None]
    products = np.stack([rows[:, 0] ** 2, rows[:, 1] ** 2, np.sqrt(2.0) * rows[:, 0] * rows[:, 1]], axis=1)
    return np.hstack([information * products, weight * slope * rows])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_row_moves_both_further_and_some_nearly_do(
    loss: Binomial, weight: float, relation: Relation
) -> None:
    """Of 200,000 rows, or pairs, none exceeds the bound, and one comes within 2 % of it."""
    rng, count = np.random.default_rng(5), 200_000
    bound = largest_change(weight, loss.steepness, relation)

    def some() -> FloatMatrix:
        # Predictors far out on the wrong side have the largest slopes, those near even odds most information.
        eta = rng.choice([0.0, 30.0], count, p=[0.7, 0.3]) + rng.uniform(-3.0, 3.0, count)
        angle, y = rng.uniform(0.0, np.pi, count), rng.integers(0, 2, count).astype(np.float64)
        return moved(loss, weight, np.stack([np.cos(angle), np.sin(angle)], axis=1), eta, y)

    change = some() if relation == "add-remove" else some() - some()
    largest = float(np.linalg.norm(change, axis=1).max())
    assert largest <= bound
    if not isinstance(loss, ShiftedBinomial):  # its rows are on the wrong side of 2, not of 0: also exact
        assert largest >= 0.97 * bound


def test_without_a_weight_the_bound_is_that_of_the_information() -> None:
    for relation in RELATIONS:
        plain = information_sensitivity(0.25, relation)
        assert plain <= largest_change(1e-9, 1.0, relation) <= 1.01 * plain


def test_both_cost_little_more_than_one() -> None:
    """At the weight of plans a logistic score and information keep .77 of their precisions, or more."""
    for relation, steps in STEPS.items():
        weight = Binomial().score_weight / math.sqrt(steps)
        bound = largest_change(weight, 1.0, relation)
        assert (information_sensitivity(0.25, relation) / bound) ** 2 > 0.77
        assert (steps * weight / bound) ** 2 > 0.77


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("steepness", [1.0, 2.0, 4.0])
def test_the_worst_case_attains_the_bound(steepness: float, relation: Relation) -> None:
    family = SteepBinomial(steepness) if steepness > 1.0 else Binomial()
    drawn = release(family=family, span=free(2), score_weight=0.2)
    worst, parts = drawn.worst_case(relation, 2), []
    for rows in (worst.first, worst.second):
        parts.append(drawn.run(_Rows(rows), worst.at, SeededNoise(1)))
    change = parts[0] - parts[1]
    assert np.linalg.norm(change) == pytest.approx(drawn.sensitivity(relation), rel=0.006)
    assert change @ worst.direction == pytest.approx(np.linalg.norm(change), rel=1e-6)


class _Rows(Empty):
    def __init__(self, chunk: object) -> None:
        super().__init__(2)
        self._chunk = chunk

    def chunks(self) -> list[object]:  # type: ignore[override]
        return [self._chunk]


def test_a_steeper_loss_costs_no_more_and_has_the_same_answer() -> None:
    first = release(scale=3.0, score_weight=0.25)
    for steepness in (2.0, 4.0):
        other = first.steeper(steepness)
        for relation in RELATIONS:
            ((_, event),), ((_, dearest),) = other.events(relation), first.events(relation)
            assert event.mu <= dearest.mu  # type: ignore[union-attr]
        assert other.score_weight == pytest.approx(SteepBinomial(steepness).score_weight)
        assert len(other.run(Empty(4), np.zeros(4), SeededNoise(1))) == 20


def test_two_scores_are_averaged_by_their_precisions() -> None:
    drawn = release(scale=2.0, score_weight=0.25)  # its score has noise of 8
    share, deviation = drawn.pooled(6.0)
    assert (share, deviation) == (pytest.approx(0.36), pytest.approx(4.8))
    assert release(scale=2.0).pooled(6.0) == (0.0, 6.0)


def test_a_score_beside_counts_or_squared_slopes_is_refused() -> None:
    for family, what in ((COUNTS, "curvature"), (families["binomial"](), "score")):
        with pytest.raises(MethodError, match="a score beside"):
            Information(family, 1.0, "gaussian", free(2), what, 0.2)  # type: ignore[arg-type]
    with pytest.raises(MethodError):
        release(score_weight=-0.2)
