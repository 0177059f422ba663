"""Outer ends of intervals, which may reach further out than the standard error says.

As a coefficient of a level moves outwards in a logistic model, the rarer response of its rows falls off by
the logistic curve, like exp(-step) near separation. A linear model lets it reach nothing after a step of 1 to
2, so its interval ends too early: the outer end is mapped further out, and may be infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
from scipy.special import expit

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.pooled_model import PooledModel
from dpglm.inference.score_and_information import squared_length
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Ends of contrasts of levels are mapped where the interval reaches further than this from t.
FAR: Final = 0.3
# Intervals that are wide anyway would often have no end for noise alone. Theirs are mapped where they reach
# further than this, and the rarer response makes less than the first share of a level at t; or less than the
# second share, and the estimate itself is as far.
FAR_WIDE: Final = 0.5
SEPARATED, UNEVEN_WIDE = 0.05, 0.25
# The step from t to an estimate ends too early where noise is large: by up to the first share of it, and by
# the second where the estimate exceeds `LARGE` prior scales, declared or default, and is not `PLAIN`.
SHORT, SHORT_LARGE, LARGE = 0.2, 0.6, 1.0
# An estimate of so many standard errors is drawn to 0 by next to nothing.
PLAIN: Final = 10.0
_ROUNDING = 1e-9
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# On the curve a slope is looked for up to so many log odds per standard deviation from t, to this share.
_STEEPEST, _HALVINGS = 64.0, 40
_SMALL = 1e-4  # a step of which the fall of the score is known to half of all digits


@dataclass(frozen=True)
class SlopeWithin:
    """A slope within one level on the logistic curve: log odds around a predictor, the number normal.

    Distances are from t, in log odds per standard deviation of the number, which is that of all rows: where
    the number varies more at the level, ends are too early.
    """

    place: int  # of the function
    unit: float  # change of the function per unit of that slope, not 0
    predictor: float  # at t, of the level's mean row
    slope: float  # at t
    step: float  # to the estimate

    def _fall(self, distance: float) -> float:
        """How far the score falls on the way."""
        return float(_WEIGHTS @ (_NODES * (expit(self._eta + distance * _NODES) - expit(self._eta))))

    @cached_property
    def _eta(self) -> FloatVector:
        # The mirror image of a predictor above 0, whose differences would lose their digits, has this, too.
        return np.asarray(self.slope * _NODES - abs(self.predictor))

    @cached_property
    def _line(self) -> float:
        """How far the linear model, which is right at its estimate, goes for what the score falls."""
        near = self.step if abs(self.step) > _SMALL else _SMALL
        fall = self._fall(near)
        line = near / fall if fall else 0.0
        return line if math.isfinite(line) else 0.0

    def seen(self, distance: float) -> float:
        """Where the linear model has what is so far on the curve."""
        return self._line * self._fall(min(max(distance, -_STEEPEST), _STEEPEST))

    def on_curve(self, far: float) -> float:
        """Where the curve has what is so far in the linear model, at least as far; or infinity."""
        way = math.copysign(1.0, far)
        low, high = abs(far), _STEEPEST
        if not abs(self.seen(way * high)) > low:
            return way * math.inf
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if abs(self.seen(way * middle)) > abs(far) else (middle, high)
        return way * high


@dataclass(frozen=True, eq=False)
class OuterEnds:
    r"""Outer ends of intervals; in a logistic model rows weigh less the further out coefficients are.

    Notes
    -----
    The information at t says how fast the score falls there, and the linear model what it is on the way to
    the estimate if predictors are normal. A step that leads away from zero may be longer than that: the
    interval's outer end lies a share of the step further out: `SHORT`, or of strong effects `SHORT_LARGE`. In
    linear regression in two stages the step is too short where noise makes the information too large: of
    strong effects, levels' among them.

    A contrast of levels needs more. Outward is where responses of the level that tells least get more alike:
    it makes most of the variance, and its information falls that way. An outer end f from t in the linear
    model, in units of that level, says that p, the share of the rarer response, falls by f p (1 - p). On the
    logistic curve that is :math:`\log(1 + f p) - \log(1 - f (1 - p))` from t, infinite from f = 1 / (1 - p)
    on. The inner end stays. Where outward leads through zero, its test is that of the interval: `reach_of`.

    A slope of a number within a level, and the difference of two, lie on a curve, too: `SlopeWithin`. The
    score falls less and less to both sides, so both ends move.

    The intercept is the predictor at the reference level, which is that of another level less their contrast.
    Where contrasts end further out because of that level, so does the intercept, by the least of them, unless
    that would let zero in.
    """

    outward: FloatVector  # (k,), 1 or -1, the way to separation; 0 for any other function
    start: FloatVector  # (k,), the functions at t
    rarer: FloatVector  # (k,), share of the rarer response in the most uneven level that gets more so outward
    # Predictors at a level that contrasts end further out for: place, way to separation, places of these.
    predictors: tuple[tuple[int, float, tuple[int, ...]], ...] = ()
    short: FloatVector | float = SHORT  # (k,), share of the step by which it may be longer
    unit: FloatVector | float = 1.0  # (k,), largest weight of a level in a contrast
    slopes: tuple[SlopeWithin, ...] = ()

    @classmethod
    def of(cls, contrasts: Contrasts, declared: FloatVector) -> Self:
        """Each function, at t and the mean of the other terms; ``declared`` are prior variances, shape (p,).

        Without an intercept no level is looked at. In linear regression nothing lies on a curve.
        """
        model, rows = contrasts.model, contrasts.rows
        centre = model.released.centre
        start = rows @ centre + model.released.known(rows)
        outward, rarer, unit = np.zeros(len(rows)), np.ones(len(rows)), np.ones(len(rows))
        size, straight = np.abs(contrasts.estimates), not model.released.third_derivative_bound
        strong = (size > LARGE * np.sqrt(rows**2 @ declared)) & (size < PLAIN * contrasts.deviations)
        for term in model.released.term_columns:
            if term.kind == "levels" and not straight:
                strong &= ~only_in(rows, term)
            elif term.kind == "intercept":
                strong &= ~rows[:, term.columns].any(axis=1)
        if straight:
            # From one release there is no step, and in a pool no point that all sites went from.
            steps = bool(centre.any()) and not isinstance(model, PooledModel)
            return cls(outward, start, rarer, short=np.where(strong & steps, SHORT_LARGE, 0.0))
        short = np.where(strong, SHORT_LARGE, SHORT)
        found: list[tuple[int, float, tuple[int, ...]]] = []
        intercept = model.cells.intercept
        if intercept is None:
            return cls(outward, start, rarer, short=short)
        constant = np.isclose(rows[:, intercept.start], intercept.table[0, 0], rtol=_ROUNDING, atol=0.0)
        means = {term.start: _mean_predictor(model, intercept, term) for term in model.released.term_columns}
        everything = float(intercept.table[0] @ centre[intercept.columns]) + sum(means.values())
        cells = model.cells.from_coded
        information = np.einsum("ij,ij->j", cells, model.design @ cells)
        slopes = _slopes_within(contrasts, means, everything, information)
        for term, within in model.cells.of_kind("levels"):
            predictors = everything - means[term.start] + term.table @ centre[term.columns]
            contrasted: dict[int, list[int]] = {}
            for j in np.flatnonzero(only_in(rows, term)).tolist():
                # Contrasts of levels: their weights are the row itself, seen from each corner.
                weights = term.table @ rows[j, term.columns] / squared_length(term.table)
                unit[j] = np.abs(weights).max()
                most = np.abs(weights) >= (1.0 - _ROUNDING) * unit[j]
                ways = np.sign(weights * predictors)
                way = float(ways[np.where(most, information[within], np.inf).argmin()])
                alike = np.flatnonzero(most & (ways == way))
                if not alike.size:  # of numbers that are not finite
                    continue
                at = int(alike[np.abs(predictors[alike]).argmax()])
                outward[j], rarer[j] = way, expit(-abs(predictors[at]))
                for level in alike.tolist():
                    if level == at or expit(-abs(predictors[level])) < SEPARATED:
                        contrasted.setdefault(level, []).append(j)
            for at, places in contrasted.items():  # predictors at these levels, as seen from their corners
                apart = np.abs(rows[:, term.columns] - term.table[at]).max(axis=1)
                here = np.flatnonzero(constant & (apart <= _ROUNDING * np.abs(term.table).max()))
                found += [(j, float(np.sign(predictors[at])), tuple(places)) for j in here.tolist()]
        return cls(outward, start, rarer, tuple(found), short, unit, slopes)

    def mapped(self, estimates: FloatVector, reach: FloatVector, *, wide: bool = False) -> BoolVector:
        """Which intervals ``estimates +- reach`` end too early, shape (k,)."""
        step, apart = self._outwards(estimates), FAR_WIDE if wide else FAR
        uneven = (self.rarer < SEPARATED) | ((self.rarer < UNEVEN_WIDE) & (step > FAR_WIDE)) | (not wide)
        return np.asarray((self.outward != 0.0) & (step + reach / self.unit > apart) & uneven)

    def _outwards(self, values: FloatVector) -> FloatVector:
        """How far values are from t, in units of the level, shape (k,)."""
        return np.asarray(self.outward * (values - self.start) / self.unit)

    def ends(self, estimates: FloatVector, reach: FloatVector, *, wide: bool = False) -> FloatMatrix:
        """Lower and upper ends of intervals that reach this far in the linear model, shape (k, 2).

        They rise with ``reach``; an end may be infinite, and is NaN with the estimate.
        """
        below, above = self._left(estimates)
        plain = np.column_stack([estimates - reach - below, estimates + reach + above])
        ends = plain.copy()
        far = self._outwards(estimates) + reach / self.unit
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.maximum(1.0 - far * (1.0 - self.rarer), 0.0)
            outer = self.start + self.outward * self.unit * (np.log1p(far * self.rarer) - np.log(left))
        for j in np.flatnonzero(self.mapped(estimates, reach, wide=wide) & ~np.isnan(far)).tolist():
            place, furthest = (1, max) if self.outward[j] > 0.0 else (0, min)
            ends[j, place] = furthest(ends[j, place], outer[j])
        for within in self.slopes if not wide else ():
            j = within.place
            for place, furthest in enumerate((min, max)):
                end = estimates[j] + (2 * place - 1) * reach[j]
                if abs(way := self._along(within, float(end), place)) > FAR:
                    end = self.start[j] + within.unit * within.on_curve(way)
                    ends[j, place] = furthest(ends[j, place], end)
        for j, way, contrasts in self.predictors:
            place = 1 if way > 0.0 else 0
            if way * plain[j, place] > 0.0:  # zero is not let in: the test of it is that of the linear model
                ends[j, place] += way * min(self._further(ends, plain, k) for k in contrasts)
        return ends

    def _further(self, ends: FloatMatrix, plain: FloatMatrix, k: int) -> float:
        """How much further out a contrast's outer end lies; without a standard error all or nothing."""
        place = 1 if self.outward[k] > 0.0 else 0
        if math.isnan(plain[k, place]):
            return math.inf if self.rarer[k] < SEPARATED else 0.0
        return abs(float(ends[k, place] - plain[k, place])) / float(np.broadcast_to(self.unit, len(ends))[k])

    def reach_of(self, estimates: FloatVector, values: FloatVector) -> FloatVector:
        """The least reach with which an interval contains each value, shape (k,): `ends`, solved for it."""
        below, above = self._left(estimates)
        plain = np.maximum(np.maximum(values - estimates - above, estimates - values - below), 0.0)
        step, distance = self._outwards(estimates), self._outwards(values)
        falls = -np.expm1(-np.maximum(distance, 0.0))
        mapped = falls / (1.0 - self.rarer * falls)  # as far as the linear model sees it
        outer = np.where(distance > FAR, np.maximum(np.maximum(mapped, FAR) - step, 0.0), distance - step)
        outward = (self.outward != 0.0) & (distance > step)
        least = np.where(outward, np.minimum(outer * self.unit, plain), plain)
        for within in self.slopes:
            j, place = within.place, int(values[within.place] > estimates[within.place])
            if abs(away := self._along(within, float(values[j]), place)) > FAR:
                far = math.copysign(max(min(abs(within.seen(away)), abs(away)), FAR), away)
                linear = self.start[j] + within.unit * far - estimates[j]
                least[j] = min(least[j], max(linear if place else -linear, 0.0))
        return least

    def _along(self, within: SlopeWithin, value: float, place: int) -> float:
        """How far from t a lower (0) or upper (1) end lies, signed; 0 where it lies on t's other side."""
        away = float(value - self.start[within.place])
        return away / within.unit if (away > 0.0) == bool(place) else 0.0

    def _left(self, estimates: FloatVector) -> tuple[FloatVector, FloatVector]:
        """How much further down and up steps that lead away from zero may go, shape (k,) each."""
        step = estimates - self.start
        left = np.where(step * estimates > 0.0, self.short * np.abs(step), 0.0)
        return np.where(estimates < 0.0, left, 0.0), np.where(estimates > 0.0, left, 0.0)


def only_in(rows: FloatMatrix, term: TermColumns) -> BoolVector:
    """Which functions are of the coefficients of one term, shape (k,)."""
    size = np.abs(rows)
    largest = size.max(axis=1)
    size[:, term.columns] = 0.0
    return np.asarray((largest > 0.0) & (size.max(axis=1) <= _ROUNDING * largest))


def _slopes_within(
    contrasts: Contrasts, means: dict[int, float], everything: float, information: FloatVector
) -> tuple[SlopeWithin, ...]:
    """Functions of a number's slopes within levels, seen from one level that is half of them or more.

    Of two such levels it is the one with less ``information``, which is that of cells. ``means`` of the
    predictor are term by term, and add up to ``everything`` with the constant.
    """
    model, rows, centre = contrasts.model, contrasts.rows, contrasts.model.released.centre
    terms = {term.start: term for term in model.released.term_columns}
    within = {term.start: cells for term, cells in model.cells.of_kind("levels")}
    intercept, design, weight = model.cells.intercept, model.design, model.total_weight
    assert intercept is not None
    largest, found = np.abs(rows).max(axis=1), []
    for term in terms.values():
        if term.product is None or term.product[0] not in within:
            continue
        factor, x = terms[term.product[0]], term.product[1]
        corners = term.by_level(factor, terms[x])
        mean = float(design[intercept.start, x] / intercept.table[0, 0]) / weight
        deviation = math.sqrt(max(float(design[x, x]) / weight - mean**2, 0.0))
        steeper = corners @ centre[term.columns]
        others = everything - means[factor.start] - means[term.start]
        predictors = others + factor.table @ centre[factor.columns] + mean * steeper
        left = np.delete(rows, [x, *range(term.start, term.stop)], axis=1)
        alone = np.abs(left).max(axis=1) <= _ROUNDING * largest
        alone &= np.abs(rows[:, term.columns]).max(axis=1) > _ROUNDING * largest
        for j in np.flatnonzero(alone & (deviation > 0.0)).tolist():
            shares = corners @ rows[j, term.columns] / squared_length(corners)
            shares += rows[j, x] / len(shares)  # what the function has of each level's slope
            most = np.abs(shares) >= (0.5 - _ROUNDING) * np.abs(shares).sum()
            level = int(np.where(most, information[within[factor.start]], np.inf).argmin())
            unit = float(shares[level]) / deviation
            if most[level] and 0.0 < abs(unit) < math.inf:
                slope = deviation * float(centre[x] + steeper[level])
                step = float(contrasts.estimates[j] - rows[j] @ centre) / unit
                found.append(SlopeWithin(j, unit, float(predictors[level]), slope, step))
    return tuple(found)


def _mean_predictor(model: LinearModel, intercept: TermColumns, term: TermColumns) -> float:
    """What a term adds to the linear predictor at t, mean over rows by weight, within what it can add."""
    if term.kind == "intercept":
        return 0.0
    inside = model.released.centre[term.columns]
    at = intercept.start
    constant = float(intercept.table[0, 0])
    mean = float(model.design[at, term.columns] @ inside) / (constant * model.total_weight)
    if term.kind == "levels":
        among = term.table @ inside
        return float(np.clip(mean, among.min(), among.max()))
    most = float(np.sqrt(term.bound * (inside @ inside)))
    return float(np.clip(mean, -most, most))
