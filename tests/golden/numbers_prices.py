"""Calls of the accounting on grids that cross every threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dpglm.privacy import accounting, bounded, calibration, composition, loss_bound, pair, staged, theorems
from dpglm.privacy import search as roots
from dpglm.privacy.budget import Privacy, Relation
from dpglm.privacy.composition import (
    ApproximateEvent,
    BoundedSlopeEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    SampledGaussianEvent,
)
from dpglm.privacy.filter import Balance, PrivacyFilter
from dpglm.privacy.guarantee import Guarantee
from dpglm.privacy.loss_sum import LossSum
from dpglm.privacy.sampled_loss import loss_of
from dpglm.privacy.subsampled import full_batch_scale, sampled_epsilon, sampled_profile, sampled_scale
from tests.golden.numbers import Case, Section, asked, told

INF, NAN = math.inf, math.nan
BOTH: tuple[Relation, ...] = ("add-remove", "replace-one")
DELTAS = (1e-300, 1e-18, 1e-6, 1e-3, 1e-2, 0.3, 0.5, 0.9)


def deltas_of_mu() -> Iterator[Case]:
    epsilons = (-INF, -30.0, -2.0, -0.1, 0.0, 1e-3, 0.1, 1.0, 3.0, 20.0, INF)
    for epsilon, mu in product(epsilons, (0.0, 1e-6, 1e-3, 0.0999, 0.1, 0.5, 1.0, 3.0, 10.0, INF)):
        yield asked(accounting.gdp_delta, epsilon, mu)
    for epsilon, mu in ((NAN, 1.0), (1.0, -1e-9), (1.0, NAN)):
        yield asked(accounting.gdp_delta, epsilon, mu)
    for mu in (1e-3, 0.0999, 0.1, 0.5, 3.0, 10.0):
        yield asked(accounting.gdp_profile, np.array([-20.0, -1.0, -1e-3, 0.0, 1e-3, 0.2, 1.0, 5.0]), mu)


def mu_and_epsilon() -> Iterator[Case]:
    for epsilon, delta in product((0.0, 1e-4, 0.1, 1.0, 5.0, 50.0), DELTAS):
        yield asked(accounting.gdp_mu, epsilon, delta)
    for mu, delta in product((0.0, 1e-3, 0.0999, 0.1, 0.5, 2.0, 10.0), DELTAS):
        yield asked(accounting.gdp_epsilon, mu, delta)
    for delta in (0.0, 1.0, -1e-9, NAN):
        yield asked(accounting.gdp_mu, 1.0, delta)
        yield asked(accounting.gdp_epsilon, 1.0, delta)
    for value in (-1e-9, INF, NAN):
        yield asked(accounting.gdp_mu, value, 1e-6)
        yield asked(accounting.gdp_epsilon, value, 1e-6)


def conversions() -> Iterator[Case]:
    for value in (0.0, 1e-6, 0.125, 1.0, 5.0, 50.0, 800.0, -1.0, INF, NAN):
        yield asked(accounting.rho_from_mu, value)
        yield asked(accounting.mu_from_rho, value)
        yield asked(accounting.mu_from_pure, value)
    for epsilon, pure in product((-2.0, 0.0, 0.3, 1.0, 2.0), (0.0, 0.1, 1.0, 5.0, 800.0)):
        yield asked(accounting.pure_delta, epsilon, pure)
    for value, goal in ((0.0, 1e-6), (1e-6, 1e-6), (2e-300, 1e-300), (0.5, 0.25)):
        yield asked(roots.log_ratio, value, goal)
    yield told("the root of 2", lambda: roots.last_kept(lambda x: x * x - 2.0, 1.0, 2.0))
    yield told("the root of 2, roughly", lambda: roots.last_kept(lambda x: x * x - 2.0, 1.0, 2.0, close=1e-3))
    yield told("from above", lambda: roots.last_kept(lambda x: 2.0 - x * x, 2.0, 1.0))
    yield told("none is broken", lambda: roots.last_kept(lambda x: x - 2.0, 1.0, 2.0))
    yield told("a jump", lambda: roots.last_kept(lambda x: math.copysign(1.0, x - 1.5), 1.0, 2.0))


def pure_prices() -> Iterator[Case]:
    ridges = (1e-3, 0.1, 0.5, 1.0, 10.0, 1e6)
    for rate, ridge, relation in product((0.01, 0.3, 1.0, 2.0, 2.5, 10.0), ridges, BOTH):
        yield asked(theorems.gamma_epsilon, rate, ridge, relation=relation)
    for loss, relation in product(("logistic", "general"), BOTH):
        for more in ({"row_norm": 0.5}, {"slope_max": 0.5}, {"curvature_max": 0.1}):
            yield asked(theorems.gamma_epsilon, 0.3, 0.2, relation=relation, loss=loss, **more)
    for bad in ((0.0, 1.0), (1.0, 0.0), (INF, 1.0), (1.0, NAN), (1.0, INF)):
        yield asked(theorems.gamma_epsilon, *bad, relation="add-remove")
    yield asked(theorems.gamma_epsilon, 1.0, 1.0, relation="bounded")
    for pure in (0.1, 1.0, 20.0):
        yield asked(theorems.pure_curve, [-1.0, 0.0, 0.05, 0.5, 1.0, 5.0], pure)


def mu_of_minimisers() -> Iterator[Case]:
    for scale, share, relation in product((0.5, 5.0, 50.0), (INF, 4.0, 2.0, 1.99, 0.5, 0.02), BOTH):
        yield asked(theorems.mu_perturbed, scale, share * scale**2, relation=relation)
    for ridge in (60.0, 25.0, 1.0):
        yield asked(theorems.mu_perturbed, 5.0, ridge, relation="add-remove", loss="general")
        yield asked(theorems.mu_perturbed, 5.0, ridge, relation="replace-one", row_norm=0.5)
        yield asked(theorems.mu_perturbed, 5.0, ridge, relation="replace-one", curvature_max=0.1)


def profiles_of_minimisers() -> Iterator[Case]:
    epsilons = np.array([2.0, 0.0, 1e-3, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0])
    for ridge, relation in product((1e-2, 0.5, 1.0, 5.0, 40.0, 1e4), BOTH):
        yield asked(theorems.perturbed_profile, epsilons, 4.0, ridge, relation=relation)
    for reach, relation in product((0.02, 0.3, 1.0, 4.0), BOTH):
        yield asked(theorems.perturbed_profile, epsilons, 4.0, 1.0, relation=relation, reach=reach)
    yield asked(theorems.perturbed_profile, epsilons, 4.0, 2.0, relation="add-remove", row_norm=0.5)
    yield asked(theorems.perturbed_profile, 0.5, 4.0, 2.0, relation="replace-one")
    yield asked(theorems.perturbed_profile, [-0.1], 4.0, 2.0, relation="replace-one")
    yield asked(theorems.perturbed_profile, [0.1], 4.0, 2.0, relation="replace-one", reach=-1.0)
    yield asked(theorems.perturbed_profile, [0.1], 4.0, 2.0, relation="replace-one", reach=INF)


def losses_of_minimisers() -> Iterator[Case]:
    epsilons = np.array([0.0, 1e-3, 0.04, 0.05, 0.1, 0.2, 0.25, 0.48, 0.5, 0.96, 1.0, 2.0, 9.0])
    for mu, s, steps in product((0.05, 0.2, 1.0, 4.0), (1e-3, 0.02, 0.5, 3.0, 40.0, 900.0), (1, 2)):
        for cover in (0.0, math.log1p(s / 4.0)):
            yield asked(loss_bound.loss_bound, epsilons[::3], mu, s, steps, cover)
    for mu, s, steps in product((0.2, 1.0), (0.02, 0.5, 3.0), (1, 2)):
        for cover in (0.0, math.log1p(s / 4.0)):
            yield asked(loss_bound.profile_bound, epsilons, mu, s, steps, cover, 6)
            words = "".join(
                "GX"[not loss_bound.is_gaussian_at(epsilon, mu, s, steps, cover)] for epsilon in epsilons
            )
            yield f"Gaussian at mu={mu}, s={s}, steps={steps}, cover={cover:.6g}", words


def certificates() -> Iterator[Case]:
    for mu, s in product((0.01, 0.05, 0.5, 2.0), (1e-4, 2e-3, 0.025, 1.0, 30.0)):
        yield asked(loss_bound.certified_mu, mu, s, "general")
        if s > mu * mu / 2.0:
            yield asked(loss_bound.certified_mu, mu, s, "logistic")


def staged_profiles() -> Iterator[Case]:
    for steps, uniform, beside in product((1, 2), (False, True), (0.0, 0.02, 0.2, 1.0)):
        for epsilon, reach in product((-0.5, 0.0, 0.3, 1.0, 2.0), (0.01, 0.4, 3.0)):
            yield asked(staged.staged_delta, epsilon, 0.2, reach, steps, beside, uniform=uniform)
    for epsilon in (-1.0, 0.0, 1.0):
        yield asked(staged.staged_delta, epsilon, 1.0, 0.3, 2, 0.5, uniform=True)
        yield asked(staged.staged_delta, epsilon, 1.0, 1e-4, 2, 0.5)
    for steps, beside, epsilon in product((1, 2), (0.0, 0.2), (-1.0, 0.0, 0.2, 1.0, 9.0)):
        yield asked(bounded.bounded_delta, epsilon, 0.2, 0.05, steps, beside)
    for reach in (1e-9, 0.05, 2.0):
        yield asked(bounded.bounded_shift, reach)


def noise_for_one() -> Iterator[Case]:
    for epsilon, relation in product((0.01, 1.0, 8.0), BOTH):
        yield asked(calibration.free_ridge, epsilon, relation=relation)
        yield asked(calibration.free_ridge, epsilon, relation=relation, row_norm=0.5)
    for epsilon, relation, ridge in product((0.1, 1.0, 8.0), BOTH, (1e-4, 0.1, 0.3, 0.99, 1.0, 2.0, 30.0)):
        yield asked(calibration.gamma_rate, epsilon, ridge, relation=relation)
        yield asked(calibration.gamma_rate, epsilon, ridge, relation=relation, loss="general")
    for more in ({"row_norm": 0.5}, {"slope_max": 0.5}, {"curvature_max": 0.1}):
        yield asked(calibration.gamma_rate, 1.0, 0.3, relation="replace-one", **more)


def gaussian_noise_for_one() -> Iterator[Case]:
    ridges = (1e-3, 0.1, 0.3, 0.7, 1.0, 1.9, 2.0, 40.0, 500.0)
    for epsilon, relation, ridge in product((0.05, 1.0, 4.0), BOTH, ridges):
        yield asked(calibration.gaussian_scale, epsilon, 1e-6, ridge, relation=relation)
    yield asked(calibration.gaussian_scale, 1.0, 0.05, 0.9, relation="replace-one")
    yield asked(calibration.gaussian_scale, 1.0, 1e-6, 0.5, relation="replace-one", row_norm=0.5)
    yield asked(calibration.gaussian_scale, 0.0, 1e-6, 0.5, relation="replace-one")
    for share in (0.3, 0.499, 0.501, 0.7):  # of the squared mu, around the threshold of Theorem A2
        reach = share * accounting.gdp_mu(1e-3, 1e-6) ** 2 / 4.0
        yield asked(calibration.gaussian_scale, 1e-3, 1e-6, 1.0 / reach, relation="replace-one")


def gaussian_noise_for_mu() -> Iterator[Case]:
    for mu, relation in product((0.01, 0.1, 0.4, 2.0), BOTH):
        free = 2.0 * (theorems.STEPS[relation] / mu) ** 2
        for share in (1e-9, 0.01, 0.3, 0.99, 1.0 - 1e-12, 1.0, 1.0 + 1e-8, 3.0):
            yield asked(calibration.gaussian_scale_gdp, mu, share * free, relation=relation)
    yield asked(calibration.gaussian_scale_gdp, 0.4, 3.0, relation="add-remove", row_norm=0.5)


def noise_for_pairs() -> Iterator[Case]:
    for reach, relation, uniform in product((0.02, 0.4, 1.5), BOTH, (False, True)):
        more: dict[str, Any] = {"relation": relation, "uniform": uniform, "curvature_sensitivity": 0.25}
        yield _pair(pair.calibrate_pair, 1.0, 1e-6, reach, **more)
    yield _pair(pair.calibrate_pair, 0.2, 1e-6, 0.5, relation="replace-one", curvature_sensitivity=0.36)
    yield _pair(pair.calibrate_pair, 0.2, 1e-6, 3.0, relation="replace-one", curvature_sensitivity=0.36)
    for share, blur in ((0.3, 0.02), (0.7, 0.3), (0.0, 0.1), (1.0, 0.1), (0.5, 0.0), (0.5, 1.0)):
        more = {"relation": "add-remove", "curvature_sensitivity": 1.0, "share": share, "blur_share": blur}
        yield _pair(pair.calibrate_pair, 1.0, 1e-6, 0.4, **more)
        yield asked(pair.calibrate_pair_gdp, 0.25, **more)
        yield _pair(pair.calibrate_pair_pure, 1.0, None, 1.5, **more)
        yield _pair(bounded.calibrate_bounded, 1.0, 1e-6, 0.05, **more)
        yield _pair(bounded.calibrate_bounded_pure, 1.0, None, 0.05, **more)


def noise_for_pure_pairs() -> Iterator[Case]:
    for epsilon, reach, relation in product((0.1, 1.0, 5.0), (1e-3, 0.05, 0.4, 6.0), BOTH):
        more: dict[str, Any] = {"relation": relation, "curvature_sensitivity": 0.25}
        yield _pair(pair.calibrate_pair_pure, epsilon, None, reach, **more)
        yield _pair(bounded.calibrate_bounded, epsilon, 1e-6, reach, **more)
        yield _pair(bounded.calibrate_bounded_pure, epsilon, None, reach, **more)
    for mu, relation in product((0.01, 0.25, 3.0), BOTH):
        yield asked(pair.calibrate_pair_gdp, mu, relation=relation, curvature_sensitivity=0.25)
    yield asked(pair.stages_of, 0.25, 0.3, 0.02)


def _pair(function: Any, epsilon: float, delta: float | None, reach: float, **more: Any) -> Case:
    """Of a ridge that grows as the noise shrinks, as methods choose it."""
    asked_for = (epsilon,) if delta is None else (epsilon, delta)
    words = ", ".join(f"{key}={value!r}" for key, value in more.items())
    name = f"{function.__name__}({', '.join(map(repr, asked_for))}, reach={reach}, {words})"
    return told(
        name, lambda: function(*asked_for, reach_of=lambda scale: reach * (1.0 + 0.1 / scale), **more)
    )


PERTURBED = PerturbedEvent(0.1, 0.4, "replace-one")
UNIFORM = PerturbedEvent(0.1, 0.4, "add-remove", uniform=True)
BOUNDED = BoundedSlopeEvent(0.1, 0.05, "replace-one")
CLOSED: dict[str, list[Event]] = {
    "nothing": [],
    "no cost": [PureEvent(0.0), GaussianEvent(0.0), ApproximateEvent(0.0, 0.0)],
    "pure": [PureEvent(0.5)],
    "point": [ApproximateEvent(0.5, 1e-4)],
    "large point": [ApproximateEvent(3.0, 0.5)],
    "Gaussian": [GaussianEvent(0.3), GaussianEvent(0.4)],
    "sample of all": [SampledGaussianEvent(0.5, 1.0, "poisson", "add-remove"), GaussianEvent(0.4)],
    "perturbed": [PERTURBED],
    "perturbed beside": [PERTURBED, GaussianEvent(0.2), GaussianEvent(0.1)],
    "uniform": [UNIFORM, GaussianEvent(0.1)],
    "two perturbed": [PERTURBED, UNIFORM, GaussianEvent(0.2)],
    "bounded": [BOUNDED, GaussianEvent(0.2)],
    "two bounded": [BOUNDED, BOUNDED, PERTURBED],
}
MIXED: dict[str, list[Event]] = {
    "two pure": [PureEvent(0.25), PureEvent(0.25)],
    "pure and Gaussian": [PureEvent(0.25), GaussianEvent(0.4)],
    "points": [ApproximateEvent(0.5, 1e-7)] * 12,
    "all": [PureEvent(0.3), ApproximateEvent(0.1, 1e-8), PERTURBED, GaussianEvent(0.2)],
    "point and bounded": [PureEvent(0.3), BOUNDED],
    "long": [PureEvent(4.0)] * 9 + [GaussianEvent(1.0)],
    "delta alone": [ApproximateEvent(0.0, 1e-7), ApproximateEvent(0.0, 1e-8)],
}


def composed() -> Iterator[Case]:
    for name, events in CLOSED.items():
        for delta in (0.0, 1e-9, 1e-6, 1e-3, 0.6):
            yield told(
                f"compose {name} at {delta}", lambda e=events, d=delta: composition.compose(e, delta=d)
            )
            yield told(
                f"basic {name} at {delta}", lambda e=events, d=delta: composition.basic_composition(e, d)
            )
    for bad in (-1e-9, 1.0, NAN):
        yield told(f"compose at {bad}", lambda d=bad: composition.compose([PureEvent(1.0)], delta=d))


def composed_profiles() -> Iterator[Case]:
    for name, events in (CLOSED | MIXED).items():
        for epsilon in (0.0, 0.2, 0.5, 1.0, 3.0):
            yield told(
                f"{name} at {epsilon}", lambda e=events, at=epsilon: composition.composed_profile(e, [at])
            )


def numeric_composition() -> Iterator[Case]:
    for name, events in MIXED.items():
        for delta in (0.0, 1e-6):
            yield told(
                f"basic {name} at {delta}", lambda e=events, d=delta: composition.basic_composition(e, d)
            )
        yield told(f"compose {name}", lambda e=events: composition.compose(e, delta=2e-6))


def events_in_words() -> Iterator[Case]:
    for event in (PERTURBED, UNIFORM, BOUNDED, BoundedSlopeEvent(0.1, 0.05, "add-remove")):
        yield repr(event), (event.total_mu, event.shift, event.factor, event.delta(0.5, 0.1))
    for mu, rate in product((0.1, 1.0, 5.0, 40.0), (1e-3, 0.1, 1.0)):
        yield f"total mu {mu}, {rate}", SampledGaussianEvent(mu, rate, "poisson", "add-remove").total_mu
    for value in (-1e-9, INF, NAN):
        yield asked(PureEvent, value)
        yield asked(GaussianEvent, value)
        yield asked(ApproximateEvent, value, 0.0)
        yield asked(ApproximateEvent, 1.0, value)
        yield asked(PerturbedEvent, value, 1.0, "add-remove")
        yield asked(PerturbedEvent, 1.0, value, "add-remove")
        yield asked(SampledGaussianEvent, value, 0.5, "poisson", "add-remove")
        yield asked(SampledGaussianEvent, 1.0, value, "poisson", "add-remove")
    for zero in (PerturbedEvent, BoundedSlopeEvent):
        yield asked(zero, 0.0, 1.0, "add-remove")
        yield asked(zero, 1.0, 0.0, "add-remove")
        yield asked(zero, 1.0, 1.0, "bounded")
    for rate, sampling, relation in ((0.0, "poisson", "add-remove"), (1.1, "poisson", "add-remove")):
        yield asked(SampledGaussianEvent, 1.0, rate, sampling, relation)
    yield asked(SampledGaussianEvent, 1.0, 0.5, "fixed", "add-remove")
    yield asked(SampledGaussianEvent, 1.0, 0.5, "shuffled", "replace-one")
    yield asked(ApproximateEvent, 0.0, 1.0)


SAMPLES: dict[str, SampledGaussianEvent] = {
    "poisson": SampledGaussianEvent(0.5, 0.02, "poisson", "add-remove"),
    "poisson, replaced": SampledGaussianEvent(0.5, 0.02, "poisson", "replace-one"),
    "fixed": SampledGaussianEvent(0.5, 0.02, "fixed", "replace-one"),
}


def losses_of_samples() -> Iterator[Case]:
    epsilons = np.array([-3.0, -0.3, -0.01, -1e-4, 0.0, 1e-4, 0.01, 0.3, 3.0])
    points: list[Event] = [PureEvent(0.3), ApproximateEvent(0.3, 1e-3), GaussianEvent(0.5)]
    for event, added in product((*SAMPLES.values(), *points), (False, True)):
        loss = loss_of(event, added=added)
        yield f"{event}, added={added}", (loss.low, loss.high, loss.size, loss.profile(epsilons.copy()))
    for event in (SampledGaussianEvent(2.0, 0.1, "poisson", "add-remove"), SAMPLES["fixed"]):
        total = LossSum([(loss_of(event, added=False), 2)])
        yield (
            f"twice {event}",
            (total.chernoff(1e-6), total.chernoff(0.9), total.tail(1e-3).deltas([0.1, 1.0])),
        )


def sums_of_samples() -> Iterator[Case]:
    for name, event in SAMPLES.items():
        many: list[Event] = [event] * 40
        for delta in (0.0, 1e-6, 1e-2):
            yield told(f"epsilon {name} {delta}", lambda e=many, d=delta: sampled_epsilon(e, d))
        yield told(f"profile {name}", lambda e=many: sampled_profile(e, [0.0, 0.1, 0.5]))
        beside = [*many, GaussianEvent(0.1), PureEvent(0.05)]
        yield told(f"compose {name}", lambda e=beside: composition.compose(e, delta=1e-6))
        yield told(f"basic {name}", lambda e=beside: composition.basic_composition(e, 1e-6))
        yield told(f"composed {name}", lambda e=beside: composition.composed_profile(e, [0.0, 0.04, 0.5]))
    large: list[Event] = [SampledGaussianEvent(30.0, 0.5, "fixed", "replace-one")]
    yield told("a large mu", lambda: sampled_epsilon(large, 1e-6))
    yield told("a large mu, profile", lambda: sampled_profile(large, [0.0, 100.0]))
    yield told("two relations", lambda: sampled_epsilon(list(SAMPLES.values()), 1e-6))
    yield told("beside a minimiser", lambda: sampled_epsilon([SAMPLES["fixed"], PERTURBED], 1e-6))
    yield told("none", lambda: (sampled_epsilon([], 1e-6), sampled_profile([], [0.0, 1.0])))


def noise_for_samples() -> Iterator[Case]:
    for sampling, relation in (("poisson", "add-remove"), ("fixed", "replace-one")):
        more: dict[str, Any] = {"steps": 30, "sampling": sampling, "relation": relation}
        yield asked(sampled_scale, 1.0, 1e-6, rate=0.05, sensitivity=2.0, **more)
        yield asked(sampled_scale, 1.0, 1e-6, rate=1.0, **more)
    for steps, sensitivity, epsilon in product((1, 4, 0, 2.5), (1.0, 2.0, 0.0, INF), (1.0, 0.0)):
        yield asked(full_batch_scale, epsilon, 1e-6, steps=steps, sensitivity=sensitivity)


def budgets() -> Iterator[Case]:
    for mu, delta in product((0.1, 0.5, 4.0), (1e-12, 1e-6, 1e-2)):
        yield asked(Privacy.gdp, mu, delta=delta)
        yield asked(Privacy.zcdp, mu, delta=delta, relation="add-remove", unit="one patient")
        yield told(f"rho {mu} {delta}", lambda mu=mu, delta=delta: Privacy.zcdp(mu, delta=delta).rho)
    wrong = (0.0, -1.0, INF, NAN, True, "1", None, 10**400, 10**15 + 1, [1.0], (1.0, 1.0), (1.0, 0.5, 0.5))
    for value in (1, 0.5, (1.0, 1e-6), [2, 0], np.float32(0.5), np.int64(2), *wrong):
        yield told(f"Privacy.of({value!r:.40})", lambda value=value: Privacy.of(value))
        yield told(f"Privacy.gdp({value!r:.40})", lambda value=value: Privacy.gdp(value))
    for more in (
        {"relation": "bounded"},
        {"unit": " "},
        {"unit": 3},
        {"definition": "gdp"},
        {"definition": "gdp", "mu": 0.5},
        {"mu": 0.5},
        {"delta": 1e-6, "definition": "pure"},
    ):
        yield asked(Privacy, 1.0, **more)


def promise(**more: Any) -> Guarantee:
    numbers: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "definition": "approximate"}
    return Guarantee(**{**numbers, "relation": "replace-one", "unit": "one row", **more})


PROMISES: dict[str, Guarantee] = {
    "pure": promise(delta=0.0, definition="pure", theorem="Theorem A1", assumptions=("a", "b")),
    "free": promise(epsilon=0.0, delta=0.0, definition="pure", relation="add-remove"),
    "huge": promise(epsilon=800.0, delta=0.0, definition="pure"),
    "edge": promise(epsilon=709.9, delta=0.1),
    "pair": promise(),
    "weak": promise(epsilon=9.0, delta=0.3),
    "curve": promise(curve=((0.2, 1e-2), (3.0, 1e-12))),
    "gdp": promise(epsilon=2.254, mu=0.5, definition="gdp"),
    "zcdp": promise(epsilon=2.254, mu=0.5, rho=0.125, definition="zcdp"),
    "none": Guarantee.none("no privacy was asked for"),
    "seeded": promise(epsilon=0.123456, delta=2.00001e-7).seeded(),
}


def promises() -> Iterator[Case]:
    for name, made in PROMISES.items():
        yield name, made
        yield f"{name}: statement", made.statement()
        for share in (0.0, 1e-6, 0.01, 0.3, 0.5, 0.99, 1.0, -0.1, 1.1, NAN):
            yield told(f"{name}: posterior {share}", lambda made=made, share=share: made.posterior(share))
            yield told(f"{name}: guess {share}", lambda made=made, share=share: made.guess(share))
            yield told(
                f"{name}: found {share}", lambda made=made, share=share: made.true_positive_rate(share)
            )
        for size in (0, 1, 2, 3, 70, 800, 1.5):
            yield told(f"{name}: group {size}", lambda made=made, size=size: made.group(size))


def refused_promises() -> Iterator[Case]:
    for more in (
        *({key: value} for key in ("epsilon", "delta", "mu", "rho") for value in (-1e-9, INF, NAN)),
        *({"curve": ((epsilon, delta),)} for epsilon, delta in ((-1.0, 0.0), (INF, 0.0), (1.0, 1.1))),
        *({"definition": name} for name in ("pure", "gdp", "zcdp", "renyi")),
        {"delta": 1.1},
        {"relation": "bounded"},
        {"unit": " "},
        {"private": False},
    ):
        yield told(f"Guarantee({more})", lambda more=more: promise(**more))


def balances() -> Iterator[Case]:
    pure, pair_, gdp = Privacy(1.0), Privacy(2.0, 1e-5), Privacy.gdp(0.5)
    costs = [
        Balance(0.1, 0.0, None),
        Balance(0.3, 1e-6, 0.1),
        Balance(0.25, 0.0, 0.2),
        Balance(0.7, 0.0, 0.4),
    ]
    for name, budget, taken in (
        ("pure", pure, costs[:1] * 3),
        ("pair", pair_, costs),
        ("gdp", gdp, costs[1:3]),
        ("gdp, all", gdp, [Balance(2.0, 0.0, 0.5)]),
        ("too much", pure, costs * 2),
        ("nothing", gdp, []),
    ):
        kept = PrivacyFilter(budget, tuple(taken))
        yield f"{name}: sums", (kept.spent, kept.remaining, kept.covered)
        open_to = [cost for cost in costs if budget.mu is None or cost.mu is not None]
        yield f"{name}: admits", [kept.admits(cost) for cost in open_to]
        for label, made in PROMISES.items():
            yield told(f"{name}: cost of {label}", lambda k=kept, made=made: k.cost(made, owner="L"))


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
    "composed": composed,
    "composed profiles": composed_profiles,
    "numeric composition": numeric_composition,
    "events": events_in_words,
    "losses of samples": losses_of_samples,
    "sums of samples": sums_of_samples,
    "noise for samples": noise_for_samples,
    "budgets": budgets,
    "promises": promises,
    "refused promises": refused_promises,
    "balances": balances,
}
