"""Stationary points of a row loss plus any penalty: their certificate, and Newton's method on a support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.objective import Objective
from dpglm.optim.quadratic_solvers import Smooth
from dpglm.optim.rows import ChunkLoss
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

_STEPS, _HALVINGS = 30, 12


class Stationary(NamedTuple):
    """A point at which a loss plus a penalty is stationary, and its certificate.

    Attributes
    ----------
    gamma, theta : ndarray, shape (p,)
        As in `Minimum`.
    residual : float
        Euclidean norm, in the space of ``gamma`` and sum units, of what is left of the conditions for a
        stationary point; see `PenalisedLoss.residual`. For a convex penalty zero is the minimum, for another
        one it says nothing of other local minima.
    certified : bool
        Whether ``residual`` reached the tolerance.
    """

    gamma: FloatVector
    theta: FloatVector
    residual: float
    certified: bool


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

    @property
    def smooth(self) -> Objective:
        """The part without the penalty, as a function of gamma."""
        size = self.loss.size
        return Objective(
            self.loss, np.zeros(size), np.full(size, self.ridge), self.mixing, None, shape=Smooth()
        )

    def residual(self, gamma: FloatVector, gradient: FloatVector, augmentation: float) -> float:
        r"""How far a point is from stationary, in units of the gradient of the smooth part, given there.

        The norm of: the gradient along unpenalised coefficients; off the support, c times the distance by
        which the prox with step 1/c moves zero; on the support the larger of that distance and
        :math:`|g_j + P'(\gamma_j)|`. c is the augmentation, > 0.
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

        It stops at this norm of the gradient along the support. None where the penalty has no derivatives;
        or where the whole is not convex on the way, so that no local minimum is near.
        """
        places = np.flatnonzero((gamma != 0.0) | ~self.penalised)
        inside = self.penalised[places]
        reduced = replace(self.smooth, mixing=np.ascontiguousarray(self.mixing[:, places]))
        x = gamma[places]
        if places.size == 0:
            return np.zeros_like(gamma)
        signs = np.sign(x[inside])
        point, hessian = reduced.expand(x)
        derivatives = self._derivatives(places, x, point.gradient, hessian)
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
                    point, hessian = reduced.expand(trial)
                    derivatives = self._derivatives(places, trial, point.gradient, hessian)
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

        Along the steepest fall, to where the first coefficient becomes zero if one does. Equal columns share
        a coefficient at a saddle of a concave penalty; near it ADMM is slow, so a short step is not enough.
        """
        places = np.flatnonzero((gamma != 0.0) | ~self.penalised)
        if self.penalty.convex or places.size == 0:
            return None
        reduced = replace(self.smooth, mixing=np.ascontiguousarray(self.mixing[:, places]))
        point, hessian = reduced.expand(gamma[places], precise=True)
        derivatives = self._derivatives(places, gamma[places], point.gradient, hessian)
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
        self, places: IntVector, x: FloatVector, gradient: FloatVector, hessian: FloatMatrix
    ) -> tuple[FloatVector, FloatMatrix] | None:
        """Gradient and second derivative of the whole on a support; None if the penalty knows none."""
        full = np.zeros(self.penalised.size)
        full[places] = x
        known = self.penalty.derivatives(full[self.penalised])
        if known is None:
            return None
        inside = np.flatnonzero(self.penalised[places])
        among = (np.cumsum(self.penalised) - 1)[places][inside]
        left, curvature = np.array(gradient), np.array(hessian)
        left[inside] += known[0][among]
        curvature[np.ix_(inside, inside)] += known[1][np.ix_(among, among)]
        return left, curvature
