"""Coefficients from the released linear model, of any penalty or none, and the scale where a penalty acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve

from dpglm.glm.penalties.base import Penalty
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.path import SparsePath, choose_bic, sparse_path
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


@dataclass(frozen=True, eq=False)
class Coefficients:
    """One vector of coefficients.

    Attributes
    ----------
    coded, estimates : ndarray, shape (p,)
        Coded and user's coefficients.
    selected : ndarray of bool, shape (p,)
        Which are not exactly zero.
    strength : float or None
        Penalty strength, sum units; None where nothing was penalised.
    """

    coded: FloatVector
    estimates: FloatVector
    selected: BoolVector
    strength: float | None


def quadratic(contrasts: Contrasts, scaling: Scaling) -> tuple[FloatMatrix, FloatVector]:
    """``A`` and ``c`` of the released loss ``g'Ag/2 - c'g`` in the scaled coefficients g, (p, p) and (p,).

    Twice that loss is (z - H theta)' Omega^-1 (z - H theta) up to a constant; without noise it is the
    deviance around the maximum likelihood estimate.
    """
    model = contrasts.model
    design = model.design @ scaling.mixing
    weighted = np.linalg.solve(model.omega, np.column_stack([design, model.response]))
    matrix = design.T @ weighted[:, :-1]
    return 0.5 * (matrix + matrix.T), np.asarray(design.T @ weighted[:, -1])


def coefficients(
    contrasts: Contrasts,
    scaling: Scaling,
    penalty: Penalty,
    strength: float | None,
    *,
    size: float | None = None,
) -> Coefficients:
    """The fit's coefficients.

    Without a penalty: the estimate where it has an interval, the prior's compromise elsewhere. With "l2" and
    no strength: the prior's compromise throughout. With any other penalty: the minimiser of the released loss
    plus the penalty, on the scale of ``scaling``. The strength is in sum units; None chooses it by BIC along
    the path, where ``size`` is a public number of rows. ``contrasts`` are those of the user's coefficients.
    """
    if penalty.name == "none" or (penalty.name == "l2" and strength is None):
        estimates = contrasts.shrunk
        if penalty.name == "none":
            reported = np.array([decision.reported for decision in interval_decisions(contrasts)])
            estimates = np.where(reported, contrasts.estimates, estimates)
        coded = scaling.coded(scaling.from_user(estimates))
        return Coefficients(coded, estimates, np.ones(len(estimates), dtype=np.bool_), None)
    matrix, right = quadratic(contrasts, scaling)
    if strength is None:
        path = sparse_path(matrix, right, penalty, scaling.penalised)
        index = weakest(path, choose_bic(path, matrix, right, size=size))
    else:
        path = sparse_path(matrix, right, penalty, scaling.penalised, strengths=np.array([strength]))
        index = 0
    return of_scaled(path.coefficients[index], float(path.strengths[index]), scaling, contrasts)


def weakest(path: SparsePath, index: int) -> int:
    """The weakest strength with the same support, from ``index`` on along the path: it shrinks least."""
    support = path.coefficients[index] != 0.0
    while index + 1 < len(path.strengths) and np.array_equal(path.coefficients[index + 1] != 0.0, support):
        index += 1
    return index


def of_scaled(
    scaled: FloatVector, strength: float | None, scaling: Scaling, contrasts: Contrasts
) -> Coefficients:
    """Coefficients of scaled ones, with what is known of them beside the released model."""
    origin = contrasts.model.released.origin
    coded = scaling.coded(scaled) if origin is None else scaling.coded(scaled) + origin
    return Coefficients(coded, on_user_scale(scaled, scaling, contrasts), scaled != 0.0, strength)


def on_user_scale(scaled: FloatVector, scaling: Scaling, contrasts: Contrasts) -> FloatVector:
    """The user's coefficients, the intercept with its known part; zeros stay exact."""
    known = np.where(scaling.penalised, 0.0, contrasts.model.released.known(contrasts.rows))
    return scaling.user(scaled) + known
