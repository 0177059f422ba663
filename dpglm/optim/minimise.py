"""Minimise a convex loss over rows plus public terms, to a certified residual."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.line_search import safe_step
from dpglm.optim.loss import ChunkLoss
from dpglm.optim.objective import Objective, Point
from dpglm.optim.quadratic_solvers import Model, Penalised, Shape, WeightedL1
from dpglm.optim.wide import proximal_newton, truncated_newton, working_set
from dpglm.typing import BoolVector, FloatMatrix, FloatVector
from dpglm.wide_maps import MOST_DENSE, wide_map

# Rows a coefficient above which a part of the rows makes a good start, and rows a coefficient in that part.
_MANY_ROWS, _START_ROWS = 200, 50
# Coefficients above which a matrix of second derivatives is avoided, and products that are tried first; of so
# many coefficients that there is none, all products.
_SPARSE_SIZE, _PRODUCTS, _ALL_PRODUCTS = 300, 150, 20_000
# Most damped Newton steps.
_STEPS = 200
# Steps in a row without a better residual after which rounding has the last word.
_PATIENCE = 30
# A step this many times longer than the point itself tells that the model sees no curvature on its way; a
# step that had to be shortened below this share does so too.
_FAR, _SHORT = 1e3, 0.05
# Factor of the radius after a whole step.
_GROWTH = 4.0
# Gradients after which quasi-Newton steps are given up for Newton's.
_QUASI_STEPS = 15


class Minimum(NamedTuple):
    """A minimiser and its certificate.

    The residual is the Euclidean norm of a subgradient of the objective, in the space of ``theta``, from a
    float64 pass over all rows at exactly this point. The true minimiser is within ``residual / ridge``.
    """

    gamma: FloatVector  # (p,), where the penalty acts; zeros are exactly 0.0
    theta: FloatVector  # (p,), ``mixing @ gamma``: coefficients of the coded rows
    residual: float
    certified: bool  # whether the residual reached the tolerance
    metric: FloatMatrix | None = None  # what is known of the second derivative, for a start nearby


def minimise(
    loss: ChunkLoss,
    *,
    linear: FloatVector,
    ridge: float | FloatVector,
    mixing: FloatMatrix | None = None,
    penalised: BoolVector | None = None,
    penalty: Penalty | None = None,
    tolerance: float = 1e-8,
    start: FloatVector | None = None,
    metric: FloatMatrix | None = None,
) -> Minimum:
    """Minimise ``loss(theta) + linear.theta + sum(ridge * theta^2) / 2 + penalty(gamma)``.

    Here ``theta = mixing @ gamma``. Everything is in sum units: nothing is divided by the number of rows. The
    answer is the same whatever the path to it, up to ``tolerance``, and bit by bit for the same chunks. It
    never raises, warns or prints because of the rows.

    Parameters
    ----------
    loss : ChunkLoss
        Smooth convex sum over rows, of p coefficients.
    linear : ndarray, shape (p,)
        Acts on ``theta``: a linear perturbation of the objective.
    ridge : float or ndarray, shape (p,)
        Acts on ``theta``, >= 0. With 0 and separable data the answer is a point of small gradient far out.
    mixing : ndarray, shape (p, p), or None
        Invertible; None is the identity.
    penalised : ndarray of bool, shape (p,), or None
        Which gammas are penalised; None is all.
    penalty : Penalty or None
        Convex, on the penalised gammas, its strength in sum units.
    tolerance : float
        Largest residual to be certified.
    start : ndarray, shape (p,), or None
        A gamma near the answer; None finds one on a part of the rows.
    metric : ndarray or None
        Of a minimum near ``start``, of the same loss and a penalty of the same kind: it spares a read.

    Returns
    -------
    Minimum
        Check ``certified``: it is False only if rounding allows no smaller residual.

    Notes
    -----
    With more than 300 coefficients and no L1 term: Newton steps by conjugate gradients, without a matrix.
    With fewer and many rows: Newton on every k-th row, one read for the gradient and a float32 second
    derivative, then quasi-Newton steps at a gradient each. Float32 preconditions, the residual is float64.
    Where these do not end it, and with few rows from the beginning, damped Newton steps, which always end.

    Examples
    --------
    >>> from dpglm.glm.families.binomial import Binomial
    >>> from dpglm.optim.loss import ChunkLoss
    >>> from dpglm.rows import ArrayChunk
    >>> chunk = ArrayChunk(np.ones((1, 4), dtype=np.float32), np.array([0.0, 1.0, 1.0, 1.0]), None)
    >>> loss = ChunkLoss(lambda: [chunk], Binomial(), 1)
    >>> minimise(loss, linear=np.zeros(1), ridge=0.0).theta.round(6)  # log 3
    array([1.098612])
    """
    size = loss.size
    mask = np.ones(size, dtype=np.bool_) if penalised is None else np.asarray(penalised, dtype=np.bool_)
    linear = np.asarray(linear, dtype=np.float64)
    ridges = np.broadcast_to(np.asarray(ridge, dtype=np.float64), (size,))
    assert linear.shape == mask.shape == (size,), "one linear weight and one mask entry per coefficient"
    assert mixing is None or mixing.shape == (size, size), "mixing is square"
    assert penalty is None or penalty.convex, "a penalty that is not convex has no certificate"
    if size == 0:
        empty = np.zeros(0)
        return Minimum(empty, empty, 0.0, True)
    with np.errstate(all="ignore"):
        objective = _objective(loss, linear, ridges, mixing, mask, penalty)
        of_theta = mixing is not None and objective.mixing is None
        first = None
        if start is not None:
            first = mixing @ start if mixing is not None and of_theta else start
        if metric is not None:
            objective = replace(objective, metric=objective.curved(metric))
        point = _solve(objective, first, tolerance)
        metric = None if point.metric is None else objective.curved(point.metric, -1.0)
        gamma = point.x
        if mixing is not None and of_theta:
            wide = wide_map(mixing)
            gamma = np.asarray(
                np.linalg.solve(mixing, point.theta) if wide is None else wide.solve(point.theta)
            )
    return Minimum(gamma + 0.0, point.theta, point.residual, point.residual <= tolerance, metric)


def _objective(
    loss: ChunkLoss,
    linear: FloatVector,
    ridge: FloatVector,
    mixing: FloatMatrix | None,
    mask: BoolVector,
    penalty: Penalty | None,
) -> Objective:
    """Smooth objectives as functions of theta, where the certificate lives, the others of gamma."""
    shape: Shape = WeightedL1(np.zeros(loss.size))
    diagonal = None
    if mask.any() and penalty is not None:
        if penalty.l1_weight is None or penalty.ridge_weight is None:
            shape = Penalised(penalty, mask)
        else:
            if penalty.l1_weight > 0.0:
                shape = WeightedL1(np.where(mask, penalty.l1_weight, 0.0))
            if penalty.ridge_weight > 0.0:
                diagonal = np.where(mask, penalty.ridge_weight, 0.0)
    if mixing is None or (shape.smooth and diagonal is None):
        return Objective(loss, linear, ridge, None, diagonal, shape)
    wide = wide_map(mixing)
    if wide is not None:
        return Objective(loss, linear, ridge, mixing, diagonal, shape, wide.unturned, wide.inverse_norm)
    inverse: FloatMatrix = np.asarray(np.linalg.inv(mixing), dtype=np.float64)
    if shape.smooth and diagonal is not None:
        return Objective(loss, linear, ridge, None, (inverse.T * diagonal) @ inverse, shape)
    stretch = math.sqrt(float(np.linalg.norm(inverse, 1)) * float(np.linalg.norm(inverse, np.inf)))
    return Objective(loss, linear, ridge, mixing, diagonal, shape, lambda s: inverse.T @ s, stretch)


def _solve(objective: Objective, start: FloatVector | None, tolerance: float) -> Point:
    """The certified point, by the cheapest way that ends."""
    first = np.zeros(objective.size) if start is None else start
    shape = objective.shape
    if shape.smooth and objective.size > _SPARSE_SIZE:
        matrices = objective.size <= MOST_DENSE
        products = max(_PRODUCTS, objective.size // 5) if matrices else _ALL_PRODUCTS
        point = truncated_newton(objective, first, tolerance, products=products)
        if point.residual > tolerance and matrices:
            point = _quasi_newton(objective, *objective.expand(point.x), tolerance=tolerance)
    elif isinstance(shape, WeightedL1) and objective.size > MOST_DENSE:
        point = proximal_newton(objective, shape.weights, first, tolerance, products=_ALL_PRODUCTS)
    elif isinstance(shape, WeightedL1) and not shape.smooth and objective.size > _SPARSE_SIZE:
        point = working_set(objective, shape.weights, first, tolerance, minimise=_dense)
        point = point._replace(metric=None)  # of the working set alone
    else:
        point = _dense(objective, start, tolerance)
    if point.residual > tolerance and objective.size <= MOST_DENSE:
        point = min(
            point, _damped_newton(objective, point.x, tolerance=tolerance), key=attrgetter("residual")
        )
    return point


def _dense(objective: Objective, start: FloatVector | None, tolerance: float) -> Point:
    """Quasi-Newton steps from a good start where rows are many, else Newton's."""
    rows, size = objective.loss.row_count, objective.size
    if rows < _MANY_ROWS * size:
        return _damped_newton(objective, np.zeros(size) if start is None else start, tolerance=tolerance)
    if start is None:
        step = rows // (_START_ROWS * size)
        part = replace(objective, loss=objective.loss.thinned(step))
        # A part of the rows differs from the whole by about size * step in the objective: a tenth will do.
        start = _damped_newton(
            part, np.zeros(size), tolerance=tolerance, decrement=0.1 * size * step, precise=False
        ).x
    known = objective.metric
    point, hessian = objective.expand(start) if known is None else (objective.measure(start), known)
    point = _quasi_newton(objective, point, hessian, tolerance=tolerance)
    if point.residual > tolerance:
        point = min(
            point, _damped_newton(objective, point.x, tolerance=tolerance), key=attrgetter("residual")
        )
    return point


def _damped_newton(
    objective: Objective, x: FloatVector, *, tolerance: float, decrement: float = 0.0, precise: bool = True
) -> Point:
    """Minimise by Newton steps, each shortened until it is safe.

    A step of length t along d is safe if the residual falls below half of the least seen so far, which
    happens finitely often, or if ``t * gradient(x + t d).d + P(x + t d) - P(x) <= 0``: for a convex loss the
    left side bounds the change of the objective, so that it decreases, without ever computing the loss.
    As t is never less than a tenth of what suffices, the usual line-search argument applies and the sequence
    converges whatever the data, if the objective is strongly convex.

    A hinge has no curvature but near its corner. A model that sees none would send its minimiser far away in
    some directions, and the short step that is safe would do nothing in the others: it is then damped by
    ``|score| / radius``, with a radius that whole steps enlarge. Where two steps in a row had to be shortened
    a corner may lie ahead: the model takes its curvature from beyond it.

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
        moved, length, beyond = safe_step(objective, point, direction, target, pull, goal)
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


def _quasi_newton(objective: Objective, point: Point, hessian: FloatMatrix, *, tolerance: float) -> Point:
    """Minimise from a good start with a second derivative taken there, corrected after each step.

    The merit of a point is the length, in the metric, of the step that the model wants to take there: with
    no penalty the norm of the gradient in the inverse metric. A step that does not lessen the merit is not
    taken, but what it taught about the curvature is kept, and half of the next one is tried. ``hessian``
    is good to six digits. Returns the point of least residual, not always below ``tolerance``, and metric.
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
    return best._replace(metric=hessian)


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
