"""A convex quadratic plus a penalty that is not convex: local minima that are hard to beat, along a path."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from dpglm.glm.penalties.separable import Separable
from dpglm.optim.quadratic_solvers import solve
from dpglm.typing import FloatMatrix, FloatVector, IntVector

_NEWTON_STEPS = 60
_HALVINGS = 30
# How many single-coordinate moves are tried out before a point is left alone.
_TRIALS = 3
# How many coordinates, those that are missed least, are considered for an exchange.
_EXCHANGED = 12
_ROUNDS = 200
_SWEEPS = 3
# Relative gains: what counts as better, and what a model must promise to be tried.
_GAIN, _PROMISE = 1e-12, 1e-10


class Search:
    r"""Local minima of :math:`\frac12 z'Az - c'z + \sum_j P(|z_j|)`, improved one coordinate at a time.

    On a support with signs the objective is smooth: Newton's method finds its stationary point, coordinates
    that meet zero on the way leave. Then each coordinate is moved, with all the others on the support
    following it: in the second-order model that is a problem of one variable, whose *global* minimiser is
    the prox. The moves that promise most are tried out; when none helps, the point is a local minimiser that
    no single coordinate, entering, leaving or jumping, can better in that model.

    A is positive semidefinite; the penalty's own strength is not used.
    """

    def __init__(self, matrix: FloatMatrix, right: FloatVector, penalty: Separable) -> None:
        self.matrix, self.right, self.penalty = matrix, right, penalty
        self.diagonal = np.diagonal(matrix).copy()
        floor = 1e-14 * float(self.diagonal.max(initial=0.0)) + 1e-300
        self.lone_curvature = np.maximum(self.diagonal, floor)
        self.weights = penalty.weights_of(right.size)
        self.tiny = 1e-13 * float(np.abs(right).max(initial=0.0))

    def path(self, strengths: FloatVector, starts: FloatMatrix) -> FloatMatrix:
        """One point for each strength; strengths fall. ``starts``, shape (m, p), are tried besides."""
        points = np.zeros((strengths.size, self.right.size))
        values = np.empty(strengths.size)
        point = np.zeros(self.right.size)
        for at, strength in enumerate(strengths):  # down the path, from the neighbour of larger strength
            point, values[at] = self.improve(point, float(strength))
            points[at] = point
        tried = [{self._pattern(*pair)} for pair in zip(points, strengths.tolist(), strict=True)]
        for _ in range(_SWEEPS):
            # The best start among what is known, by its objective, and the neighbour of smaller strength.
            changed = False
            pool = np.vstack([starts, points])
            smooth = 0.5 * ((pool @ self.matrix) * pool).sum(axis=1) - pool @ self.right
            for at in range(strengths.size - 1, -1, -1):
                strength = float(strengths[at])
                bounds = smooth + self.penalty.values(pool, np.full(len(pool), strength))
                bounds[starts.shape[0] + at] = np.inf
                candidates = [pool[int(np.argmin(bounds))], *points[at + 1 : at + 2]]
                for start in candidates:
                    if (pattern := self._pattern(start, strength)) in tried[at]:
                        continue
                    tried[at].add(pattern)
                    other, value = self.improve(start, strength)
                    if value < values[at] - _GAIN * abs(values[at]):
                        points[at], values[at], changed = other, value, True
            if not changed:
                break
        return points

    def _pattern(self, point: FloatVector, strength: float) -> bytes:
        """Support, signs and which coordinates are not shrunk: starts that agree in them end alike."""
        flat = self.penalty.slope(np.abs(point), strength * self.weights) == 0.0
        return bytes((np.sign(point) * (1.0 + flat)).astype(np.int8))

    def improve(self, start: FloatVector, strength: float) -> tuple[FloatVector, float]:
        """The point reached from ``start``, and the objective there."""
        each = strength * self.weights
        point, value = self._settle(start, each)
        for _ in range(_ROUNDS):
            for other in self._moves(point, each, value):
                settled, reached = self._settle(other, each)
                if reached < value - _GAIN * abs(value):
                    point, value = settled, reached
                    break
            else:
                break
        for _ in range(_TRIALS):
            # Gains below the rounding of the objective are told by the gradient: whatever zero does not hold.
            gradient = point @ self.matrix - self.right
            entering = self._best(point, gradient, self.lone_curvature, each)[0]
            entering[point != 0.0] = 0.0
            if not entering.any():
                break
            settled, reached = self._settle(point + entering, each)
            if reached > value + 1e-13 * float(np.abs(point) @ np.abs(self.right)):
                break
            point, value = settled, reached
        return point, value

    def _settle(self, start: FloatVector, each: FloatVector) -> tuple[FloatVector, float]:
        """The stationary point reached on the support of ``start``, or on less of it, and its objective."""
        part = _OnSupport(self, np.flatnonzero(start), each)
        x = start[part.used]
        value, slope = part.value(x), part.slope(x)
        for _ in range(_NEWTON_STEPS):
            steepness = float(np.abs(slope).max(initial=0.0))
            if steepness <= self.tiny:
                break
            factor, failed = dpotrf(part.hessian(x), lower=0, clean=0)
            # Where the sum bends down, the penalty's tangent, which lies above it, is minimised instead.
            move = -solve(part.block, slope) if failed else -dpotrs(factor, slope, lower=0)[0]
            # Below the rounding of the objective, the slope judges a step in its place.
            close = not failed and -float(slope @ move) <= 1e-12 * float(np.abs(x) @ np.abs(part.right))
            for halvings in range(_HALVINGS):
                other = x + 0.5**halvings * move
                other[other * x <= 0.0] = 0.0
                complete = bool(other.all())
                reached = part.value(other)
                steep = part.slope(other) if complete else slope
                if float(np.abs(steep).max()) < steepness if close and complete else reached < value:
                    break
            else:
                break
            x, value, slope = other, reached, steep
            if not complete:
                part = _OnSupport(self, part.used[x != 0.0], each)
                x = x[x != 0.0]
                slope = part.slope(x)
        point = np.zeros_like(start)
        point[part.used] = x
        return point, value

    def _moves(self, point: FloatVector, each: FloatVector, value: float) -> list[FloatVector]:
        """Points that a move of one coordinate, or an exchange of two, promises to be better; best first."""
        part = _OnSupport(self, np.flatnonzero(point), each)
        used, x = part.used, point[part.used]
        rows = self.matrix[used]
        gradient = x @ rows - self.right
        least = 0.1 * self.lone_curvature
        inverse, failed = part.inverse(x)
        if failed:  # no minimiser, so no model: each coordinate alone
            schur, follow, own = self.diagonal, np.zeros_like(rows), np.ones(used.size)
        else:
            # How the others on the support follow a coordinate, and the second derivative that this leaves.
            outside = np.flatnonzero(point == 0.0)
            across = rows[:, outside]
            follow, schur, own = np.empty_like(rows), np.empty_like(point), np.diagonal(inverse)
            follow[:, outside] = inverse @ across
            schur[outside] = self.diagonal[outside] - (across * follow[:, outside]).sum(axis=0)
            follow[:, used] = -inverse / own
            schur[used] = 1.0 / own - part.penalty_curvature(x)
        # A model without curvature promises everything; a tenth of A's is as little as is believed.
        curvature = np.maximum(schur, least)
        moved, gain = self._best(point, gradient, curvature, each)
        gain[moved == point] = 0.0
        worth = _PROMISE * abs(value)
        candidates = []
        for j in np.argsort(-gain, kind="stable")[:_TRIALS]:
            if gain[j] > worth:
                candidates.append(
                    self._follow(point, used, -follow[:, j] * (moved[j] - point[j]), {j: moved[j]})
                )
        if failed or not 0 < used.size < point.size:
            return candidates
        # One leaves and another enters: what entering gains once the first has left.
        drop = part.terms(x) - x * part.penalty_slope(x) - 0.5 * curvature[used] * x * x
        out = np.argsort(-drop, kind="stable")[:_EXCHANGED]
        share = follow[out] / own[out, None]
        moved, gain = self._best(
            np.zeros(share.shape),
            gradient - share * x[out, None],
            np.maximum(schur + share * follow[out], least),
            each,
        )
        gain += drop[out, None]
        gain[:, used] = -np.inf
        for _ in range(_TRIALS):
            row, j = divmod(int(np.argmax(gain)), point.size)
            if not gain[row, j] > worth:
                break
            i, entering = out[row], float(moved[row, j])
            left = -inverse[:, i] / own[i] * x[i] - (follow[:, j] - inverse[:, i] * share[row, j]) * entering
            candidates.append(self._follow(point, used, left, {used[i]: 0.0, j: entering}))
            gain[row, j] = -np.inf
        return candidates

    def _best(
        self, here: FloatVector, gradient: FloatVector, curvature: FloatVector, each: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Where each coordinate is best put in a model of it alone, and what that gains."""
        step = 1.0 / curvature
        target = here - step * gradient
        moved = np.sign(target) * self.penalty.shrink(np.abs(target), each, step)
        gain = 0.5 * curvature * ((here - target) ** 2 - (moved - target) ** 2)
        gain += self.penalty.terms(np.abs(here), each) - self.penalty.terms(np.abs(moved), each)
        return moved, gain

    @staticmethod
    def _follow(
        point: FloatVector, used: IntVector, change: FloatVector, fixed: dict[int, float]
    ) -> FloatVector:
        """The point after a change on its support, with some coordinates then put in their place."""
        other = point.copy()
        other[used] += change
        for index, where in fixed.items():
            other[index] = where
        return other


class _OnSupport:
    """The objective on a support, as a function of the coordinates there."""

    def __init__(self, search: Search, used: IntVector, each: FloatVector) -> None:
        self.used, self.penalty = used, search.penalty
        self.block = search.matrix.take(used, axis=0).take(used, axis=1)
        self.right = search.right[used]
        self._each, self._sizes = each, np.ones(each.size)

    def _on_all(self, x: FloatVector) -> FloatVector:
        # Weights and scales belong to places, so the penalty is given all of them.
        self._sizes[self.used] = np.abs(x)
        return self._sizes

    def terms(self, x: FloatVector) -> FloatVector:
        return self.penalty.terms(self._on_all(x), self._each)[self.used]

    def penalty_slope(self, x: FloatVector) -> FloatVector:
        return np.sign(x) * self.penalty.slope(self._on_all(x), self._each)[self.used]

    def penalty_curvature(self, x: FloatVector) -> FloatVector:
        return self.penalty.curvature(self._on_all(x), self._each)[self.used]

    def value(self, x: FloatVector) -> float:
        return float(x @ (0.5 * (self.block @ x) - self.right) + self.terms(x).sum())

    def slope(self, x: FloatVector) -> FloatVector:
        return self.block @ x - self.right + self.penalty_slope(x)

    def hessian(self, x: FloatVector) -> FloatMatrix:
        hessian = self.block.copy()
        hessian.reshape(-1)[:: x.size + 1] += self.penalty_curvature(x)
        return hessian

    def inverse(self, x: FloatVector) -> tuple[FloatMatrix, bool]:
        """Inverse of the second derivative, and whether it is not positive definite."""
        if x.size == 0:
            return np.zeros((0, 0)), False
        factor, failed = dpotrf(self.hessian(x), lower=0, clean=1)
        if failed:
            return factor, True
        half, failed = dpotri(factor, lower=0)
        half = half + half.T
        half.reshape(-1)[:: x.size + 1] *= 0.5
        return half, failed != 0
