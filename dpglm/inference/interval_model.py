r"""The linear model that intervals rest on: its prior scales, and its design between t and the coefficients.

In a logistic model rows weigh a(1 - a), the less the further their predictors are from 0. The information is
taken at t, where predictors are smaller than at theta, and so overstates how fast the score falls from t to
theta: a step that is computed with it ends too early. With x'(theta - t) = d,

.. math::

    g(\theta) - g(t) = \bar H (\theta - t), \qquad \bar H = \sum_i w_i \rho_i x_i x_i',
    \qquad \rho = \frac{a(\eta + d) - a(\eta)}{d\,a(\eta)(1 - a(\eta))}.

Rows are not there any more, but their first two moments under the weights at t are: those are the released
matrix. So the mean of rho x x' is taken as if predictors were normal under these weights, within each level
of one factor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from dpglm.inference.linear_model import LinearModel, positive_part
from dpglm.inference.score_and_information import ScoreAndInformation, grown
from dpglm.typing import FloatMatrix, FloatVector

# Powers of 2 between which declared scales are multiplied; the steps of the search, and rounds at each step.
_LEAST_POWER, _MOST_POWER = -8.0, 2.0
_SEARCH_STEPS, _SEARCH_ROUNDS = (2.0, 1.0, 0.5), 2
# A number's prior scale is larger where the information, less its noise, shows less than the first share of
# the variance that it is coded for; at least the second is taken to be there. Where the number is hidden,
# the scale is that of so many times the usual effect.
USUALLY_SEEN: Final = 0.5
LEAST_SEEN: Final = 1e-3
HIDDEN_SCALE: Final = 3.0
# Keeps a covariance whose parts differ by more than 16 digits positive.
_JITTER = 1e-13
_KINDS = ("slope", "levels", "other")
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Below this step the ratio is its first two terms: the difference of two means would have lost its digits.
_SMALL: Final = 1e-4
_SPREAD_JITTER: Final = 1e-9
# Totals of levels that are so many standard deviations of their noise, and shares of all weight, are used.
_KNOWN: Final = 4.0
_LEAST: Final = 1e-6
# Near separation a level moves on and on, and a linear model ends after a step of about 1: a level is taken
# to move by so much more than all rows together. Set on levels of 3, -3 and 1 log odds and one of 95 %
# successes, judged on others.
FURTHEST: Final = 1.0
# No row's predictor is taken to move further than this, on a log scale.
_LARGEST_CHANGE: Final = 10.0
# The step from t to the posterior mean is found so many times at most, until it changes by no more than this
# share of itself. Weights of counts grow with the step, and it would jump to and fro: each time it turns, it
# goes half as far.
_STEPS, _STEPS_OF_COUNTS = 4, 20
_STAYS: Final = 0.01


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


def with_seen_spreads(model: LinearModel) -> ScoreAndInformation:
    """The released numbers with prior scales in the standard deviations that the information shows.

    Noise, or a declared range far too wide, makes a standard deviation too large; per unit the prior scale of
    the coefficient is then too small, and neighbours take over what it may not explain. Post-processing.
    """
    factors = {}
    for spread in model.spreads:
        seen, usual = max(spread.seen - spread.noise, LEAST_SEEN), HIDDEN_SCALE if spread.hidden else 1.0
        factors[spread.start] = usual * np.sqrt(max(USUALLY_SEEN / seen, 1.0))
    terms = model.released.term_columns
    scaled = (replace(term, prior=term.prior * factors.get(term.start, 1.0)) for term in terms)
    return replace(model.released, term_columns=tuple(scaled))


def with_own_scales(model: LinearModel) -> ScoreAndInformation:
    """The released numbers with prior scales of at least `OWN_SCALE` times the estimates.

    A large effect would count as hardly possible otherwise, and bias its neighbours. A term's size is the
    root mean square of its estimates in prior scales, what noise alone adds taken off; columns of a term grow
    together. The intercept keeps its scale. A point that priors have drawn is left by one step: where effects
    cancel in columns that say much the same, it shows neither. Normal equations of one release have no
    estimate but the posterior mean. Post-processing: it costs no privacy.
    """
    released = model.released
    if not released.centre.any():
        return grown(released, model.mean**2)
    return grown(released, model.squares())


def interval_model(released: ScoreAndInformation) -> LinearModel:
    """The linear model that intervals rest on: prior scales of `with_seen_spreads`, then `with_own_scales`.

    In a logistic model, and in one of counts, its design is the information between t and the posterior
    mean, see `secant_design`. The mean follows from the design, and the prior scales from the mean: each is
    found again until the step from t to the mean stays. The first step alone is too short where effects are
    strong and noise is not small; estimates are then drawn towards t.

    The mean of (t - theta)(t - theta)' is taken half way between declared and learned scales. With declared
    scales alone it errs upwards where most effects are small, and makes intervals wider, by 6 % on two
    tables; with learned scales alone one large effect in a rare level was covered .78 in 100 replications.
    """
    if released.exact:  # nothing rests on a prior, and nothing moves
        return LinearModel(released, np.zeros((released.size, released.size)))
    at_centre = LinearModel(released)
    usual = with_seen_spreads(at_centre)
    own = with_own_scales(at_centre.like(usual))
    at_centre = declared = LinearModel(own)
    step, change, reach = np.zeros(released.size), np.zeros(released.size), 1.0
    for _ in range(_STEPS_OF_COUNTS if released.exponential else _STEPS if released.logistic else 0):
        # How far t is from the maximum of the likelihood: sampling takes both along.
        solved = declared.like(own, sampling=np.zeros_like(declared.design)).mean
        before, change = change, solved - released.centre - step
        if released.exponential and before @ change < 0.0:
            reach *= 0.5
        step = step + reach * change
        if not np.abs(change).max() > _STAYS * np.abs(step).max():
            break
        declared = at_centre.with_design(secant_design(at_centre, step, furthest=FURTHEST))
        own = grown(own, declared.mean**2)
        declared = declared.like(own)
    learned = declared.like(fitted_scales(declared))
    gap = 0.5 * (declared.products + learned.products)
    return declared.like(own, gap, usual_variance=usual.prior_variance, common=declared.common_seen)


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


def secant_design(
    model: LinearModel, step: FloatVector, *, at_end: bool = False, furthest: float = np.inf
) -> FloatMatrix:
    """The mean information on the way from t to t + step, shape (p, p); that at t without an intercept.

    ``at_end`` gives the information at t + step itself. Rows are taken to be normal within each level of the
    factor whose levels move furthest apart, which move by at most ``furthest`` beyond all rows together.

    Post-processing of released numbers, for a logistic model without offsets, or for counts.
    """
    if model.cells.intercept is None or not step.any():
        return model.design
    weights, means, spread = mixture(model, step)
    moved = means @ step
    middle = float(weights @ moved / weights.sum())
    moved = middle + np.clip(moved - middle, -furthest, furthest)
    design = _moved_information(model.released, weights, means, spread, step, moved, at_end=at_end)
    return 0.5 * (design + design.T)


def mixture(model: LinearModel, step: FloatVector) -> tuple[FloatVector, FloatMatrix, FloatMatrix]:
    """Weights and means of the rows of each level of the factor that a step moves most, and their covariance.

    Shapes (L,), (L, p) and (p, p).

    Levels whose totals are mostly noise are taken together, or left out if their sum is; all rows are one
    group where no factor moves.
    """
    intercept = model.cells.intercept
    assert intercept is not None
    design = model.design
    at, constant = intercept.start, float(intercept.table[0, 0])
    total = model.total_weight
    mean = design[at] / (constant * total)
    mean[at] = constant
    cells = _moving(model, step)
    sums = design @ model.cells.from_coded[:, cells]  # of the rows of each level, by weight
    totals = sums[at] / constant
    noise = np.sqrt(np.diag(model.cell_variances)[cells])
    enough = (totals > _KNOWN * noise) & (totals > 0.0)
    weights, sums_of = totals[enough], sums[:, enough].T
    left = total - float(weights.sum())
    if not weights.size or left > max(_LEAST * total, _KNOWN * float(np.linalg.norm(noise[~enough]))):
        sums_of = np.vstack([sums_of, total * mean - sums_of.sum(axis=0)])
        weights = np.append(weights, left)
    means = sums_of / weights[:, None]
    weights = weights * (total / weights.sum())
    within = design / total - (means.T * (weights / total)) @ means
    within[at], within[:, at] = 0.0, 0.0
    return weights, means, positive_part(within)


def _moving(model: LinearModel, step: FloatVector) -> slice:
    """Cells of the factor whose levels a step moves furthest apart, by weight; none where none moves."""
    best, found = 0.0, slice(0, 0)
    inside = np.einsum("ij,ij->j", model.cells.from_coded, model.design @ model.cells.from_coded)
    for term, cells in model.cells.of_kind("levels"):
        moved, weights = term.table @ step[term.columns], np.maximum(inside[cells], 0.0)
        weights = weights / max(float(weights.sum()), np.finfo(np.float64).tiny)
        apart = float(weights @ (moved - weights @ moved) ** 2)
        if apart > best:
            best, found = apart, cells
    return found


def _moved_information(
    released: ScoreAndInformation,
    weights: FloatVector,
    means: FloatMatrix,
    spread: FloatMatrix,
    step: FloatVector,
    means_moved: FloatVector,
    *,
    at_end: bool,
) -> FloatMatrix:
    """Information of groups of normal rows, of these weights, means and one covariance, moved by a step.

    Mean predictors of the groups move by ``means_moved``, shape (L,).
    """
    # Predictors at t, and how far they move: two normal variables.
    directions = np.column_stack([released.centre, step])
    across = spread @ directions
    within = directions.T @ across
    within += _SPREAD_JITTER * (np.trace(within) + _SPREAD_JITTER) * np.eye(2)
    grid = np.array(np.meshgrid(_NODES, _NODES, indexing="ij")).reshape(2, -1)
    moved = np.linalg.cholesky(within) @ grid
    eta, change = (means @ released.centre)[:, None] + moved[0], means_moved[:, None] + moved[1]
    if at_end:
        ratio = end_ratio(None if released.exponential else eta, change)
    else:
        ratio = exponential_ratio(change) if released.exponential else weight_ratio(eta, change)
    ratio = weights[:, None] * ratio * np.outer(_WEIGHTS, _WEIGHTS).ravel()
    slopes = across @ np.linalg.inv(within)
    whole = ratio.sum(axis=1)
    first = means.T @ (ratio @ moved.T) @ slopes.T
    second = slopes @ ((moved * ratio.sum(axis=0)) @ moved.T) @ slopes.T
    rest = spread - slopes @ across.T
    return np.asarray((means.T * whole) @ means + whole.sum() * rest + first + first.T + second)


def weight_ratio(eta: FloatVector, change: FloatVector) -> FloatVector:
    """Mean weight on the way from one predictor to another in units of that at its start, > 0.

    Examples
    --------
    >>> weight_ratio(np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, -2.0])).round(3)
    array([1.   , 0.762, 1.813])
    """
    # At a predictor below 0, or its mirror image: the difference of two means near 1 would lose its digits.
    change = np.where(eta > 0.0, -change, change)
    eta = -np.abs(eta)
    start = expit(eta)
    weight = start * expit(-eta)
    small = np.abs(change) < _SMALL
    moved = (expit(eta + change) - start) / np.where(small, 1.0, change) / np.maximum(weight, 1e-300)
    return np.where(small, 1.0 + (0.5 - start) * change, moved)


def end_ratio(eta: FloatVector | None, change: FloatVector) -> FloatVector:
    """Weight at the end of the way in units of that at its start, > 0; without eta rows weigh exp(eta).

    Examples
    --------
    >>> end_ratio(np.array([0.0, 2.0]), np.array([2.0, -2.0])).round(3)
    array([0.42 , 2.381])
    """
    if eta is None:
        return np.exp(np.clip(change, -_LARGEST_CHANGE, _LARGEST_CHANGE))
    start = expit(eta) * expit(-eta)
    return np.asarray(expit(eta + change) * expit(-eta - change) / np.maximum(start, 1e-300))


def exponential_ratio(change: FloatVector) -> FloatVector:
    """The same where rows weigh exp(eta), > 0; a change beyond 10 counts as 10.

    Examples
    --------
    >>> exponential_ratio(np.array([0.0, 1.0, -1.0])).round(3)
    array([1.   , 1.718, 0.632])
    """
    change = np.clip(change, -_LARGEST_CHANGE, _LARGEST_CHANGE)
    small = np.abs(change) < _SMALL
    return np.where(small, 1.0 + 0.5 * change, np.expm1(change) / np.where(small, 1.0, change))
