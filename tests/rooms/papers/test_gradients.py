"""What gradient methods refuse, before any row is read, and what they tell of themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import MethodError, PrivacyError
from dpglm.methods.base import Method
from dpglm.methods.output import Output
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import DPADMM, DPSGD, MPADMM, SSADMM
from tests.described import facts, noise_scale

FORMULA = "y ~ x1 + x2"
SCHEMA = {"y": ["no", "yes"], "x1": (-3, 3), "x2": (-3, 3)}
DATA = pd.DataFrame({"y": ["no", "yes"] * 50, "x1": np.linspace(-2, 2, 100), "x2": [0.5, 0.1] * 50})
BUDGET = (1.0, 1e-6)


def fit(method: Method, privacy: Any = BUDGET, **more: Any) -> Any:
    return dpglm.fit(
        FORMULA, DATA, schema=SCHEMA, method=method, privacy=privacy, progress=False, **{"seed": 1, **more}
    )


@pytest.mark.parametrize(
    ("method", "privacy", "match"),
    [
        (SSADMM(), 1.0, "Gaussian"),
        (SSADMM(steps=0), BUDGET, "steps out of range"),
        (SSADMM(steps=True), BUDGET, "steps out of range"),
        (SSADMM(eta=-1.0), BUDGET, "eta out of range"),
        (SSADMM(eta=5e-324), BUDGET, "eta out of range"),
        (SSADMM(rho=math.inf), BUDGET, "rho out of range"),
        (SSADMM(rate=0.5), BUDGET, "rate out of range"),
        (SSADMM(sampling="poisson", rate=1.5), BUDGET, "rate out of range"),
        (SSADMM(sampling="some"), BUDGET, "sampling"),  # type: ignore[arg-type]
        (SSADMM(schedule="slow"), BUDGET, "schedule"),  # type: ignore[arg-type]
        (SSADMM(sampling="poisson"), BUDGET, "declared number of rows"),
        (SSADMM(sampling="poisson", rate=0.1), dpglm.Privacy.gdp(1.0, delta=1e-6), "budget in gdp"),
        (SSADMM(sampling="poisson", rate=1e-6, steps=3), (1.0, 1e-5), "delta alone would pay"),
        (MPADMM(clip=0.0), BUDGET, "clip out of range"),
        (DPSGD(steps=10**6), BUDGET, "steps out of range"),
        (DPADMM(parties=0), BUDGET, "parties out of range"),
        (DPADMM(), dpglm.Privacy(1.0, 1e-6, "add-remove"), "parties"),
        (SSADMM(), dpglm.Privacy(1.0, 1e-6, "add-remove"), "number of rows"),
        (DPSC(iterations=-1), BUDGET, "iterations out of range"),
        (DPSC(c=1.0), BUDGET, "declared number of rows"),
        (Output(ridge=0.0), BUDGET, "ridge out of range"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_makes_no_sense_is_refused(method: Method, privacy: Any, match: str) -> None:
    with pytest.raises((MethodError, PrivacyError), match=match):
        fit(method, privacy)


@pytest.mark.parametrize(
    "method", [SSADMM(), MPADMM(), DPSGD(), DPADMM(), DPSC(), Output()], ids=lambda m: m.name
)
def test_without_a_budget_and_with_a_strength_by_cross_validation_private_methods_refuse(
    method: Method,
) -> None:
    with pytest.raises(MethodError, match="privacy=None"):
        fit(method, None, seed=None)
    with pytest.raises(MethodError, match="cv"):
        fit(method, strength="cv")


@pytest.mark.parametrize("penalty", ["l1/2", "scad", "mcp", "lq"])
def test_output_perturbation_takes_convex_penalties_only(penalty: str) -> None:
    with pytest.raises(MethodError, match="convex"):
        fit(Output(), penalty=penalty)


@pytest.mark.parametrize("sampling", ["all", "poisson", "fixed"])
def test_equal_gradients_share_a_line_of_the_spend(sampling: Any) -> None:
    rate = None if sampling == "all" else 0.1
    found = fit(SSADMM(steps=20, sampling=sampling, rate=rate))
    (line,) = found._record.spend_lines
    assert line.release.startswith("gradient, 20 times")
    assert line.share == pytest.approx(1.0)
    assert (line.mu is None) == (sampling != "all")
    assert facts(found)["Steps"] == 20
    assert found.privacy.epsilon == 1.0


@pytest.mark.parametrize(
    ("more", "cut"),
    [
        ({"goal": "select"}, 0.5),
        ({"goal": "select", "penalty": "l1/2"}, 0.5),
        ({"goal": "explain"}, 1.0),
        ({"goal": "predict"}, 1.0),
        ({"goal": "select", "strength": 0.01}, 1.0),
        ({"goal": "select", "penalty": "l2"}, 1.0),
        ({"goal": "select", "family": "huber_svm"}, 1.0),
    ],
    ids=str,
)
def test_gradients_are_cut_at_a_half_where_only_the_selection_counts(more: Any, cut: float) -> None:
    found = fit(SSADMM(steps=4), **more)
    assert facts(found)["Gradient of a row, at most"] == cut
    whole = fit(SSADMM(steps=4, clip=1.0), **more)
    assert noise_scale(found) == pytest.approx(cut * noise_scale(whole))


def test_to_select_a_strength_is_less_where_gradients_are_cut_and_more_where_rows_are_drawn() -> None:
    def sampling(method: SSADMM) -> float:
        noise, both = (
            fit(method, (20.0, 1e-6), penalty="l1", goal=goal)._record.strength
            for goal in ("predict", "select")
        )
        return both**2 - noise**2

    whole = sampling(SSADMM(steps=8, clip=1.0))
    assert sampling(SSADMM(steps=8, clip=0.05)) == pytest.approx(0.05**2 / 0.25 * whole, rel=1e-6)
    drawn = sampling(SSADMM(steps=8, clip=1.0, sampling="poisson", rate=0.1))
    assert drawn == pytest.approx((1.0 + 9.0 / 6.0) * whole, rel=1e-6)


def test_to_select_a_strength_stops_what_sampling_makes_large_too() -> None:
    more = []
    for epsilon in (0.5, 20.0):
        noise, both = (
            fit(SSADMM(steps=4, clip=1.0), (epsilon, 1e-6), penalty="l1", goal=goal)._record.strength
            for goal in ("predict", "select")
        )
        more.append((both**2 - noise**2) * len(DATA) / (2.0 * math.log(2)))
    # Of one row and coordinate: a squared slope is a quarter at most, and squared coordinates add up to 1.
    assert 0.0 < more[0] <= 0.25 / 2
    assert more[0] == pytest.approx(more[1])


def test_a_step_that_is_too_long_for_the_rows_is_halved_until_it_is_not() -> None:
    """Twenty copies of one column have twenty times the curvature that is expected of independent ones."""
    generator = np.random.default_rng(1)
    x = generator.uniform(-1.0, 1.0, size=4000)
    y = np.where(generator.uniform(size=4000) < 1.0 / (1.0 + np.exp(-4.0 * x)), "yes", "no")
    names = [f"x{place}" for place in range(20)]
    table = {"y": y, **dict.fromkeys(names, x)}

    found = dpglm.fit(
        "y ~ " + " + ".join(names),
        pd.DataFrame(table),
        schema={"y": ["no", "yes"], **dict.fromkeys(names, (-1.0, 1.0))},
        method="ssadmm",
        privacy=(8.0, 1e-6),
        seed=1,
        progress=False,
    )
    assert 2.0 < float(found._record.estimates[1:].sum()) < 6.0


def test_noise_too_large_for_any_grid_is_refused_before_a_ledger_is_charged(tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ward.ledger", dpglm.Privacy.gdp(1.0, delta=1e-6))
    # One number would still find a step; three coefficients do not.
    small = dpglm.Privacy.gdp(2.0 / (0.7 * 2.0**40), delta=1e-14)
    with pytest.raises(MethodError, match="in 3 numbers"):
        fit(SSADMM(steps=1), small, seed=None, ledger=ledger)
    assert ledger.entries == ()
