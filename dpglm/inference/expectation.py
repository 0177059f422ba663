"""Expected information and precision: what a method releases on average, from declared numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.linear_model import LinearModel, positive_inverse
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.typing import FloatMatrix, FloatVector

# Share of the largest squared norm that a column without declared shares is expected to reach: that of a
# uniform variable.
UNIFORM = 1.0 / 3.0
# Variance of a number whose declared range is six standard deviations wide, in units of a uniform one.
NARROW = 12.0 / 36.0
# Keeps singular information invertible: a column that never varies has infinite noise, as it should.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """Coded rows as declared."""

    n: float  # expected number of rows
    moments: FloatMatrix  # mean of x x', shape (p, p)
    information: FloatMatrix  # expected Fisher information: the sum of weights times x x', shape (p, p)
    dispersion: float  # variance of a row's score per unit of its information
    response_mean: float  # of the coded response
    response_variance: float
    overdispersion: float  # variance of a count per unit of its mean, as declared
    explained: float  # share of the response's variance that is left out of the overdispersion
    correlated: bool = False  # whether it is known how all columns overlap


@dataclass(frozen=True, eq=False)
class EstimateNoise:
    """Covariances of the coded coefficients of an estimate that comes without intervals, shape (p, p)."""

    sampling: FloatMatrix  # from the rows
    noise: FloatMatrix  # from the noise of the releases

    def parts(self, rows: FloatMatrix) -> FloatMatrix:
        """Variances of linear functions by source, shape (k, 4): sampling, noise, and twice nothing."""
        sampling = np.einsum("ij,jk,ik->i", rows, self.sampling, rows)
        noise = np.einsum("ij,jk,ik->i", rows, self.noise, rows)
        return np.column_stack([sampling, noise, 0.0 * noise, 0.0 * noise])

    def mapped(self, matrix: FloatMatrix) -> EstimateNoise:
        """The same for coefficients of other rows, of which these are ``matrix`` times; shape (p, q)."""
        return EstimateNoise(matrix.T @ self.sampling @ matrix, matrix.T @ self.noise @ matrix)

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


def expected_information(
    term_columns: Sequence[TermColumns],
    weight: float,
    *,
    shares: Mapping[str, FloatVector] = MappingProxyType({}),
    narrow: float = 1.0,
) -> FloatMatrix:
    """Sum of weighted x x' over rows of independent terms, shape (p, p).

    Parameters
    ----------
    weight : float
        Sum of the rows' weights: n q (1 - q) for a binomial response of which a share q is 1.
    shares : mapping of str to ndarray
        Declared shares of levels by label of the term; uniform where nothing is declared.
    narrow : float
        Variance of slopes in units of a uniform one on the declared range.

    Examples
    --------
    >>> term = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.array([10.0]))
    >>> expected_information([term], 100.0)
    array([[25.]])
    """
    size = term_columns[-1].stop if term_columns else 0
    means, second = np.zeros(size), np.zeros((size, size))
    for term in term_columns:
        width = term.stop - term.start
        if term.kind == "intercept":
            means[term.columns] = term.table[0]
            second[term.columns, term.columns] = term.table**2
        elif term.kind == "slope":
            second[term.columns, term.columns] = term.table**2 * narrow / 12.0
        elif term.kind == "levels":
            share = shares.get(term.label, np.full(len(term.table), 1.0 / len(term.table)))
            means[term.columns] = share @ term.table
            second[term.columns, term.columns] = (term.table.T * share) @ term.table
        else:
            second[term.columns, term.columns] = np.eye(width) * term.bound * UNIFORM / width
    total = np.outer(means, means)
    for term in term_columns:
        total[term.columns, term.columns] = second[term.columns, term.columns]
    return weight * total


def expected_model(
    term_columns: tuple[TermColumns, ...],
    information: FloatMatrix,
    *,
    products: FloatMatrix,
    score_scale: float,
    information_scale: float,
    dispersion: float = 1.0,
    third_derivative_bound: float = 1.0,
) -> LinearModel:
    """The linear model that a fit with these constants releases on average, at coefficients of zero.

    Its standard errors are those to expect; its estimates mean nothing. ``information`` is that of
    `expected_information`; ``products`` is the mean of (t - theta)(t - theta)', see `products_of_minimiser`,
    or of theta theta' for normal equations, where t is 0. The rest is as in `ScoreAndInformation`.
    """
    zero = np.zeros(len(information))
    released = ScoreAndInformation(
        term_columns=term_columns,
        centre=zero,
        score=zero,
        information=information,
        score_scale=score_scale,
        information_scale=information_scale,
        dispersion=dispersion,
        initial_variance=np.diag(products),
        third_derivative_bound=third_derivative_bound,
    )
    return LinearModel(released, gap=products)


def products_of_minimiser(
    term_columns: Sequence[TermColumns],
    information: FloatMatrix,
    ridge: FloatVector,
    score_scale: float,
    dispersion: float = 1.0,
) -> FloatMatrix:
    """Mean of (t - theta)(t - theta)', shape (p, p), of a perturbed minimiser t with a diagonal ridge."""
    prior = np.concatenate([term.prior**2 for term in term_columns])
    inverse = np.linalg.inv(information + np.diag(ridge))
    middle = dispersion * information + np.diag(score_scale**2 + ridge**2 * prior)
    return np.asarray(inverse @ middle @ inverse)


def products_of_regression(
    term_columns: tuple[TermColumns, ...],
    information: FloatMatrix,
    score_scale: float,
    information_scale: float,
    dispersion: float,
) -> FloatMatrix:
    """Mean of (t - theta)(t - theta)', shape (p, p), of the most probable t by noisy normal equations.

    All of theta multiplies the noise of their matrix, as far as priors allow.

    Examples
    --------
    >>> term = TermColumns("x", "slope", 0, 1, 0.25, np.array([[1.0]]), np.array([2.0]))
    >>> products_of_regression((term,), np.array([[4.0]]), 0.0, 0.0, 1.0).round(2)
    array([[0.24]])
    """
    prior = np.concatenate([term.prior**2 for term in term_columns])
    model = expected_model(
        term_columns,
        information,
        products=np.diag(prior),
        score_scale=score_scale,
        information_scale=information_scale,
        dispersion=dispersion,
        third_derivative_bound=0.0,
    )
    known = model.design @ positive_inverse(model.omega) @ model.design
    return positive_inverse(np.diag(1.0 / prior) + known)


def classical_deviations(information: FloatMatrix, rows: FloatMatrix, dispersion: float = 1.0) -> FloatVector:
    """Standard errors of a fit without privacy, shape (k,); infinite where nothing determines a function."""
    values, vectors = np.linalg.eigh(information)
    along = rows @ vectors
    determined = values > np.finfo(np.float64).eps * len(values) * max(float(values[-1]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(along == 0.0, 0.0, along**2 / np.where(determined, values, 0.0))
    return np.asarray(np.sqrt(dispersion * terms.sum(axis=1)))
