"""Expected precision: what a method would find on rows as they are declared; nothing is spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector

# Keeps singular information invertible: a column that never varies has infinite noise, as it should.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """Coded rows as declared.

    Parameters
    ----------
    n : float
        Expected number of rows.
    moments : ndarray, shape (p, p)
        Mean of x x'.
    information : ndarray, shape (p, p)
        Expected Fisher information: the sum of weights times x x'.
    dispersion : float
        Variance of a row's score per unit of its information.
    response_mean, response_variance : float
        Of the coded response.
    """

    n: float
    moments: FloatMatrix
    information: FloatMatrix
    dispersion: float
    response_mean: float
    response_variance: float


@dataclass(frozen=True, eq=False)
class EstimateNoise:
    """Covariances of the coded coefficients of an estimate that comes without intervals.

    Parameters
    ----------
    sampling : ndarray, shape (p, p)
        From the rows.
    noise : ndarray, shape (p, p)
        From the noise of the releases.
    """

    sampling: FloatMatrix
    noise: FloatMatrix

    def parts(self, rows: FloatMatrix) -> FloatMatrix:
        """Variances of linear functions by source, shape (k, 4): sampling, noise, and twice nothing."""
        sampling = np.einsum("ij,jk,ik->i", rows, self.sampling, rows)
        noise = np.einsum("ij,jk,ik->i", rows, self.noise, rows)
        return np.column_stack([sampling, noise, 0.0 * noise, 0.0 * noise])

    def scaled(self, factor: float) -> EstimateNoise:
        """The same for an estimate that is ``factor`` times as large."""
        return EstimateNoise(factor**2 * self.sampling, factor**2 * self.noise)


def noise_of_minimiser(
    information: FloatMatrix, ridge: float | FloatVector, deviation: float, dispersion: float = 1.0
) -> EstimateNoise:
    """Of the solution of a score equation with noise of this standard deviation in each coordinate.

    What the ridge shrinks is not in it.

    Examples
    --------
    >>> found = noise_of_minimiser(np.array([[4.0]]), 1.0, 5.0)
    >>> found.parts(np.eye(1)).round(2).tolist()
    [[0.16, 1.0, 0.0, 0.0]]
    """
    size = len(information)
    least = _LEAST * max(float(np.trace(information)) / max(size, 1), np.finfo(np.float64).tiny)
    diagonal = np.broadcast_to(np.asarray(ridge, dtype=np.float64), (size,)) + least
    inverse = np.linalg.inv(information + np.diag(diagonal))
    return EstimateNoise(dispersion * inverse @ information @ inverse, deviation**2 * inverse @ inverse)
