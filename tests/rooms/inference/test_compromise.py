"""Coefficients without a standard error: between the prior, the minimiser and the linear model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.span import Span
from dpglm.typing import FloatMatrix, FloatVector
from studies.paired import auc

CENTRE, RIDGE, SCALE = np.array([0.4, -1.0, 0.2]), np.array([0.5, 2.0, 2.0]), 3.0


def slope(start: int, prior: float) -> TermColumns:
    return TermColumns(f"x{start}", "slope", start, start + 1, 1.0, np.ones((1, 1)), np.array([prior]))


def model(information: FloatMatrix, noise: float, score: FloatVector = RIDGE * CENTRE) -> LinearModel:
    terms = tuple(slope(place, prior) for place, prior in enumerate((2.0, 1.0, 5.0)))
    return LinearModel(
        ScoreAndInformation(
            terms,
            CENTRE,
            score,
            information,
            SCALE,
            noise,
            1.0,
            SCALE**2 / RIDGE**2,
            third_derivative_bound=1.0,
        )
    )


def test_where_noise_hides_the_information_it_is_the_minimiser_drawn_towards_zero() -> None:
    found = model(np.zeros((3, 3)), 1e9).compromise
    prior = np.array([2.0, 1.0, 5.0]) ** 2
    gap = np.minimum(prior, SCALE**2 / RIDGE**2)
    np.testing.assert_allclose(found, prior / (prior + gap) * CENTRE, rtol=1e-6)


def test_a_second_score_moves_the_minimiser_to_where_their_mean_is_zero() -> None:
    """By the information where it is told, and by the ridge alone where it is hidden."""
    both = RIDGE * CENTRE + np.array([1.0, -2.0, 3.0])
    for information in (np.zeros((3, 3)), np.diag([40.0, 30.0, 20.0])):
        one = model(information, 1e-3, both)
        pooled = LinearModel(replace(one.released, ridge=RIDGE))
        expected = CENTRE + np.linalg.solve(information + np.diag(RIDGE), both - RIDGE * CENTRE)
        np.testing.assert_allclose(pooled.minimiser, expected, rtol=1e-6)
        np.testing.assert_array_equal(one.minimiser, CENTRE)
        assert one.released.own_ridge is None  # a score that is no ridge times t: of something else
        np.testing.assert_array_equal(one.compromise, one.mean)
        assert pooled.released.own_ridge is RIDGE
    hidden = LinearModel(replace(model(np.zeros((3, 3)), 1e9, both).released, ridge=RIDGE))
    gap = np.minimum(hidden.released.prior_variance, SCALE**2 / RIDGE**2)
    drawn = hidden.released.prior_variance / (hidden.released.prior_variance + gap)
    np.testing.assert_allclose(hidden.compromise, drawn * both / RIDGE, rtol=1e-6)


def test_where_the_information_tells_all_it_is_the_posterior_mean() -> None:
    known = model(1e7 * np.diag([1.0, 2.0, 3.0]), 1e-3)
    np.testing.assert_allclose(known.compromise, known.mean, rtol=1e-5)
    np.testing.assert_allclose(known.compromise, CENTRE, rtol=1e-3)


@pytest.mark.parametrize("noise", [0.1, 2.0, 10.0])
def test_it_is_the_mean_of_the_prior_given_both_reports(noise: float) -> None:
    """Bayes in one step of six equations, instead of two steps of three; of a matrix less its noise."""
    information = np.array([[40.0, 5.0, 1.0], [5.0, 30.0, 2.0], [1.0, 2.0, 20.0]])
    one = model(information, noise)
    apart, share = one.released.apart
    assert (share > 0.99, share == 0.0) == (noise == 0.1, noise == 10.0)
    released, one = one.released, model(apart + share * (information - apart), share * noise)
    gap = np.minimum(released.prior_variance, released.initial_variance)
    design = np.vstack([np.eye(3), one.design])
    errors = np.zeros((6, 6))
    errors[:3, :3], errors[3:, 3:] = np.diag(gap), one.omega
    weights = design.T @ np.linalg.inv(errors)
    precision = weights @ design + np.diag(1.0 / released.prior_variance)
    expected = np.linalg.solve(precision, weights @ np.concatenate([CENTRE, one.response]))
    np.testing.assert_allclose(LinearModel(released).compromise, expected, rtol=1e-9)


def test_independent_terms_share_the_information_by_their_lengths() -> None:
    """And what noise alone explains of the distance to them is its variance in all entries that are free."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.normal(size=200).clip(-4, 4), "y": random.integers(0, 2, 200)})
    frame = frame.assign(g=random.choice(list("abcd"), 200), h=random.choice(["m", "n"], 200))
    schema = {"x": (-4, 4), "g": list("abcd"), "h": ["m", "n"], "y": [0, 1]}
    fit = dpglm.fit("y ~ x + g + h", frame, schema=schema, privacy=(1.0, 1e-6), seed=1, progress=False)
    other = random.normal(size=(6, 6))
    information, scale = 50.0 * np.eye(6) + other + other.T, 0.5
    released = replace(fit._record.released, information=information, information_scale=scale)
    apart, share = released.apart
    assert np.trace(apart) == pytest.approx(np.trace(information))
    assert np.all(apart == np.diag(np.diag(apart)))
    explained = (1.0 - share) * ((information - apart) ** 2).sum()
    assert explained == pytest.approx(Span(released.term_columns).dimension * scale**2)
    exact = replace(released, information_scale=0.0)
    assert exact.apart[1] == 1.0


def test_releases_without_a_minimiser_have_the_posterior_mean() -> None:
    one = model(30.0 * np.eye(3), 1.0, score=np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(one.compromise, one.mean)


def test_a_fit_that_tells_about_nothing_still_predicts() -> None:
    """Areas under the ROC curve of the same releases, 400 rows of 20 columns that say much the same.

    Of 40 fits the means are .838 and, by the posterior mean, .798; the difference has an error of .017.
    Of other seeds chance would fail this once in a hundred times.
    """
    random = np.random.default_rng(8)
    common = random.normal(size=1400)
    X = np.clip(0.9 * common[:, None] + 0.45 * random.normal(size=(1400, 20)), -4.0, 4.0)
    names = [f"x{place}" for place in range(20)]
    ill = random.random(1400) < 1.0 / (1.0 + np.exp(-2.5 * common))
    frame, rest = pd.DataFrame(X, columns=names).assign(ill=ill.astype(int)), slice(400, None)
    schema = {**dict.fromkeys(names, (-10, 10)), "ill": [0, 1]}
    areas = []
    for seed in range(40):
        asked = {"schema": schema, "privacy": (1.0, 1e-6), "seed": seed, "progress": False}
        fit = dpglm.fit("ill ~ " + " + ".join(names), frame[:400], **asked)
        assert not fit.tidy()["reliable"].any()
        record = fit._record
        mean = record.user_from_coded @ record.contrasts.model.mean
        areas.append((fit.auc(frame[rest]), auc(ill[rest], X[rest] @ mean[1:])))
    own, others = np.mean(areas, axis=0)
    assert own > others
