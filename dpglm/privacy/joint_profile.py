r"""Privacy profile of a perturbed minimiser, alone and followed by Gaussian releases: the joint profile.

``mu = 1 / scale`` is the row norm in units of the noise, ``s`` the leverage (``1 / ridge`` for a number, the
supremum of w x' P^-1 x for a matrix P and rows of weight w) times the loss's steepness, k is mu^2/2.
``steps`` is 1 for one row added or removed, 2 for one row replaced (removed, then added). The loss of
"without the row against with it" is Gaussian at any ridge; that of "with against without" is at most

.. math:: \psi(z) = \max_{0 \le a \le 1} a (\mu z + s) - a^2 (s - k), \qquad z \sim N(0, 1),

and at most the Gaussian one plus :math:`J = \log(1 + s/4)`. That is about a row of norm 1; the expectations
below are no larger for rows that move the score less and have all of s.

Let H_e be the profile of the minimiser alone and G(e; mu) the Gaussian one. After adaptive Gaussian releases
of total mu nu the profile is at most

.. math:: E\,H_e, \qquad e \sim N(\epsilon - \nu^2/2, \nu^2).

H is at most G but for ``|e|`` in a range (start, top), where Theorem B does not hold, and E G(e; mu) is
G(epsilon; sqrt(mu^2 + nu^2)). So only the excess in that range is integrated, by sums that are above it cell
by cell: H falls with e. The proof is in ``mechanisms/objective_perturbation.md``.

This is not left to dp-accounting, whose import takes three times as long as a default plan and whose
transforms would leave nothing of a delta of 1e-9 (``loss_distribution.py``).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dpglm.privacy.gdp import SAFETY, gdp_delta, gdp_mu, gdp_profile
from dpglm.typing import FloatVector

# Epsilons of the certified routine from 1e-6 to the far tail. A grid this coarse costs about 2 % of mu where
# the bound itself is R / scale.
_GRID_EPSILONS = 500
_TAIL_EPSILONS = 2000
# Splits of epsilon tried between the row taken out and the row put in.
_SPLITS = 65
# The rounding errors of the closed forms are smaller than this, relative to delta.
_ROUNDING = 1e-9
# Exponents that exp can take, with room for a product. Beyond them less is subtracted: a safe bound on delta.
_LARGEST = 600.0
# Cells of the range of the integral, and how far below its top they reach, in standard deviations of e. With
# so many cells and splits delta is overstated by 1 to 4 %, the noise by 0.2 %, at ridges as methods choose.
_CELLS = 400
_DEPTH = 12.0
# Splits of e within the integral: few of them are near the best.
_FEW_SPLITS = 6


def is_gaussian_at(epsilon: float, mu: float, s: float, steps: int) -> bool:
    """Whether the profile at ``epsilon`` is that of ``steps * mu`` exactly: Theorem B, or A2 where s <= k.

    Examples
    --------
    >>> is_gaussian_at(1.0, mu=0.2, s=1.0, steps=1), is_gaussian_at(1.0, mu=0.2, s=1.0, steps=2)
    (True, False)
    """
    if steps == 1:
        return epsilon >= max(0.0, s - mu * mu / 2.0)
    return epsilon <= mu * mu or epsilon >= 2.0 * s


def profile_bound(
    epsilons: FloatVector, mu: float, s: float, steps: int, splits: int = _SPLITS
) -> FloatVector:
    """The least of the bounds of A2, A2' and B on delta, for epsilons >= 0, shape (k,), both directions.

    Each number is a bound by itself; they need not decrease as epsilon grows.

    Examples
    --------
    >>> profile_bound(np.array([0.2, 0.5]), mu=0.2, s=0.5, steps=1).round(6)
    array([0.02342 , 0.000513])
    """
    total, shift = steps * mu, math.log1p(s / 4.0)
    bound = loss_bound(epsilons, mu, s, steps, splits)
    # Theorem A2' speaks of epsilons from the shift on; below it the number at 0 is no less than that at last.
    bound = np.minimum(bound, gdp_profile(np.maximum(epsilons - shift, 0.0), total))
    last = mu * mu if steps == 2 else 0.0  # up to here the profile is Gaussian at any ridge
    bound = np.minimum(bound, gdp_delta(last, total))
    exact = np.array([is_gaussian_at(epsilon, mu, s, steps) for epsilon in epsilons.tolist()])
    best: FloatVector = np.where(exact, gdp_profile(epsilons, total), bound)
    return best


def loss_bound(epsilons: FloatVector, mu: float, s: float, steps: int, splits: int = _SPLITS) -> FloatVector:
    """Bound on delta through the loss bound of Theorem A2, for epsilons >= 0, shape (k,), both directions.

    Examples
    --------
    >>> loss_bound(np.array([0.5, 2.0]), mu=0.2, s=1.0, steps=1).round(9)
    array([0.00120791, 0.        ])
    """
    if steps == 1:
        return _with_against_without(epsilons, mu, s)
    # One row out, one row in: H(e) <= W(e1) + exp(e1) V(e - e1) for *every* split e1, so any grid of them is
    # safe. The first split is the one at which Gaussian profiles attain equality (Theorem B).
    first = 0.5 * (epsilons - mu * mu)[:, None]
    splits_tried = first + np.linspace(0.0, 1.0, splits) * (epsilons[:, None] - first)
    corner = np.broadcast_to([0.0, max(0.0, s - mu * mu / 2.0)], (len(epsilons), 2))
    splits_tried = np.concatenate([splits_tried, np.minimum(corner, epsilons[:, None])], axis=1)
    rest = epsilons[:, None] - splits_tried
    with np.errstate(over="ignore", invalid="ignore"):
        removed = _with_against_without(splits_tried, mu, s)
        sums = removed + np.exp(splits_tried) * gdp_profile(rest, mu)
    # A split that overflows (inf times 0) says nothing.
    sums = np.where(np.isnan(sums), np.inf, sums)
    bound: FloatVector = np.minimum(1.0, sums.min(axis=1) * (1.0 + _ROUNDING))
    return bound


def _with_against_without(epsilons: FloatVector, mu: float, s: float) -> FloatVector:
    """W: bound on the profile of "with the row against without", any real epsilons, any shape."""
    bound = gdp_profile(epsilons, mu)
    inside = (epsilons > 0.0) & (epsilons < s - mu * mu / 2.0)
    if inside.any():
        bound[inside] = np.minimum(_profile_of_psi(epsilons[inside], mu, s), gdp_delta(0.0, mu))
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
        total = total + flat * normal_mass(np.full_like(e, (cut - s) / mu), (d - s) / mu)
        total = total + _linear_piece(e, d, 2.0 * d - cut, d - shift, mu, s)
    root = math.sqrt(s / d)
    for low, high in ends:
        start = (np.minimum(np.maximum(low, 2.0 * np.sqrt(d * e)), high) - s) / mu
        end = (high - s) / mu
        factor = np.exp(np.minimum(e - s / 4.0, _LARGEST))
        lost = factor / root * normal_mass(root * (start + mu / 2.0), root * (end + mu / 2.0))
        total = total + np.maximum(0.0, normal_mass(start, end) - lost)
    return np.minimum(1.0, total * (1.0 + _ROUNDING))


def _linear_piece(e: FloatVector, low: float, high: float, drop: float, mu: float, s: float) -> FloatVector:
    """The part of the profile from ``low < y < high`` where psi = y - drop."""
    start = (np.minimum(np.maximum(low, e + drop), high) - s) / mu
    end = (high - s) / mu
    lost = np.exp(np.minimum(e + drop - s + mu * mu / 2.0, _LARGEST)) * normal_mass(start + mu, end + mu)
    piece: FloatVector = np.maximum(0.0, normal_mass(start, end) - lost)
    return piece


def normal_mass(low: FloatVector, high: FloatVector | float) -> FloatVector:
    """Normal probability of (low, high), accurate in both tails."""
    upper = low > 0.0
    mass: FloatVector = np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return np.maximum(mass, 0.0)


def certified_mu(mu: float, s: float) -> float:
    """A mu' whose Gaussian profile covers the loss bound of A2 at every epsilon.

    The grid is coarse down to delta = 1e-14, where its size is felt, and fine beyond. It ends at
    J + 36 mu + mu^2 / 2, past which the bound has mass below 1e-280, less than its rounding.
    """
    k, shift = mu * mu / 2.0, math.log1p(s / 4.0)
    closed = 2.0 * s / mu
    near = np.geomspace(1e-6, max(shift, 2e-6), 40)
    far = shift + np.geomspace(1e-6, 9.0 * mu + k, _GRID_EPSILONS)
    grid = np.unique(np.concatenate([[0.0], near, far]))
    delta = _loss_profile(grid, mu, s)
    seen = delta >= 1e-14
    best = covering_mu(mu, grid[1:][seen[:-1]], delta[:-1][seen[:-1]] + 1e-18)
    # From s - k on the profile is Gaussian, with no more than 1 / scale.
    start, end = float(grid[seen][-1]), min(shift + 36.0 * mu + k, s - k)
    if end > start and best < closed:
        grid = np.linspace(start, end, _TAIL_EPSILONS)
        best = covering_mu(best, grid[1:], _loss_profile(grid[:-1], mu, s))
    return min(best, closed)


def covering_mu(mu: float, epsilons: FloatVector, deltas: FloatVector) -> float:
    """The least mu' >= mu whose Gaussian profile reaches ``deltas`` at ``epsilons``.

    Each delta belongs to the grid point before its epsilon, where the true profile is at least as high as
    anywhere in between: covering it at the end of the step covers the whole step.
    """
    goals = deltas * (1.0 + 1e-6)
    for _ in range(len(goals)):
        lack = goals - gdp_profile(epsilons, mu)
        lack = np.divide(lack, goals, out=np.zeros_like(lack), where=goals > 1e-290)
        worst = int(np.argmax(lack))
        if lack[worst] <= 0.0:
            break
        if goals[worst] >= 1.0:
            return math.inf  # no Gaussian profile reaches it: the closed form has to do
        mu = gdp_mu(float(epsilons[worst]), float(goals[worst])) * (1.0 + 2.0 * SAFETY)
    return mu


def _loss_profile(epsilons: FloatVector, mu: float, s: float) -> FloatVector:
    """The profile of the loss bound of A2."""
    profile = gdp_profile(epsilons, mu)
    inside = epsilons < s - mu * mu / 2.0
    profile[inside] = _profile_of_psi(epsilons[inside], mu, s)
    return profile


@lru_cache(maxsize=4096)
def joint_delta(epsilon: float, mu: float, max_leverage: float, steps: int, beside: float) -> float:
    """A bound on delta at any real ``epsilon`` for a minimiser and Gaussian releases of total mu ``beside``.

    The lesser of the integral and of the Gaussian profile shifted by J.

    Examples
    --------
    >>> round(joint_delta(1.0, 0.2, 0.4, 1, 0.2), 9), round(gdp_delta(1.0, math.hypot(0.2, 0.2)), 9)
    (2.3911e-05, 2.3453e-05)
    """
    total, k = math.hypot(steps * mu, beside), mu * mu / 2.0
    if max_leverage <= k:
        return gdp_delta(epsilon, total)
    shifted = gdp_delta(epsilon - math.log1p(max_leverage / 4.0), total)
    if beside == 0.0:
        if epsilon < 0.0:
            return shifted
        alone = profile_bound(np.array([epsilon]), mu, max_leverage, steps)
        return min(shifted, float(alone[0]))
    # Between these the profile is not known to be Gaussian.
    start, top = (0.0, max_leverage - k) if steps == 1 else (2.0 * k, 2.0 * max_leverage)
    centre = epsilon - beside * beside / 2.0
    # One wide cell where e hardly ever is, then equal ones. In each H is largest at the lower end.
    low = max(start, min(top, centre) - _DEPTH * beside)
    edges = np.linspace(low, top, _CELLS + 1)
    edges = edges if low == start else np.concatenate([[start], edges])
    upper = profile_bound(edges[:-1], mu, max_leverage, steps, _FEW_SPLITS)
    excess = np.maximum(0.0, upper - gdp_profile(edges[1:], steps * mu))
    # The other end of the range, -top < e < -start, where H is the reflection of itself.
    mass = _cell_masses(edges, centre, beside) + np.exp(-edges[:-1]) * _cell_masses(-edges, centre, beside)
    integral = (gdp_delta(epsilon, total) + float(mass @ excess)) * (1.0 + _ROUNDING)
    return min(shifted, integral)


def _cell_masses(edges: FloatVector, centre: float, deviation: float) -> FloatVector:
    """Normal probability of each cell, either order of its ends."""
    z = (edges - centre) / deviation
    return normal_mass(np.minimum(z[:-1], z[1:]), np.maximum(z[:-1], z[1:]))
