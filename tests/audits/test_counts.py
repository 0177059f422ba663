"""The minimiser of counts keeps its claim, alone and beside its curvature; with less noise it is caught.

The neighbours of the first are the release's own worst case in one dimension: a row without any count and a
mean at the bound, against none or against its opposite. Of the pair a row has slope and curvature near their
bounds at once, wherever the coefficient is likely to be; as its price leaves room for what no row attains,
its twin has 40 % less noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import dpglm
from dpglm.auditing.neighbours import Neighbours, Table
from dpglm.glm.families.poisson import Poisson
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.span import Span
from dpglm.privacy.budget import Relation
from dpglm.rows import ArrayChunk
from tests.audits.harness import RELATIONS, Case, check, hidden, of_releases, under_both
from tests.calibrated import calibrate_bounded, calibrate_bounded_pure

COUNTS = Poisson(bound=20.0)
REACH = 0.05


def calibrated(privacy: dpglm.Privacy, share: float = 0.0) -> tuple[PerturbedMinimiser, float]:
    """One column; a hundredth of the budget hides the residual. And the curvature's scale."""
    relation = privacy.relation
    step = math.sqrt(2.0) if relation == "replace-one" else 1.0
    if privacy.delta == 0.0:
        pure = calibrate_bounded_pure(
            privacy.epsilon,
            max_leverage_of=lambda scale: REACH,
            relation=relation,
            information_sensitivity=step,
            share=share,
        )
        scale, other, price = pure.score_scale, pure.information_scale, pure.residual_price
    else:
        found = calibrate_bounded(
            privacy.epsilon,
            privacy.delta,
            max_leverage_of=lambda scale: REACH,
            relation=relation,
            information_sensitivity=step,
            share=share,
        )
        scale, other, price = found.score_scale, found.information_scale, found.residual_price
    release = PerturbedMinimiser(
        family=COUNTS,
        ridge=1.0 / REACH,
        law="gamma" if privacy.delta == 0.0 else "gaussian",
        scale=scale,
        tolerance=1e-8,
        residual_noise_scale=1.0,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(1),
        penalised=np.array([True]),
        max_leverage=REACH,
    )
    return hidden(release, price), other


def beside_its_curvature(relation: Relation) -> Case:
    privacy = dpglm.Privacy(1.0, 0.2, relation=relation)
    minimiser, scale = calibrated(privacy, share=0.5)
    span = Span((TermColumns("x", "other", 0, 1, 1.0, np.eye(1), np.ones(1)),))
    curvature = Information(COUNTS, scale, "gaussian", span)
    # Means from .8 to 1 of the bound: the coefficient moves by about scale / ridge = .15 or less.
    offset = np.array([math.log(0.85 * COUNTS.bound)])
    first = ArrayChunk(np.ones((1, 1), dtype=np.float32), np.zeros(1), offset)
    second = ArrayChunk(np.zeros((1, 0), dtype=np.float32), np.zeros(0), np.zeros(0))
    if relation == "replace-one":
        second = ArrayChunk(-np.ones((1, 1), dtype=np.float32), np.zeros(1), np.array([1e3]))
    pairs = [Neighbours("a mean near the bound", Table(first), Table(second))]
    releases = [minimiser, curvature]
    return of_releases(Information, "counts, both", privacy, releases, pairs, trials=10_000, part=0.6)


def cases() -> list[Case]:
    found = [beside_its_curvature(relation) for relation in RELATIONS]
    for title, privacy in under_both():
        if title != "Gaussian":
            releases = [calibrated(privacy)[0]]
            found.append(of_releases(PerturbedMinimiser, f"counts, {title}", privacy, releases, trials=8000))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
