"""Objective perturbation: the minimiser of a loss plus a random linear term, released once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError
from dpglm.mechanisms.base import (
    CERTIFICATE,
    CHOSEN,
    TAIL,
    Covered,
    PenalisedMinimiser,
    Rows,
    release_error,
    require_positive,
    require_public_rows,
)
from dpglm.mechanisms.densities import perturbation_log_ratio
from dpglm.mechanisms.noise import NoiseSource, add_laplace, add_normal, grid_step, laplace_price
from dpglm.mechanisms.rows import WithinLeverage
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.events import (
    ApproximateEvent,
    Event,
    Fact,
    GaussianEvent,
    PureEvent,
    ReleaseDescription,
    perturbed_event,
)
from dpglm.privacy.joint_profile import is_gaussian_at
from dpglm.privacy.theorems import bounded_shift, gamma_epsilon, mu_perturbed, perturbed_profile
from dpglm.typing import FloatMatrix, FloatVector

_SLACK = 1e-3
# What the ridge may pull with, in units of the tolerance: a double is off by 1/256 of that at most.
_DIGITS = 2.0**45
# A centre may be this many tolerances long: rounding in the certificate grows with the point it is about.
CENTRE = 1e7
# Why the claim holds, for a reader of the report: the argument of the proof, and what each theorem adds.
_WHY = (
    "At the minimiser the gradient is zero, so each output belongs to exactly one noise vector b: outputs "
    "and noise determine each other, and the density of the output is the density of b times a Jacobian.",
    "For two neighbouring tables the same output needs two noise vectors. They differ by at most the "
    "slope of one row’s loss (one row more or less) or of two rows (one exchanged), and every slope is at "
    "most the row’s norm.",
    "The Jacobians differ by one rank-one term, bounded by the loss’s curvature against the ridge: one "
    "factor, not two.",
)
_WHY_BY_THEOREM = {
    "A1": "With noise of density exp(-|b|/scale) the first ratio is at most exp(distance/scale). "
    "With enough ridge the Jacobian’s factor is made up for by the slope’s distance from its bound, so "
    "the sum is at most ε.",
    "A2": "With Gaussian noise the log-ratio is bounded by that of two shifted Gaussians, point "
    "by point, when the ridge is large against the noise variance: the release is as private as the "
    "Gaussian mechanism.",
    "A2 and A2'": "For any ridge the Jacobian costs at most log(1 + R²/(4 ridge)); the rest of the "
    "log-ratio is that of two shifted Gaussians. The Gaussian privacy profile, shifted by that cost, "
    "therefore bounds the release, and so does a numeric bound on the log-ratio: the smaller one counts.",
    "A2' and B": "The other releases’ log-ratios decide how much of ε is left for this one. Where that is "
    "enough for its ridge, its δ is that of the Gaussian mechanism; elsewhere the Jacobian costs at most "
    "log(1 + R²/(4 ridge)). The average over the other log-ratios bounds the δ of all releases together.",
    "B": "At the declared ε only outputs with a log-ratio above ε matter. With a ridge of at "
    "least R²/ε (one row more or less) or 2R²/ε (one exchanged) these are outputs where the Jacobian "
    "costs nothing, so δ is that of the Gaussian mechanism.",
    "for persons": "A person’s rows have shares that add up to at most 1, so the log-ratio is at most a mean "
    "over her rows of what a single row’s can be. However these depend on one another, the mean of a convex "
    "function of it is no larger than for one row; that bounds δ.",
    "C": "The slope of a row stays in an interval as long as the row’s norm, and a convex function "
    "of it is largest at an end: the log-ratio is that of two shifted Gaussians (or the distance over the "
    "scale), plus at most log(1 + R²/ridge) for the Jacobian. The privacy profile, shifted by that cost, "
    "bounds the release.",
}
_WHY_BY_TERM = (
    "Each term has a ridge of its own here: R² over the ridge is then the sum over terms of the largest "
    "squared norm over the ridge."
)
_WHY_RESIDUAL = (
    "The solver stops at a certified residual, not at the exact minimum. Between neighbours the point it "
    "stops at moves by at most twice the residual over the ridge more than the minimum does, and a "
    "second, small noise hides that; its price is in the ledger."
)


@dataclass(frozen=True, eq=False)
class PerturbedMinimiser(PenalisedMinimiser):
    r"""The minimiser of a randomly perturbed objective, with noise that hides the solver's own error.

    With rows x_i of weight w_i it releases ``theta + residual noise``, theta minimising

        sum_i w_i loss(x_i'theta, y_i) + b'theta + theta' P theta / 2 + penalty(gamma),

    theta = mixing @ gamma, in sum units: nothing is divided by the number of rows. Rows without weights have
    1. ``b`` is the noise. Run at a point c that was released before, the ridge pulls towards c:
    ``(theta - c)' P (theta - c) / 2``.

    Parameters
    ----------
    ridge : float or ndarray, shape (p,)
        Diagonal of P; a number for all coordinates alike.
    residual_noise_scale : float
        Scale of the noise that hides what the solver left over, added on a grid: the standard deviation of
        Gaussian noise where the claim composes and ``law`` is Gaussian, else the scale of independent
        Laplace noise.
    claimed_epsilon : float or None
        With Gaussian noise: the epsilon at which the release is claimed as (epsilon, delta) by itself. None
        claims what composes with Gaussian releases: Gaussian differential privacy where the leverage is at
        most ``1 / (2 scale**2)`` or ``max_leverage`` is None, and otherwise a `PerturbedEvent`. Families
        that are not logistic have None only, and a `BoundedSlopeEvent`.
    max_leverage : float or None
        Public bound on w x' P^-1 x; rows beyond it are read as zeros. Needed where ``ridge`` is an array; for
        a number it is 1 / ridge, and saying so asks for the claim that composes.
    shared : bool
        Whether the claim is about all rows of a person, whose shares add up to at most 1.
    """

    residual_noise_scale: float
    claimed_epsilon: float | None = None
    max_leverage: float | None = None
    shared: bool = False

    name: ClassVar[str] = "perturbed minimiser"
    premises: ClassVar[tuple[str, ...]] = (CHOSEN, CERTIFICATE, TAIL)
    turns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.require_bounds("a perturbed objective", curvature=True)  # proof: slopes
        require_positive(self, "residual_noise_scale")
        if self.claimed_epsilon is not None and not self.family.logistic:
            raise release_error(
                f"a claim at one epsilon for family {self.family.name!r}",
                "a logistic loss, whose slope is at most 1 and whose curvature is a(1 - a)",
            )
        ridge = np.asarray(self.ridge, dtype=np.float64)
        # Rows may be declared a little shorter than 1; one number takes no advantage of that.
        least = 1.0 / float(ridge.max()) * (1.0 - (_SLACK if ridge.ndim else 0.0))
        if (self.max_leverage is None and ridge.ndim) or (
            self.max_leverage is not None and not self.max_leverage >= least
        ):
            raise release_error(
                f"max_leverage={self.max_leverage!r} with a largest ridge of {float(ridge.max()):g}",
                "the largest x' P^-1 x of a row, at least 1 / max(ridge)",
            )

    @property
    def covers(self) -> Covered:
        return "all rows" if self.shared else "one row"  # proof: shared

    @property
    def weighs(self) -> bool:
        return True  # proof: weights

    @property
    def least_ridge(self) -> float:
        """Strong convexity: the smallest ridge of any coordinate."""
        return float(np.min(self.ridge))  # proof: convexity

    @property
    def moved(self) -> float:
        """How far apart neighbours' answers lie where their minimisers are the same: twice 2 tolerances."""
        return 2.0 * 2.0 * self.tolerance / self.least_ridge  # proof: residual

    @property
    def _max_leverage(self) -> float:
        """Steepness times w x' P^-1 x at most, for rows within ``max_leverage`` and w |x|^2 at most 1."""
        declared = math.inf if self.max_leverage is None else self.max_leverage
        return self.family.steepness * min(1.0 / self.least_ridge, declared)  # proof: steep

    def steeper(self, steepness: float) -> PerturbedMinimiser:
        """The same of the family's `steeper` loss, at a ridge with which it costs no more."""
        family = self.family.steeper(steepness)
        times = family.steepness / self.family.steepness
        leverage = None if self.max_leverage is None else self.max_leverage / times
        return replace(self, family=family, ridge=times * self.ridge, max_leverage=leverage)

    def sensitivity(self, relation: Relation) -> float:
        """Largest change of the score sum_i slope_i x_i: one row moves it by its norm, at most 1."""
        return float(STEPS[relation])  # proof: sensitivity

    def events(self, relation: Relation) -> tuple[tuple[str, Event], ...]:
        require_public_rows("add-remove" if self.shared else relation, self.penalty_rows)
        if self.claimed_epsilon is None and self.law == "gaussian":
            residual = GaussianEvent(self.moved / self.residual_noise_scale)
            return (self.name, self._composable(relation)), ("solver residual", residual)
        minimum: Event
        if self.law == "gamma":
            minimum = PureEvent(self._pure(1.0 / self.scale, relation))
        else:
            claimed = self.claimed_epsilon
            assert claimed is not None, "what composes is above"
            delta = self._claimed_profile(claimed, relation)
            minimum = ApproximateEvent(claimed, float(delta[0]))  # proof: profile
        # Rows of norm sqrt(p) at most in the sum of absolute values.
        distance, size = self.moved * math.sqrt(len(self.mixing)), len(self.mixing)
        price = laplace_price(distance, self.residual_noise_scale, size)  # proof: blur
        return (self.name, minimum), ("solver residual", PureEvent(price))

    @property
    def noise_scales(self) -> tuple[float, float]:
        return self.scale, self.residual_noise_scale

    @property
    def ridges(self) -> FloatVector:
        """Diagonal of P, shape (p,)."""
        return np.broadcast_to(np.asarray(self.ridge, dtype=np.float64), (len(self.mixing),))

    def _theorem(self, relation: Relation) -> tuple[str, str]:
        """What is claimed, and the theorem of the proof that says so."""
        if self.law == "gamma":
            return "pure epsilon", "A1" if self.family.logistic else "C"
        if self.claimed_epsilon is not None:
            rates = 1.0 / self.scale, self._max_leverage
            gaussian = is_gaussian_at(self.claimed_epsilon, *rates, STEPS[relation])
            return "(epsilon, delta)", "B" if gaussian else "A2 and A2'"
        if not self.family.logistic:
            return "(epsilon, delta)", "C"
        if isinstance(self._composable(relation), GaussianEvent):
            return "Gaussian differential privacy", "A2"
        return "(epsilon, delta) beside Gaussian releases", "A2' and B"

    def describe(self, relation: Relation) -> ReleaseDescription:
        claim, theorem = self._theorem(relation)
        plural, persons = "s" if " and " in theorem else "", " for persons" if self.shared else ""
        return ReleaseDescription(
            name=self.name,
            released="the minimiser of sum of losses + b'theta + ridge/2 |theta|^2 + penalty, once",
            sensitivity=self.sensitivity(relation),
            noise=self.noise_law.words,
            scale=self.scale,
            theorem=f"objective perturbation, {claim} (Theorem{plural} {theorem}{persons}, "
            "objective_perturbation.md)",
            facts=(
                Fact("Ridge, sum units", tuple(np.unique(self.ridge).tolist())),
                Fact("Certified solver residual", self.tolerance),
                Fact("Noise that hides the residual", self.residual_noise_scale),
            ),
        )

    def why(self, relation: Relation) -> tuple[str, ...]:
        terms = (_WHY_BY_TERM,) if np.ndim(self.ridge) else ()
        persons = (_WHY_BY_THEOREM["for persons"],) if self.shared else ()
        theorem = _WHY_BY_THEOREM[self._theorem(relation)[1]]
        return (*_WHY, theorem, *terms, *persons, _WHY_RESIDUAL)

    def profile(self, epsilons: FloatVector, relation: Relation) -> FloatVector | None:
        if self.law == "gamma" or self.claimed_epsilon is None:
            return None
        _, (_, residual) = self.events(relation)
        assert isinstance(residual, PureEvent)
        deltas = self._claimed_profile(np.maximum(epsilons - residual.epsilon, 0.0), relation)
        return np.where(epsilons < residual.epsilon, 1.0, deltas)

    def _claimed_profile(self, epsilons: ArrayLike, relation: Relation) -> FloatVector:
        ridge = 1.0 / self._max_leverage
        return perturbed_profile(epsilons, self.scale, ridge, relation=relation, shared=self.shared)

    def log_ratio(
        self, answers: FloatMatrix, first: Rows, second: Rows, at: FloatMatrix | None
    ) -> FloatVector:
        tables = self._within_leverage(first), self._within_leverage(second)
        return perturbation_log_ratio(self.family, self.ridges, self.noise_law, answers, tables)

    def _within_leverage(self, rows: Rows) -> Rows:
        if np.ndim(self.ridge) == 0:
            return rows
        assert self.max_leverage is not None, "checked on construction"
        return WithinLeverage(rows, np.asarray(self.ridge), self.max_leverage)  # proof: reach

    def _pure(self, rate: float, relation: Relation) -> float:
        if self.family.logistic:
            ridge = 1.0 / self._max_leverage
            return gamma_epsilon(rate, ridge, relation=relation, shared=self.shared)  # proof: gamma
        return STEPS[relation] * rate + bounded_shift(
            self._max_leverage, shared=self.shared
        )  # proof: bounded-gamma

    def _composable(self, relation: Relation) -> Event:
        """What holds beside other Gaussian releases."""
        rate, leverage = 1.0 / self.scale, self._max_leverage
        enough = leverage <= 0.5 / self.scale**2 and not self.shared
        if self.family.logistic and (self.max_leverage is None or enough):
            mu = mu_perturbed(self.scale, 1.0 / leverage, relation=relation, shared=self.shared)
            return GaussianEvent(mu)  # proof: gaussian
        if not self.family.logistic:
            return perturbed_event(rate, leverage, relation, True, self.shared)  # proof: bounded
        return perturbed_event(rate, leverage, relation, False, self.shared)  # proof: staged

    def residual_noise_for(self, price: float) -> float:
        """The scale of the residual noise at which hiding the residual costs ``price``, in epsilon or in mu.

        A price below what rounding to the grid costs is a MethodError.
        """
        if self.law == "gaussian" and self.claimed_epsilon is None:
            grid_step(self.moved / price, self.moved, len(self.mixing))
            return self.moved / price
        size = len(self.mixing)
        left = price - laplace_price(0.0, 1.0, size)
        if not left > 0.0:
            raise MethodError(
                f"a share of {price:.3g} of epsilon for the solver's residual",
                expected=f"more than {laplace_price(0.0, 1.0, size):.1g}",
                remedy="Spend a larger epsilon.",
            )
        return laplace_price(self.moved * math.sqrt(size), 1.0, 0) / left

    def run(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> FloatVector:
        """Draw b, minimise to the certificate, add the residual noise; shape (p,), coded coefficients.

        ``at`` is where the ridge pulls to, zero if None.
        """
        tilt = self.noise_law.draw(noise)  # proof: fresh
        if at is not None:
            tilt = tilt - self._pull(at)  # proof: centre
        centre = self.certified_minimum(self._within_leverage(rows), tilt)  # proof: certificate
        if self.law == "gaussian" and self.claimed_epsilon is None:
            return add_normal(centre, scale=self.residual_noise_scale, sensitivity=self.moved, noise=noise)
        return add_laplace(centre, scale=self.residual_noise_scale, noise=noise)

    def within_double_precision(self, at: FloatVector) -> bool:
        """Whether the ridge pulls to all of a centre: none of it cut, near enough for the certificate."""
        felt = np.abs(np.asarray(self.ridge) * at) <= _DIGITS * self.tolerance
        return bool(np.all(felt) and np.linalg.norm(at) <= CENTRE * self.tolerance * (1.0 + 1e-9))

    def _pull(self, at: FloatVector) -> FloatVector:
        """P times the centre, which is cut where rounding in it would be felt beside the tolerance."""
        most = _DIGITS * self.tolerance
        return np.clip(np.asarray(self.ridge) * at, -most, most)
