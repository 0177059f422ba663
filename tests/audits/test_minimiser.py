"""The released minimiser, as the code draws it, keeps its claim; with 20 % less noise it is caught.

The neighbours are the release's own worst case in one dimension: a row against none, or against its opposite,
with offsets that keep both slopes at 1, so that the theorems' bounds are attained and the audit has power.
Every bound on delta fails with probability at most `bounds.FAILURE`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpglm
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.noise import SeededNoise
from dpglm.privacy.calibration import free_ridge, gamma_rate, gaussian_scale, gaussian_scale_gdp
from dpglm.releases import PerturbedMinimiser
from tests.audits.bounds import OneBlock, draws, lower_bound

BLUR = 0.01


def calibrated(privacy: dpglm.Privacy) -> PerturbedMinimiser:
    """One column, at the least ridge that costs no noise; a hundredth of the budget hides the residual."""
    relation, epsilon = privacy.relation, privacy.epsilon * (1.0 - BLUR)
    claimed, price = None, privacy.epsilon * BLUR
    ridge = free_ridge(epsilon, relation=relation)
    if privacy.mu is not None:
        price = privacy.mu * np.sqrt(BLUR)
        mu = privacy.mu * np.sqrt(1.0 - BLUR)
        ridge = 2.0 * ((1.0 + (relation == "replace-one")) / mu) ** 2 * (1.0 + 1e-6)
        scale = gaussian_scale_gdp(mu, ridge, relation=relation).scale
    elif privacy.delta == 0.0:
        scale = 1.0 / gamma_rate(epsilon, ridge, relation=relation)
    else:
        scale = gaussian_scale(epsilon, privacy.delta, ridge, relation=relation).scale
        claimed = epsilon
    return PerturbedMinimiser(
        family=families["binomial"](),
        ridge=ridge,
        law="gamma" if privacy.delta == 0.0 else "gaussian",
        scale=scale,
        tolerance=1e-8,
        blur_scale=2e-8 / ridge / price,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(1),
        penalised=np.array([True]),
        claimed_epsilon=claimed,
    )


def found_delta(release: PerturbedMinimiser, privacy: dpglm.Privacy) -> float:
    case = release.worst_case(privacy.relation, 1)
    lines = np.linspace(-12.0, 12.0, 49) * release.scale / release.least_ridge
    first, second = draws(release, case.first, 1)[:, 0], draws(release, case.second, 2)[:, 0]
    return lower_bound(first, second, lines, privacy.epsilon)


# Power: with 20 % less noise the bound from only 20,000 draws was above each of these claims by .012 or more.
CLAIMS = [
    dpglm.Privacy(budget.epsilon, budget.delta, relation=relation)
    for relation in ("add-remove", "replace-one")
    for budget in (dpglm.Privacy(1.0), dpglm.Privacy(2.0), dpglm.Privacy(1.0, 0.05), dpglm.Privacy(0.5, 0.1))
] + [dpglm.Privacy.gdp(1.0, delta=0.05, relation="add-remove"), dpglm.Privacy.gdp(1.0, delta=0.05)]


@pytest.mark.audit
@pytest.mark.parametrize("privacy", CLAIMS, ids=str)
def test_the_release_keeps_its_claim_and_a_twin_with_less_noise_does_not(privacy: dpglm.Privacy) -> None:
    honest = calibrated(privacy)
    assert found_delta(honest, privacy) <= privacy.delta
    twin = replace(honest, scale=0.8 * honest.scale)
    assert found_delta(twin, privacy) > privacy.delta


@pytest.mark.audit
def test_a_twin_that_reuses_one_tilt_is_caught() -> None:
    release = calibrated(dpglm.Privacy(1.0, relation="add-remove"))
    case = release.worst_case("add-remove", 1)
    first, second = (release.run(OneBlock(case.first), None, SeededNoise(3))[0] for _ in range(2))
    other = release.run(OneBlock(case.second), None, SeededNoise(3))[0]
    # The same tilt twice: two answers agree for one table and differ for another, which tells them apart.
    assert first == second != other
