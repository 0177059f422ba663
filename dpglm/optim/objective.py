"""Convex objectives with certified points, and their minimisers by Newton's method and BFGS."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dpglm.optim.quadratic_solvers import Model, Shape
from dpglm.optim.rows import ChunkLoss
from dpglm.typing import FloatMatrix, FloatVector

# Most damped Newton steps, and trials of each.
_STEPS, _TRIALS = 200, 40
# Steps in a row without a better residual after which rounding has the last word.
_PATIENCE = 30
# A step this many times longer than the point itself tells that the model sees no curvature on its way.
_FAR = 1e3
# A step that had to be shortened below this share does so too.
_SHORT = 0.05
_GROWTH = 4.0
# Gradients after which quasi-Newton steps are given up for Newton's.
_QUASI_STEPS = 15


class Effort:
    """How often rows were read. It depends on the rows: never show it beside a private result."""

    def __init__(self) -> None:
        self.passes = self.hessians = 0


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
    longer by a factor of at most ``stretch``. ``compensated`` asks for gradients with less rounding.
    """

    loss: ChunkLoss
    linear: FloatVector
    ridge: FloatVector
    mixing: FloatMatrix | None
    curvature: FloatMatrix | FloatVector | None
    shape: Shape
    to_theta: Callable[[FloatVector], FloatVector] | None = None
    stretch: float = 1.0
    compensated: bool = False
    effort: Effort = field(default_factory=Effort)

    @property
    def size(self) -> int:
        """Length of ``x``."""
        return self.linear.size if self.mixing is None else self.mixing.shape[1]

    def measure(self, x: FloatVector, pull: FloatVector | None = None) -> Point:
        """One read of the rows at ``x``, where ``pull`` is known to be a subgradient if given."""
        theta = self._theta(x)
        self.effort.passes += 1
        return self._point(x, theta, self.loss.gradient(theta, compensated=self.compensated), pull)

    def expand(
        self, x: FloatVector, pull: FloatVector | None = None, *, precise: bool = False
    ) -> tuple[Point, FloatMatrix]:
        """The point at ``x`` and the second derivative of the smooth part, in one read."""
        theta = self._theta(x)
        self.effort.passes += 1
        self.effort.hessians += 1
        used = None
        if self.mixing is not None and self.mixing.shape[1] < self.mixing.shape[0]:
            used = np.flatnonzero(self.mixing.any(axis=1))
        rows, hessian = self.loss.gradient_and_hessian(theta, variables=used, precise=precise)
        hessian = _added(hessian, self.ridge if used is None else self.ridge[used])
        if self.mixing is not None:
            mixing = self.mixing if used is None else self.mixing[used]
            hessian = mixing.T @ hessian @ mixing
            hessian = 0.5 * (hessian + hessian.T)
        if self.curvature is not None:
            hessian = _added(hessian, self.curvature)
        return self._point(x, theta, rows, pull), hessian

    def _theta(self, x: FloatVector) -> FloatVector:
        return x if self.mixing is None else self.mixing @ x

    def _point(
        self, x: FloatVector, theta: FloatVector, rows: FloatVector, pull: FloatVector | None
    ) -> Point:
        gradient = rows + (self.linear + self.ridge * theta)
        if self.mixing is not None:
            gradient = self.mixing.T @ gradient
        if self.curvature is not None:
            gradient = gradient + (self.curvature * x if self.curvature.ndim == 1 else self.curvature @ x)
        pull = self.shape.pull(x, gradient, pull)
        residual = math.inf
        if pull is not None:
            left = gradient + pull
            norm = float(np.linalg.norm(left if self.to_theta is None else self.to_theta(left)))
            residual = norm if math.isfinite(norm) else math.inf
        return Point(x, theta, gradient, pull, residual)


def _added(matrix: FloatMatrix, quadratic: FloatMatrix | FloatVector) -> FloatMatrix:
    if quadratic.ndim == 2:
        return matrix + quadratic
    total = matrix.copy()
    total[np.diag_indices_from(total)] += quadratic
    return total


def damped_newton(
    objective: Objective,
    x: FloatVector,
    *,
    tolerance: float,
    decrement: float = 0.0,
    precise: bool = True,
) -> Point:
    """Minimise by Newton steps, each shortened until it is safe.

    A step of length t along d is safe if the residual falls below half of the least seen so far, which
    happens finitely often, or if ``t * gradient(x + t d).d + P(x + t d) - P(x) <= 0``: for a convex loss the
    left side bounds the change of the objective, so that it decreases, without ever computing the loss.
    As t is never less than a tenth of what suffices, the usual line-search argument applies and the sequence
    converges whatever the data, if the objective is strongly convex.

    Losses such as a hinge have no curvature but near its corner. A model that sees none would send its
    minimiser far away in some directions, and the short step that is safe would do nothing in the others:
    the model is then damped by ``|score| / radius``, with a radius that whole steps enlarge. And where two
    steps in a row had to be shortened a corner may lie ahead: the model takes its curvature from beyond it.

    Returns the point of least residual, above ``tolerance`` only if rounding allows no better. It stops also
    when a whole step promises to gain no more than half of ``decrement``: for rough answers, after that step.
    ``precise`` asks for second derivatives in float64.
    """
    point, hessian = objective.expand(x, precise=precise)
    best, waited = point, 0
    radius, shortened = math.inf, 0
    for _ in range(_STEPS):
        if best.residual <= tolerance or waited >= _PATIENCE * (1 if radius == math.inf else 3):
            break
        goal = math.inf if not math.isfinite(best.residual) else best.residual
        target, pull = _target(objective, point, hessian, tolerance, radius)
        if radius == math.inf and _far(target, point.x):
            radius = 1.0 + float(np.linalg.norm(point.x))
            target, pull = _target(objective, point, hessian, tolerance, radius)
        direction = target - point.x
        if decrement > 0.0 and float(direction @ hessian @ direction) <= decrement:
            best = Point(target, point.theta, point.gradient, pull, math.inf)
            break
        moved, length, beyond = _step(objective, point, direction, target, pull, goal)
        if moved is None:
            break
        shortened = shortened + 1 if length < 1.0 else 0
        if length < _SHORT:
            radius = length * float(np.linalg.norm(direction))
        elif length == 1.0:
            radius *= _GROWTH
        waited = 0 if moved.residual < best.residual else waited + 1
        point = moved
        if moved.residual < best.residual:
            best = moved
        if best.residual > tolerance:
            seen = point.x if shortened < 2 else point.x + beyond * direction
            _, hessian = objective.expand(seen, point.pull, precise=precise)
    return best


def _far(target: FloatVector, x: FloatVector) -> bool:
    """Whether a model sends its minimiser so far from ``x`` that it cannot have seen the curvature there."""
    return float(np.linalg.norm(target - x)) > _FAR * (1.0 + float(np.linalg.norm(x)))


def _target(
    objective: Objective, point: Point, hessian: FloatMatrix, tolerance: float, radius: float = math.inf
) -> tuple[FloatVector, FloatVector | None]:
    """Minimiser of the model at a point, damped so that it is hardly farther away than ``radius``."""
    left = float(np.linalg.norm(point.slope))
    if radius < math.inf:
        hessian = hessian + left / radius * np.eye(len(hessian))
    # To a thousandth of what is left, or to a part of the goal.
    accuracy = max(0.1 * tolerance / objective.stretch, 1e-3 * left)
    return objective.shape.minimise_model(Model(hessian, point.gradient, point.x), point.pull, accuracy)


def _step(
    objective: Objective,
    point: Point,
    direction: FloatVector,
    target: FloatVector,
    pull: FloatVector | None,
    goal: float,
) -> tuple[Point | None, float, float]:
    """The longest safe step tried, None if rounding hides all; its length, and how far beyond is unsafe."""
    value = objective.shape.value(point.x)
    length = unsafe = 1.0
    initial = float(point.gradient @ direction) + objective.shape.value(target) - value
    for trials in range(_TRIALS):
        unscaled = length == 1.0
        x = target if unscaled else point.x + length * direction
        trial = objective.measure(x, pull if unscaled else None)
        slope = float(trial.gradient @ direction) + (objective.shape.value(x) - value) / length
        if trial.residual <= 0.5 * goal or slope <= 0.0:
            return trial, length, unsafe - length
        # Where the slope along the line would vanish, were it straight; if it is far from straight, half.
        share = initial / (initial - slope) if math.isfinite(slope) and initial < 0.0 else 0.1
        unsafe = length
        length *= min(max(share, 0.1), 0.9 if trials < 3 else 0.5)
    return None, 0.0, 0.0


def quasi_newton(objective: Objective, point: Point, hessian: FloatMatrix, *, tolerance: float) -> Point:
    """Minimise from a good start with a second derivative taken there, corrected after each step.

    The merit of a point is the length, in the metric, of the step that the model wants to take there: with
    no penalty the norm of the gradient in the inverse metric. A step that does not lessen the merit is not
    taken, but what it taught about the curvature is kept, and half of the next one is tried.

    ``hessian`` is the second derivative of the smooth part at ``point``, good to six digits. Returns the
    point of least residual, not always below ``tolerance``.
    """
    best, length = point, 1.0
    target, pull, merit = _next(objective, point, hessian, tolerance)
    for _ in range(_QUASI_STEPS):
        if best.residual <= tolerance or not math.isfinite(merit) or _far(target, point.x):
            break
        unscaled = length == 1.0
        x = target if unscaled else point.x + length * (target - point.x)
        trial = objective.measure(x, pull if unscaled else None)
        if trial.residual < best.residual:
            best = trial
            if best.residual <= tolerance:
                break
        hessian = _bfgs_update(hessian, trial.x - point.x, trial.gradient - point.gradient)
        ahead = _next(objective, trial, hessian, tolerance)
        if ahead[2] < merit:
            point, length = trial, 1.0
            target, pull, merit = ahead
        else:
            length *= 0.5
            target, pull, merit = _next(objective, point, hessian, tolerance)
    return best


def _bfgs_update(hessian: FloatMatrix, step: FloatVector, change: FloatVector) -> FloatMatrix:
    """The metric nearest to ``hessian`` under which ``step`` causes ``change``."""
    expected = hessian @ step
    before, after = float(step @ expected), float(step @ change)
    if not (before > 0.0 and math.isfinite(after) and after > 1e-8 * before):
        return hessian
    return hessian + np.outer(change, change / after) - np.outer(expected, expected / before)


def _next(
    objective: Objective, point: Point, hessian: FloatMatrix, tolerance: float
) -> tuple[FloatVector, FloatVector | None, float]:
    target, pull = _target(objective, point, hessian, tolerance)
    move = target - point.x
    square = float(move @ hessian @ move)
    return target, pull, math.sqrt(square) if square >= 0.0 else math.inf
