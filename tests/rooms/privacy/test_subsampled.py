"""Releases on random samples in plans: laws, refusals, speed, and the line in the bill."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm import Privacy
from dpglm.curator.curator import PricedReleases
from dpglm.errors import PrivacyError
from dpglm.postprocessing.spending import spend_lines
from dpglm.privacy.accountant import basic_composition, compose, composed_profile
from dpglm.privacy.events import ApproximateEvent, Event, GaussianEvent, PerturbedEvent, PureEvent
from dpglm.privacy.events import SampledGaussianEvent as Sampled
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon
from dpglm.privacy.guarantee import Guarantee
from tests.calibrated import full_batch_scale, sampled_scale
from tests.work import counted_work

SCHEMES: tuple[Any, ...] = (("poisson", "add-remove"), ("poisson", "replace-one"), ("fixed", "replace-one"))
# Losses lie on a grid of 1/40 of a release's: epsilon is overstated by less than this, a little more or less.
GRID = 1e-3
# Some ten times what the most expensive plan below takes.
CALLS = 3e6


@dataclass(frozen=True)
class Promise:
    """A release that is only its events."""

    event: Event
    name: str = "gradient"
    reads: None = None

    def events(self, relation: str) -> tuple[tuple[str, Event], ...]:
        return ((self.name, self.event),)


def plan_of(events: list[Event], privacy: Privacy) -> PricedReleases:
    promised = Guarantee(
        privacy.epsilon,
        privacy.delta,
        privacy.definition,
        privacy.relation,
        "one row",
        mu=privacy.mu,
        rho=privacy.rho,
    )
    return PricedReleases(tuple(map(Promise, events)), promised, privacy)  # type: ignore[arg-type]


@pytest.mark.audit
@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(SCHEMES),
    st.floats(0.05, 2.5),
    st.floats(-3.0, -0.1),
    st.integers(1, 400),
    st.floats(-9.0, -2.0),
    st.floats(1.05, 2.0),
)
def test_more_rows_more_steps_and_less_noise_cost_more(
    scheme: tuple[Any, Any], mu: float, power: float, steps: int, digits: float, factor: float
) -> None:
    rate, delta = 10.0**power, 10.0**digits
    found = compose([Sampled(mu, rate, *scheme)] * steps, delta=delta)
    dearer = (
        [Sampled(mu * factor, rate, *scheme)] * steps,
        [Sampled(mu, min(1.0, rate * factor), *scheme)] * steps,
        [Sampled(mu, rate, *scheme)] * math.ceil(steps * factor),
    )
    for events in dearer:
        assert compose(events, delta=delta) >= found * (1.0 - GRID)
    assert found <= gdp_epsilon(mu * math.sqrt(steps), delta)
    events = [Sampled(mu, rate, *scheme)] * steps
    assert composed_profile(events, [found])[0] <= delta
    assert compose(events, delta=delta / 2.0) >= found * (1.0 - 1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sample_of_all_rows_is_a_gaussian_release(scheme: tuple[Any, Any]) -> None:
    events = [Sampled(0.3, 1.0, *scheme), GaussianEvent(0.4)]
    assert compose(events, delta=1e-6) == compose([GaussianEvent(0.3), GaussianEvent(0.4)], delta=1e-6)
    plan_of(events, Privacy.gdp(0.5))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_other_events_beside_samples_add_no_more_than_sums(scheme: tuple[Any, Any]) -> None:
    samples: list[Event] = [Sampled(0.5, 0.02, *scheme)] * 300
    alone = compose(samples, delta=1e-6)
    for other, price in (
        (PureEvent(0.2), 0.2),
        (ApproximateEvent(0.2, 5e-7), 0.2),
        (GaussianEvent(0.1), None),
    ):
        left = 5e-7 if isinstance(other, ApproximateEvent) else 1e-6
        together, basic = compose([*samples, other], delta=1e-6), basic_composition([*samples, other], 1e-6)
        assert alone * (1.0 - GRID) < together <= basic
        if price is not None:
            assert basic == pytest.approx(compose(samples, delta=left) + price, rel=1e-12)
            assert together < basic
        else:
            assert together < alone + gdp_epsilon(0.1, 1e-6)
    two = [*samples, *[Sampled(0.4, 0.05, *scheme)] * 50]
    assert alone < compose(two, delta=1e-6) == compose(two[::-1], delta=1e-6)


def test_refusals() -> None:
    for bad in ((0.0, 0.1), (math.inf, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.1), (1.0, math.nan)):
        with pytest.raises(PrivacyError):
            Sampled(*bad, "poisson", "add-remove")
    with pytest.raises(PrivacyError, match="fixed size"):
        Sampled(1.0, 0.1, "fixed", "add-remove")
    with pytest.raises(PrivacyError, match="sampling"):
        Sampled(1.0, 0.1, "shuffled", "replace-one")  # type: ignore[arg-type]
    event = Sampled(0.5, 0.1, "poisson", "replace-one")
    with pytest.raises(PrivacyError, match="PerturbedEvent beside"):
        compose([event, PerturbedEvent(0.2, 0.5, "replace-one")], delta=1e-6)
    with pytest.raises(PrivacyError, match="both relations"):
        compose([event, Sampled(0.5, 0.1, "poisson", "add-remove")], delta=1e-6)
    assert compose([event], delta=0.0) == basic_composition([event, PureEvent(1.0)], 0.0) == math.inf
    for budget in (Privacy(100.0), Privacy.gdp(10.0), Privacy.zcdp(50.0)):
        with pytest.raises(PrivacyError, match="random samples"):
            plan_of([event], budget)
    with pytest.raises(PrivacyError, match="cost epsilon"):
        plan_of([event] * 100, Privacy(0.5, 1e-6))
    for wrong in ({"steps": 0}, {"sensitivity": 0.0}, {"rate": 2.0}, {"sampling": "all"}):
        given = {"rate": 0.1, "steps": 10, "sampling": "fixed", "relation": "replace-one"} | wrong
        with pytest.raises(PrivacyError):
            sampled_scale(1.0, 1e-6, **given)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError):
        sampled_scale(1.0, 0.0, rate=0.1, steps=10, sampling="fixed", relation="replace-one")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("epsilon", "rate", "steps"), [(0.5, 0.004, 2000), (3.0, 0.1, 50), (1.0, 0.5, 4)])
def test_a_calibrated_plan_keeps_its_budget_and_wastes_nothing(
    scheme: tuple[Any, Any], epsilon: float, rate: float, steps: int
) -> None:
    sampling, relation = scheme
    with counted_work(calls=CALLS):
        scale = sampled_scale(
            epsilon, 1e-6, rate=rate, steps=steps, sampling=sampling, relation=relation, sensitivity=2.0
        )
    assert scale <= full_batch_scale(epsilon, 1e-6, steps=steps, sensitivity=2.0)
    plan_of([Sampled(2.0 / scale, rate, *scheme)] * steps, Privacy(epsilon, 1e-6, relation=relation))
    less = [Sampled(2.0 / scale * (1.0 + GRID), rate, *scheme)] * steps
    assert basic_composition(less, 1e-6) > epsilon


def test_thousands_of_releases_are_counted_and_have_one_line() -> None:
    events: list[Event] = [Sampled(0.5, 0.004, "fixed", "replace-one")] * 5000
    with counted_work(calls=CALLS):
        plan = plan_of([*events, GaussianEvent(0.1)], Privacy(2.0, 1e-6))
        lines = spend_lines(plan.parallel()[0], plan.guarantee)
    assert [line.release for line in lines] == ["gradient, 5000 times on 0.004 of the rows", "gradient"]
    assert lines[0].epsilon is lines[0].mu is None
    assert lines[1].mu == 0.1
    assert sum(line.share for line in lines) == pytest.approx(1.0)
    assert lines[0].share > lines[1].share


def test_rare_samples_have_their_true_price() -> None:
    """One release needs no sums: delta is at most the rate, and its profile is known at every epsilon."""
    rare = Sampled(1.0, 1e-4, "poisson", "add-remove")
    assert compose([rare], delta=1e-2) == basic_composition([rare], 1e-2) == 0.0
    for delta in (1e-6, 1e-9):
        epsilon = compose([rare], delta=delta)
        mean = -math.expm1(epsilon) / 1e-4 - 1.0  # minus gamma of the inner profile
        assert 1e-4 * gdp_delta(math.log(-mean), 1.0) == pytest.approx(delta, rel=1e-5)
    assert compose([rare] * 50, delta=1e-2) == 0.0
