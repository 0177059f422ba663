"""Sums over the coordinates of a row, added up one by one, so that no row touches another's last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpglm.factor_rows import squares
from dpglm.row_loops import predictors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictors_and_squares_are_added_coordinate_by_coordinate(dtype: Any) -> None:
    """To the last bit as defined, in any number of rows: libraries sum otherwise where there is one."""
    rng = np.random.default_rng(5)
    X, at = rng.normal(size=(40, 70)).astype(dtype), rng.normal(size=40)
    at[3], weights = 0.0, np.where(at > 0.0, 1.0, 0.3)
    for rows in (slice(0, 70), slice(0, 1), slice(5, 7), slice(1, 64)):
        eta, length = np.zeros(X[:, rows].shape[1]), np.zeros(X[:, rows].shape[1])
        for value, weight, entries in zip(at, weights, X[:, rows].astype(np.float64), strict=True):
            eta = eta + value * entries
            length = length + weight * entries**2
        np.testing.assert_array_equal(predictors(at, X[:, rows].astype(np.float64)), eta)
        np.testing.assert_array_equal(squares(weights, X[:, rows]), length)
