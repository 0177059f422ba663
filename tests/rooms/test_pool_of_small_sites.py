"""Pools of sites so small that noise hides the information of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import dpglm
from dpglm.inference.interval_model import secant_design
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.pooled_model import (
    LEAST_CLEAR,
    LEAST_CLEAR_APART,
    LEAST_CLEAR_COUNTS,
    PooledModel,
    SiteRelease,
    as_released,
    pooled_model,
)
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.inference.shared_information import SharedInformation
from dpglm.postprocessing.site_pool import reference
from dpglm.typing import FloatMatrix, FloatVector
from tests.rooms.test_pool import FORMULA, NAMES, TRUTH, three

LEVELS = ("a", "b", "c", "d")


def correlated(seed: int) -> pd.DataFrame:
    """300 rows of five numbers, of which the first two are correlated .6."""
    random = np.random.default_rng([9, seed])
    numbers = random.normal(size=(300, 5))
    numbers[:, 1] = 0.6 * numbers[:, 0] + 0.8 * numbers[:, 1]
    numbers = numbers.clip(-5.0, 5.0)
    chance = expit(TRUTH[0] + numbers @ TRUTH[1:])
    return pd.DataFrame(numbers, columns=NAMES).assign(y=(random.random(300) < chance).astype(int))


@cache
def small_sites(epsilon: float, sites: int = 30) -> dpglm.FitResult:
    schema = dpglm.Schema.of({"y": [0, 1], **dict.fromkeys(NAMES, (-5.0, 5.0))})
    budget = dpglm.Privacy(epsilon, 1e-6, relation="add-remove")
    fits = [
        dpglm.fit(FORMULA, correlated(seed), schema=schema, privacy=budget, seed=seed, progress=False)
        for seed in range(sites)
    ]
    return dpglm.pool(fits)


@cache
def with_levels() -> dpglm.FitResult:
    random = np.random.default_rng(3)
    table = pd.DataFrame({"x": random.normal(size=400).clip(-3, 3), "g": random.choice(LEVELS, 400)})
    schema = dpglm.Schema.of({"y": [0, 1], "x": (-3.0, 3.0), "g": list(LEVELS)})
    return dpglm.fit("y ~ g + x", table.assign(y=random.choice(2, 400)), schema=schema, privacy=1.0, seed=1)


def simulated(
    count: int, scale: float, *, points: float, unlike: float = 0.0
) -> tuple[SharedInformation, list[FloatMatrix], list[FloatMatrix]]:
    """Logistic sites with scattered t: what they share, their exact information, and that on the way to 0."""
    record = three()["north"]._record
    assert record.released is not None
    random = np.random.default_rng(11)
    releases, exact, ways = [], [], []
    for site in range(count):
        constant = np.full((300, 1), record.released.term_columns[0].table[0, 0])
        coded = np.hstack([constant, random.normal(size=(300, 5)) * 0.3 * (1.0 + unlike * (site % 2))])
        t = points * random.normal(size=6)
        chance = expit(coded @ t)
        exact.append((coded.T * (chance * (1.0 - chance))) @ coded)
        ways.append((coded.T * ((chance - 0.5) / (coded @ t))) @ coded)
        noise = scale * random.normal(size=(6, 6))
        releases.append(
            dataclasses.replace(
                record.released,
                centre=t,
                information=exact[-1] + (noise + noise.T) / 2.0 + np.diag(np.diag(noise)) * (np.sqrt(2) - 1),
                information_scale=scale * np.sqrt(2.0),
                score_scale=1e-9,
            )
        )
    sites = [SiteRelease(each, np.eye(6)) for each in releases]
    own = reference(record.released.term_columns, np.eye(6), sites)
    models = [as_released(each) for each in releases]
    links = [np.eye(6)] * count
    return SharedInformation(own, models, links, [each.centre for each in releases]), exact, ways


def wrong_on_the_way(models: Sequence[LinearModel], ways: Sequence[FloatMatrix]) -> FloatVector:
    """By how much the scores of sites would seem to fall too fast from t to 0, on average, shape (p,)."""
    pairs = zip(models, ways, strict=True)
    return np.mean(
        [(secant_design(m, -m.released.centre) - way) @ m.released.centre for m, way in pairs], axis=0
    )


def test_small_sites_tell_together_what_none_tells_alone() -> None:
    """They were drawn to zero, and told: 1 and -.8 to .58 and -.36, five and seven standard errors away."""
    table = small_sites(1.0, 100).tidy()
    assert table["reliable"].all()
    off = np.abs(table["estimate"] - TRUTH) / table["std_error"]
    assert off.max() < 3.5  # of six, by chance once in 360 such tests


def test_sites_whose_information_is_next_to_nothing_tell_nothing_together() -> None:
    table = small_sites(0.3).tidy()
    assert not table["reliable"].any()
    assert table["reason"].str.startswith("noise hides").all()
    assert ((table["conf_low"] < TRUTH) & (table["conf_high"] > TRUTH)).all()


def test_the_same_sites_with_less_noise_tell_of_all_coefficients() -> None:
    table = small_sites(6.0).tidy()
    assert table["reliable"].all()
    off = np.abs(table["estimate"] - TRUTH) / table["std_error"]
    assert off.max() < 4.0  # of six, by chance once in 2,600 such tests


def model_of(released: ScoreAndInformation, between: FloatMatrix | None = None) -> PooledModel:
    sites = [SiteRelease(released, np.eye(released.size))] * 3
    own = reference(released.term_columns, np.eye(released.size), sites)
    model = pooled_model(own, np.eye(released.size), sites, between)
    assert isinstance(model, PooledModel)
    return model


def test_own_coefficients_and_counts_need_clearer_sites() -> None:
    released = three()["north"]._record.released
    assert released is not None
    assert model_of(released).clarity == pytest.approx(released.clarity / LEAST_CLEAR)
    apart = model_of(released, 0.1 * np.eye(released.size))
    assert apart.clarity == pytest.approx(released.clarity / LEAST_CLEAR_APART)
    linear = dataclasses.replace(released, logistic=False, third_derivative_bound=0.0)
    assert model_of(linear, 0.1 * np.eye(6)).clarity == pytest.approx(released.clarity / LEAST_CLEAR)
    counts = dataclasses.replace(released, logistic=False, exponential=True)
    assert model_of(counts).clarity == pytest.approx(released.clarity / LEAST_CLEAR_COUNTS)
    assert dataclasses.replace(released, score_scale=0.0, information_scale=0.0).clarity == np.inf


def test_what_sites_share_is_their_information_at_their_own_points() -> None:
    """300 sites whose matrices are mostly noise, at points far from each other."""
    shared, exact, ways = simulated(300, 3.0, points=1.5)
    scale = np.sqrt(np.outer(*[np.diag(np.mean(exact, axis=0))] * 2))
    believed = [model.design for model in shared.believed]
    assert (np.abs(np.mean(believed, axis=0) - np.mean(exact, axis=0)) < 0.1 * scale).all()
    errors = [np.abs(one - other).mean() for one, other in zip(believed, exact, strict=True)]
    noise = [np.abs(m.design - other).mean() for m, other in zip(shared.models, exact, strict=True)]
    assert np.mean(errors) < 0.3 * np.mean(noise)
    # And so is what it becomes on the way to where all have the same coefficients; from a matrix that is
    # mostly noise that comes out wrong alike at all of them.
    limit = 0.2 * np.diag(np.mean(exact, axis=0)).min()
    assert np.abs(wrong_on_the_way(shared.believed, ways)).max() < limit
    assert np.abs(wrong_on_the_way(shared.models, ways)).max() > 10.0 * limit


def test_without_noise_each_site_has_its_own_information() -> None:
    shared, exact, _ = simulated(6, 1e-9, points=1.0, unlike=2.0)
    for model, other in zip(shared.believed, exact, strict=True):
        np.testing.assert_allclose(model.design, other, rtol=1e-6, atol=1e-6)


def test_sites_that_differ_beyond_noise_keep_what_differs() -> None:
    shared, exact, _ = simulated(40, 0.5, points=0.5, unlike=2.0)
    for model, other in zip(shared.believed, exact, strict=True):
        # 4.5 standard deviations of the noise of a site, of 240 numbers.
        np.testing.assert_allclose(
            np.diag(model.design), np.diag(other), rtol=0.0, atol=4.5 * 0.5 * np.sqrt(2.0)
        )


def test_noise_of_a_site_in_the_coding_of_the_pool_is_its_own() -> None:
    """Cells of levels add up to the constant's, so that several maps between codings say the same."""
    released = with_levels()._record.released
    assert released is not None
    model = as_released(released)
    links = [np.eye(released.size)] * 2
    shared = SharedInformation(released, [model] * 2, links, [released.centre] * 2)
    own = model.cell_variances
    assert (own == 0.0).any()
    np.testing.assert_allclose(shared.noise[0][own > 0.0], own[own > 0.0])
    assert (shared.noise > 0.0).all()
