"""Predictions for new rows from released coefficients, and the area under their ROC curve (AUC)."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import no_intervals, quantile
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
WORDS = {"false": 0.0, "true": 1.0}
ROWS = 2048  # contrasts at once: a few matrices of p by this many doubles


def predict(record: FitRecord, new: object, *, what: str, interval: float | None) -> Prediction:
    """One prediction per row of ``new``.

    Parameters
    ----------
    record : FitRecord
    new : DataFrame, Arrow table or path
        Rows with the formula's variables; the response is not needed.
    what : {"mean", "link", "class"}
        Expected response (a probability for a binomial fit), linear predictor, or more probable level. A
        support vector machine has levels, by the sign of its linear predictor, and no expected response.
    interval : float, optional
        Coverage of intervals of the expected response or linear predictor, such as 0.95: noise of all
        releases included, the spread of single responses not.

    Returns
    -------
    Series or ndarray, shape (k,)
        With the frame's index where it has one. NaN where a row cannot be predicted, never an error.
    DataFrame
        With ``interval``: columns prediction, conf_low and conf_high. The interval is around the debiased
        prediction, which no penalty shrinks; NaN where it fails the rule by which intervals are given.

    Raises
    ------
    MethodError
        An unknown ``what``, an interval of a fit without a released information matrix, levels of a fit whose
        response has none, an expected response of a margin loss, or a result that lost its row map.
    """
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
            expected="a fit with a released information matrix",
            remedy="Leave interval out.",
        )
    if what == "class" and record.link not in ("logit", MARGIN):
        raise MethodError(
            f"what='class' for a {record.specification.family.name} fit",
            expected="a fit of a response with two levels",
            remedy="Use what='mean'.",
        )
    if what == "mean" and record.link == MARGIN:
        raise MethodError(
            f"what='mean' for a {record.specification.family.name} fit, whose loss models no probability",
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
        eta = (rows @ record.coded if record.predictor is None else record.predictor.link(rows)) + offset
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


def response_levels(record: FitRecord) -> tuple[object, object]:
    """The two levels of a binary response: what is coded 0, then what is coded 1; of a number, 0 and 1."""
    return record.response.levels or (0, 1)


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


def auc(record: FitRecord, new: object) -> float:
    """Area under the ROC curve: the chance that a row of the second level has the larger linear predictor.

    Ties count half (Mann and Whitney). The rows must not be those of the fit, but of people who agreed to
    this use, or public: the number is exact, without noise, and no guarantee covers it. On rows of the fit it
    would tell of these rows what the budget did not pay for, and be too large besides.

    Parameters
    ----------
    record : FitRecord
    new : DataFrame or Arrow table
        Rows with the formula's variables and the response. Rows that cannot be predicted, and those whose
        response is neither of the two levels, are left out.

    Returns
    -------
    float
        Between 0 and 1; NaN where one of the levels has no row.

    Raises
    ------
    MethodError
        A fit whose response has no two levels, rows without the response or in a file, or a result that lost
        its row map.
    """
    from scipy.stats import rankdata

    if record.link not in ("logit", MARGIN):
        raise MethodError(
            f"auc of a {record.specification.family.name} fit",
            expected="a fit of a response with two levels",
            remedy="Compare predict(new) with the response.",
        )
    truth = _truth(record, new)
    link = np.asarray(predict(record, new, what="link", interval=None), dtype=np.float64)
    if len(link) != len(truth):
        raise MethodError(
            "a response of another length than the rows",
            expected="one table with a response in each row",
            remedy="Use a pandas frame with the response as one of its columns.",
        )
    usable = np.isfinite(link) & np.isfinite(truth)
    ranks, high = rankdata(link[usable]), truth[usable] == 1.0
    pairs = float(high.sum()) * float((~high).sum())
    if not pairs:
        return float("nan")
    count = float(high.sum())
    return float((ranks[high].sum() - count * (count + 1.0) / 2.0) / pairs)


def _truth(record: FitRecord, new: object) -> FloatVector:
    """The response of each row, 0 or 1 by its level, NaN where it is neither, shape (k,)."""
    levels = response_levels(record)
    by_text = {str(level): float(code) for code, level in enumerate(levels)}
    by_number = {_number(level): float(code) for code, level in enumerate(levels)}
    cells = _cells(new, record.response.name)
    return np.array([_code(cell, by_text, by_number) for cell in cells], dtype=np.float64)


def _cells(new: object, name: str) -> list[Any]:
    if isinstance(new, str | PathLike):
        raise MethodError(
            "rows in a file",
            expected="a table in memory, with the response",
            remedy="Read the file first, for example with pandas.read_csv.",
        )
    cells: Any = None
    try:
        column: Any = new[name]  # type: ignore[index]
        cells = column if hasattr(column, "to_pylist") else np.asarray(column, dtype=object)
    except Exception:  # each kind of table has its own; the text of some quotes a cell
        pass
    if cells is None or getattr(cells, "ndim", 1) != 1:
        raise MethodError(
            f"rows without one column {name}, the response",
            expected="a table of new rows with their response",
            remedy="Give rows that were not used for the fit, each with what was observed.",
        )
    listed: list[Any] = cells.to_pylist() if hasattr(cells, "to_pylist") else cells.tolist()
    return listed


def _code(cell: object, by_text: dict[str, float], by_number: dict[float, float]) -> float:
    """The place of a level, as text first, then as a number; NaN for anything else."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, str) and cell in by_text:
        return by_text[cell]
    return by_number.get(_number(cell), float("nan"))


def _number(value: object) -> float:
    """The number that a value is or spells; NaN, which is equal to nothing, for one that does not."""
    if isinstance(value, str) and (word := value.strip().lower()) in WORDS:
        return WORDS[word]
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    return float("nan")
