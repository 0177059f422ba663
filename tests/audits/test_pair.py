"""The minimiser and the curvature at its answer, as the code draws them, keep their claim together.

One row cannot have slope 1 and curvature 1/4 at once, so a fifth less noise is caught where one of the two
has nine tenths of the budget. In between (the most that any row attains is .8 of the price) the claim has to
hold, and the twin has half the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import dpglm
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.span import Span
from dpglm.privacy.accountant import basic_composition
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk, RowChunk
from tests.audits.harness import LESS, MUCH_LESS, Case, check, hidden, of_releases
from tests.calibrated import calibrate_pair

EPSILON, DELTA = 1.0, 0.1
FAR = 1e3


def planned(
    relation: Relation, share: float, ridge: float, size: int
) -> tuple[PerturbedMinimiser, Information]:
    span = Span((TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),))
    curvature = Information(families["binomial"](), 1.0, "gaussian", span)
    found = calibrate_pair(
        EPSILON,
        DELTA,
        max_leverage_of=lambda scale: 1.0 / ridge,
        relation=relation,
        information_sensitivity=curvature.sensitivity(relation),
        share=share,
    )
    minimiser = PerturbedMinimiser(
        family=curvature.family,
        ridge=ridge,
        law="gaussian",
        scale=found.score_scale,
        tolerance=1e-8,
        residual_noise_scale=1.0,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(size),
        penalised=np.ones(size, dtype=np.bool_),
        max_leverage=1.0 / ridge,
    )
    minimiser = hidden(minimiser, found.residual_price)
    curvature = replace(curvature, scale=found.information_scale)
    events = [*minimiser.events(relation), *curvature.events(relation)]
    assert basic_composition([event for _, event in events], DELTA) == pytest.approx(EPSILON, rel=1e-4)
    return minimiser, curvature


def rows(size: int, offset: float) -> tuple[RowChunk, RowChunk]:
    """One row along the first axis; and along the second, or in one column the opposite one."""
    axes = np.eye(size, dtype=np.float32)
    first = ArrayChunk(axes[:, :1].copy(), np.array([1.0]), np.array([-offset]))
    if size == 1:
        return first, ArrayChunk(axes[:, :1].copy(), np.array([0.0]), np.array([offset]))
    return first, ArrayChunk(axes[:, 1:].copy(), np.array([1.0]), np.array([-offset]))


PLANS: list[tuple[str, Relation, float, float, int, float, float]] = [
    # what, relation, share of the curvature, ridge, columns, offset, noise of the twin
    ("score", "add-remove", 0.1, 1.0, 1, FAR, MUCH_LESS),
    ("score", "replace-one", 0.1, 2.0, 1, FAR, MUCH_LESS),
    ("curvature", "add-remove", 0.9, 100.0, 1, 0.0, LESS),
    ("curvature", "replace-one", 0.9, 200.0, 2, 0.0, MUCH_LESS),
    ("both", "add-remove", 0.5, 1.0, 1, 0.5, 0.5),
    ("both", "replace-one", 0.5, 2.0, 2, 0.5, 0.5),
]


def cases() -> list[Case]:
    found = []
    for what, relation, share, ridge, size, offset, part in PLANS:
        privacy = dpglm.Privacy(EPSILON, DELTA, relation=relation)
        first, second = rows(size, offset)
        if relation == "add-remove":
            second = ArrayChunk(np.zeros((size, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
        pairs = [Neighbours(what, Table(first), Table(second))]
        releases = planned(relation, share, ridge, size)
        title = f"both releases, {share:g} for the curvature"
        found.append(of_releases(Information, title, privacy, releases, pairs, trials=10_000, part=part))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
