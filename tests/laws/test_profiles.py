"""Privacy profiles reached by two roads are the same, and sums stay close where steps are fine."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from dpglm.privacy.accountant import compose
from dpglm.privacy.events import ApproximateEvent, PureEvent
from dpglm.privacy.gdp import gdp_delta, gdp_profile
from dpglm.privacy.joint_profile import is_gaussian_at, joint_delta, loss_bound, profile_bound


def test_with_nothing_released_beside_it_a_minimiser_costs_its_own_profile() -> None:
    """`profile_bound` and `joint_delta` meet where the integral has nothing to integrate."""
    for mu, max_leverage, epsilon in itertools.product(
        (0.05, 0.2, 0.6), (0.05, 0.4, 2.0), (0.0, 0.01, 0.02, 0.07, 0.1, 0.3, 0.5, 2.0)
    ):
        profile, both = (profile_bound(np.array([epsilon]), mu, max_leverage, n)[0] for n in (1, 2))
        alone = joint_delta(epsilon, mu, max_leverage, 1, 0.0)
        assert alone == pytest.approx(profile, rel=1e-9, abs=1e-300)
        six = joint_delta(epsilon, mu, max_leverage, 2, 0.0)
        assert six >= both * (1.0 - 1e-9)
        # It tries six splits instead of 65, and the plain shift of Theorem A2'.
        assert six <= gdp_delta(epsilon - math.log1p(max_leverage / 4.0), 2.0 * mu) * (1.0 + 1e-9)


def test_the_loss_bound_is_the_plain_integral_just_below_the_shift() -> None:
    """Where the minimum of psi has all its pieces, and the cap at epsilon 0 is not what decides."""
    z = np.linspace(-12.0, 12.0, 480_001)
    weight = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    decided = 0
    for mu, s in itertools.product((0.2, 0.5, 1.0), (0.3, 2.5, 3.0, 6.0, 30.0)):
        gap, shift = s - mu * mu / 2.0, math.log1p(s / 4.0)
        y = mu * z + s
        a = np.clip(y / (2.0 * gap), 0.0, 1.0)
        psi = np.minimum(a * y - a * a * gap, shift + np.maximum(0.0, y - gap))
        for e in (shift * np.array([0.8, 0.95, 0.99, 1.0, 1.05, 1.5])).tolist():
            if not 0.0 < e < gap:
                continue
            expected = float(weight @ np.maximum(-np.expm1(e - psi), 0.0))
            decided += expected < gdp_delta(0.0, mu)
            found = loss_bound(np.array([e]), mu, s, 1)[0]
            assert found == pytest.approx(min(expected, gdp_delta(0.0, mu)), rel=1e-5, abs=1e-14)
    assert decided > 20


def test_a_row_put_in_costs_no_more_than_its_own_profile_beside_a_row_taken_out_at_zero() -> None:
    """H(e) <= W(0) + V(e): a split at 0 is always tried, and it is the best one for a tiny ridge."""
    for mu, epsilon in itertools.product((0.1, 0.2, 0.5), (0.5, 1.0, 2.0)):
        found = loss_bound(np.array([epsilon]), mu, 50.0, 2)[0]
        assert found <= (gdp_delta(0.0, mu) + gdp_delta(epsilon, mu)) * (1.0 + 1e-8)
        # Also the split at which the first row's profile is Gaussian again.
        s = 0.4 * epsilon
        edge = s - mu * mu / 2.0
        if 0.0 < edge < epsilon:
            rest = gdp_delta(edge, mu) + math.exp(edge) * gdp_delta(epsilon - edge, mu)
            assert loss_bound(np.array([epsilon]), mu, s, 2, 2)[0] <= rest * (1.0 + 1e-8)


def test_the_staged_sum_stays_close_where_little_is_released_beside() -> None:
    """Where the range of excess ends near e, its cells are as fine as e is narrow: within 0.4 %."""
    z = np.linspace(-9.0, 9.0, 20_001)
    weight = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for mu, max_leverage, nu, epsilon in (
        (0.2, 0.6, 0.02, 0.6),
        (0.2, 0.6, 0.01, 0.58),
        (0.2, 0.6, 0.005, 0.585),
    ):
        shift = math.log1p(max_leverage / 4.0)
        e = epsilon - nu * z - nu**2 / 2.0
        bound = profile_bound(np.abs(e), mu, max_leverage, 1)
        profile = np.where(e >= 0, bound, -np.expm1(-np.abs(e)) + np.exp(-np.abs(e)) * bound)
        expected = min(float(weight @ profile), gdp_delta(epsilon - shift, math.hypot(mu, nu)))
        found = joint_delta(epsilon, mu, max_leverage, 1, nu)
        assert expected * (1.0 - 1e-4) <= found <= expected * 1.004


def test_a_ridge_with_gaussian_noise_enough_costs_the_gaussian_profile() -> None:
    """Theorem A2 at s = k, to the last digit of the comparison, and not beyond it."""
    mu = 0.5
    for steps, beside in itertools.product((1, 2), (0.0, 0.3)):
        total = math.hypot(steps * mu, beside)
        for epsilon in (0.0, 0.1, 0.5):
            enough = joint_delta(epsilon, mu, 0.999 * mu**2 / 2.0, steps, beside)
            assert enough == pytest.approx(gdp_delta(epsilon, total), rel=1e-12)
    assert joint_delta(0.3, 0.5, 0.5, 2, 0.3) > gdp_delta(0.3, math.hypot(1.0, 0.3)) * 1.0001


def exact_epsilon(parts: list[tuple[float, int]], delta: float) -> float:
    """Of randomised responses of these epsilons, by their exact joint distribution."""
    losses, log_weights = np.zeros(1), np.zeros(1)
    for epsilon, count in parts:
        j = np.arange(count + 1)
        choose = np.array(
            [math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in j.tolist()]
        )
        logs = choose - (count - j) * math.log1p(math.exp(-epsilon)) - j * math.log1p(math.exp(epsilon))
        losses = np.add.outer(losses, (count - 2 * j) * epsilon).ravel()
        log_weights = np.add.outer(log_weights, logs).ravel()
    weights = np.exp(log_weights)

    def excess(epsilon: float) -> float:
        return float(weights @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 9.0)), 0.0)) - delta

    return float(optimize.brentq(excess, 0.0, sum(epsilon * count for epsilon, count in parts), xtol=1e-13))


def test_many_small_releases_beside_a_large_one_compose_exactly() -> None:
    """Losses are rounded up to a grid that is a hundredth of the smallest: at most 1 % of the small ones."""
    for small, count, large in ((0.00123, 60, 0.4), (0.000301, 40, 0.01)):
        exact = exact_epsilon([(small, count), (large, 1)], 1e-6)
        found = compose([PureEvent(small)] * count + [PureEvent(large)], delta=1e-6)
        assert exact * (1.0 - 1e-9) <= found <= exact + 0.01 * small * count
        assert found < large + small * count * 0.999


def test_equal_releases_compose_without_rounding() -> None:
    """The grid of losses then divides the one loss there is, whatever its digits."""
    for each, count in ((0.0123457, 100), (0.3141, 12)):
        found = compose([PureEvent(each)] * count, delta=1e-6)
        assert found == pytest.approx(exact_epsilon([(each, count)], 1e-6), rel=1e-6)


def test_where_the_ridge_is_between_k_and_twice_k_only_the_ends_are_gaussian() -> None:
    """One row: from s - k on. Two rows: up to 2 k, and from 2 s on."""
    mu, s = 1.0, 0.75
    for steps, gaussian in ((1, (0.26, 1.2)), (2, (0.5, 0.99, 1.51))):
        assert all(is_gaussian_at(epsilon, mu, s, steps) for epsilon in gaussian)
    for steps, other in ((1, (0.1, 0.24)), (2, (1.01, 1.2, 1.49))):
        assert not any(is_gaussian_at(epsilon, mu, s, steps) for epsilon in other)
        for epsilon in other:
            claim = profile_bound(np.array([epsilon]), mu, s, steps)[0]
            assert claim > gdp_delta(epsilon, steps * mu) * (1.0 + 1e-8)


def test_events_that_are_points_keep_their_deltas_apart() -> None:
    """(E, d) is randomised response with a tell-tale of probability d: k of them tell with 1 - (1 - d)^k."""
    own, count, delta = 1e-4, 5, 1e-3
    told = 1.0 - (1.0 - own) ** count
    exact = exact_epsilon([(0.1, count)], (delta - told) / (1.0 - told))
    found = compose([ApproximateEvent(0.1, own)] * count, delta=delta)
    assert exact * (1.0 - 1e-9) <= found <= exact * 1.002
    alone = compose([ApproximateEvent(0.7, own)], delta=delta)
    assert alone == pytest.approx(exact_epsilon([(0.7, 1)], (delta - own) / (1.0 - own)), rel=1e-9)


def test_profiles_in_arrays_are_those_of_single_numbers() -> None:
    """All branches: negative epsilons, small mu, both sides of one standard deviation, the far tail."""
    for mu in (1e-6, 0.01, 0.0999, 0.1001, 0.5, 3.0, 20.0):
        epsilons = np.concatenate([-mu * np.array([0.1, 1.0, 5.0]), mu * np.linspace(0.0, 20.0, 41)])
        expected = [gdp_delta(epsilon, mu) for epsilon in epsilons.tolist()]
        np.testing.assert_allclose(gdp_profile(epsilons, mu), expected, rtol=1e-9, atol=1e-300)


def test_two_rows_split_epsilon_where_gaussian_profiles_attain_equality() -> None:
    """From 2 s on both halves are Gaussian at (epsilon - mu^2) / 2, and their sum is the profile of 2 mu."""
    for mu, s, epsilon in ((0.2, 0.3, 1.0), (0.5, 0.4, 0.9), (0.05, 0.1, 0.25)):
        found = loss_bound(np.array([epsilon]), mu, s, 2)[0]
        assert found == pytest.approx(gdp_delta(epsilon, 2.0 * mu), rel=1e-6)


def test_the_shift_of_theorem_a2_bounds_every_staged_profile() -> None:
    for mu, max_leverage, nu in itertools.product((0.05, 0.2, 0.5), (0.02, 0.2, 2.0), (0.01, 0.2)):
        for steps, epsilon in itertools.product((1, 2), (0.1, 0.5, 1.5)):
            shifted = gdp_delta(epsilon - math.log1p(max_leverage / 4.0), math.hypot(steps * mu, nu))
            assert joint_delta(epsilon, mu, max_leverage, steps, nu) <= shifted * (1.0 + 1e-9)
