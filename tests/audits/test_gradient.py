"""Released gradients, on all rows and on samples, keep their claims; with 20 % less noise they are caught.

A row at full slope stands alone against none, or against its opposite: a sample holds it or not, so that
outputs are a mixture of two or three Gaussians, as the accounting supposes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

import dpglm
from dpglm.auditing.neighbours import Neighbours, Table, release_neighbours
from dpglm.glm.families import families
from dpglm.mechanisms.gradient import Gradient
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk
from tests.audits.harness import RELATIONS, Case, check, of_releases
from tests.calibrated import sampled_scale

EPSILON, DELTA, RATE = 1.5, 0.05, 0.5


def cases() -> list[Case]:
    found = []
    for relation in RELATIONS:
        for name in ("binomial", "poisson"):
            family = families[name]().with_bound(20.0)
            one = Gradient(family, 1.0)
            release = Gradient(family, one.sensitivity(relation))
            privacy = dpglm.Privacy.gdp(1.0, delta=DELTA, relation=relation)
            found.append(of_releases(Gradient, f"{name}, all rows", privacy, [release], trials=8000))
        found.append(sampled("poisson", relation))
    return [*found, sampled("fixed", "replace-one")]


def sampled(sampling: Literal["poisson", "fixed"], relation: Relation) -> Case:
    """One gradient of half of the rows."""
    privacy = dpglm.Privacy(EPSILON, DELTA, relation=relation)
    one = Gradient(families["binomial"](), 1.0)
    scale = sampled_scale(
        EPSILON,
        DELTA,
        rate=RATE,
        steps=1,
        sampling=sampling,
        relation=relation,
        sensitivity=one.sensitivity(relation),
    )
    release = Gradient(one.family, scale, 1.0, sampling, RATE)
    pair = release_neighbours(release, relation, 1)
    if sampling == "fixed":  # of two rows one is drawn; the one that stays is like the second table's
        first, second = (beside(table, pair.second) for table in (pair.first, pair.second))
        pair = Neighbours(pair.label, first, second, pair.direction, pair.at)
    return of_releases(Gradient, f"{sampling} samples", privacy, [release], [pair], trials=60_000)


def beside(table: Table, other: Table) -> Table:
    """The table with the other's row as well."""
    pieces = [next(iter(one.chunks())) for one in (table, other)]
    assert all(piece.offset is not None for piece in pieces)
    X = np.concatenate([piece.X for piece in pieces], axis=1)
    y = np.concatenate([piece.y for piece in pieces])
    return Table(ArrayChunk(X, y, np.concatenate([piece.offset for piece in pieces])))  # type: ignore[misc]


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
