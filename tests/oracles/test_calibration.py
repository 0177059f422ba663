"""Noise scales against independent programs: Google's dp-accounting and a slow reference of Theorem A2."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from dpglm.privacy.accountant import basic_composition, compose
from dpglm.privacy.budget import pure_curve
from dpglm.privacy.events import ApproximateEvent, Event, GaussianEvent, PureEvent
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu, gdp_profile
from dpglm.privacy.theorems import free_ridge, mu_perturbed, perturbed_profile
from tests.calibrated import gamma_rate, gaussian_scale, gaussian_scale_gdp, theorem
from tests.effort import quick
from tests.oracles.reference_mu_objpert import mu_objpert

Relation = Literal["add-remove", "replace-one"]
STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}
RELATIONS = list(STEPS)
EPSILONS = (1e-3, 0.1, 1.0, 4.0, 10.0)
DELTAS = (1e-10, 1e-6, 1e-3)


def google_scale(epsilon: float, delta: float) -> float:
    """Scale of Gaussian noise of sensitivity 1, found with the profile of dp-accounting."""
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    def excess(log_scale: float) -> float:
        reached = GaussianPrivacyLoss(math.exp(log_scale)).get_delta_for_epsilon(epsilon)
        return math.log(max(reached, 1e-300)) - math.log(delta)

    return math.exp(optimize.brentq(excess, -3.0, 12.0, xtol=1e-13))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_theorem_b_needs_the_noise_of_the_gaussian_mechanism(
    relation: Relation, epsilon: float, delta: float
) -> None:
    ridge = free_ridge(epsilon, relation=relation)
    found = gaussian_scale(epsilon, delta, ridge, relation=relation)
    assert theorem(epsilon, delta, ridge, relation) == "B"
    expected = STEPS[relation] * google_scale(epsilon, delta)
    assert found.score_scale == pytest.approx(expected, rel=1e-6)


def test_the_profile_agrees_with_the_privacy_loss_distribution() -> None:
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    for mu in (0.1, 0.5, 2.0):
        pld = from_gaussian_mechanism(1.0 / mu)
        for epsilon in (0.0, mu, 3.0 * mu):
            # Its grid of losses rounds up by design; 1e-4 wide, hence 1e-5 relative.
            assert gdp_delta(epsilon, mu) == pytest.approx(
                pld.get_delta_for_epsilon(epsilon), rel=1e-5, abs=0.0
            )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("scale", quick([0.7, 2.0, 5.0, 20.0, 50.0], 0.7, 5.0))
def test_certified_mu_agrees_with_the_reference(relation: Relation, scale: float) -> None:
    for part in (0.3, 0.5, 0.51, 0.6, 1.0, 2.0, 10.0, 50.0):  # ridge is scale^2 / part
        ridge = scale**2 / part
        found = mu_perturbed(scale, ridge, relation=relation)
        expected = STEPS[relation] * mu_objpert(scale, part / scale**2)
        assert found == pytest.approx(expected, rel=1e-6)


def test_gdp_scales_agree_with_the_reference() -> None:
    for mu, ridge in ((0.05, 2000.0), (0.3, 60.0), (1.0, 4.0)):
        for relation in RELATIONS:
            found = gaussian_scale_gdp(mu, ridge, relation=relation).score_scale
            steps = STEPS[relation]
            if ridge >= 2.0 * found**2:
                assert found == pytest.approx(steps / mu, rel=1e-6)
            else:
                assert steps * mu_objpert(found, 1.0 / ridge) == pytest.approx(mu, rel=1e-6)


def test_loss_bound_agrees_with_a_plain_riemann_sum() -> None:
    z = np.linspace(-12.0, 12.0, 480_001)
    weight = stats.norm.pdf(z) * (z[1] - z[0])
    for scale, s in itertools.product((0.5, 2.0, 20.0), (0.02, 0.6, 3.0, 30.0)):
        mu, gap = 1.0 / scale, s - 0.5 / scale**2
        if gap <= 0.0:
            continue
        slope = mu * z + s
        a = np.clip(slope / (2 * gap), 0.0, 1.0)
        psi = np.minimum(a * slope - a * a * gap, np.maximum(0.0, mu * z + mu * mu / 2) + math.log1p(s / 4))
        epsilons = gap * np.array([0.05, 0.3, 0.7, 0.95, 1.0, 1.5])
        expected = np.array([np.dot(weight, np.maximum(-np.expm1(e - psi), 0.0)) for e in epsilons])
        found = perturbed_profile(epsilons, scale, 1.0 / s, relation="add-remove")
        expected = np.minimum(expected, gdp_delta(0.0, mu))
        # The sum is exact to the square of its step at kinks, and the closed form is rounded up by 1e-9.
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-16)


def test_pure_rates_follow_theorem_a1_by_brute_force() -> None:
    a = np.linspace(0.0, 1.0, 200_001)
    for relation, epsilon, fraction in itertools.product(RELATIONS, (0.2, 1.0, 5.0), (2.0, 0.7, 0.3)):
        ridge = fraction * STEPS[relation] / epsilon
        rate = gamma_rate(epsilon, ridge, relation=relation)
        worst = np.max(rate * a + np.log1p(a * (1.0 - a) / ridge))
        # The maximum over a grid of a is low by at most the square of its step.
        assert (STEPS[relation] - 1) * rate + worst == pytest.approx(epsilon, rel=1e-8)


def test_tail_of_the_profile_keeps_its_relative_accuracy() -> None:
    """The difference of two tiny numbers, against their logarithms."""
    for mu, x in itertools.product((0.3, 1.0, 4.0), (1.0, 5.0, 20.0, 30.0)):
        epsilon = mu * (x + mu / 2.0)
        first, second = stats.norm.logcdf(-x), epsilon + stats.norm.logcdf(-x - mu)
        expected = math.exp(first) * -math.expm1(second - first)
        assert gdp_delta(epsilon, mu) == pytest.approx(expected, rel=1e-10, abs=0.0)
        assert gdp_profile([epsilon], mu)[0] == pytest.approx(expected, rel=1e-10, abs=0.0)


def test_the_profile_of_a_small_mu_keeps_its_relative_accuracy() -> None:
    """d delta / d mu is the normal density at epsilon / mu - mu / 2: integrate it from 0."""
    for mu, x in itertools.product((1e-7, 1e-5, 1e-3, 0.05, 0.5), (-0.01, 1.0, 4.0, 7.0)):
        epsilon = mu * (x + mu / 2.0)
        if epsilon < 0.0:
            epsilon = 0.0

        def density(part: float, epsilon: float = epsilon, mu: float = mu) -> float:
            return mu * float(stats.norm.pdf(epsilon / (part * mu) - part * mu / 2.0)) if part else 0.0

        expected = integrate.quad(density, 0.0, 1.0, points=[0.5, 0.8, 0.95], epsabs=0.0, epsrel=1e-12)[0]
        assert gdp_delta(epsilon, mu) == pytest.approx(expected, rel=1e-11, abs=0.0)
        assert gdp_profile([epsilon], mu)[0] == pytest.approx(expected, rel=1e-11, abs=0.0)


def test_equal_pure_releases_compose_optimally() -> None:
    """Against the exact sum of Kairouz, Oh and Viswanath (2017), Theorem 3.3."""
    count, each, delta = 100, 0.05, 1e-6
    j = np.arange(count + 1)
    log_p, log_q = -math.log1p(math.exp(-each)), -math.log1p(math.exp(each))
    weights = np.exp(
        np.array([math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in j])
        + (count - j) * log_p
        + j * log_q
    )

    def excess(epsilon: float) -> float:
        loss = (count - 2 * j) * each
        return float(np.dot(weights, np.maximum(-np.expm1(np.minimum(epsilon - loss, 9.0)), 0.0))) - delta

    exact = optimize.brentq(excess, 0.0, count * each)
    assert exact == pytest.approx(2.21, abs=0.005)
    found = compose([PureEvent(each)] * count, delta=delta)
    assert exact * (1.0 - 1e-9) <= found <= exact * 1.0001


def test_mixed_compositions_cover_an_independent_quadrature() -> None:
    """A Gaussian and a randomised response: the profile is a mean of shifted Gaussian ones."""
    pure, mu, delta = 0.4, 0.3, 1e-6
    heads = 1.0 / (1.0 + math.exp(-pure))

    def excess(epsilon: float) -> float:
        # Loss of the response is +pure or -pure: E over it of the Gaussian profile at what is left.
        return heads * gdp_delta(epsilon - pure, mu) + (1.0 - heads) * gdp_delta(epsilon + pure, mu) - delta

    exact = optimize.brentq(excess, 0.0, 5.0)
    found = compose([PureEvent(pure), GaussianEvent(mu)], delta=delta)
    assert exact <= found <= exact * 1.001
    assert found <= basic_composition([PureEvent(pure), GaussianEvent(mu)], delta)


def test_closed_compositions_agree_with_the_numeric_one() -> None:
    from dp_accounting.pld import common, privacy_loss_distribution

    single: list[tuple[Event, float, float]] = [
        (PureEvent(0.7), 0.7, 0.0),
        (ApproximateEvent(0.7, 1e-3), 0.7, 1e-3),
    ]
    for event, epsilon, own in single:
        pld = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, own)
        )
        for delta in (1e-2, 0.1):
            expected = pld.get_epsilon_for_delta(delta)
            assert compose([event], delta=delta) == pytest.approx(expected, abs=1e-4)  # its grid of losses
    assert compose([GaussianEvent(0.6)] * 4, delta=1e-6) == pytest.approx(gdp_epsilon(1.2, 1e-6), rel=1e-12)
    assert pure_curve(0.3, 0.7) == pytest.approx(
        (math.exp(0.7) - math.exp(0.3)) / (1 + math.exp(0.7)), rel=1e-12
    )


def test_scales_are_rounded_up() -> None:
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        assert gdp_delta(epsilon, gdp_mu(epsilon, delta)) <= delta
        assert gdp_delta(epsilon, gdp_mu(epsilon, delta) * (1.0 + 3e-9)) > delta
