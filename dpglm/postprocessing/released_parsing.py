"""Checks of the released linear model in a saved result: sizes, signs, shapes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpglm.glm.term_columns import TermColumns
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.checks import (
    Check,
    amount,
    count,
    fault,
    finite,
    listed,
    mapping,
    maybe,
    numbers,
    text,
)
from dpglm.postprocessing.released_fields import KINDS, from_triangle

_BLOCK: Final[dict[str, Check]] = {
    "label": text,
    "kind": text,
    "start": count,
    "stop": count,
    "bound": amount,
    "prior": numbers,
    "table": maybe(numbers),
}
RELEASED: Final[dict[str, Check]] = {
    "term_columns": listed(mapping(**_BLOCK)),
    "centre": numbers,
    "score": numbers,
    "information": numbers,
    "score_scale": amount,
    "information_scale": amount,
    "dispersion": finite,
    "initial_variance": numbers,
    "third_derivative_bound": amount,
    "origin": maybe(numbers),
}


def released(values: dict[str, Any], size: int) -> ScoreAndInformation:
    """What was released, from checked values of the keys of `RELEASED`.

    Raises
    ------
    StoreError
        A length that is not that of ``size`` coefficients, term_columns that do not follow each other, a
        prior or a
        dispersion that is not positive, or a variance below 0.
    """
    for name in ("centre", "score", "initial_variance"):
        if len(values[name]) != size:
            fault(f"released {name} of another length than names", "one entry per coefficient")
    if values["origin"] is not None and len(values["origin"]) != size:
        fault("released origin of another length than names", "one entry per coefficient, or null")
    if len(values["information"]) != size * (size + 1) // 2:
        fault("released information of another length", "the lower triangle of a matrix, row by row")
    if values["dispersion"] <= 0.0:
        fault("released dispersion that is not positive", "a number > 0")
    if any(variance < 0.0 for variance in values["initial_variance"]):
        fault("released initial_variance below 0", "numbers >= 0")
    return ScoreAndInformation(
        term_columns=_blocks(values["term_columns"], size),
        centre=np.array(values["centre"]),
        score=np.array(values["score"]),
        information=from_triangle(np.array(values["information"]), size),
        score_scale=values["score_scale"],
        information_scale=values["information_scale"],
        dispersion=values["dispersion"],
        initial_variance=np.array(values["initial_variance"]),
        third_derivative_bound=values["third_derivative_bound"],
        origin=None if values["origin"] is None else np.array(values["origin"]),
    )


def _blocks(entries: list[dict[str, Any]], size: int) -> tuple[TermColumns, ...]:
    start = 0
    for entry in entries:
        if entry["start"] != start or not start < entry["stop"] <= size:
            fault(
                "released columns of terms that do not follow each other",
                "term_columns from 0 to the number of names",
            )
        start = entry["stop"]
    if start != size:
        fault("released terms of fewer columns than names", "term_columns from 0 to the number of names")
    if sum(entry["kind"] == "intercept" for entry in entries) > 1:
        fault("two terms of an intercept", "one intercept")
    return tuple(_block(entry) for entry in entries)


def _block(entry: dict[str, Any]) -> TermColumns:
    width = entry["stop"] - entry["start"]
    if entry["kind"] not in KINDS:
        fault("a block of another kind", ", ".join(KINDS))
    if len(entry["prior"]) != width or any(scale <= 0.0 for scale in entry["prior"]):
        fault("a block whose prior is not a positive number a column", "numbers > 0")
    cells = entry["table"]
    if (cells is None) != (entry["kind"] == "other"):
        fault("a block with a table where it has none, or without one", "a table, but for the kind other")
    if entry["kind"] in ("intercept", "slope") and (width != 1 or len(cells) != 1 or cells[0] == 0.0):
        fault("an intercept or a slope of another shape", "one column of one value that is not 0")
    if entry["kind"] == "levels" and len(cells) != width * (width + 1):
        fault("a table of levels of another shape", "a row a level, one more than columns")
    table = np.eye(width) if cells is None else np.array(cells).reshape(-1, width)
    if entry["kind"] == "levels" and not _simplex(table):
        fault("a table of levels that is no simplex", "columns that sum to 0 and are orthogonal")
    prior = np.array(entry["prior"])
    return TermColumns(
        entry["label"], entry["kind"], entry["start"], entry["stop"], entry["bound"], table, prior
    )


def _simplex(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    """Whether columns sum to 0, are orthogonal and have one length, up to rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = table.T @ table
        length = float(np.trace(square)) / len(square)
        apart = np.abs(square - length * np.eye(len(square))).max() <= 1e-6 * length
        return bool(0.0 < length < np.inf and apart and np.abs(table.sum(axis=0)).max() <= 1e-6 * length**0.5)
