"""Levels near separation: intervals with a longer or an infinite end, and tests that agree with them.

Where nearly all responses of a level are alike, the rarer kind falls off like exp(-step) as the coefficient
moves outwards. A linear model lets it reach nothing after a step of 1, so its interval ends too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy.special import expit

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.linear_model import LinearModel
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Ends are mapped where the rarer response makes less than the first share of a level at t and the interval
# reaches further than `FAR` from t; or less than the second share and the estimate itself is as far.
SEPARATED: Final = 0.05
UNEVEN: Final = 0.25
FAR: Final = 0.5
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Separation:
    r"""How near separation contrasts of levels are at t, in a logistic model.

    Notes
    -----
    With o the outward step from t to the estimate and h the reach of the interval, the outer end moves from
    :math:`t + o + h` to :math:`t - \log(1 - o - h)`, which is further out, and infinite from o + h = 1 on.
    The inner end stays. Outward is away from zero, and a mapped interval reaches outwards beyond t, so it
    contains zero exactly if the one of the linear model does: the test of zero is the same.
    """

    outward: FloatVector  # (k,), 1 or -1, the way to separation; 0 for any other function
    start: FloatVector  # (k,), the functions at t
    rarer: FloatVector  # (k,), share of the rarer response in the most uneven of a function's levels

    @classmethod
    def of(cls, contrasts: Contrasts) -> Self:
        """Each function, at t and the mean of the other terms; without an intercept none is a contrast."""
        model, rows = contrasts.model, contrasts.rows
        centre = model.released.centre
        start = rows @ centre + model.released.known(rows)
        outward, rarer = np.zeros(len(rows)), np.ones(len(rows))
        intercept = model.cells.intercept
        if intercept is None:
            return cls(outward, start, rarer)
        means = {term.start: _mean_predictor(model, intercept, term) for term in model.released.term_columns}
        everything = float(intercept.table[0] @ centre[intercept.columns]) + sum(means.values())
        for term, _ in model.cells.of_kind("levels"):
            predictors = everything - means[term.start] + term.table @ centre[term.columns]
            for j in np.flatnonzero(_only_in(rows, term)):
                # Contrasts of levels: their weights are the row itself, seen from each corner.
                weights = term.table @ rows[j, term.columns]
                most = np.abs(weights) >= (1.0 - _ROUNDING) * np.abs(weights).max()
                at = max(np.flatnonzero(most), key=lambda level: abs(predictors[level]))
                way = float(np.sign(weights[at]) * np.sign(predictors[at]))
                if way * start[j] >= 0.0:
                    outward[j], rarer[j] = way, expit(-abs(predictors[at]))
        return cls(outward, start, rarer)

    def mapped(self, estimates: FloatVector, reach: FloatVector) -> BoolVector:
        """Which intervals ``estimates +- reach`` end too early, shape (k,)."""
        step = self.outward * (estimates - self.start)
        separated = (self.rarer < SEPARATED) & (step + reach > FAR)
        return np.asarray((self.outward != 0.0) & (separated | ((self.rarer < UNEVEN) & (step > FAR))))

    def ends(self, estimates: FloatVector, reach: FloatVector) -> FloatMatrix:
        """Lower and upper ends of intervals that reach this far in the linear model, shape (k, 2).

        They rise with ``reach``; an end may be infinite, and is NaN with the estimate.
        """
        ends = np.column_stack([estimates - reach, estimates + reach])
        far = self.outward * (estimates - self.start) + reach
        with np.errstate(divide="ignore", invalid="ignore"):
            outer = self.start - self.outward * np.log1p(-np.minimum(far, 1.0))
        for j in np.flatnonzero(self.mapped(estimates, reach) & ~np.isnan(far)):
            ends[j, int(self.outward[j] > 0.0)] = outer[j]
        return ends

    def reach_of(self, estimates: FloatVector, values: FloatVector) -> FloatVector:
        """The least reach with which an interval contains each value, shape (k,): `ends`, solved for it."""
        step = self.outward * (estimates - self.start)
        distance = self.outward * (values - self.start)
        mapped = np.maximum(-np.expm1(-np.maximum(distance, 0.0)) - step, 0.0)
        late = np.where(distance > FAR, np.maximum(mapped, FAR - step), distance - step)
        outer = np.where((self.rarer < UNEVEN) & (step > FAR), mapped, late)
        nearby = (self.outward != 0.0) & (self.rarer < UNEVEN) & ((self.rarer < SEPARATED) | (step > FAR))
        return np.where(nearby & (distance > step), outer, np.abs(values - estimates))


def _only_in(rows: FloatMatrix, term: TermColumns) -> BoolVector:
    """Which functions are of the coefficients of one term, shape (k,)."""
    size = np.abs(rows)
    largest = size.max(axis=1)
    size[:, term.columns] = 0.0
    return np.asarray((largest > 0.0) & (size.max(axis=1) <= _ROUNDING * largest))


def _mean_predictor(model: LinearModel, intercept: TermColumns, term: TermColumns) -> float:
    """What a term adds to the linear predictor at t, mean over rows by weight, within what it can add."""
    if term.kind == "intercept":
        return 0.0
    inside = model.released.centre[term.columns]
    at = intercept.start
    constant = float(intercept.table[0, 0])
    weight = max(float(model.design[at, at]), model.released.information_scale)
    mean = constant * float(model.design[at, term.columns] @ inside) / weight
    if term.kind == "levels":
        among = term.table @ inside
        return float(np.clip(mean, among.min(), among.max()))
    most = float(np.sqrt(term.bound * (inside @ inside)))
    return float(np.clip(mean, -most, most))
