"""B-splines with declared knots: the basis of one variable, evaluated row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True)
class Spline:
    """A B-spline basis on ``[low, high]`` whose knots are public.

    All columns together are >= 0 and add up to 1 in every row. A formula uses all but the first, as
    patsy and R do.

    Parameters
    ----------
    low, high : float
        Boundary knots; values outside count as the nearer one.
    knots : tuple of float
        Inner knots, increasing, strictly between the boundary knots.
    degree : int
        3 for cubic pieces.

    Examples
    --------
    >>> Spline(0.0, 2.0, (1.0,), 1).basis(np.array([0.0, 0.5, 2.0]))
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    low: float
    high: float
    knots: tuple[float, ...]
    degree: int

    @property
    def size(self) -> int:
        """Number of columns of the whole basis."""
        return len(self.knots) + self.degree + 1

    def basis(self, values: FloatVector) -> FloatMatrix:
        """The whole basis, shape (size, k), for values of shape (k,); NaN where the value is NaN.

        References
        ----------
        .. [1] de Boor (2001), "A Practical Guide to Splines", chapter X, algorithm BSPLVB.
        """
        degree = self.degree
        t = np.concatenate([np.full(degree + 1, self.low), self.knots, np.full(degree + 1, self.high)])
        x = np.clip(values, self.low, self.high)
        # The last piece is closed on the right: the upper bound belongs to it. NaN falls there too.
        piece = degree + np.searchsorted(np.asarray(self.knots), x, side="right")
        local = np.zeros((degree + 1, x.size))
        local[0] = np.where(np.isnan(x), np.nan, 1.0)
        for order in range(1, degree + 1):
            carried = np.zeros(x.size)
            for j in range(order):
                right, left = t[piece + j + 1], t[piece + j + 1 - order]
                share = local[j] / (right - left)
                local[j] = carried + (right - x) * share
                carried = (x - left) * share
            local[order] = carried
        out = np.zeros((self.size, x.size))
        rows = np.arange(x.size)
        for j in range(degree + 1):
            out[piece - degree + j, rows] = local[j]
        return out
