"""The released moments, as the code draws them, keep their claim; with 20 % less noise they are caught.

Gaussian noise: the neighbours are the release's own worst case in two columns, the statistic is the release
along the line through both, and outputs are compared on half-lines fixed beforehand. Every bound holds with
probability 1 - FAILURE over the draws (Clopper-Pearson, split over counts, half-lines, sides and directions).
Pure epsilon: the noise is compared with its law, whose price is exact, by Kolmogorov and Smirnov's test.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest

import dpglm
from dpglm.glm.blocks import TermBlock
from dpglm.methods import Moments, Problem
from dpglm.noise import SeededNoise
from dpglm.optim.rows import Block
from dpglm.releases import MomentSums, SecondMoments

FAILURE = 1e-4
DRAWS = 30_000
SIZE = 2


class Columns:
    """The public geometry of a model whose columns are not tied to each other."""

    names = tuple(f"x{j}" for j in range(SIZE))
    user_from_coded = coded_from_user = np.eye(SIZE)
    penalised = np.ones(SIZE, dtype=bool)
    blocks = (TermBlock("x", "other", 0, SIZE, 1.0, np.eye(SIZE), np.ones(SIZE)),)


class OneBlock:
    """A table of given rows."""

    size = SIZE

    def __init__(self, block: Block) -> None:
        self._block = block

    def blocks(self) -> list[Block]:
        return [self._block]

    def row_count(self) -> int:
        return len(self._block.y)


def planned(privacy: dpglm.Privacy) -> SecondMoments:
    problem = Problem(Columns(), dpglm.families.Gaussian(), dpglm.penalties.NoPenalty())
    (release,) = Moments().plan(problem, privacy).releases
    assert isinstance(release, SecondMoments)
    return release


def draws(release: SecondMoments, block: Block, direction: Any, seed: int) -> Any:
    noise, table = SeededNoise(seed), OneBlock(block)
    return np.array([release.run(table, None, noise) @ direction for _ in range(DRAWS)])


def lower_bound(release: SecondMoments, privacy: dpglm.Privacy) -> float:
    """A lower bound on delta at the claimed epsilon, wrong with probability at most FAILURE."""
    case = release.worst_case(privacy.relation, SIZE)
    reach = release.sensitivity(privacy.relation)
    tables = [
        draws(release, block, case.direction / reach, seed)
        for seed, block in enumerate((case.first, case.second))
    ]
    lines = np.linspace(-4.0, 4.0, 41) * release.scale + float(np.mean(places(release, case))) / reach
    level = FAILURE / (2 * 2 * 2 * len(lines))
    best = 0.0
    for first, second in (tables, tables[::-1]):
        for line in lines:
            for side in (1.0, -1.0):
                often = int((side * first < side * line).sum())
                seldom = int((side * second < side * line).sum())
                low = beta.ppf(level, often, DRAWS - often + 1) if often else 0.0
                high = beta.ppf(1 - level, seldom + 1, DRAWS - seldom) if seldom < DRAWS else 1.0
                best = max(best, low - np.exp(privacy.epsilon) * high)
    return float(best)


def places(release: SecondMoments, case: Any) -> list[float]:
    """Where the two tables lie without noise."""
    quiet = replace(release, scale=1e-12)
    return [
        float(quiet.run(OneBlock(block), None, SeededNoise(9)) @ case.direction)
        for block in (case.first, case.second)
    ]


# Power: the twin's delta exceeds each of these claims by .055 or more, and the bound loses less than .03.
CLAIMS = [
    budget
    for relation in ("add-remove", "replace-one")
    for budget in (
        dpglm.Privacy(1.0, 0.05, relation=relation),
        dpglm.Privacy(0.5, 0.1, relation=relation),
        dpglm.Privacy.gdp(1.0, delta=0.05, relation=relation),
    )
]


@pytest.mark.audit
@pytest.mark.parametrize("privacy", CLAIMS, ids=str)
def test_the_release_keeps_its_claim_and_a_twin_with_less_noise_does_not(privacy: dpglm.Privacy) -> None:
    honest = planned(privacy)
    assert lower_bound(honest, privacy) <= privacy.delta
    twin = replace(honest, scale=0.8 * honest.scale)
    assert lower_bound(twin, privacy) > privacy.delta


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_pure_noise_has_the_law_that_is_paid_for_and_a_twin_has_not(relation: Any) -> None:
    release = planned(dpglm.Privacy(1.0, relation=relation))
    assert release.law == "gamma"
    assert release.sensitivity(relation) / release.scale == pytest.approx(1.0, rel=1e-12)

    def distances(drawn: SecondMoments) -> tuple[Any, Any]:
        empty = OneBlock(drawn.worst_case("add-remove", SIZE).second)
        noise = SeededNoise(5)
        norms, cosines = np.empty(DRAWS), np.empty(DRAWS)
        for place in range(DRAWS):
            sums = MomentSums.of(drawn.run(empty, None, noise), SIZE)
            weighted = np.concatenate(
                [
                    drawn.gram_weight * np.diag(sums.gram),
                    [drawn.gram_weight * math.sqrt(2.0) * sums.gram[0, 1]],
                    drawn.cross_weight * sums.cross,
                    [drawn.square_weight * sums.square, drawn.count_weight * sums.count],
                ]
            )
            norms[place] = np.linalg.norm(weighted)
            cosines[place] = weighted[2] / norms[place]
        return norms, cosines

    law = gamma(release.dimension, scale=release.scale).cdf
    norms, cosines = distances(release)
    assert kstest(norms, law).pvalue > FAILURE
    # A coordinate of a uniform direction in m dimensions: its square is Beta(1/2, (m - 1)/2).
    assert kstest(cosines**2, beta(0.5, (release.dimension - 1) / 2).cdf).pvalue > FAILURE
    assert abs(np.mean(cosines > 0) - 0.5) < 4 * 0.5 / math.sqrt(DRAWS)
    twin, _ = distances(replace(release, scale=0.8 * release.scale))
    assert kstest(twin, law).pvalue < FAILURE


@pytest.mark.audit
def test_a_twin_that_reuses_its_noise_is_caught() -> None:
    release = planned(dpglm.Privacy(1.0, 1e-6, relation="add-remove"))
    case = release.worst_case("add-remove", SIZE)
    first, second = (release.run(OneBlock(case.first), None, SeededNoise(3)) for _ in range(2))
    other = release.run(OneBlock(case.second), None, SeededNoise(3))
    # The same noise twice: two answers agree for one table and differ for another, which tells them apart.
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
