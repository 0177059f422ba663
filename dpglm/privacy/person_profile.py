r"""Privacy profile of a perturbed minimiser between tables that differ by all rows of a person.

The rows of a person have shares that add up to at most 1, however many they are. With ``mu``, ``s``, k and
``steps`` as in ``joint_profile.py``, the loss of "with against without" is at most a mean of

.. math:: \psi(z) = \max_{0 \le a \le 1} a (\mu z + s) - a^2 (s - k), \qquad z \sim N(0, 1),

over rows; that of "without against with" is at most a mean of max(0, mu z + k). The z of the rows depend on
one another, in any way: so what is known is the mean of a convex function of the loss, and delta is bounded
by those of :math:`(L - t)_+`,

.. math:: (1 - e^{\epsilon - L})_+ \le (L - t)_+ / (1 + d), \qquad t = \epsilon - d + \log(1 + d), d \ge 0.

At epsilon 1 and delta 1e-6 that takes .06 % more noise than a single row does. The proof is Step 8 of
``mechanisms/objective_perturbation.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import erfcx, ndtr

from dpglm.errors import MethodError
from dpglm.privacy.gdp import gdp_mu
from dpglm.privacy.joint_profile import covering_mu, normal_mass
from dpglm.typing import FloatVector

# Tangents that are tried; each is a bound.
_TANGENTS = np.concatenate([[0.0], np.geomspace(1e-3, 4.0, 20)])
# Splits of epsilon tried between the person taken out and the one put in, and the epsilons at which the
# profiles of both are known: between them a profile is below its chord. Cells in a mu, mus, largest epsilon.
_SPLITS = 17
_FINE, _FAR, _LARGEST = 25, 30.0, 600.0
# Cells of the integral beside Gaussian releases where it matters, half of that elsewhere, and how many
# standard deviations they reach. Delta is overstated by less than 1 %, the noise by less than .1 %.
_CELLS = 400
_DEPTH, _OUTER_DEPTH = 9.0, 12.0
# The largest mu: beyond it no Gaussian profile reaches the bound at 0 in double precision.
LARGEST_MU = 4.5
# Relative rounding errors of closed forms are smaller than this.
_ROUNDING = 1e-9
_EPS = 4.0 * np.finfo(np.float64).eps
_SQRT_2PI = math.sqrt(2.0 * math.pi)


def person_profile(epsilons: FloatVector, mu: float, s: float, steps: int) -> FloatVector:
    """A bound on delta at epsilons >= 0, shape (k,), both directions: for one person, or two where exchanged.

    Each number is a bound by itself.

    Examples
    --------
    >>> person_profile(np.array([0.5, 1.0]), mu=0.2, s=0.5, steps=1).round(8)
    array([5.2721e-04, 2.0000e-08])
    """
    if steps == 1:
        return _removed(epsilons, mu, s)
    # One person out, one in: a sum for every split e1 of epsilon. At the first, equal shifts of Gaussians
    # attain equality; from s - k on no row has a Jacobian.
    e = np.asarray(epsilons, dtype=np.float64)[:, None]
    first = 0.5 * (e - mu * mu)
    splits = first + np.linspace(0.0, 1.0, _SPLITS) * (e - first)
    corner = np.broadcast_to([0.0, max(0.0, s - mu * mu / 2.0) + mu], (len(e), 2))
    splits = np.concatenate([splits, np.minimum(corner, e)], axis=1)
    last = min(max(_FAR * mu, s), _LARGEST)
    known = np.linspace(0.0, last, min(math.ceil(_FINE * last / mu), 4000))
    removed, added = _removed(known, mu, s), _added(known, mu)
    with np.errstate(over="ignore", invalid="ignore"):
        growth, places = np.exp(splits), np.exp(known)
        out = np.interp(growth, places, removed)
        back = np.interp(1.0 / growth, places, added)
        out = np.where(splits < 0.0, 1.0 - growth * (1.0 - back), out)
        sums = out + growth * np.interp(np.exp(e - splits), places, added)
    sums = np.where(np.isnan(sums), np.inf, sums)
    bound: FloatVector = np.minimum(1.0, sums.min(axis=1) * (1.0 + _ROUNDING))
    return bound


def require_small(mu: float) -> None:
    """Refuse so little noise that nothing is proved for persons by a MethodError."""
    if not mu <= LARGEST_MU:
        raise MethodError(
            f"noise of {1.0 / mu:.2g} times what one person with several rows may move",
            expected=f"noise of at least {1.0 / LARGEST_MU:.2g} times that: nothing is proved for less",
            remedy="Use a smaller epsilon, a pure one, or rows: 1 of each person.",
        )


@lru_cache(maxsize=4096)
def person_joint_delta(epsilon: float, mu: float, s: float, steps: int, beside: float) -> float:
    """A bound on delta at any real ``epsilon``, for a minimiser and Gaussian releases of total mu ``beside``.

    Examples
    --------
    >>> round(person_joint_delta(1.0, 0.2, 0.4, 1, 0.2), 8)
    2.458e-05
    """
    if beside == 0.0:
        return float(_both_sides(np.array([epsilon]), mu, s, steps)[0])
    # A loss x is left for the minimiser, N(centre, beside^2). Where its density times the profile is largest
    # cells are narrow. The profile is convex in exp(x): below its chord in each cell.
    centre, total = epsilon - beside * beside / 2.0, steps * mu
    narrow = _DEPTH * beside * total / math.hypot(beside, total)
    middle = centre * total**2 / (total**2 + beside**2)
    low, high = centre - _OUTER_DEPTH * beside, centre + _OUTER_DEPTH * beside
    inner = np.linspace(middle - narrow, middle + narrow, _CELLS + 1)
    outer = np.linspace(low, high, _CELLS // 2 + 1)
    edges = np.unique(np.clip(np.concatenate([inner, outer]), low, high))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-9 * beside])]
    bounds = np.minimum.accumulate(_both_sides(edges, mu, s, steps))
    z = (edges - centre) / beside
    masses = normal_mass(z[:-1], z[1:])
    # The mean of exp(x) over a cell is exp(epsilon) times its mass a little further on.
    grown = math.exp(epsilon) * normal_mass(z[:-1] - beside, z[1:] - beside)
    slope = np.diff(bounds) / np.diff(np.exp(edges))
    start = bounds[:-1] - slope * np.exp(edges[:-1])
    error = _EPS * (np.abs(start) * masses + np.abs(slope) * grown)
    chords = np.clip(start * masses + slope * grown + error, bounds[1:] * masses, bounds[:-1] * masses)
    outside = float(ndtr(z[0])) + float(bounds[-1]) * float(ndtr(-z[-1]))
    return min(1.0, (float(chords.sum()) + outside) * (1.0 + _ROUNDING))


@lru_cache(maxsize=4096)
def person_mu(mu: float, s: float = 0.0) -> float:
    """A mu' whose Gaussian profile is above that of a person at every epsilon >= 0.

    Examples
    --------
    >>> round(person_mu(0.2), 3)
    0.217
    """
    k = mu * mu / 2.0
    grid = np.concatenate([[0.0], np.geomspace(1e-4 * mu, mu, 100), np.linspace(mu, 40.0 * mu + k, 1500)[1:]])
    grid = np.unique(np.concatenate([grid, s / 4.0 + grid]))
    deltas = np.minimum.accumulate(_removed(grid, mu, s))
    start = gdp_mu(0.0, min(float(deltas[0]), 1.0 - 1e-12))
    felt = deltas[:-1] > 1e-280
    return covering_mu(max(mu, start), grid[1:][felt], deltas[:-1][felt])


def _both_sides(x: FloatVector, mu: float, s: float, steps: int) -> FloatVector:
    """The profile at any real numbers, reflected at 0."""
    profile = person_profile(np.abs(x), mu, s, steps)
    return np.where(x < 0.0, -np.expm1(-np.abs(x)) + np.exp(-np.abs(x)) * profile, profile)


def _added(epsilons: FloatVector, mu: float) -> FloatVector:
    """V: bound on the profile of "without against with", epsilons >= 0, any shape."""
    d = _TANGENTS
    t = np.asarray(epsilons)[..., None] - d + np.log1p(d)
    bounds = (_gaussian_excess(t, mu) / (1.0 + d)).min(axis=-1)
    # Total variation, from the mean of the loss: Bretagnolle and Huber (1979).
    most = math.sqrt(-math.expm1(-float(_gaussian_excess(np.zeros(1), mu)[0])))
    best: FloatVector = np.minimum(most, bounds) * (1.0 + _ROUNDING)
    return best


def _removed(epsilons: FloatVector, mu: float, s: float) -> FloatVector:
    """W: bound on the profile of "with against without", epsilons >= 0, any shape."""
    if s <= mu * mu / 2.0:
        return _added(epsilons, mu)
    d = _TANGENTS
    t = np.asarray(epsilons)[..., None] - d + np.log1p(d)
    bounds = (_excess_of_psi(t, mu, s) / (1.0 + d)).min(axis=-1) * (1.0 + _ROUNDING)
    # Total variation is the same both ways, and a profile never rises.
    best: FloatVector = np.minimum(bounds, _added(np.zeros(1), mu)[0])
    return best


def _gaussian_excess(t: FloatVector, mu: float) -> FloatVector:
    """``E (max(0, mu z + k) - t)_+`` for z standard normal."""
    k = mu * mu / 2.0
    excess: FloatVector = mu * _mean_beyond((np.maximum(t, 0.0) - k) / mu) + np.maximum(-t, 0.0)
    return excess


def _excess_of_psi(t: FloatVector, mu: float, s: float) -> FloatVector:
    """``E (psi(z) - t)_+`` where s > k: in y = mu z + s it is y^2/4d up to y = 2d, d = s - k, then y - d."""
    d, above = s - mu * mu / 2.0, np.maximum(t, 0.0)
    last = mu * _mean_beyond((np.maximum(above + d, 2.0 * d) - s) / mu)
    # From 2 d on, where psi is more than t already, the whole of y - d - t counts.
    last = last + np.maximum(d - above, 0.0) * ndtr((s - 2.0 * d) / mu)
    low = (np.minimum(2.0 * np.sqrt(d * above), 2.0 * d) - s) / mu
    high = (2.0 * d - s) / mu
    mass, near, far = normal_mass(low, np.full_like(low, high)), _density(low), _density(high)
    linear, square = near - far, mass + low * near - high * far
    parts = (s * s * mass, 2.0 * s * mu * linear, mu * mu * square)
    curved = sum(parts) / (4.0 * d) - above * mass
    size = (s * s * mass + (2.0 * s * mu + mu * mu * (np.abs(low) + abs(high))) * (near + far)) / (4.0 * d)
    curved = np.maximum(curved, 0.0) + _EPS * (size + above * mass)
    return np.asarray(np.where(above < d, curved, 0.0) + last + np.maximum(-t, 0.0))


def _mean_beyond(c: FloatVector) -> FloatVector:
    """``E (z - c)_+`` for z standard normal, accurate in the upper tail."""
    mills = math.sqrt(math.pi / 2.0) * erfcx(np.maximum(c, 0.0) / math.sqrt(2.0))
    tail = _density(c) * (1.0 - c * mills)
    return np.asarray(np.where(c > 0.0, np.maximum(tail, 0.0), _density(c) - c * ndtr(-c)))


def _density(z: FloatVector | float) -> FloatVector:
    return np.asarray(np.exp(-0.5 * np.square(z)) / _SQRT_2PI)
