"""Laws of the accounting, true for all budgets, ridges, norms and compositions."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpglm.errors import MethodError
from dpglm.privacy.accountant import basic_composition, compose
from dpglm.privacy.budget import pure_curve
from dpglm.privacy.calibration import MOST_NOISE, Calibration
from dpglm.privacy.events import ApproximateEvent, Event, GaussianEvent, PureEvent
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu, gdp_profile
from dpglm.privacy.guarantee import Guarantee
from dpglm.privacy.theorems import free_ridge, gamma_epsilon, mu_perturbed, perturbed_profile
from tests.calibrated import gamma_rate, gaussian_scale, gaussian_scale_gdp

Relation = Literal["add-remove", "replace-one"]


def spread(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers evenly spread over their orders of magnitude."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


RELATIONS: st.SearchStrategy[Relation] = st.sampled_from(["add-remove", "replace-one"])
EPSILONS, DELTAS, MUS = spread(1e-4, 100.0), spread(1e-15, 0.5), spread(1e-4, 20.0)
FRACTIONS = spread(0.2, 10.0)  # of the ridge at which privacy costs noise alone
EVENTS: st.SearchStrategy[Event] = st.one_of(
    spread(1e-3, 1.0).map(PureEvent),
    spread(1e-2, 1.0).map(GaussianEvent),
    st.builds(ApproximateEvent, spread(1e-3, 1.0), spread(1e-9, 1e-6)),
)
ROUNDING = 1.0 + 1e-7  # two scales, each rounded up by 1e-9 or bisected to 1e-9, and what that does to delta


def calibrated(epsilon: float, delta: float, ridge: float, relation: Relation) -> Calibration:
    try:
        return gaussian_scale(epsilon, delta, ridge, relation=relation)
    except MethodError:
        return Calibration(math.inf)


@given(EPSILONS, DELTAS)
def test_mu_is_the_largest_that_fits(epsilon: float, delta: float) -> None:
    mu = gdp_mu(epsilon, delta)
    assert gdp_delta(epsilon, mu) <= delta < gdp_delta(epsilon, mu * (1.0 + 3e-9))


@given(MUS, DELTAS)
def test_epsilon_is_the_least_that_fits(mu: float, delta: float) -> None:
    epsilon = gdp_epsilon(mu, delta)
    assert gdp_delta(epsilon, mu) <= delta
    if epsilon > 1e-6:
        assert gdp_delta(epsilon * (1.0 - 1e-6), mu) > delta


@given(st.floats(-20.0, 100.0), MUS, spread(1.001, 3.0))
def test_the_gaussian_profile_is_monotone(epsilon: float, mu: float, factor: float) -> None:
    delta = gdp_delta(epsilon, mu)
    assert 0.0 <= delta <= 1.0
    assert gdp_delta(epsilon + factor - 1.0, mu) <= delta * (1.0 + 1e-12)
    assert gdp_delta(epsilon, mu * factor) >= delta * (1.0 - 1e-12)
    np.testing.assert_allclose(gdp_profile([epsilon], mu), [delta], rtol=1e-9, atol=1e-300)


@given(EPSILONS, FRACTIONS, RELATIONS, spread(1.01, 5.0))
def test_pure_noise_is_least_and_monotone(
    epsilon: float, fraction: float, relation: Relation, factor: float
) -> None:
    ridge = fraction * free_ridge(epsilon, relation=relation)
    try:
        rate = gamma_rate(epsilon, ridge, relation=relation)
    except MethodError:
        assume(False)
    assert gamma_epsilon(rate, ridge, relation=relation) <= epsilon
    assert gamma_epsilon(rate * (1.0 + 1e-7), ridge, relation=relation) > epsilon
    # More ridge or a larger epsilon never needs more noise.
    assert gamma_rate(epsilon, ridge * factor, relation=relation) * ROUNDING >= rate
    assert gamma_rate(epsilon * factor, ridge, relation=relation) * ROUNDING >= rate


@settings(max_examples=60)
@given(spread(1e-3, 10.0), spread(1e-12, 1e-2), FRACTIONS, RELATIONS, spread(1.05, 3.0))
def test_gaussian_noise_is_monotone_and_keeps_its_delta(
    epsilon: float, delta: float, fraction: float, relation: Relation, factor: float
) -> None:
    ridge = fraction * free_ridge(epsilon, relation=relation)
    found = calibrated(epsilon, delta, ridge, relation)
    assume(found.score_scale < math.inf)
    reached = perturbed_profile([epsilon], found.score_scale, ridge, relation=relation)[0]
    assert delta * 0.999 <= reached <= delta
    most = found.score_scale * ROUNDING
    assert calibrated(epsilon, delta, ridge * factor, relation).score_scale <= most
    assert calibrated(epsilon * factor, delta, ridge, relation).score_scale <= most
    assert calibrated(epsilon, min(0.5, delta * factor), ridge, relation).score_scale <= most


@settings(max_examples=60)
@given(spread(1e-3, 10.0), spread(1e-12, 1e-2), spread(0.02, 100.0), spread(0.05, 20.0))
@example(math.exp(-1.0), math.exp(-10.0), math.exp(-1.0), 1.0)
def test_replacing_a_row_is_never_cheaper_than_adding_one(
    epsilon: float, delta: float, ridge: float, scale: float
) -> None:
    one, two = (
        calibrated(epsilon, delta, ridge, relation).score_scale for relation in ("add-remove", "replace-one")
    )
    # What is refused for one row added, beyond so many times the least noise, is dear for one exchanged.
    most = MOST_NOISE / gdp_mu(epsilon, delta)
    assert two >= min(one, most) * (1.0 - 1e-9)
    grid = np.array([0.0, 0.5, 1.0, 3.0]) * epsilon
    added = perturbed_profile(grid, scale, ridge, relation="add-remove")
    replaced = perturbed_profile(grid, scale, ridge, relation="replace-one")
    assert np.all(replaced >= added * (1.0 - 1e-6))
    rate = 1.0 / scale
    assert gamma_epsilon(rate, ridge, relation="replace-one") >= gamma_epsilon(
        rate, ridge, relation="add-remove"
    )
    assert mu_perturbed(scale, ridge, relation="replace-one") == 2.0 * mu_perturbed(
        scale, ridge, relation="add-remove"
    )


@settings(max_examples=100)
@given(spread(0.02, 100.0), spread(0.1, 50.0), RELATIONS, spread(1.01, 3.0))
def test_profiles_are_monotone_probabilities_between_the_gaussian_and_the_gdp_one(
    ridge: float, scale: float, relation: Relation, factor: float
) -> None:
    steps = 1 if relation == "add-remove" else 2
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 20.0, 40)])
    profile = perturbed_profile(grid, scale, ridge, relation=relation)
    assert np.all((profile >= 0.0) & (profile <= 1.0))
    assert np.all(np.diff(profile) <= 0.0)
    mu = mu_perturbed(scale, ridge, relation=relation)
    assert np.all(profile >= gdp_profile(grid, steps / scale) * (1.0 - 1e-6))
    assert np.all(profile <= gdp_profile(grid, mu) * (1.0 + 1e-6) + 1e-14)
    more = perturbed_profile(grid, scale, ridge * factor, relation=relation)
    assert np.all(more <= profile * (1.0 + 1e-3) + 1e-300)  # a finer grid of splits would be monotone


@settings(max_examples=60)
@given(spread(0.01, 3.0), spread(0.3, 20.0), RELATIONS)
def test_gaussian_dp_noise_keeps_its_mu(mu: float, fraction: float, relation: Relation) -> None:
    steps = 1 if relation == "add-remove" else 2
    ridge = fraction * 2.0 * (steps / mu) ** 2
    try:
        scale = gaussian_scale_gdp(mu, ridge, relation=relation).score_scale
    except MethodError:
        assume(False)
    assert mu_perturbed(scale, ridge, relation=relation) <= mu * (1.0 + 1e-14)
    assert steps / mu <= scale <= (1.0 if fraction > 1.0 else math.inf) * steps / mu * (1.0 + 1e-8)


@pytest.mark.audit
@settings(max_examples=15)
@given(st.lists(EVENTS, min_size=1, max_size=4), EVENTS, spread(1e-5, 1e-2))
def test_compositions_are_monotone_symmetric_and_never_worse_than_sums(
    events: list[Event], extra: Event, delta: float
) -> None:
    together = compose(events, delta=delta)
    assert 0.0 <= together <= basic_composition(events, delta)
    assert compose(events[::-1], delta=delta) == pytest.approx(together, rel=1e-9, abs=1e-9)
    # Losses are rounded to a grid of at most 1e-4 per event.
    assert compose([*events, extra], delta=delta) >= together - 1e-3
    assert compose(events, delta=2.0 * delta) <= together + 1e-9


@given(EPSILONS, spread(1e-12, 0.1), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_what_a_guarantee_allows_is_consistent(
    epsilon: float, delta: float, prior: float, rate: float
) -> None:
    pure = Guarantee(epsilon, 0.0, "pure", "replace-one", "one row")
    loose = Guarantee(epsilon, delta, "approximate", "replace-one", "one row")
    assert prior <= pure.posterior(prior) * (1.0 + 1e-12) <= 1.0 + 1e-12
    assert max(prior, 1.0 - prior) * (1.0 - 1e-12) <= pure.guess(prior) <= loose.guess(prior) + 1e-15
    assert rate * (1.0 - 1e-12) <= pure.true_positive_rate(rate) <= loose.true_positive_rate(rate) <= 1.0
    assert loose.group(2)[0] == 2.0 * epsilon
    assert pure_curve(0.0, epsilon) == pytest.approx(2.0 * pure.posterior(0.5) - 1.0, rel=1e-9, abs=1e-12)
