"""The linear predictor of rows, the same bits wherever a row stands."""

from __future__ import annotations

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector


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
