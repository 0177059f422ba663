"""Conversions and compositions: ranges, edges, refusals, speed."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from dpglm.errors import MethodError, PrivacyError
from dpglm.privacy.accountant import basic_composition, compose
from dpglm.privacy.budget import pure_curve
from dpglm.privacy.events import ApproximateEvent, GaussianEvent, PureEvent
from dpglm.privacy.gdp import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    gdp_profile,
    mu_from_pure,
    mu_from_rho,
    rho_from_mu,
)
from dpglm.privacy.joint_profile import is_gaussian_at
from dpglm.privacy.theorems import free_ridge, mu_perturbed, perturbed_profile
from tests.calibrated import gamma_rate, gaussian_scale, gaussian_scale_gdp, theorem
from tests.work import calls_of


def test_mu_and_epsilon_are_inverse_over_the_whole_range() -> None:
    for epsilon in np.geomspace(1e-4, 100.0, 13).tolist():
        for delta in (1e-15, 1e-9, 1e-6, 1e-3, 0.1, 0.5):
            mu = gdp_mu(epsilon, delta)
            assert gdp_delta(epsilon, mu) <= delta < gdp_delta(epsilon, mu * (1.0 + 3e-9))
            back = gdp_epsilon(mu, delta)
            assert gdp_delta(back, mu) <= delta
            # Both are rounded by 1e-9, and epsilon moves with mu at a rate of about 1 where delta is large.
            assert back == pytest.approx(epsilon, rel=1e-7, abs=5e-9)


def test_gdp_edges() -> None:
    assert gdp_delta(1.0, 0.0) == 0.0
    assert gdp_delta(math.inf, 1.0) == 0.0
    assert gdp_delta(0.0, math.inf) == 1.0
    assert gdp_delta(1e6, 1.0) == 0.0
    assert gdp_epsilon(1e-9, 1e-6) == 0.0
    assert gdp_delta(0.0, gdp_mu(0.0, 0.2)) == pytest.approx(0.2, rel=1e-8)
    assert gdp_delta(0.0, gdp_mu(0.0, 1e-8)) == pytest.approx(1e-8, rel=1e-8, abs=0.0)
    assert gdp_epsilon(1e3, 1e-6) == pytest.approx(5e5 + 4753.42, rel=1e-5)


def test_negative_epsilons_follow_the_symmetry_of_the_profile() -> None:
    for epsilon, mu in ((0.3, 0.05), (1.0, 1.0), (5.0, 2.0)):
        expected = 1.0 - math.exp(-epsilon) + math.exp(-epsilon) * gdp_delta(epsilon, mu)
        assert gdp_delta(-epsilon, mu) == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(gdp_profile([-epsilon], mu), expected, rtol=1e-13)


def test_zero_concentrated_and_pure_conversions() -> None:
    assert rho_from_mu(0.5) == 0.125
    assert mu_from_rho(0.125) == 0.5
    # epsilon-DP implies that mu: its profile is nowhere above the Gaussian one, and they touch at epsilon 0.
    for epsilon in (1e-3, 0.5, 3.0, 50.0):
        mu = mu_from_pure(epsilon)
        for part in (0.0, 0.2, 0.5, 0.9, 1.0):
            assert pure_curve(part * epsilon, epsilon) <= gdp_delta(part * epsilon, mu) + 1e-15
        assert pure_curve(0.0, epsilon) == pytest.approx(gdp_delta(0.0, mu), rel=1e-7)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan])
def test_a_meaningless_delta_is_refused(delta: float) -> None:
    with pytest.raises(PrivacyError, match="delta"):
        gdp_mu(1.0, delta)
    with pytest.raises(PrivacyError, match="delta"):
        gdp_epsilon(1.0, delta)


def test_meaningless_numbers_are_refused() -> None:
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(PrivacyError):
            gdp_mu(bad, 1e-6)
        with pytest.raises(PrivacyError):
            PureEvent(bad)
        with pytest.raises(PrivacyError):
            GaussianEvent(bad)
        with pytest.raises(PrivacyError):
            ApproximateEvent(bad, 0.0)
    with pytest.raises(PrivacyError):
        compose([], delta=1.0)
    with pytest.raises(PrivacyError):
        gdp_delta(1.0, -1.0)
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(MethodError, match="max_leverage"):
            gaussian_scale(1.0, 1e-6, bad, relation="add-remove")
        with pytest.raises(MethodError, match="scale"):
            mu_perturbed(bad, 1.0, relation="add-remove")
    with pytest.raises(MethodError, match="relation"):
        free_ridge(1.0, relation="swap")  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="negative"):
        perturbed_profile([-0.1], 1.0, 1.0, relation="add-remove")


def test_a_ridge_too_small_is_refused_and_the_remedy_works() -> None:
    with pytest.raises(MethodError) as refusal:
        gamma_rate(0.1, 0.01, relation="replace-one")
    ridge = float(refusal.value.remedy.split("ridge=")[1].split(" ")[0])
    assert gamma_rate(0.1, ridge, relation="replace-one") == pytest.approx(0.05, rel=1e-8)
    with pytest.raises(MethodError) as refusal:
        gaussian_scale(0.1, 1e-6, 0.01, relation="replace-one")
    ridge = float(refusal.value.remedy.split("ridge=")[1].split(" ")[0])
    assert theorem(0.1, 1e-6, ridge, "replace-one") == "B"
    with pytest.raises(MethodError) as refusal:
        gaussian_scale_gdp(0.5, 0.01, relation="add-remove")
    ridge = float(refusal.value.remedy.split("ridge=")[1].split(" ")[0])
    assert gaussian_scale_gdp(0.5, ridge, relation="add-remove").score_scale == pytest.approx(2.0, rel=1e-8)


def test_theorems_are_named_by_where_they_hold() -> None:
    def named(epsilon: float, delta: float, ridge: float) -> str:
        return theorem(epsilon, delta, ridge, "replace-one")

    assert named(1.0, 1e-6, 2.1) == "B"
    assert named(1.0, 1e-6, 1.0) == "A2"
    assert named(4.0, 1e-6, 0.1) == "A2'"
    assert named(0.1, 0.3, 1.0) == "B"  # epsilon <= mu^2: Gaussian at any ridge
    assert gaussian_scale_gdp(0.4, 50.0, relation="replace-one").score_scale == pytest.approx(5.0, rel=1e-8)


def test_gaussian_epsilons_are_those_that_were_proved() -> None:
    """With mu and s: add-remove from s - mu^2/2 on; replace-one up to mu^2 and from 2 s on."""
    for mu, s in ((0.2, 1.0), (2.0, 9.0)):
        for step, edges in ((1, (s - mu * mu / 2.0,)), (2, (mu * mu, 2.0 * s))):
            for edge in edges:
                above = edge != mu * mu
                assert is_gaussian_at(edge * (1.0 + 1e-6), mu, s, step) is above
                assert is_gaussian_at(edge * (1.0 - 1e-6), mu, s, step) is not above
    assert is_gaussian_at(0.5, 1.0, 0.4, 2)  # s <= mu^2/2: everywhere


def test_compositions_have_their_edges() -> None:
    assert compose([], delta=0.0) == 0.0
    assert compose([PureEvent(0.0), GaussianEvent(0.0)], delta=0.0) == 0.0
    assert compose([PureEvent(0.5)], delta=0.0) == 0.5
    assert compose([PureEvent(0.1)], delta=0.5) == 0.0  # delta alone covers it
    assert compose([GaussianEvent(0.5)], delta=0.0) == math.inf
    assert compose([ApproximateEvent(1.0, 1e-6)], delta=1e-7) == math.inf
    assert compose([ApproximateEvent(1.0, 1e-6)] * 2, delta=1.5e-6) == math.inf
    assert basic_composition([ApproximateEvent(1.0, 1e-6), PureEvent(0.5)], 1e-6) == 1.5


def test_pure_epsilons_are_added_without_the_accounting_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    assert compose([PureEvent(0.5), PureEvent(0.25)], delta=0.0) == 0.75
    assert compose([GaussianEvent(0.5), GaussianEvent(0.25)], delta=1e-6) > 0.0
    with pytest.raises(ImportError):  # where it is needed
        compose([PureEvent(0.5), PureEvent(0.25)], delta=1e-6)


def test_equal_losses_are_composed_in_good_time_however_small() -> None:
    for epsilon in (1.23e-312, 3e-309, 2.3e-308, 1e-200):
        assert 0.0 <= compose([PureEvent(epsilon)] * 2, delta=1e-6) <= 2.0 * epsilon


def test_pure_curve_ends_at_its_epsilon() -> None:
    curve = pure_curve([0.0, 1.0, 2.0, 3.0], 2.0)
    assert curve[0] == pytest.approx(math.tanh(1.0))
    assert curve[2] == curve[3] == 0.0


def test_calibration_on_the_hot_path_takes_few_steps() -> None:
    """One root each, some 130 calls: a plan asks for hundreds of them."""
    ridge = free_ridge(1.0, relation="replace-one")
    assert calls_of(lambda: gdp_mu(1.0, 1e-6)) < 500
    assert calls_of(lambda: gdp_epsilon(0.3, 1e-6)) < 500
    assert calls_of(lambda: gaussian_scale(1.0, 1e-6, ridge, relation="replace-one")) < 500
