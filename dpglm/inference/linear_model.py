r"""The released linear model, ``z = H theta + e``, with the covariance of its error.

Inverting a noisy curvature costs coverage through one bilinear term, the noise of the curvature times the
error of the estimate. Here that term is part of the error, with a variance that follows from released and
declared numbers, and the curvature is used as a design matrix: it is never inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from dpglm.inference.cells import Cells
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.inference.shrinkage import shrink
from dpglm.typing import FloatMatrix, FloatVector

# Rounds in which the spread of t - theta and the covariance of the error settle.
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class LinearModel:
    r"""What the releases say about the coded coefficients theta, ready for generalised least squares.

    .. math:: z = score + \hat H t = \hat H \theta + e, \qquad Cov(e) = \Omega.

    Parameters
    ----------
    released : ScoreAndInformation
        Released and declared numbers.
    shrinkage : bool
        Whether cells of two factors are pulled towards independence first.
    gap : ndarray, shape (p, p), or None
        Mean of (t - theta)(t - theta)', where it is known beforehand; None finds it under the declared prior.

    Notes
    -----
    The error is ``-S - b + E(t - theta)``: sampling score, noise of the estimate, noise of the curvature. Its
    covariance is ``dispersion * H+ + score_scale^2 I + A'[V o D + diag(V diag D)]A``: H+ is H with
    eigenvalues floored at 0 (the only place where positivity is forced), A maps cells to coded columns, V
    holds the variances of the cells of H, D = A Delta A' and Delta is the mean of (t - theta)(t - theta)',
    found in a few rounds under the declared prior.
    """

    released: ScoreAndInformation
    shrinkage: bool = True
    gap: FloatMatrix | None = None

    def with_scales(self, released: ScoreAndInformation) -> LinearModel:
        """The model of the same release with other prior scales."""
        return self._like(LinearModel(released, self.shrinkage))

    def with_gap(self, gap: FloatMatrix) -> LinearModel:
        """The model with a mean of (t - theta)(t - theta)' that is known."""
        return self._like(LinearModel(self.released, self.shrinkage, gap))

    def _like(self, other: LinearModel) -> LinearModel:
        """``other`` with what does not depend on prior scales, found once."""
        shared = {"cells": self.cells, "_shrunk": self._shrunk, "sampling": self.sampling}
        other.__dict__.update(shared)
        return other

    @cached_property
    def cells(self) -> Cells:
        """Cells of the coded columns."""
        return Cells(self.released.term_columns)

    @cached_property
    def _shrunk(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Design and variances of its cells."""
        released, cells = self.released, self.cells
        variances = cells.variances(released.information_scale)
        if not self.shrinkage:
            return released.information, variances
        inside = cells.from_coded.T @ released.information @ cells.from_coded
        shrunk, variances = shrink(inside, variances, cells)
        coded = cells.to_coded.T @ shrunk @ cells.to_coded
        return 0.5 * (coded + coded.T), variances

    @property
    def design(self) -> FloatMatrix:
        """H after shrinkage, shape (p, p); symmetric, not always positive."""
        return self._shrunk[0]

    @property
    def cell_variances(self) -> FloatMatrix:
        """Variances of the cells of H after shrinkage, shape (m, m)."""
        return self._shrunk[1]

    @cached_property
    def response(self) -> FloatVector:
        """z, shape (p,)."""
        return self.released.score + self.design @ self.released.centre

    @cached_property
    def sampling(self) -> FloatMatrix:
        """Covariance of the sampling score, shape (p, p)."""
        values, vectors = eigh(self.design)
        positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(self.released.dispersion * positive)

    def curvature_noise(self, products: FloatMatrix) -> FloatMatrix:
        """Covariance of the curvature's noise times u, with ``products`` the mean of uu', shape (p, p)."""
        across = self.cells.to_coded
        inside = across @ products @ across.T
        middle = self.cell_variances * inside
        middle[np.diag_indices_from(middle)] += self.cell_variances @ np.diag(inside)
        return np.asarray(across.T @ middle @ across)

    @cached_property
    def _settled(self) -> tuple[FloatVector, FloatMatrix]:
        """Posterior mean of theta, and the mean of (t - theta)(t - theta)'."""
        released = self.released
        fixed = self.sampling + released.score_scale**2 * np.eye(released.size)
        precision = np.diag(1.0 / released.prior_variance)
        products = np.diag(np.minimum(released.prior_variance, released.initial_variance))
        if self.gap is not None:
            products = self.gap
        for _ in range(ROUNDS if self.gap is None else 1):
            weighted = positive_inverse(fixed + self.curvature_noise(products)) @ self.design
            covariance = positive_inverse(precision + self.design @ weighted)
            mean = covariance @ (weighted.T @ self.response)
            if self.gap is None:
                products = covariance + np.outer(released.centre - mean, released.centre - mean)
        return mean, products

    @property
    def mean(self) -> FloatVector:
        """Coefficients shrunk towards 0 by the declared prior, shape (p,)."""
        return self._settled[0]

    @property
    def products(self) -> FloatMatrix:
        """Mean of (t - theta)(t - theta)', shape (p, p)."""
        return self._settled[1]

    @cached_property
    def noise(self) -> FloatMatrix:
        """The part of ``omega`` that the noise of the curvature makes, shape (p, p)."""
        return self.curvature_noise(self.products)

    @cached_property
    def omega(self) -> FloatMatrix:
        """Covariance of the error e, shape (p, p)."""
        return self.sampling + self.released.score_scale**2 * np.eye(self.released.size) + self.noise


def positive_inverse(matrix: FloatMatrix) -> FloatMatrix:
    """The inverse of a positive definite matrix, shape (p, p); of its positive part where rounding spoils it.

    Examples
    --------
    >>> positive_inverse(np.diag([4.0, 0.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    symmetric = 0.5 * (matrix + matrix.T)
    try:
        return np.asarray(cho_solve(cho_factor(symmetric), np.eye(len(matrix))))
    except LinAlgError:
        values, vectors = eigh(symmetric)
        kept = values > np.finfo(np.float64).eps * len(values) * max(float(values[-1]), 0.0)
        return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
