"""Calibrations by the numbers that tests vary: one minimiser, or one with a second release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpglm.privacy.accountant import compose, composed_profile
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.calibration import Calibration, Minimisers, NoisySums, Target, calibrate
from dpglm.privacy.events import BoundedSlopeEvent, Event, Sampling
from dpglm.privacy.gdp import gdp_delta
from dpglm.privacy.joint_profile import is_gaussian_at
from dpglm.typing import FloatVector

# A share for the solver's residual that no test can feel.
NONE = 1e-13


def gamma_rate(epsilon: float, ridge: float, *, relation: Relation) -> float:
    """Of one minimiser with a pure epsilon, by itself."""
    alone = Minimisers(lambda scale: 1.0 / ridge if ridge else math.inf, residual_share=NONE)
    return 1.0 / calibrate(alone, Target(relation, epsilon=epsilon)).score_scale


def gaussian_scale(epsilon: float, delta: float, ridge: float, *, relation: Relation) -> Calibration:
    """Of one minimiser at one epsilon, by itself."""
    alone = Minimisers(lambda scale: 1.0 / ridge if ridge else math.inf, residual_share=NONE)
    return calibrate(alone, Target(relation, epsilon=epsilon, delta=delta))


def gaussian_scale_gdp(mu: float, ridge: float, *, relation: Relation) -> Calibration:
    """Of one minimiser in Gaussian differential privacy, by itself."""
    return calibrate(Minimisers(lambda scale: 1.0 / ridge, residual_share=NONE**2), Target(relation, mu=mu))


def calibrate_pair(
    epsilon: float,
    delta: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> Calibration:
    """Of a minimiser and a second release."""
    pair = Minimisers(max_leverage_of, information_sensitivity, share, residual_share)
    return calibrate(pair, Target(relation, epsilon=epsilon, delta=delta))


def calibrate_pair_gdp(
    mu: float,
    *,
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> Calibration:
    """The same in Gaussian differential privacy."""
    return calibrate(
        Minimisers(None, information_sensitivity, share, residual_share), Target(relation, mu=mu)
    )


def calibrate_pair_pure(
    epsilon: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> Calibration:
    """The same with a pure epsilon."""
    pair = Minimisers(max_leverage_of, information_sensitivity, share, residual_share, ridge_grows=True)
    return calibrate(pair, Target(relation, epsilon=epsilon))


def calibrate_bounded(
    epsilon: float,
    delta: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> Calibration:
    """The same for losses with bounded slopes; share 0 for a minimiser alone."""
    sensitivity = information_sensitivity if share else 0.0
    pair = Minimisers(max_leverage_of, sensitivity, share, residual_share, losses="bounded")
    return calibrate(pair, Target(relation, epsilon=epsilon, delta=delta))


def calibrate_bounded_pure(
    epsilon: float,
    *,
    max_leverage_of: Callable[[float], float],
    relation: Relation,
    information_sensitivity: float,
    share: float = 0.5,
    residual_share: float = 0.01,
) -> Calibration:
    """The same with a pure epsilon."""
    return calibrate_bounded(
        epsilon,
        0.0,
        max_leverage_of=max_leverage_of,
        relation=relation,
        information_sensitivity=information_sensitivity,
        share=share,
        residual_share=residual_share,
    )


def sampled_scale(
    epsilon: float,
    delta: float,
    *,
    rate: float,
    steps: int,
    sampling: Sampling,
    relation: Relation,
    sensitivity: float = 1.0,
) -> float:
    """Of sums over random samples."""
    sums = NoisySums(sensitivity, steps, rate, sampling)
    return calibrate(sums, Target(relation, epsilon=epsilon, delta=delta)).score_scale


def full_batch_scale(epsilon: float, delta: float, *, steps: int, sensitivity: float = 1.0) -> float:
    """Of sums over all rows."""
    sums = NoisySums(sensitivity, steps)
    return calibrate(sums, Target("add-remove", epsilon=epsilon, delta=delta)).score_scale


def sampled_epsilon(events: Sequence[Event], delta: float) -> float:
    """Of releases on samples, with others beside them."""
    return compose(events, delta=delta)


def sampled_profile(events: Sequence[Event], epsilons: Sequence[float]) -> FloatVector:
    """The same at many epsilons."""
    return composed_profile(events, epsilons)


def bounded_delta(epsilon: float, mu: float, max_leverage: float, steps: int, beside: float) -> float:
    """Theorem C, of one of ``steps`` rows and of Gaussian releases of total mu ``beside``."""
    relation: Relation = "add-remove" if steps == 1 else "replace-one"
    return BoundedSlopeEvent(mu, max_leverage, relation).delta(epsilon, beside)


def theorem(epsilon: float, delta: float, ridge: float, relation: Relation) -> str:
    """Which theorem decides about `gaussian_scale`."""
    scale, steps = gaussian_scale(epsilon, delta, ridge, relation=relation).score_scale, STEPS[relation]
    if is_gaussian_at(epsilon, 1.0 / scale, 1.0 / ridge, steps):
        return "B"
    shifted = gdp_delta(epsilon - math.log1p(0.25 / ridge), steps / scale)
    return "A2'" if shifted <= delta * (1.0 + 1e-9) else "A2"
