"""Which coefficients have a standard error, and the prior scales that this rests on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import dpglm
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import CURVED, LINEAR, WIDEST, Contrasts, interval_decisions
from dpglm.inference.interval_model import with_own_scales
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import OWN_SCALE, ScoreAndInformation
from dpglm.typing import FloatMatrix, FloatVector


def model(
    information: FloatMatrix, *, noise: float, centre: FloatVector, score: FloatVector, curved: bool = False
) -> LinearModel:
    """Of slopes alone, with a prior scale of 1."""
    terms = tuple(
        TermColumns(f"x{k}", "slope", k, k + 1, 1.0, np.ones((1, 1)), np.ones(1)) for k in range(len(centre))
    )
    numbers = centre, score, information, 1.0, noise, 1.0, np.ones(len(centre)), float(curved)
    return LinearModel(ScoreAndInformation(terms, *numbers))


def told(linear: LinearModel) -> bool:
    one, *_ = interval_decisions(Contrasts(linear, np.eye(linear.released.size)))
    return one.reported


def test_models_with_a_curvature_tell_what_a_linear_regression_does_not() -> None:
    """Of two columns that say nearly the same, half of the variance is the prior of the other one."""
    alike, zero = np.array([[60.0, 59.4], [59.4, 60.0]]), np.zeros(2)
    told_by = []
    for curved in (False, True):
        one = model(alike, noise=0.3, centre=zero, score=zero, curved=curved)
        first, second = one.released.term_columns
        terms = replace(first, prior=np.array([2.0])), second
        contrasts = Contrasts(one.like(replace(one.released, term_columns=terms)), np.eye(2))
        share = contrasts.first_order[0, 3] / contrasts.linear_variances[0]
        assert LINEAR.adjustment < share < CURVED.adjustment
        told_by.append(interval_decisions(contrasts)[0].reported)
    assert told_by == [False, True]


def test_a_scale_that_grew_beyond_reason_tells_nothing() -> None:
    """Of an estimate that is noise a scale grows with it, and its standard error is a part of that scale."""
    numbers = model(np.eye(1), noise=0.02, centre=np.zeros(1), score=np.zeros(1), curved=True)
    (term,) = numbers.released.term_columns
    grown = replace(numbers.released, term_columns=(replace(term, prior=np.array([100.0])),), score_scale=5.0)
    free = numbers.like(grown, np.zeros((1, 1)))
    held = numbers.like(grown, np.zeros((1, 1)), usual_variance=np.ones(1))
    error = float(Contrasts(held, np.eye(1)).deviations[0])
    assert WIDEST < error < CURVED.share_of_scale * 100.0
    assert (told(free), told(held)) == (True, False)


def test_scales_of_a_linear_regression_grow_where_effects_cancel() -> None:
    """A first point that priors drew to 0 shows no effects, and one step from it does."""
    alike = 100.0 * np.array([[1.0, 0.9], [0.9, 1.0]])
    truth = np.array([3.0, -3.0])
    drawn = np.array([0.2, -0.1])
    for scale, grows in ((1.0, True), (0.1, False)):
        effects = scale * truth
        one = model(alike, noise=0.5, centre=drawn, score=alike @ (effects - drawn))
        scales = np.sqrt(with_own_scales(one).prior_variance)
        if grows:
            assert np.all(scales > 0.9 * OWN_SCALE * np.abs(effects))
        else:
            np.testing.assert_array_equal(scales, 1.0)


def test_effects_that_cancel_in_a_linear_regression_are_covered_where_they_are_told() -> None:
    """Eight numbers, each correlated .95 with the next, slopes of 1.1 residual deviations, in turns + and -.

    Over fits the share that is covered has a standard deviation of .11, and a mean of .95 in 60 fits. With
    scales that do not grow it was .65, give or take .34: of 30 fits that passes with a probability of .002.
    """
    random = np.random.default_rng(33)
    near = 0.95 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    X = np.clip(random.normal(size=(10_000, 8)) @ np.linalg.cholesky(near).T, -5.0, 5.0)
    slopes = 1.1 * (-1.0) ** np.arange(8)
    names = [f"x{place}" for place in range(8)]
    frame, schema = pd.DataFrame(X, columns=names), {**dict.fromkeys(names, (-5, 5)), "y": (-30.0, 30.0)}
    privacy = dpglm.Privacy(4.0, 1e-6, relation="replace-one")
    shares = []
    for seed in range(30):
        y = np.clip(X @ slopes + np.random.default_rng([seed, 5]).normal(size=len(X)), -30.0, 30.0)
        asked = {"schema": schema, "family": "gaussian", "privacy": privacy, "seed": seed, "progress": False}
        rows = dpglm.fit("y ~ " + " + ".join(names), frame.assign(y=y), **asked).tidy().iloc[1:]
        reliable = rows["reliable"].to_numpy()
        covered = ((rows["conf_low"] < slopes) & (rows["conf_high"] > slopes)).to_numpy()
        if reliable.any():
            shares.append(covered[reliable].mean())
    assert len(shares) > 15
    assert np.mean(shares) > 0.85


def test_a_cubic_far_from_zero_is_told_and_covered() -> None:
    """Powers of an age repeat each other, and in them coefficients are large and cancel.

    In 30 fits all coefficients were told and all were covered; coded as numbers of their own, .06 and .00.
    """
    random = np.random.default_rng(3)
    age = np.clip(random.normal(50.0, 12.0, 20_000), 20.0, 80.0)
    curve = np.polynomial.Polynomial([0.0, 1.0, -2.0, -2.0])(
        np.polynomial.Polynomial([-50.0 / 30.0, 1.0 / 30.0])
    )
    chance, privacy = 1.0 / (1.0 + np.exp(-curve(age))), dpglm.Privacy(0.5, 1e-6, relation="replace-one")
    schema = {"age": (20, 80), "y": [0, 1]}
    reliable, covered = [], []
    for seed in range(10):
        y = (np.random.default_rng([seed, 9]).random(len(age)) < chance).astype(int)
        asked = {"schema": schema, "privacy": privacy, "seed": seed, "progress": False}
        frame = pd.DataFrame({"age": age, "y": y})
        rows = dpglm.fit("y ~ age + I(age ** 2) + I(age ** 3)", frame, **asked).tidy()
        reliable.append(rows["reliable"].to_numpy())
        covered.append(((rows["conf_low"] < curve.coef) & (rows["conf_high"] > curve.coef)).to_numpy())
    assert np.mean(reliable) > 0.9
    assert np.mean(np.array(covered)[np.array(reliable)]) > 0.8
