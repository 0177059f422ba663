"""Predictions for new rows from released coefficients, and the area under their ROC curve (AUC)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.inference.contrasts import Contrasts
from dpglm.postprocessing import intervals
from dpglm.postprocessing.declared import is_ordinal
from dpglm.postprocessing.functions import BATCH, reported_estimates, require_information
from dpglm.postprocessing.grid import bounds_of, frame_of, row_map_of
from dpglm.postprocessing.levels import level_predictions
from dpglm.postprocessing.links import BINARY_LINKS, INVERSE_LINKS, MARGIN
from dpglm.postprocessing.margins import predicted
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.uncertainty import no_intervals
from dpglm.registry import require_word
from dpglm.typing import FloatMatrix, FloatVector
from dpglm.wide_maps import MOST_DENSE

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

Prediction: TypeAlias = "pd.Series[Any] | pd.DataFrame | NDArray[Any]"
What: TypeAlias = Literal["mean", "link", "class"]

WORDS = {"false": 0.0, "true": 1.0}


def predict(
    record: FitRecord, new: object, *, what: str, interval: float | None, se: bool = False
) -> Prediction:
    """One prediction per row of ``new``; see :meth:`FitResult.predict`."""
    new = _rows(record, new)
    if is_ordinal(record):
        return level_predictions(record, new, what=what, intervals=se or interval is not None)
    if se:
        return _with_errors(record, new, what, 0.95 if interval is None else interval)
    critical = None if interval is None else intervals.quantile(interval)
    remedy = "Use what='mean' for probabilities, 'link' for the linear predictor, 'class' for levels."
    require_word("what", what, ("mean", "link", "class"), remedy)
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
    if what == "class" and record.link not in BINARY_LINKS:
        raise MethodError(
            f"what='class' for a {record.specification.family.name} fit",
            expected="a fit of a response with two levels",
            remedy="Use what='mean'.",
        )
    if what == "mean" and record.link not in INVERSE_LINKS:
        raise MethodError(
            f"what='mean' for a {record.specification.family.name} fit with the link {record.link!r}",
            expected="a link whose inverse is a probability or a mean: identity, log or logit",
            remedy="Use what='link', or what='class' for a margin loss; family='binomial' has probabilities.",
        )
    row_map = row_map_of(record)
    # New rows may be private too: no warning may tell that one of them is extreme.
    with np.errstate(all="ignore"):
        if len(record.coded) > MOST_DENSE:
            rows = np.empty((0, 0))
            eta, offset = row_map.predictors(new, record.coded)
        else:
            rows, offset = row_map.coded(new)
            rows = np.asarray(rows, dtype=np.float64)
            eta = rows @ record.coded if record.predictor is None else record.predictor.link(rows)
        eta = eta + offset
        eta = np.where(np.isfinite(eta), eta, np.nan)
        values: NDArray[Any] = eta
        if what == "mean":
            values = INVERSE_LINKS[record.link](eta)
        elif what == "class":  # the first level on a tie
            first, second = record.response.levels or (0, 1)
            values = np.full(eta.shape, np.nan, dtype=object)
            values[eta <= 0.0], values[eta > 0.0] = first, second
        if critical is None:
            return _labelled(values, None, new, what)
        ends = [*(_ends(record, rows, critical) + offset[:, None]).T]
        if what == "mean":
            ends = [INVERSE_LINKS[record.link](end) for end in ends]
    return _labelled(values, ends, new, what)


def _rows(record: FitRecord, new: object) -> object:
    """``new``, or a dict's frame: a dict is warned of values beyond bounds, a table may be of people."""
    if (rows := frame_of(new)) is new:
        return new
    row_map, stage = row_map_of(record), 0 if is_ordinal(record) else None
    for name, beyond in row_map.beyond(rows, stage).items():
        if beyond.any() and name in row_map.columns:
            low, high = bounds_of(record, name)
            told = f"Values of {name} beyond {low:g} to {high:g} are read as the nearer bound, as in the fit."
            warnings.warn(told, stacklevel=4)
    return rows


def _with_errors(record: FitRecord, new: object, what: str, level: float) -> pd.DataFrame:
    """Predictions with standard errors and intervals, and whether these rest on released numbers."""
    import pandas as pd

    require_information(record, "standard errors of predictions")
    found = predicted(record, *row_map_of(record).coded(new), what, level)
    beyond = [np.zeros(len(found.reliable), dtype=np.bool_), *row_map_of(record).beyond(new).values()]
    columns = {
        "mean": found.estimates,
        "se": found.errors,
        "ci_lower": found.ends[:, 0],
        "ci_upper": found.ends[:, 1],
        "reliable": found.reliable & ~np.any(beyond, axis=0),
    }
    index = getattr(new, "index", None)
    return pd.DataFrame(columns, index=index if isinstance(index, pd.Index) else None)


def _ends(record: FitRecord, rows: FloatMatrix, critical: float) -> FloatMatrix:
    """Of the interval of each row's linear predictor, shape (n, 2), NaN where too little was released."""
    assert record.contrasts is not None
    found = np.full((len(rows), 2), np.nan)
    usable = np.flatnonzero(np.isfinite(rows).all(axis=1) & rows.any(axis=1))
    for start in range(0, len(usable), BATCH):
        contrasts = Contrasts(record.contrasts.model, rows[places := usable[start : start + BATCH]])
        centre, errors = reported_estimates(contrasts)
        found[places] = intervals.ends(intervals.outer_ends(record, contrasts), centre, critical * errors)
    return found


def _labelled(values: NDArray[Any], ends: list[FloatVector] | None, new: object, what: str) -> Prediction:
    """Predictions with the index of the new rows, and with the ends of their intervals."""
    import pandas as pd

    index = getattr(new, "index", None)
    index = index if isinstance(index, pd.Index) else None
    if ends is not None:
        columns = {"prediction": values, "conf_low": ends[0], "conf_high": ends[1]}
        return pd.DataFrame(columns, index=index)
    return values if index is None else pd.Series(values, index=index, name=what)


def auc(record: FitRecord, new: object) -> float:
    """Area under the ROC curve, ties counted half (Mann and Whitney); see :meth:`FitResult.auc`."""
    from scipy.stats import rankdata

    if record.link not in BINARY_LINKS:
        raise MethodError(
            f"auc of a {record.specification.family.name} fit",
            expected="a fit of a response with two levels",
            remedy="Compare predict(new) with the response.",
        )
    if row_map_of(record).periods is not None:
        raise MethodError(
            "auc of a fit whose predictions are hazards of single periods, or probabilities of levels",
            expected="a fit of a response with two levels",
            remedy="Compare survival(new) with the times or levels of rows of your own.",
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
    count = float(high.sum())
    pairs = count * float((~high).sum())
    return float((ranks[high].sum() - count * (count + 1.0) / 2.0) / pairs) if pairs else float("nan")


def _truth(record: FitRecord, new: object) -> FloatVector:
    """The response of each row, 0 or 1 by its level, NaN where it is neither, shape (k,)."""
    levels = record.response.levels or (0, 1)
    codes: dict[object, float] = {_number(level): float(code) for code, level in enumerate(levels)}
    codes |= {str(level): float(code) for code, level in enumerate(levels)}
    cells = _cells(new, record.response.name)
    return np.array([_code(cell, codes) for cell in cells], dtype=np.float64)


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


def _code(cell: object, codes: Mapping[object, float]) -> float:
    """The place of a level, as text first, then as a number; NaN for anything else."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    return codes[cell] if isinstance(cell, str) and cell in codes else codes.get(_number(cell), float("nan"))


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
