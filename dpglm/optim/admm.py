"""A loss over rows plus any penalty, convex or not, by the alternating direction method of multipliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dpglm.glm.families.gaussian import Gaussian
from dpglm.glm.penalties.base import Penalty
from dpglm.glm.penalties.elastic_net import L2
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.minimise import Minimum, minimise
from dpglm.optim.objective import Objective
from dpglm.optim.quadratic_solvers import WeightedL1
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# c over the Lipschitz constant of the gradient; above 2 the loop converges whatever the penalty.
MARGIN = 2.02
# Most iterations.
ITERATIONS = 3000
# Iterations with the same zeros and signs before Newton tries to end it, and how often it may restart it.
_PATIENCE, _RESTARTS = 3, 40
# Saddles that are left for a better point, Newton steps of a w-step and on a support, and halvings of each.
_ESCAPES, _INNER_STEPS, _STEPS, _HALVINGS = 5, 40, 30, 12


def lipschitz(loss: ChunkLoss, mixing: FloatMatrix, penalised: BoolVector) -> float:
    r"""Bound on the second derivative of a loss along penalised gammas, the others minimised out.

    It is ``curvature_max`` times the largest root of what :math:`M'X'XM` leaves on the penalised coefficients
    when the others are projected out. It depends on the rows. A family without a ``curvature_max`` has none.
    """
    bound = loss.family.curvature_max
    if bound is None:
        raise ValueError("the curvature of this family has no bound")
    if not penalised.any():
        return 0.0
    squares = mixing.T @ replace(loss, family=Gaussian()).hessian(np.zeros(loss.size)) @ mixing
    left = squares[np.ix_(penalised, penalised)]
    if not penalised.all():
        cross, free = squares[np.ix_(~penalised, penalised)], squares[np.ix_(~penalised, ~penalised)]
        left = left - cross.T @ np.linalg.pinv(free, hermitian=True) @ cross
    return float(bound * max(np.linalg.eigvalsh(0.5 * (left + left.T))[-1], 0.0))


def default_augmentation(loss: ChunkLoss, ridge: float, mixing: FloatMatrix, penalised: BoolVector) -> float:
    """2.02 times the bound of `lipschitz`, the ridge included; sum units, > 0."""
    largest = float(np.linalg.norm(mixing, 2)) ** 2
    augmentation = MARGIN * (lipschitz(loss, mixing, penalised) + ridge * largest)
    return augmentation or 1.0  # rows that are all zero leave nothing to augment


def minimise_by_admm(
    loss: ChunkLoss,
    penalty: Penalty,
    *,
    ridge: float = 0.0,
    mixing: FloatMatrix | None = None,
    penalised: BoolVector | None = None,
    augmentation: float | None = None,
    start: FloatVector | None = None,
    tolerance: float = 1e-6,
    limit: int = ITERATIONS,
) -> Minimum:
    r"""A stationary point of ``loss(theta) + ridge |theta|^2 / 2 + penalty(gamma)``.

    Here ``theta = mixing @ gamma``. With f the smooth part, in sum units, one iteration is

    .. math:: Z &= \operatorname{prox}_{P/c}(w - V/c), \\
              w &= \operatorname{argmin} f(w) + \tfrac c2 |w - Z - V/c|^2, \\
              V &= V + c (Z - w);

    unpenalised coefficients are minimised over in the w-step and have no Z or V. The w-step is exact, so that
    V is the gradient of f at w. For c above twice the Lipschitz constant of that gradient every limit is a
    stationary point, whatever the penalty; for a convex penalty it is the minimiser. The answer is the point
    Z, whose zeros are exact, with the unpenalised coefficients of w.

    Arguments are as in `minimise`, but the penalty may be any. ``augmentation`` is c > 0 in sum units; a
    larger one is slower, and more points are stationary at its step. ``start`` is a gamma, None is zero; V
    starts as the gradient there. Where the penalty is not convex the answer depends on it: zero, the lasso's
    solution, and the answer at a neighbouring strength are sensible. The residual is that of `PenalisedLoss`.

    Notes
    -----
    The w-step takes Newton's steps from one second derivative, and calls `minimise` if they do not halve the
    gradient; it ends at a hundredth of the distance of Z and w, or a tenth of the tolerance. Once zeros and
    signs stay for some iterations, Newton's method on the support of Z looks for the stationary point nearby;
    it is returned if the prox keeps it, else it restarts the loop; so does a saddle, down its steepest side.

    References
    ----------
    .. [1] Wang, Yin and Zeng (2019), "Global convergence of ADMM in nonconvex nonsmooth optimization",
       J. Sci. Comput. 78, theorem 1: the order Z, w, V, exact steps, and c > 2 L.

    Examples
    --------
    >>> from dpglm.glm.families.binomial import Binomial
    >>> from dpglm.glm.penalties.lq import LHalf
    >>> from dpglm.rows import ArrayChunk
    >>> rows = np.array([[1.0, 1.0, 1.0, -1.0], [1.0, -1.0, 1.0, -1.0]], dtype=np.float32)
    >>> chunk = ArrayChunk(rows, np.array([1.0, 1.0, 0.0, 0.0]), None)
    >>> loss = ChunkLoss(lambda: [chunk], Binomial(), 2)
    >>> minimise_by_admm(loss, LHalf(strength=0.3), start=np.ones(2)).gamma.round(3)
    array([0.897, 0.   ])
    """
    mixing = np.eye(loss.size) if mixing is None else mixing
    mask = np.ones(loss.size, dtype=np.bool_) if penalised is None else np.asarray(penalised, np.bool_)
    problem = PenalisedLoss(loss, penalty, ridge, mixing, mask)
    if augmentation is None:
        augmentation = default_augmentation(loss, ridge, mixing, mask)
    loop = _Loop(problem, augmentation, tolerance)
    begin = np.zeros(loss.size) if start is None else np.array(start, dtype=np.float64)
    with np.errstate(all="ignore"):
        return loop.run(begin, limit)


@dataclass
class _Loop:
    problem: PenalisedLoss
    c: float
    tolerance: float
    # Cholesky factor of a second derivative plus c on the penalised coordinates.
    factor: FloatMatrix | None = None

    def run(self, w: FloatVector, limit: int) -> Minimum:
        mask, c = self.problem.penalised, self.c
        self.best, self.least = w, float(np.inf)
        smooth = self.problem.smooth
        gradient = smooth.measure(w).gradient
        multiplier = gradient[mask]
        target, signs = w.copy(), np.full(int(mask.sum()), np.nan)
        same, patience, restarts = 0, _PATIENCE, 0
        self._judge(w, gradient)
        saddle, escapes = None, 0
        for _ in range(limit):
            if self.least <= self.tolerance:
                away = self.problem.away(self.best) if escapes < _ESCAPES else None
                if away is None:
                    break
                saddle, escapes, same = (self.best, self.least), escapes + 1, 0
                w, gradient = away, smooth.measure(away).gradient
                multiplier, self.least = gradient[mask], float(np.inf)
            z = self.problem.penalty.prox(w[mask] - multiplier / c, 1.0 / c)
            before = w[mask]
            target[mask] = z + multiplier / c
            accuracy = max(0.1 * self.tolerance, 0.01 * c * float(np.linalg.norm(z - before)))
            w, gradient = self._w_step(w, gradient, target, accuracy)
            multiplier = multiplier + c * (z - w[mask])
            same = same + 1 if (np.sign(z) == signs).all() else 0
            signs = np.sign(z)
            joined = w.copy()
            joined[mask] = z
            if same >= patience:
                same = 0
                polished = self.problem.on_support(joined, tolerance=0.1 * self.tolerance)
                patience = min(2 * patience, 50) if polished is None or restarts >= _RESTARTS else _PATIENCE
                if polished is not None:
                    slope = smooth.measure(polished).gradient
                    self._judge(polished, slope)
                    if restarts < _RESTARTS:
                        # Rescaled steps: from here the prox lets in what Newton's method could not.
                        w, gradient, multiplier, restarts = polished, slope, slope[mask], restarts + 1
            elif c * float(np.linalg.norm(z - before)) <= 0.5 * self.tolerance:
                self._judge(joined, smooth.measure(joined).gradient)
        if saddle is not None and self.least > self.tolerance:
            self.best, self.least = saddle
        theta = self.problem.mixing @ self.best
        return Minimum(self.best + 0.0, theta, self.least, self.least <= self.tolerance)

    def _judge(self, gamma: FloatVector, gradient: FloatVector) -> None:
        residual = self.problem.residual(gamma, gradient, self.c)
        if residual < self.least:
            self.best, self.least = gamma, residual

    def _w_step(
        self, w: FloatVector, gradient: FloatVector, target: FloatVector, accuracy: float
    ) -> tuple[FloatVector, FloatVector]:
        """Minimiser of f plus c/2 times the squared distance from a target, and the gradient of f there."""
        smooth = self.problem.smooth
        weights = np.where(self.problem.penalised, self.c, 0.0)
        fresh = self.factor is None
        if fresh:
            self._factorise(w, weights)
        left = gradient + weights * (w - target)
        for _ in range(_INNER_STEPS):
            norm = float(np.linalg.norm(left))
            if norm <= accuracy:
                return w, gradient
            if self.factor is None:
                break
            trial = w - dpotrs(self.factor, left, lower=0)[0]
            slope = smooth.measure(trial).gradient
            ahead = slope + weights * (trial - target)
            if float(np.linalg.norm(ahead)) <= 0.5 * norm:
                w, gradient, left = trial, slope, ahead
            elif fresh:
                break
            else:
                self._factorise(w, weights)
                fresh = True
        minimum = minimise(
            self.problem.loss,
            linear=np.asarray(np.linalg.solve(self.problem.mixing.T, -weights * target), dtype=np.float64),
            ridge=self.problem.ridge,
            mixing=self.problem.mixing,
            penalty=L2(self.c),
            penalised=self.problem.penalised,
            tolerance=accuracy / max(float(np.linalg.norm(self.problem.mixing, 2)), 1.0),
            start=w,
        )
        self.factor = None
        return minimum.gamma, smooth.measure(minimum.gamma).gradient

    def _factorise(self, w: FloatVector, weights: FloatVector) -> None:
        hessian = self.problem.smooth.expand(w)[1]
        hessian[np.diag_indices_from(hessian)] += weights
        factor, failed = dpotrf(hessian, lower=0, clean=0)
        self.factor = None if failed else factor


@dataclass(frozen=True)
class PenalisedLoss:
    """``loss(mixing @ gamma) + ridge |mixing @ gamma|^2 / 2 + penalty(gamma)``, sum units.

    The penalty, convex or not, acts on the gammas that ``penalised`` marks; ``mixing`` is invertible.
    """

    loss: ChunkLoss
    penalty: Penalty
    ridge: float
    mixing: FloatMatrix
    penalised: BoolVector

    @cached_property
    def smooth(self) -> Objective:
        """The part without the penalty, as a function of gamma."""
        return self.smooth_on(np.arange(self.loss.size))

    def smooth_on(self, places: IntVector) -> Objective:
        """The part without the penalty, as a function of some gammas, the others being zero."""
        size, nothing = self.loss.size, WeightedL1(np.zeros(places.size))
        mixing = np.ascontiguousarray(self.mixing[:, places])
        return Objective(self.loss, np.zeros(size), np.full(size, self.ridge), mixing, None, nothing)

    def residual(self, gamma: FloatVector, gradient: FloatVector, augmentation: float) -> float:
        r"""How far a point is from stationary, in units of the gradient of the smooth part, given there.

        The norm of: the gradient along unpenalised coefficients; off the support, c times the distance by
        which the prox with step 1/c moves zero; on the support the larger of that distance and
        :math:`|g_j + P'(\gamma_j)|`. Zero is the minimum of a convex penalty; of another one it may be local.
        """
        mask, step = self.penalised, 1.0 / augmentation
        z, pull = gamma[mask], gradient[mask]
        gap = augmentation * (z - self.penalty.prox(z - step * pull, step))
        known = self.penalty.derivatives(z)
        if known is not None:
            on_support = np.where(z != 0.0, pull + known[0], 0.0)
            gap = np.where(np.abs(on_support) > np.abs(gap), on_support, gap)
        left = np.array(gradient)
        left[mask] = gap
        norm = float(np.linalg.norm(left))
        return norm if np.isfinite(norm) else float(np.inf)

    def on_support(self, gamma: FloatVector, *, tolerance: float) -> FloatVector | None:
        """The local minimiser near a point among those with its zeros and signs, by Newton's method.

        None where the penalty has no derivatives, or the whole is not convex on the way.
        """
        places = np.flatnonzero((gamma != 0.0) | ~self.penalised)
        inside = self.penalised[places]
        x = gamma[places]
        if places.size == 0:
            return np.zeros_like(gamma)
        signs = np.sign(x[inside])
        derivatives = self._derivatives(places, x)
        for _ in range(_STEPS):
            if derivatives is None:
                return None
            left, curvature = derivatives
            norm = float(np.linalg.norm(left))
            if not np.isfinite(norm):
                return None
            if norm <= tolerance:
                break
            factor, failed = dpotrf(curvature, lower=0, clean=0)
            if failed:
                return None
            move = -dpotrs(factor, left, lower=0)[0]
            length = 1.0
            for _ in range(_HALVINGS):
                trial = x + length * move
                if (np.sign(trial[inside]) == signs).all():
                    derivatives = self._derivatives(places, trial)
                    if derivatives is not None and float(np.linalg.norm(derivatives[0])) < norm:
                        break
                length *= 0.5
            else:
                break
            x = trial
        polished = np.zeros_like(gamma)
        polished[places] = x
        return polished

    def away(self, gamma: FloatVector) -> FloatVector | None:
        """Where to start again from a saddle, shape (p,); None where there is none.

        Along the steepest fall, to where the first coefficient becomes zero if one does: near a saddle, such
        as equal columns share a coefficient at, ADMM is slow.
        """
        places = np.flatnonzero((gamma != 0.0) | ~self.penalised)
        if self.penalty.convex or places.size == 0:
            return None
        derivatives = self._derivatives(places, gamma[places], precise=True)
        if derivatives is None or not np.isfinite(derivatives[1]).all():
            return None
        roots, vectors = np.linalg.eigh(derivatives[1])
        if roots[0] >= -1e-8 * float(np.abs(roots).max()):
            return None
        step = np.zeros_like(gamma)
        first = vectors[:, 0]
        step[places] = first * np.sign(first[np.argmax(np.abs(first))])
        shrinking = np.where(self.penalised & (gamma * step < 0.0), np.abs(step), 0.0)
        lengths = np.divide(np.abs(gamma), shrinking, out=np.full_like(gamma, np.inf), where=shrinking > 0.0)
        nearest, far = int(np.argmin(lengths)), float(np.linalg.norm(gamma))
        if lengths[nearest] > far:
            return gamma + 0.1 * far * step
        moved: FloatVector = gamma + lengths[nearest] * step
        moved[nearest] = 0.0
        return moved

    def _derivatives(
        self, places: IntVector, x: FloatVector, *, precise: bool = False
    ) -> tuple[FloatVector, FloatMatrix] | None:
        """Gradient and second derivative of the whole on a support; None if the penalty knows none."""
        full = np.zeros(self.penalised.size)
        full[places] = x
        known = self.penalty.derivatives(full[self.penalised])
        if known is None:
            return None
        inside = np.flatnonzero(self.penalised[places])
        among = (np.cumsum(self.penalised) - 1)[places][inside]
        point, curvature = self.smooth_on(places).expand(x, precise=precise)
        left = np.array(point.gradient)
        left[inside] += known[0][among]
        curvature[np.ix_(inside, inside)] += known[1][np.ix_(among, among)]
        return left, curvature
