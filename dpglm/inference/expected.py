"""Expected information and precision: what a fit releases on average, from declared numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dpglm.glm.term_columns import TermColumns
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.typing import FloatMatrix, FloatVector

# Share of the largest squared norm that a column without declared shares is expected to reach: that of a
# uniform variable.
UNIFORM = 1.0 / 3.0


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
    term_columns : sequence of TermColumns
        The coded columns.
    weight : float
        Sum of the rows' weights: n q (1 - q) for a binomial response of which a share q is 1.
    shares : mapping of str to ndarray
        Declared shares of levels by label of the term; uniform where nothing is declared. Slopes are uniform
        on their declared range.
    narrow : float
        Variance of slopes in units of that.

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
    ridge: FloatVector,
    score_scale: float,
    information_scale: float,
    dispersion: float = 1.0,
    third_derivative_bound: float = 1.0,
) -> LinearModel:
    """The linear model that a fit with these constants releases on average, at coefficients of zero.

    Its standard errors are those to expect; its estimates mean nothing.

    Parameters
    ----------
    term_columns, ridge, score_scale, information_scale, dispersion, third_derivative_bound
        As in `ScoreAndInformation`; ``ridge`` has shape (p,).
    information : ndarray, shape (p, p)
        From `expected_information`.
    """
    prior = np.concatenate([term.prior**2 for term in term_columns])
    inverse = np.linalg.inv(information + np.diag(ridge))
    middle = dispersion * information + np.diag(score_scale**2 + ridge**2 * prior)
    return expected_equations(
        term_columns,
        information,
        products=inverse @ middle @ inverse,
        score_scale=score_scale,
        information_scale=information_scale,
        dispersion=dispersion,
        third_derivative_bound=third_derivative_bound,
    )


def expected_equations(
    term_columns: tuple[TermColumns, ...],
    information: FloatMatrix,
    *,
    products: FloatMatrix,
    score_scale: float,
    information_scale: float,
    dispersion: float,
    third_derivative_bound: float = 0.0,
) -> LinearModel:
    """As `expected_model`, for any way to a score and an information matrix.

    Parameters
    ----------
    products : ndarray, shape (p, p)
        Mean of (t - theta)(t - theta)'; of theta theta' for normal equations, where t is 0.
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


def estimate_parts(
    information: FloatMatrix, rows: FloatMatrix, *, ridge: FloatVector, score_scale: float
) -> FloatMatrix:
    """Expected variance of ``rows @ t`` by source where no information matrix is released, shape (k, 4).

    Sampling and noise of the estimate; the other two are 0. What the ridge shrinks is not in it.
    """
    weights = np.linalg.solve(information + np.diag(ridge), rows.T)
    sampling = np.einsum("ij,ij->j", weights, information @ weights)
    noise = score_scale**2 * (weights**2).sum(axis=0)
    return np.column_stack([sampling, noise, 0.0 * noise, 0.0 * noise])


def classical_deviations(information: FloatMatrix, rows: FloatMatrix, dispersion: float = 1.0) -> FloatVector:
    """Standard errors of a fit without privacy, shape (k,); infinite where nothing determines a function."""
    values, vectors = np.linalg.eigh(information)
    along = rows @ vectors
    determined = values > np.finfo(np.float64).eps * len(values) * max(float(values[-1]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(along == 0.0, 0.0, along**2 / np.where(determined, values, 0.0))
    return np.asarray(np.sqrt(dispersion * terms.sum(axis=1)))
