"""The last steps to a minimiser, where double precision does not tell how near it is: in numbers with more
digits, and in ball arithmetic where these are not enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

import numpy as np

from dpglm.mechanisms.ball_maps import BallMap, ball_map
from dpglm.mechanisms.certificate import Certified
from dpglm.mechanisms.k_norm import PRECISION
from dpglm.mechanisms.whole_sums import WholeNumbers
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.quadratic_solvers import minimise_with_l1
from dpglm.optim.wide import newton_way
from dpglm.typing import FloatMatrix, FloatVector
from dpglm.wide_maps import MOST_DENSE

if TYPE_CHECKING:
    from flint import arb

# Steps in numbers with more digits than doubles.
_EXTENDED_STEPS = 8
# Bits of the first round; steps by a second derivative, and by the gradient alone, in each.
_BITS, _FAST, _SURE = 128, 60, 100
# Coefficients above which ways are found without a matrix first, each to this share of the gradient.
_WIDE, _SHARE = 300, 1e-3
# A start that is farther away in a coordinate is none.
_START = 1e100


# From a gradient and a point to the way from there; None where none is known.
_Ways: TypeAlias = Callable[[FloatVector, FloatVector], FloatVector | None]


class _Point(NamedTuple):
    """Exact ``gamma``; theta and the smooth part's gradient in gamma, as balls; the residual, at most."""

    gamma: list[arb]
    theta: list[arb]
    gradient: list[arb]
    residual: float


def finished(objective: Certified, start: FloatVector, tolerance: float) -> WholeNumbers:
    """theta, shape (p,), at which a subgradient has at most ``tolerance`` as norm, whatever the rows are.

    In whole steps that are off by at most a twentieth of ``tolerance`` over the largest ridge.
    """
    found = None
    if len(start) > _WIDE:
        found = _extended(objective, start, tolerance, _ways_by_products)
    if found is None and len(start) <= MOST_DENSE:
        found = _extended(objective, start, tolerance)
    return _in_balls(objective, start, tolerance) if found is None else found


def _extended(
    objective: Certified, start: FloatVector, tolerance: float, ways: Callable[..., _Ways] | None = None
) -> WholeNumbers | None:
    """In numbers with more digits than doubles; None where a machine has none, or they are not enough."""
    if not (more_digits() and np.all(np.abs(start) <= _START)):
        return None
    gamma, way_of, least = start.astype(np.longdouble), None, math.inf
    for _ in range(_EXTENDED_STEPS):
        point = objective.bounded(gamma)
        if point.residual <= 0.9 * tolerance:
            theta = (_parts(value.as_integer_ratio()) for value in point.theta)
            return _whole(theta, _rounding(objective, tolerance))
        if not point.residual < 0.5 * least:
            return None
        least, here = point.residual, gamma.astype(np.float64)
        if way_of is None:
            way_of = (ways or _ways_by_matrix)(objective, point.theta.astype(np.float64))
        way = way_of(point.gradient.astype(np.float64), here)
        if way is None:
            return None
        gamma = np.where(way == -here, 0.0, gamma + way)
    return None


def _in_balls(objective: Certified, start: FloatVector, tolerance: float) -> WholeNumbers:
    """Rounds of more and more bits and steps: one of them ends it (``objective_perturbation.md``, Step 6)."""
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
                        # By whole numbers alone: the working precision, one for all threads, has no part.
                        theta = (tuple(map(int, each.mid().man_exp())) for each in best.theta)
                        return _whole(theta, _rounding(objective, tolerance))
                    if step < _FAST:
                        point = walk.fast(best, length)
                        length = min(1.0, 4.0 * length) if point.residual < best.residual else 0.25 * length
                    else:
                        point = walk.sure(best if step == _FAST else point)
                    best = point if point.residual < best.residual else best
        round_ += 1


def more_digits() -> bool:
    """Whether `numpy.longdouble` is x87's, and rounds to its 64 bits now.

    Quadruple precision is not asked for: not every library has `tanh` and `exp` to 113 bits.
    """
    one, known = np.longdouble(1.0), np.finfo(np.longdouble)
    return known.nmant == 63 and bool((one + known.eps) - one == known.eps)


def _rounding(objective: Certified, tolerance: float) -> float:
    return 0.05 * tolerance / float(objective.ridge.max())


def _whole(numbers: Iterable[tuple[int, ...]], error: float) -> WholeNumbers:
    """Numbers mantissa 2^exponent in whole steps that are off by at most this in norm."""
    parts = list(numbers)
    bits = max(0, 2 - math.frexp(error / math.sqrt(len(parts)))[1])
    shifts = [(mantissa, exponent + bits) for mantissa, exponent in parts]
    whole = [value << shift if shift >= 0 else value >> -shift for value, shift in shifts]
    return WholeNumbers(np.array(whole, dtype=object), 2.0**-bits)


def _parts(ratio: tuple[int, int]) -> tuple[int, int]:
    """Mantissa and exponent of a fraction whose denominator is a power of 2."""
    return ratio[0], 1 - ratio[1].bit_length()


def _ways_by_matrix(objective: Certified, theta: FloatVector) -> _Ways:
    bent = _second_derivative(objective, theta)
    return lambda gradient, here: _way(objective, bent, gradient, here)


def _ways_by_products(objective: Certified, theta: FloatVector) -> _Ways:
    """Ways among the coefficients in use, by conjugate gradients."""
    mixing = objective.mixing
    of_rows = ChunkLoss(objective.chunks, objective.family, len(theta), row_count=0).products(theta)

    def way_of(gradient: FloatVector, here: FloatVector) -> FloatVector | None:
        used = (objective.weights == 0.0) | (here != 0.0)
        slope = np.where(used, gradient + objective.weights * np.sign(here), 0.0)

        def product(direction: FloatVector) -> FloatVector:
            way = direction if mixing is None else mixing @ direction
            change = of_rows(way) + objective.ridge * way
            change = change if mixing is None else mixing.T @ change
            return np.where(used, change + objective.squares * direction, 0.0)

        with np.errstate(all="ignore"):
            way, _ = newton_way(product, slope, _SHARE, 2 * len(here))
        return None if way is None or not np.isfinite(way).all() else way

    return way_of


def _second_derivative(objective: Certified, theta: FloatVector) -> FloatMatrix:
    """Of the smooth part in gamma, in double precision."""
    size = len(theta)
    mixing = np.eye(size) if objective.mixing is None else objective.mixing
    loss = ChunkLoss(objective.chunks, objective.family, size, row_count=0)
    with np.errstate(all="ignore"):
        bent = mixing.T @ (loss.hessian(theta, precise=True) + np.diag(objective.ridge)) @ mixing
    return np.asarray(bent + np.diag(objective.squares))


def _way(
    objective: Certified, bent: FloatMatrix, gradient: FloatVector, here: FloatVector
) -> FloatVector | None:
    """To where a quadratic of this second derivative and the penalty are least together; None if that is far.

    As right as its own length asks: the difference of two points would be as right as these are long.
    """
    if not (np.isfinite(bent).all() and np.isfinite(gradient).all()):
        return None
    with np.errstate(all="ignore"):
        there = minimise_with_l1(bent, gradient, here, objective.weights)
        if not np.all(np.abs(there) <= _START):
            return None
        way, used = -here, there != 0.0
        slope = gradient + objective.weights * np.sign(there) + bent[:, ~used] @ way[~used]
        try:
            way[used] = -np.linalg.solve(bent[np.ix_(used, used)], slope[used])
        except np.linalg.LinAlgError:  # a ridge below the rounding of what the rows add
            return None
    return way if np.isfinite(way).all() else None


class _Walk:
    """Points of an objective and the ways from one to the next, at the working precision."""

    @classmethod
    def of(cls, objective: Certified) -> Self | None:
        """None where so few bits do not invert the mixing."""
        mixing = ball_map(objective.mixing)
        return None if mixing is None else cls(objective, mixing)

    def __init__(self, objective: Certified, mixing: BallMap) -> None:
        from flint import arb

        self._of, self._mixing = objective, mixing
        self._public = [arb(value) for value in objective.linear.tolist()]
        self._ridge, self._squares, self._weights = (
            [arb(value) for value in numbers.tolist()]
            for numbers in (objective.ridge, objective.squares, objective.weights)
        )
        # The gradient in gamma changes by at most this times the way.
        rows = sum(chunk.count for chunk in objective.chunks())
        top = objective.curvature * rows + float(objective.ridge.max())
        self._steepest = Fraction(top * mixing.square * 1.001)
        self._steepest += Fraction(float(objective.squares.max()))

    def point(self, gamma: list[arb]) -> _Point:
        """All rows at gamma."""
        from flint import arb, arb_mat

        size = len(gamma)
        theta = self._mixing(gamma)
        column = arb_mat(size, 1, theta)
        score = arb_mat(size, 1, [arb(0)] * size)
        for piece in self._of.pieces(self._of.chunks()):
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
        slope = [
            s + b + r * t
            for s, b, r, t in zip(score.entries(), self._public, self._ridge, theta, strict=True)
        ]
        inside = self._mixing.turned(slope)
        gradient = [g + d * x for g, d, x in zip(inside, self._squares, gamma, strict=True)]
        left = [g + _offset(g, x, w) for g, x, w in zip(gradient, gamma, self._weights, strict=True)]
        wide = sum((each.rad() for each in theta), arb(0)) * float(self._of.ridge.max())
        residual = float((self._mixing.outside(left) + wide).upper()) * (1.0 + 2.0**-50)
        return _Point(gamma, theta, gradient, residual if math.isfinite(residual) else math.inf)

    def fast(self, point: _Point, length: float) -> _Point:
        """A Newton step, or a part of one, whose second derivative is in double precision."""
        from flint import arb

        here, gradient, theta = (
            np.array([float(each.mid()) for each in balls])
            for balls in (point.gamma, point.gradient, point.theta)
        )
        ways = _ways_by_matrix if len(here) <= MOST_DENSE else _ways_by_products
        way = ways(self._of, theta)(gradient, here)
        if way is None:
            return point
        gamma = [
            arb(0) if w == -h and length == 1.0 else (x + arb(length) * arb(w)).mid()
            for x, w, h in zip(point.gamma, way.tolist(), here.tolist(), strict=True)
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
