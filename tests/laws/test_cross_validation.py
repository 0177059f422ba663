"""The strength of an exact fit is the one that a plain loop over folds and strengths finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms import exact
from dpglm.mechanisms.exact import ExactAnswer, ExactMinimiser
from dpglm.mechanisms.folds import held_out_losses
from dpglm.mechanisms.noise import SeededNoise
from dpglm.rows import ArrayChunk
from dpglm.typing import FloatMatrix, FloatVector

FAMILY = families["binomial"]()
SIZE, COUNT, FOLDS, STRENGTHS = 4, 240, 3, 12
MIXING = np.eye(SIZE) + 0.2 * np.eye(SIZE, k=1)


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


class Many(Table):
    """Many rows with offsets and weights, in blocks that no fold divides."""

    def __init__(self, family: str) -> None:
        rng = np.random.default_rng(5)
        X = np.vstack([np.full(1600, 0.5), rng.uniform(-0.5, 0.5, (SIZE - 1, 1600))])
        self.offset, self.weight = rng.uniform(-0.2, 0.2, 1600), rng.uniform(0.2, 1.0, 1600)
        eta = 0.4 + 1.5 * X[1] - 0.6 * X[2] + self.offset
        y = {
            "gaussian": eta + rng.normal(size=1600),
            "poisson": np.minimum(rng.poisson(np.exp(eta)), families["poisson"]().bound),
        }.get(family, (eta > rng.logistic(size=1600)).astype(float))
        super().__init__(X.astype(np.float32).astype(float), y)

    def chunks(self) -> list[ArrayChunk]:
        parts = (slice(0, 700), slice(700, 1301), slice(1301, None))
        return [
            ArrayChunk(
                np.ascontiguousarray(self.X[:, part], dtype=np.float32),
                self.y[part],
                self.offset[part],
                self.weight[part],
            )
            for part in parts
        ]


@pytest.mark.parametrize("family", ["binomial", "gaussian", "poisson", "huber_svm", "softplus_hinge"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net"])
def test_folds_side_by_side_lose_what_each_alone_loses(
    family: str, penalty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses are those of exact fits to all folds but one, to a hundredth of their standard error.

    The strength is the same, and so is the fit there, to the last bit.
    """
    rows = Many(family)
    asked = replace(
        release(1.0, FOLDS), family=families[family](), penalty=penalties[penalty](), mixing=MIXING
    )
    together = ExactAnswer.of(asked.run(rows, None, SeededNoise(0)), SIZE)
    found: list[float] = []

    def none(*arguments: Any) -> tuple[FloatMatrix, None]:
        found.append(np.isfinite(held_out_losses(*arguments)[0]).mean())
        return np.full((FOLDS, len(arguments[3])), np.nan), None

    monkeypatch.setattr(exact, "held_out_losses", none)
    monkeypatch.setattr(exact, "_FOLDS", 1e-10)
    apart = ExactAnswer.of(asked.run(rows, None, SeededNoise(0)), SIZE)
    assert np.abs(together.losses - apart.losses).max() <= 0.01 * apart.errors.min()
    np.testing.assert_allclose(together.errors, apart.errors, rtol=0.01)
    assert (together.strength, together.theta.tolist()) == (apart.strength, apart.theta.tolist())
    np.testing.assert_allclose(together.gammas, apart.gammas, atol=1e-4)
    assert found[0] > 0.9
