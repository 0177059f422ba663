"""Poisson regression in two stages: a point from logarithms of counts, then moments of Pearson residuals.

A declared bound of a count is 10 to 100 times a typical residual. It enters the first stage by its logarithm
alone, and the second one not at all: there rows and Pearson residuals make the normal equations of Poisson
regression around the point. Residuals are cut as those of linear regression are, and their variance is the
dispersion that standard errors take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, cast

import numpy as np
from scipy.special import gammaln, pdtr, pdtrc

from dpglm.curator.curator import PricedReleases
from dpglm.glm.families.poisson import Poisson
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import ExpectedRows, at_level, expected_model, products_of_regression
from dpglm.inference.interval_model import FURTHEST, secant_design
from dpglm.inference.linear_model import LinearModel, positive_inverse
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.mapped import Mapped
from dpglm.mechanisms.moments import MomentSums, SecondMoments
from dpglm.mechanisms.residuals import UNSHORTENED, LogCounts
from dpglm.methods.base import Ask, Geometry, Problem
from dpglm.methods.information import asked_spread, weighting
from dpglm.methods.normal_equations import residual_variance, rows_of
from dpglm.methods.perturbed_objective import releases_information
from dpglm.methods.residual_cut import COUNT_CUTS, Cut, expected_cut
from dpglm.methods.standardised import expected_geometry
from dpglm.methods.two_stages import FIRST_CUT, FirstStage, first_noise, in_two_stages
from dpglm.postprocessing.parts import MeasuredScales
from dpglm.privacy.budget import Privacy
from dpglm.typing import FloatVector

# The logarithm of a mean lies within this, and its standard deviation among rows is at most `WIDEST`.
FARTHEST: Final = 20.0
WIDEST: Final = 3.0
# And as a plan expects it: where a few counts are very large a share of their variance says little of it.
USUAL_WIDEST: Final = 1.0
# Declared bounds of counts, and offsets in size, are at most this.
MOST_COUNT: Final = 1e8
MOST_OFFSET: Final = 50.0
# The first point may be wrong by this share of each slope, and by this much in its level, beside noise.
WRONG, LEVEL_WRONG = 0.25, 0.5
# Of the first stage's rows, which are shortened to 1, on average.
LEAST_SQUARE: Final = 0.01
# Lengths of rows that are tried, in the largest one: 6 powers of 2, in quarters.
LENGTHS: Final = 2.0 ** (-np.arange(24) / 4.0)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# The factor is found so many times at most, until it changes by no more than this share of itself.
_ROUNDS, _STAYS = 60, 1e-5
# Poisson probabilities are summed up to this mean, and beyond it log(y + 1/2) is taken to second order.
_SUMMED: Final = 40.0


def counts_in_two_stages(problem: Problem, privacy: Privacy) -> bool:
    """Whether counts are fitted so: where intervals are paid for, and `in_two_stages` allows it.

    Bounds and offsets are of a size that logarithms within `FARTHEST` can tell.
    """
    low, high = problem.offset or (0.0, 0.0)
    usual = 1.0 <= cast(Poisson, problem.family).bound <= MOST_COUNT and max(-low, high) <= MOST_OFFSET
    return usual and releases_information(problem, privacy) and in_two_stages(problem, privacy)


def solve_counts(
    problem: Problem, plan: PricedReleases, ask: Ask
) -> tuple[ScoreAndInformation, Geometry, MeasuredScales]:
    """The linear model of the coefficients on standardised rows, their coding, and scales."""
    stage = FirstStage.of(problem, plan, ask)
    first, *steps = plan.of_kind(SecondMoments)
    start = _Start.of(stage, first, _logarithm(plan))
    point, size = start.point, first.size
    sizes = [start.unsure, UNSHORTENED, COUNT_CUTS[-1]]
    counts = ask(plan.releases[-3 - problem.weighted], np.concatenate([stage.matrix, point, sizes]))
    rows = rows_of(stage.sums, first)
    usual = usual_tails(start.means, start.unsure, rows, cast(Poisson, problem.family).bound)
    cut = Cut.of(plan.of_kind(ColumnSums)[-1], counts, steps[-1].cross_deviation, size, rows, usual)
    square = min(max(float(np.trace(stage.sums.gram)) / rows, LEAST_SQUARE), 1.0)
    squares = square * start.means / (1.0 + start.unsure * start.means)
    length = best_length(squares, rows, math.sqrt(size) * cut.place * steps[-1].cross_deviation)

    def at(point: FloatVector, step: int) -> ScoreAndInformation:
        """Ask for moments at a point."""
        where = np.concatenate([stage.matrix, point, [start.unsure, length, cut.place]])
        spread = asked_spread(plan, ask, where) if step == -1 else None
        place = step if step == -1 else step - problem.weighted
        sums = MomentSums.of(ask(plan.releases[place], where), size)
        return _around(point, sums, steps[step], stage, start, cut, length, spread)

    near = at(point, -2)
    terms = tuple(replace(term, prior=start.errors[term.columns]) for term in near.term_columns)
    step = LinearModel(replace(near, term_columns=terms, centre=np.zeros(size), origin=point))
    step = step.with_design(secant_design(step, step.mean, furthest=FURTHEST))
    released = at(point + step.mean, -1)
    return released, stage.geometry, replace(stage.scales, residual_cut=cut.place)


def usual_tails(
    means: FloatVector, unsure: float, rows: float, bound: float
) -> tuple[FloatVector, FloatVector]:
    """How many of so many Poisson counts have residuals beyond each of `COUNT_CUTS`, above and below.

    ``means`` are at the nodes of normal predictors. Small counts are skewed: what is cut off is above, and
    without it the intercept would be too low. Above the declared bound there is none.

    Examples
    --------
    >>> above, below = usual_tails(np.full(30, 0.5), 0.0, 1000.0, 20.0)
    >>> above[:2].round(1), below[:2].round(1)
    (array([14.4,  1.8]), array([0., 0.]))
    """
    away = np.array(COUNT_CUTS)[:, None] * np.sqrt(means * (1.0 + unsure * means))
    above = np.where(means + away < bound, pdtrc(np.ceil(means + away) - 1.0, means), 0.0)
    low = np.floor(means - away)
    below = np.where(low >= 0.0, pdtr(np.maximum(low, 0.0), means), 0.0)
    return rows * (above @ _WEIGHTS), rows * (below @ _WEIGHTS)


def _around(
    point: FloatVector,
    sums: MomentSums,
    release: SecondMoments,
    stage: FirstStage,
    start: _Start,
    cut: Cut,
    length: float,
    spread: tuple[float, float] | None,
) -> ScoreAndInformation:
    """Normal equations around a point; its level is taken up by the constant, and no prior speaks of it."""
    rows, at, terms = rows_of(sums, release), stage.constant.start, stage.geometry.term_columns
    own = max(float(sums.gram[at, at]), release.gram_deviation)
    typical = sums.gram[at] / math.sqrt(own * rows)  # the mean of the rows
    origin = np.zeros(len(point))
    origin[at] = point[at]
    moved = float(np.clip((point - start.point) @ typical, -FARTHEST, FARTHEST))
    taken = cut.taken(start.mean, start.mean * math.exp(moved))
    left = residual_variance(sums, release, np.zeros(len(point)), 1.0) + taken.squares / (cut.place**2 * rows)
    part = weighting(spread, left * float(np.trace(sums.gram)))
    return ScoreAndInformation(
        term_columns=terms,
        centre=point - origin,
        score=length * (cut.place * sums.cross + taken.removed * typical),
        information=length**2 * sums.gram,
        score_scale=length * math.hypot(cut.place * release.cross_deviation, taken.bias),
        information_scale=length**2 * release.gram_deviation,
        dispersion=part * cut.place**2 * left,
        initial_variance=np.concatenate([term.prior**2 for term in terms]),
        third_derivative_bound=1.0,
        exponential=True,
        origin=origin,
        weighting=part,
        level_error=taken.error / (length * math.sqrt(own * rows)),
    )


def _logarithm(plan: PricedReleases) -> LogCounts:
    """How counts are read in the first stage."""
    return cast(LogCounts, cast(Mapped, plan.releases[0]).mapping)


@dataclass(frozen=True, eq=False)
class _Start:
    """The first point, and what is known of it.

    The slopes of a linear regression of log(y + 1/2) are those of Poisson regression times one number, where
    predictors are normal (Brillinger 1983, "A generalized linear model with Gaussian regressor variables").
    """

    point: FloatVector  # (p,)
    errors: FloatVector  # (p,), what each of its coordinates may be wrong by
    means: FloatVector  # of counts, at the nodes of normal predictors
    unsure: float  # mean variance of what predictors are wrong by

    @property
    def mean(self) -> float:
        """A typical mean."""
        return math.exp(float(_WEIGHTS @ np.log(self.means)))

    @classmethod
    def of(cls, stage: FirstStage, first: SecondMoments, logarithm: LogCounts) -> _Start:
        """From the moments of logarithms."""
        unit, at = stage.unit * logarithm.unit, stage.constant.start
        height = float(stage.constant.table[0, 0])
        terms = tuple(
            own if own.kind == "intercept" else replace(own, prior=term.prior / unit)
            for own, term in zip(stage.model.term_columns, stage.geometry.term_columns, strict=True)
        )
        model = LinearModel(replace(stage.model, term_columns=terms))
        slopes = unit * model.mean
        rows = rows_of(stage.sums, first)
        typical = stage.sums.gram[at] / (height * rows)
        mean = float(logarithm.log(height * stage.origin[at]) + slopes @ typical)
        slopes[at] = 0.0
        spread = stage.sums.gram / rows - np.outer(typical, typical)
        fitted = math.sqrt(max(float(slopes @ spread @ slopes), 0.0))
        level, factor, deviation = unlogged(mean, fitted)
        point = factor * slopes
        point[at] = (level - point @ typical - logarithm.middle) / height

        weighted = positive_inverse(model.omega) @ model.design
        prior = np.diag(1.0 / model.released.prior_variance)
        covariance = unit**2 * positive_inverse(prior + model.design @ weighted)
        unsure = float(np.trace(covariance @ stage.sums.gram)) / rows
        errors = factor * (np.sqrt(np.maximum(np.diag(covariance), 0.0)) + WRONG * np.abs(slopes))
        errors[at] += LEVEL_WRONG / height
        return cls(point, errors, np.exp(level + deviation * _NODES), min(max(unsure, 0.0), 1.0))


@cache
def _logs() -> tuple[FloatVector, FloatVector, FloatVector]:
    """Logarithms of means, the expected log(y + 1/2) of Poisson counts, and its slope."""
    logs = np.linspace(-2.0 * FARTHEST, 2.0 * FARTHEST, 1601)
    means = np.exp(logs)
    counts = np.arange(int(_SUMMED + 12.0 * math.sqrt(_SUMMED)))
    small = np.minimum(means, _SUMMED)[:, None]
    summed = np.exp(counts * np.log(small) - small - gammaln(counts + 1.0)) @ np.log(counts + 0.5)
    expanded = np.log(means + 0.5) - 0.5 * means / (means + 0.5) ** 2
    expected = np.where(means < _SUMMED, summed, expanded)
    return logs, expected, np.gradient(expected, logs)


def unlogged(mean: float, deviation: float) -> tuple[float, float, float]:
    """Level and factor of predictors from the mean of log(y + 1/2), and the deviation of fitted logarithms.

    Predictors of Poisson counts are normal with the level as mean; slopes of log(y + 1/2) times the factor
    are theirs. The third number is the standard deviation of predictors.

    Examples
    --------
    >>> [round(number, 2) for number in unlogged(np.log(1000.0), 0.5)]
    [6.91, 1.0, 0.5]
    >>> [round(number, 2) for number in unlogged(0.3, 0.3)]
    [0.14, 1.39, 0.42]
    """
    logs, expected, slopes = _logs()
    levels = logs[np.abs(logs) <= FARTHEST][::2]
    factor, level = 1.0, 0.0
    for _ in range(_ROUNDS):
        moved = factor * deviation * _NODES
        level = float(np.interp(mean, np.interp(levels[:, None] + moved, logs, expected) @ _WEIGHTS, levels))
        slope = float(_WEIGHTS @ np.interp(level + moved, logs, slopes))
        before = factor
        factor = min(0.5 * (factor + 1.0 / max(slope, 1e-6)), WIDEST / max(deviation, 1e-9))
        if abs(factor - before) <= _STAYS * factor:
            break
    return level, factor, factor * deviation


def best_length(squares: FloatVector, rows: float, noise: float) -> float:
    """The length to which rows are shortened, where sampling and noise together cost least.

    Examples
    --------
    >>> equal = np.ones(30)
    >>> best_length(equal, 1000.0, 10.0)
    1.0
    """
    lengths = math.sqrt(float(squares.max())) * LENGTHS
    kept = np.minimum(1.0, lengths[:, None] ** 2 / squares)
    sampling = rows * ((kept**2 * squares) @ _WEIGHTS)
    costs = (sampling + (lengths * noise) ** 2) / ((kept * squares) @ _WEIGHTS) ** 2
    return float(lengths[np.argmin(costs)])


def spread_of_means(mean: float, over: float, explained: float) -> FloatVector:
    """Means of counts at the nodes of normal predictors, in units of their mean, shape (nodes,).

    Predictors explain this share of the variance of counts, which is ``over`` times the mean beside them.

    Examples
    --------
    >>> float(spread_of_means(2.0, 3.0, 0.25) @ _WEIGHTS).__round__(6)
    1.0
    """
    deviation = spread_of_logs(mean, over, explained)
    return np.asarray(np.exp(deviation * _NODES - 0.5 * deviation**2))


def spread_of_logs(mean: float, over: float, explained: float) -> float:
    """Standard deviation of those normal predictors."""
    # The variance of means over the square of the mean.
    relative = explained / (1.0 - explained) * over / max(mean, np.finfo(np.float64).tiny)
    return min(math.sqrt(math.log1p(relative)), USUAL_WIDEST)


def expected_counts(problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> Contrasts:
    """The coefficients in the linear model that the releases make on average, with effects of zero."""
    first, _, second = plan.of_kind(SecondMoments)
    geometry, matrix = expected_geometry(problem, rows, first_noise(plan))
    # A row's information is its mean; the family's is that in units of the declared bound.
    mean = float(np.trace(rows.information)) / float(np.trace(rows.moments)) / rows.n / rows.dispersion
    moments, over, logarithm = matrix @ rows.moments @ matrix.T, rows.overdispersion, _logarithm(plan)
    # Of logarithms, in which a Poisson count has the variance 1 / (mean + 1/2) or so.
    deviation = min(math.sqrt(over / (mean + 0.5)), logarithm.unit)
    noise = FIRST_CUT * deviation * first.cross_deviation
    means = mean * spread_of_means(mean, over, rows.explained)
    squares, size = float(np.trace(moments)) * means, len(moments)
    place, bias = expected_cut(means, _WEIGHTS, over, rows.n, second.cross_deviation, size)
    length = best_length(squares, rows.n, math.sqrt(size) * place * second.cross_deviation)
    # What shortening leaves of each row counts in its information, and twice in the variance of its score.
    kept = np.minimum(1.0, length**2 / squares)
    left = (kept * means) @ _WEIGHTS
    # The mean is known, and the constant is what a typical row is away from it.
    terms = at_level(geometry.term_columns, deviation)
    spread = rows.n * spread_of_logs(mean, over, rows.explained) ** 2
    begun = products_of_regression(terms, rows.n * moments, noise, first.gram_deviation, deviation**2, spread)
    model = expected_model(
        terms,
        rows.n * left * moments,
        products=begun,
        score_scale=length * math.hypot(place * second.cross_deviation, bias),
        information_scale=length**2 * second.gram_deviation,
        dispersion=over * float((kept**2 * means) @ _WEIGHTS / left),
        third_derivative_bound=problem.family.third_derivative_bound,
    )
    return Contrasts(model, geometry.user_from_coded)
