"""Predictions for new rows, from released coefficients and the public coding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.interval_decision import interval_decisions
from dpglm.postprocessing.missing_intervals import no_intervals
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import quantile
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Prediction: TypeAlias = "pd.Series[Any] | pd.DataFrame | NDArray[Any]"
What: TypeAlias = Literal["mean", "link", "class"]

INVERSE_LINKS: dict[str, Callable[[FloatVector], FloatVector]] = {
    "logit": expit,
    "log": np.exp,
    "identity": np.asarray,
}


# The link of losses that are no likelihoods: what a linear predictor means is its sign.
MARGIN = "margin"
ROWS = 2048  # contrasts at once: a few matrices of p by this many doubles


def predict(record: FitRecord, new: object, *, what: str, interval: float | None) -> Prediction:
    """One prediction per row of ``new``; see :meth:`FitResult.predict`."""
    critical = None if interval is None else quantile(interval)
    if what not in ("mean", "link", "class"):
        raise MethodError(
            f"what={what!r}" if isinstance(what, str) else f"what of type {type(what).__name__}",
            expected="'mean', 'link' or 'class'",
            remedy="Use what='mean' for probabilities, 'link' for the linear predictor, 'class' for levels.",
        )
    if critical is not None and what == "class" and record.link != MARGIN:
        raise MethodError(
            "an interval for what='class'",
            expected="what='mean' or 'link'",
            remedy="Use what='mean': an interval of the probability of the second level.",
        )
    if critical is not None and record.contrasts is None:
        raise MethodError(
            f"an interval from a result without standard errors: {no_intervals(record)}",
            expected="a fit with a released curvature",
            remedy="Leave interval out.",
        )
    if what == "class" and record.link not in ("logit", MARGIN):
        raise MethodError(
            f"what='class' for a {record.family} fit",
            expected="a fit of a response with two levels",
            remedy="Use what='mean'.",
        )
    if what == "mean" and record.link == MARGIN:
        raise MethodError(
            f"what='mean' for a {record.family} fit, whose loss models no probability",
            expected="what='class' or 'link'",
            remedy="Use what='class' for levels, 'link' for the linear predictor, whose sign says which; "
            "or family='binomial' for probabilities.",
        )
    if what == "mean" and record.link not in INVERSE_LINKS:
        raise MethodError(
            f"what='mean' with the link {record.link!r}",
            expected=f"one of the links {', '.join(sorted(INVERSE_LINKS))}",
            remedy="Use what='link' and apply the inverse link to it.",
        )
    if record.row_map is None:
        raise MethodError(
            "a result without the map from rows to columns",
            expected="a result of dpglm.fit or dpglm.load",
            remedy="Read the saved result with dpglm.load(path).",
        )
    rows, offset = record.row_map.coded(new)
    rows = np.asarray(rows, dtype=np.float64)
    # New rows may be private too: no warning may tell that one of them is extreme.
    with np.errstate(all="ignore"):
        eta = (rows @ record.coded if record.stack is None else record.stack.link(rows)) + offset
        usable = np.isfinite(eta)
        eta = np.where(usable, eta, np.nan)
        values: NDArray[Any] = eta
        if what == "mean":
            values = INVERSE_LINKS[record.link](eta)
        elif what == "class":
            values = _classes(eta, usable, response_levels(record))
        if critical is None:
            return _labelled(values, new, what)
        centre, error = _contrasts(record, rows)
        ends = [centre + offset + side * critical * error for side in (-1.0, 1.0)]
        if what == "mean":
            ends = [INVERSE_LINKS[record.link](end) for end in ends]
    return _framed(values, ends, new)


def _contrasts(record: FitRecord, rows: FloatMatrix) -> tuple[FloatVector, FloatVector]:
    """Debiased linear predictor of each row and its standard error, NaN where there is no interval."""
    assert record.contrasts is not None
    centre, error = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    usable = np.flatnonzero(np.isfinite(rows).all(axis=1) & rows.any(axis=1))
    for start in range(0, len(usable), ROWS):
        places = usable[start : start + ROWS]
        found = Contrasts(record.contrasts.model, rows[places])
        kept = np.array([verdict.reported for verdict in interval_decisions(found)])
        centre[places] = np.where(kept, found.estimates, np.nan)
        error[places] = np.where(kept, found.deviations, np.nan)
    return centre, error


def response_name(record: FitRecord) -> str:
    """The column of the response."""
    name = record.mechanism.get("response")
    return name if isinstance(name, str) else record.formula.partition("~")[0].strip()


def response_levels(record: FitRecord) -> tuple[object, object]:
    """The two levels of a binary response: what is coded 0, then what is coded 1.

    A response declared as a number has the levels 0 and 1.
    """
    levels = record.mechanism.get("response_levels")
    if levels is None:
        variables = record.schema.get("variables")
        declared = variables.get(response_name(record)) if isinstance(variables, dict) else None
        levels = declared.get("levels") if isinstance(declared, dict) else None
    if isinstance(levels, list) and len(levels) == 2:
        return levels[0], levels[1]
    return 0, 1


def _classes(eta: FloatVector, usable: BoolVector, levels: tuple[object, object]) -> NDArray[Any]:
    """The level of each row by the sign of eta, the first on a tie, NaN where there is no prediction."""
    values = np.full(eta.shape, np.nan, dtype=object)
    values[usable & (eta <= 0.0)] = levels[0]
    values[usable & (eta > 0.0)] = levels[1]
    return values


def _labelled(values: NDArray[Any], new: object, what: str) -> Prediction:
    import pandas as pd

    index = getattr(new, "index", None)
    return pd.Series(values, index=index, name=what) if isinstance(index, pd.Index) else values


def _framed(values: NDArray[Any], ends: list[FloatVector], new: object) -> pd.DataFrame:
    import pandas as pd

    index = getattr(new, "index", None)
    columns = {"prediction": values, "conf_low": ends[0], "conf_high": ends[1]}
    return pd.DataFrame(columns, index=index if isinstance(index, pd.Index) else None)
