r"""A perturbed minimiser followed by Gaussian releases: one bound on the profile of all of them.

Let H_e be the profile of the minimiser alone and G(e; mu) the Gaussian one. After adaptive Gaussian releases
of total mu nu the profile is at most

.. math:: E\,H_e, \qquad e \sim N(\epsilon - \nu^2/2, \nu^2).

H is at most G but for ``|e|`` in a range (start, top), where Theorem B does not hold, and E G(e; mu) is
G(epsilon; sqrt(mu^2 + nu^2)). So only the excess in that range is integrated, by sums that are above it cell
by cell: H falls with e. The proof is in ``mechanisms/objective_perturbation.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dpglm.privacy.accounting import gdp_delta, gdp_profile
from dpglm.privacy.loss_bound import profile_bound
from dpglm.typing import FloatVector

# Cells of the range, and how far below its top they max_leverage, in standard deviations of e. With so many
# cells
# and splits delta is overstated by 1 to 4 %, the noise by 0.2 %, at ridges as methods choose them.
_CELLS = 400
_DEPTH = 12.0
# Splits of e between the row taken out and the row put in: few of them are near the best.
_SPLITS = 6
# The closed forms and their sum are off by less than this, relative.
_ROUNDING = 1e-9


@lru_cache(maxsize=4096)
def staged_delta(
    epsilon: float, mu: float, max_leverage: float, steps: int, beside: float, *, uniform: bool = False
) -> float:
    """A bound on delta at ``epsilon`` for a perturbed minimiser and Gaussian releases after it.

    Parameters
    ----------
    epsilon : float
        Any real number.
    mu : float
        Largest row norm over the scale of the noise, > 0.
    reach : float
        Supremum of x' P^-1 x over the rows, P the ridge, > 0.
    steps : int
        1 where a row is added or removed, 2 where one is replaced.
    beside : float
        Root of the sum of the squared mu of the Gaussian releases, each for the same relation, >= 0.
    uniform : bool
        Whether P is a number times the identity.

    Returns
    -------
    float
        The lesser of the integral and of the Gaussian profile shifted by log(1 + max_leverage / 4).

    Examples
    --------
    >>> round(staged_delta(1.0, 0.2, 0.4, 1, 0.2), 9), round(gdp_delta(1.0, math.hypot(0.2, 0.2)), 9)
    (2.396e-05, 2.3453e-05)
    """
    total = math.hypot(steps * mu, beside)
    shifted = gdp_delta(epsilon - math.log1p(max_leverage / 4.0), total)
    cover = 0.0 if uniform else math.log1p(max_leverage / 4.0)
    start = mu * mu if steps == 2 else 0.0
    top = max(cover, max_leverage - mu * mu / 2.0)  # from here on the profile of one row is Gaussian
    if steps == 2:
        if uniform and max_leverage <= mu * mu / 2.0:
            return gdp_delta(epsilon, total)
        top = mu * mu + 2.0 * top
    if top <= start:
        return gdp_delta(epsilon, total)
    if beside == 0.0:
        if epsilon < 0.0:
            return shifted
        alone = profile_bound(np.array([epsilon]), mu, max_leverage, steps, cover, _SPLITS)
        return min(shifted, float(alone[0]))
    centre = epsilon - beside * beside / 2.0
    edges = _edges(start, top, centre, beside)
    excess = _excess(edges, mu, max_leverage, steps, cover)
    # The other end of the range, -top < e < -start, where H is the reflection of itself.
    mass = _mass(edges, centre, beside) + np.exp(-edges[:-1]) * _mass(-edges, centre, beside)
    integral = (gdp_delta(epsilon, total) + float(mass @ excess)) * (1.0 + _ROUNDING)
    return min(shifted, integral)


def _edges(start: float, top: float, centre: float, beside: float) -> FloatVector:
    """Cells from ``start`` to ``top``: one wide cell where e hardly ever is, then equal ones."""
    low = max(start, min(top, centre) - _DEPTH * beside)
    edges = np.linspace(low, top, _CELLS + 1)
    return edges if low == start else np.concatenate([[start], edges])


def _excess(edges: FloatVector, mu: float, max_leverage: float, steps: int, cover: float) -> FloatVector:
    """A bound on H - G in each cell: H at its lower end, where H is largest, and G at its upper end."""
    upper = profile_bound(edges[:-1], mu, max_leverage, steps, cover, _SPLITS)
    bound: FloatVector = np.maximum(0.0, upper - gdp_profile(edges[1:], steps * mu))
    return bound


def _mass(edges: FloatVector, centre: float, spread: float) -> FloatVector:
    """Normal probability of each cell, either order of its ends, accurate in both tails."""
    z = (edges - centre) / spread
    low, high = np.minimum(z[:-1], z[1:]), np.maximum(z[:-1], z[1:])
    upper = low > 0.0
    mass: FloatVector = np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return mass
