"""Intervals and tests of the debiased estimates, and the notes on those that need one.

All of it is computed from released numbers alone. Tests and intervals belong to the *debiased* estimates of
the released linear model, which no penalty shrinks: an interval is valid whatever was selected.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import ndtri

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts, false_coverage_level, two_sided_pvalues
from dpglm.inference.separation import Separation
from dpglm.postprocessing.record import FitRecord
from dpglm.tables.table import coefficient
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# An estimate beyond this many declared prior scales is named: it is a surprise to what was declared.
SURPRISE: Final = 2.0
MOST_NAMES: Final = 8


def selected(record: FitRecord) -> BoolVector:
    """Which coefficients were selected and are not exactly zero, shape (p,)."""
    return np.asarray(record.selected_mask & (record.estimates != 0.0))


def p_values(record: FitRecord) -> FloatVector:
    """Two-sided p-values of "this coefficient is zero", shape (p,); NaN where there is no interval.

    Below 1 - level exactly where the interval of that level leaves zero out.
    """
    return two_sided_pvalues(record.debiased, record.standard_errors)


def intervals(record: FitRecord, level: float, adjust: str | None = None) -> FloatMatrix:
    """Lower and upper ends, shape (p, 2), see :meth:`FitResult.conf_int`; NaN where there is no interval."""
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
    near = separation(record, record.contrasts)
    return np.column_stack([centre - reach, centre + reach]) if near is None else near.ends(centre, reach)


def interval_end(value: float) -> str:
    """`coefficient`, and ``"inf"`` or ``"-inf"`` for an interval without that end."""
    return f"{value:g}" if math.isinf(value) else coefficient(value)


def quantile(level: float) -> float:
    """How many standard errors reach to each side of an interval of this coverage."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise MethodError(
            f"level={level!r}" if isinstance(level, int | float) else f"level of type {type(level).__name__}",
            expected="a number between 0 and 1",
            remedy="Use level=0.95.",
        )
    return float(ndtri(0.5 + level / 2.0))


def separation(record: FitRecord, contrasts: Contrasts | None) -> Separation | None:
    """How near separation functions of the coefficients are; None where no level can be separated."""
    if contrasts is None or record.link != "logit":
        return None
    with np.errstate(all="ignore"):
        return Separation.of(contrasts)


def caveats(record: FitRecord) -> tuple[str, ...]:
    """Sentences on estimates far beyond their declared scale, and on intervals that separation widens."""
    notes = []
    if names := surprises(record):
        notes.append(
            f"Beyond {SURPRISE:g} declared prior scales, and perhaps still drawn towards 0: {listed(names)}. "
            "Neighbours may be biased, too. A larger declared effect in the schema helps another fit."
        )
    if sides := _separated(record):
        notes.append(
            "Nearly all responses of a level, or of the one it is compared with, are alike; "
            f"the interval is longer than the standard error says: {'; '.join(sides)}."
        )
    return tuple(notes)


def surprises(record: FitRecord) -> tuple[str, ...]:
    """Names of coefficients whose estimate exceeds `SURPRISE` declared prior scales."""
    if record.released is None:
        return ()
    scales = np.sqrt((record.user_from_coded**2) @ record.released.prior_variance)
    far = np.abs(record.debiased) > SURPRISE * scales
    return _names(record, far & (np.array(record.names) != "Intercept"))


def listed(names: tuple[str, ...]) -> str:
    """Names, the last ones counted only."""
    if len(names) <= MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"


def _separated(record: FitRecord) -> list[str]:
    """Coefficients whose 95 % interval is longer, or has no end, on one side."""
    near = separation(record, record.contrasts)
    if near is None:
        return []
    centre, reach = record.debiased, quantile(0.95) * record.standard_errors
    mapped = near.mapped(centre, reach)
    endless = np.isinf(near.ends(centre, reach)).any(axis=1)
    groups = {
        f"{words} {side}": mapped & which & (near.outward == sign)
        for words, which in (("without end", endless), ("longer", ~endless))
        for side, sign in (("upwards", 1.0), ("downwards", -1.0))
    }
    return [f"{listed(_names(record, here))} ({words})" for words, here in groups.items() if here.any()]


def _names(record: FitRecord, which: BoolVector) -> tuple[str, ...]:
    return tuple(name for name, taken in zip(record.names, which, strict=True) if taken)
