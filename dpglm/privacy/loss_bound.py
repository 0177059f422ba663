r"""The privacy loss of one perturbed minimiser, as functions of two numbers.

``mu = R / scale`` is the row norm in units of the noise, ``s = R**2 / ridge`` its square in units of the
ridge, k is mu^2/2. ``steps`` is 1 for one row added or removed, 2 for one row replaced (removed, then added).
The loss of "without the row against with it" is Gaussian at any ridge; that of "with against without" is at
most

.. math:: \psi(z) = \max_{0 \le a \le 1} a (\mu z + s) - a^2 (s - k), \qquad z \sim N(0, 1),

and at most the Gaussian one plus :math:`J = \log(1 + s/4)`.

With a ridge matrix P, s is the supremum of u' P^-1 u. Rows shorter than R may then have all of s, and psi is
their bound from ``cover = J`` on only; ``cover`` is 0 for a ridge that is one number.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtr

from dpglm.privacy.accounting import SAFETY, gdp_delta, gdp_mu, gdp_profile
from dpglm.typing import FloatVector

Loss: TypeAlias = Literal["logistic", "general"]

# Epsilons of the certified routine from 1e-6 to the far tail. A grid this coarse costs about 2 % of mu where
# the bound itself is R / scale.
_GRID_EPSILONS = 500
_TAIL_EPSILONS = 2000
# Splits of epsilon tried between the row taken out and the row put in.
_SPLITS = 65
# The rounding errors of the closed forms are smaller than this, relative to delta.
_ROUNDING = 1e-9
# Exponents that exp can take, with room for a product.
_LARGEST = 600.0


def is_gaussian_at(epsilon: float, mu: float, s: float, steps: int, cover: float = 0.0) -> bool:
    """Whether the profile at ``epsilon`` is that of ``steps * mu`` exactly: Theorem B, or A2 where s <= k.

    Examples
    --------
    >>> is_gaussian_at(1.0, mu=0.2, s=1.0, steps=1), is_gaussian_at(1.0, mu=0.2, s=1.0, steps=2)
    (True, False)
    """
    if steps == 1:
        return epsilon >= max(cover, s - mu * mu / 2.0)
    return epsilon <= mu * mu or (epsilon >= 2.0 * s and epsilon >= 2.0 * cover + mu * mu)


def profile_bound(
    epsilons: FloatVector, mu: float, s: float, steps: int, cover: float = 0.0, splits: int = _SPLITS
) -> FloatVector:
    """The least of the bounds of A2, A2' and B on delta, for epsilons >= 0, both directions.

    Each number is a bound by itself; they need not decrease as epsilon grows.

    Parameters
    ----------
    epsilons : ndarray, shape (k,)

    Returns
    -------
    ndarray, shape (k,)

    Examples
    --------
    >>> profile_bound(np.array([0.2, 0.5]), mu=0.2, s=0.5, steps=1, cover=math.log1p(0.5 / 4)).round(6)
    array([0.02342 , 0.000513])
    """
    total, shift = steps * mu, math.log1p(s / 4.0)
    bound = loss_bound(epsilons, mu, s, steps, cover, splits)
    # Theorem A2' speaks of epsilons from the shift on; below it the number at 0 is no less than that at last.
    bound = np.minimum(bound, gdp_profile(np.maximum(epsilons - shift, 0.0), total))
    last = mu * mu if steps == 2 else 0.0  # up to here the profile is Gaussian at any ridge
    bound = np.minimum(bound, gdp_delta(last, total))
    exact = np.array([is_gaussian_at(epsilon, mu, s, steps, cover) for epsilon in epsilons.tolist()])
    best: FloatVector = np.where(exact, gdp_profile(epsilons, total), bound)
    return best


def loss_bound(
    epsilons: FloatVector, mu: float, s: float, steps: int, cover: float = 0.0, splits: int = _SPLITS
) -> FloatVector:
    """Bound on delta through the loss bound of Theorem A2, for epsilons >= 0, both directions.

    Parameters
    ----------
    epsilons : ndarray, shape (k,)

    Returns
    -------
    ndarray, shape (k,)

    Examples
    --------
    >>> loss_bound(np.array([0.5, 2.0]), mu=0.2, s=1.0, steps=1).round(9)
    array([0.00120791, 0.        ])
    """
    if steps == 1:
        return _with_against_without(epsilons, mu, s, cover)
    # One row out, one row in: H(e) <= W(e1) + exp(e1) V(e - e1) for *every* split e1, so any grid of them is
    # safe. The first split is the one at which Gaussian profiles attain equality (Theorem B).
    first = 0.5 * (epsilons - mu * mu)[:, None]
    places = first + np.linspace(0.0, 1.0, splits) * (epsilons[:, None] - first)
    corner = np.broadcast_to([0.0, max(cover, s - mu * mu / 2.0)], (len(epsilons), 2))
    places = np.concatenate([places, np.minimum(corner, epsilons[:, None])], axis=1)
    rest = epsilons[:, None] - places
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _with_against_without(places, mu, s, cover) + np.exp(places) * gdp_profile(rest, mu)
    # A split that overflows (inf times 0) says nothing.
    sums = np.where(np.isnan(sums), np.inf, sums)
    bound: FloatVector = np.minimum(1.0, sums.min(axis=1) * (1.0 + _ROUNDING))
    return bound


def _with_against_without(epsilons: FloatVector, mu: float, s: float, cover: float) -> FloatVector:
    """W: bound on the profile of "with the row against without", any real epsilons, any shape."""
    bound = gdp_profile(epsilons, mu)
    gap = s - mu * mu / 2.0
    bound[(epsilons > 0.0) & (epsilons < max(cover, gap))] = gdp_delta(0.0, mu)
    inside = (epsilons > 0.0) & (epsilons >= cover) & (epsilons < gap)
    if inside.any():
        bound[inside] = np.minimum(_profile_of_psi(epsilons[inside], mu, s), bound[inside])
    return bound


def _profile_of_psi(e: FloatVector, mu: float, s: float) -> FloatVector:
    r"""``E (1 - exp(e - psi(z)))_+`` for 0 <= e < s - k, in closed form; z standard normal.

    In y = mu z + s and with d = s - k > 0, psi is y^2/4d up to y = 2d, then y - d; and at most
    J + max(0, y - d). The minimum of the two has up to five pieces, each a normal integral.
    """
    d, shift = s - mu * mu / 2.0, math.log1p(s / 4.0)
    ends = [(0.0, 2.0 * d)]
    total = _linear_piece(e, 2.0 * d, math.inf, d, mu, s)
    if d > 4.0 * shift:
        cut = 2.0 * math.sqrt(d * shift)
        ends = [(0.0, cut), (2.0 * d - cut, 2.0 * d)]
        flat = -np.expm1(np.minimum(e - shift, 0.0))
        total = total + flat * _mass(np.full_like(e, (cut - s) / mu), (d - s) / mu)
        total = total + _linear_piece(e, d, 2.0 * d - cut, d - shift, mu, s)
    root = math.sqrt(s / d)
    for low, high in ends:
        start = (np.minimum(np.maximum(low, 2.0 * np.sqrt(d * e)), high) - s) / mu
        end = (high - s) / mu
        exponent = e - s / 4.0
        lost = _factor(exponent) / root * _mass(root * (start + mu / 2.0), root * (end + mu / 2.0))
        total = total + np.maximum(0.0, _mass(start, end) - lost)
    return np.minimum(1.0, total * (1.0 + _ROUNDING))


def _linear_piece(e: FloatVector, low: float, high: float, drop: float, mu: float, s: float) -> FloatVector:
    """The part of the profile from ``low < y < high`` where psi = y - drop."""
    start = (np.minimum(np.maximum(low, e + drop), high) - s) / mu
    end = (high - s) / mu
    exponent = e + drop - s + mu * mu / 2.0
    lost = _factor(exponent) * _mass(start + mu, end + mu)
    piece: FloatVector = np.maximum(0.0, _mass(start, end) - lost)
    return piece


def _factor(exponent: FloatVector) -> FloatVector:
    """``exp(exponent)``; beyond its range less, by which less is subtracted: a safe bound on delta."""
    factor: FloatVector = np.exp(np.minimum(exponent, _LARGEST))
    return factor


def _mass(low: FloatVector, high: float) -> FloatVector:
    """Normal probability of (low, high), accurate in both tails."""
    upper = low > 0.0
    mass: FloatVector = np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return np.maximum(mass, 0.0)


def certified_mu(mu: float, s: float, loss: Loss) -> float:
    """A mu' whose Gaussian profile covers the loss bound of A2 at every epsilon.

    The grid is coarse down to delta = 1e-14, where its size is felt, and fine beyond. It ends at
    J + 36 mu + mu^2 / 2, past which the bound has mass below 1e-280, less than its rounding.

    Examples
    --------
    >>> round(certified_mu(0.05, 10 / 400, "logistic"), 4)
    0.0521
    """
    k, shift = mu * mu / 2.0, math.log1p(s / 4.0)
    closed = 2.0 * s / mu if loss == "logistic" else math.inf
    near = np.geomspace(1e-6, max(shift, 2e-6), 40)
    far = shift + np.geomspace(1e-6, 9.0 * mu + k, _GRID_EPSILONS)
    grid = np.unique(np.concatenate([[0.0], near, far]))
    delta = _loss_profile(grid, mu, s, loss)
    seen = delta >= 1e-14
    best = _covering(mu, grid[1:][seen[:-1]], delta[:-1][seen[:-1]] + 1e-18)
    start, end = float(grid[seen][-1]), shift + 36.0 * mu + k
    if loss == "logistic":
        end = min(end, s - k)  # from there on the profile is Gaussian, with no more than 1 / scale
    if end > start and best < closed:
        grid = np.linspace(start, end, _TAIL_EPSILONS)
        best = _covering(best, grid[1:], _loss_profile(grid[:-1], mu, s, loss))
    return min(best, closed)


def _covering(mu: float, epsilons: FloatVector, deltas: FloatVector) -> float:
    """The least mu' >= mu whose Gaussian profile reaches ``deltas`` at ``epsilons``.

    Each delta belongs to the grid point before its epsilon, where the true profile is at least as high as
    anywhere in between: covering it at the end of the step covers the whole step.
    """
    asked = deltas * (1.0 + 1e-6)
    for _ in range(len(asked)):
        lack = asked - gdp_profile(epsilons, mu)
        lack = np.divide(lack, asked, out=np.zeros_like(lack), where=asked > 1e-290)
        worst = int(np.argmax(lack))
        if lack[worst] <= 0.0:
            break
        if asked[worst] >= 1.0:
            return math.inf  # no Gaussian profile reaches it: the closed form has to do
        mu = gdp_mu(float(epsilons[worst]), float(asked[worst])) * (1.0 + 2.0 * SAFETY)
    return mu


def _loss_profile(epsilons: FloatVector, mu: float, s: float, loss: Loss) -> FloatVector:
    """The profile of the loss bound of A2; of ``J + max(0, Gaussian loss)`` for a general loss."""
    if loss == "logistic":
        answer = gdp_profile(epsilons, mu)
        inside = epsilons < s - mu * mu / 2.0
        answer[inside] = _profile_of_psi(epsilons[inside], mu, s)
        return answer
    below = -np.expm1(np.minimum(epsilons - math.log1p(s / 4.0), 0.0))
    beyond = np.maximum(epsilons - math.log1p(s / 4.0), 0.0)
    profile: FloatVector = below + (1.0 - below) * gdp_profile(beyond, mu)
    return profile
