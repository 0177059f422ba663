"""The minimiser of counts keeps its claim, alone and beside its curvature; with less noise it is caught.

The neighbours of the first are the release's own worst case in one dimension: a row without any count and a
mean at the bound, against none or against its opposite. Every bound on delta fails with probability at most
`bounds.FAILURE`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dpglm
from dpglm.glm.blocks import TermBlock
from dpglm.glm.families.poisson import Poisson
from dpglm.glm.penalties import penalties
from dpglm.noise import SeededNoise
from dpglm.optim.rows import Piece
from dpglm.privacy.bounded import calibrate_bounded, calibrate_bounded_pure
from dpglm.privacy.budget import Relation
from dpglm.releases import Curvature, PerturbedMinimiser, Span
from tests.audits.bounds import DRAWS, OneBlock, draws, lower_bound

COUNTS = Poisson(bound=20.0)
REACH = 0.05


def calibrated(privacy: dpglm.Privacy, share: float = 0.0) -> tuple[PerturbedMinimiser, float]:
    """One column; a hundredth of the budget hides the residual. And the curvature's scale."""
    relation = privacy.relation
    step = math.sqrt(2.0) if relation == "replace-one" else 1.0
    if privacy.delta == 0.0:
        pure = calibrate_bounded_pure(
            privacy.epsilon,
            reach_of=lambda scale: REACH,
            relation=relation,
            curvature_sensitivity=step,
            share=share,
        )
        scale, other, price = pure.score_scale, pure.curvature_scale, pure.blur_epsilon
    else:
        found = calibrate_bounded(
            privacy.epsilon,
            privacy.delta,
            reach_of=lambda scale: REACH,
            relation=relation,
            curvature_sensitivity=step,
            share=share,
        )
        scale, other, price = found.score_scale, found.curvature_scale, found.blur_mu
    release = PerturbedMinimiser(
        family=COUNTS,
        ridge=1.0 / REACH,
        law="gamma" if privacy.delta == 0.0 else "gaussian",
        scale=scale,
        tolerance=1e-8,
        blur_scale=2e-8 * REACH / price,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(1),
        penalised=np.array([True]),
        reach=REACH,
    )
    return release, other


def found_delta(release: PerturbedMinimiser, privacy: dpglm.Privacy) -> float:
    case = release.worst_case(privacy.relation, 1)
    lines = np.linspace(-12.0, 12.0, 49) * release.scale / release.least_ridge
    first, second = draws(release, case.first, 1)[:, 0], draws(release, case.second, 2)[:, 0]
    return lower_bound(first, second, lines, privacy.epsilon)


CLAIMS = [
    dpglm.Privacy(budget.epsilon, budget.delta, relation=relation)
    for relation in ("add-remove", "replace-one")
    for budget in (dpglm.Privacy(1.0), dpglm.Privacy(1.0, 0.05))
]


@pytest.mark.audit
@pytest.mark.parametrize("privacy", CLAIMS, ids=str)
def test_the_release_keeps_its_claim_and_a_twin_with_less_noise_does_not(privacy: dpglm.Privacy) -> None:
    honest, _ = calibrated(privacy)
    assert found_delta(honest, privacy) <= privacy.delta
    twin = replace(honest, scale=0.8 * honest.scale)
    assert found_delta(twin, privacy) > privacy.delta


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_pair_keeps_its_claim_and_a_twin_with_less_noise_does_not(relation: Relation) -> None:
    """A row with slope and curvature near their bounds at once, wherever the coefficient is likely to be."""
    privacy = dpglm.Privacy(1.0, 0.05, relation=relation)
    minimiser, scale = calibrated(privacy, share=0.5)
    span = Span((TermBlock("x", "other", 0, 1, 1.0, np.eye(1), np.ones(1)),))
    curvature = Curvature(COUNTS, scale, "gaussian", span)
    # Means from .8 to 1 of the bound: the coefficient moves by about scale / ridge = .15 or less.
    offset = np.array([math.log(0.85 * COUNTS.bound)])
    first = Piece(np.ones((1, 1), dtype=np.float32), np.zeros(1), offset)
    second = Piece(np.zeros((1, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
    if relation == "replace-one":
        second = Piece(-np.ones((1, 1), dtype=np.float32), np.zeros(1), np.array([1e3]))
    moved = -0.85 if relation == "add-remove" else -1.85
    for part, exceeded in ((1.0, False), (0.6, True)):
        pair = (
            replace(minimiser, scale=part * minimiser.scale),
            replace(curvature, scale=part * curvature.scale),
        )
        found = []
        for seed, block in ((1, first), (2, second)):
            noise, table = SeededNoise(seed), OneBlock(block)
            values = np.empty(DRAWS // 2)
            for index in range(len(values)):
                centre = pair[0].run(table, None, noise)
                total = pair[1].run(table, centre, noise)
                values[index] = (
                    moved * centre[0] / REACH / pair[0].scale ** 2 + 0.85 * total[0] / pair[1].scale ** 2
                )
            found.append(values)
        spread = math.hypot(moved / pair[0].scale, 0.85 / pair[1].scale)
        lines = np.linspace(-5.0, 5.0, 41) * spread
        assert (lower_bound(found[0], found[1], lines, 1.0) > 0.05) == exceeded
