"""Reference values for Theorem A2: the GDP parameter of Gaussian objective perturbation, slow and plain.

mu_objpert(sigma, s): add/remove-one, rows of norm at most 1, s = 1 / (ridge in sum units). For rows of norm
at most R call with sigma / R and s * R**2; for replace-one neighbours double the result. Written
independently of the package: a Riemann sum instead of closed forms, scipy's normal distribution, no speed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import optimize, stats

Phi = stats.norm.cdf


def gdp_delta(eps: float, mu: float) -> float:
    """delta(eps) of a mu-GDP mechanism."""
    return float(Phi(-eps / mu + mu / 2) - np.exp(eps + stats.norm.logcdf(-eps / mu - mu / 2)))


def gdp_mu(eps: float, delta: float) -> float:
    """Largest mu whose delta(eps) is at most delta."""

    def excess(mu: float) -> float:
        return gdp_delta(eps, mu) - delta

    hi = 1.0
    while excess(hi) < 0:
        hi *= 2
    lo = hi
    while excess(lo) > 0:
        lo /= 2
    return float(optimize.brentq(excess, lo, hi, xtol=1e-13))


def mu_objpert(
    sigma: float, s: float, loss: str = "logistic", c2: float = 1.0, n_eps: int = 500, nz: int = 24001
) -> float:
    """Certified mu. loss="logistic", or "general" for any loss with -1 <= phi' <= 0 and phi'' <= c2."""
    k = 1 / (2 * sigma**2)
    z = np.linspace(-9, 9, nz)
    weight = stats.norm.pdf(z) * (z[1] - z[0])
    if loss == "logistic":
        if s <= k:
            return 1 / sigma
        closed, shift = 2 * s * sigma, np.log1p(s / 4)
        slope = z / sigma + s
        a = np.clip(slope / (2 * (s - k)), 0, 1)
        psi = np.maximum(0, np.minimum(a * slope - a * a * (s - k), np.maximum(0, z / sigma + k) + shift))
    else:
        closed, shift = np.inf, np.log1p(c2 * s)
        psi = np.maximum(0, z / sigma + k) + shift
    near, far = np.geomspace(1e-6, shift, 40), shift + np.geomspace(1e-6, 9 / sigma + k, n_eps)
    eps = np.unique(np.concatenate([[0.0], near, far]))
    best = 1 / sigma
    for e0, e1 in pairwise(eps):
        delta = float(np.sum(weight * np.maximum(0, -np.expm1(np.minimum(e0 - psi, 0))))) * (1 + 1e-6) + 1e-18
        if delta < 1e-14:
            break
        if gdp_delta(e1, best) < delta:
            best = gdp_mu(e1, delta)
        if best >= closed:
            return closed
    return min(best, closed)
