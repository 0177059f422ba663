"""Outer ends of intervals, which may reach further out than the standard error says.

As a coefficient of a level moves outwards in a logistic model, the rarer response of its rows falls off by
the logistic curve, like exp(-step) near separation. A linear model lets it reach nothing after a step of 1 to
2, so its interval ends too early: the outer end is mapped further out, and may be infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy.special import expit

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.pooled_model import PooledModel
from dpglm.inference.score_and_information import squared_length
from dpglm.postprocessing.slopes_within import FAR, ROUNDING, FunctionsOfSlopes, functions_of_slopes
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

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

    A slope of a number within a level lies on a curve, too. The score falls less and less to both sides, so
    both ends move: of the slope, and of what goes with it, see `FunctionsOfSlopes`.

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
    slopes: tuple[FunctionsOfSlopes, ...] = ()

    @classmethod
    def of(cls, contrasts: Contrasts, declared: FloatVector) -> Self:
        """Each function, at t and the mean of the other terms; ``declared`` are prior variances, shape (p,).

        Without an intercept no level is looked at. In linear regression nothing lies on a curve.
        """
        model, rows, terms = contrasts.model, contrasts.rows, contrasts.model.released.term_columns
        centre = model.released.centre
        start = rows @ centre + model.released.known(rows)
        outward, rarer, unit = np.zeros(len(rows)), np.ones(len(rows)), np.ones(len(rows))
        size, straight = np.abs(contrasts.estimates), not model.released.third_derivative_bound
        strong = (size > LARGE * np.sqrt(rows**2 @ declared)) & (size < PLAIN * contrasts.deviations)
        for term in terms:
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
        constant = np.isclose(rows[:, intercept.start], intercept.table[0, 0], rtol=ROUNDING, atol=0.0)
        means = {term.start: _mean_predictor(model, intercept, term) for term in terms}
        everything = float(intercept.table[0] @ centre[intercept.columns]) + sum(means.values())
        cells = model.cells.from_coded
        information = np.einsum("ij,ij->j", cells, model.design @ cells)
        slopes = functions_of_slopes(contrasts, information) if any(one.product for one in terms) else ()
        for term, within in model.cells.of_kind("levels"):
            predictors = everything - means[term.start] + term.table @ centre[term.columns]
            contrasted: dict[int, list[int]] = {}
            for j in np.flatnonzero(only_in(rows, term)).tolist():
                # Contrasts of levels: their weights are the row itself, seen from each corner.
                weights = term.table @ rows[j, term.columns] / squared_length(term.table)
                unit[j] = np.abs(weights).max()
                most = np.abs(weights) >= (1.0 - ROUNDING) * unit[j]
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
                here = np.flatnonzero(constant & (apart <= ROUNDING * np.abs(term.table).max()))
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
        for j, way, contrasts in self.predictors:
            place = 1 if way > 0.0 else 0
            if way * plain[j, place] > 0.0:  # zero is not let in: the test of it is that of the linear model
                ends[j, place] += way * min(self._further(ends, plain, k) for k in contrasts)
        for functions in self.slopes if not wide else ():
            at = functions.places
            for place, side in ((0, -1.0), (1, 1.0)):
                end = estimates[at] + side * functions.reached(side, reach[at])
                ends[at, place] = side * np.fmax(side * ends[at, place], side * end)
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
        for functions in self.slopes:
            at = functions.places
            away = values[at] - estimates[at]
            least[at] = np.fmin(least[at], functions.reach_of(np.copysign(1.0, away), np.abs(away)))
        return least

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
    return np.asarray((largest > 0.0) & (size.max(axis=1) <= ROUNDING * largest))


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
