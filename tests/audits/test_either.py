"""Whichever of several releases is run keeps the claim of the first one; with less noise it is caught."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from dpglm.auditing.neighbours import Neighbours, release_neighbours
from dpglm.glm.families import Binomial
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.either import Either
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.span import Span
from dpglm.methods.standardised import LOSSES, STEEPNESSES
from dpglm.privacy.budget import STEPS, Privacy
from dpglm.privacy.gdp import gdp_mu
from tests.audits.harness import LESS, MUCH_LESS, Case, check, of_releases, under_both
from tests.audits.test_minimiser import calibrated


def informing(privacy: Privacy, size: int, score_weight: float = 0.0) -> Information:
    """Of rows in so many columns, at all of the budget."""
    law: Literal["gaussian", "gamma"] = "gaussian" if privacy.delta else "gamma"
    block = TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size))
    release = Information(Binomial(), 1.0, law, Span((block,)), score_weight=score_weight)
    price = gdp_mu(privacy.epsilon, privacy.delta) if privacy.delta else privacy.epsilon
    return replace(release, scale=release.sensitivity(privacy.relation) / price)


def at_place(release: Either, place: int, privacy: Privacy, size: int = 1) -> Neighbours:
    """The worst case of the release at a place, and the number that says which."""
    near = release_neighbours(release.options[place], privacy.relation, size)
    return replace(near, at=np.append(np.zeros(0) if near.at is None else near.at, float(place)))


def cases() -> list[Case]:
    found = []
    for title, privacy in under_both():
        minimiser = calibrated(privacy)
        release = Either(minimiser, tuple(minimiser.steeper(c) for c in STEEPNESSES), LOSSES)
        found.append(of_releases(Either, f"steepest minimiser, {title}", privacy, [release], trials=9000))
        for place, name in enumerate(("first", "middle")):
            near, what = [at_place(release, place, privacy)], f"{name} minimiser, {title}"
            found.append(of_releases(Either, what, privacy, [release], near, trials=9000))
        size = 1 if privacy.relation == "add-remove" else 2  # rows at a right angle
        curvature = informing(privacy, size)
        release = Either(curvature, tuple(curvature.steeper(c) for c in STEEPNESSES), LOSSES)
        # Pure noise in three directions hides a fifth of itself.
        trials, part = (20_000, MUCH_LESS) if size == 2 and not privacy.delta else (9000, LESS)
        for place, name in enumerate(("first", "middle", "steepest")):
            near, what = [at_place(release, place, privacy, size)], f"{name} information, {title}"
            found.append(of_releases(Either, what, privacy, [release], near, trials=trials, part=part))
        if privacy.delta:  # with a score, as plans have it
            scored = informing(privacy, 2, Binomial().score_weight / math.sqrt(STEPS[privacy.relation]))
            release = Either(scored, tuple(scored.steeper(c) for c in STEEPNESSES), LOSSES)
            for place, name in enumerate(("first", "middle", "steepest")):
                near, what = [at_place(release, place, privacy, 2)], f"{name} scored information, {title}"
                found.append(of_releases(Either, what, privacy, [release], near, trials=9000))
    return found


CASES = cases()


@pytest.mark.audit
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_claim_stands_and_that_of_a_twin_falls(
    case: Case, record_property: Callable[[str, object], None]
) -> None:
    check(case, record_property)
