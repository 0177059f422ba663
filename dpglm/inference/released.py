"""What the private releases of one fit gave, with the public constants they were drawn with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.glm.term_columns import TermColumns
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class Released:
    r"""A noisy score and a noisy curvature: together a linear model of the coefficients.

    With H the curvature and theta the true coded coefficients, stationarity of a perturbed minimiser t (or
    the normal equations of a linear regression, with t = 0) says

    .. math:: score + \tilde H t = \tilde H \theta + e,

    where the error e holds the sampling score, the noise of the estimate, and the noise E of the curvature
    times t - theta. Everything downstream needs only these numbers.

    Parameters
    ----------
    term_columns : tuple of TermColumns
        The coded columns, term by term.
    centre : ndarray, shape (p,)
        t, where the curvature was taken; zeros for a moment release.
    score : ndarray, shape (p,)
        ridge * t for a perturbed minimiser; the released X'y for a moment release.
    curvature : ndarray, shape (p, p)
        As released, symmetric; it may have negative eigenvalues.
    score_scale : float
        Standard deviation of the noise on each coordinate of the score.
    information_scale : float
        Standard deviation of the noise on each diagonal entry of the curvature; off the diagonal its square
        is half.
    dispersion : float
        Variance of the score per unit of curvature: 1 for binomial and Poisson, sigma^2 for gaussian.
    spread : ndarray, shape (p,)
        Variances of t - theta from which iteration starts.
    third_derivative_bound : float
        Bound on the curvature's rate of change along a linear predictor, as a share of the curvature, >= 0: 1
        for binomial and Poisson, 0 for gaussian.
    origin : ndarray, shape (p,), or None
        Known part of the coefficients, which theta leaves out: the middle of a response's bounds, taken up by
        the intercept. None is zeros.
    """

    term_columns: tuple[TermColumns, ...]
    centre: FloatVector
    score: FloatVector
    curvature: FloatMatrix
    score_scale: float
    information_scale: float
    dispersion: float
    spread: FloatVector
    third_derivative_bound: float
    origin: FloatVector | None = None

    @property
    def size(self) -> int:
        """Number of coefficients p."""
        return len(self.centre)

    @property
    def prior_variance(self) -> FloatVector:
        """Declared prior variances of the coded coefficients, shape (p,)."""
        return np.concatenate([block.prior**2 for block in self.term_columns])

    def known(self, rows: FloatMatrix) -> FloatVector:
        """What ``origin`` adds to linear functions of the coefficients, shape (k,)."""
        return np.zeros(len(rows)) if self.origin is None else np.asarray(rows @ self.origin)
