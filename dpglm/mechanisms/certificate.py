"""How far from its minimiser a point of a penalised objective can be: a bound that counts every rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.factor_rows import FactorRows
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.optim.loss import Compensated
from dpglm.row_loops import halved, predictors
from dpglm.rows import ArrayChunk, RowChunk, Together, rows_at, total
from dpglm.typing import BoolVector, FloatMatrix, FloatVector
from dpglm.wide_maps import wide_map

# The numbers that are added: `numpy.float64`, or `numpy.longdouble` where that has more digits.
Precision: TypeAlias = type[np.floating]
# What a slope may be off by, from `tanh` and `exp`, in units of rounding.
SLOPE = 16.0
# Rows read at once, at most, which are added in pairs, pairs of pairs and so on; and numbers, for the cache.
_ROWS, _NUMBERS, _LEVELS = 2**11, 2**17, 11
# A predictor that is off by no more than this changes what bounds a curvature by at most twice that share.
_NEAR = 1e-7
# What the bound itself may lose to rounding.
_SAFE = 1.0 + 1e-6


def unit(precision: Precision) -> float:
    """What one operation takes from a number at most, as a share: 2^-53 in double precision."""
    return float(np.finfo(precision).eps) / 2.0


class Bounded(NamedTuple):
    """A point gamma and its theta, what a subgradient there is at most, and the smooth part's gradient."""

    theta: FloatVector
    residual: float
    gradient: FloatVector  # in gamma


@dataclass(frozen=True)
class Certified:
    """The objective that a minimiser is of, in scaled coefficients gamma, with theta = mixing @ gamma:

        sum_i w_i loss(x_i'theta + o_i) + linear'theta + sum ridge theta^2 / 2 + sum squares gamma^2 / 2
        + sum weights |gamma|.

    ``mixing`` None is the identity. Rows have w <= 1 and w |x|^2 <= 1.
    """

    chunks: Callable[[], Iterable[RowChunk]]
    family: Family
    linear: FloatVector
    ridge: FloatVector
    mixing: FloatMatrix | None
    squares: FloatVector
    weights: FloatVector

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent: the function, and none of the rows."""
        return {**self.__dict__, "chunks": None}

    @classmethod
    def of(
        cls,
        chunks: Callable[[], Iterable[RowChunk]],
        family: Family,
        linear: FloatVector,
        ridge: float | FloatVector,
        mixing: FloatMatrix,
        penalty: Penalty,
        penalised: BoolVector,
    ) -> Certified:
        """With a penalty for which `is_covered` holds; without one gamma is theta."""
        weights, squares = np.zeros((2, len(linear)))
        weights[penalised] = penalty.l1_weights(int(penalised.sum()))
        squares[penalised] = penalty.ridge_weight
        ridges = np.broadcast_to(np.asarray(ridge, dtype=np.float64), linear.shape)
        used = weights.any() or squares.any()
        return cls(chunks, family, linear, ridges, mixing if used else None, squares, weights)

    @property
    def curvature(self) -> float:
        """A bound on the second derivative of a row's loss."""
        most = self.family.curvature_max
        return math.inf if most is None else most

    @property
    def width(self) -> int:
        """How many rows a piece has at most: a power of 2."""
        fitting = max(_NUMBERS // max(len(self.linear), 1), 1)
        return min(1 << (fitting.bit_length() - 1), _ROWS)

    def pieces(self, chunks: Iterable[RowChunk]) -> Iterator[ArrayChunk]:
        """Rows, some at a time."""
        for chunk in chunks:
            for first in range(0, chunk.count, self.width):
                yield rows_at(chunk, slice(first, first + self.width))

    def theta(self, gamma: NDArray[Any]) -> tuple[FloatVector, float]:
        """mixing @ gamma at the precision of gamma, and how far it is from the exact product."""
        if self.mixing is None:
            return gamma, 0.0
        error = (len(gamma) + 2) * unit(gamma.dtype.type) * _norm(abs(self.mixing) @ np.abs(gamma))
        return self.mixing @ gamma, error

    def residual(self, gamma: NDArray[Any]) -> float:
        """A bound on the norm of a subgradient in theta, at the exact mixing @ gamma; infinite if unknown."""
        return self.bounded(gamma).residual

    def bounded(self, gamma: NDArray[Any]) -> Bounded:
        """All rows at gamma, at the precision of gamma.

        The bound counts what rounding theta moves it, times the largest ridge, too.
        """
        one = unit(gamma.dtype.type)
        with np.errstate(all="ignore"):
            theta, apart = self.theta(gamma)
            score, error = self._score(theta, apart)
            pulled = self.ridge * theta
            public = self.linear + pulled
            error += 4.0 * one * _norm(np.abs(self.linear) + np.abs(pulled))
            error += 2.0 * float(self.ridge.max(initial=0.0)) * apart
            slope = score + public
            error += one * _norm(slope)
            gradient = slope
            if self.mixing is not None:
                gradient = self.mixing.T @ slope + self.squares * gamma
                pull, more = self._pull(gamma, slope, self.mixing)
                slope, error = slope + pull, error + more
            bound = (_norm(slope) * (1.0 + (len(slope) + 2) * one) + error) * _SAFE
        return Bounded(theta, bound if math.isfinite(bound) else math.inf, gradient)

    def _score(self, theta: FloatVector, apart: float) -> tuple[FloatVector, float]:
        """The sum of slopes times rows, and a bound on its error; the exact theta is ``apart`` from this."""
        size, precision, length = len(theta), theta.dtype.type, _norm(theta)
        one = unit(precision)

        def part(chunks: Iterable[RowChunk]) -> Together:
            found, rows, blocks = Compensated.zeros(size, precision), 0, 0
            coded, moved = 0.0, 0.0
            for piece in self._read(chunks):
                X, away = piece.entries, 0.0
                eta = theta @ X if isinstance(X, FactorRows) else predictors(theta, X)
                if piece.offset is not None:
                    eta = eta + piece.offset
                    away = float(np.abs(piece.offset).sum())
                slopes = self.family.slope(eta, piece.y)
                depth = (X.depth if isinstance(X, FactorRows) else size) + 8
                bent = self._bent(slopes, piece, depth * one, length)
                bare, slopes = slopes, slopes if piece.weight is None else slopes * piece.weight
                moved += depth * (bent * (length + 1.0) + self.curvature * away)
                if isinstance(X, FactorRows):
                    score = X @ slopes
                    coded += (X.additions + depth + 8) * float(np.abs(bare).sum())
                else:
                    score = halved(X, slopes, self.width)
                found += Compensated(score, np.zeros(size, dtype=precision))
                rows, blocks = rows + piece.count, blocks + 1
            return Together((found, rows, blocks, coded, moved))

        found, rows, blocks, coded, moved = total(self.chunks(), part)
        each = (SLOPE + _LEVELS + 6) * one + (blocks * one) ** 2
        error = rows * each + (coded + moved) * one + self.curvature * rows * apart
        return found.value + found.lost, error

    def _bent(self, slopes: FloatVector, piece: RowChunk, each: float, length: float) -> float:
        """A bound on the sum of second derivatives wherever roundings may carry the predictors of a piece.

        These are off by at most ``each`` times (length |x| + |offset| + 1), see the proof.
        """
        least = 1.0 if piece.weight is None else float(piece.weight.min(initial=1.0))
        longest = least**-0.5 if least > 0.0 else math.inf
        offset = 0.0 if piece.offset is None else float(np.abs(piece.offset).max(initial=0.0))
        if not each * (length * longest + offset + 1.0) <= _NEAR:
            return self.curvature * piece.count
        known = self.family.curvature_total(np.abs(slopes) + SLOPE * unit(slopes.dtype.type))
        return min(known * (1.0 + 4.0 * _NEAR), self.curvature * piece.count)

    def _read(self, chunks: Iterable[RowChunk]) -> Iterator[RowChunk]:
        """Rows, some at a time; numbers and codes a chunk at a time."""
        for chunk in chunks:
            yield from (chunk,) if isinstance(chunk.entries, FactorRows) else self.pieces((chunk,))

    def _pull(self, gamma: FloatVector, slope: FloatVector, mixing: FloatMatrix) -> tuple[FloatVector, float]:
        """A subgradient of the penalty, in theta, that offsets the slope, and a bound on its error."""
        size, one = len(gamma), unit(gamma.dtype.type)
        wide = wide_map(mixing)
        inverse = np.zeros((0, 0)) if wide is not None else np.linalg.inv(mixing)
        quadratic = self.squares * gamma
        wanted = np.clip(-(mixing.T @ slope + quadratic), -self.weights, self.weights)
        pull = quadratic + np.where(gamma == 0.0, wanted, self.weights * np.sign(gamma))
        found = inverse.T @ pull if wide is None else wide.unturned(pull)
        off = _norm(mixing.T @ found - pull)
        off += (size + 3) * one * _norm(abs(mixing).T @ np.abs(found))
        off += 3.0 * one * _norm(np.abs(quadratic) + self.weights)
        if wide is not None:
            return found, wide.inverse_norm * off
        near = _norm(inverse @ mixing - np.eye(size))
        near += (size + 3) * unit(np.float64) * _norm(np.abs(inverse) @ np.abs(mixing))
        if not near < 0.5:
            return found, math.inf
        return found, _norm(inverse) / (1.0 - near) * off


def _norm(values: NDArray[Any]) -> float:
    return float(np.sqrt(np.square(values).sum()))


def is_covered(family: Family, penalty: Penalty, penalised: int) -> bool:
    """Whether an objective can be written as a `Certified` one, of a family with slopes of balls.

    Families and penalties of the package alone: a class derived elsewhere may change a slope, not its ball.
    """
    ours = (type(family).__module__, type(penalty).__module__)
    if not all(module.startswith(("dpglm.glm.families.", "dpglm.glm.penalties.")) for module in ours):
        return False
    known = type(family).ball_slope is not Family.ball_slope and family.curvature_max is not None
    return known and penalty.ridge_weight is not None and penalty.l1_weights(penalised) is not None
