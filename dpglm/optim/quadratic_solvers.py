"""A quadratic plus a convex part that need not be smooth: active set for the lasso, ADMM for any prox."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dpglm.glm.penalties.base import Penalty
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Rounds that let all violators in at once; afterwards one at a time, which cannot cycle.
_GREEDY_ROUNDS = 25
_SWEEPS = 20_000
_RELAXATION = 1.6
# Sweeps between two measurements of the residuals, which cost as much as a sweep.
_INTERVAL = 10
# Residuals at which Newton's method takes over: the support has settled well before the last digits.
_NEAR = np.array([1e-3, 1e-5, 1e-7, -1.0])
_NEWTON_STEPS = 20


class Model(NamedTuple):
    """The quadratic ``gradient.(z - x) + (z - x).hessian.(z - x) / 2`` of a smooth part around ``x``."""

    hessian: FloatMatrix
    gradient: FloatVector
    x: FloatVector


class Shape(Protocol):
    """The convex part of an objective that need not be smooth."""

    @property
    def smooth(self) -> bool:
        """Whether it is zero everywhere."""

    def value(self, x: FloatVector) -> float:
        """Its value."""

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        """A subgradient at ``x`` that offsets ``gradient`` well, ``known`` or better; None: not known."""

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        """Minimiser of a model plus this part, to a subgradient of norm ``accuracy``; one there if known."""


@dataclass(frozen=True, eq=False)
class WeightedL1:
    """``sum_j weights_j |x_j|``, weights >= 0 of shape (m,)."""

    weights: FloatVector

    @property
    def smooth(self) -> bool:
        return not self.weights.any()

    def value(self, x: FloatVector) -> float:
        return float(self.weights @ np.abs(x))

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        at_zero = np.clip(-gradient, -self.weights, self.weights)
        return np.where(x == 0.0, at_zero, self.weights * np.sign(x))

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        return minimise_with_l1(*model, self.weights), None


@dataclass(frozen=True, eq=False)
class Penalised:
    """Any convex penalty on the coordinates of a mask."""

    penalty: Penalty
    mask: BoolVector
    smooth = False

    def value(self, x: FloatVector) -> float:
        return self.penalty.value(x[self.mask])

    def pull(self, x: FloatVector, gradient: FloatVector, known: FloatVector | None) -> FloatVector | None:
        return known

    def minimise_model(
        self, model: Model, pull: FloatVector | None, accuracy: float
    ) -> tuple[FloatVector, FloatVector | None]:
        return minimise_with_prox(*model, self._prox, pull=pull, accuracy=accuracy)

    def _prox(self, v: FloatVector, step: float) -> FloatVector:
        mapped = v.copy()
        mapped[self.mask] = self.penalty.prox(v[self.mask], step)
        return mapped


def minimise_with_l1(
    hessian: FloatMatrix, gradient: FloatVector, x: FloatVector, weights: FloatVector
) -> FloatVector:
    r"""Minimiser z of :math:`g'(z - x) + \frac12 (z - x)'H(z - x) + \sum_j w_j |z_j|`.

    On a guess of the support and signs the minimiser solves a linear system; coordinates that would change
    sign on the way are stopped at zero and leave the support, coordinates whose gradient exceeds their weight
    enter it. The objective never increases, so no guess comes twice and the answer is exact to rounding.

    H is positive definite. The support and signs of ``x`` are the first guess; a coordinate of weight 0 is
    always in the support. Coordinates outside the support are exactly 0.

    References
    ----------
    .. [1] Lee, Battle, Raina and Ng (2006), "Efficient sparse coding algorithms", NIPS 19, algorithm 1
       (feature-sign search); several coordinates enter at once here, as long as that makes progress.

    Examples
    --------
    >>> minimise_with_l1(np.eye(2), np.array([-3.0, 0.5]), np.zeros(2), np.ones(2))
    array([2., 0.])
    """
    z = x.astype(np.float64, copy=True)
    support = (weights == 0.0) | (z != 0.0)
    signs = np.sign(z)
    slope = gradient.astype(np.float64, copy=True)
    # Rounding in H (z - x) leaves this much of a gradient that should equal its weight.
    slack = 1e-13 * (1.0 + float(np.abs(gradient).max(initial=0.0)))
    for round_ in range(_GREEDY_ROUNDS + 10 * x.size):
        z, support = _settle(hessian, slope, z, support, signs, weights)
        slope = gradient + hessian @ (z - x)
        excess = np.where(support, 0.0, np.abs(slope) - weights)
        violators = excess > slack
        if not violators.any():
            break
        if round_ >= _GREEDY_ROUNDS:
            violators = np.arange(x.size) == int(np.argmax(excess))
        signs = np.where(violators, -np.sign(slope), signs)
        support = support | violators
    return z


def _settle(
    hessian: FloatMatrix,
    slope: FloatVector,
    z: FloatVector,
    support: BoolVector,
    signs: FloatVector,
    weights: FloatVector,
) -> tuple[FloatVector, BoolVector]:
    """Minimiser on a support with signs, walked to from ``z``; what meets zero on the way stays there."""
    z, slope, support = z.copy(), slope.copy(), support.copy()
    for _ in range(z.size + 1):
        active = np.flatnonzero(support)
        if active.size == 0:
            break
        block = hessian if active.size == z.size else hessian[np.ix_(active, active)]
        move = -solve(block, slope[active] + weights[active] * signs[active])
        here, there = z[active], z[active] + move
        crossing = (weights[active] > 0.0) & (there * signs[active] <= 0.0)
        if not crossing.any():
            z[active] = there
            break
        share = np.full(active.size, np.inf)
        span = np.where(move == 0.0, 1.0, move)
        share[crossing] = np.clip(-here[crossing] / span[crossing], 0.0, 1.0)
        part = float(share.min())
        z[active] = here + part * move
        leaving = active[share <= part]
        z[leaving] = 0.0
        support[leaving] = False
        slope += hessian[:, active] @ (z[active] - here)
    return z, support


def solve(matrix: FloatMatrix, right: FloatVector) -> FloatVector:
    """Solution of ``matrix @ x = right`` for a matrix that should be positive definite.

    If rounding left it indefinite the smallest multiple of its mean diagonal that helps is added, from 1e-14
    upwards by tens: the answer is still a descent direction. It never raises; the answer is zero if nothing
    finite solves the system.

    Examples
    --------
    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    if right.size == 0:
        return right.copy()
    diagonal = np.abs(np.diagonal(matrix))
    mean = float(diagonal.mean())
    extra = 0.0
    for power in range(-14, 4):
        shifted = matrix
        if extra > 0.0:
            shifted = matrix.copy()
            shifted[np.diag_indices_from(shifted)] += extra
        factor, failed = dpotrf(shifted, lower=0, clean=0)
        if failed == 0:
            solution, failed = dpotrs(factor, right, lower=0)
            if failed == 0 and np.isfinite(solution).all():
                return np.asarray(solution, dtype=np.float64)
        extra = mean * 10.0**power
    return np.zeros_like(right)


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

    One eigendecomposition, then a product with a matrix and a prox per sweep, with the step that is best for
    the extreme eigenvalues of H. z is an answer of ``prox``, so zeros are exact; ``prox(v, step)`` minimises
    ``|b - v|^2 / 2 + step * P(b)``. It stops when the Euclidean norm of the model's subgradient at z is at
    most ``accuracy``; ``pull``, a subgradient of P near x, is a warm start.

    References
    ----------
    .. [1] Boyd, Parikh, Chu, Peleato and Eckstein (2011), "Distributed optimization and statistical learning
       via ADMM", section 3.4.3 (over-relaxation).
    """
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
        here = weight * multiplier
        residual = float(np.linalg.norm(gradient + hessian @ (z - x) + here))
        if residual < least:
            best, best_pull, least = z, here, residual
            if least <= accuracy:
                break
    return best, best_pull


def residuals(
    matrix: FloatMatrix, right: FloatVector, penalty: Penalty, points: FloatMatrix, strengths: FloatVector
) -> FloatVector:
    """How far each point is from a fixed point of the proximal gradient map, in units of the gradient.

    Zero at a minimiser; where the penalty is not convex, zero at a stationary point no coordinate of which
    can be moved to anything better under twice the largest second derivative. The points, shape (k, p),
    belong to the strengths, shape (k,); the penalty's own strength is not used.
    """
    if right.size == 0:
        return np.zeros(len(points))
    top = max(float(np.linalg.eigvalsh(matrix)[-1]), 1e-300)
    step = 1.0 / top if penalty.convex else 0.5 / top
    moved = penalty.prox_rows(points - step * (points @ matrix - right), step, strengths)
    return np.asarray(np.abs(points - moved).max(axis=1) / step, dtype=np.float64)


def minimise_batch(
    matrix: FloatMatrix,
    right: FloatVector,
    penalty: Penalty,
    strengths: FloatVector,
    *,
    start: FloatMatrix,
    accuracy: float,
) -> FloatMatrix:
    r"""Points z of small residual of :math:`\frac12 z'Az - c'z + P_s(z)`, one for each strength s.

    One inverse for all strengths and one product of matrices a sweep; strengths that are done leave it. Where
    the penalty knows its derivatives, the last digits are Newton's on the support that ADMM has found. Not
    convex: the step supposes twice A's largest eigenvalue, which makes ADMM converge to stationary points.

    ``start`` and the answer have shape (k, p); zeros of the answer are exact. A strength is done at a
    residual of ``accuracy``, in units of the gradient.

    References
    ----------
    .. [1] Wang, Yin and Zeng (2019), "Global convergence of ADMM in nonconvex nonsmooth optimization",
       Journal of Scientific Computing 78.
    """
    roots, vectors = np.linalg.eigh(matrix)
    top = max(float(roots[-1]), 1e-300)
    roots = np.maximum(roots, 0.0)
    weight = math.sqrt(max(float(roots[0]), 1e-8 * top) * top) if penalty.convex else 2.0 * top
    inverse = (vectors / (roots + weight)) @ vectors.T
    best, least = start.copy(), residuals(matrix, right, penalty, start, strengths)
    running = np.flatnonzero(least > accuracy)
    z, tried = start[running], np.zeros(running.size, dtype=np.int64)
    multiplier = (right - z @ matrix) / weight
    scale = float(np.abs(right).max(initial=0.0))
    for sweep in range(_SWEEPS):
        if running.size == 0:
            break
        step = (weight * (z - multiplier) + right) @ inverse
        relaxed = _RELAXATION * step + (1.0 - _RELAXATION) * z + multiplier
        z = penalty.prox_rows(relaxed, 1.0 / weight, strengths[running])
        multiplier = relaxed - z
        if sweep % _INTERVAL:
            continue
        found = np.abs(z @ matrix - right + weight * multiplier).max(axis=1)
        for at in np.flatnonzero(found <= _NEAR[tried] * scale):
            tried[at] += 1
            row = running[at]
            polished = _newton(matrix, right, penalty.with_strength(float(strengths[row])), z[at])
            if polished is not None:
                left = residuals(matrix, right, penalty, polished[None], strengths[row : row + 1])[0]
                if left < least[row]:
                    best[row], least[row] = polished, left
        better = found < least[running]
        best[running[better]], least[running[better]] = z[better], found[better]
        going = least[running] > accuracy
        z, multiplier, tried, running = z[going], multiplier[going], tried[going], running[going]
    return best


def _newton(matrix: FloatMatrix, right: FloatVector, penalty: Penalty, z: FloatVector) -> FloatVector | None:
    """Newton's method on the support of z; None where it is of no use."""
    used = np.flatnonzero(z)
    point = z.copy()
    for _ in range(_NEWTON_STEPS):
        known = penalty.derivatives(point)
        if known is None:
            return None
        slope = (matrix[used] @ point - right[used]) + known[0][used]
        move = solve(matrix[np.ix_(used, used)] + known[1][np.ix_(used, used)], slope)
        point[used] -= move
        if not (point[used] * z[used] > 0.0).all():
            return None
        if np.abs(move).max(initial=0.0) <= 1e-14 * np.abs(point).max(initial=0.0):
            break
    return point
