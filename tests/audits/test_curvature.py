"""The released curvature, as the code draws it, keeps its claim; with 20 % less noise it is caught.

The neighbours are the release's own worst case: a row of full weight against none in one column, or against
one at a right angle in two. Noise of pure epsilon has three dimensions there: what tells the tables apart is
the difference of the distances from both, not the output along one direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

import dpglm
from dpglm.auditing.neighbours import release_neighbours
from dpglm.glm.families import Binomial, families
from dpglm.glm.families.binomial import SteepBinomial
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.span import Span
from dpglm.privacy.budget import STEPS, Relation
from tests.audits.harness import Case, check, of_releases

Law = Literal["gaussian", "gamma"]
KINDS: list[tuple[Relation, Law, Literal["curvature", "score"]]] = [
    ("add-remove", "gaussian", "curvature"),
    ("replace-one", "gaussian", "curvature"),
    ("add-remove", "gaussian", "score"),
    ("add-remove", "gamma", "curvature"),
    ("replace-one", "gamma", "curvature"),
]
EPSILON, MU = 3.0, 1.0


def cases() -> list[Case]:
    found = []
    for name in ("binomial", "poisson"):
        for relation, law, what in KINDS:
            size = 1 if relation == "add-remove" else 2
            block = TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size))
            release = Information(families[name]().with_bound(20.0), 1.0, law, Span((block,)), what)
            privacy = dpglm.Privacy.gdp(MU, delta=0.05, relation=relation)
            if law == "gamma":
                privacy = dpglm.Privacy(EPSILON, relation=relation)
            price = MU if law == "gaussian" else EPSILON
            release = replace(release, scale=release.sensitivity(relation) / price)
            pairs = [release_neighbours(release, relation, size)]
            title = f"{name}, {what}, {law}"
            trials = 28_000 if law == "gamma" and size > 1 else 6000  # the noise has three dimensions
            found.append(of_releases(Information, title, privacy, [release], pairs, trials=trials))
    return found


def scored() -> list[Case]:
    """With a score in the same vector, as plans have it."""
    found = []
    for steepness in (1.0, 2.0, 4.0):
        family = SteepBinomial(steepness) if steepness > 1.0 else Binomial()
        for relation in STEPS:
            weight = family.score_weight / math.sqrt(STEPS[relation])
            block = TermColumns("x", "other", 0, 2, 1.0, np.eye(2), np.ones(2))
            release = Information(family, 1.0, "gaussian", Span((block,)), score_weight=weight)
            release = replace(release, scale=release.sensitivity(relation) / MU)
            privacy = dpglm.Privacy.gdp(MU, delta=0.05, relation=relation)
            pairs = [release_neighbours(release, relation, 2)]
            title = f"score and curvature, steepness {steepness:g}"
            found.append(of_releases(Information, title, privacy, [release], pairs, trials=6000))
    return found


CASES = [*cases(), *scored()]


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
