"""How well a fit ranks rows whose response is known: the area under the ROC curve."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.prediction import MARGIN, predict, response_levels, response_name
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import FloatVector

WORDS = {"false": 0.0, "true": 1.0}


def auc(record: FitRecord, new: object) -> float:
    """Area under the ROC curve on rows with their response; see :meth:`FitResult.auc`."""
    from scipy.stats import rankdata

    if record.link not in ("logit", MARGIN):
        raise MethodError(
            f"auc of a {record.family} fit",
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
    cells = _cells(new, response_name(record))
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
