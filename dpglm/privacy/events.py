r"""What a release promises: in words, in privacy events, and the theorems on perturbed minimisers.

A release and a method write their descriptions themselves, once; they are printed as they stand. What an
event says holds for its release given all earlier ones, so events compose, adaptively too: the accountant
does that. Objective perturbation is

.. math:: w^* = \arg\min_w \sum_i \phi_i(w \cdot x_i) + b \cdot w + r(w), \qquad \|x_i\| \le 1,

with fresh noise ``b`` and ``r`` convex once the ridge ``w' P w / 2`` is taken out. Sum units: nothing is
divided by the number of rows. Rows are scaled to norm 1. With :math:`\mu = 1/scale`, :math:`k = \mu^2/2` and
the leverage s, the supremum of :math:`w x'P^{-1}x` over the rows and their weights (1 / ridge for a number)
times the steepness of the loss:

* A1: ``b`` of density exp(-rate |b|) gives pure epsilon-DP.
* A2: Gaussian ``b`` gives mu-GDP where s <= k. Otherwise a bound on the loss is known (``joint_profile.py``).
* A2': the privacy profile is at most the Gaussian one shifted by :math:`J = \log(1 + s/4)`.
* B: at an epsilon large enough for the ridge the profile *is* the Gaussian one. Nothing about other epsilons.

These four are about the logistic loss, :math:`\phi' = -a, \phi'' = a(1-a)`, ``a`` in (0, 1), whose steepness
is 1, and losses with :math:`0 \le \phi'' \le C a(1-a)`, C the steepness.

* C: each :math:`\phi_i` is convex with slopes in an interval of length 1 that holds 0, one for each row, and
  curvature in [0, 1]; nothing ties the two together, as for counts. With :math:`J = \log(1 + s)` the profile
  is, at every real epsilon, at most :math:`G(\epsilon - J; \mu)` for a row added or removed and
  :math:`e^J G(\epsilon - J; 2\mu)` for a row replaced, G the Gaussian profile; beside Gaussian releases of
  total mu nu the same with nu added in squares. Noise of density exp(-rate |b|) gives pure epsilon-DP with
  ``rate + J``, or ``2 rate + J``.

One replaced row is one removed and one added, two steps in all of these. The proofs are in
``mechanisms/objective_perturbation.md``.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from dpglm.errors import PrivacyError
from dpglm.privacy.budget import STEPS, Relation
from dpglm.privacy.gdp import gdp_delta
from dpglm.privacy.joint_profile import joint_delta
from dpglm.privacy.person_profile import person_joint_delta, person_mu, require_small
from dpglm.privacy.theorems import bounded_shift

Sampling: TypeAlias = Literal["poisson", "fixed"]
FactValue: TypeAlias = float | int | str | tuple[float, ...] | tuple[str, ...] | None


@dataclass(frozen=True)
class PureEvent:
    """A promise: the release is ``epsilon``-DP given all earlier releases."""

    epsilon: float
    delta: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        require(0.0 <= self.epsilon < math.inf, repr(self), "a finite epsilon >= 0")


@dataclass(frozen=True)
class ApproximateEvent:
    """A promise: the release is (``epsilon``, ``delta``)-DP at this one point, given all earlier releases."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        good = 0.0 <= self.epsilon < math.inf and 0.0 <= self.delta <= 1.0
        require(good, repr(self), "epsilon >= 0, 0 <= delta <= 1")


@dataclass(frozen=True)
class GaussianEvent:
    """A promise: the release is ``mu``-GDP, for *every* real epsilon at once, given all earlier releases.

    True for the Gaussian mechanism (mu = sensitivity / scale) and for Theorem A2. A release accounted by
    Theorem A2' or Theorem B is Gaussian at some epsilons only: describe it by a ``PerturbedEvent``, or by an
    ``ApproximateEvent`` at one of them."""

    mu: float

    def __post_init__(self) -> None:
        require(0.0 <= self.mu < math.inf, repr(self), "a finite mu >= 0")


@dataclass(frozen=True)
class PerturbedEvent:
    """A promise: the release is a minimiser perturbed by Gaussian noise, at a ridge too small for Theorem A2.

    Its profile is Gaussian, ``mu`` for each row that moves, at large epsilons only; everywhere it is at most
    ``factor`` times the Gaussian one of `total_mu` shifted by `shift`, Theorem A2'.

    Examples
    --------
    >>> event = PerturbedEvent(0.2, 0.5, "replace-one")
    >>> event.total_mu, round(event.shift, 3)
    (0.4, 0.118)
    """

    mu: float  # largest norm of a row over the scale of the noise, > 0
    max_leverage: float  # supremum of C w x' P^-1 x over the declared rows of weight w, P the ridge
    relation: Relation

    def __post_init__(self) -> None:
        good = 0.0 < self.mu < math.inf and 0.0 < self.max_leverage < math.inf and self.relation in STEPS
        require(good, repr(self), "mu > 0, max_leverage > 0, a relation")

    @property
    def total_mu(self) -> float:
        """Of the Gaussian profile that is shifted."""
        return self.least_mu

    @property
    def least_mu(self) -> float:
        """Of the Gaussian profile below which none is claimed."""
        return STEPS[self.relation] * self.mu

    @property
    def shift(self) -> float:
        """The log of the largest Jacobian factor."""
        return math.log1p(self.max_leverage / 4.0)

    @property
    def factor(self) -> float:
        """What multiplies the shifted profile."""
        return 1.0

    def delta(self, epsilon: float, beside: float) -> float:
        """A bound on delta at any real epsilon of this and of Gaussian releases of total mu ``beside``."""
        return joint_delta(epsilon, self.mu, self.max_leverage, STEPS[self.relation], beside)


@dataclass(frozen=True)
class BoundedSlopeEvent(PerturbedEvent):
    """The same promise for losses with slopes and curvatures that nothing ties together: Theorem C.

    Examples
    --------
    >>> event = BoundedSlopeEvent(0.2, 0.05, "replace-one")
    >>> event.total_mu, round(event.shift, 4), round(event.factor, 4), round(event.delta(1.0, 0.2), 6)
    (0.4, 0.0488, 1.05, 0.004445)
    """

    @property
    def shift(self) -> float:
        return bounded_shift(self.max_leverage)

    @property
    def factor(self) -> float:
        # exp(J) where a row is replaced: the Jacobian of one row multiplies the profile of the other.
        return 1.0 + self.max_leverage if self.relation == "replace-one" else 1.0

    def delta(self, epsilon: float, beside: float) -> float:
        shifted = gdp_delta(epsilon - self.shift, math.hypot(self.total_mu, beside))
        return min(1.0, self.factor * shifted)


@dataclass(frozen=True)
class PersonEvent(PerturbedEvent):
    """The same promise of a logistic minimiser for all rows of a person, whose shares add up to at most 1.

    Examples
    --------
    >>> event = PersonEvent(0.2, 0.5, "add-remove")
    >>> round(event.total_mu, 3), event.shift, event.factor, round(event.delta(1.0, 0.2), 7)
    (0.217, 0.125, 1.0, 2.55e-05)
    """

    @property
    def total_mu(self) -> float:
        return STEPS[self.relation] * person_mu(self.mu)

    @property
    def shift(self) -> float:
        return self.max_leverage / 4.0

    @property
    def factor(self) -> float:
        return math.exp(self.shift) if self.relation == "replace-one" else 1.0

    def delta(self, epsilon: float, beside: float) -> float:
        return person_joint_delta(epsilon, self.mu, self.max_leverage, STEPS[self.relation], beside)


def perturbed_event(
    mu: float, max_leverage: float, relation: Relation, bounded: bool, shared: bool
) -> PerturbedEvent:
    """The event of a minimiser whose losses have ``bounded`` slopes, or are logistic.

    ``shared`` makes it that of all rows of a person, whose shares add up to at most 1.

    Examples
    --------
    >>> event = perturbed_event(0.2, 0.05, "add-remove", bounded=True, shared=True)
    >>> round(event.total_mu, 3), round(event.shift, 3)
    (0.217, 0.05)
    """
    if shared:
        require_small(mu)
    if bounded and shared:
        return BoundedSlopeEvent(person_mu(mu), math.expm1(max_leverage), relation)
    kind = BoundedSlopeEvent if bounded else PersonEvent if shared else PerturbedEvent
    return kind(mu, max_leverage, relation)


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
    """

    mu: float
    rate: float
    sampling: Sampling
    relation: Relation

    def __post_init__(self) -> None:
        good = 0.0 < self.mu < math.inf and 0.0 < self.rate <= 1.0 and self.relation in STEPS
        require(good, repr(self), "a finite mu > 0, 0 < rate <= 1, a relation")
        felt = self.rate >= 2.0**-60 and self.mu >= 1e-100
        require(felt, repr(self), "a rate and a mu that are felt at all")
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


PointEvent: TypeAlias = PureEvent | ApproximateEvent
Event: TypeAlias = PointEvent | GaussianEvent | PerturbedEvent | SampledGaussianEvent


@dataclass(frozen=True)
class Fact:
    """A public number or text with the label that a reader sees.

    Examples
    --------
    >>> Fact("ridge", 2.0).label
    'ridge'
    """

    label: str
    value: FactValue


@dataclass(frozen=True)
class ReleaseDescription:
    """What one release lets out, and why that is private."""

    name: str  # as in the ledger's and the spend's lines
    released: str  # what leaves the curator, in words
    sensitivity: float  # largest change by one neighbour of what the noise hides, Euclidean norm
    noise: str  # its law, in words
    scale: float  # in the law's own terms
    theorem: str  # with the mechanism, in words that can be searched for, and the file of the proof
    times: int = 1  # how many equal releases this stands for
    facts: tuple[Fact, ...] = ()


MOST_LINES: Final = 20

# Label of the fact that says who is trusted with what, where it is not one curator; summaries show it.
TRUST: Final = "Who is trusted"


@dataclass(frozen=True, repr=False)
class MethodDescription:
    """How a method works, from public facts only."""

    algorithm: str  # in words
    releases: tuple[ReleaseDescription, ...]  # in their order, equal ones once; empty without privacy
    penalty_applied: str = ""  # where the penalty acts: inside the objective, between releases, or afterwards
    why: str = ""  # why the guarantee holds, in a few sentences
    interval_method: str = ""  # how standard errors and intervals are made; empty where there are none
    facts: tuple[Fact, ...] = ()  # in reading order

    def __repr__(self) -> str:
        return f"<MethodDescription: {self.algorithm}; {', '.join(self._lines())}>"

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self._lines(whole=True))
        return f"<p>{html.escape(self.algorithm)}</p><ul>{items}</ul>"

    def _lines(self, *, whole: bool = False) -> list[str]:
        """Releases in words, at most twenty of them."""
        lines = [
            (f"{one.times} x " if one.times > 1 else "")
            + one.name
            + (f": {one.released}; {one.noise}, scale {one.scale:.4g}; {one.theorem}" if whole else "")
            for one in self.releases[:MOST_LINES]
        ]
        left_out = len(self.releases) - len(lines)
        return [*lines, f"and {left_out} more"] if left_out else lines


def gaussian_mu(event: Event) -> float | None:
    """The mu of an event that is GDP at every epsilon, as a sample of all rows is; None for the others.

    Examples
    --------
    >>> gaussian_mu(GaussianEvent(0.5)), gaussian_mu(SampledGaussianEvent(0.5, 1.0, "poisson", "add-remove"))
    (0.5, 0.5)
    """
    if isinstance(event, GaussianEvent) or (isinstance(event, SampledGaussianEvent) and event.rate == 1.0):
        return event.mu
    return None


def require(good: bool, found: str, expected: str) -> None:
    """A PrivacyError unless ``good``."""
    if not good:
        raise PrivacyError(found, expected=expected, remedy="Use the parameters of the planned release.")
