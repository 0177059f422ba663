"""The released curvature, as the code draws it, keeps its claim; with less noise it is caught.

The neighbours are the release's own worst case: a row of full weight against none in one column, or against
one at a right angle in two. Every bound on delta fails with probability at most `bounds.FAILURE`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from dpglm.glm.blocks import TermBlock
from dpglm.glm.families import families
from dpglm.privacy.accounting import gdp_delta
from dpglm.privacy.budget import Relation
from dpglm.releases import Curvature, Span
from tests.audits.bounds import draws, lower_bound

# How much less noise the twin has: the norm of noise in three dimensions hides what one direction shows.
CASES: list[tuple[Relation, Literal["gaussian", "gamma"], Literal["curvature", "score"], float]] = [
    ("add-remove", "gaussian", "curvature", 0.8),
    ("replace-one", "gaussian", "curvature", 0.8),
    ("add-remove", "gaussian", "score", 0.8),
    ("add-remove", "gamma", "curvature", 0.8),
    ("replace-one", "gamma", "curvature", 0.6),
]


def found_delta(release: Curvature, relation: Relation, size: int) -> float:
    case = release.worst_case(relation, size)
    direction = case.direction / np.linalg.norm(case.direction)
    first, second = (
        draws(release, block, seed, case.at) @ direction
        for seed, block in ((1, case.first), (2, case.second))
    )
    lines = np.linspace(-6.0, 6.0, 61) * release.scale
    return lower_bound(first, second, lines, 1.0)


@pytest.mark.audit
@pytest.mark.parametrize("name", ["binomial", "poisson"])
@pytest.mark.parametrize(("relation", "law", "what", "part"), CASES)
def test_the_release_keeps_its_claim_and_a_twin_with_less_noise_does_not(
    relation: Relation,
    law: Literal["gaussian", "gamma"],
    what: Literal["curvature", "score"],
    part: float,
    name: str,
) -> None:
    size = 1 if relation == "add-remove" else 2
    block = TermBlock("x", "other", 0, size, 1.0, np.eye(size), np.ones(size))
    honest = Curvature(families[name]().with_bound(20.0), 1.0, law, Span((block,)), what)
    honest = replace(honest, scale=honest.sensitivity(relation))  # mu = 1, or epsilon = 1
    claim = gdp_delta(1.0, 1.0) if law == "gaussian" else 0.0
    assert found_delta(honest, relation, size) <= claim
    assert found_delta(replace(honest, scale=part * honest.scale), relation, size) > claim
