"""Expected rows: a table drawn from declared shares and spreads, not data; its Fisher information."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.periods import Periods
from dpglm.data.schema.expected import largest_sd
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.unit import weight_of
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.inference.expectation import ExpectedRows
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    from dpglm.planning.correlated_rows import CorrelatedRows

# Rows drawn: chance adds a correlation with standard deviation 1 / sqrt(POINTS) to any two columns.
POINTS: Final = 2**14
# Where no standard deviation is declared it is this share of the largest that numbers between the bounds
# with that mean can have: a sixth of the range if the mean is its middle. Bounds from code books are
# generous: over the 31 numbers of five public tables the standard deviation is .15 of the declared range in
# the median, and a uniform variable's .29 would promise twice the precision.
USUAL_SPREAD: Final = 1.0 / 3.0
# Correlation of the normal scores of any two columns. Independent columns would promise too much: over four
# public tables classical standard errors are .78 to .89 of the true ones in the median without it, and .83 to
# 1.06 with it (but .6 in both cases where levels of one column nearly repeat those of another).
OVERLAP: Final = 0.5
# A level is drawn at least this often, with less weight, so that a rare one has rows of its own.
FEWEST: Final = 24
_QUANTILES: Final = 512
SEED: Final = 20_240_229
_MOST_KEPT: Final = 2**21  # ranks that are kept, 4 MB

# Share of the response's variance that the model is taken to explain: rows then weigh less than at the same
# rate without any effect. On four public tables it is .06, .16, .17 and .45.
EXPLAINED: Final = 0.2

# Where noise hides the variance of counts it is this many times their mean, give or take this factor; and so
# many times at most. In six columns of public tables it is 1 to 7 times.
OVERDISPERSED: Final = (3.0, 3.0)
MOST_OVERDISPERSED: Final = 1000.0


def expected_rows(
    model: CodedModel, n: int, rate: float, moments: FloatMatrix, drawn: CorrelatedRows | None = None
) -> ExpectedRows:
    """What ``n`` rows of a model are expected to add up to, with moments from `expected_moments`, (p, p).

    ``rate`` is the expected share of the second level of a response with two levels, or of those below the
    highest one of more. ``drawn`` are rows whose columns go together as was released, with their moments.
    """
    explained = EXPLAINED if drawn is None or drawn.explained is None else drawn.explained
    family, response, weight = model.family, model.response, expected_weight(model, n)
    variable = model.schema.variables[model.coding.model.response]
    if isinstance(variable, Numeric) and family.response_kind != "binary":
        values = expected_quantiles(variable)
        natural, coded = float(values.mean()), (values - response.shift) / response.unit
        mean, variance = float(coded.mean()), float(coded.var())
    else:
        if (at_risk := _at_risk(model)) is not None:
            rate = rate / float(at_risk.sum())  # one event in all periods of a person, or one level reached
            rate = 1.0 - rate if model.periods is not None and model.periods.stages else rate
        natural, mean, variance = rate, rate, rate * (1.0 - rate)
    curvature = family.expected_weight(natural, explained)
    dispersion = family.dispersion if family.fixed_dispersion else (1.0 - explained) * variance
    over = 1.0
    if family.response_kind == "count" and isinstance(variable, Numeric) and variable.sd and natural > 0.0:
        left, total, noise = (1.0 - explained) / natural, variable.sd**2, 0.0
        if drawn is not None and drawn.variance is not None:  # both have noise of their own, about as much
            total, noise = 0.5 * (total + drawn.variance[0]), drawn.variance[1] / math.sqrt(2.0)
        over = likely_overdispersion(left * total, left * noise)
    information = weight * curvature * moments
    if family.link == "logit" and drawn is not None and drawn.explained is not None:
        information = weight * drawn.logistic_curvature(rate)
    known = drawn is not None and drawn.complete
    return ExpectedRows(weight, moments, information, dispersion, mean, variance, over, explained, known)


def likely_overdispersion(found: float, noise: float) -> float:
    """Variance of a count per unit of its mean, at least 1, from one with noise of this standard deviation.

    Examples
    --------
    >>> [round(likely_overdispersion(9.0, noise), 1) for noise in (0.0, 0.5, 5.0)]
    [9.0, 8.9, 4.6]
    """
    if noise <= 0.0:
        return max(found, 1.0)
    usual, factor = OVERDISPERSED
    logs = np.linspace(0.0, math.log(MOST_OVERDISPERSED), 400)
    likely = -0.5 * ((logs - math.log(usual)) / math.log(factor)) ** 2
    likely -= 0.5 * ((np.minimum(found, MOST_OVERDISPERSED) - np.exp(logs)) / noise) ** 2
    weights = np.exp(likely - likely.max())
    return math.exp(float(weights @ logs / weights.sum()))


def expected_weight(model: CodedModel, n: int) -> float:
    """What so many rows weigh in all, or so many persons where a column tells them.

    Rows with weights count as much as their expected share; those with a time as the share of the periods in
    which they are expected to be at risk.
    """
    at_risk, weight = _at_risk(model), float(weight_of(model.schema.unit_column, n))
    if model.weights is not None:
        variable = model.schema.variables[model.weights.column]
        assert isinstance(variable, Numeric), "weights are numbers"
        weight *= float(expected_quantiles(variable).mean()) / model.weights.high
    return weight if at_risk is None else weight * float(at_risk.mean())


def _at_risk(model: CodedModel) -> FloatVector | None:
    """The share of persons to expect at risk in each period, as the time is declared; shape (periods,)."""
    periods = model.periods
    return None if periods is None else _surviving(model.schema.variables[periods.column], periods)


def _surviving(variable: Variable, periods: Periods) -> FloatVector:
    """The share of times in each period or a later one, shape (periods,)."""
    if isinstance(variable, Categorical):
        shares = expected_shares(variable)
    else:
        places = np.ceil(expected_quantiles(variable)) - periods.values[0]
        shares = np.bincount(places.astype(np.intp), minlength=len(periods.values)) / len(places)
    return np.asarray(np.cumsum(shares[::-1])[::-1][: len(periods.values)])  # stages are all levels but one


def expected_periods(variable: Variable, periods: Periods) -> FloatVector:
    """Periods of rows, about equally likely, of persons whose times are spread as declared."""
    surviving = _surviving(variable, periods)
    ends = np.cumsum(surviving) / surviving.sum()
    even = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return np.asarray(float(periods.values[0]) + np.searchsorted(ends, even))


def expected_rate(model: CodedModel) -> float:
    """The expected share of the response's second level, or of all but the highest; else one half."""
    variable = model.schema.variables[model.coding.model.response]
    if isinstance(variable, Categorical) and model.periods is not None and model.periods.stages:
        return float(1.0 - expected_shares(variable)[-1])
    if isinstance(variable, Categorical) and len(variable.levels) == 2:
        return float(expected_shares(variable)[-1])
    return 0.5


def expected_moments(schema: Schema, coding: Coding, points: int = POINTS) -> FloatMatrix:
    """Mean of x x' over coded rows x whose columns are spread as declared, shape (p, p).

    Levels have their declared shares, or equal ones; numbers a beta distribution between their bounds with
    the declared mean (else the middle) and standard deviation (else a third of the largest possible, which is
    a sixth of the range around its middle). Any two columns have normal scores with the same correlation.
    Functions of one column, such as ``x`` and ``I(x ** 2)``, are as dependent as they are. The same arguments
    give the same numbers; fewer ``points`` give them sooner and less exactly.

    Examples
    --------
    >>> from dpglm.data.coding.coding import Coding
    >>> from dpglm.data.formula.parse import parse
    >>> schema = Schema.of({"y": ["no", "yes"], "age": {"bounds": (20, 80), "mean": 45, "sd": 12}})
    >>> model = parse("y ~ age", schema)
    >>> coding = Coding.of(model)
    >>> coded = expected_moments(schema, coding)
    >>> found = coding.coded_from_user.T @ coded @ coding.coded_from_user  # of 1 and age
    >>> [round(float(value), 6) for value in found.ravel()]  # 45^2 + 12^2 = 2169
    [1.0, 45.0, 45.0, 2169.0]
    """
    columns: dict[str, NDArray[Any]] = {}
    weights = np.ones(points)
    even, periods = (np.arange(points) + 0.5) / points, coding.model.periods
    numbers = (even * _QUANTILES).astype(np.intp)
    # What is large is not worth keeping.
    ranks = _ranks if points * len(coding.columns) <= _MOST_KEPT else _ranks.__wrapped__
    for name, rank in zip(coding.columns, ranks(points, len(coding.columns)), strict=True):
        variable = schema.variables[name]
        if periods is not None and name == periods.column:  # of a row: alike often, and weighed
            codes = (even.take(rank) * len(periods.values)).astype(np.int32)
            weights *= _surviving(variable, periods)[codes]
            columns[name] = codes + float(periods.values[0]) if periods.numeric else codes
        elif isinstance(variable, Numeric):
            columns[name] = expected_quantiles(variable)[numbers].take(rank)
        else:
            codes, weight = _levels(variable, even.take(rank))
            columns[name] = codes
            weights *= weight
    if not columns:  # the constant alone
        columns[""] = np.zeros(points)
    rows = coding.lying(columns)
    moments = (rows * (weights / weights.sum())) @ rows.T
    return np.asarray(0.5 * (moments + moments.T))


@lru_cache(maxsize=4)
def _ranks(points: int, columns: int) -> NDArray[Any]:
    """The places of points by each column's normal scores, shape (columns, points)."""
    generator = np.random.default_rng(SEED)
    common, own = math.sqrt(OVERLAP) * generator.standard_normal(points), math.sqrt(1.0 - OVERLAP)
    ranks = np.empty((columns, points), dtype=np.min_scalar_type(points))
    for rank in ranks:
        rank[np.argsort(common + own * generator.standard_normal(points))] = np.arange(points)
    ranks.setflags(write=False)
    return ranks


def expected_shares(variable: Categorical) -> FloatVector:
    """Shares of the levels, declared or equal ones, that add up to 1; shape (levels,).

    Examples
    --------
    >>> expected_shares(Categorical(["a", "b", "c"], shares=[0.5, 0.33, 0.17]))
    array([0.5 , 0.33, 0.17])
    """
    count = len(variable.levels)
    shares = np.full(count, 1.0 / count) if variable.shares is None else np.array(variable.shares)
    return np.asarray(shares / shares.sum())


def expected_quantiles(variable: Numeric) -> FloatVector:
    """Equally likely values of a number, from the beta distribution with its mean and standard deviation.

    Examples
    --------
    >>> values = expected_quantiles(Numeric(0, 80, mean=30, sd=10))
    >>> round(float(values.mean()), 6), round(float(values.std()), 6)
    (30.0, 10.0)
    """
    low, width = variable.low, variable.high - variable.low
    mean = low + 0.5 * width if variable.mean is None else variable.mean
    most = largest_sd(mean, low, variable.high)
    sd = USUAL_SPREAD * most if variable.sd is None else variable.sd
    centre = (mean - low) / width
    strength = (most / sd) ** 2 - 1.0
    return np.asarray(low + width * _shares(centre, strength, sd / width))


@lru_cache(maxsize=256)
def _shares(centre: float, strength: float, deviation: float) -> FloatVector:
    """Equally likely shares of the declared range, from a beta distribution."""
    places = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    with np.errstate(all="ignore"):
        raw = np.asarray(betaincinv(centre * strength, (1.0 - centre) * strength, places))
    # Few quantiles miss a tail: mean and spread are mended where that keeps within the bounds.
    spread = float(raw.std())
    if np.isfinite(raw).all() and spread > 0.0:
        raw = np.clip(centre + (raw - raw.mean()) * (deviation / spread), 0.0, 1.0)
    else:
        raw = np.where(places < 1.0 - centre, 0.0, 1.0)
    raw.setflags(write=False)
    return np.asarray(raw)


def _levels(variable: Categorical, places: FloatVector) -> tuple[NDArray[np.int32], FloatVector]:
    """Codes at these quantiles and their weights; rare levels are drawn more often and weigh less."""
    shares = expected_shares(variable)
    drawn = np.maximum(shares, min(FEWEST / len(places), 0.5 / len(shares)))
    drawn /= drawn.sum()
    ends = np.cumsum(drawn)
    codes = np.minimum(np.searchsorted(ends, places), len(shares) - 1).astype(np.int32)
    counts = np.maximum(np.bincount(codes, minlength=len(shares)), 1)
    return codes, (shares * len(places) / counts)[codes]
