"""Privacy events, one for each promise of a release: what the accountant composes.

What an event says holds for its release given all earlier ones, so events compose, adaptively too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dpglm.errors import PrivacyError
from dpglm.privacy.budget import Relation
from dpglm.privacy.joint_profile import joint_delta
from dpglm.privacy.theorems import STEPS, bounded_delta, bounded_shift

Sampling: TypeAlias = Literal["poisson", "fixed"]


@dataclass(frozen=True)
class PureEvent:
    """A promise: the release is ``epsilon``-DP (delta 0) given all earlier releases."""

    epsilon: float

    def __post_init__(self) -> None:
        require(
            0.0 <= self.epsilon < math.inf, f"PureEvent(epsilon={self.epsilon!r})", "a finite epsilon >= 0"
        )


@dataclass(frozen=True)
class GaussianEvent:
    """A promise: the release is ``mu``-GDP, for *every* real epsilon at once, given all earlier releases.

    True for the Gaussian mechanism (mu = sensitivity / scale) and for Theorem A2. A release accounted by
    Theorem A2' or Theorem B is Gaussian at some epsilons only: describe it by a ``PerturbedEvent``, or by an
    ``ApproximateEvent`` at one of them."""

    mu: float

    def __post_init__(self) -> None:
        require(0.0 <= self.mu < math.inf, f"GaussianEvent(mu={self.mu!r})", "a finite mu >= 0")


@dataclass(frozen=True)
class ApproximateEvent:
    """A promise: the release is (``epsilon``, ``delta``)-DP at this one point, given all earlier releases."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        good = 0.0 <= self.epsilon < math.inf and 0.0 <= self.delta <= 1.0
        require(
            good,
            f"ApproximateEvent(epsilon={self.epsilon!r}, delta={self.delta!r})",
            "epsilon >= 0, 0 <= delta <= 1",
        )


@dataclass(frozen=True)
class PerturbedEvent:
    """A promise: the release is a minimiser perturbed by Gaussian noise, at a ridge too small for Theorem A2.

    Its profile is Gaussian, ``mu`` for each row that moves, at large epsilons only; everywhere it is at most
    the Gaussian one shifted by `shift`. What it costs beside Gaussian releases is in ``joint_profile.py``.

    Parameters
    ----------
    mu : float
        Largest norm of a row over the scale of the noise, > 0.
    max_leverage : float
        Supremum of x' P^-1 x over the declared rows, P the ridge.
    relation : {"add-remove", "replace-one"}
    uniform : bool
        Whether the ridge is one number for all coordinates.

    Examples
    --------
    >>> event = PerturbedEvent(0.2, 0.5, "replace-one")
    >>> event.total_mu, round(event.shift, 3)
    (0.4, 0.118)
    """

    mu: float
    max_leverage: float
    relation: Relation
    uniform: bool = False

    def __post_init__(self) -> None:
        good = 0.0 < self.mu < math.inf and 0.0 < self.max_leverage < math.inf and self.relation in STEPS
        require(good, repr(self), "mu > 0, max_leverage > 0, a relation")

    @property
    def total_mu(self) -> float:
        """Of the Gaussian profile that is shifted."""
        return STEPS[self.relation] * self.mu

    @property
    def shift(self) -> float:
        """The log of the largest Jacobian factor: Theorem A2'."""
        return math.log1p(self.max_leverage / 4.0)

    @property
    def factor(self) -> float:
        """What multiplies the shifted profile."""
        return 1.0

    def delta(self, epsilon: float, beside: float) -> float:
        """A bound on delta at ``epsilon`` of this and of Gaussian releases of total mu ``beside``."""
        steps = STEPS[self.relation]
        return joint_delta(epsilon, self.mu, self.max_leverage, steps, beside, uniform=self.uniform)


@dataclass(frozen=True)
class BoundedSlopeEvent(PerturbedEvent):
    """A promise: as a `PerturbedEvent`, for losses with slopes and curvatures that nothing ties together.

    Its profile is at most `factor` times the Gaussian one shifted by `shift`: Theorem C.

    Examples
    --------
    >>> event = BoundedSlopeEvent(0.2, 0.05, "replace-one")
    >>> event.total_mu, round(event.shift, 4), round(event.factor, 4)
    (0.4, 0.0488, 1.05)
    """

    @property
    def shift(self) -> float:
        """The log of the largest Jacobian factor of one row."""
        return bounded_shift(self.max_leverage)

    @property
    def factor(self) -> float:
        """exp(J) where a row is replaced: the Jacobian of one row multiplies the profile of the other."""
        return 1.0 + self.max_leverage if self.relation == "replace-one" else 1.0

    def delta(self, epsilon: float, beside: float) -> float:
        """A bound on delta at ``epsilon`` of this and of Gaussian releases of total mu ``beside``."""
        return bounded_delta(epsilon, self.mu, self.max_leverage, STEPS[self.relation], beside)


@dataclass(frozen=True)
class SampledGaussianEvent:
    """A promise: the release is a Gaussian mechanism on a fresh random sample of rows, whatever came before.

    The sample is drawn anew for this release and is never shown.

    Parameters
    ----------
    mu : float
        Largest change by one neighbour, where the sample holds the row, over the standard deviation of the
        noise, > 0. For rows cut to norm C: C / scale (add-remove) or 2 C / scale (replace-one), as for a
        `GaussianEvent` on all rows. Under Poisson sampling and replace-one each row alone must move the
        release by no more than half of that, as in a sum of cut rows.
    rate : float
        Probability that the sample holds a given row, in (0, 1]. At 1 this is a `GaussianEvent`.
    sampling : {"poisson", "fixed"}
        Each row independently, or a uniform subset of ``rate * n`` rows (or fewer) without replacement; the
        latter for replace-one only.
    relation : {"add-remove", "replace-one"}
        The one that ``mu`` is for.

    Raises
    ------
    PrivacyError
        A number out of range, or subsets of a fixed size under add-remove.

    Examples
    --------
    >>> SampledGaussianEvent(0.5, 0.01, "fixed", "replace-one").rate
    0.01
    """

    mu: float
    rate: float
    sampling: Sampling
    relation: Relation

    def __post_init__(self) -> None:
        good = 0.0 < self.mu < math.inf and 0.0 < self.rate <= 1.0 and self.relation in STEPS
        require(good, repr(self), "a finite mu > 0, 0 < rate <= 1, a relation")
        require(
            self.rate >= 2.0**-60 and self.mu >= 1e-100, repr(self), "a rate and a mu that are felt at all"
        )
        require(self.sampling in get_args(Sampling), repr(self), "sampling 'poisson' or 'fixed'")
        # With the number of rows private, the size of the subset would be private too.
        fixed = self.sampling == "fixed" and self.relation == "add-remove"
        require(not fixed, repr(self), "relation 'replace-one' where samples have a fixed size")

    @property
    def total_mu(self) -> float:
        """What many of these approach, each: rate sqrt(exp(mu^2) - 1), at most mu. A description, no promise.

        Bu, Dong, Long and Su (2020), "Deep learning with Gaussian differential privacy", HDSR 2(3).
        """
        return min(self.mu, self.rate * math.sqrt(math.expm1(min(self.mu**2, 700.0))))


Event: TypeAlias = PureEvent | GaussianEvent | ApproximateEvent | PerturbedEvent | SampledGaussianEvent


def gaussian_mu(event: Event) -> float | None:
    """The mu of an event that is GDP at every epsilon; None for the others.

    Examples
    --------
    >>> gaussian_mu(GaussianEvent(0.5)), gaussian_mu(SampledGaussianEvent(0.5, 1.0, "poisson", "add-remove"))
    (0.5, 0.5)
    >>> gaussian_mu(SampledGaussianEvent(0.5, 0.1, "poisson", "add-remove")) is None
    True
    """
    if isinstance(event, GaussianEvent) or (isinstance(event, SampledGaussianEvent) and event.rate == 1.0):
        return event.mu
    return None


def require(good: bool, found: str, expected: str) -> None:
    """A PrivacyError unless ``good``."""
    if not good:
        raise PrivacyError(found, expected=expected, remedy="Use the parameters of the planned release.")
