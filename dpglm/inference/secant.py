r"""Information between the released point and the coefficients: what a shrunken point says too much of.

In a logistic model rows weigh a(1 - a), the less the further their predictors are from 0. The information is
taken at t, where predictors are smaller than at theta, and so overstates how fast the score falls from t to
theta: a step that is computed with it ends too early. With x'(theta - t) = d,

.. math::

    g(\theta) - g(t) = \bar H (\theta - t), \qquad \bar H = \sum_i w_i \rho_i x_i x_i',
    \qquad \rho = \frac{a(\eta + d) - a(\eta)}{d\,a(\eta)(1 - a(\eta))}.

Rows are not there any more, but their first two moments under the weights at t are: those are the released
matrix. So the mean of rho x x' is taken as if predictors were normal under these weights.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit

from dpglm.inference.linear_model import LinearModel
from dpglm.typing import FloatMatrix, FloatVector

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Below this step the ratio is its first two terms: the difference of two means would have lost its digits.
_SMALL: Final = 1e-4
_JITTER: Final = 1e-9


def secant_design(model: LinearModel, step: FloatVector) -> FloatMatrix:
    """The mean information on the way from t to t + step, shape (p, p); that at t without an intercept.

    Post-processing of released numbers, for a logistic model without offsets.
    """
    released, at_centre = model.released, model.design
    intercept = model.cells.intercept
    if intercept is None or not step.any():
        return at_centre
    at, constant = intercept.start, float(intercept.table[0, 0])
    total = max(float(at_centre[at, at]), released.information_scale) / constant**2
    mean = at_centre[at] / (constant * total)
    mean[at] = constant
    spread = at_centre / total - np.outer(mean, mean)
    spread[at], spread[:, at] = 0.0, 0.0
    values, vectors = np.linalg.eigh(spread)
    spread = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # Predictors at t, and how far they move: two normal variables.
    directions = np.column_stack([released.centre, step])
    across = spread @ directions
    within = directions.T @ across
    within += _JITTER * (np.trace(within) + _JITTER) * np.eye(2)
    grid = np.array(np.meshgrid(_NODES, _NODES, indexing="ij")).reshape(2, -1)
    moved = np.linalg.cholesky(within) @ grid
    eta, change = (mean @ directions)[:, None] + moved
    ratio = weight_ratio(eta, change) * np.outer(_WEIGHTS, _WEIGHTS).ravel()
    slopes = across @ np.linalg.inv(within)
    first = slopes @ (moved @ ratio)
    second = slopes @ ((moved * ratio) @ moved.T) @ slopes.T
    rest = np.outer(mean, mean) + spread - slopes @ across.T
    design = total * (ratio.sum() * rest + np.outer(mean, first) + np.outer(first, mean) + second)
    return np.asarray(0.5 * (design + design.T))


def weight_ratio(eta: FloatVector, change: FloatVector) -> FloatVector:
    """Mean weight on the way from one predictor to another in units of that at its start, > 0.

    Examples
    --------
    >>> weight_ratio(np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, -2.0])).round(3)
    array([1.   , 0.762, 1.813])
    """
    start = expit(eta)
    weight = start * expit(-eta)
    small = np.abs(change) < _SMALL
    moved = (expit(eta + change) - start) / np.where(small, 1.0, change) / np.maximum(weight, 1e-300)
    return np.where(small, 1.0 + (0.5 - start) * change, moved)
