"""Linear predictors and lengths of rows, the same bits wherever a row stands."""

from __future__ import annotations

import numpy as np

from dpglm.typing import FloatBlock, FloatMatrix, FloatVector

# No released point is longer than this in any coordinate, or so little of it is left as makes no difference.
FARTHEST = 2.0**100


def predictor(at: FloatVector, wide: FloatMatrix) -> FloatVector:
    """x'at of each row, coordinate by coordinate; ``wide`` has rows as columns, shape (p, k).

    A product of matrices may round a row differently in another place, and so let one row touch others.

    Examples
    --------
    >>> predictor(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [0.5, 3.0]]))
    array([2.5, 3. ])
    """
    eta = np.zeros(wide.shape[1])
    for value, column in zip(at, wide, strict=True):
        eta += value * column
    return eta


def squares(weights: FloatVector, X: FloatBlock) -> FloatVector:
    """Weighted sum of squares of each row, coordinate by coordinate; shape (k,), as in `predictor`.

    Examples
    --------
    >>> squares(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [0.5, 3.0]]))
    array([2.25, 9.  ])
    """
    total = np.zeros(X.shape[1])
    for weight, entries in zip(weights.tolist(), X, strict=True):
        total += weight * np.square(entries, dtype=np.float64)
    return total


def finite(at: FloatVector) -> FloatVector:
    """A released point without infinities and NaN, which times a row's 0 would be felt by every sum.

    Examples
    --------
    >>> finite(np.array([np.inf, np.nan, 2.0])).tolist()
    [1.2676506002282294e+30, 0.0, 2.0]
    """
    return np.asarray(np.clip(np.nan_to_num(at), -FARTHEST, FARTHEST), dtype=np.float64)
