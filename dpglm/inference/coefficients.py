"""Coefficients from the released linear model, of any penalty or none, at no cost in privacy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.glm.penalties.base import Penalty
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.path import SparsePath, choose_bic, sparse_path
from dpglm.inference.scaling import Scaling
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


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
    return at(path, index, scaling, contrasts)


def weakest(path: SparsePath, index: int) -> int:
    """The weakest strength with the same support, from ``index`` on along the path: it shrinks least."""
    support = path.coefficients[index] != 0.0
    while index + 1 < len(path.strengths) and np.array_equal(path.coefficients[index + 1] != 0.0, support):
        index += 1
    return index


def at(path: SparsePath, index: int, scaling: Scaling, contrasts: Contrasts) -> Coefficients:
    """The coefficients at one strength of a path in the scaled coefficients."""
    return of_scaled(path.coefficients[index], float(path.strengths[index]), scaling, contrasts)


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
