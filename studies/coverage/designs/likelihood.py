"""Maximum likelihood without privacy on the user's own columns, with its standard errors."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.special import expit

from dpglm.typing import FloatMatrix, FloatVector

# Next to nothing beside any information of data; it keeps levels finite in which all responses are alike.
RIDGE = 1e-3
STEPS, TOLERANCE = 100, 1e-9


def maximum(
    X: FloatMatrix, y: FloatVector, family: str, start: FloatVector, *, ridge: float = RIDGE
) -> FloatVector:
    """The coefficients, shape (p,), by Newton's method with the canonical link of a family.

    Parameters
    ----------
    X : ndarray, shape (n, p)
    y : ndarray, shape (n,)
        Responses, or their means: the solution is then what responses are fitted to in the long run.
    family : str
        ``"binomial"``, ``"poisson"`` or ``"gaussian"``.
    start : ndarray, shape (p,)
    ridge : float
        Of every coefficient.
    """
    beta = np.array(start, dtype=np.float64)
    for _ in range(STEPS):
        predictor = X @ beta
        mean, weight = mean_and_weight(predictor, family)
        gradient = X.T @ (y - mean) - ridge * beta
        hessian = X.T @ (weight[:, None] * X) + ridge * np.eye(len(beta))
        step = scipy.linalg.solve(hessian, gradient, assume_a="sym")
        gain = float(gradient @ step)
        if gain < TOLERANCE:
            return beta + step
        # A step that would not move any predictor by more than 3 keeps Newton's method in its region.
        beta = beta + step * min(1.0, 3.0 / float(np.abs(X @ step).max()))
    raise ArithmeticError("maximum likelihood did not converge")


def standard_errors(X: FloatMatrix, y: FloatVector, family: str, beta: FloatVector) -> FloatVector:
    """Square roots of the diagonal of the inverse information at ``beta``, shape (p,).

    Of a linear regression the variance of the residuals at ``beta`` is in it.
    """
    mean, weight = mean_and_weight(X @ beta, family)
    information = X.T @ (weight[:, None] * X) + RIDGE * np.eye(len(beta))
    variance = float(np.mean((y - mean) ** 2)) if family == "gaussian" else 1.0
    return np.asarray(np.sqrt(variance * np.diag(scipy.linalg.pinvh(information))))


def mean_and_weight(predictor: FloatVector, family: str) -> tuple[FloatVector, FloatVector]:
    """Means and their derivatives by the predictor, shape (n,) each."""
    if family == "binomial":
        rate = expit(predictor)
        return rate, rate * (1.0 - rate)
    if family == "poisson":
        mean = np.exp(np.minimum(predictor, 30.0))
        return mean, mean
    return predictor, np.ones_like(predictor)
