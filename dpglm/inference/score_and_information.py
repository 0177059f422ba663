"""Score and information: the released numbers of one fit, with the public constants of their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.glm.term_columns import TermColumns
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class ScoreAndInformation:
    r"""A noisy score and a noisy information matrix: together a linear model of the coefficients.

    With H the information matrix (minus the Hessian of the log-likelihood) and theta the true coded
    coefficients, stationarity of a perturbed minimiser t says

    .. math:: score + \tilde H t = \tilde H \theta + e.

    The normal equations of a linear regression say the same with t = 0. The error e holds the sampling score,
    the noise of the estimate, and the noise E of the information matrix times t - theta.

    Parameters
    ----------
    term_columns : tuple of TermColumns
        The coded columns, term by term.
    centre : ndarray, shape (p,)
        t, where the information matrix was taken; zeros for a moment release.
    score : ndarray, shape (p,)
        ridge * t for a perturbed minimiser; the released X'y for a moment release.
    information : ndarray, shape (p, p)
        As released, symmetric; it may have negative eigenvalues.
    score_scale : float
        Standard deviation of the noise on each coordinate of the score.
    information_scale : float
        Standard deviation of the noise on each diagonal entry of the information matrix; off the diagonal its
        square is half.
    dispersion : float
        Variance of the score per unit of information: 1 for binomial and Poisson, sigma^2 for gaussian.
    initial_variance : ndarray, shape (p,)
        Variances of t - theta from which iteration starts.
    third_derivative_bound : float
        Largest relative change of a row's weight in H per unit of its linear predictor, >= 0: 1 for binomial
        and Poisson, 0 for gaussian.
    origin : ndarray, shape (p,), or None
        Known part of the coefficients, which theta leaves out: the middle of a response's bounds, taken up by
        the intercept. None is zeros.
    """

    term_columns: tuple[TermColumns, ...]
    centre: FloatVector
    score: FloatVector
    information: FloatMatrix
    score_scale: float
    information_scale: float
    dispersion: float
    initial_variance: FloatVector
    third_derivative_bound: float
    origin: FloatVector | None = None

    @property
    def size(self) -> int:
        """Number of coefficients p."""
        return len(self.centre)

    @property
    def prior_variance(self) -> FloatVector:
        """Declared prior variances of the coded coefficients, shape (p,)."""
        return np.concatenate([term.prior**2 for term in self.term_columns])

    def known(self, rows: FloatMatrix) -> FloatVector:
        """What ``origin`` adds to linear functions of the coefficients, shape (k,)."""
        return np.zeros(len(rows)) if self.origin is None else np.asarray(rows @ self.origin)
