"""Score and information: the released numbers of one fit, and the information matrix in cells.

A cell is a weighted count, one row and column per level. Cells of two factors are pulled towards
independence, as far as their noise justifies it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import scipy.linalg

from dpglm.glm.penalties.base import TermColumns
from dpglm.typing import LATER, BoolVector, FloatMatrix, FloatVector

# A cell further from independence than this many standard deviations is left as it is.
_FAR = 2.0
# Variance of a uniform variable on its range, the largest a slope's variance is believed to be below noise.
_UNIFORM_VARIANCE = 0.25
# What a number's squares add up to at a level is expected to be this share more or less than at all rows. Set
# on six logistic and three linear designs, judged on four with numbers that vary far more or less at a level.
_PRODUCT_SPREAD: Final = 0.25
# A term's prior scale is at least so many times its estimate.
OWN_SCALE: Final = 1.5


@dataclass(frozen=True, eq=False)
class ScoreAndInformation:
    r"""A noisy score and a noisy information matrix: together a linear model of the coefficients.

    With H the information matrix (minus the Hessian of the log-likelihood) and theta the true coded
    coefficients, stationarity of a perturbed minimiser t says

    .. math:: score + \tilde H t = \tilde H \theta + e.

    The normal equations of a linear regression say the same with t = 0. The error e holds the sampling score,
    the noise of the estimate, and the noise E of the information matrix times t - theta.

    The noise of the information has half the variance off the diagonal. It may have negative eigenvalues.
    """

    term_columns: tuple[TermColumns, ...]  # the coded columns, term by term
    centre: FloatVector  # (p,), t, where the information was taken; zeros for a moment release
    score: FloatVector  # (p,), ridge * t for a perturbed minimiser; the released X'y for a moment release
    information: FloatMatrix  # (p, p), as released, symmetric
    score_scale: float  # standard deviation of the noise on each coordinate of the score
    information_scale: float  # standard deviation of the noise on each diagonal entry of the information
    dispersion: float  # variance of the score per unit of information: 1, or sigma^2 for gaussian
    initial_variance: FloatVector  # (p,), of t - theta, from which iteration starts
    # Largest relative change of a row's weight in H per unit of its linear predictor, >= 0: 1 for binomial
    # and Poisson, 0 for gaussian.
    third_derivative_bound: float
    # Whether rows weigh a(1 - a) at predictors of which all is known but their rows: a logistic model without
    # offsets.
    logistic: bool = False
    # Whether a row's weight in H grows with its predictor eta as exp(eta): counts in two stages.
    exponential: bool = False
    # (p,), known part of the coefficients, which theta leaves out: the middle of a response's bounds, taken
    # up by the intercept. None is zeros.
    origin: FloatVector | None = None
    # Variance of the score of weighted rows per unit of what it is without, a part of ``dispersion``: 1 where
    # rows have no weights, or where nothing is known of it.
    weighting: float = field(default=1.0, metadata=LATER)
    # What the coded constant may be off by beside noise, as a standard deviation: of residuals that are cut.
    level_error: float = field(default=0.0, metadata=LATER)
    # (p, p), covariance of the score where it is known whatever the model says: of rows with weights, without
    # noise. None is the dispersion times the information.
    score_covariance: FloatMatrix | None = field(default=None, metadata=LATER)
    # (p,), of a minimiser t whose own score, ridge * t, is averaged in ``score`` with another one there; None
    # where ``score`` comes from one release.
    ridge: FloatVector | None = field(default=None, metadata=LATER)

    @property
    def size(self) -> int:
        """Number of coefficients p."""
        return len(self.centre)

    @property
    def loss_dispersion(self) -> float:
        """Dispersion of the loss that strengths speak of: a steep loss stands for the logistic one."""
        return min(self.dispersion, 1.0) if self.logistic else self.dispersion

    @property
    def own_ridge(self) -> FloatVector | None:
        """Of the perturbed minimiser that t is, shape (p,); None where t is something else."""
        if self.ridge is not None or self.exact:
            return self.ridge
        with np.errstate(all="ignore"):
            ridge = self.score_scale / np.sqrt(self.initial_variance)
            return ridge if np.allclose(self.score, ridge * self.centre) else None

    @property
    def exact(self) -> bool:
        """Whether there is no noise: of a fit without privacy, and of no other."""
        return self.score_scale == 0.0 and self.information_scale == 0.0

    @property
    def clarity(self) -> float:
        """Mean information of a column but the constant's, over the largest eigenvalue of its noise (Wigner).

        Infinite without noise.
        """
        others = [np.diag(self.information)[t.columns] for t in self.term_columns if t.kind != "intercept"]
        if self.exact or not others:
            return np.inf
        most = self.information_scale * np.sqrt(2.0 * self.size)
        return float(np.mean(np.concatenate(others)) / most)

    @property
    def apart(self) -> tuple[FloatMatrix, float]:
        """The information that independent terms would have, and a share of the distance to the one released.

        The share is what noise does not explain, as Ledoit and Wolf (2004) draw a covariance to a diagonal.
        """
        terms, tied = self.term_columns, any(term.kind == "intercept" for term in self.term_columns)
        widths = np.array([term.stop - term.start for term in terms])
        usual = np.array([(0.25 if term.kind == "slope" else 1.0) * term.bound for term in terms])
        each = np.repeat(usual / widths, widths)
        apart = np.diag(max(float(np.trace(self.information)), 0.0) / each.sum() * each)
        # Entries that are free: of a factor beside an intercept only the totals of its levels.
        within = widths[[tied and term.kind == "levels" for term in terms]]
        free = (self.size * (self.size + 1) - (within * (within + 1)).sum()) / 2.0
        distance = float(((self.information - apart) ** 2).sum())
        signal = max(distance - float(free * self.information_scale**2), 0.0)
        return apart, signal / max(distance, np.finfo(np.float64).tiny)

    @property
    def prior_variance(self) -> FloatVector:
        """Declared prior variances of the coded coefficients, shape (p,)."""
        return np.concatenate([term.prior**2 for term in self.term_columns])

    @property
    def known_part(self) -> FloatVector:
        """``origin``, or zeros, shape (p,)."""
        return np.zeros(self.size) if self.origin is None else self.origin

    def known(self, rows: FloatMatrix) -> FloatVector:
        """What ``origin`` adds to linear functions of the coefficients, shape (k,)."""
        return np.zeros(len(rows)) if self.origin is None else np.asarray(rows @ self.origin)


def grown(released: ScoreAndInformation, squares: FloatVector) -> ScoreAndInformation:
    """Prior scales of at least `OWN_SCALE` times a term's root mean ``squares``, of shape (p,)."""

    def scaled(term: TermColumns) -> TermColumns:
        size = np.sqrt(max(float(np.mean(squares[term.columns] / term.prior**2)), 0.0))
        if term.kind == "intercept" or not OWN_SCALE * size > 1.0:
            return term
        return replace(term, prior=term.prior * OWN_SCALE * size)

    return replace(released, term_columns=tuple(map(scaled, released.term_columns)))


@dataclass(frozen=True, eq=False)
class Cells:
    """The public linear maps between coded columns and cells, m of them.

    A cell is the constant, a slope's value per declared range, the indicator of a level, or a coded column
    that is none of these. With ``x`` a coded row and ``o`` its cells, ``x = o @ to_coded`` and
    ``o = x @ from_coded``; so an information matrix in cells is ``from_coded.T @ H @ from_coded``.
    """

    # In the order of the coded columns. Levels become cells only where one term is the intercept.
    term_columns: Sequence[TermColumns]

    @cached_property
    def intercept(self) -> TermColumns | None:
        """The term of the constant, if there is one."""
        return next((term for term in self.term_columns if term.kind == "intercept"), None)

    def kind(self, term: TermColumns) -> str:
        """How the term is treated: without an intercept, levels cannot be counted."""
        return "other" if term.kind == "levels" and self.intercept is None else term.kind

    def _table(self, term: TermColumns) -> FloatMatrix:
        """Coded values of each of the term's cells."""
        return term.table if self.kind(term) != "other" else np.eye(term.stop - term.start)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The cells of each term."""
        ends = np.cumsum([0, *(len(self._table(term)) for term in self.term_columns)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def of_kind(self, kind: str) -> Iterator[tuple[TermColumns, slice]]:
        """Terms of one kind with their cells."""
        for term, cells in zip(self.term_columns, self.slices, strict=True):
            if self.kind(term) == kind:
                yield term, cells

    @cached_property
    def to_coded(self) -> FloatMatrix:
        """Coded values of each cell, shape (m, p)."""
        return np.asarray(scipy.linalg.block_diag(*map(self._table, self.term_columns)))

    @cached_property
    def from_coded(self) -> FloatMatrix:
        """Cells of each coded column, shape (p, m)."""
        from_coded = np.zeros(self.to_coded.T.shape)
        for term, cells in zip(self.term_columns, self.slices, strict=True):
            kind = self.kind(term)
            inside = np.eye(term.stop - term.start) if kind == "other" else np.linalg.pinv(term.table)
            from_coded[term.columns, cells] = inside
            if kind == "levels":
                assert self.intercept is not None
                constant = float(self.intercept.table[0, 0])
                from_coded[self.intercept.start, cells] = 1.0 / (constant * len(term.table))
        return from_coded

    def variances(self, scale: float) -> FloatMatrix:
        """Variance of each cell of a released information matrix, shape (m, m).

        ``scale`` is the standard deviation of its diagonal entries before the projection that ties the
        entries of one factor: within a factor only the totals of levels are free.
        """
        size = self.to_coded.shape[1]
        entries = np.full((size, size), 0.5)
        np.fill_diagonal(entries, 1.0)
        totals: dict[int, FloatVector] = {}
        if self.intercept is not None:
            constant = float(self.intercept.table[0, 0])
            at = self.intercept.start
            squares = constant**4
            for term, _ in self.of_kind("levels"):
                squares += squared_length(term.table) ** 2 * (len(term.table) - 1) / len(term.table) ** 2
            total_variance = 1.0 / squares  # variance of the sum of weights
            entries[at, at] = constant**4 * total_variance
            for term, _ in self.of_kind("levels"):
                length, count = squared_length(term.table), len(term.table)
                each = 1.0 / (2.0 * constant**2 * length + length**2 * (1.0 - 2.0 / count))
                entries[at, term.columns] = entries[term.columns, at] = constant**2 * length * each
                totals[term.start] = np.full(count, total_variance / count**2 + each * (1.0 - 1.0 / count))
        weights = self.from_coded**2
        variances = np.asarray(weights.T @ entries @ weights)
        for term, cells in self.of_kind("levels"):
            variances[cells, cells] = np.diag(totals[term.start])
        return scale**2 * variances


def squared_length(table: FloatMatrix) -> float:
    """The number of which ``table.T @ table`` is that multiple of the identity, of levels."""
    return float((table**2).sum() / table.shape[1])


def shrink(information: FloatMatrix, variances: FloatMatrix, cells: Cells) -> tuple[FloatMatrix, FloatMatrix]:
    """Information in cells and its variances, after shrinkage; both shape (m, m).

    The cell of two levels with totals M_l and M_g out of W is expected at M_l M_g / W, give or take the
    square root of that times min(M_l, M_g) / 2; a slope in a level at its overall mean, and its products with
    levels with what a number that is independent of them has. A rare level has a tiny total, so that noise
    leaves exactly the rows that would break an inverse. Post-processing of released numbers.

    Examples
    --------
    >>> shrink(np.eye(1), np.eye(1), Cells(()))[0]
    array([[1.]])
    """
    shrunk, left = information.copy(), variances.copy()
    if cells.intercept is None:
        return shrunk, left
    constant = next(cells_of.start for _, cells_of in cells.of_kind("intercept"))
    total = max(information[constant, constant], 0.5 * np.sqrt(variances[constant, constant]))
    totals = np.maximum(np.diag(information), 0.5 * np.sqrt(np.diag(variances)))
    factors = [cells_of for _, cells_of in cells.of_kind("levels")]
    slopes = [cells_of.start for _, cells_of in cells.of_kind("slope")]
    for i, rows in enumerate(factors):
        for columns in factors[i + 1 :]:
            expected = np.outer(totals[rows], totals[columns]) / total
            prior_variance = expected * np.minimum.outer(totals[rows], totals[columns]) / 2.0
            _pull(shrunk, left, (rows, columns), expected, prior_variance)
        for slope in slopes:
            mean = float(np.clip(information[constant, slope] / total, -0.5, 0.5))
            around = float(np.clip(information[slope, slope] / total - mean**2, 0.0, _UNIFORM_VARIANCE))
            expected = mean * totals[rows][:, None]
            prior_variance = (totals[rows][:, None]) ** 2 * around / 2.0
            _pull(shrunk, left, (rows, slice(slope, slope + 1)), expected, prior_variance)
    starts = {term.start: (term, at) for term, at in zip(cells.term_columns, cells.slices, strict=True)}
    for term, rows in starts.values():
        if term.product is None:
            continue
        (factor, levels), (number, slope_at) = (starts[start] for start in term.product)
        corners = (term.by_level(factor, number) * number.table[0, 0]).T
        weights, squares = totals[levels], corners**2
        second = max(float(information[slope_at, slope_at][0, 0]) / total, 0.0)
        mean = float(np.clip(information[constant, slope_at.start] / total, -0.5, 0.5))
        spread = (_PRODUCT_SPREAD * second * weights) ** 2
        around = weights**2 * max(second - mean**2, 0.0) / 2.0
        here, one = corners * weights, slice(constant, constant + 1)
        # What is expected is as noisy as what the number itself shows.
        noise, noise_of_mean = variances[(slope_at.start,) * 2], variances[constant, slope_at.start]
        for other, shape, times, unsure, prior_variance in (
            (rows, here @ corners.T, second, noise, (squares * spread) @ squares.T),
            (slope_at, here.sum(axis=1)[:, None], second, noise, squares @ spread[:, None]),
            (levels, here, mean, noise_of_mean, squares * around),
            (one, here.sum(axis=1)[:, None], mean, noise_of_mean, squares @ around[:, None]),
        ):
            own = prior_variance + unsure * (shape / total) ** 2
            _pull(shrunk, left, (rows, other), times * shape, own)
    return shrunk, left


def _pull(
    information: FloatMatrix,
    variances: FloatMatrix,
    cells: tuple[slice, slice],
    expected: FloatMatrix,
    prior_variance: FloatMatrix,
) -> None:
    """Shrink one rectangle of cells, and its mirror image, in place."""
    noise = variances[cells]
    distance = information[cells] - expected
    far: BoolVector = distance**2 > _FAR**2 * (noise + prior_variance)
    weight = np.where(
        far,
        1.0,
        np.divide(
            prior_variance,
            prior_variance + noise,
            where=prior_variance + noise > 0.0,
            out=np.ones_like(prior_variance),
        ),
    )
    information[cells] = expected + weight * distance
    variances[cells] = weight * noise
    mirror = cells[1], cells[0]
    information[mirror], variances[mirror] = information[cells].T, variances[cells].T
