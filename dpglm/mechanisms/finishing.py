"""The last steps to a minimiser in ball arithmetic, where double precision does not tell how near it is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from dpglm.mechanisms.certificate import Certified
from dpglm.mechanisms.k_norm import PRECISION
from dpglm.mechanisms.whole_sums import WholeNumbers
from dpglm.optim.quadratic_solvers import minimise_with_l1
from dpglm.optim.rows import ChunkLoss
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    from flint import arb, arb_mat

# Bits of the first round; steps by a second derivative, and by the gradient alone, in each.
_BITS, _FAST, _SURE = 128, 60, 100
# A start that is farther away in a coordinate is none.
_START = 1e100


class _Point(NamedTuple):
    """Exact ``gamma``; theta and the smooth part's gradient in gamma, as balls; the residual, at most."""

    gamma: list[arb]
    theta: list[arb]
    gradient: list[arb]
    residual: float


def finished(objective: Certified, start: FloatVector, tolerance: float) -> WholeNumbers:
    """theta, shape (p,), at which a subgradient has at most ``tolerance`` as norm, whatever the rows are.

    Rounds of more and more bits and steps: one of them ends it (``objective_perturbation.md``, Step 6). The
    answer is off by at most a twentieth of ``tolerance`` over the largest ridge.
    """
    from flint import arb, ctx

    best: _Point | None = None
    round_ = 0
    while True:
        bits, sure = _BITS * 2**round_, _SURE * 4**round_
        with PRECISION, ctx.workprec(bits):
            walk = _Walk.of(objective)
            if walk is not None:
                first = np.where(np.abs(start) <= _START, start, 0.0).tolist()
                point = best = walk.point([arb(value) for value in first] if best is None else best.gamma)
                length = 1.0
                for step in range(_FAST + sure):
                    if best.residual <= 0.9 * tolerance:
                        return _whole(best.theta, 0.05 * tolerance / float(objective.ridge.max()))
                    if step < _FAST:
                        point = walk.fast(best, length)
                        length = min(1.0, 4.0 * length) if point.residual < best.residual else 0.25 * length
                    else:
                        point = walk.sure(best if step == _FAST else point)
                    best = point if point.residual < best.residual else best
        round_ += 1


def _whole(theta: list[arb], error: float) -> WholeNumbers:
    """Middles of balls in whole steps that are off by at most this in norm."""
    bits = max(0, 2 - math.frexp(error / math.sqrt(len(theta)))[1])
    whole = []
    for each in theta:
        # By whole numbers alone: the working precision, one for all threads, has no part in it.
        mantissa, exponent = map(int, each.mid().man_exp())
        shift = exponent + bits
        whole.append(mantissa << shift if shift >= 0 else mantissa >> -shift)
    return WholeNumbers(np.array(whole, dtype=object), 2.0**-bits)


class _Walk:
    """Points of an objective and the ways from one to the next, at the working precision."""

    @classmethod
    def of(cls, objective: Certified) -> Self | None:
        """None where so few bits do not invert the mixing."""
        from flint import arb, arb_mat

        size = len(objective.linear)
        mixing = np.eye(size) if objective.mixing is None else objective.mixing
        balls = arb_mat(size, size, [arb(value) for value in mixing.ravel().tolist()])
        try:
            return cls(objective, mixing, balls, balls.transpose().inv())
        except ZeroDivisionError:
            return None

    def __init__(self, objective: Certified, mixing: FloatMatrix, balls: arb_mat, inverse: arb_mat) -> None:
        from flint import arb

        self._of, self._plain, self._mixing, self._inverse = objective, mixing, balls, inverse
        self._public = [arb(value) for value in objective.linear.tolist()]
        self._ridge, self._squares, self._weights = (
            [arb(value) for value in numbers.tolist()]
            for numbers in (objective.ridge, objective.squares, objective.weights)
        )
        self._loss = ChunkLoss(objective.chunks, objective.family, len(mixing))
        # The gradient in gamma changes by at most this times the way.
        top = objective.curvature * self._loss.row_count + float(objective.ridge.max())
        self._steepest = Fraction(top * float(np.linalg.norm(mixing)) ** 2 * 1.001)
        self._steepest += Fraction(float(objective.squares.max()))

    def point(self, gamma: list[arb]) -> _Point:
        """All rows at gamma."""
        from flint import arb, arb_mat

        size = len(gamma)
        column = self._mixing * arb_mat(size, 1, gamma)
        score = arb_mat(size, 1, [arb(0)] * size)
        for piece in self._of.pieces():
            count = len(piece.y)
            flat = [arb(value) for value in piece.X.T.astype(np.float64).ravel().tolist()]
            rows = arb_mat(count, size, flat)
            eta = (rows * column).entries()
            offset = [0.0] * count if piece.offset is None else piece.offset.tolist()
            weight = [1.0] * count if piece.weight is None else piece.weight.tolist()
            slopes = [
                self._of.family.ball_slope(at + arb(o), y) * arb(w)
                for at, o, y, w in zip(eta, offset, piece.y.tolist(), weight, strict=True)
            ]
            score += rows.transpose() * arb_mat(count, 1, slopes)
        theta = column.entries()
        slope = [
            s + b + r * t
            for s, b, r, t in zip(score.entries(), self._public, self._ridge, theta, strict=True)
        ]
        inside = (self._mixing.transpose() * arb_mat(size, 1, slope)).entries()
        gradient = [g + d * x for g, d, x in zip(inside, self._squares, gamma, strict=True)]
        left = [g + _offset(g, x, w) for g, x, w in zip(gradient, gamma, self._weights, strict=True)]
        outside = (self._inverse * arb_mat(size, 1, left)).entries()
        # Of balls that hold 0 the ends count: a root of what may be negative is none.
        norm = sum((each.abs_upper() ** 2 for each in outside), arb(0)).sqrt()
        wide = sum((each.rad() for each in theta), arb(0)) * float(self._of.ridge.max())
        residual = float((norm + wide).upper()) * (1.0 + 2.0**-50)
        return _Point(gamma, theta, gradient, residual if math.isfinite(residual) else math.inf)

    def fast(self, point: _Point, length: float) -> _Point:
        """A Newton step, or a part of one, whose second derivative is in double precision."""
        from flint import arb

        mixing = self._plain
        here, gradient, theta = (
            np.array([float(each.mid()) for each in balls])
            for balls in (point.gamma, point.gradient, point.theta)
        )
        with np.errstate(all="ignore"):
            hessian = self._loss.hessian(theta, precise=True) + np.diag(self._of.ridge)
            bent = mixing.T @ hessian @ mixing + np.diag(self._of.squares)
            if not (np.isfinite(bent).all() and np.isfinite(gradient).all()):
                return point
            there = minimise_with_l1(bent, gradient, here, self._of.weights)
        if not np.all(np.abs(there) <= _START):
            return point
        gamma = [
            arb(0) if z == 0.0 and length == 1.0 else (x + arb(length) * (arb(z) - arb(h))).mid()
            for x, z, h in zip(point.gamma, there.tolist(), here.tolist(), strict=True)
        ]
        return self.point(gamma)

    def sure(self, point: _Point) -> _Point:
        """A proximal gradient step: it brings every point nearer to the minimiser, by a fixed share."""
        from flint import arb

        step = arb(self._steepest.denominator) / arb(self._steepest.numerator)
        gamma = []
        for x, g, w in zip(point.gamma, point.gradient, self._weights, strict=True):
            moved, most = (x - step * g).mid(), (step * w).mid()
            gamma.append((moved - _clip(moved, most)).mid())
        return self.point(gamma)


def _clip(value: arb, most: arb) -> arb:
    """An exact number, cut at -most and most."""
    return -most if value < -most else most if value > most else value


def _offset(gradient: arb, x: arb, weight: arb) -> arb:
    """A subgradient of weight |x| that offsets the gradient: exact."""
    if x != 0:
        return weight if x > 0 else -weight
    return _clip(-gradient.mid(), weight)
