"""Generalised least squares: estimates, standard errors, intervals and Wald tests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtr

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.linear_model import LEAST_ALONE, LinearModel, positive_inverse
from dpglm.typing import FloatMatrix, FloatVector


class Limits(NamedTuple):
    """When a coefficient has a standard error.

    The information says so many times as much about it as noise alone would; its standard error is at most
    this share of its prior scale and, beside what linearity leaves out, `WIDEST` of that before it grew; and
    the other coefficients, of which only the prior is known, make no more than this share of its variance.
    """

    signal: float
    share_of_scale: float
    adjustment: float


# Of linear regression, whose first point is drawn by priors itself, so that nothing shows that they are too
# tight; and of models with a curvature. What they were set on is in ``docs/methods.md``.
LINEAR, CURVED = Limits(8.0, 0.5, 0.35), Limits(3.0, 0.6, 0.7)
WIDEST: Final = 2.0
# Below it, information in units of the noise says nothing of how much more would be enough.
LEAST_FACTOR: Final = 0.1


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Generalised least squares for k linear functions ``rows @ theta``, each with a flat prior on itself.

    Whatever is orthogonal to a function in the declared prior is random with that prior: no nuisance is
    inverted away, and the function of interest is never shrunk.

    Notes
    -----
    With T the prior covariance, u = Tc / c'Tc, h = Hu and K = Omega + HTH without the sampling covariance:
    weights m = K^-1 h / h'K^-1 h, estimate m'z, variance m'(Omega + HTH)m - c'Tc. Without noise, K^-1 h is
    that of least squares whatever T: the sampling covariance is left out of K so that the estimate then is
    the one without a prior, which makes no difference worth naming where there is noise. T has what numbers
    have in common, see `LinearModel.common`; prior scales that errors are compared with have not.

    The model is linear at t: its variances have a second-order term, see `linearisation_errors`, which is
    counted in the part of the information matrix.
    """

    model: LinearModel
    rows: FloatMatrix  # (k, p), functions of the coded coefficients

    @cached_property
    def prior(self) -> FloatVector:
        """Declared prior variance c'Tc of each function, shape (k,)."""
        return np.asarray((self.rows**2) @ self.model.released.prior_variance)

    @cached_property
    def _units(self) -> FloatMatrix:
        """u of each function, shape (p, k)."""
        return self.model.prior_times(self.rows).T / self._whole_prior

    @cached_property
    def _whole_prior(self) -> FloatVector:
        """`prior` with that of `LinearModel.common`, shape (k,)."""
        return np.asarray((self.model.prior_times(self.rows) * self.rows).sum(axis=1))

    def _left_out(self, variances: FloatVector) -> FloatVector:
        """`linearisation_errors`, by declared priors, shape (k,)."""
        units = (self.rows * self.model.released.prior_variance).T / self.prior
        return linearisation_errors(self.model, units, variances)

    @cached_property
    def weights(self) -> FloatMatrix:
        """m of each function, shape (p, k): estimates are ``weights.T @ z``."""
        if self.model.released.exact:  # the same without squaring the condition of the information matrix
            return positive_inverse(self.model.design) @ self.rows.T
        directions = self.model.design @ self._units
        solved = inverse_total(self.model, sampling=False) @ directions
        return np.asarray(solved / np.einsum("ij,ij->j", directions, solved))

    @cached_property
    def estimates(self) -> FloatVector:
        """Unbiased by shrinkage, shape (k,)."""
        return self.weights.T @ self.model.response + self.model.released.known(self.rows)

    @cached_property
    def shrunk(self) -> FloatVector:
        """The model's compromise, shape (k,): for coefficients without a standard error."""
        return np.asarray(self.rows @ self.model.compromise) + self.model.released.known(self.rows)

    @cached_property
    def parts(self) -> FloatMatrix:
        """Variance by source, shape (k, 4), >= 0.

        Sampling, noise of the estimate, noise and change of the information matrix, adjustment for the other
        coefficients.
        """
        parts = self.first_order.copy()
        private = parts[:, 1:].sum(axis=1)
        parts[:, 2] += self._left_out(private) * private
        return parts

    @cached_property
    def first_order(self) -> FloatMatrix:
        """`parts` of the linear model itself, shape (k, 4): the information matrix stays as it is at t."""
        model, weights = self.model, self.weights
        fitted = model.design @ weights
        if model.released.exact:
            sampling = np.einsum("ij,ij->j", weights, model.sampling @ weights)
            return np.column_stack([sampling, np.zeros((len(sampling), 3))])
        return np.column_stack(
            [
                np.einsum("ij,ij->j", weights, model.sampling @ weights),
                model.score_variances(weights),
                np.einsum("ij,ij->j", weights, model.noise @ weights),
                np.maximum((model.prior_times(fitted.T) * fitted.T).sum(axis=1) - self._whole_prior, 0.0),
            ]
        )

    @cached_property
    def variances(self) -> FloatVector:
        """Variance of each estimate, shape (k,)."""
        return np.asarray(self.parts.sum(axis=1))

    @cached_property
    def linear_variances(self) -> FloatVector:
        """Variance of each estimate in the linear model itself, shape (k,)."""
        return np.asarray(self.first_order.sum(axis=1))

    @property
    def deviations(self) -> FloatVector:
        """Standard error of each estimate, shape (k,)."""
        return np.sqrt(self.variances)

    @cached_property
    def covariance(self) -> FloatMatrix:
        """Covariance of the estimates, shape (k, k); its diagonal is `variances`."""
        if self.model.released.exact:
            return np.asarray(self.weights.T @ self.model.sampling @ self.weights)
        linear, private = covariance_of(self.model, self.rows, self.weights)
        share = np.sqrt(self._left_out(np.diag(private)))
        return linear + np.outer(share, share) * private

    @cached_property
    def noise_information(self) -> FloatVector:
        """Information about each function that pure noise in the matrix would show, shape (k,)."""
        inverse = inverse_total(self.model)
        directions = self.model.design @ self._units
        solved = inverse @ directions
        information = np.einsum("ij,ij->j", directions, solved)
        # Without the function's own prior, by Sherman and Morrison.
        factor = self._whole_prior / np.maximum(1.0 - self._whole_prior * information, 1e-12)
        return self.model.noise_information(self._units, inverse, solved, factor)

    @cached_property
    def signal(self) -> FloatVector:
        """Information about each function in units of what noise alone would show, shape (k,)."""
        if self.model.released.exact:
            return np.full(len(self.rows), np.inf)
        with np.errstate(over="ignore"):  # of ranges beyond 10^60
            return 1.0 / (self.linear_variances * self.noise_information)


def inverse_total(model: LinearModel, *, sampling: bool = True) -> FloatMatrix:
    """The inverse of Omega + H T H, with or without the sampling covariance in Omega, shape (p, p)."""
    total = model.omega + model.prior_times(model.design) @ model.design
    if not sampling:
        total = total - model.sampling
    return positive_inverse(total)


def covariance_of(
    model: LinearModel, rows: FloatMatrix, weights: FloatMatrix
) -> tuple[FloatMatrix, FloatMatrix]:
    """Covariance of ``weights.T @ z`` about ``rows @ theta``, and without sampling; shapes (k, k)."""
    left = weights.T @ model.design - rows
    linear = weights.T @ model.omega @ weights + model.prior_times(left) @ left.T
    return np.asarray(linear), np.asarray(linear - weights.T @ model.sampling @ weights)


def wald(
    model: LinearModel, rows: FloatMatrix, values: FloatVector, short: float = 0.0
) -> tuple[float, float]:
    """Statistic and p-value of ``rows @ theta = values``, by Wald; independent rows, shape (k, p).

    In a model with a curvature the step from t to the estimates may be too short by the share ``short`` of
    it where it leads away from 0: the distance is that of the nearest point on the way.
    """
    if model.released.exact:
        solved = positive_inverse(model.design) @ rows.T
        distance = solved.T @ model.response + model.released.known(rows) - values
        statistic = float(distance @ np.linalg.solve(model.released.dispersion * (rows @ solved), distance))
        return statistic, float(gammaincc(len(values) / 2.0, statistic / 2.0))
    prior = model.released.prior_variance
    units = np.linalg.solve((rows * prior) @ rows.T, rows * prior).T
    whole = model.prior_times(rows)
    directions = model.design @ np.linalg.solve(whole @ rows.T, whole).T
    solved = inverse_total(model, sampling=False) @ directions
    information = directions.T @ solved
    weights = np.linalg.solve(0.5 * (information + information.T), solved.T).T
    covariance, private = covariance_of(model, rows, np.asarray(weights))
    covariance = covariance + linearisation_covariance(model, rows, np.asarray(units), private)
    covariance = 0.5 * (covariance + covariance.T)
    estimates = weights.T @ model.response + model.released.known(rows)
    distance, step = estimates - values, weights.T @ model.response - rows @ model.released.centre
    along = np.linalg.solve(covariance, step)
    if model.released.third_derivative_bound and along @ estimates > 0.0:
        distance = distance - np.clip((along @ distance) / (along @ step), -short, 0.0) * step
    statistic = float(distance @ np.linalg.solve(covariance, distance))
    return statistic, float(gammaincc(len(values) / 2.0, statistic / 2.0))


@dataclass(frozen=True)
class IntervalDecision:
    """Whether a coefficient has a standard error, a test and an interval that rests on them, and why not."""

    reported: bool  # True if all tests hold
    reason: str = ""  # the first test that fails, in words
    factor: float = 1.0  # by how much the rows, or epsilon, would have to grow for that test to hold


def interval_decisions(contrasts: Contrasts) -> tuple[IntervalDecision, ...]:
    """A decision for each function; from released and declared numbers only.

    Standard errors, but against `WIDEST`, are those of the linear model itself. The factor treats them as
    falling like 1 / (n epsilon), which they do where noise dominates. Nothing is reported beside a number
    that masks others, see `LinearModel.masking`, or of sites that are not clear, see `PooledModel.clarity`.
    """
    if contrasts.model.released.exact:
        return (IntervalDecision(True),) * len(contrasts.rows)
    model = contrasts.model
    limits = CURVED if model.released.third_derivative_bound else LINEAR
    deviations = np.sqrt(contrasts.linear_variances / contrasts.prior) / limits.share_of_scale
    widest = contrasts.deviations / (WIDEST * np.sqrt((contrasts.rows**2) @ model.usual_variance))
    share = contrasts.first_order[:, 3] / contrasts.linear_variances
    alike = np.ones_like(share)
    masked = ((one.label, LEAST_ALONE / max(one.alone, LEAST_FACTOR)) for one in model.masking)
    with np.errstate(divide="ignore"):
        tests = (
            ("noise hides its variation", np.sqrt(limits.signal / contrasts.signal)),
            ("too wide against the declared scale", np.maximum(deviations, widest)),
            ("cannot be told from the other terms", np.sqrt(share / limits.adjustment)),
            ("noise hides the information of single sites", alike / max(model.clarity, LEAST_FACTOR)),
            *((f"noise hides how much {label} varies", alike * times) for label, times in masked),
        )
    decisions = []
    for j in range(len(share)):
        failed = [(reason, float(factor[j])) for reason, factor in tests if not factor[j] <= 1.0]
        worst = max((factor for _, factor in failed), default=1.0)
        decisions.append(IntervalDecision(not failed, failed[0][0] if failed else "", worst))
    return tuple(decisions)


def two_sided_pvalues(estimates: FloatVector, errors: FloatVector) -> FloatVector:
    """P-values of Gaussian estimates against zero; nan where the standard error is nan. Shape (m,).

    Examples
    --------
    >>> two_sided_pvalues(np.array([1.96, 0.0]), np.ones(2)).round(3)
    array([0.05, 1.  ])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(2.0 * ndtr(-np.abs(estimates / errors)), dtype=np.float64)


def linearisation_covariance(
    model: LinearModel, rows: FloatMatrix, units: FloatMatrix, covariance: FloatMatrix
) -> FloatMatrix:
    """What linearity leaves out of the covariance of k functions, shape (k, k); see `linearisation_errors`.

    ``units``, shape (p, k), are coded coefficients per unit of each function; ``covariance``, shape (k, k),
    is that of their estimates, sampling left out. Several functions are moved term by term, each term as by
    itself; those that span the same space have the same answer. A single one is moved in all terms at once.
    """
    if len(rows) == 1:
        return linearisation_errors(model, units, np.diag(covariance)) * covariance
    moved = units @ covariance @ units.T
    width = np.zeros(len(moved))
    for term in model.released.term_columns:
        width[term.columns] = np.sqrt(max(_widest(term, moved), 0.0))
    share = rows * (np.sqrt(0.75) * model.released.third_derivative_bound * width)
    return np.asarray(share @ moved @ share.T)


def linearisation_errors(model: LinearModel, units: FloatMatrix, variances: FloatVector) -> FloatVector:
    r"""What linearity leaves out: mean squares of second-order terms, as shares of the variance, shape (k,).

    Where noise and ridge leave d ~ N(0, v) between t and theta along one function, linear predictors of two
    rows move apart by s d, s the widest over the declared domain. The weights in H change by at most
    ``third_derivative_bound`` times that, so the estimate is off by ``third_derivative_bound s d^2 / 2`` at
    most, with mean square 3/4 (third_derivative_bound s v)^2. Sampling errors do not count: without noise t
    is the maximum likelihood estimate, and the estimate is t. ``units`` are coded coefficients per unit of
    each function, shape (p, k); variances, shape (k,), are without sampling.
    """
    width = np.zeros(len(variances))
    for term in model.released.term_columns:
        inside = units[term.columns]
        if term.kind == "other":
            width += 2.0 * np.sqrt(term.bound * (inside**2).sum(axis=0))
        else:
            corners = term.table @ inside
            width += np.ptp(corners, axis=0) if term.kind == "levels" else np.abs(corners[0])
    return np.asarray(0.75 * (model.released.third_derivative_bound * width) ** 2 * variances)


def _widest(term: TermColumns, moved: FloatMatrix) -> float:
    """Largest variance of what a difference of two rows in this term adds to their predictors."""
    inside = moved[term.columns, term.columns]
    if term.kind == "other":
        return 4.0 * term.bound * float(np.linalg.eigvalsh(inside)[-1])
    among = term.table @ inside @ term.table.T
    if term.kind != "levels":  # moved from nothing; from one end of the range to the other
        return float(among[0, 0])
    variances = np.diag(among)
    return float((variances[:, None] + variances - 2.0 * among).max())
