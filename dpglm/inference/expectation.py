"""Expected information and precision: what a method releases on average, from declared numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Self

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts, IntervalDecision, interval_decisions
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


@dataclass(frozen=True, eq=False)
class LikelyFits:
    """Fits of the same rows that differ in the noise of their information, which makes them tell less."""

    models: tuple[LinearModel, ...]  # an odd number
    rows: FloatMatrix  # (k, p), functions of the coded coefficients

    @classmethod
    def of(cls, found: Contrasts, noises: Iterable[FloatMatrix]) -> Self:
        """From a fit without noise in its information, and noise of deviation 1 on the diagonal, (p, p)."""
        released, gap = found.model.released, found.model.gap
        matrices = (released.information + released.information_scale * noise for noise in noises)
        models = (LinearModel(replace(released, information=matrix), gap) for matrix in matrices)
        return cls(tuple(models), found.rows)

    @cached_property
    def _contrasts(self) -> tuple[Contrasts, ...]:
        return tuple(Contrasts(model, self.rows) for model in self.models)

    @cached_property
    def parts(self) -> FloatMatrix:
        """As `Contrasts.parts`, on average, shape (k, 4)."""
        return np.asarray(np.mean([each.parts for each in self._contrasts], axis=0))

    @property
    def deviations(self) -> FloatVector:
        """Standard errors to expect, shape (k,)."""
        return np.asarray(np.sqrt(self.parts.sum(axis=1)))

    @cached_property
    def decisions(self) -> tuple[IntervalDecision, ...]:
        """Whether most fits have a standard error of each function, and the factor in the middle."""
        found = zip(*map(interval_decisions, self._contrasts), strict=True)
        return tuple(sorted(each, key=attrgetter("factor"))[len(each) // 2] for each in found)


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
    term_columns: Sequence[TermColumns], weight: float, *, narrow: float = 1.0
) -> FloatMatrix:
    """Sum of weighted x x' over rows of independent terms with even levels, shape (p, p).

    ``weight`` is the sum of the rows' weights: n q (1 - q) for a binomial response of which a share q is 1.
    ``narrow`` is the variance of slopes in units of a uniform one on the declared range.

    Examples
    --------
    >>> term = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.array([10.0]))
    >>> expected_information([term], 100.0)
    array([[25.]])
    """
    means, own = [np.zeros(0)], []
    for term in term_columns:
        width, even = term.stop - term.start, term.kind in ("intercept", "levels")
        means.append(term.table.mean(axis=0) if even else np.zeros(width))
        if even:
            own.append(term.table.T @ term.table / len(term.table))
        elif term.kind == "slope":
            own.append(term.table**2 * narrow / 12.0)
        else:
            own.append(np.eye(width) * term.bound * UNIFORM / width)
    total = np.outer(mean := np.concatenate(means), mean)
    for term, inside in zip(term_columns, own, strict=True):
        total[term.columns, term.columns] = inside
    return np.asarray(weight * total)


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


def at_level(term_columns: Iterable[TermColumns], predictor: float) -> tuple[TermColumns, ...]:
    """The terms where the root mean square of predictors is known: it is the prior scale of the constant."""
    return tuple(
        replace(term, prior=predictor / abs(term.table[0])) if term.kind == "intercept" else term
        for term in term_columns
    )


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
    explained: float,
) -> FloatMatrix:
    """Mean of (t - theta)(t - theta)', shape (p, p), of the most probable t by noisy normal equations.

    All of theta multiplies the noise of their matrix: effects whose predictors have this sum of squares,
    ``explained``. The mean is half way, as in a fit, between those of prior scales and of such effects.

    Examples
    --------
    >>> term = TermColumns("x", "slope", 0, 1, 0.25, np.array([[1.0]]), np.array([2.0]))
    >>> products_of_regression((term,), np.array([[4.0]]), 0.0, 0.0, 1.0, 16.0).round(2)
    array([[0.24]])
    """
    prior = np.concatenate([term.prior**2 for term in term_columns])
    effects = np.concatenate([np.full(len(term.prior), term.kind != "intercept") for term in term_columns])
    allowed = max(float(prior[effects] @ np.diag(information)[effects]), np.finfo(np.float64).tiny)
    likely = np.where(effects, explained / allowed, 1.0) * prior
    model = expected_model(
        term_columns,
        information,
        products=np.diag(likely),
        score_scale=score_scale,
        information_scale=information_scale,
        dispersion=dispersion,
        third_derivative_bound=0.0,
    )
    known = model.design @ positive_inverse(model.omega) @ model.design
    both = [positive_inverse(np.diag(1.0 / each) + known) for each in (prior, likely)]
    return np.asarray(0.5 * (both[0] + both[1]))


def classical_deviations(information: FloatMatrix, rows: FloatMatrix, dispersion: float = 1.0) -> FloatVector:
    """Standard errors of a fit without privacy, shape (k,); infinite where nothing determines a function."""
    values, vectors = np.linalg.eigh(information)
    along = rows @ vectors
    determined = values > np.finfo(np.float64).eps * len(values) * max(float(values[-1]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(along == 0.0, 0.0, along**2 / np.where(determined, values, 0.0))
    return np.asarray(np.sqrt(dispersion * terms.sum(axis=1)))
