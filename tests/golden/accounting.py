"""What accounting says of a readable list of budgets, events and minimisers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from dpglm.privacy.accountant import compose, composed_profile
from dpglm.privacy.budget import Relation
from dpglm.privacy.events import (
    ApproximateEvent,
    BoundedSlopeEvent,
    Event,
    GaussianEvent,
    PerturbedEvent,
    PureEvent,
    SampledGaussianEvent,
)
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu
from dpglm.privacy.theorems import gamma_epsilon, mu_perturbed
from tests.calibrated import gamma_rate, gaussian_scale, gaussian_scale_gdp

BOTH: tuple[Relation, ...] = ("add-remove", "replace-one")
PERTURBED = PerturbedEvent(0.1, 0.4, "replace-one")
ADDED = PerturbedEvent(0.1, 0.4, "add-remove")
BOUNDED = BoundedSlopeEvent(0.1, 0.05, "replace-one")
EVENTS: dict[str, list[Event]] = {
    "two pure of 0.25": [PureEvent(0.25)] * 2,
    "five pure of 1/3": [PureEvent(1.0 / 3.0)] * 5,
    "Gaussians of 0.3 and 0.4": [GaussianEvent(0.3), GaussianEvent(0.4)],
    "pure 0.25 and Gaussian 0.4": [PureEvent(0.25), GaussianEvent(0.4)],
    "12 of (0.5, 1e-9)": [ApproximateEvent(0.5, 1e-9)] * 12,
    "minimiser": [PERTURBED],
    "minimiser and Gaussians of 0.2 and 0.1": [PERTURBED, GaussianEvent(0.2), GaussianEvent(0.1)],
    "minimiser with a row added and Gaussian 0.1": [ADDED, GaussianEvent(0.1)],
    "two minimisers and Gaussian 0.2": [PERTURBED, ADDED, GaussianEvent(0.2)],
    "minimiser of bounded slope and Gaussian 0.2": [BOUNDED, GaussianEvent(0.2)],
    "pure, approximate, minimiser, Gaussian": [
        PureEvent(0.3),
        ApproximateEvent(0.1, 1e-8),
        PERTURBED,
        GaussianEvent(0.2),
    ],
    "40 Poisson samples": [SampledGaussianEvent(0.5, 0.02, "poisson", "add-remove")] * 40,
    "40 Poisson samples, replace-one": [SampledGaussianEvent(0.5, 0.02, "poisson", "replace-one")] * 40,
    "40 samples of fixed size": [SampledGaussianEvent(0.5, 0.02, "fixed", "replace-one")] * 40,
}


def lines() -> Iterator[str]:
    """A line per call."""
    for mu, delta in product((1e-3, 0.1, 0.5, 2.0, 10.0), (1e-18, 1e-6, 1e-2)):
        yield f"epsilon of mu {mu:g} at delta {delta:g}: {gdp_epsilon(mu, delta):.9g}"
    for epsilon, delta in product((0.0, 0.1, 1.0, 5.0), (1e-18, 1e-6, 1e-2)):
        yield f"mu of epsilon {epsilon:g} at delta {delta:g}: {gdp_mu(epsilon, delta):.9g}"
    for epsilon, mu in product((-1.0, 0.0, 0.5, 3.0), (0.05, 0.5, 3.0)):
        yield f"delta of mu {mu:g} at epsilon {epsilon:g}: {gdp_delta(epsilon, mu):.9g}"
    for name, events in EVENTS.items():
        for delta in (1e-6, 1e-3):
            yield f"epsilon of {name} at delta {delta:g}: {compose(events, delta=delta):.9g}"
        profile = " ".join(f"{delta:.9g}" for delta in composed_profile(events, [0.0, 0.2, 1.0]))
        yield f"deltas of {name} at epsilon 0, 0.2 and 1: {profile}"
    for rate, ridge, relation in product((0.3, 2.0), (0.1, 1.0, 10.0), BOTH):
        found = gamma_epsilon(rate, ridge, relation=relation)
        yield f"epsilon of a minimiser, gamma rate {rate:g}, ridge {ridge:g}, {relation}: {found:.9g}"
    for epsilon, ridge, relation in product((0.1, 1.0, 8.0), (0.3, 2.0, 30.0), BOTH):
        name = f"gamma rate of a minimiser, epsilon {epsilon:g}, ridge {ridge:g}, {relation}"
        yield _line(name, lambda e=epsilon, r=ridge, n=relation: gamma_rate(e, r, relation=n))
    for epsilon, ridge, relation in product((0.05, 1.0, 4.0), (0.3, 1.0, 40.0), BOTH):
        name = f"noise of a minimiser, epsilon {epsilon:g}, delta 1e-06, ridge {ridge:g}, {relation}"
        yield _line(name, lambda e=epsilon, r=ridge, n=relation: _alone(e, r, n))
    for mu, ridge, relation in product((0.1, 0.4, 2.0), (0.5, 50.0), BOTH):
        name = f"noise of a minimiser, mu {mu:g}, ridge {ridge:g}, {relation}"
        yield _line(name, lambda m=mu, r=ridge, n=relation: gaussian_scale_gdp(m, r, relation=n).score_scale)
    for scale, share, relation in product((0.5, 5.0), (4.0, 1.99, 0.5), BOTH):
        found = mu_perturbed(scale, share * scale**2, relation=relation)
        yield f"mu of a minimiser, noise {scale:g}, ridge {share * scale**2:g}, {relation}: {found:.9g}"


def _alone(epsilon: float, ridge: float, relation: Relation) -> float:
    return gaussian_scale(epsilon, 1e-6, ridge, relation=relation).score_scale


def _line(name: str, value: Callable[[], Any]) -> str:
    from dpglm.errors import DpglmError

    try:
        return f"{name}: {value():.9g}"
    except DpglmError as error:
        return f"{name}: refused, {type(error).__name__}"
