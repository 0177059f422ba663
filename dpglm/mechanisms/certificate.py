"""How far from its minimiser a point of a penalised objective can be: a bound that counts every rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.optim.rows import ArrayChunk, RowChunk, rows_at
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Of one operation in double precision; and of a slope, from `tanh` and `exp` in double precision.
UNIT, SLOPE = 2.0**-53, 2.0**-49
# Rows read at once, at most, which are added in pairs, pairs of pairs and so on; and numbers, for the cache.
_ROWS, _NUMBERS, _LEVELS = 2**11, 2**17, 11
# What the bound itself may lose to rounding.
_SAFE = 1.0 + 1e-6


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

    def pieces(self) -> Iterator[ArrayChunk]:
        """The rows, some at a time."""
        for chunk in self.chunks():
            for first in range(0, len(chunk.y), self.width):
                yield rows_at(chunk, slice(first, first + self.width))

    def theta(self, gamma: FloatVector) -> tuple[FloatVector, float]:
        """mixing @ gamma in double precision, and how far it is from the exact product."""
        if self.mixing is None:
            return gamma, 0.0
        error = (len(gamma) + 2) * UNIT * float(np.linalg.norm(np.abs(self.mixing) @ np.abs(gamma)))
        return self.mixing @ gamma, error

    def residual(self, gamma: FloatVector) -> float:
        """A bound on the norm of a subgradient in theta, at the exact mixing @ gamma; infinite if unknown.

        It counts what rounding theta to double precision moves it, times the largest ridge, too.
        """
        with np.errstate(all="ignore"):
            theta, apart = self.theta(gamma)
            score, error = self._score(theta, apart)
            pulled = self.ridge * theta
            public = self.linear + pulled
            error += 4.0 * UNIT * float(np.linalg.norm(np.abs(self.linear) + np.abs(pulled)))
            error += 2.0 * float(self.ridge.max(initial=0.0)) * apart
            slope = score + public
            error += UNIT * float(np.linalg.norm(slope))
            if self.mixing is not None:
                pull, more = self._pull(gamma, slope, self.mixing)
                slope, error = slope + pull, error + more
            norm = float(np.linalg.norm(slope))
            bound = (norm * (1.0 + (len(slope) + 2) * UNIT) + error) * _SAFE
        return bound if math.isfinite(bound) else math.inf

    def _score(self, theta: FloatVector, apart: float) -> tuple[FloatVector, float]:
        """The sum of slopes times rows, and a bound on its error; the exact theta is ``apart`` from this."""
        size = len(theta)
        total, lost = np.zeros(size), np.zeros(size)
        rows, blocks, offsets = 0, 0, 0.0
        for piece in self.pieces():
            wide = np.zeros((size, self.width))
            count = len(piece.y)
            wide[:, :count] = piece.X
            eta = theta @ wide[:, :count]
            if piece.offset is not None:
                eta = eta + piece.offset
                offsets += float(np.abs(piece.offset).sum())
            slopes = self.family.slope(eta, piece.y)
            wide[:, :count] *= slopes if piece.weight is None else slopes * piece.weight
            part = wide
            while part.shape[1] > 1:
                half = part.shape[1] // 2
                part = part[:, :half] + part[:, half:]
            # Knuth's two-sum: what rounding takes from the total is kept aside.
            sum_ = total + part[:, 0]
            added = sum_ - total
            lost += (total - (sum_ - added)) + (part[:, 0] - added)
            total = sum_
            rows, blocks = rows + count, blocks + 1
        length = float(np.linalg.norm(theta))
        each = SLOPE + (_LEVELS + 6) * UNIT + (blocks * UNIT) ** 2
        moved = self.curvature * (size + 8) * UNIT * (rows * (length + 1.0) + offsets)
        return total + lost, rows * each + moved + self.curvature * rows * apart

    def _pull(self, gamma: FloatVector, slope: FloatVector, mixing: FloatMatrix) -> tuple[FloatVector, float]:
        """A subgradient of the penalty, in theta, that offsets the slope, and a bound on its error."""
        size = len(gamma)
        inverse = np.linalg.inv(mixing)
        quadratic = self.squares * gamma
        wanted = np.clip(-(mixing.T @ slope + quadratic), -self.weights, self.weights)
        pull = quadratic + np.where(gamma == 0.0, wanted, self.weights * np.sign(gamma))
        found = inverse.T @ pull
        off = float(np.linalg.norm(mixing.T @ found - pull))
        off += (size + 3) * UNIT * float(np.linalg.norm(np.abs(mixing.T) @ np.abs(found)))
        off += 3.0 * UNIT * float(np.linalg.norm(np.abs(quadratic) + self.weights))
        near = float(np.linalg.norm(inverse @ mixing - np.eye(size)))
        near += (size + 3) * UNIT * float(np.linalg.norm(np.abs(inverse) @ np.abs(mixing)))
        if not near < 0.5:
            return found, math.inf
        return found, float(np.linalg.norm(inverse)) / (1.0 - near) * off


def is_covered(family: Family, penalty: Penalty, penalised: int) -> bool:
    """Whether an objective can be written as a `Certified` one, of a family with slopes of balls.

    Families and penalties of the package alone: a class derived elsewhere may change a slope, not its ball.
    """
    ours = (type(family).__module__, type(penalty).__module__)
    if not all(module.startswith(("dpglm.glm.families.", "dpglm.glm.penalties.")) for module in ours):
        return False
    known = type(family).ball_slope is not Family.ball_slope and family.curvature_max is not None
    return known and penalty.ridge_weight is not None and penalty.l1_weights(penalised) is not None
