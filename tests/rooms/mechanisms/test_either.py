"""One of several releases: which one runs, and what is refused when they are planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.auditing.neighbours import Table
from dpglm.errors import MethodError
from dpglm.mechanisms.either import Either, choosing
from dpglm.mechanisms.mapped import Mapped, Standardisation
from dpglm.methods.standardised import LOSSES, STEEPNESSES
from dpglm.rows import ArrayChunk
from tests.audits.test_minimiser import calibrated
from tests.silence import Silence

ROWS = Table(ArrayChunk(np.float32([[0.5, -0.5, 0.25, 0.75]]), np.array([1.0, 0.0, 1.0, 0.0]), None))
BUDGETS = (
    dpglm.Privacy(1.0, 1e-6, relation="add-remove"),
    dpglm.Privacy(1.0, 1e-6, relation="replace-one"),
    dpglm.Privacy(0.3, relation="add-remove"),
    dpglm.Privacy(2.0, relation="replace-one"),
)


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_the_release_at_the_place_is_run_and_all_cost_the_same(privacy: dpglm.Privacy) -> None:
    plain = calibrated(privacy)
    steep = tuple(plain.steeper(c) for c in STEEPNESSES)
    either = Either(plain, steep, LOSSES)
    found = [either.run(ROWS, choosing(either, None, place), Silence()) for place in range(3)]
    for answer, option in zip(found, either.options, strict=True):
        np.testing.assert_array_equal(answer, option.run(ROWS, None, Silence()))
    assert len({float(answer[0]) for answer in found}) == 3
    assert either.events(privacy.relation) == plain.events(privacy.relation)
    assert choosing(plain, None, 0) is None


@pytest.mark.parametrize("place", [None, np.zeros(0), [3.0], [0.5], [np.nan], [-1.0]], ids=str)
def test_a_number_that_is_no_place_is_refused(place: Any) -> None:
    plain = calibrated(BUDGETS[0])
    either = Either(plain, (plain.steeper(2.0),), LOSSES)
    with pytest.raises(MethodError, match="which release"):
        either.run(ROWS, None if place is None else np.asarray(place), Silence())


@pytest.mark.parametrize(
    "change", [{"scale": 0.9}, {"ridge": 0.9}, {"residual_noise_scale": 0.4}, {"ridge": 1.0}], ids=str
)
def test_another_release_that_costs_more_is_refused(change: dict[str, float]) -> None:
    """Less noise; less noise on the residual, which a larger ridge hides; the ridge of the logistic loss."""
    plain = calibrated(BUDGETS[0])
    (name, part), *_ = change.items()
    dear = replace(plain.steeper(2.0), **{name: part * getattr(plain, name)})
    with pytest.raises(MethodError, match="costs less"):
        Either(plain, (dear,), LOSSES)


def test_releases_that_read_rows_otherwise_are_refused() -> None:
    plain = calibrated(BUDGETS[0])
    other = Mapped(plain.steeper(2.0), Standardisation(shortens=True))
    with pytest.raises(MethodError, match="promise different things"):
        Either(Mapped(plain, Standardisation()), (other,), LOSSES)
