"""Coefficients and their paths in the released linear model, of any penalty or none: free of privacy cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
import scipy.linalg

from dpglm.glm.penalties.base import Penalty
from dpglm.inference import selection
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.optim import quadratic as quadratics
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, is_intercept
from dpglm.wide_maps import WideMap, inverse_map, wide_map

if TYPE_CHECKING:
    from dpglm.optim.quadratic import QuadraticPath

# Strengths of a path, and the least as a share of the largest.
STRENGTHS, RATIO = 100, 1e-3
# Most coefficients of which a support is judged at its own estimate, and steps that this takes to settle.
MOST_AT_OWN, SETTLING = 250, 3


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
    adds to the coded coefficients once the intercept, which is free, or several, have taken up their part.
    Noise of standard deviation s on the coded score is then noise of standard deviation s on every scaled
    one.
    """

    mixing: FloatMatrix  # (p, p), coded from scaled coefficients; columns have norm 1
    lengths: FloatVector  # (p,), |t_j|
    shares: FloatMatrix  # (k, p), of one unit of user's column j, taken up by each of k intercepts
    penalised: BoolVector  # (p,), False for intercepts

    @classmethod
    def of(cls, geometry: Geometry) -> Scaling:
        """The scaling that goes with a coding."""
        wide = wide_map(geometry.coded_from_user)
        if wide is not None:
            return cls._wide(wide, geometry.penalised)
        columns = np.asarray(geometry.coded_from_user, dtype=np.float64)
        penalised = np.asarray(geometry.penalised, dtype=np.bool_)
        free = columns[:, ~penalised]  # one, none without an intercept, several of an ordinal response
        shares = np.where(penalised, scipy.linalg.solve(free.T @ free, free.T @ columns), 0.0)
        mixing = columns - free @ shares
        lengths = np.sqrt((mixing**2).sum(axis=0))
        return cls(mixing / lengths, lengths, shares, penalised)

    @classmethod
    def _wide(cls, columns: WideMap, penalised: BoolVector) -> Scaling:
        """The same where there is no matrix: factors of many levels add to the constant alone."""
        small = cls.of(_Maps(columns.matrix, penalised[columns.user]))
        shares, lengths = np.zeros((2, len(columns)))
        shares[columns.user], lengths[columns.user] = small.shares[0], small.lengths
        constant = columns.matrix[columns.constant, np.flatnonzero(~penalised[columns.user])]
        for factor in columns.factors:
            shares[factor.users], lengths[factor.users] = factor.share / float(constant[0]), factor.length
        return cls(cast(FloatMatrix, columns.scaled(small.mixing)), lengths, shares[None, :], penalised)

    def scaled(self, coded: FloatVector) -> FloatVector:
        """Scaled coefficients of coded ones, shape (p,)."""
        wide = wide_map(self.mixing)
        if wide is not None:
            return wide.solve(coded)
        return np.asarray(scipy.linalg.solve(self.mixing, coded), dtype=np.float64)

    def coded(self, scaled: FloatVector) -> FloatVector:
        """Coded coefficients of scaled ones, shape (p,)."""
        return np.asarray(self.mixing @ scaled, dtype=np.float64)

    def user(self, scaled: FloatVector) -> FloatVector:
        """User's coefficients of scaled ones; exact zeros stay exact, shape (p,)."""
        estimates = scaled / self.lengths
        estimates[~self.penalised] -= self.shares @ estimates
        return np.asarray(estimates)

    def from_user(self, estimates: FloatVector) -> FloatVector:
        """Scaled coefficients of the user's, shape (p,): the inverse of `user`."""
        found = np.array(estimates, dtype=np.float64)
        found[~self.penalised] += self.shares @ estimates  # shares of intercepts themselves are 0
        return found * self.lengths

    def noise_deviations(self) -> FloatVector:
        """Standard deviation of each scaled coefficient per unit of isotropic noise on the coded ones."""
        wide = wide_map(self.mixing)
        if wide is not None:
            deviations = np.empty(len(wide))
            deviations[wide.user] = np.sqrt((wide.inverse**2).sum(axis=1))
            for factor in wide.factors:  # the norm of the difference of two corners
                deviations[factor.users] = math.sqrt(2.0) / factor.scale
            return deviations
        return np.asarray(np.sqrt((np.linalg.inv(self.mixing) ** 2).sum(axis=1)), dtype=np.float64)


def scaling_of(user_from_coded: FloatMatrix, names: tuple[str, ...]) -> Scaling:
    """The scaling of a coding of which only the map to the user's coefficients is known, shape (p, p)."""
    wide = inverse_map(user_from_coded)
    if wide is not None:
        penalised = np.array([not is_intercept(name) for name in names])
        return Scaling.of(_Maps(cast(FloatMatrix, wide), penalised))
    lengths = np.sqrt((user_from_coded**2).sum(axis=1))
    inverse = np.linalg.inv(user_from_coded / lengths[:, None]) / lengths
    penalised = np.array([not is_intercept(name) for name in names], dtype=np.bool_)
    return Scaling.of(_Maps(inverse, penalised))


@dataclass(frozen=True, eq=False)
class _Maps:
    coded_from_user: FloatMatrix
    penalised: BoolVector


@dataclass(frozen=True, eq=False)
class Coefficients:
    """One vector of coefficients."""

    coded: FloatVector  # (p,)
    estimates: FloatVector  # (p,), the user's coefficients
    selected: BoolVector  # (p,), which are not exactly zero
    strength: float | None  # of the penalty, sum units; None where nothing was penalised


def quadratic(contrasts: Contrasts, scaling: Scaling) -> tuple[FloatMatrix, FloatVector]:
    """``A`` and ``c`` of the released loss ``g'Ag/2 - c'g`` in the scaled coefficients g, (p, p) and (p,).

    Twice that loss is (z - H theta)' Omega^-1 (z - H theta) up to a constant; without noise it is the
    deviance around the maximum likelihood estimate. Omega is that of the posterior mean.
    """
    model = contrasts.model
    omega = model.omega if model.released.size > MOST_AT_OWN else model.omega_at(model.mean)
    return _weighted(contrasts, scaling, omega)


def family_loss(
    contrasts: Contrasts, scaling: Scaling, unit: float
) -> tuple[FloatMatrix, FloatVector, float]:
    """``A`` and ``c`` of the family's loss of the coded response, and its dispersion.

    That loss is what strengths speak of. Over the dispersion it is the one of `quadratic`, whose coefficients
    are ``unit`` times as large.
    """
    matrix, right = quadratic(contrasts, scaling)
    dispersion = contrasts.model.released.loss_dispersion
    return dispersion * matrix, dispersion / unit * right, dispersion / unit**2


def _weighted(contrasts: Contrasts, scaling: Scaling, omega: FloatMatrix) -> tuple[FloatMatrix, FloatVector]:
    """The quadratic loss with a given covariance."""
    model = contrasts.model
    design = model.design @ scaling.mixing
    weighted = np.linalg.solve(omega, np.column_stack([design, model.response]))
    matrix = design.T @ weighted[:, :-1]
    return 0.5 * (matrix + matrix.T), np.asarray(design.T @ weighted[:, -1])


def coefficients(
    contrasts: Contrasts,
    scaling: Scaling,
    penalty: Penalty,
    strength: float | None,
    *,
    size: float | None = None,
    unit: float = 1.0,
) -> Coefficients:
    """The fit's coefficients.

    Without a penalty: the estimate where it has a standard error, the model's compromise elsewhere. With "l2"
    and no strength: the compromise throughout. With any other penalty: the minimiser of the released
    loss plus the penalty, on the scale of ``scaling``. The strength is one of the family's loss of the coded
    response, in sum units; None chooses it by BIC along the path, where ``size`` is a public number of rows.
    ``contrasts`` are of the user's coefficients, in ``unit`` of the coded response.
    """
    if penalty.name == "none" or (penalty.name == "l2" and strength is None):
        estimates = contrasts.shrunk
        if penalty.name == "none":
            reported = np.array([decision.reported for decision in interval_decisions(contrasts)])
            estimates = np.where(reported, contrasts.estimates, estimates)
        coded = scaling.coded(scaling.from_user(estimates))
        return Coefficients(coded, estimates, np.ones(len(estimates), dtype=np.bool_), None)
    if strength is None:
        path, index = chosen_path(contrasts, scaling, penalty, size=size, unit=unit)
    else:
        matrix, right, _ = family_loss(contrasts, scaling, unit)
        path = sparse_path(matrix, right, penalty, scaling.penalised, strengths=np.array([strength]))
        index = 0
    return of_scaled(unit * path.coefficients[index], float(path.strengths[index]), scaling, contrasts)


def chosen_path(
    contrasts: Contrasts, scaling: Scaling, penalty: Penalty, *, size: float | None, unit: float
) -> tuple[QuadraticPath, int]:
    """The path of scaled coefficients of the coded response, and the index that BIC chooses on it."""
    matrix, right, dispersion = family_loss(contrasts, scaling, unit)
    path = sparse_path(matrix, right, penalty, scaling.penalised)
    judge = deviance_at_own(contrasts, scaling)
    index = selection.choose_bic(path, matrix, right, dispersion=dispersion, size=size, deviance=judge)
    return path, weakest(path, index)


def weakest(path: QuadraticPath, index: int) -> int:
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


def sparse_path(
    matrix: FloatMatrix,
    right: FloatVector,
    penalty: Penalty,
    penalised: BoolVector | None = None,
    *,
    strengths: FloatVector | None = None,
) -> QuadraticPath:
    r"""Minimise :math:`\frac12 g'Ag - c'g + P_s(g)` for each strength s.

    With :math:`A = M'H'\Omega^{-1}HM` and :math:`c = M'H'\Omega^{-1}z`, see `quadratic`, this is half the
    squared distance of the released linear model plus the penalty on its scaled coefficients.

    Parameters
    ----------
    matrix, right, penalised
        As in `minimise_quadratic_path`, with its errors.
    penalty : Penalty
        One that leaves its scale open (SCAD, MCP) gets the diagonal of A, after the unpenalised coefficients
        are minimised out.
    strengths : ndarray, shape (k,), or None
        Strengths >= 0 in sum units, in any order. None is 100 of them, equally far apart on the log scale,
        from the least at which no single coefficient leaves zero down to a thousandth of it; a penalty that
        never gives zero (ridge) starts at a thousand times the largest ``|c_j|`` and goes down to a
        thousandth of that largest one.

    Examples
    --------
    >>> from dpglm.glm.penalties.elastic_net import L1
    >>> path = sparse_path(np.eye(3), np.array([3.0, 1.0, 0.1]), L1(), strengths=np.array([2.0, 0.5]))
    >>> path.coefficients
    array([[1. , 0. , 0. ],
           [2.5, 0.5, 0. ]])
    >>> path.counts
    array([1, 2])
    """
    mask = np.ones(len(right), dtype=np.bool_) if penalised is None else np.asarray(penalised, dtype=np.bool_)
    reduced, pulled = quadratics.profiled(matrix, right, mask)
    scaled = penalty.with_scale(np.diagonal(reduced))
    grid = _grid(reduced, pulled, scaled) if strengths is None else strengths
    return quadratics.minimise_quadratic_path(matrix, right, scaled, grid, penalised=mask)


def _grid(matrix: FloatMatrix, right: FloatVector, penalty: Penalty) -> FloatVector:
    top, ratio = quadratics.strength_max(matrix, right, penalty), RATIO
    if math.isinf(top):
        top, ratio = float(np.abs(right).max()) / RATIO, RATIO**2
    if top == 0.0:  # zero is the solution whatever the strength
        top = 1.0
    grid = np.geomspace(top, ratio * top, STRENGTHS)
    grid[0] = top  # not a rounding below it
    return grid


def deviance_at_own(contrasts: Contrasts, scaling: Scaling) -> Callable[[BoolVector], float] | None:
    """Minus twice the log likelihood of a support, at its own estimate; None for many coefficients."""
    model = contrasts.model
    if model.released.size > MOST_AT_OWN:
        return None

    def deviance(support: BoolVector) -> float:
        coded = model.mean
        for _ in range(1 + SETTLING):
            omega = model.omega_at(coded)
            coded = scaling.coded(selection.refit(*_weighted(contrasts, scaling, omega), support))
        omega = model.omega_at(coded)
        left = model.response - model.design @ coded
        return float(np.linalg.slogdet(omega)[1] + left @ np.linalg.solve(omega, left))

    return deviance
