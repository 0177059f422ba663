"""Predictions for new rows, from released coefficients and the public coding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.results.record import FitRecord
from dpglm.typing import BoolVector, FloatVector

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Prediction: TypeAlias = "pd.Series[Any] | NDArray[Any]"
What: TypeAlias = Literal["mean", "link", "class"]

INVERSE_LINKS: dict[str, Callable[[FloatVector], FloatVector]] = {
    "logit": expit,
    "log": np.exp,
    "identity": np.asarray,
}


def predict(record: FitRecord, new: object, *, what: str, interval: object) -> Prediction:
    """One prediction per row of ``new``; see :meth:`FitResult.predict`."""
    if interval is not None:
        raise MethodError(
            "interval asked for in predict",
            expected="interval=None",
            remedy="Leave interval out: intervals need the curvature release, which this fit does not have.",
        )
    if what not in ("mean", "link", "class"):
        raise MethodError(
            f"what={what!r}" if isinstance(what, str) else f"what of type {type(what).__name__}",
            expected="'mean', 'link' or 'class'",
            remedy="Use what='mean' for probabilities, 'link' for the linear predictor, 'class' for levels.",
        )
    if what == "class" and record.link != "logit":
        raise MethodError(
            f"what='class' for a {record.family} fit",
            expected="a binomial fit",
            remedy="Use what='mean'.",
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
    # New rows may be private too: no warning may tell that one of them is extreme.
    with np.errstate(all="ignore"):
        eta = np.asarray(rows, dtype=np.float64) @ record.coded + offset
        usable = np.isfinite(eta)
        eta = np.where(usable, eta, np.nan)
        values: NDArray[Any] = eta
        if what == "mean":
            values = INVERSE_LINKS[record.link](eta)
        elif what == "class":
            values = _classes(eta, usable, response_levels(record))
    return _labelled(values, new, what)


def response_levels(record: FitRecord) -> tuple[object, object]:
    """The two levels of a binomial response: what is coded 0, then what is coded 1.

    A response declared as a number has the levels 0 and 1.
    """
    levels = record.mechanism.get("response_levels")
    if levels is None:
        response = record.formula.partition("~")[0].strip()
        variables = record.schema.get("variables")
        declared = variables.get(response) if isinstance(variables, dict) else None
        levels = declared.get("levels") if isinstance(declared, dict) else None
    if isinstance(levels, list) and len(levels) == 2:
        return levels[0], levels[1]
    return 0, 1


def _classes(eta: FloatVector, usable: BoolVector, levels: tuple[object, object]) -> NDArray[Any]:
    """The more probable level of each row, the first on a tie, NaN where there is no prediction."""
    values = np.full(eta.shape, np.nan, dtype=object)
    values[usable & (eta <= 0.0)] = levels[0]
    values[usable & (eta > 0.0)] = levels[1]
    return values


def _labelled(values: NDArray[Any], new: object, what: str) -> Prediction:
    import pandas as pd

    index = getattr(new, "index", None)
    return pd.Series(values, index=index, name=what) if isinstance(index, pd.Index) else values
