"""Sums of losses against closed forms: infinite losses, ties, and what a plain Gaussian bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpglm.errors import PrivacyError
from dpglm.privacy.accountant import composed_profile
from dpglm.privacy.budget import pure_curve
from dpglm.privacy.events import ApproximateEvent, GaussianEvent, PureEvent
from dpglm.privacy.events import SampledGaussianEvent as Sampled
from dpglm.privacy.gdp import gdp_delta
from dpglm.privacy.joint_profile import is_gaussian_at, joint_delta
from dpglm.privacy.loss_distribution import LossSum, privacy_loss


@pytest.mark.parametrize("own", [0.2, 0.6, 0.9])
def test_an_infinite_loss_is_as_likely_as_some_part_of_the_sum_is(own: float) -> None:
    event = ApproximateEvent(0.5, own)
    once = LossSum([(privacy_loss(event, added=False), 1)]).tail(own)
    assert own <= once.delta(5.0) < own + 1e-9
    assert once.delta(0.0) == pytest.approx(own + (1.0 - own) * pure_curve(0.0, 0.5), rel=1e-6)
    twice = LossSum([(privacy_loss(event, added=False), 2)]).tail(own)
    assert twice.delta(5.0) == pytest.approx(1.0 - (1.0 - own) ** 2, rel=1e-9)


@pytest.mark.parametrize("times", [1, 7])
def test_no_loss_is_looked_at_that_cannot_be(times: int) -> None:
    cell = 0.3 / 40.3
    tail = LossSum([(privacy_loss(PureEvent(0.3), added=False), times)], cell).tail(1e-6)
    most = times * math.ceil(0.3 / cell - 1e-6) * cell
    assert tail.losses[-1] == pytest.approx(most)
    assert tail.losses[0] >= -most * (1.0 + 1e-9)


def test_sums_of_many_losses_are_looked_at_where_they_are_likely() -> None:
    tail = LossSum([(privacy_loss(GaussianEvent(0.01), added=False), 10_000)]).tail(1e-6)
    # A normal loss of standard deviation 1, tilted: beyond 8.1 of them, either side, Chernoff leaves 1e-14.
    assert 16.0 < tail.losses[-1] - tail.losses[0] < 16.5


def test_a_sample_of_almost_all_rows_costs_no_more_than_all_rows() -> None:
    events = [Sampled(0.3, 1.0 - 2.0**-40, "fixed", "replace-one")] * 4
    epsilons = np.array([0.5, 1.0, 2.0, 4.0])
    found = composed_profile(events, epsilons)
    most = np.array([gdp_delta(epsilon, 0.6) for epsilon in epsilons.tolist()])
    assert (found <= most).all()
    np.testing.assert_allclose(found, most, rtol=1e-9)
    beside = composed_profile([*events, GaussianEvent(0.8)], epsilons)
    assert (beside <= [gdp_delta(epsilon, 1.0) for epsilon in epsilons.tolist()]).all()


def test_mus_and_rates_that_nobody_feels_are_refused() -> None:
    Sampled(1e-100, 2.0**-60, "poisson", "replace-one")
    for mu, rate in ((0.99e-100, 0.5), (0.5, 2.0**-60.1), (1e-200, 2.0**-70)):
        with pytest.raises(PrivacyError, match="felt at all"):
            Sampled(mu, rate, "poisson", "replace-one")


@pytest.mark.parametrize("mu", [1e-12, 1e-8, 1e-4])
def test_profiles_of_samples_keep_their_digits_at_any_mu(mu: float) -> None:
    for relation in ("replace-one", "add-remove"):
        for added in (False, True):
            profile = privacy_loss(Sampled(mu, 0.1, "poisson", relation), added=added).profile
            for loss in (0.0, 0.5 * mu, 0.8 * mu):  # of epsilons between 0 and 8 standard deviations
                # To first order in mu all three are 0.1 times the Gaussian profile at 10 times epsilon.
                exact = 0.1 * gdp_delta(loss * 10.0, mu)
                assert profile(np.array([loss]))[0] == pytest.approx(exact, rel=1e-10 + 100.0 * mu)


def test_two_steps_at_half_the_square_of_mu_are_gaussian_as_two_rows_are() -> None:
    mu, beside = 0.5, 0.3
    for max_leverage in (mu * mu / 2.0, 0.9 * mu * mu / 2.0):
        for epsilon in (0.2501, 1.0, 3.0):
            assert is_gaussian_at(epsilon, mu, max_leverage, 2)
            exact = gdp_delta(epsilon, math.hypot(2.0 * mu, beside))
            assert joint_delta(epsilon, mu, max_leverage, 2, beside) == exact
    assert not is_gaussian_at(0.2501, mu, 1.01 * mu * mu / 2.0, 2)
