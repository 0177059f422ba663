"""Linear model with a noisy design: ``z = H theta + e`` from a released score and information matrix.

Inverting a noisy information matrix costs coverage through one bilinear term: its noise times the error of
the estimate. Here that term is part of the error, with a variance that follows from released and declared
numbers, and the information matrix is used as a design matrix: it is never inverted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, assert_never

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.score_and_information import Cells, ScoreAndInformation, shrink
from dpglm.typing import FloatMatrix, FloatVector

# Rounds in which the mean of (t - theta)(t - theta)' and the covariance of the error settle.
ROUNDS = 5
# Powers of 2 between which declared scales are multiplied; the steps of the search, and rounds at each step.
_LEAST_POWER, _MOST_POWER = -8.0, 2.0
_SEARCH_STEPS, _SEARCH_ROUNDS = (2.0, 1.0, 0.5), 2
# A term estimated at more than so many prior scales gets so many times its estimate as its scale.
OWN_SCALE: Final = 1.5
# Keeps a covariance whose parts differ by more than 16 digits positive.
_JITTER = 1e-13
_KINDS = ("slope", "levels", "other")


@dataclass(frozen=True, eq=False)
class LinearModel:
    r"""What the releases say about the coded coefficients theta, ready for generalised least squares.

    .. math:: z = score + \hat H t = \hat H \theta + e, \qquad Cov(e) = \Omega.

    Notes
    -----
    The error is ``-S - b + E(t - theta)``: sampling score, noise of the estimate, noise of the information
    matrix. Its covariance is ``dispersion * H+ + score_scale^2 I + A'[V o D + diag(V diag D)]A``. H+ is H
    with eigenvalues floored at 0 (the only place where positivity is forced) and A maps cells to coded
    columns. V holds the variances of the cells of H, D = A Delta A' and Delta is the mean of
    (t - theta)(t - theta)', found in a few rounds under the declared prior.
    """

    released: ScoreAndInformation
    # (p, p), mean of (t - theta)(t - theta)', where it is known; None finds it under the declared prior.
    gap: FloatMatrix | None = None

    def like(
        self, released: ScoreAndInformation, gap: FloatMatrix | None = None, **known: FloatMatrix
    ) -> LinearModel:
        """The model with other scales, or a known gap: the same design, and sampling unless known."""
        other = LinearModel(released, gap)
        other.__dict__.update({"sampling": self.sampling} | known, cells=self.cells, _shrunk=self._shrunk)
        return other

    @cached_property
    def cells(self) -> Cells:
        """Cells of the coded columns."""
        return Cells(self.released.term_columns)

    @cached_property
    def _shrunk(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Design and variances of its cells."""
        released, cells = self.released, self.cells
        inside = cells.from_coded.T @ released.information @ cells.from_coded
        shrunk, variances = shrink(inside, cells.variances(released.information_scale), cells)
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
    def positive_design(self) -> FloatMatrix:
        """H with eigenvalues floored at 0, shape (p, p)."""
        values, vectors = eigh(self.design)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    @cached_property
    def sampling(self) -> FloatMatrix:
        """Covariance of the sampling score, shape (p, p)."""
        return np.asarray(self.released.dispersion * self.positive_design)

    def information_noise(self, products: FloatMatrix) -> FloatMatrix:
        """Covariance of the noise of the information times u, ``products`` the mean of uu', shape (p, p)."""
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
            weighted = positive_inverse(fixed + self.information_noise(products)) @ self.design
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
        """The part of ``omega`` that the noise of the information matrix makes, shape (p, p)."""
        return self.information_noise(self.products)

    @cached_property
    def omega(self) -> FloatMatrix:
        """Covariance of the error e, shape (p, p)."""
        return self.sampling + self.released.score_scale**2 * np.eye(self.released.size) + self.noise


def linearisation_error(model: LinearModel, units: FloatMatrix, covariance: ArrayLike) -> float:
    r"""What linearity leaves out: mean square of the second-order term, as a share of the variance.

    Where noise and ridge leave d ~ N(0, v) between t and theta along one function, linear predictors of two
    rows move apart by s d, s the widest over the declared domain. The weights in H change by at most
    ``third_derivative_bound`` times that, so the estimate is off by ``third_derivative_bound s d^2 / 2`` at
    most, with mean square 3/4 (third_derivative_bound s v)^2. Sampling errors do not count: without noise t
    is the maximum likelihood estimate, and the estimate is t.

    ``units``, shape (p, k), are coded coefficients per unit of each function; ``covariance``, shape (k, k),
    is that of their estimates, sampling left out. The answer, ``3/4 (third_derivative_bound s)^2 v`` for one
    function, is the same for functions that span the same space.
    """
    moved = units @ np.asarray(covariance, dtype=np.float64) @ units.T
    width = sum(np.sqrt(max(_widest(term, moved), 0.0)) for term in model.released.term_columns)
    return float(0.75 * (model.released.third_derivative_bound * width) ** 2)


def linearisation_errors(model: LinearModel, units: FloatMatrix, variances: FloatVector) -> FloatVector:
    """`linearisation_error` of each function by itself, shape (k,); sampling is left out of variances."""
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
    match term.kind:
        case "intercept" | "slope":  # moved from nothing; from one end of the range to the other
            return float(term.table[0, 0] ** 2 * inside[0, 0])
        case "levels":
            among = term.table @ inside @ term.table.T
            variances = np.diag(among)
            return float((variances[:, None] + variances - 2.0 * among).max())
        case "other":
            return 4.0 * term.bound * float(np.linalg.eigvalsh(inside)[-1])
        case unreachable:
            assert_never(unreachable)


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
        positive = values > np.finfo(np.float64).eps * len(values) * max(float(values[-1]), 0.0)
        return np.asarray((vectors[:, positive] / values[positive]) @ vectors[:, positive].T)


def fitted_scales(model: LinearModel) -> ScoreAndInformation:
    r"""The released numbers with prior scales multiplied, kind by kind, to fit them best.

    One factor for all slopes, one for all levels, one for other terms; the intercept keeps its scale. They
    maximise the marginal likelihood of z under

    .. math:: z \sim N(0, H T H + \Omega(T)),

    with the noise of the information matrix in Omega taken at theta ~ N(0, T). The model has the declared
    scales. Post-processing of released and declared numbers: it costs no privacy.
    """
    released = model.released
    factors = _factors(model)
    scaled = (replace(term, prior=term.prior * factors.get(term.kind, 1.0)) for term in released.term_columns)
    return replace(released, term_columns=tuple(scaled))


def with_own_scales(model: LinearModel) -> ScoreAndInformation:
    """The released numbers with larger prior scales of terms that are estimated far beyond theirs.

    Such an effect would count as hardly possible, and bias its neighbours. A term's size is the root mean
    square of its estimates in prior scales, what noise alone adds taken off. A size above `OWN_SCALE` makes
    the scale that many times the estimate; columns of a term grow together. The intercept keeps its scale,
    and so do normal equations, which have no estimate. Post-processing: it costs no privacy.
    """
    released = model.released
    if not released.centre.any():
        return released
    ridge = released.score_scale / np.sqrt(released.initial_variance)
    inverse = positive_inverse(model.positive_design + np.diag(ridge))
    squares = released.centre**2 - released.score_scale**2 * (inverse**2).sum(axis=0)

    def grown(term: TermColumns) -> TermColumns:
        size = np.sqrt(max(float(np.mean(squares[term.columns] / term.prior**2)), 0.0))
        if term.kind == "intercept" or not size > OWN_SCALE:
            return term
        return replace(term, prior=term.prior * OWN_SCALE * size)

    return replace(released, term_columns=tuple(map(grown, released.term_columns)))


def interval_model(released: ScoreAndInformation) -> LinearModel:
    """The linear model that intervals rest on, with prior scales of `with_own_scales`.

    The mean of (t - theta)(t - theta)' is taken half way between declared and learned scales. With declared
    scales alone it errs upwards where most effects are small, and makes intervals wider, by 6 % on two
    tables; with learned scales alone one large effect in a rare level was
    covered .78 in 100 replications (``reports/coverage.md`` has the figures of the middle).
    """
    own = with_own_scales(LinearModel(released))
    declared = LinearModel(own)
    learned = declared.like(fitted_scales(declared))
    return declared.like(own, 0.5 * (declared.products + learned.products))


def _factors(model: LinearModel) -> dict[str, float]:
    """Best factor of each kind, by a search along one kind after the other."""
    released = model.released
    kinds = [kind for kind in _KINDS if any(term.kind == kind for term in released.term_columns)]
    fixed, parts = _parts(model, kinds)
    powers = dict.fromkeys(kinds, 0.0)

    def log_likelihood(trial: dict[str, float]) -> float:
        total = fixed + sum(4.0**power * parts[kind] for kind, power in trial.items())
        return _log_likelihood(total, model)

    best = log_likelihood(powers)
    for step in _SEARCH_STEPS:
        for _ in range(_SEARCH_ROUNDS):
            for kind in kinds:
                for direction in (-step, step):
                    while True:
                        trial = powers | {kind: powers[kind] + direction}
                        if not _LEAST_POWER <= trial[kind] <= _MOST_POWER:
                            break
                        value = log_likelihood(trial)
                        if not value > best:
                            break
                        best, powers = value, trial
    return {kind: 2.0**power for kind, power in powers.items()}


def _parts(model: LinearModel, kinds: list[str]) -> tuple[FloatMatrix, dict[str, FloatMatrix]]:
    """Covariance of z that does not depend on the factors, and what each kind adds per squared factor."""
    released = model.released
    centre = np.outer(released.centre, released.centre)
    fixed = model.sampling + released.score_scale**2 * np.eye(released.size) + model.information_noise(centre)
    parts = {}
    for kind in (*kinds, "intercept"):
        prior = np.concatenate(
            [term.prior**2 if term.kind == kind else 0.0 * term.prior for term in released.term_columns]
        )
        part = (model.design * prior) @ model.design + model.information_noise(np.diag(prior))
        if kind == "intercept":
            fixed = fixed + part
        else:
            parts[kind] = part
    return fixed, parts


def _log_likelihood(total: FloatMatrix, model: LinearModel) -> float:
    """Log density of z, up to a constant; minus infinity where rounding leaves no covariance."""
    total = 0.5 * (total + total.T)
    total[np.diag_indices_from(total)] *= 1.0 + _JITTER
    try:
        factor = cho_factor(total, lower=True)
    except LinAlgError:
        return -np.inf
    z = model.response
    return float(-np.log(np.diag(factor[0])).sum() - 0.5 * (z @ cho_solve(factor, z)))
