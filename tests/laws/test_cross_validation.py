"""The strength of an exact fit is the one that a plain loop over folds and strengths finds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.exact import ExactMinimiser
from dpglm.mechanisms.noise import SeededNoise
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector

FAMILY = families["binomial"]()
SIZE, COUNT, FOLDS, STRENGTHS = 4, 240, 3, 12


class Table:
    """Rows in two blocks."""

    size = SIZE

    def __init__(self, X: FloatMatrix, y: FloatVector) -> None:
        self.X, self.y = X, y

    def chunks(self) -> list[ArrayChunk]:
        parts = (slice(0, 100), slice(100, None))
        return [
            ArrayChunk(np.ascontiguousarray(self.X[:, part], dtype=np.float32), self.y[part], None)
            for part in parts
        ]

    def row_count(self) -> int:
        return len(self.y)


def table() -> Table:
    rng = np.random.default_rng(4)
    X = np.vstack([np.full(COUNT, 0.5), rng.uniform(-0.5, 0.5, (SIZE - 1, COUNT))])
    chance = 1.0 / (1.0 + np.exp(-(0.4 + 5.0 * X[1] - 2.0 * X[2])))
    return Table(X.astype(np.float32).astype(float), (rng.uniform(size=COUNT) < chance).astype(float))


def release(strength: float, folds: int | None = None) -> ExactMinimiser:
    return ExactMinimiser(
        family=FAMILY,
        penalty=penalties["l1"]().with_strength(strength),
        mixing=np.eye(SIZE),
        penalised=np.arange(SIZE) > 0,
        folds=folds,
        strengths=STRENGTHS,
    )


def fitted(rows: Table, strength: float, folds: int | None = None) -> FloatVector:
    return release(strength, folds).run(rows, None, SeededNoise(0))


def mean_score(rows: Table, theta: FloatVector) -> FloatVector:
    return np.asarray(rows.X @ FAMILY.slope(theta @ rows.X, rows.y) / len(rows.y), dtype=np.float64)


def test_strengths_are_per_row() -> None:
    """The mean score is the strength where a coefficient is not 0, and no more where it is."""
    rows, strength = table(), 0.03
    theta = fitted(rows, strength)[:SIZE]
    score = mean_score(rows, theta)
    kept = np.flatnonzero(theta[1:]) + 1
    assert 0 < len(kept) < SIZE - 1
    np.testing.assert_allclose(score[kept], -strength * np.sign(theta[kept]), atol=1e-7)
    assert np.all(np.abs(score[1:]) <= strength + 1e-7)
    assert abs(score[0]) < 1e-7


@pytest.mark.slow
def test_the_strength_is_the_largest_within_one_standard_error() -> None:
    rows = table()
    # The path starts where nothing but the intercept is left.
    alone = np.array([2.0 * np.log(rows.y.mean() / (1.0 - rows.y.mean())), 0.0, 0.0, 0.0])
    top = float(np.abs(mean_score(rows, alone))[1:].max())
    path = np.geomspace(top, top * 1e-3, STRENGTHS)
    losses = np.empty((FOLDS, STRENGTHS))
    for fold in range(FOLDS):
        held = np.arange(COUNT) % FOLDS == fold
        train = Table(rows.X[:, ~held], rows.y[~held])
        for step, strength in enumerate(path):
            eta = fitted(train, strength)[:SIZE] @ rows.X[:, held]
            losses[fold, step] = FAMILY.loss(eta, rows.y[held]).mean()
    mean = losses.mean(axis=0)
    error = losses.std(axis=0, ddof=1) / np.sqrt(FOLDS)
    best = int(np.argmin(mean))
    chosen = int(np.argmax(mean <= mean[best] + error[best]))
    assert 0 < chosen < best  # the rule has something to decide
    found = fitted(rows, 1.0, FOLDS)
    assert found[SIZE] == pytest.approx(path[chosen], rel=1e-5)
    np.testing.assert_allclose(found[:SIZE], fitted(rows, found[SIZE])[:SIZE], atol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_ridge_without_privacy_does_not_depend_on_declared_ranges(family: str) -> None:
    """Strengths follow the curvature of each column: a range ten times as wide is the same ridge regression.

    Where they followed the gradient, the weakest of them left .16 of the variance explained, for .91.
    """
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 4))
    signal = X @ [1.0, -1.0, 0.5, 0.0]
    y = signal + 0.5 * random.normal(size=300) if family == "gaussian" else signal > random.logistic(size=300)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y * 1.0)
    answers = []
    for bound in (5, 50):
        schema = {
            **dict.fromkeys("abcd", (-bound, bound)),
            "y": (-10, 10) if family == "gaussian" else [0, 1],
        }
        fit = dpglm.fit(
            "y ~ a + b + c + d",
            frame,
            schema=schema,
            family=family,
            penalty="l2",
            goal="predict",
            privacy=None,
        )
        answers.append(fit.predict(frame))
    np.testing.assert_allclose(answers[0], answers[1], atol=0.02 * np.ptp(answers[0]))
    assert np.corrcoef(answers[1], signal)[0, 1] > 0.97
    # What one standard error of the held-out loss allows to take.
    assert 1.0 < np.polyfit(answers[1], frame["y"], 1)[0] < 2.0
