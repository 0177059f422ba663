"""Slopes of numbers within single levels of a factor, on the logistic curve, and what lies beside them.

The steeper a slope is, the nearer to even odds are the responses of its level: its score falls off by a
curve, and the level's own predictor is as much further from even odds as the slope is steeper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final, Self

import numpy as np
from scipy.special import expit

from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.score_and_information import squared_length
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, IntVector

# Ends nearer to t than this are those of the linear model, in log odds, or those per standard deviation.
FAR: Final = 0.3
ROUNDING: Final = 1e-9
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# On the curve a slope is looked for up to so many log odds per standard deviation from t, to this share.
_STEEPEST, _HALVINGS = 64.0, 40
_SMALL = 1e-4  # a step of which the fall of the score is known to half of all digits
# The mean of expit(a + s z), z normal, is expit(a / sqrt(1 + PROBIT s^2)), but for .012.
PROBIT: Final = 256.0 * 3.0 / (15.0 * math.pi) ** 2


class _Each:
    """Fields of shape (k,)."""

    def __getitem__(self, which: BoolVector) -> Self:
        return type(self)(*(getattr(self, one.name)[which] for one in fields(self)))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class SlopesWithin(_Each):
    """Slopes within one level each on the logistic curve: log odds around a predictor, the number normal.

    Distances are from t, in log odds per standard deviation of the number; all have shape (k,).
    """

    predictors: FloatVector  # at t, of the level's mean row
    slopes: FloatVector  # at t
    steps: FloatVector  # to the estimate

    def _fall(self, distances: FloatVector) -> FloatVector:
        """How far the score falls on the way."""
        there = expit(self._eta + distances[:, None] * _NODES)
        return np.asarray((there - expit(self._eta)) @ (_WEIGHTS * _NODES))

    @cached_property
    def _eta(self) -> FloatMatrix:
        # The mirror image of a predictor above 0, whose differences would lose their digits, has this, too.
        return np.asarray(self.slopes[:, None] * _NODES - np.abs(self.predictors)[:, None])

    @cached_property
    def _line(self) -> FloatVector:
        """How far the linear model, which is right at its estimate, goes for what the score falls."""
        near = np.where(np.abs(self.steps) > _SMALL, self.steps, _SMALL)
        with np.errstate(all="ignore"):
            line = near / self._fall(near)
        return np.where(np.isfinite(line), line, 0.0)

    def seen(self, distances: FloatVector) -> FloatVector:
        """Where the linear model has what is so far on the curve."""
        return self._line * self._fall(np.clip(distances, -_STEEPEST, _STEEPEST))

    def on_curve(self, far: FloatVector) -> FloatVector:
        """Where the curve has what is so far in the linear model, at least as far; or infinity."""
        ways, low, high = np.copysign(1.0, far), np.abs(far), np.full(len(far), _STEEPEST)
        ends = np.abs(self.seen(ways * high)) > low
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            beyond = np.abs(self.seen(ways * middle)) > np.abs(far)
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.where(ends, ways * high, ways * np.inf)


@dataclass(frozen=True, eq=False)
class FunctionsOfSlopes(_Each):
    """Functions of a number's slope within a level, and of the level's predictor; all have shape (k,).

    Where a slope is steeper than its estimate, a function moves with it, as far as the slope's interval is
    longer than the linear model has it. And responses of a steep slope are nearer to even odds than those at
    its middle: the predictor there is as much further out as leaves them as they are. A slope without a
    standard error has no curve, but a wide interval, which holds as many prior scales, too.
    """

    places: IntVector  # of the functions
    slopes: SlopesWithin
    predictors: FloatVector  # at the level's middle, at the estimate, times its share of the function
    along: FloatVector  # change of the function per unit of the slope, the predictor at the middle fixed
    ratios: FloatVector  # of the slope's standard error to the function's
    told: BoolVector  # whether the slope has a standard error
    shrunk: FloatVector  # the slope's estimate if not, from t
    scales: FloatVector  # ratio of its prior scale to the function's standard error

    def reached(self, ways: FloatVector | float, reach: FloatVector) -> FloatVector:
        """How far up (1) or down (-1) intervals lead that reach so far in the linear model."""
        return np.maximum(*(self._reached(ways, reach, end, self._end(end, reach)) for end in (-1.0, 1.0)))

    def reach_of(self, ways: FloatVector, distances: FloatVector) -> FloatVector:
        """The least reach that leads so far up or down."""
        return np.minimum(*(self._reach_of(ways, distances, end) for end in (-1.0, 1.0)))

    @cached_property
    def _estimates(self) -> FloatVector:
        return self.slopes.slopes + self.slopes.steps

    def _reached(
        self, ways: FloatVector | float, reach: FloatVector, end: float, slopes: FloatVector
    ) -> FloatVector:
        """The same of one end of the slopes' intervals, lower (-1) or upper (1), which lies there."""
        along, middle = ways * end * self.along, ways * self.predictors
        at = np.sqrt(1.0 + PROBIT * self._estimates**2)
        outwards = along + middle * math.sqrt(PROBIT) / at >= 0.0
        with np.errstate(invalid="ignore"):
            steeper = np.maximum(np.sqrt(1.0 + PROBIT * slopes**2) / at - 1.0, 0.0)
            further = np.where(outwards & (middle > 0.0), middle * steeper, 0.0)
            linear, far = self.ratios * reach, end * (slopes - self._estimates)
            longer = outwards & (along > 0.0) & (far > (1.0 + ROUNDING) * linear)
            longer = np.where(longer, np.minimum(along, 1.0 / self.ratios) * (far - linear), 0.0)
        return np.hypot(reach + longer, further)

    def _end(self, end: float, reach: FloatVector) -> FloatVector:
        """Where the slopes' intervals end."""
        far = self.slopes.steps + end * reach * self.ratios
        wide = end * np.maximum(end * far, end * self.shrunk + reach * self.scales)
        curved = self.told & (far * end > 0.0) & (np.abs(far) > FAR)
        ends = np.where(self.told, far, wide)
        ends[curved] = self.slopes[curved].on_curve(far[curved])
        return self.slopes.slopes + ends

    def _reach_of(self, ways: FloatVector, distances: FloatVector, end: float) -> FloatVector:
        nothing, endless = np.zeros(len(distances)), np.full(len(distances), end * np.inf)
        endless = np.isinf(self._reached(ways, nothing, end, endless)) & self.told
        low, high = nothing, np.abs(self._estimates) + _STEEPEST
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            slopes = self._estimates + end * middle
            enough = self._reached(ways, self._reach_to(end, slopes), end, slopes) >= distances
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        slopes = self._estimates + end * high
        found = self._reach_to(end, slopes)
        reaches = endless | (self._reached(ways, found, end, slopes) >= distances)
        return np.where(reaches, np.minimum(found, distances), distances)

    def _reach_to(self, end: float, slopes: FloatVector) -> FloatVector:
        """The reach with which the slopes' intervals end there."""
        away = slopes - self.slopes.slopes
        curved = self.told & (away * end > 0.0) & (np.abs(away) > FAR)
        line = np.maximum(np.minimum(np.abs(self.slopes.seen(away)), np.abs(away)), FAR)
        own = np.maximum(end * (np.where(curved, end * line, away) - self.slopes.steps), 0.0) / self.ratios
        wide = np.maximum(end * (away - self.shrunk), 0.0) / self.scales
        return np.where(self.told, own, np.minimum(own, wide))


def functions_of_slopes(contrasts: Contrasts, information: FloatVector) -> tuple[FunctionsOfSlopes, ...]:
    """Those of each product of a factor and a number that is no part of a longer product.

    They are seen from one level that is half of them or more; of two such levels from the one with less
    ``information``, which is that of cells. Numbers have their standard deviation at the level, or that of
    all rows where it is larger.
    """
    model, rows, centre = contrasts.model, contrasts.rows, contrasts.model.released.centre
    terms = {term.start: term for term in model.released.term_columns}
    within = {term.start: cells for term, cells in model.cells.of_kind("levels")}
    intercept, design, weight = model.cells.intercept, model.design, model.total_weight
    assert intercept is not None
    at, constant = intercept.start, float(intercept.table[0, 0])
    mean_row = design[at] / (constant * weight)
    mean_row[at] = constant
    products = [
        (one, terms[one.product[0]], one.product[1])
        for one in terms.values()
        if one.product is not None and one.product[0] in within
    ]
    largest, found = np.abs(rows).max(axis=1), []
    for term, factor, x in products:
        if any(set(term.label.split(":")) < set(one.label.split(":")) for one in terms.values()):
            continue  # the slope depends on another term, too
        count = len(factor.table)
        # A level's mean row, and what it gains by a unit of the number.
        middles, slopes = np.tile(mean_row, (count, 1)), np.zeros((count, len(centre)))
        middles[:, factor.columns], slopes[:, x] = factor.table, 1.0
        for one, other, number in products:
            scale = math.sqrt(one.bound / (other.bound * terms[number].bound))
            middles[:, one.columns] = scale * middles[:, other.columns] * mean_row[number]
            if number == x:
                slopes[:, one.columns] = scale * middles[:, other.columns]
        corners = slopes[:, term.columns].copy()
        # The number where a row is of the level, and whether it is.
        inside, there = np.zeros((len(centre), count)), model.cells.from_coded[:, within[factor.start]]
        inside[term.columns], inside[x] = corners.T / squared_length(corners), 1.0 / count
        least = max(float(design[x, x]) / weight - mean_row[x] ** 2, 0.0)
        deviations = np.sqrt(np.fmax(_variances(design, inside, there), least))
        slopes *= deviations[:, None]
        told = Contrasts(model, np.vstack([slopes, middles]))
        left = np.abs(np.delete(rows, [x, *range(term.start, term.stop)], axis=1)).max(axis=1)
        alone = left <= ROUNDING * largest
        alone &= np.abs(rows[:, term.columns]).max(axis=1) > ROUNDING * largest
        of_slopes = rows[:, term.columns] @ corners.T / squared_length(corners) + rows[:, [x]] / count
        of_levels = rows[:, factor.columns] @ factor.table.T / squared_length(factor.table)
        shares = np.where(alone[:, None], of_slopes, of_levels + rows[:, [at]] / (constant * count))
        most = np.abs(shares) >= (0.5 - ROUNDING) * np.abs(shares).sum(axis=1, keepdims=True)
        levels = np.where(most, information[within[factor.start]], np.inf).argmin(axis=1)
        here = (np.arange(len(rows)), levels)
        units, spread = np.where(alone, 0.0, shares[here]), deviations[levels]
        starts, estimates = told.rows @ centre + model.released.known(told.rows), told.estimates
        with np.errstate(all="ignore"):
            functions = FunctionsOfSlopes(
                here[0],
                SlopesWithin(starts[count + levels], starts[levels], (estimates - starts)[levels]),
                units * estimates[count + levels],
                (of_slopes[here] - units * mean_row[x]) / spread,
                told.deviations[levels] / contrasts.deviations,
                np.array([one.reported for one in interval_decisions(told)])[levels],
                (told.shrunk - starts)[levels],
                np.sqrt(told.prior)[levels] / contrasts.deviations,
            )
            numbers = functions.predictors + functions.along + functions.ratios + functions.scales
        usable = most[here] & (np.abs(shares[here]) > ROUNDING) & (spread > 0.0)
        found.append(functions[usable & np.isfinite(numbers) & (functions.ratios > 0.0)])
    return tuple(found)


def _variances(design: FloatMatrix, number: FloatMatrix, there: FloatMatrix) -> FloatVector:
    """Of a number at each level, by weight, shape (k,); ``there`` and ``number`` are 0 where rows are not."""
    squares, totals = (np.einsum("ij,ij->j", one, design @ one) for one in (number, there))
    sums = np.einsum("ij,ij->j", there, design @ number)
    with np.errstate(all="ignore"):
        return np.asarray(squares / totals - (sums / totals) ** 2)
