"""Pools of sites so small that noise hides the information of each."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import dpglm
from dpglm.inference.score_and_information import LEAST_CLEAR, LEAST_CLEAR_COUNTS
from tests.rooms.test_pool import FORMULA, NAMES, TRUTH, rows, three


@cache
def small_sites(epsilon: float) -> dpglm.FitResult:
    schema = dpglm.Schema.of({"y": [0, 1], **dict.fromkeys(NAMES, (-5.0, 5.0))})
    budget = dpglm.Privacy(epsilon, 1e-6, relation="add-remove")
    parts = [rows(100 + seed, n=250, bound=5.0) for seed in range(30)]
    fits = [
        dpglm.fit(FORMULA, part, schema=schema, privacy=budget, penalty="none", seed=seed, progress=False)
        for seed, part in enumerate(parts)
    ]
    return dpglm.pool(fits)


def test_sites_whose_information_is_mostly_noise_tell_nothing_together() -> None:
    """The noise of their matrices draws all of them alike: slopes were drawn to zero, and told."""
    table = small_sites(1.0).tidy()
    assert not table["reliable"].any()
    assert table["reason"].str.startswith("noise hides the information of single sites").any()
    assert ((table["conf_low"] < TRUTH) & (table["conf_high"] > TRUTH)).all()


def test_the_same_sites_with_less_noise_tell_of_all_coefficients() -> None:
    table = small_sites(6.0).tidy()
    assert table["reliable"].all()
    off = np.abs(table["estimate"] - TRUTH) / table["std_error"]
    assert off.max() < 4.0  # of six, by chance once in 2,600 such tests


def test_linear_equations_need_clear_sites_too() -> None:
    record = three()["north"]._record
    assert record.released is not None
    linear = dataclasses.replace(record.released, logistic=False)
    assert linear.clarity == record.released.clarity > 1.0
    assert dataclasses.replace(linear, information_scale=1e6).clarity < 1.0
    assert dataclasses.replace(linear, score_scale=0.0, information_scale=0.0).clarity == np.inf


def test_counts_whose_rows_may_weigh_anything_need_clearer_sites() -> None:
    released = three()["north"]._record.released
    assert released is not None
    counts = dataclasses.replace(released, logistic=False, exponential=True)
    assert counts.clarity * LEAST_CLEAR_COUNTS == pytest.approx(released.clarity * LEAST_CLEAR)
    assert counts.clarity < released.clarity
