"""Calls of the accounting on grids that cross every threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dpglm.privacy import calibration, gdp, joint_profile, theorems
from dpglm.privacy.budget import Relation
from tests import calibrated
from tests.golden.numbers import Case, Section, asked, told

INF, NAN = math.inf, math.nan
BOTH: tuple[Relation, ...] = ("add-remove", "replace-one")
DELTAS = (1e-300, 1e-18, 1e-6, 1e-3, 1e-2, 0.3, 0.5, 0.9)


def deltas_of_mu() -> Iterator[Case]:
    epsilons = (-INF, -30.0, -2.0, -0.1, 0.0, 1e-3, 0.1, 1.0, 3.0, 20.0, INF)
    for epsilon, mu in product(epsilons, (0.0, 1e-6, 1e-3, 0.0999, 0.1, 0.5, 1.0, 3.0, 10.0, INF)):
        yield asked(gdp.gdp_delta, epsilon, mu)
    for epsilon, mu in ((NAN, 1.0), (1.0, -1e-9), (1.0, NAN)):
        yield asked(gdp.gdp_delta, epsilon, mu)
    for mu in (1e-3, 0.0999, 0.1, 0.5, 3.0, 10.0):
        yield asked(gdp.gdp_profile, np.array([-20.0, -1.0, -1e-3, 0.0, 1e-3, 0.2, 1.0, 5.0]), mu)


def mu_and_epsilon() -> Iterator[Case]:
    for epsilon, delta in product((0.0, 1e-4, 0.1, 1.0, 5.0, 50.0), DELTAS):
        yield asked(gdp.gdp_mu, epsilon, delta)
    for mu, delta in product((0.0, 1e-3, 0.0999, 0.1, 0.5, 2.0, 10.0), DELTAS):
        yield asked(gdp.gdp_epsilon, mu, delta)
    for delta in (0.0, 1.0, -1e-9, NAN):
        yield asked(gdp.gdp_mu, 1.0, delta)
        yield asked(gdp.gdp_epsilon, 1.0, delta)
    for value in (-1e-9, INF, NAN):
        yield asked(gdp.gdp_mu, value, 1e-6)
        yield asked(gdp.gdp_epsilon, value, 1e-6)


def conversions() -> Iterator[Case]:
    for value in (0.0, 1e-6, 0.125, 1.0, 5.0, 50.0, 800.0, -1.0, INF, NAN):
        yield asked(gdp.rho_from_mu, value)
        yield asked(gdp.mu_from_rho, value)
        yield asked(gdp.mu_from_pure, value)
    for epsilon, pure in product((-2.0, 0.0, 0.3, 1.0, 2.0), (0.0, 0.1, 1.0, 5.0, 800.0)):
        yield asked(gdp.pure_delta, epsilon, pure)
    for value, goal in ((0.0, 1e-6), (1e-6, 1e-6), (2e-300, 1e-300), (0.5, 0.25)):
        yield asked(gdp.log_ratio, value, goal)
    yield told("the root of 2", lambda: gdp.conservative_root(lambda x: x * x - 2.0, 1.0, 2.0))
    yield told(
        "the root of 2, roughly", lambda: gdp.conservative_root(lambda x: x * x - 2.0, 1.0, 2.0, close=1e-3)
    )
    yield told("from above", lambda: gdp.conservative_root(lambda x: 2.0 - x * x, 2.0, 1.0))
    yield told("none is broken", lambda: gdp.conservative_root(lambda x: x - 2.0, 1.0, 2.0))
    yield told("a jump", lambda: gdp.conservative_root(lambda x: math.copysign(1.0, x - 1.5), 1.0, 2.0))


def pure_prices() -> Iterator[Case]:
    ridges = (1e-3, 0.1, 0.5, 1.0, 10.0, 1e6)
    for rate, ridge, relation in product((0.01, 0.3, 1.0, 2.0, 2.5, 10.0), ridges, BOTH):
        yield asked(theorems.gamma_epsilon, rate, ridge, relation=relation)
    for bad in ((0.0, 1.0), (1.0, 0.0), (INF, 1.0), (1.0, NAN), (1.0, INF)):
        yield asked(theorems.gamma_epsilon, *bad, relation="add-remove")
    yield asked(theorems.gamma_epsilon, 1.0, 1.0, relation="bounded")
    for pure in (0.1, 1.0, 20.0):
        yield asked(theorems.pure_curve, [-1.0, 0.0, 0.05, 0.5, 1.0, 5.0], pure)


def mu_of_minimisers() -> Iterator[Case]:
    for scale, share, relation in product((0.5, 5.0, 50.0), (INF, 4.0, 2.0, 1.99, 0.5, 0.02), BOTH):
        yield asked(theorems.mu_perturbed, scale, share * scale**2, relation=relation)


def profiles_of_minimisers() -> Iterator[Case]:
    epsilons = np.array([2.0, 0.0, 1e-3, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0])
    for ridge, relation in product((1e-2, 0.5, 1.0, 5.0, 40.0, 1e4), BOTH):
        yield asked(theorems.perturbed_profile, epsilons, 4.0, ridge, relation=relation)
    for max_leverage, relation in product((0.02, 0.3, 1.0, 4.0), BOTH):
        yield asked(
            theorems.perturbed_profile, epsilons, 4.0, 1.0, relation=relation, max_leverage=max_leverage
        )
    yield asked(theorems.perturbed_profile, 0.5, 4.0, 2.0, relation="replace-one")
    yield asked(theorems.perturbed_profile, [-0.1], 4.0, 2.0, relation="replace-one")
    yield asked(theorems.perturbed_profile, [0.1], 4.0, 2.0, relation="replace-one", max_leverage=-1.0)
    yield asked(theorems.perturbed_profile, [0.1], 4.0, 2.0, relation="replace-one", max_leverage=INF)


def losses_of_minimisers() -> Iterator[Case]:
    epsilons = np.array([0.0, 1e-3, 0.04, 0.05, 0.1, 0.2, 0.25, 0.48, 0.5, 0.96, 1.0, 2.0, 9.0])
    for mu, s, steps in product((0.05, 0.2, 1.0, 4.0), (1e-3, 0.02, 0.5, 3.0, 40.0, 900.0), (1, 2)):
        for cover in (0.0, math.log1p(s / 4.0)):
            yield asked(joint_profile.loss_bound, epsilons[::3], mu, s, steps, cover)
    # Exponents that exp cannot take.
    yield asked(joint_profile.loss_bound, np.array([612.01, 800.0]), 33.400969243341265, 399451.9158261892, 1)
    for mu, s, steps in product((0.2, 1.0), (0.02, 0.5, 3.0), (1, 2)):
        for cover in (0.0, math.log1p(s / 4.0)):
            yield asked(joint_profile.profile_bound, epsilons, mu, s, steps, cover, 6)
            words = "".join(
                "GX"[not joint_profile.is_gaussian_at(epsilon, mu, s, steps, cover)] for epsilon in epsilons
            )
            yield f"Gaussian at mu={mu}, s={s}, steps={steps}, exact_from={cover:.6g}", words


def certificates() -> Iterator[Case]:
    for mu, s in product((0.01, 0.05, 0.5, 2.0), (1e-4, 2e-3, 0.025, 1.0, 30.0)):
        if s > mu * mu / 2.0:
            yield asked(joint_profile.certified_mu, mu, s)


def staged_profiles() -> Iterator[Case]:
    for steps, uniform, beside in product((1, 2), (False, True), (0.0, 0.02, 0.2, 1.0)):
        for epsilon, max_leverage in product((-0.5, 0.0, 0.3, 1.0, 2.0), (0.01, 0.4, 3.0)):
            yield asked(joint_profile.joint_delta, epsilon, 0.2, max_leverage, steps, beside, uniform=uniform)
    for epsilon in (-1.0, 0.0, 1.0):
        yield asked(joint_profile.joint_delta, epsilon, 1.0, 0.3, 2, 0.5, uniform=True)
        yield asked(joint_profile.joint_delta, epsilon, 1.0, 1e-4, 2, 0.5)
    for steps, beside, epsilon in product((1, 2), (0.0, 0.2), (-1.0, 0.0, 0.2, 1.0, 9.0)):
        yield asked(theorems.bounded_delta, epsilon, 0.2, 0.05, steps, beside)
    for max_leverage in (1e-9, 0.05, 2.0):
        yield asked(theorems.bounded_shift, max_leverage)


def noise_for_one() -> Iterator[Case]:
    for epsilon, relation in product((0.01, 1.0, 8.0), BOTH):
        yield asked(calibration.free_ridge, epsilon, relation=relation)
    for epsilon, relation, ridge in product((0.1, 1.0, 8.0), BOTH, (1e-4, 0.1, 0.3, 0.99, 1.0, 2.0, 30.0)):
        yield asked(calibrated.gamma_rate, epsilon, ridge, relation=relation)


def gaussian_noise_for_one() -> Iterator[Case]:
    ridges = (1e-3, 0.1, 0.3, 0.7, 1.0, 1.9, 2.0, 40.0, 500.0)
    for epsilon, relation, ridge in product((0.05, 1.0, 4.0), BOTH, ridges):
        yield asked(calibrated.gaussian_scale, epsilon, 1e-6, ridge, relation=relation)
    yield asked(calibrated.gaussian_scale, 1.0, 0.05, 0.9, relation="replace-one")
    yield asked(calibrated.gaussian_scale, 0.0, 1e-6, 0.5, relation="replace-one")
    for share in (0.3, 0.499, 0.501, 0.7):  # of the squared mu, around the threshold of Theorem A2
        max_leverage = share * gdp.gdp_mu(1e-3, 1e-6) ** 2 / 4.0
        yield asked(calibrated.gaussian_scale, 1e-3, 1e-6, 1.0 / max_leverage, relation="replace-one")


def gaussian_noise_for_mu() -> Iterator[Case]:
    for mu, relation in product((0.01, 0.1, 0.4, 2.0), BOTH):
        free = 2.0 * (theorems.STEPS[relation] / mu) ** 2
        for share in (1e-9, 0.004, 0.01, 0.1, 0.3, 0.99, 1.0 - 1e-12, 1.0, 1.0 + 1e-8, 3.0):
            yield asked(calibrated.gaussian_scale_gdp, mu, share * free, relation=relation)


def noise_for_pairs() -> Iterator[Case]:
    for max_leverage, relation, uniform in product((0.02, 0.4, 1.5), BOTH, (False, True)):
        more: dict[str, Any] = {"relation": relation, "uniform": uniform, "information_sensitivity": 0.25}
        yield _pair(calibrated.calibrate_pair, 1.0, 1e-6, max_leverage, **more)
    yield _pair(
        calibrated.calibrate_pair, 0.2, 1e-6, 0.5, relation="replace-one", information_sensitivity=0.36
    )
    yield _pair(
        calibrated.calibrate_pair, 0.2, 1e-6, 3.0, relation="replace-one", information_sensitivity=0.36
    )
    for share, blur in ((0.3, 0.02), (0.7, 0.3), (0.0, 0.1), (1.0, 0.1), (0.5, 0.0), (0.5, 1.0)):
        more = {
            "relation": "add-remove",
            "information_sensitivity": 1.0,
            "share": share,
            "residual_share": blur,
        }
        yield _pair(calibrated.calibrate_pair, 1.0, 1e-6, 0.4, **more)
        yield asked(calibrated.calibrate_pair_gdp, 0.25, **more)
        yield _pair(calibrated.calibrate_pair_pure, 1.0, None, 1.5, **more)
        yield _pair(calibrated.calibrate_bounded, 1.0, 1e-6, 0.05, **more)
        yield _pair(calibrated.calibrate_bounded_pure, 1.0, None, 0.05, **more)


def noise_for_pure_pairs() -> Iterator[Case]:
    for epsilon, max_leverage, relation in product((0.1, 1.0, 5.0), (1e-3, 0.05, 0.4, 6.0), BOTH):
        more: dict[str, Any] = {"relation": relation, "information_sensitivity": 0.25}
        yield _pair(calibrated.calibrate_pair_pure, epsilon, None, max_leverage, **more)
        yield _pair(calibrated.calibrate_bounded, epsilon, 1e-6, max_leverage, **more)
        yield _pair(calibrated.calibrate_bounded_pure, epsilon, None, max_leverage, **more)
    for mu, relation in product((0.01, 0.25, 3.0), BOTH):
        yield asked(calibrated.calibrate_pair_gdp, mu, relation=relation, information_sensitivity=0.25)


def _pair(function: Any, epsilon: float, delta: float | None, max_leverage: float, **more: Any) -> Case:
    """Of a ridge that grows as the noise shrinks, as methods choose it."""
    asked_for = (epsilon,) if delta is None else (epsilon, delta)
    words = ", ".join(f"{key}={value!r}" for key, value in more.items())
    name = f"{function.__name__}({', '.join(map(repr, asked_for))}, max_leverage={max_leverage}, {words})"
    return told(
        name,
        lambda: function(
            *asked_for, max_leverage_of=lambda scale: max_leverage * (1.0 + 0.1 / scale), **more
        ),
    )


SECTIONS: dict[str, Section] = {
    "delta of mu": deltas_of_mu,
    "mu and epsilon": mu_and_epsilon,
    "conversions": conversions,
    "pure prices": pure_prices,
    "mu of minimisers": mu_of_minimisers,
    "profiles of minimisers": profiles_of_minimisers,
    "losses of minimisers": losses_of_minimisers,
    "certificates": certificates,
    "staged profiles": staged_profiles,
    "noise for one": noise_for_one,
    "Gaussian noise for one": gaussian_noise_for_one,
    "Gaussian noise for mu": gaussian_noise_for_mu,
    "noise for pairs": noise_for_pairs,
    "noise for pure pairs": noise_for_pure_pairs,
}
