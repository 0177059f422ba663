"""Calibration: the least noise at which what a mechanism releases costs no more than a budget.

A mechanism says what its releases cost at a given noise, by the accountant, and which scales that means. One
search, `calibrate`, finds the noise for all of them, on the safe side.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

from dpglm.errors import MethodError
from dpglm.privacy import events
from dpglm.privacy.accountant import basic_composition, composed_profile
from dpglm.privacy.budget import Privacy, Relation, steps_of
from dpglm.privacy.gdp import SAFETY, conservative_root, gdp_mu, log_ratio
from dpglm.privacy.theorems import bounded_shift, gamma_epsilon, mu_perturbed

# More than this many times the noise of a larger ridge is refused: nobody can want it.
MOST_NOISE = 1000.0


@dataclass(frozen=True)
class Target:
    """What a mechanism may cost: a pure epsilon, an (epsilon, delta), or a mu."""

    relation: Relation
    epsilon: float = math.inf
    delta: float = 0.0
    mu: float | None = None
    shared: bool = False  # whether it is for all rows of a person, whose shares add up to at most 1

    def __post_init__(self) -> None:
        steps_of(self.relation)
        good = self.epsilon > 0.0 and (self.mu is None or 0.0 < self.mu < math.inf)
        events.require(good, repr(self), "epsilon > 0, mu > 0 and finite")

    @classmethod
    def of(cls, privacy: Privacy) -> Self:
        """All of a budget."""
        return cls(privacy.relation, privacy.epsilon, privacy.delta, privacy.mu, privacy.shared)

    @property
    def pure(self) -> bool:
        """Whether it is a pure epsilon."""
        return self.mu is None and self.delta == 0.0

    @property
    def ideal_mu(self) -> float:
        """The mu of Gaussian releases that cost all of it."""
        return gdp_mu(self.epsilon, self.delta) if self.mu is None else self.mu


@dataclass(frozen=True)
class Calibration:
    """Noise scales that keep a budget."""

    # Standard deviation of each coordinate; for law "gamma" the scale of noise of density exp(-norm / scale).
    score_scale: float
    law: Literal["gaussian", "gamma"] = "gaussian"
    information_scale: float = math.inf  # the same of the information's diagonal; infinite without one
    measured_price: float = 0.0  # of what is measured first: mu, or epsilon of a pure target
    residual_price: float = 0.0  # hides the solver's residual: mu, or epsilon of a law or claim in epsilon
    max_leverage: float = 0.0  # x' P^-1 x at most, before `ridge_factor`; no ridge may have a larger one
    ridge_factor: float = 1.0  # at least 1; every ridge is to be multiplied by it (Theorem A1)
    least_ridge: float = 0.0  # of the ridges that the claim holds for; 0 where the leverage alone decides
    claimed_epsilon: float | None = None  # where a minimiser is claimed as (epsilon, delta) by itself
    shared: bool = False  # as the target's


class Mechanism(ABC):
    """What a calibration needs to know; "noise" is the scale of the score's noise, or of the sum's."""

    close: float = 1e-9  # relative distance to the least noise at which the search may end

    @abstractmethod
    def least(self, target: Target) -> float:
        """Noise below which the target is surely exceeded."""

    @abstractmethod
    def excess(self, noise: float, target: Target) -> float:
        """What is spent beyond the target, as a share or a logarithm."""

    @abstractmethod
    def calibration(self, noise: float, target: Target) -> Calibration:
        """The scales that this noise means."""

    def larger_ridge(self, target: Target) -> str:
        """What to use where no useful noise is enough."""
        return "a larger ridge"


def calibrate(mechanism: Mechanism, target: Target) -> Calibration:
    """The least noise at which ``mechanism`` costs no more than ``target``, rounded to the safe side.

    A MethodError says that no useful noise is enough, or that a number is out of range.

    Examples
    --------
    >>> released = Minimisers(lambda scale: 0.4, information_sensitivity=0.25)
    >>> scales = calibrate(released, Target("add-remove", epsilon=1.0, delta=1e-6))
    >>> round(scales.score_scale, 2), round(scales.information_scale, 2)  # Gaussian: 6.00, 1.50
    (6.01, 1.5)
    """
    least = mechanism.least(target)
    exceeding, noise = least, least
    while mechanism.excess(noise, target) > 0.0:
        exceeding, noise = noise, 1.3 * noise
        if noise > MOST_NOISE * least:
            amount = f"epsilon={target.epsilon:g}" if target.mu is None else f"mu={target.mu:g}"
            raise MethodError(
                f"a ridge too small for {amount}: at no useful noise is the claim kept",
                expected="a ridge that bounds how far one row can move the minimiser",
                remedy=f"Use {mechanism.larger_ridge(target)}, or leave ridge out.",
            )
    if noise > least:
        excess = partial(mechanism.excess, target=target)
        noise = conservative_root(excess, noise, exceeding, close=mechanism.close)
    rounded = noise * (1.0 + SAFETY)  # there may be no room for it: a ridge of 2 scale^2 to the last digit
    return mechanism.calibration(rounded if mechanism.excess(rounded, target) <= 0.0 else noise, target)


@dataclass(frozen=True)
class Minimisers(Mechanism):
    """Perturbed minimisers, each alone or with the information at its answer, and their solver's residuals.

    ``max_leverage_of``: ``score_scale -> sup of x' P^-1 x`` for the ridge P that goes with this noise, from
    public numbers; must not increase. None where the ridge follows from the noise: `Calibration.least_ridge`.

    Examples
    --------
    >>> alone = Minimisers(lambda scale: 0.5)  # a ridge of 2
    >>> round(1.0 / calibrate(alone, Target("replace-one", epsilon=1.0)).score_scale, 4)  # .99 / 2
    0.495
    """

    max_leverage_of: Callable[[float], float] | None
    information_sensitivity: float = 0.0  # as `Information.sensitivity`; 0 for minimisers alone
    share: float = 0.5  # part of mu squared (of a pure epsilon), less the residual's, for the information
    residual_share: float = 0.01  # part of mu squared (of epsilon) for the solver's residual
    measured_share: float = 0.0  # part of what the residual leaves for what is measured first
    losses: Literal["logistic", "bounded"] = "logistic"  # Theorems A1, A2 and B hold, or Theorem C alone
    ridge_grows: bool = False  # whether a pure epsilon may multiply the ridge, to spare the Jacobian
    times: int = 1  # minimisers, which share the target alike; scales and prices are of one of them

    def __post_init__(self) -> None:
        shared = 0.0 < self.share < 1.0 or self.information_sensitivity == 0.0
        shared = shared and 0.0 <= self.measured_share < 1.0
        if not (shared and 0.0 < self.residual_share < 1.0):
            shares = f"share={self.share!r}, residual_share={self.residual_share!r}"
            raise MethodError(shares, expected="numbers between 0 and 1", remedy="Leave them out.")

    @property
    def _score_share(self) -> float:
        """Of what the residual leaves."""
        return (1.0 - self.measured_share) * (1.0 - self.share if self.information_sensitivity else 1.0)

    def _claimed(self, target: Target) -> float | None:
        """The epsilon at which a minimiser is claimed; a pure release hides its residual there."""
        beside = self.information_sensitivity or self.measured_share
        if self.losses == "bounded" or beside or target.mu is not None or target.pure:
            return None
        return target.epsilon * (1.0 - self.residual_share)

    def _leverage(self, noise: float) -> float:
        if self.max_leverage_of is None:
            return 1.0 / (2.0 * noise**2 * (1.0 + SAFETY))
        return self.max_leverage_of(noise)

    def _pure_share(self, target: Target) -> float:
        """Of a pure epsilon, what one score may cost."""
        left = target.epsilon / self.times * (1.0 - self.residual_share) * (1.0 - SAFETY)
        return left * self._score_share

    def least(self, target: Target) -> float:
        steps = steps_of(target.relation)
        if target.pure:
            return steps / self._pure_share(target)
        if (claimed := self._claimed(target)) is not None:
            return steps / gdp_mu(claimed, target.delta)
        part = (1.0 - self.residual_share) * self._score_share / self.times
        return steps / (target.ideal_mu * math.sqrt(part))

    def excess(self, noise: float, target: Target) -> float:
        steps, max_leverage = steps_of(target.relation, scale=noise), self._leverage(noise)
        steps_of(target.relation, max_leverage=max_leverage)
        if target.pure:
            if self.losses == "bounded":
                spent = steps / noise + bounded_shift(max_leverage, shared=target.shared)
            else:
                ridge = self._ridge_factor(noise) / max_leverage
                spent = gamma_epsilon(1.0 / noise, ridge, relation=target.relation, shared=target.shared)
            return spent / self._pure_share(target) - 1.0 - 1e-15
        if target.mu is not None:
            part = math.sqrt((1.0 - self.residual_share) * self._score_share / self.times)
            spent = mu_perturbed(noise, 1.0 / max_leverage, relation=target.relation, shared=target.shared)
            return spent / (target.mu * part) - 1.0 - 1e-14
        bounded = self.losses == "bounded"
        release = events.perturbed_event(1.0 / noise, max_leverage, target.relation, bounded, target.shared)
        epsilon, beside = self._claimed(target), 0.0
        if epsilon is None:
            epsilon, beside = target.epsilon, math.sqrt(self.times) * self._mus(noise, steps)[1]
        composed: tuple[events.Event, ...] = (*[release] * self.times, events.GaussianEvent(beside))
        return log_ratio(float(composed_profile(composed, [epsilon])[0]), target.delta)

    def _mus(self, noise: float, steps: int) -> tuple[float, float]:
        """The mu of one minimiser with what is released beside it, and of the latter alone."""
        part = (1.0 - self.residual_share) * self._score_share
        total = steps / noise / math.sqrt(part)
        return total, total * math.sqrt(1.0 - part)

    def _ridge_factor(self, noise: float) -> float:
        return max(1.0, self._leverage(noise) * noise * (1.0 + SAFETY)) if self.ridge_grows else 1.0

    def calibration(self, noise: float, target: Target) -> Calibration:
        steps = steps_of(target.relation)
        if target.pure:
            price = target.epsilon / self.times * self.residual_share * (1.0 - SAFETY)
            left = self._pure_share(target) / self._score_share
            measured, second = left * self.measured_share, left * (1.0 - self.measured_share) * self.share
        elif self._claimed(target) is not None:
            price, measured, second = target.epsilon * self.residual_share, 0.0, 0.0
        else:
            total, _ = self._mus(noise, steps)
            price = total * math.sqrt(self.residual_share)
            left = total * math.sqrt(1.0 - self.residual_share)
            measured = left * math.sqrt(self.measured_share)
            second = left * math.sqrt((1.0 - self.measured_share) * self.share)
        sensitivity = self.information_sensitivity
        return Calibration(
            score_scale=noise,
            law="gamma" if target.pure else "gaussian",
            information_scale=sensitivity / second if sensitivity else math.inf,
            measured_price=measured,
            residual_price=price,
            max_leverage=self._leverage(noise),
            ridge_factor=self._ridge_factor(noise) if target.pure else 1.0,
            least_ridge=0.0 if self.max_leverage_of else 1.0 / self._leverage(noise),
            claimed_epsilon=self._claimed(target),
            shared=target.shared,
        )

    def larger_ridge(self, target: Target) -> str:
        if self.losses == "bounded" or self.information_sensitivity:
            return super().larger_ridge(target)
        steps, margin = steps_of(target.relation), 1.001 / (1.0 - self.residual_share)
        ridge = margin * (steps / target.epsilon if target.mu is None else 2.0 * (steps / target.mu) ** 2)
        return f"ridge={ridge:.4g} (nothing is lost there)"


@dataclass(frozen=True)
class NoisySums(Mechanism):
    """Sums over all rows, or over fresh random samples of them, each released once with Gaussian noise.

    ``sensitivity`` is the largest change of the *sum* (nothing is divided by the size of a sample) over a
    sample that holds the row: C (add-remove) or 2 C (replace-one) where rows are cut to norm C. ``rate`` and
    ``sampling`` are those of a `SampledGaussianEvent`.

    Examples
    --------
    >>> sampled, full = NoisySums(1.0, 1000, 0.01), NoisySums(1.0, 1000)  # full: a hundred times the sum
    >>> target = Target("add-remove", epsilon=1.0, delta=1e-6)
    >>> [round(calibrate(sums, target).score_scale, 1) for sums in (sampled, full)]
    [1.6, 133.6]
    """

    sensitivity: float = 1.0
    steps: int = 1
    rate: float = 1.0
    sampling: events.Sampling = "poisson"

    close = 1e-7  # noise is overstated by more than that by the grid of losses

    def __post_init__(self) -> None:
        good = self.steps >= 1 and int(self.steps) == self.steps and 0.0 < self.sensitivity < math.inf
        events.require(
            good, f"steps={self.steps!r}, {self.sensitivity=}", "whole steps >= 1, sensitivity > 0"
        )

    def _on_all_rows(self, target: Target) -> float:
        return self.sensitivity * math.sqrt(self.steps) / target.ideal_mu * (1.0 + SAFETY)

    def least(self, target: Target) -> float:
        noise = self._on_all_rows(target)
        if self.rate == 1.0:
            return noise
        events.SampledGaussianEvent(1.0, self.rate, self.sampling, target.relation)  # checked before any work
        while self.excess(noise / 2.0, target) <= 0.0:
            noise /= 2.0
        return noise / 2.0

    def excess(self, noise: float, target: Target) -> float:
        if noise >= self._on_all_rows(target):
            return 0.0
        event = events.SampledGaussianEvent(
            self.sensitivity / noise, self.rate, self.sampling, target.relation
        )
        return basic_composition([event] * self.steps, target.delta) / target.epsilon - 1.0

    def calibration(self, noise: float, target: Target) -> Calibration:
        return Calibration(min(noise, self._on_all_rows(target)))
