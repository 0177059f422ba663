"""Linear model with a noisy design: ``z = H theta + e`` from a released score and information matrix.

Inverting a noisy information matrix costs coverage through one bilinear term: its noise times the error of
the estimate. Here that term is part of the error, with a variance that follows from released and declared
numbers, and the information matrix is used as a design matrix: it is never inverted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from dpglm.inference.score_and_information import Cells, ScoreAndInformation, shrink
from dpglm.typing import FloatMatrix, FloatVector

# Rounds in which the mean of (t - theta)(t - theta)' and the covariance of the error settle.
ROUNDS = 5
# A number is hidden if the information shows less than this share of the variance that it is coded for, and
# less about it beside other terms than this many times the noise. It masks all others if it may move
# predictors by more than this standard deviation, which the score leaves possible with so many deviations of
# its noise, and if the information shows less of it than this many times the noise. Set on two numbers,
# correlated 0, .8 and .95, one of them 8 to 1,000 standard deviations wide to each side, in three families.
LITTLE_SEEN, LEAST_ALONE, MOST_MOVED = 0.25, 5.0, 0.2
POSSIBLE, CLEARLY = 1.645, 3.0
# Of the step that finds prior scales: its ridge, and the least information along t, in deviations of noise.
STEP_RIDGE, ALONG = 0.3, 2.0


@dataclass(frozen=True)
class Spread:
    """How much a number varies, as the released information shows it, and what that may move."""

    start: int  # its coded column
    label: str
    seen: float  # variance, as a share of the one that its column is coded for
    noise: float  # standard deviation of the noise in `seen`
    alone: float  # information about it beside the other terms, in units of the noise
    moves: float  # standard deviation of predictors that its score leaves possible

    @property
    def hidden(self) -> bool:
        """Whether noise hides its variation: its declared range is far wider."""
        return self.seen < LITTLE_SEEN and self.alone < LEAST_ALONE


@dataclass(frozen=True, eq=False)
class LinearModel:
    r"""What the releases say about the coded coefficients theta, ready for generalised least squares.

    .. math:: z = score + \hat H t = \hat H \theta + e, \qquad Cov(e) = \Omega.

    Notes
    -----
    The error is ``-S - b + E(t - theta)``: sampling score, noise of the estimate, noise of the information
    matrix. Its covariance is ``dispersion * H+ + score_scale^2 I + A'[V o D + diag(V diag D)]A``. H+ is H
    with eigenvalues floored at 0 and A maps cells to coded columns. V holds the variances of the cells of H,
    D = A Delta A' and Delta is the mean of (t - theta)(t - theta)', found in a few rounds under the prior.
    """

    released: ScoreAndInformation
    # (p, p), mean of (t - theta)(t - theta)' where known; None finds it under the declared prior.
    gap: FloatMatrix | None = None

    def with_design(self, design: FloatMatrix, variances: FloatMatrix | None = None) -> LinearModel:
        """The same releases with another design, shape (p, p); variances of its cells stay, or are these."""
        other = LinearModel(self.released, self.gap)
        shrunk = design, self.cell_variances if variances is None else variances
        other.__dict__.update(cells=self.cells, _shrunk=shrunk)
        return other

    def like(
        self, released: ScoreAndInformation, gap: FloatMatrix | None = None, **known: FloatMatrix
    ) -> LinearModel:
        """The model with other scales, or a known gap: the same design, and sampling unless known."""
        other = LinearModel(released, gap)
        kept = {"sampling": self.sampling, "common": self.common} | known
        other.__dict__.update(kept, cells=self.cells, _shrunk=self._shrunk)
        return other

    @cached_property
    def cells(self) -> Cells:
        """Cells of the coded columns."""
        return Cells(self.released.term_columns)

    @cached_property
    def usual_variance(self) -> FloatVector:
        """Prior variances before they grew with estimates, shape (p,)."""
        return self.released.prior_variance

    @cached_property
    def common(self) -> FloatVector:
        """What numbers have in common a priori: their effects vary by a multiple of it, too, (p,)."""
        return np.zeros(self.released.size)

    @property
    def _step_ridge(self) -> FloatVector:
        """Of the step from t that finds prior scales, (p,)."""
        least = STEP_RIDGE * self.released.information_scale
        return np.full(self.released.size, least) if (own := self.released.own_ridge) is None else own

    def squares(self, times: float = 1.0) -> FloatVector:
        """Of effects as one step finds them, ``times`` as long, less what noise alone adds, shape (p,).

        A perturbed minimiser is itself a step from 0; from any other point it is a step of least squares.
        """
        released, inverse = self.released, positive_inverse(self.positive_design + np.diag(self._step_ridge))
        step = times * inverse @ (self.response - self.design @ released.centre)
        found = released.centre + step if released.own_ridge is None else times * self.minimiser
        return np.asarray(found**2 - times**2 * self.score_variances(inverse))

    @property
    def common_seen(self) -> FloatVector:
        """The multiple of t by which the prior gets as far there as one step finds numbers from 0, (p,).

        Effects that are small each may be large together, which is hardly possible to priors that know
        nothing of each other. All would be drawn to 0 alike, and the constant with them. In logistic models.
        A step along t has no ridge: the information there is at least `ALONG` times its noise.
        """
        terms, centre = self.released.term_columns, self.released.centre
        numbers = [np.full(len(one.prior), one.kind not in ("intercept", "levels")) for one in terms]
        way = (slopes := np.concatenate(numbers)) * centre
        length = float(way**2 @ (1.0 / self.released.prior_variance)) if self.released.logistic else 0.0
        if not length > 0.0:
            return 0.0 * centre
        least = ALONG * self.released.information_scale * float(way @ way)
        times = 1.0 + float(self._step_ridge @ way**2) / max(float(way @ self.positive_design @ way), least)
        squares = slopes * self.squares(times) / self.released.prior_variance
        return np.asarray(way * np.sqrt(max(float(squares.sum()) - 1.0, 0.0) / length))

    def prior_times(self, rows: FloatMatrix) -> FloatMatrix:
        """The prior covariance times each row, shape (k, p)."""
        return rows * self.released.prior_variance + np.outer(rows @ self.common, self.common)

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
        return positive_part(self.design)

    @property
    def total_weight(self) -> float:
        """Of all rows, as the constant's information shows it; noise alone at least."""
        assert self.cells.intercept is not None, "a constant"
        at, constant = self.cells.intercept.start, float(self.cells.intercept.table[0, 0])
        return max(float(self.design[at, at]), self.released.information_scale) / constant**2

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """Of each number, weighted like the information; none without an intercept or without noise."""
        intercept, scale = self.cells.intercept, self.released.information_scale
        if intercept is None or self.released.exact:
            return ()
        at, constant, design = intercept.start, float(intercept.table[0, 0]), self.design
        weight = self.total_weight
        # Predictors of a linear model are measured in residual standard deviations.
        unit = 1.0 if self.released.third_derivative_bound else self.released.dispersion
        found = []
        with np.errstate(all="ignore"):
            inverse = positive_inverse(self.positive_design + scale * np.eye(len(design)))
            for term in self.released.term_columns:
                if term.kind != "slope":
                    continue
                k, coded = term.start, weight * term.bound / 4.0
                variance = float(design[k, k] - (design[at, k] / constant) ** 2 / weight)
                alone = 1.0 / (scale * float(inverse[k, k])) - 1.0
                left = abs(float(self.released.score[k])) + POSSIBLE * self.released.score_scale
                moves = left / np.sqrt(unit * weight * (max(variance, 0.0) + scale))
                found.append(Spread(k, term.label, variance / coded, scale / coded, alone, moves))
        return tuple(found)

    @property
    def masking(self) -> tuple[Spread, ...]:
        """Hidden numbers that may move predictors so far that others, which take this up, cannot be told."""
        unclear = (spread for spread in self.spreads if spread.seen < CLEARLY * spread.noise)
        return tuple(spread for spread in unclear if spread.hidden and spread.moves > MOST_MOVED)

    @property
    def clarity(self) -> float:
        """See `PooledModel`; infinite where there is one release."""
        return np.inf

    @cached_property
    def sampling(self) -> FloatMatrix:
        """Covariance of the sampling score, and of what the constant may be off by, shape (p, p)."""
        known, at = self.released.score_covariance, self.cells.intercept
        level = self.released.level_error * self.positive_design[:, 0 if at is None else at.start]
        model = self.released.dispersion * self.positive_design + np.outer(level, level)
        return np.asarray(model if known is None else known)

    def information_noise(self, products: FloatMatrix) -> FloatMatrix:
        """Covariance of the noise of the information times u, ``products`` the mean of uu', shape (p, p)."""
        across = self.cells.to_coded
        inside = across @ products @ across.T
        middle = self.cell_variances * inside + np.diag(self.cell_variances @ np.diag(inside))
        return np.asarray(across.T @ middle @ across)

    @cached_property
    def _settled(self) -> tuple[FloatVector, FloatMatrix]:
        """Posterior mean of theta, and the mean of (t - theta)(t - theta)'."""
        released = self.released
        fixed = self.sampling + released.score_scale**2 * np.eye(released.size)
        precision = np.diag(1.0 / released.prior_variance)
        least = np.minimum(released.prior_variance, released.initial_variance)
        products = np.diag(least) if self.gap is None else self.gap
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

    @cached_property
    def minimiser(self) -> FloatVector:
        """t, or one step from it to where the mean of two scores is the ridge times it, shape (p,)."""
        t, ridge = self.released.centre, self.released.ridge
        if ridge is None:
            return t
        return t + positive_inverse(self.positive_design + np.diag(ridge)) @ (self.released.score - ridge * t)

    @cached_property
    def compromise(self) -> FloatVector:
        r"""Coefficients between the prior, a perturbed minimiser t and the linear model, shape (p,).

        Where noise hides the information, z tells next to nothing, but `minimiser` does. It is taken for an
        estimate t of its own: with theta ~ N(0, T), t - theta ~ N(0, G) and V^-1 = T^-1 + G^-1,

        .. math:: m = V G^{-1} t, \qquad m + V\hat H (\hat H V \hat H + \Omega)^{-1} (z - \hat H m).

        H is drawn to that of independent terms, see `ScoreAndInformation.apart`. No standard error rests on
        this: z holds the noise of t, too. Of other releases it is `mean`.
        """
        prior, (apart, share) = self.released.prior_variance, self.released.apart
        if (ridge := self.released.own_ridge) is None:
            return self.mean
        calm = self.with_design(apart + share * (self.design - apart), share**2 * self.cell_variances)
        gap = np.minimum(prior, self.released.score_scale**2 / ridge**2)
        first, spread = prior / (prior + gap) * calm.minimiser, calm.design * (prior * gap / (prior + gap))
        inverse = positive_inverse(calm.omega + spread @ calm.design)
        return np.asarray(first + spread.T @ (inverse @ (calm.response - calm.design @ first)))

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

    def score_variances(self, weights: FloatMatrix) -> FloatVector:
        """Variance that the noise of the score gives each column of weights, shape (p, k) to (k,)."""
        return np.asarray(self.released.score_scale**2 * (weights**2).sum(axis=0))

    def noise_information(
        self, units: FloatMatrix, inverse: FloatMatrix, solved: FloatMatrix, factor: FloatVector
    ) -> FloatVector:
        """Mean of ``u'E G E u`` for each unit u, E being the noise of the information alone, shape (k,).

        G is ``inverse`` plus, for each function, ``factor`` times its column of ``solved`` times itself.
        """
        across, variances = self.cells.to_coded, self.cell_variances
        inside, along = across @ units, across @ solved
        squares = variances @ inside**2
        kernel = across @ inverse @ across.T
        crossed = along * inside
        first = np.einsum("ij,ij->j", inside, (kernel * variances) @ inside) + np.diag(kernel) @ squares
        second = np.einsum("ij,ij->j", crossed, variances @ crossed) + (along**2 * squares).sum(axis=0)
        return np.asarray(first + factor * second)

    def rescaled(self, factor: float, *, rows: bool) -> LinearModel:
        """What a fit with ``factor`` times the epsilon, or the ``rows``, would have released; approximate.

        Noise is proportional to 1 / epsilon, and in units of the information, as the sampling variance, to
        1 / n. The distance of t from theta is taken as it is now.
        """
        changed = replace(self.released, score_scale=self.released.score_scale / factor)
        sampling = self.sampling / (factor if rows else 1.0)
        return self.like(changed, sampling=sampling, noise=self.noise / factor**2)

    def omega_at(self, coded: FloatVector) -> FloatMatrix:
        """The same where theta is known, shape (p, p).

        The noise is multiplied with t - theta: far less than under the prior where columns say the same.
        """
        away = self.released.centre - coded
        return self.omega - self.noise + self.information_noise(np.outer(away, away))


def positive_part(matrix: FloatMatrix) -> FloatMatrix:
    """A symmetric matrix with eigenvalues floored at 0, shape (p, p)."""
    values, vectors = eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


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
