"""Bounds from counts: never above the truth more often than stated, and close to it with many draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpglm.auditing.bounds import Event, chosen_events, clopper_pearson, counted
from dpglm.auditing.statistics import learned
from dpglm.privacy.guarantee import Guarantee

PURE = Guarantee(1.0, 0.0, "pure", "replace-one", "one row")
GAUSSIAN = Guarantee(1.0, 0.127, "gdp", "replace-one", "one row", mu=1.0)


def test_a_bound_on_a_probability_fails_as_seldom_as_stated() -> None:
    generator = np.random.default_rng(1)
    counts = generator.binomial(200, 0.1, size=4000)
    failures = np.mean([clopper_pearson(int(count), 200, 0.05)[0] > 0.1 for count in counts])
    # Exact bounds fail at most with probability .05; 4000 trials exceed .067 with probability 1e-6.
    assert 0.0 < failures < 0.067
    assert clopper_pearson(0, 10, 0.01)[0] == 0.0
    assert clopper_pearson(10, 10, 0.01)[1] == 1.0


@pytest.mark.audit
def test_a_fair_claim_is_seldom_refuted_whatever_is_learned() -> None:
    """At a failure probability of .05 each of 200 audits of an exact claim; Laplace noise of epsilon 1."""
    refuted = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        train = [generator.laplace(size=(300, 1)) + shift for shift in (1.0, 0.0)]
        statistics = learned(*train)
        events = [event for _, event in chosen_events(statistics, *train, PURE, 0.05, 2000)]
        fresh = [generator.laplace(size=(2000, 1)) + shift for shift in (1.0, 0.0)]
        refuted += counted(events, statistics, *fresh, PURE, 0.05).refuted
    assert refuted <= 24  # of Binomial(200, .05) with probability 1e-4


@pytest.mark.parametrize(("claim", "shift"), [(PURE, 1.5), (GAUSSIAN, 1.3)])
def test_a_false_claim_is_refuted_and_its_epsilon_bounded(claim: Guarantee, shift: float) -> None:
    generator = np.random.default_rng(1)

    def draws(count: int) -> list[np.ndarray]:
        law = generator.laplace if claim is PURE else generator.normal
        return [np.column_stack([law(size=count) + at, law(size=count)]) for at in (shift, 0.0)]

    statistics = learned(*draws(2000))
    choice = chosen_events(statistics, *draws(2000), claim, 1e-5, 20_000)
    bound = counted([event for _, event in choice], statistics, *draws(20_000), claim, 1e-4)
    assert choice[0][0] > 0.0
    assert bound.refuted
    assert claim.epsilon < bound.epsilon < 1.7
    assert bound.delta > claim.delta


def test_outputs_that_overflow_are_an_event_too() -> None:
    wild = np.array([[np.inf], [1.0], [np.nan]] * 50)
    statistics = learned(wild, np.zeros((150, 1)))
    assert set(statistics) == {"overflow"}
    assert statistics["overflow"](wild).sum() == 100.0
    assert learned(np.ones((9, 2)), np.ones((9, 2))) == {}


def test_sides_of_an_event_compare_the_tables_in_both_directions() -> None:
    first, second = np.full((100, 1), 2.0), np.zeros((100, 1))
    statistics = {"value": lambda z: z[:, 0]}
    for side in (1, -1):
        bound = counted([Event("value", 1.0, side)], statistics, first, second, PURE, 0.01)
        assert bound.refuted
        assert math.isfinite(bound.epsilon)
