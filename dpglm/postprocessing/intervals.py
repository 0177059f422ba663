"""Intervals and tests of the debiased estimates, and the notes on those that need one.

All of it is computed from released numbers alone. Tests and intervals belong to the *debiased* estimates of
the released linear model, which no penalty shrinks: an interval is valid whatever was selected.

A coefficient about which too little was released has a wide interval without a standard error: it rests
mostly on the prior scale.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.special import ndtri

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts, two_sided_pvalues
from dpglm.inference.selection import false_coverage_level
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.outer_ends import PLAIN, OuterEnds, only_in
from dpglm.postprocessing.record import FitRecord
from dpglm.registry import require_word
from dpglm.typing import BoolVector, FloatMatrix, FloatVector, is_intercept

# An estimate beyond so many prior scales, declared or default, is named: it is a surprise.
SURPRISE: Final = 2.0
MOST_NAMES: Final = 8
# The summary names intervals if one end is so many times as far away as the standard error says, and why.
MUCH_LONGER: Final = 1.5
SEPARATION: Final = "Nearly all responses of a level, or of the one it is compared with, may be alike"
FURTHER: Final = "Away from zero the interval reaches further out than the standard error says"
WITHOUT_LEVELS: Final = (
    "Without the levels themselves, slopes within rare levels may be stronger than intervals say"
)
STEEPNESS: Final = "Noise may hide that a number has a far stronger effect within a level"


def selected(record: FitRecord) -> BoolVector:
    """Which coefficients were selected and are not exactly zero, shape (p,)."""
    return np.asarray(record.selected_mask & (record.estimates != 0.0))


def p_values(record: FitRecord) -> FloatVector:
    """Two-sided p-values of "this coefficient is zero", shape (p,); NaN where there is no standard error.

    Below 1 - level exactly where the interval of that level leaves zero out.
    """
    near, centre = outer_ends(record, record.contrasts), record.debiased
    if near is None:
        return two_sided_pvalues(centre, record.standard_errors)
    with np.errstate(invalid="ignore"):
        reach = near.reach_of(centre, np.zeros(len(centre)))
    return two_sided_pvalues(reach, record.standard_errors)


def intervals(record: FitRecord, level: float, adjust: str | None = None) -> FloatMatrix:
    """Lower and upper ends, shape (p, 2), see :meth:`FitResult.conf_int`; NaN where there is no interval.

    Those without a standard error are wide, see `wide_intervals`.
    """
    remedy = "Use adjust='fcr' for the false coverage rate of the selected list."
    require_word("adjust", adjust, (None, "fcr"), remedy)
    critical, chosen = quantile(level), record.reported & selected(record)
    if adjust == "fcr" and chosen.any():  # each has the level 1 - (1 - level) R / m, R selected of m
        given = int(record.reported.sum())
        critical = quantile(false_coverage_level(int(chosen.sum()), given, 1.0 - level))
    near = outer_ends(record, record.contrasts)
    own = ends(near, record.debiased, critical * record.standard_errors)
    if adjust == "fcr":
        return np.where(chosen[:, None], own, np.nan)
    if record.contrasts is None:
        return own
    return np.where(record.reported[:, None], own, wide_intervals(near, record.contrasts, critical))


def wide_intervals(near: OuterEnds | None, contrasts: Contrasts, critical: float) -> FloatMatrix:
    """Intervals that rest mostly on prior scales, shape (k, 2), ``critical`` deviations to each side.

    The shortest that hold the interval of the linear model and as many prior scales to each side of the
    estimate. The first alone is too short where noise passes for information, the second where a
    coefficient is far larger than its prior scale says. One that cannot be computed has no end.
    """
    with np.errstate(all="ignore"):
        own = ends(near, contrasts.estimates, critical * contrasts.deviations, wide=True)
        reach = critical * np.sqrt(contrasts.prior)
        low = np.minimum(own[:, 0], contrasts.shrunk - reach)
        high = np.maximum(own[:, 1], contrasts.shrunk + reach)
    return np.column_stack([np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)])


def ends(
    near: OuterEnds | None, centre: FloatVector, reach: FloatVector, *, wide: bool = False
) -> FloatMatrix:
    """Ends of k intervals ``centre +- reach``, shape (k, 2), or further out: see `OuterEnds`."""
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
    """How far out intervals reach; None where the standard error says it."""
    elsewhere = record.link not in ("logit", "identity")
    if contrasts is None or record.released is None or record.exact or elsewhere:
        return None
    with np.errstate(all="ignore"):
        return OuterEnds.of(contrasts, record.released.prior_variance)


def caveats(record: FitRecord) -> tuple[str, ...]:
    """Sentences on estimates far beyond their declared scale, and on intervals that reach far out."""
    notes = []
    if names := surprises(record):
        notes.append(
            f"Beyond {SURPRISE:g} prior scales, and perhaps still drawn towards 0: {listed(names)}. "
            "Neighbours may be biased, too. A larger declared effect in the schema helps another fit."
        )
    if record.link == "logit" and record.contrasts is not None:
        terms = record.contrasts.model.released.term_columns
        kinds = {term.label: term.kind for term in terms}
        parts = [[kinds.get(part) for part in label.split(":")] for label in kinds]
        alone = [label for label, of in zip(kinds, parts, strict=True) if None in of and "slope" in of]
        notes += [f"{WITHOUT_LEVELS}: {', '.join(alone)}. Write * in place of :."] if alone else []
    near = outer_ends(record, record.contrasts)
    if near is not None and record.link == "identity":
        length = np.ptp(near.ends(record.debiased, np.zeros(len(record.names))), axis=1)
        further = _names(record, record.reported & (length > 0.0))
        return (*notes, f"{FURTHER}: {listed(further)}.") if further else tuple(notes)
    for why, slopes in ((SEPARATION, False), (STEEPNESS, True)):
        if near is not None and (sides := _longer(record, near, slopes=slopes)):
            notes.append(f"{why}; the interval is longer than the standard error says: {'; '.join(sides)}.")
    return tuple(notes)


def surprises(record: FitRecord) -> tuple[str, ...]:
    """Names of coefficients whose estimate exceeds `SURPRISE` prior scales."""
    return _names(record, _surprising(record))


def reliable(record: FitRecord) -> BoolVector:
    """Which coefficients have an interval that does not rest on their prior scale, shape (p,)."""
    return np.asarray(record.reported & ~(_surprising(record) & marks_surprises(record)))


def marks_surprises(record: FitRecord) -> bool:
    """Whether an interval is not reliable where its estimate is `surprising`.

    In a logistic fit it only reaches further out: a mark that takes the large estimates out would leave
    intervals of the small ones, which miss.
    """
    return record.link != "logit"


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

    Contrasts of levels in a logistic fit do not count: their outer ends are far out as it is.
    """
    size, plain = np.abs(centre), PLAIN * contrasts.deviations
    far = (size > SURPRISE * np.sqrt(variances)) & (size < plain) & (not record.exact)
    if record.link == "logit":
        for term, _ in contrasts.model.cells.of_kind("levels"):
            far = far & ~only_in(contrasts.rows, term)
    return far


def listed(names: tuple[str, ...]) -> str:
    """Names, the last ones counted only."""
    if len(names) <= MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"


def _longer(record: FitRecord, near: OuterEnds, *, slopes: bool) -> list[str]:
    """Coefficients whose 95 % interval is longer, or has no end, on one side; slopes in levels, or others."""
    centre, reach = record.debiased, quantile(0.95) * record.standard_errors
    ends, plain = (one.ends(centre, reach) for one in (near, replace(near, slopes=())))
    outward, least = near.outward.copy(), np.where(near.mapped(centre, reach), MUCH_LONGER * reach, np.inf)
    for j, way, _ in near.predictors:
        least[j], outward[j] = np.finfo(np.float64).max, way
    separated = np.where(outward > 0.0, plain[:, 1] - centre, centre - plain[:, 0]) > least
    taken = (ends != plain).any(axis=1) & ~separated if slopes else separated
    least = np.where(taken, MUCH_LONGER * reach, np.inf)
    lengths = {"upwards": (1.0, ends[:, 1] - centre), "downwards": (-1.0, centre - ends[:, 0])}
    groups = {
        f"{words} {side}": (length > least) & (np.isinf(length) == endless) & (slopes | (outward == sign))
        for words, endless in (("without end", True), ("longer", False))
        for side, (sign, length) in lengths.items()
    }
    return [f"{listed(_names(record, here))} ({words})" for words, here in groups.items() if here.any()]


def _names(record: FitRecord, which: BoolVector) -> tuple[str, ...]:
    return tuple(name for name, taken in zip(shown_names(record), which, strict=True) if taken)
