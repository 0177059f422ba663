"""Plans: every budget that can be asked for is met, by releases that say so themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.errors import MethodError, PrivacyError
from dpglm.glm.penalties import penalties
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Problem
from dpglm.methods.objective import Objective
from dpglm.privacy.accountant import basic_composition


class Columns:
    """The public geometry of a model with some penalised columns."""

    def __init__(self, size: int) -> None:
        self.names = tuple(f"x{j}" for j in range(size))
        self.user_from_coded = self.coded_from_user = np.eye(size)
        self.penalised = np.arange(size) > 0
        self.term_columns = tuple(
            TermColumns(
                self.names[j],
                "slope" if j else "intercept",
                j,
                j + 1,
                1.0 / size,
                np.array([[2.0 / np.sqrt(size) if j else 1.0 / np.sqrt(size)]]),
                np.array([1.5 * np.sqrt(size)]),
            )
            for j in range(size)
        )
        self.standardisable = self.names[1:]

    def moments_at(self, places: dict) -> dict:
        return places

    def standardised(self, moments: dict, longer: float) -> Columns:
        return self

    def row_matrix(self, moments: dict, longer: float) -> np.ndarray:
        return np.eye(len(self.names))


RELATIONS = st.sampled_from(["add-remove", "replace-one"])
EPSILONS = st.floats(1e-3, 50.0)
BUDGETS = st.one_of(
    st.builds(lambda e, r: dpglm.Privacy(e, relation=r), EPSILONS, RELATIONS),
    st.builds(
        lambda e, d, r: dpglm.Privacy(e, 10.0**d, relation=r), EPSILONS, st.floats(-12.0, -1.0), RELATIONS
    ),
    st.builds(lambda m, r: dpglm.Privacy.gdp(m, relation=r), st.floats(1e-3, 30.0), RELATIONS),
)


def releases_of(privacy: dpglm.Privacy, size: int, goal: str, penalty: str) -> tuple[Release, ...]:
    problem = Problem(Columns(size), dpglm.families.Binomial(), penalties[penalty](), goal=goal)
    return Objective().plan(Objective().prepared(problem), privacy).releases


def planned(privacy: dpglm.Privacy, size: int, ridge: float | None = None) -> PerturbedMinimiser:
    problem = Problem(Columns(size), dpglm.families.Binomial(), dpglm.penalties.L1(), goal="predict")
    (release,) = Objective(ridge=ridge, scales="declared").plan(problem, privacy).releases
    assert isinstance(release, PerturbedMinimiser)
    return release


@settings(max_examples=300)
@given(
    BUDGETS,
    st.integers(1, 30),
    st.sampled_from(["explain", "predict", "select"]),
    st.sampled_from(["none", "l1", "l1/2"]),
)
@pytest.mark.filterwarnings("error")
def test_every_route_meets_its_budget(privacy: dpglm.Privacy, size: int, goal: str, penalty: str) -> None:
    planned_releases = releases_of(privacy, size, goal, penalty)
    events = [event for release in planned_releases for _, event in release.events(privacy.relation)]
    spent = basic_composition(events, privacy.delta)
    assert spent <= privacy.epsilon * (1 + 1e-9)
    assert spent >= privacy.epsilon * (1 - 1e-2)  # and hardly any of it is left unused


def test_the_routes_are_those_that_the_public_rule_says() -> None:
    budget = dpglm.Privacy(1.0, 1e-6)
    assert [release.name for release in releases_of(budget, 5, "explain", "none")] == [
        "means and standard deviations",
        "means and standard deviations in closer ranges",
        "classes of row length",
        "perturbed minimiser",
        "information matrix",
    ]
    measured = ["means and standard deviations", "means and standard deviations in closer ranges"]
    predicted = [*measured, "perturbed minimiser"]
    assert [release.name for release in releases_of(budget, 5, "predict", "l1")] == predicted
    assert [release.name for release in releases_of(budget, 5, "predict", "none")] == predicted[2:]
    assert [release.name for release in releases_of(budget, 30, "select", "l1/2")] == predicted
    assert [release.name for release in releases_of(budget, 60, "explain", "l1/2")] == predicted


@settings(max_examples=300)
@given(BUDGETS, st.integers(1, 30))
@pytest.mark.filterwarnings("error")
def test_every_budget_is_met_by_the_releases_own_events(privacy: dpglm.Privacy, size: int) -> None:
    release = planned(privacy, size)
    events = [event for _, event in release.events(privacy.relation)]
    spent = basic_composition(events, privacy.delta)
    assert spent <= privacy.epsilon * (1 + 1e-9)
    assert spent >= privacy.epsilon * (1 - 1e-3)  # and none of it is left unused


@settings(max_examples=100)
@given(BUDGETS, st.floats(-4.0, 4.0))
@pytest.mark.filterwarnings("error")
def test_a_ridge_of_ones_own_is_calibrated_or_refused_from_public_facts(
    privacy: dpglm.Privacy, power: float
) -> None:
    try:
        release = planned(privacy, 3, 10.0**power)
    except (MethodError, PrivacyError):
        return
    assert release.ridge == 10.0**power
    # A ridge never buys less noise than the mechanism alone needs.
    assert release.scale >= planned(privacy, 3, 1e6).scale * (1 - 1e-6)


@settings(max_examples=100)
@given(BUDGETS)
def test_replacing_a_row_needs_twice_the_noise_of_adding_one(privacy: dpglm.Privacy) -> None:
    both = [
        planned(dpglm.Privacy(privacy.epsilon, privacy.delta, relation=relation), 2).scale  # type: ignore[arg-type]
        for relation in ("add-remove", "replace-one")
    ]
    assert both[1] == pytest.approx(2 * both[0], rel=1e-6)
