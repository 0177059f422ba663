"""Minimise a convex loss over rows plus public terms, to a certified residual."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.optim.objective import Effort, Objective, Point, damped_newton, quasi_newton
from dpglm.optim.quadratic_solvers import Penalised, Shape, Smooth, WeightedL1
from dpglm.optim.rows import ChunkLoss
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# Rows a coefficient above which a part of the rows makes a good start, and rows a coefficient in that part.
_MANY_ROWS, _START_ROWS = 200, 50
# Coefficients above which a matrix of second derivatives is avoided: with an L1 term, and without.
_SPARSE_SIZE, _DENSE_SIZE = 300, 2000
# Coefficients that enter a working set at once, at least.
_ENTERING = 50
# Limited-memory BFGS: most gradients, pairs kept, trials of a line search; and the shares of the first slope
# along the line between which a slope is accepted (Wolfe's curvature condition).
_LBFGS_PASSES, _MEMORY, _LINE_TRIALS = 500, 20, 30
_LEAST_SLOPE, _MOST_SLOPE = -0.9, 0.1


class Minimum(NamedTuple):
    """A minimiser and its certificate.

    Attributes
    ----------
    gamma : ndarray, shape (p,)
        Where the penalty acts; zeros are exactly 0.0.
    theta : ndarray, shape (p,)
        ``mixing @ gamma``: coefficients of the coded rows.
    residual : float
        Euclidean norm of a subgradient of the objective at ``theta``, in the space of ``theta``, from a
        float64 pass over all rows at exactly this point. The true minimiser is within ``residual / ridge``.
    certified : bool
        Whether ``residual`` reached the tolerance.
    passes, hessians : int
        How often the rows were read, and how often for second derivatives too. They depend on the rows:
        never show them beside a private result.
    """

    gamma: FloatVector
    theta: FloatVector
    residual: float
    certified: bool
    passes: int
    hessians: int


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
) -> Minimum:
    """Minimise ``loss(theta) + linear.theta + sum(ridge * theta^2) / 2 + penalty(gamma)``.

    Here ``theta = mixing @ gamma``. Everything is in sum units: nothing is divided by the number of rows. The
    answer is the same whatever the path to it, up to ``tolerance``; the path is the same for the same chunks,
    bit by bit. It never raises, warns or prints because of the rows.

    Parameters
    ----------
    loss : ChunkLoss
        Smooth convex sum over rows, of p coefficients: a `ChunkLoss`.
    linear : ndarray, shape (p,)
        Acts on ``theta``: a linear perturbation of the objective.
    ridge : float or ndarray, shape (p,)
        Acts on ``theta``, >= 0. With 0 and separable data the answer is a point of small gradient far out.
    mixing : ndarray, shape (p, p), or None
        Invertible; None is the identity.
    penalised : ndarray of bool, shape (p,), or None
        Which gammas are penalised; None is all.
    penalty : Penalty or None
        A convex penalty on the penalised gammas with its strength in sum units. One that is not an L1 part
        plus a ridge is handled by its prox.
    tolerance : float
        Largest residual to be certified.
    start : ndarray, shape (p,), or None
        A gamma near the answer; None finds one on a part of the rows.

    Returns
    -------
    Minimum
        Check ``certified``: it is False only if rounding allows no smaller residual.

    Notes
    -----
    With many rows: Newton on every k-th row, one read for the gradient and a float32 second derivative, then
    quasi-Newton steps at a gradient each; the second derivative only preconditions, the residual is float64.
    If 15 of them do not end it, and with few rows from the beginning, damped Newton steps, which always end.

    Examples
    --------
    >>> from dpglm.glm.families.binomial import Binomial
    >>> from dpglm.optim.rows import ArrayChunk, ChunkLoss
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
        return Minimum(empty, empty, 0.0, True, 0, 0)
    with np.errstate(all="ignore"):
        objective = _objective(loss, linear, ridges, mixing, mask, penalty)
        smooth = isinstance(objective.shape, Smooth)
        first = None
        if start is not None:
            first = start if mixing is None or not smooth else mixing @ start
        point = _solve(objective, first, tolerance)
        gamma = point.x
        if mixing is not None and smooth:
            gamma = np.asarray(np.linalg.solve(mixing, point.theta), dtype=np.float64)
    effort = objective.effort
    certified = point.residual <= tolerance
    return Minimum(gamma + 0.0, point.theta, point.residual, certified, effort.passes, effort.hessians)


def _objective(
    loss: ChunkLoss,
    linear: FloatVector,
    ridge: FloatVector,
    mixing: FloatMatrix | None,
    mask: BoolVector,
    penalty: Penalty | None,
) -> Objective:
    """Smooth objectives as functions of theta, where the certificate lives, the others of gamma."""
    shape: Shape = Smooth()
    diagonal = None
    if mask.any() and penalty is not None:
        if penalty.l1_weight is None or penalty.ridge_weight is None:
            shape = Penalised(penalty, mask)
        else:
            if penalty.l1_weight > 0.0:
                shape = WeightedL1(np.where(mask, penalty.l1_weight, 0.0))
            if penalty.ridge_weight > 0.0:
                diagonal = np.where(mask, penalty.ridge_weight, 0.0)
    smooth = isinstance(shape, Smooth)
    if mixing is None or (smooth and diagonal is None):
        return Objective(loss, linear, ridge, None, diagonal, shape)
    inverse: FloatMatrix = np.asarray(np.linalg.inv(mixing), dtype=np.float64)
    if smooth and diagonal is not None:
        return Objective(loss, linear, ridge, None, (inverse.T * diagonal) @ inverse, shape)
    stretch = math.sqrt(float(np.linalg.norm(inverse, 1)) * float(np.linalg.norm(inverse, np.inf)))
    return Objective(loss, linear, ridge, mixing, diagonal, shape, lambda s: inverse.T @ s, stretch)


def _solve(objective: Objective, start: FloatVector | None, tolerance: float) -> Point:
    """The certified point, by the cheapest way that ends."""
    first = np.zeros(objective.size) if start is None else start
    if isinstance(objective.shape, WeightedL1) and objective.size > _SPARSE_SIZE:
        point = _working_set(objective, objective.shape.weights, first, tolerance)
    elif isinstance(objective.shape, Smooth) and objective.size > _DENSE_SIZE:
        point = _lbfgs(objective, first, tolerance)
    else:
        point = _dense(objective, start, tolerance)
    for compensated in (False, True):
        if point.residual <= tolerance:
            break
        careful = replace(objective, compensated=compensated)
        point = _better(point, damped_newton(careful, point.x, tolerance=tolerance))
    return point


def _better(first: Point, second: Point) -> Point:
    return second if second.residual < first.residual else first


def _dense(objective: Objective, start: FloatVector | None, tolerance: float) -> Point:
    """Quasi-Newton steps from a good start where rows are many, else Newton's."""
    rows, size = objective.loss.row_count, objective.size
    if rows < _MANY_ROWS * size:
        return damped_newton(objective, np.zeros(size) if start is None else start, tolerance=tolerance)
    if start is None:
        step = rows // (_START_ROWS * size)
        part = replace(objective, loss=objective.loss.thinned(step), effort=Effort())
        # A part of the rows differs from the whole by about size * step in the objective: a tenth will do.
        start = damped_newton(
            part, np.zeros(size), tolerance=tolerance, decrement=0.1 * size * step, precise=False
        ).x
    point, hessian = objective.expand(start)
    point = quasi_newton(objective, point, hessian, tolerance=tolerance)
    if point.residual > tolerance:
        point = _better(point, damped_newton(objective, point.x, tolerance=tolerance))
    return point


def _working_set(objective: Objective, weights: FloatVector, x: FloatVector, tolerance: float) -> Point:
    """The point of least residual with an L1 term: minimise over coordinates in use, let others enter."""
    point = best = objective.measure(x)
    used = (weights == 0.0) | (x != 0.0)
    while best.residual > tolerance:
        excess = np.where(used, 0.0, np.abs(point.gradient) - weights)
        entering = np.argsort(-excess, kind="stable")[: max(_ENTERING, int(used.sum()))]
        entering = entering[excess[entering] > 0.0]
        before = best.residual
        used[entering] = True
        if 2 * int(used.sum()) > used.size:
            used[:] = True
        places = np.flatnonzero(used)
        # Early rounds need not be exact: which coordinates enter next hardly depends on it.
        goal = 0.5 * tolerance / objective.stretch
        if entering.size:
            goal = max(goal, 0.01 * float(excess.max()))
        inner = _dense(_restricted(objective, weights, places), point.x[places], goal)
        x = np.zeros_like(x)
        x[places] = inner.x
        point = objective.measure(x)
        if point.residual < best.residual:
            best = point
        elif not entering.size and best.residual >= before:
            break
    return best


def _restricted(objective: Objective, weights: FloatVector, places: IntVector) -> Objective:
    """The same objective as a function of some coordinates, the others being zero."""
    mixing = np.eye(objective.size) if objective.mixing is None else objective.mixing
    curvature = objective.curvature
    if curvature is not None:
        curvature = curvature[places] if curvature.ndim == 1 else curvature[np.ix_(places, places)]
    return replace(
        objective,
        mixing=np.ascontiguousarray(mixing[:, places]),
        curvature=curvature,
        shape=WeightedL1(weights[places]),
        to_theta=None,
        stretch=1.0,
    )


def _lbfgs(objective: Objective, x: FloatVector, tolerance: float) -> Point:
    """The point of least residual by limited-memory BFGS, which needs gradients alone, not the loss.

    Nocedal and Wright (2006), "Numerical Optimization", algorithms 7.4 and 7.5.
    """
    point = best = objective.measure(x)
    pairs: list[tuple[FloatVector, FloatVector, float]] = []
    last = objective.effort.passes + _LBFGS_PASSES
    while best.residual > tolerance and objective.effort.passes < last:
        moved = _line_search(objective, point, _direction(point.gradient, pairs), last)
        if moved is None:
            if not pairs:
                break
            pairs = []
            continue
        step, change = moved.x - point.x, moved.gradient - point.gradient
        product = float(step @ change)
        if product > 1e-12 * float(change @ change) and math.isfinite(product):
            pairs = [*pairs[1 - _MEMORY :], (step, change, product)]
        point = moved
        if point.residual < best.residual:
            best = point
    return best


def _direction(gradient: FloatVector, pairs: list[tuple[FloatVector, FloatVector, float]]) -> FloatVector:
    """Minus the inverse metric of the pairs times the gradient, by the two loops."""
    left = gradient.copy()
    shares: list[float] = []
    for step, change, product in reversed(pairs):
        shares.append(float(step @ left) / product)
        left -= shares[-1] * change
    if pairs:
        _, change, product = pairs[-1]
        left *= product / float(change @ change)
    for (step, change, product), share in zip(pairs, reversed(shares), strict=True):
        left += step * (share - float(change @ left) / product)
    return -left


def _line_search(objective: Objective, point: Point, direction: FloatVector, last: int) -> Point | None:
    """A point along the line where its slope has nearly vanished."""
    first = float(point.gradient @ direction)
    if not first < 0.0:
        return None
    low, high, length = 0.0, math.inf, 1.0
    for _ in range(_LINE_TRIALS):
        if objective.effort.passes >= last:
            break
        trial = objective.measure(point.x + length * direction)
        share = float(trial.gradient @ direction) / -first
        if _LEAST_SLOPE <= share <= _MOST_SLOPE or trial.residual <= 0.1 * point.residual:
            return trial
        if share < _LEAST_SLOPE:
            low = length
        else:
            high = length
        # The slope is -1 at zero and ``share`` here: aim at where a straight line through both vanishes.
        aim = length / (1.0 + share) if math.isfinite(share) and share > -1.0 else math.inf
        if math.isinf(high):
            length = min(max(aim, 2.0 * length), 10.0 * length)
        else:
            margin = 0.1 * (high - low)
            length = min(max(aim, low + margin), high - margin)
    return None
