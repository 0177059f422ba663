"""The released moments, as the code draws them, keep their claim; with 20 % less noise they are caught.

Gaussian noise: the neighbours are the release's own worst case in two columns. Pure epsilon: in one column,
where the noise has four dimensions, a row against none, and a twin with 30 % less noise; in two columns it
has seven, which would take a million draws, and the noise is compared with its law, whose price is exact, by
Kolmogorov and Smirnov's test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest

import dpglm
from dpglm.auditing.neighbours import Table, release_neighbours
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.base import Problem
from dpglm.methods.moments import Moments
from tests.audits.harness import FAILURE, MUCH_LESS, Case, check, of_releases, under_both

SIZE = 2
DRAWS = 10_000


class Columns:
    """The public geometry of a model whose columns are not tied to each other."""

    def __init__(self, size: int) -> None:
        self.names = tuple(f"x{j}" for j in range(size))
        self.user_from_coded = self.coded_from_user = np.eye(size)
        self.penalised = np.ones(size, dtype=bool)
        self.term_columns = (TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),)


def planned(privacy: dpglm.Privacy, size: int = SIZE) -> SecondMoments:
    problem = Problem(Columns(size), dpglm.families.Gaussian(), dpglm.penalties.NoPenalty())
    (release,) = Moments().plan(problem, privacy).releases
    assert isinstance(release, SecondMoments)
    return release


def cases() -> list[Case]:
    found = []
    for title, privacy in under_both():
        if title != "pure":
            release = planned(privacy)
            pairs = [release_neighbours(release, privacy.relation, SIZE)]
            found.append(of_releases(SecondMoments, title, privacy, [release], pairs, trials=6000))
    privacy = dpglm.Privacy(3.0, relation="add-remove")
    release = planned(privacy, 1)
    pairs = [release_neighbours(release, "add-remove", 1)]
    found.append(
        of_releases(
            SecondMoments, "pure, one column", privacy, [release], pairs, trials=24_000, part=MUCH_LESS
        )
    )
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)


@pytest.mark.audit
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_pure_noise_has_the_law_that_is_paid_for_and_a_twin_has_not(relation: Any) -> None:
    release = planned(dpglm.Privacy(1.0, relation=relation))
    assert release.law == "gamma"
    assert release.sensitivity(relation) / release.scale == pytest.approx(1.0, rel=1e-12)

    def distances(drawn: SecondMoments) -> tuple[Any, Any]:
        empty = Table(drawn.worst_case("add-remove", SIZE).second)
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
