"""Fits without privacy take every penalty, say what they found, and refuse what makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import MethodError
from dpglm.glm.penalties import penalties
from dpglm.methods.nonprivate import NonPrivate
from tests.described import facts

FORMULA = "y ~ x1 + x2 + x3 + group"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return dpglm.load_data("simulated")


@pytest.mark.parametrize("name", list(penalties))
def test_every_penalty_is_fitted_to_its_certificate(name: str, data: pd.DataFrame) -> None:
    strength = None if name == "none" else 0.004
    fit = dpglm.fit(FORMULA, data, penalty=name, strength=strength, privacy=None)
    assert fit._record.residual <= 1e-6
    assert fit._record.alarm == "NOT PRIVATE: no privacy was asked for"
    assert ("Optimality" in facts(fit)) == (not penalties[name].convex)
    assert fit.description.algorithm.startswith("exact" if penalties[name].convex else "ADMM")
    # Classical standard errors are those of maximum likelihood, and not of what a penalty shrinks.
    assert fit.bse.notna().all() if name == "none" else fit.bse.isna().all()
    assert (name == "none") != ("which a penalty shrinks" in " ".join(str(fit.summary()).split()))


def test_half_thresholding_finds_clear_effects_at_a_certified_stationary_point(data: pd.DataFrame) -> None:
    fit = dpglm.fit(FORMULA, data, penalty="l1/2", strength=0.012, privacy=None)
    assert fit.selected == ("Intercept", "x1", "x2")
    assert fit._record.residual <= 1e-6


def test_the_literature_names(data: pd.DataFrame) -> None:
    lha = dpglm.fit(FORMULA, data, penalty="l1/2", strength=0.01, privacy=None, method="lha")
    lla = dpglm.fit(FORMULA, data, penalty="l1", strength=0.01, privacy=None, method="lla")
    assert lha.specification.method.name == lla.specification.method.name == "nonprivate"
    with pytest.raises(MethodError, match="penalty='l1/2'"):
        dpglm.fit(FORMULA, data, privacy=None, method="lha")
    with pytest.raises(MethodError, match="privacy budget"):
        dpglm.fit(FORMULA, data, penalty="l1/2", privacy=1.0, method="lha")


@pytest.mark.parametrize(
    ("penalty", "options", "told"),
    [
        ("l1/2", {"augmentation": 0.0}, "augmentation"),
        ("l1/2", {"augmentation": float("nan")}, "augmentation"),
        ("l1/2", {"folds": 1}, "folds"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    penalty: str, options: dict[str, Any], told: str, data: pd.DataFrame
) -> None:
    with pytest.raises(MethodError, match=told):
        dpglm.fit(FORMULA, data, penalty=penalty, privacy=None, method=NonPrivate(**options))


def test_the_augmentation_is_per_row_and_does_not_move_a_clear_answer(data: pd.DataFrame) -> None:
    """0.51 is more than twice 1/4, the largest second derivative of a row of norm 1."""
    fits = [
        dpglm.fit(
            FORMULA, data, penalty="scad", strength=0.01, privacy=None, method=NonPrivate(augmentation=c)
        )
        for c in (None, 0.51)
    ]
    np.testing.assert_allclose(fits[0]._record.estimates, fits[1]._record.estimates, atol=1e-6)
