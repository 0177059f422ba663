"""BIC on released numbers: lists where many columns say the same, and lists of nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpglm
from studies.paired import auc

COLUMNS = [f"x{place}" for place in range(21)]
SCHEMA = dpglm.Schema.of({"y": [0, 1], **dict.fromkeys(COLUMNS, (-4.0, 4.0))})
PRIVACY = dpglm.Privacy(1.0, 1e-6, "add-remove")


def table(rows: int, seed: int, *, strength: float) -> pd.DataFrame:
    """Twenty-one columns of three factors, of which two have an effect."""
    random = np.random.default_rng(seed)
    loadings = np.random.default_rng(99).normal(size=(3, len(COLUMNS)))
    factors = random.normal(size=(rows, 3))
    X = (factors @ loadings + 0.3 * random.normal(size=(rows, len(COLUMNS)))) / np.sqrt(
        (loadings**2).sum(axis=0) + 0.09
    )
    chance = 1.0 / (1.0 + np.exp(-strength * (1.5 * factors[:, 0] - factors[:, 1])))
    return pd.DataFrame(np.clip(X, -4.0, 4.0), columns=COLUMNS).assign(
        y=(random.random(rows) < chance).astype(int)
    )


def fitted(rows: int, seed: int, *, strength: float) -> dpglm.FitResult:
    data = table(rows, seed, strength=strength)
    formula = "y ~ " + " + ".join(COLUMNS)
    return dpglm.fit(formula, data, schema=SCHEMA, privacy=PRIVACY, seed=seed, progress=False)


@pytest.mark.slow
def test_a_list_predicts_nearly_as_well_as_the_fit_where_columns_say_the_same() -> None:
    """Of six fits: judged by the covariance under the prior the mean loss is .06, and one keeps nothing.

    Here it is .005. A loss in one of six fits as large as that one's, .33, would fail.
    """
    test = table(4_000, 77, strength=1.0)
    losses = []
    for seed in range(1, 7):
        fit = fitted(3_000, seed, strength=1.0)
        whole, listed = (
            auc((test["y"] == 1).to_numpy(), np.asarray(one.predict(test, what="link"), dtype=np.float64))
            for one in (fit, fit.select("bic"))
        )
        losses.append(whole - listed)
    assert np.mean(losses) < 0.02


@pytest.mark.slow
def test_a_list_of_nothing_stays_short() -> None:
    """Of 21 columns without an effect: below one a fit on average; five in six fits have probability 1e-4."""
    kept = [len(fitted(2_000, seed, strength=0.0).select("bic").selected) - 1 for seed in range(1, 7)]
    assert sum(kept) < 6


@pytest.mark.parametrize("formula", ["y ~ x0 + x1 + x2", "y ~ x0 + x1 + x2 - 1"])
@pytest.mark.parametrize("family", ["binomial", "gaussian", "poisson"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "l1/2", "scad"])
def test_a_strength_means_the_same_in_a_fit_and_in_a_refit(family: str, penalty: str, formula: str) -> None:
    """It is one of the family's loss of the coded response, per row; what BIC chose can be asked for."""
    random = np.random.default_rng(5)
    X = random.normal(size=(3_000, 3))
    predictor = X @ [1.0, 0.5, 0.0]
    y = {
        "binomial": (random.random(3_000) < 1.0 / (1.0 + np.exp(-predictor))).astype(int),
        "gaussian": 20.0 + 5.0 * predictor + 5.0 * random.normal(size=3_000),
        "poisson": random.poisson(random.gamma(0.7, 1.0 / 0.7, size=3_000) * np.exp(predictor)),
    }[family]
    bounds: object = {"binomial": [0, 1], "gaussian": (-30.0, 90.0), "poisson": (0, 80)}[family]
    schema = dpglm.Schema.of({"y": bounds, **dict.fromkeys(COLUMNS[:3], (-5.0, 5.0))}, rows=3_000)

    def fit(**more: object) -> dpglm.FitResult:
        return dpglm.fit(
            formula,
            pd.DataFrame(X, columns=COLUMNS[:3]).assign(y=y),
            schema=schema,
            family=family,
            privacy=dpglm.Privacy(4.0, 1e-6, "replace-one"),
            seed=3,
            progress=False,
            **more,  # type: ignore[arg-type]
        )

    plain = fit(penalty="none")
    given = fit(penalty=penalty, strength=0.01)
    np.testing.assert_allclose(plain.refit(penalty, strength=0.01).params, given.params, rtol=1e-6, atol=1e-9)
    if penalty != "l2":
        chosen = fit(penalty=penalty)
        again = plain.refit(penalty)
        np.testing.assert_allclose(again.params, chosen.params, rtol=1e-6, atol=1e-9)
        (strength,) = again.glance()["strength"]
        assert strength == pytest.approx(chosen.glance()["strength"].item(), rel=1e-6)
        asked = plain.refit(penalty, strength=strength)
        np.testing.assert_allclose(asked.params, again.params, rtol=1e-6, atol=1e-9)
