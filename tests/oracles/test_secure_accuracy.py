"""Secure sums of ten sites, one of which may collude, are within 5 % of one curator's accuracy.

Both fits of a pair have the same rows and the same noise, but for its size, so that few pairs tell: with so
many the ratio of root mean squared errors has a standard error below .004. Its bound, where noise makes all
of the error, is sqrt(10 / 9) = 1.054.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.moments import Moments
from dpglm.methods.secure_sum import SecureSum
from dpglm.typing import FloatVector

SITES, ROWS = 10, 2000
NUMBERS = {f"x{place}": (-5, 5) for place in range(5)}
SLOPES = np.array([0.5, -0.4, 0.3, 0.2, 0.0])
TRUTH = np.concatenate([[0.3], SLOPES])
FORMULA = "y ~ " + " + ".join(NUMBERS)


def table(random: np.random.Generator, *, gaussian: bool) -> pd.DataFrame:
    X = random.normal(0.0, 1.0, (ROWS, 5)).clip(-5, 5)
    eta = TRUTH[0] + X @ SLOPES
    y: Any = (eta + random.normal(0.0, 1.0, ROWS)).clip(-10, 10)
    if not gaussian:
        y = np.where(random.random(ROWS) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    return pd.DataFrame(dict(zip(NUMBERS, X.T, strict=True)) | {"y": y})


def errors(
    method: Any, seed: int, monkeypatch: pytest.MonkeyPatch, *, gaussian: bool
) -> tuple[FloatVector, FloatVector]:
    """Errors of the coefficients by secure sums, and by one curator with the noise of all sites."""
    random = np.random.default_rng(seed)
    data = {f"site {place}": table(random, gaussian=gaussian) for place in range(SITES)}
    response = {"y": (-10, 10) if gaussian else ["no", "yes"]}
    options: Any = {
        "schema": dpglm.Schema.of(NUMBERS | response, sites="disjoint"),
        "family": "gaussian" if gaussian else "binomial",
        "privacy": (1.0, 1e-6),
        "penalty": "none",
        "progress": False,
        "seed": seed,
    }
    drawn: list[Any] = []
    honest = SeededNoise.whole_normal

    def recorded(self: SeededNoise, size: int) -> Any:
        drawn.append(honest(self, size))
        return drawn[-1]

    with monkeypatch.context() as patch:
        patch.setattr(SeededNoise, "whole_normal", recorded)
        shared = dpglm.fit(FORMULA, data, method=SecureSum(method, colluding=1), **options)
    of_all: Iterator[Any] = iter(
        np.rint(np.sum(drawn[first : first + SITES], axis=0) / math.sqrt(SITES)).astype(np.int64)
        for first in range(0, len(drawn), SITES)
    )
    with monkeypatch.context() as patch:
        patch.setattr(SeededNoise, "whole_normal", lambda self, size: next(of_all))
        one = dpglm.fit(FORMULA, pd.concat(data.values()), method=method, **options)
    return shared.params.to_numpy() - TRUTH, one.params.to_numpy() - TRUTH


def ratio(method: Any, pairs: int, monkeypatch: pytest.MonkeyPatch, *, gaussian: bool) -> float:
    found = [errors(method, seed, monkeypatch, gaussian=gaussian) for seed in range(pairs)]
    shared, one = (np.array(each) for each in zip(*found, strict=True))
    return float(math.sqrt((shared**2).mean() / (one**2).mean()))


@pytest.mark.audit
def test_moments_of_ten_sites_are_as_good_as_one_curators(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.016 in 100 pairs, with a standard error of .002."""
    assert 1.0 <= ratio(Moments(), 30, monkeypatch, gaussian=True) <= 1.05


@pytest.mark.audit
@pytest.mark.papers
def test_gradient_descent_of_ten_sites_is_as_good_as_one_curators(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.027 in 60 pairs, with a standard error of .001."""
    descent = dpglm.methods.DPSGD(steps=60)
    assert 1.0 <= ratio(descent, 15, monkeypatch, gaussian=False) <= 1.05
