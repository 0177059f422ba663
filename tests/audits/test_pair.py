"""The minimiser and the curvature at its answer, as the code draws them, keep their claim together.

One row cannot have slope 1 and curvature 1/4 at once, so a fifth less noise is caught where one of the two
has nine tenths of the budget. In between the claim has to hold. Every bound on delta fails with probability
at most `bounds.FAILURE`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dpglm.glm.blocks import TermBlock
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.noise import SeededNoise
from dpglm.optim.rows import Block, Piece
from dpglm.privacy.budget import Relation
from dpglm.privacy.composition import basic_composition
from dpglm.privacy.pair import calibrate_pair
from dpglm.releases import Curvature, PerturbedMinimiser, Span
from tests.audits.bounds import DRAWS, OneBlock, lower_bound

EPSILON, DELTA = 1.0, 0.05
FAR = 1e3


def planned(
    relation: Relation, share: float, ridge: float, size: int
) -> tuple[PerturbedMinimiser, Curvature]:
    span = Span((TermBlock("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),))
    curvature = Curvature(families["binomial"](), 1.0, "gaussian", span)
    found = calibrate_pair(
        EPSILON,
        DELTA,
        reach_of=lambda scale: 1.0 / ridge,
        relation=relation,
        curvature_sensitivity=curvature.sensitivity(relation),
        share=share,
        uniform=True,
    )
    minimiser = PerturbedMinimiser(
        family=curvature.family,
        ridge=ridge,
        law="gaussian",
        scale=found.score_scale,
        tolerance=1e-8,
        blur_scale=2e-8 / ridge / found.blur_mu,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(size),
        penalised=np.ones(size, dtype=np.bool_),
        reach=1.0 / ridge,
    )
    curvature = replace(curvature, scale=found.curvature_scale)
    events = [*minimiser.events(relation), *curvature.events(relation)]
    assert basic_composition([event for _, event in events], DELTA) == pytest.approx(EPSILON, rel=1e-4)
    return minimiser, curvature


def rows(size: int, offset: float) -> tuple[Block, Block]:
    """One row along the first axis; and along the second, or in one column the opposite one."""
    axes = np.eye(size, dtype=np.float32)
    first = Piece(axes[:, :1].copy(), np.array([1.0]), np.array([-offset]))
    if size == 1:
        return first, Piece(axes[:, :1].copy(), np.array([0.0]), np.array([offset]))
    return first, Piece(axes[:, 1:].copy(), np.array([1.0]), np.array([-offset]))


def statistics(
    minimiser: PerturbedMinimiser,
    curvature: Curvature,
    block: Block,
    seed: int,
    score: NDArray[np.float64],
    weight: float,
    count: int,
) -> NDArray[np.float64]:
    """Draws of both outputs along the directions in which the tables differ, weighted by how far they do."""
    noise, table = SeededNoise(seed), OneBlock(block)
    matrix = np.zeros((len(score), len(score)))
    matrix[0, 0] = 1.0
    if len(score) > 1:
        matrix[1, 1] = -1.0
    found = np.empty(count)
    for index in range(count):
        centre = minimiser.run(table, None, noise)
        sum_ = curvature.run(table, centre, noise)
        tilt = float(score @ centre) * minimiser.least_ridge / minimiser.scale**2
        found[index] = tilt + weight * float(matrix.ravel() @ sum_) / curvature.scale**2
    return found


CASES: list[tuple[Relation, float, float, int, float, float, float, bool]] = [
    # relation, share of the curvature, ridge, columns, offset, changes of score and of curvature, caught
    ("add-remove", 0.1, 1.0, 1, FAR, 1.0, 0.0, True),
    ("replace-one", 0.1, 2.0, 1, FAR, 2.0, 0.0, True),
    ("add-remove", 0.9, 100.0, 1, 0.0, 0.5, 0.25, True),
    ("replace-one", 0.9, 200.0, 2, 0.0, 0.5, 0.25, True),
    ("add-remove", 0.5, 1.0, 1, 0.5, 0.6, 0.24, False),
    ("replace-one", 0.5, 2.0, 2, 0.5, 0.6, 0.24, False),
]


@pytest.mark.audit
@pytest.mark.parametrize(("relation", "share", "ridge", "size", "offset", "moved", "weight", "caught"), CASES)
def test_the_pair_keeps_its_claim_and_a_twin_with_less_noise_does_not(
    relation: Relation,
    share: float,
    ridge: float,
    size: int,
    offset: float,
    moved: float,
    weight: float,
    caught: bool,
) -> None:
    minimiser, curvature = planned(relation, share, ridge, size)
    first, second = rows(size, offset)
    if relation == "add-remove":
        second = Piece(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
    score = moved * np.array([1.0, -1.0][:size])
    for part, exceeded in ((1.0, False), (0.8, True)):
        if exceeded and not caught:
            continue
        pair = (
            replace(minimiser, scale=part * minimiser.scale),
            replace(curvature, scale=part * curvature.scale),
        )
        one, other = (
            statistics(*pair, block, seed, score, weight, DRAWS if caught else DRAWS // 3)
            for seed, block in ((1, first), (2, second))
        )
        spread = math.hypot(
            float(np.linalg.norm(score)) / pair[0].scale, weight * math.sqrt(size) / pair[1].scale
        )
        lines = np.linspace(-5.0, 5.0, 41) * spread
        assert (lower_bound(one, other, lines, EPSILON) > DELTA) == exceeded
