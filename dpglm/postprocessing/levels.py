"""Predictions of an ordinal response: the probability of each level, from released coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from dpglm.errors import MethodError
from dpglm.postprocessing.declared import levels_in_order
from dpglm.postprocessing.grid import row_map_of
from dpglm.postprocessing.record import FitRecord
from dpglm.registry import require_word

if TYPE_CHECKING:
    import pandas as pd


def level_predictions(
    record: FitRecord, new: object, *, what: str, intervals: bool
) -> pd.Series[Any] | pd.DataFrame:
    """A column for each level, or stage, or the most probable level; see :meth:`FitResult.predict`.

    The response is not read: a row is looked at in all stages. P(level k) is the product of the probabilities
    to be above each lower stage, times that of not being above stage k.
    """
    import pandas as pd

    remedy = "Use what='mean' for probabilities of levels, 'class' for the most probable one."
    require_word("what", what, ("mean", "link", "class"), remedy)
    if intervals:
        raise MethodError(
            "intervals of predictions of an ordinal response",
            expected="predictions alone: those of a row are one number for each level",
            remedy="Use fit.survival(rows): probabilities of the levels above each one, with intervals.",
        )
    row_map, levels = row_map_of(record), levels_in_order(record)
    index = getattr(new, "index", None)
    index = index if isinstance(index, pd.Index) else None
    with np.errstate(all="ignore"):  # new rows may be private too: no warning tells of one of them
        stages = [row_map.coded(new, stage) for stage in range(len(levels) - 1)]
        eta = np.column_stack([rows @ record.coded + offset for rows, offset in stages])
        eta = np.where(np.isfinite(eta), eta, np.nan)
    if what == "link":
        return pd.DataFrame(eta, index=index, columns=levels[:-1])
    reached = np.cumprod(np.column_stack([np.ones(len(eta)), expit(eta)]), axis=1)
    found = reached * np.column_stack([expit(-eta), np.ones(len(eta))])
    if what == "mean":
        return pd.DataFrame(found, index=index, columns=levels)
    classes = np.full(len(found), np.nan, dtype=object)
    told = np.isfinite(found).all(axis=1)
    most = np.argmax(found[told], axis=1)  # the lowest level on a tie
    classes[told] = np.array(levels, dtype=object)[most]
    return pd.Series(classes, index=index, name="class")
