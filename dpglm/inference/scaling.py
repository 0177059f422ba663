"""Standardisation: scaled coefficients, where a penalty acts; noise is alike in all of them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve

from dpglm.typing import BoolVector, FloatMatrix, FloatVector


class Geometry(Protocol):
    """What a scaling needs to know of a coding."""

    @property
    def coded_from_user(self) -> FloatMatrix:
        """Coded coefficients from the user's, shape (p, p)."""

    @property
    def penalised(self) -> BoolVector:
        """Which of the user's coefficients a penalty may touch."""


class Scaling(NamedTuple):
    """The public map between scaled, coded and user's coefficients.

    A penalty should treat coefficients alike whatever their units, and pull contrasts, not coded columns,
    to zero. The scaled coefficient of user's column j is ``beta_j |t_j|``, t_j being what one unit of beta_j
    adds to the coded coefficients once the intercept, which is free, has taken up its part. Noise of standard
    deviation s on the coded score is then noise of standard deviation s on every scaled one.

    Parameters
    ----------
    mixing : ndarray, shape (p, p)
        Coded from scaled coefficients; columns have norm 1.
    lengths : ndarray, shape (p,)
        ``|t_j|``.
    shares : ndarray, shape (p,)
        How much of one unit of user's column j the intercept takes up; 0 without an intercept.
    penalised : ndarray of bool, shape (p,)
        False for the intercept.
    """

    mixing: FloatMatrix
    lengths: FloatVector
    shares: FloatVector
    penalised: BoolVector

    @classmethod
    def of(cls, geometry: Geometry) -> Scaling:
        """The scaling that goes with a coding."""
        columns = np.asarray(geometry.coded_from_user, dtype=np.float64)
        penalised = np.asarray(geometry.penalised, dtype=np.bool_)
        size = columns.shape[1]
        free = np.flatnonzero(~penalised)
        shares = np.zeros(size)
        mixing = columns.copy()
        for j in free:  # the intercept, where there is one
            shares = np.where(penalised, columns[:, j] @ columns / (columns[:, j] @ columns[:, j]), shares)
            mixing = mixing - np.outer(columns[:, j], shares)
        lengths = np.sqrt((mixing**2).sum(axis=0))
        return cls(mixing / lengths, lengths, shares, penalised)

    def scaled(self, coded: FloatVector) -> FloatVector:
        """Scaled coefficients of coded ones, shape (p,)."""
        return np.asarray(solve(self.mixing, coded), dtype=np.float64)

    def coded(self, scaled: FloatVector) -> FloatVector:
        """Coded coefficients of scaled ones, shape (p,)."""
        return np.asarray(self.mixing @ scaled, dtype=np.float64)

    def user(self, scaled: FloatVector) -> FloatVector:
        """User's coefficients of scaled ones; exact zeros stay exact, shape (p,)."""
        estimates = scaled / self.lengths
        absorbed = float(self.shares @ estimates)
        return np.where(self.penalised, estimates, estimates - absorbed)

    def from_user(self, estimates: FloatVector) -> FloatVector:
        """Scaled coefficients of the user's, shape (p,): the inverse of `user`."""
        absorbed = float(self.shares @ np.where(self.penalised, estimates, 0.0))
        return np.where(self.penalised, estimates, estimates + absorbed) * self.lengths

    def noise_deviations(self) -> FloatVector:
        """Standard deviation of each scaled coefficient per unit of isotropic noise on the coded ones."""
        return np.asarray(np.sqrt((np.linalg.inv(self.mixing) ** 2).sum(axis=1)), dtype=np.float64)
