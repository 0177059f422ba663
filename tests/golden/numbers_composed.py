"""Prices of several releases together, by closed forms, by integrals and by sums of losses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dpglm.privacy import accountant
from dpglm.privacy.events import (
    ApproximateEvent,
    BoundedSlopeEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    SampledGaussianEvent,
)
from dpglm.privacy.loss_distribution import LossSum, privacy_loss
from tests.calibrated import full_batch_scale, sampled_epsilon, sampled_profile, sampled_scale
from tests.golden.numbers import Case, Section, asked, told

INF, NAN = math.inf, math.nan

PERTURBED = PerturbedEvent(0.1, 0.4, "replace-one")
UNIFORM = PerturbedEvent(0.1, 0.4, "add-remove", uniform=True)
BOUNDED = BoundedSlopeEvent(0.1, 0.05, "replace-one")
CLOSED: dict[str, list[Event]] = {
    "nothing": [],
    "no cost": [PureEvent(0.0), GaussianEvent(0.0), ApproximateEvent(0.0, 0.0)],
    "pure": [PureEvent(0.5)],
    "pure of one": [PureEvent(1.0)],
    "Gaussian of one": [GaussianEvent(1.0)],
    "point of one": [ApproximateEvent(1.0, 0.0)],
    "certain": [ApproximateEvent(0.0, 1.0)],
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
    "thirds": [PureEvent(1.0 / 3.0)] * 5,
    "delta alone": [ApproximateEvent(0.0, 1e-7), ApproximateEvent(0.0, 1e-8)],
}


def composed() -> Iterator[Case]:
    for name, events in CLOSED.items():
        for delta in (0.0, 1e-9, 1e-6, 1e-3, 0.6):
            yield told(f"compose {name} at {delta}", lambda e=events, d=delta: accountant.compose(e, delta=d))
            yield told(
                f"basic {name} at {delta}", lambda e=events, d=delta: accountant.basic_composition(e, d)
            )
    for bad in (-1e-9, 1.0, NAN):
        yield told(f"compose at {bad}", lambda d=bad: accountant.compose([PureEvent(1.0)], delta=d))


def composed_profiles() -> Iterator[Case]:
    for name, events in (CLOSED | MIXED).items():
        for epsilon in (0.0, 0.2, 0.5, 1.0, 3.0):
            yield told(
                f"{name} at {epsilon}", lambda e=events, at=epsilon: accountant.composed_profile(e, [at])
            )


def numeric_composition() -> Iterator[Case]:
    for name, events in MIXED.items():
        for delta in (0.0, 1e-6):
            yield told(
                f"basic {name} at {delta}", lambda e=events, d=delta: accountant.basic_composition(e, d)
            )
        yield told(f"compose {name}", lambda e=events: accountant.compose(e, delta=2e-6))


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
        loss = privacy_loss(event, added=added)
        yield f"{event}, added={added}", (loss.low, loss.high, loss.size, loss.profile(epsilons.copy()))
    for event in (SampledGaussianEvent(2.0, 0.1, "poisson", "add-remove"), SAMPLES["fixed"]):
        total = LossSum([(privacy_loss(event, added=False), 2)])
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
        yield told(f"compose {name}", lambda e=beside: accountant.compose(e, delta=1e-6))
        yield told(f"basic {name}", lambda e=beside: accountant.basic_composition(e, 1e-6))
        yield told(f"composed {name}", lambda e=beside: accountant.composed_profile(e, [0.0, 0.04, 0.5]))
    large: list[Event] = [SampledGaussianEvent(30.0, 0.5, "fixed", "replace-one")]
    yield told("a large mu", lambda: sampled_epsilon(large, 1e-6))
    yield told("a large mu, profile", lambda: sampled_profile(large, [0.0, 100.0]))
    # So many, or so rare, that the grid has as many cells as it may.
    rare: list[Event] = [SampledGaussianEvent(2.0, 1e-4, "poisson", "add-remove")] * 100
    yield told("rare samples", lambda: sampled_epsilon(rare, 1e-6))
    yield told("rare samples, profile", lambda: sampled_profile(rare, [0.0, 0.01, 1.0, 5.0, 12.0]))
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


SECTIONS: dict[str, Section] = {
    "composed": composed,
    "composed profiles": composed_profiles,
    "numeric composition": numeric_composition,
    "events": events_in_words,
    "losses of samples": losses_of_samples,
    "sums of samples": sums_of_samples,
    "noise for samples": noise_for_samples,
}
