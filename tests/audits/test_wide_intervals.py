"""Intervals without a standard error, which rest mostly on prior scales, cover on tables that chose nothing.

Responses are drawn again in every fit. Misses within a fit depend on each other, so fits are averaged. With a
standard deviation of .3 over fits (.04 was seen), their mean has one of .04 for 60 fits. A true share of .80
then passes with a probability of .005, and one of .99 fails with .01. Intervals of a tenth of the width fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.typing import FloatVector

FITS = 60
LEAST = 0.9
Drawn = tuple[pd.DataFrame, dict[str, Any], str, FloatVector, FloatVector]


def rare_levels() -> Drawn:
    """Levels down to a hundredth of the rows, effects up to 1.5, and a number with bounds 40 sds wide."""
    generator = np.random.default_rng(31)
    level = generator.choice(6, 4000, p=[0.5, 0.3, 0.12, 0.05, 0.02, 0.01])
    dose = np.minimum(generator.lognormal(0.0, 0.7, 4000), 60.0)
    effects = np.array([0.0, 0.3, -0.6, 1.0, -1.5, 1.2])
    frame = pd.DataFrame({"level": np.array(list("abcdef"))[level], "dose": dose})
    schema = {"level": list("abcdef"), "dose": (0, 60), "ill": [0, 1]}
    predictor = -1.0 + effects[level] + 0.4 * dose
    return frame, schema, "ill ~ level + dose", predictor, np.array([*effects[1:], 0.4])


def strong_slopes() -> Drawn:
    """Three correlated columns, with slopes beyond their prior scales."""
    generator = np.random.default_rng(32)
    factors = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.3, 0.3, 0.9]])
    columns = np.clip(generator.normal(size=(4000, 3)) @ factors.T, -4.0, 4.0)
    slopes = np.array([1.2, -2.0, 0.8])
    schema = {**dict.fromkeys(["u", "v", "w"], (-4, 4)), "ill": [0, 1]}
    return pd.DataFrame(columns, columns=["u", "v", "w"]), schema, "ill ~ u + v + w", columns @ slopes, slopes


def covered(drawn: Drawn, privacy: dpglm.Privacy) -> tuple[FloatVector, FloatVector]:
    """Share of the wide intervals that cover in each fit, and would with a tenth of the width, shape (k,)."""
    frame, schema, formula, predictor, truth = drawn
    shares = []
    for seed in range(FITS):
        chance = np.random.default_rng(1000 + seed).random(len(frame))
        ill = (chance < 1.0 / (1.0 + np.exp(-predictor))).astype(int)
        fit = dpglm.fit(formula, frame.assign(ill=ill), schema=schema, privacy=privacy, seed=seed)
        rows = fit.tidy().iloc[1:]
        wide = rows["std_error"].isna().to_numpy()
        low, high = rows["conf_low"].to_numpy()[wide], rows["conf_high"].to_numpy()[wide]
        distance = np.abs(truth[wide] - (low + high) / 2.0)
        if wide.any():
            shares.append([np.mean(distance <= (high - low) / part) for part in (2.0, 20.0)])
    return tuple(np.transpose(shares))  # type: ignore[return-value]


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("drawn", "epsilon"), [(rare_levels, 0.5), (strong_slopes, 0.07)])
def test_wide_intervals_cover(drawn: Any, epsilon: float, relation: Any) -> None:
    whole, tenth = covered(drawn(), dpglm.Privacy(epsilon, 1e-6, relation=relation))
    assert len(whole) >= FITS / 3
    assert whole.mean() >= LEAST > tenth.mean()
