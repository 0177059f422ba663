"""The objective of which a loss over rows is a part, with its certified points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpglm.optim.loss import ChunkLoss
from dpglm.optim.quadratic_solvers import Shape
from dpglm.typing import FloatMatrix, FloatVector


class Point(NamedTuple):
    """A point where the objective was measured.

    ``gradient`` belongs to the smooth part; ``pull`` is a subgradient of the rest, None if none is known.
    ``residual`` is the Euclidean norm of their sum in the space of ``theta``, infinite without a pull.
    """

    x: FloatVector
    theta: FloatVector
    gradient: FloatVector
    pull: FloatVector | None
    residual: float
    metric: FloatMatrix | None = None  # near the second derivative of the objective here, if known

    @property
    def slope(self) -> FloatVector:
        """The subgradient of the whole, or the gradient where no pull is known."""
        return self.gradient if self.pull is None else self.gradient + self.pull


@dataclass(frozen=True)
class Objective:
    """``loss(theta) + linear.theta + sum(ridge * theta^2) / 2 + x.curvature.x / 2 + shape(x)``.

    Here ``theta = mixing @ x``; ``linear`` and ``ridge``, shape (p,), act on theta. ``mixing`` is identity
    or has shape (p, m). ``curvature`` is an extra quadratic in x, shape (m, m), or its diagonal (m,).
    ``to_theta`` maps a subgradient in x to one in theta, by the inverse transpose of ``mixing``, and makes it
    longer by a factor of at most ``stretch``.
    """

    loss: ChunkLoss
    linear: FloatVector
    ridge: FloatVector
    mixing: FloatMatrix | None
    curvature: FloatMatrix | FloatVector | None
    shape: Shape
    to_theta: Callable[[FloatVector], FloatVector] | None = None
    stretch: float = 1.0
    metric: FloatMatrix | None = None  # near the second derivative at the start, if known

    @property
    def size(self) -> int:
        """Length of ``x``."""
        return self.linear.size if self.mixing is None else self.mixing.shape[1]

    def measure(self, x: FloatVector, pull: FloatVector | None = None) -> Point:
        """One read of the rows at ``x``, where ``pull`` is known to be a subgradient if given."""
        theta = self._theta(x)
        return self._point(x, theta, self.loss.gradient(theta), pull)

    def expand(
        self, x: FloatVector, pull: FloatVector | None = None, *, precise: bool = False
    ) -> tuple[Point, FloatMatrix]:
        """The point at ``x`` and the second derivative of the smooth part, in one read."""
        theta = self._theta(x)
        used = None
        if self.mixing is not None and self.mixing.shape[1] < self.mixing.shape[0]:
            used = np.flatnonzero(self.mixing.any(axis=1))
        rows, hessian = self.loss.gradient_and_hessian(theta, variables=used, precise=precise)
        hessian = _added(hessian, self.ridge if used is None else self.ridge[used])
        if self.mixing is not None:
            mixing = self.mixing if used is None else self.mixing[used]
            hessian = mixing.T @ hessian @ mixing
            hessian = 0.5 * (hessian + hessian.T)
        return self._point(x, theta, rows, pull), self.curved(hessian)

    def curved(self, matrix: FloatMatrix, sign: float = 1.0) -> FloatMatrix:
        """A second derivative with the extra quadratic, or without it for a sign of -1."""
        return matrix if self.curvature is None else _added(matrix, sign * self.curvature)

    def products(self, point: Point) -> Callable[[FloatVector], FloatVector]:
        """Products of the smooth part's second derivative at a point with vectors in x, to six digits."""
        of_rows = self.loss.products(point.theta)

        def product(direction: FloatVector) -> FloatVector:
            way = self._theta(direction)
            change = of_rows(way) + self.ridge * way
            if self.mixing is not None:
                change = self.mixing.T @ change
            return change if self.curvature is None else change + _applied(self.curvature, direction)

        return product

    def _theta(self, x: FloatVector) -> FloatVector:
        return x if self.mixing is None else self.mixing @ x

    def _point(
        self, x: FloatVector, theta: FloatVector, rows: FloatVector, pull: FloatVector | None
    ) -> Point:
        gradient = rows + (self.linear + self.ridge * theta)
        if self.mixing is not None:
            gradient = self.mixing.T @ gradient
        if self.curvature is not None:
            gradient = gradient + _applied(self.curvature, x)
        pull = self.shape.pull(x, gradient, pull)
        residual = math.inf
        if pull is not None:
            left = gradient + pull
            norm = float(np.linalg.norm(left if self.to_theta is None else self.to_theta(left)))
            residual = norm if math.isfinite(norm) else math.inf
        return Point(x, theta, gradient, pull, residual)


def _applied(quadratic: FloatMatrix | FloatVector, x: FloatVector) -> FloatVector:
    return quadratic * x if quadratic.ndim == 1 else quadratic @ x


def _added(matrix: FloatMatrix, quadratic: FloatMatrix | FloatVector) -> FloatMatrix:
    if quadratic.ndim == 2:
        return matrix + quadratic
    total = matrix.copy()
    total[np.diag_indices_from(total)] += quadratic
    return total
