r"""The privacy loss of one Gaussian release on a random sample of the rows.

Let q be the rate, G(e; mu) the Gaussian profile and :math:`\gamma = e^e`. Given all that is common to two
neighbouring tables, one release compares mixtures of N(., 1). Its profile is at most, and for the worst
tables equal to,

* Poisson, add-remove, row removed: :math:`q\,G(\log(1 + (\gamma - 1)/q); \mu)`, row added:
  :math:`(1 - \gamma(1 - q))\,G(\log(\gamma q / (1 - \gamma(1 - q))); \mu)`;
* fixed size, replace-one, :math:`\gamma \ge 1`: :math:`q\,G(\log(1 + (\gamma - 1)/q); \mu)`, both ways;
* Poisson, replace-one: that of (1 - q) N(0, 1) + q N(-mu/2, 1) against (1 - q) N(0, 1) + q N(mu/2, 1).

The first two are in [1]_ and [2]_. Fixed size: a sample without row i is one with row i whose place another
row y takes, uniformly. So they give q N(x) + (1 - q) N(y) and q N(x') + (1 - q) N(y) with the same y,
all three at most mu apart. For :math:`\gamma \ge 1` the profile is q times that of N(x) against a mixture of
N(x'), weight :math:`\gamma q / (\gamma - 1 + q)`, and N(y), at :math:`1 + (\gamma - 1)/q`, and profiles are
convex. Below 1 it is the reflection :math:`1 - \gamma + \gamma h(1/\gamma)`, since tables may be swapped.

Poisson, replace-one: the same with N(0) in place of N(y), at most mu/2 from x and from x'. The likelihood
ratio of the mixture to N(x) is a sum of two log-normals, exponential martingales at the times |x' - x|^2 and
|x|^2. Of all sums with these marginals the comonotone one, all on one line, is largest in convex order, and
it grows with the times [3]_. So x' = -x is worst, in any number of dimensions.

References
----------
.. [1] Balle, Barthe and Gaboardi (2018), "Privacy amplification by subsampling", NeurIPS, Theorems 8, 9.
.. [2] Zhu, Dong and Wang (2022), "Optimal accounting of differential privacy via characteristic function",
   AISTATS, Theorem 11.
.. [3] Dhaene, Denuit, Goovaerts, Kaas and Vyncke (2002), "The concept of comonotonicity in actuarial science
   and finance: theory", Insurance: Mathematics and Economics 31(1).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.special import ndtr

from dpglm.privacy.accounting import gdp_profile
from dpglm.privacy.events import ApproximateEvent, Event, GaussianEvent, PureEvent, SampledGaussianEvent
from dpglm.privacy.loss_sum import Loss
from dpglm.typing import FloatVector

# Noise beyond this many standard deviations is read as an infinite loss: probability 1e-44.
_FAR = 14.0


def loss_of(event: Event, *, added: bool) -> Loss:
    """The loss of a sampled, Gaussian or point event, mu at most 20.

    Parameters
    ----------
    event : SampledGaussianEvent, GaussianEvent, PureEvent or ApproximateEvent
    added : bool
        Of a sample under add-remove: that of the table without the row against the one with it.

    Examples
    --------
    >>> loss = loss_of(SampledGaussianEvent(0.5, 0.1, "fixed", "replace-one"), added=False)
    >>> loss.profile(np.array([0.0, 0.1])).round(5)
    array([0.01974, 0.00236])
    """
    if isinstance(event, PureEvent | ApproximateEvent):
        own = event.delta if isinstance(event, ApproximateEvent) else 0.0
        point = partial(_point, event.epsilon, own)
        return Loss(partial(_reflected, point), -event.epsilon, event.epsilon, event.epsilon)
    assert isinstance(event, GaussianEvent | SampledGaussianEvent)
    mu = event.mu
    if isinstance(event, GaussianEvent):
        far = mu * (_FAR + mu / 2.0)
        return Loss(partial(_gaussian, mu), -far, far, mu)
    q = event.rate
    most = math.log1p(q * math.expm1(mu * (mu / 2.0 + _FAR)))
    least = math.log1p(q * math.expm1(-mu * (mu / 2.0 + _FAR)))
    if event.relation == "add-remove":
        z = np.linspace(-_FAR, _FAR, 2001)
        losses = np.log1p(q * np.expm1(mu * z - mu * mu / 2.0))
        if added:
            return Loss(partial(_added, mu, q), -most, -least, _root_mean_square(losses, z))
        size = math.hypot(
            math.sqrt(1.0 - q) * _root_mean_square(losses, z),
            math.sqrt(q) * _root_mean_square(losses, z - mu),
        )
        return Loss(partial(_removed, mu, q), least, most, size)
    z = np.linspace(-_FAR, _FAR + mu, 2001)
    losses = np.log1p(q * np.expm1(mu * z - mu * mu / 2.0))
    size = math.hypot(
        math.sqrt(1.0 - q) * _root_mean_square(losses, z), math.sqrt(q) * _root_mean_square(losses, z - mu)
    )
    profile = _fixed if event.sampling == "fixed" else _replaced
    return Loss(partial(_reflected, partial(profile, mu, q)), -most, most, size)


def _root_mean_square(losses: FloatVector, normal: FloatVector) -> float:
    weights = np.exp(-0.5 * np.square(normal))
    return math.sqrt(float(np.dot(weights, np.square(losses)) / weights.sum()))


def _gaussian(mu: float, epsilons: FloatVector) -> FloatVector:
    return gdp_profile(epsilons, mu)


def _point(epsilon: float, own: float, epsilons: FloatVector) -> FloatVector:
    """Of an (epsilon, own)-DP release, epsilons >= 0: randomised response, or all, with probability own."""
    inside = np.maximum(0.0, -np.expm1(epsilons - epsilon)) / (1.0 + math.exp(-epsilon))
    return own + (1.0 - own) * inside


def _removed(mu: float, q: float, epsilons: FloatVector) -> FloatVector:
    """(1 - q) N(0) + q N(mu) against N(0)."""
    inner = np.expm1(epsilons) / q
    deltas = -np.expm1(epsilons)
    real = inner > -1.0
    deltas[real] = q * gdp_profile(np.log1p(inner[real]), mu)
    return deltas


def _added(mu: float, q: float, epsilons: FloatVector) -> FloatVector:
    """N(0) against (1 - q) N(0) + q N(mu)."""
    left = -np.expm1(epsilons + math.log1p(-q))
    deltas = np.zeros(epsilons.size)
    real = left > 0.0
    deltas[real] = left[real] * gdp_profile(epsilons[real] + math.log(q) - np.log(left[real]), mu)
    return deltas


def _fixed(mu: float, q: float, epsilons: FloatVector) -> FloatVector:
    """q N(x) + (1 - q) N(y) against q N(x') + (1 - q) N(y), epsilons >= 0."""
    return q * gdp_profile(np.log1p(np.expm1(epsilons) / q), mu)


def _replaced(mu: float, q: float, epsilons: FloatVector) -> FloatVector:
    """(1 - q) N(0) + q N(-mu/2) against (1 - q) N(0) + q N(mu/2), epsilons >= 0."""
    half = mu / 2.0
    grown = np.exp(epsilons)
    side = np.expm1(epsilons) * (1.0 - q)
    height = q * math.exp(-half * half / 2.0)
    # The densities cross where s = exp(half z) solves height (1 / s - grown s) = side.
    z = (math.log(2.0 * height) - np.log(side + np.hypot(side, 2.0 * height * np.sqrt(grown)))) / half
    return np.maximum(0.0, q * (ndtr(z + half) - grown * ndtr(z - half)) - side * ndtr(z))


def _reflected(profile: partial[FloatVector], epsilons: FloatVector) -> FloatVector:
    """A profile known at epsilons >= 0, of neighbours that may be swapped, at all epsilons."""
    size = np.abs(epsilons)
    delta = profile(size)
    return np.where(epsilons < 0.0, -np.expm1(-size) + np.exp(-size) * delta, delta)
