"""The minimiser of a convex quadratic plus anything convex whose prox is known, by ADMM."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector

_SWEEPS = 20_000
_RELAXATION = 1.6


def minimise_with_prox(
    hessian: FloatMatrix,
    gradient: FloatVector,
    x: FloatVector,
    prox: Callable[[FloatVector, float], FloatVector],
    *,
    pull: FloatVector | None = None,
    accuracy: float,
) -> tuple[FloatVector, FloatVector]:
    r"""Minimiser z of :math:`g'(z - x) + \frac12 (z - x)'H(z - x) + P(z)` and a subgradient of P at z.

    One eigendecomposition, then a product with a matrix and a prox a sweep. The step is the one that is best
    for the extreme eigenvalues of H. Rows are never read.

    Parameters
    ----------
    hessian : ndarray, shape (m, m)
        H, positive definite.
    gradient : ndarray, shape (m,)
        g, the gradient of the quadratic at ``x``.
    x : ndarray, shape (m,)
        Where the quadratic is centred, and the start.
    prox : callable
        ``prox(v, step)`` minimises ``|b - v|^2 / 2 + step * P(b)``.
    pull : ndarray, shape (m,), or None
        A subgradient of P near ``x``: a warm start of the multiplier.
    accuracy : float
        Stop when the Euclidean norm of the model's subgradient at z is at most this.

    Returns
    -------
    z, v : ndarray, shape (m,)
        z is an answer of ``prox``, so zeros are exact; v is a subgradient of P at z.

    References
    ----------
    .. [1] Boyd, Parikh, Chu, Peleato and Eckstein (2011), "Distributed optimization and statistical learning
       via ADMM", section 3.4.3 (over-relaxation).

    Examples
    --------
    >>> from dpglm.glm.penalties.l1 import L1
    >>> gradient = np.array([-3.0, 0.5])
    >>> z, pull = minimise_with_prox(np.eye(2), gradient, np.zeros(2), L1(1.0).prox, accuracy=1e-9)
    >>> z.round(6)
    array([2., 0.])
    """
    if x.size == 0:
        return x.copy(), x.copy()
    roots, vectors = np.linalg.eigh(hessian)
    top = max(float(roots[-1]), 1e-300)
    roots = np.maximum(roots, 1e-12 * top)
    weight = math.sqrt(float(roots[0]) * top)
    inverse = (vectors / (roots + weight)) @ vectors.T
    # Work with steps from x, where the constant part is the exact gradient.
    z = x.copy()
    multiplier = np.zeros_like(x) if pull is None else pull / weight
    best, best_pull, least = z, weight * multiplier, math.inf
    for _ in range(_SWEEPS):
        step = inverse @ (weight * (z - x - multiplier) - gradient)
        relaxed = _RELAXATION * (x + step) + (1.0 - _RELAXATION) * z + multiplier
        z = prox(relaxed, 1.0 / weight)
        multiplier = relaxed - z
        found = weight * multiplier
        residual = float(np.linalg.norm(gradient + hessian @ (z - x) + found))
        if residual < least:
            best, best_pull, least = z, found, residual
            if least <= accuracy:
                break
    return best, best_pull
