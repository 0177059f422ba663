"""Intervals and tests of the debiased estimates, and the notes on those that need one.

All of it is computed from released numbers alone. Tests and intervals belong to the *debiased* estimates of
the released linear model, which no penalty shrinks: an interval is valid whatever was selected.

Near separation, where nearly all responses of a level are alike, the rarer kind falls off like exp(-step) as
the coefficient moves outwards. A linear model lets it reach nothing after a step of 1, so its interval ends
too early: the outer end is mapped further out, and may be infinite.

A coefficient about which too little was released has a wide interval without a standard error: it rests
mostly on the prior scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from scipy.special import expit, ndtri

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts, false_coverage_level, two_sided_pvalues
from dpglm.inference.linear_model import LinearModel
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, is_intercept

# An estimate beyond the first many prior scales, declared or default, is named: it is a surprise. One of the
# second many standard errors is drawn to 0 by next to nothing.
SURPRISE, PLAIN = 2.0, 10.0
MOST_NAMES: Final = 8


def selected(record: FitRecord) -> BoolVector:
    """Which coefficients were selected and are not exactly zero, shape (p,)."""
    return np.asarray(record.selected_mask & (record.estimates != 0.0))


def p_values(record: FitRecord) -> FloatVector:
    """Two-sided p-values of "this coefficient is zero", shape (p,); NaN where there is no standard error.

    Below 1 - level exactly where the interval of that level leaves zero out.
    """
    return two_sided_pvalues(record.debiased, record.standard_errors)


def intervals(record: FitRecord, level: float, adjust: str | None = None) -> FloatMatrix:
    """Lower and upper ends, shape (p, 2), see :meth:`FitResult.conf_int`; NaN where there is no interval.

    Those without a standard error are wide, see `wide_intervals`.
    """
    if adjust not in (None, "fcr"):
        raise MethodError(
            f"adjust={adjust!r}" if isinstance(adjust, str) else f"adjust of type {type(adjust).__name__}",
            expected="None or 'fcr'",
            remedy="Use adjust='fcr' for the false coverage rate of the selected list.",
        )
    critical = quantile(level)
    centre = record.debiased
    if adjust == "fcr":  # each has the level 1 - (1 - level) R / m, with R selected of m with an interval
        given = record.reported
        chosen = given & selected(record)
        if chosen.any():
            critical = quantile(false_coverage_level(int(chosen.sum()), int(given.sum()), 1.0 - level))
        centre = np.where(chosen, centre, np.nan)
    reach = critical * record.standard_errors
    own = ends(record, record.contrasts, centre, reach)
    if adjust is not None or record.contrasts is None:
        return own
    return np.where(record.reported[:, None], own, wide_intervals(record, record.contrasts, critical))


def wide_intervals(record: FitRecord, contrasts: Contrasts, critical: float) -> FloatMatrix:
    """Intervals that rest mostly on prior scales, shape (k, 2), ``critical`` deviations to each side.

    The shortest that hold the interval of the linear model and as many prior scales to each side of the
    estimate. The first alone is too short where noise passes for information, the second where a
    coefficient is far larger than its prior scale says. One that cannot be computed has no end.
    """
    with np.errstate(all="ignore"):
        own = ends(record, contrasts, contrasts.estimates, critical * contrasts.deviations, wide=True)
        reach = critical * np.sqrt(contrasts.prior)
        low = np.minimum(own[:, 0], contrasts.shrunk - reach)
        high = np.maximum(own[:, 1], contrasts.shrunk + reach)
    return np.column_stack([np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)])


def ends(
    record: FitRecord,
    contrasts: Contrasts | None,
    centre: FloatVector,
    reach: FloatVector,
    *,
    wide: bool = False,
) -> FloatMatrix:
    """Ends of k intervals ``centre +- reach``, shape (k, 2); in a logistic model by `OuterEnds`."""
    near = outer_ends(record, contrasts)
    if near is None:
        return np.column_stack([centre - reach, centre + reach])
    return near.ends(centre, reach, wide=wide)


def quantile(level: float) -> float:
    """How many standard errors reach to each side of an interval of this coverage."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise MethodError(
            f"level={level!r}" if isinstance(level, int | float) else f"level of type {type(level).__name__}",
            expected="a number between 0 and 1",
            remedy="Use level=0.95.",
        )
    return float(ndtri(0.5 + level / 2.0))


def outer_ends(record: FitRecord, contrasts: Contrasts | None) -> OuterEnds | None:
    """How far out intervals of a logistic fit reach; None where the standard error says it."""
    if contrasts is None or record.link != "logit" or record.exact:
        return None
    with np.errstate(all="ignore"):
        return OuterEnds.of(contrasts)


def caveats(record: FitRecord) -> tuple[str, ...]:
    """Sentences on estimates far beyond their declared scale, and on intervals that separation widens."""
    notes = []
    if names := surprises(record):
        notes.append(
            f"Beyond {SURPRISE:g} prior scales, and perhaps still drawn towards 0: {listed(names)}. "
            "Neighbours may be biased, too. A larger declared effect in the schema helps another fit."
        )
    if sides := _separated(record):
        notes.append(
            "Nearly all responses of a level, or of the one it is compared with, are alike; "
            f"the interval is longer than the standard error says: {'; '.join(sides)}."
        )
    return tuple(notes)


def surprises(record: FitRecord) -> tuple[str, ...]:
    """Names of coefficients whose estimate exceeds `SURPRISE` prior scales."""
    return _names(record, _surprising(record))


def reliable(record: FitRecord) -> BoolVector:
    """Which coefficients have an interval that does not rest on their prior scale, shape (p,)."""
    return np.asarray(record.reported & ~_surprising(record))


def _surprising(record: FitRecord) -> BoolVector:
    if record.released is None or record.contrasts is None:
        return np.zeros(len(record.names), dtype=np.bool_)
    declared = (record.user_from_coded**2) @ record.released.prior_variance
    far = surprising(record, record.contrasts, record.debiased, declared)
    return np.asarray(far & [not is_intercept(name) for name in record.names])


def surprising(
    record: FitRecord, contrasts: Contrasts, centre: FloatVector, variances: FloatVector
) -> BoolVector:
    """Which functions exceed `SURPRISE` prior scales and are not `PLAIN`, shape (k,): they may be drawn to 0.

    Contrasts of levels in a logistic fit do not count: their outer ends are far out as it is, and a mark that
    takes the large estimates out would leave intervals of the small ones, which miss.
    """
    size, plain = np.abs(centre), PLAIN * contrasts.deviations
    far = (size > SURPRISE * np.sqrt(variances)) & (size < plain) & (not record.exact)
    if record.link == "logit":
        for term, _ in contrasts.model.cells.of_kind("levels"):
            far = far & ~_only_in(contrasts.rows, term)
    return far


def listed(names: tuple[str, ...]) -> str:
    """Names, the last ones counted only."""
    if len(names) <= MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"


def _separated(record: FitRecord) -> list[str]:
    """Coefficients whose 95 % interval is longer, or has no end, on one side."""
    near = outer_ends(record, record.contrasts)
    if near is None:
        return []
    centre, reach = record.debiased, quantile(0.95) * record.standard_errors
    endless = np.asarray(np.isinf(near.ends(centre, reach)).any(axis=1))
    mapped, outward = near.mapped(centre, reach).copy(), near.outward.copy()
    for j, way, _ in near.predictors:
        mapped[j], outward[j] = endless[j], way
    groups = {
        f"{words} {side}": mapped & which & (outward == sign)
        for words, which in (("without end", endless), ("longer", ~endless))
        for side, sign in (("upwards", 1.0), ("downwards", -1.0))
    }
    return [f"{listed(_names(record, here))} ({words})" for words, here in groups.items() if here.any()]


def _names(record: FitRecord, which: BoolVector) -> tuple[str, ...]:
    return tuple(name for name, taken in zip(shown_names(record), which, strict=True) if taken)


# Ends are mapped where the rarer response makes less than the first share of a level at t and the interval
# reaches further than `FAR` from t; or less than the second share and the estimate itself is as far.
SEPARATED: Final = 0.05
UNEVEN: Final = 0.4
FAR: Final = 0.3
# The same for intervals that are wide anyway: with the numbers above many would have no end for noise alone.
UNEVEN_WIDE: Final = 0.25
FAR_WIDE: Final = 0.5
# The step from t to an estimate ends too early where noise is large: by up to this share of it.
SHORT: Final = 0.2
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class OuterEnds:
    r"""Outer ends of intervals in a logistic model, whose rows weigh less the further out coefficients are.

    Notes
    -----
    The information at t says how fast the score falls there, and the linear model what it is on the way to
    the estimate if predictors are normal. A step that leads away from zero may be longer than that: the
    interval's outer end lies the share `SHORT` of the step further out.

    A contrast of levels near separation needs more. With o the outward step from t to the estimate and h the
    reach of the interval, its outer end moves from :math:`t + o + h` to :math:`t - \log(1 - o - h)`, which is
    infinite from o + h = 1 on. The inner end stays. Outward is away from zero, and a mapped interval reaches
    outwards beyond t, so that the test of zero is that of the linear model.

    The intercept is the predictor at the reference level, which is that of another level less their contrast.
    Where all contrasts with that level end further out, so does the intercept, by the least of them, unless
    that would let zero in.
    """

    outward: FloatVector  # (k,), 1 or -1, the way to separation; 0 for any other function
    start: FloatVector  # (k,), the functions at t
    rarer: FloatVector  # (k,), share of the rarer response in the most uneven of a function's levels
    # Predictors at a level that contrasts are most uneven at: place, way to separation, places of these.
    predictors: tuple[tuple[int, float, tuple[int, ...]], ...] = ()

    @classmethod
    def of(cls, contrasts: Contrasts) -> Self:
        """Each function, at t and the mean of the other terms; without an intercept none is looked at."""
        model, rows = contrasts.model, contrasts.rows
        centre = model.released.centre
        start = rows @ centre + model.released.known(rows)
        outward, rarer = np.zeros(len(rows)), np.ones(len(rows))
        found: list[tuple[int, float, tuple[int, ...]]] = []
        intercept = model.cells.intercept
        if intercept is None:
            return cls(outward, start, rarer)
        constant = np.isclose(rows[:, intercept.start], intercept.table[0, 0], rtol=_ROUNDING, atol=0.0)
        means = {term.start: _mean_predictor(model, intercept, term) for term in model.released.term_columns}
        everything = float(intercept.table[0] @ centre[intercept.columns]) + sum(means.values())
        for term, _ in model.cells.of_kind("levels"):
            predictors = everything - means[term.start] + term.table @ centre[term.columns]
            contrasted: dict[int, list[int]] = {}
            for j in np.flatnonzero(_only_in(rows, term)).tolist():
                # Contrasts of levels: their weights are the row itself, seen from each corner.
                weights = term.table @ rows[j, term.columns]
                most = np.abs(weights) >= (1.0 - _ROUNDING) * np.abs(weights).max()
                at = max(np.flatnonzero(most).tolist(), key=lambda level: abs(predictors[level]))
                way = float(np.sign(weights[at]) * np.sign(predictors[at]))
                if way * start[j] >= 0.0:
                    outward[j], rarer[j] = way, expit(-abs(predictors[at]))
                    alike = (weights * predictors * way > 0.0) & (expit(-np.abs(predictors)) < SEPARATED)
                    for level in {at, *np.flatnonzero(most & alike).tolist()}:
                        contrasted.setdefault(level, []).append(j)
            for at, places in contrasted.items():  # predictors at these levels, as seen from their corners
                apart = np.abs(rows[:, term.columns] - term.table[at]).max(axis=1)
                here = np.flatnonzero(constant & (apart <= _ROUNDING * np.abs(term.table).max()))
                found += [(j, float(np.sign(predictors[at])), tuple(places)) for j in here.tolist()]
        return cls(outward, start, rarer, tuple(found))

    def mapped(self, estimates: FloatVector, reach: FloatVector, *, wide: bool = False) -> BoolVector:
        """Which intervals ``estimates +- reach`` end too early, shape (k,)."""
        uneven, apart = (UNEVEN_WIDE, FAR_WIDE) if wide else (UNEVEN, FAR)
        step = self.outward * (estimates - self.start)
        separated = (self.rarer < SEPARATED) & (step + reach > apart)
        return np.asarray((self.outward != 0.0) & (separated | ((self.rarer < uneven) & (step > apart))))

    def ends(self, estimates: FloatVector, reach: FloatVector, *, wide: bool = False) -> FloatMatrix:
        """Lower and upper ends of intervals that reach this far in the linear model, shape (k, 2).

        They rise with ``reach``; an end may be infinite, and is NaN with the estimate.
        """
        below, above = self._left(estimates)
        plain = np.column_stack([estimates - reach - below, estimates + reach + above])
        ends = plain.copy()
        far = self.outward * (estimates - self.start) + reach
        with np.errstate(divide="ignore", invalid="ignore"):
            outer = self.start - self.outward * np.log1p(-np.minimum(far, 1.0))
        for j in np.flatnonzero(self.mapped(estimates, reach, wide=wide) & ~np.isnan(far)).tolist():
            place, furthest = (1, max) if self.outward[j] > 0.0 else (0, min)
            ends[j, place] = furthest(ends[j, place], outer[j])
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
        return abs(float(ends[k, place] - plain[k, place]))

    def reach_of(self, estimates: FloatVector, values: FloatVector) -> FloatVector:
        """The least reach with which an interval contains each value, shape (k,): `ends`, solved for it."""
        below, above = self._left(estimates)
        plain = np.maximum(np.maximum(values - estimates - above, estimates - values - below), 0.0)
        step = self.outward * (estimates - self.start)
        distance = self.outward * (values - self.start)
        mapped = np.maximum(-np.expm1(-np.maximum(distance, 0.0)) - step, 0.0)
        late = np.where(distance > FAR, np.maximum(mapped, FAR - step), distance - step)
        outer = np.where((self.rarer < UNEVEN) & (step > FAR), mapped, late)
        nearby = (self.outward != 0.0) & (self.rarer < UNEVEN) & ((self.rarer < SEPARATED) | (step > FAR))
        return np.where(nearby & (distance > step), np.minimum(outer, plain), plain)

    def _left(self, estimates: FloatVector) -> tuple[FloatVector, FloatVector]:
        """How much further down and up steps that lead away from zero may go, shape (k,) each."""
        step = estimates - self.start
        left = np.where(step * estimates > 0.0, SHORT * np.abs(step), 0.0)
        return np.where(estimates < 0.0, left, 0.0), np.where(estimates > 0.0, left, 0.0)


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
    mean = float(model.design[at, term.columns] @ inside) / (constant * model.total_weight)
    if term.kind == "levels":
        among = term.table @ inside
        return float(np.clip(mean, among.min(), among.max()))
    most = float(np.sqrt(term.bound * (inside @ inside)))
    return float(np.clip(mean, -most, most))
