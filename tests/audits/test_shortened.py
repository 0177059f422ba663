"""The minimiser on shortened rows, as the code draws it, keeps its claim; with 20 % less noise it is caught.

Both stages are attacked at once, and one of them is the twin's, with most of the budget. The neighbours are
the release's own worst case in one dimension, at settings where its factor c tells the sum of squared
lengths and both stages are at their worst together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, kstest

import dpglm
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.noise import SeededNoise
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser, length_sensitivity
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.privacy.accountant import basic_composition
from dpglm.privacy.budget import Relation
from tests.audits.harness import FAILURE, Case, check, hidden, of_releases, quieter
from tests.calibrated import calibrate_pair, calibrate_pair_pure

DRAWS = 10_000
TOLERANCE = 1e-6
# Where c is far above sqrt(most) and below most for every sum of squared lengths that matters.
MARGIN, MOST = 0.01, 1e4


def planned(privacy: dpglm.Privacy, share: float) -> NormClippedMinimiser:
    """The release that just fits the budget, ``share`` of it for the lengths."""
    ridge = 2.0 / privacy.epsilon
    common: dict[str, Any] = {
        "max_leverage_of": lambda scale: 1.0 / ridge,
        "relation": privacy.relation,
        "information_sensitivity": length_sensitivity(privacy.relation),
        "share": share,
    }
    if privacy.delta == 0.0:
        pure = calibrate_pair_pure(privacy.epsilon, **common)
        scales, price = (pure.score_scale, pure.information_scale), pure.residual_price
        ridge *= pure.ridge_factor
    else:
        pair = calibrate_pair(privacy.epsilon, privacy.delta, **common)
        scales, price = (pair.score_scale, pair.information_scale), pair.residual_price
    minimiser = PerturbedMinimiser(
        family=families["binomial"](),
        ridge=ridge,
        law="gamma" if privacy.delta == 0.0 else "gaussian",
        scale=scales[0],
        tolerance=TOLERANCE,
        residual_noise_scale=1.0,
        penalty=penalties["none"](),
        penalty_rows=1.0,
        mixing=np.eye(1),
        penalised=np.ones(1, dtype=bool),
        max_leverage=1.0 / ridge,
    )
    minimiser = hidden(minimiser, price)
    release = NormClippedMinimiser(minimiser, scales[1], privacy.relation == "add-remove", MARGIN, MOST)
    events = [event for _, event in release.events(privacy.relation)]
    spent = basic_composition(events, privacy.delta)
    assert 0.99 * privacy.epsilon < spent <= privacy.epsilon * (1.0 + 1e-9)
    return release


def less_of(stage: str) -> Callable[[Any, float], Any]:
    """Twins with less noise in one stage."""

    def twin(release: NormClippedMinimiser, part: float) -> NormClippedMinimiser:
        if stage == "lengths":
            return replace(release, length_scale=part * release.length_scale)
        return replace(release, minimiser=quieter(release.minimiser, part))

    return twin


BUDGETS = [
    (dpglm.Privacy(epsilon, delta, relation=relation), stage, share)
    for relation in ("add-remove", "replace-one")
    for epsilon, delta, stage, share in ((1.0, 0.2, "lengths", 0.9), (1.0, 0.2, "minimiser", 0.1))
]
# Pure epsilon: only replace-one has noise in one dimension, whose price events of one number show.
BUDGETS += [(dpglm.Privacy(2.0), "lengths", 0.8), (dpglm.Privacy(2.0), "minimiser", 0.05)]


def cases() -> list[Case]:
    found = []
    for privacy, stage, share in BUDGETS:
        law = "pure" if privacy.delta == 0.0 else "approximate"
        releases = [planned(privacy, share)]
        found.append(
            of_releases(
                NormClippedMinimiser, f"{law}, {stage}", privacy, releases, trials=9000, twin=less_of(stage)
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
def test_pure_noise_of_the_lengths_has_the_law_that_is_paid_for_and_a_twin_has_not(
    relation: Relation,
) -> None:
    release = planned(dpglm.Privacy(1.0, relation=relation), 0.5)
    size = 2 if release.count_rows else 1

    def norms(drawn: NormClippedMinimiser) -> Any:
        noise = SeededNoise(5)
        return [np.linalg.norm(drawn.noise_law.draw(noise)) for _ in range(DRAWS)]

    scale = length_sensitivity(relation) / (0.5 * 0.99)  # half of what the blur leaves
    law = gamma(size, scale=scale).cdf
    assert kstest(norms(release), law).pvalue > FAILURE
    assert kstest(norms(less_of("lengths")(release, 0.8)), law).pvalue < FAILURE
