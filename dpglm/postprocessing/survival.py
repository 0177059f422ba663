r"""Survival curves of a fit of discrete times, from released numbers; of ordered levels those above each.

The probability of no event in the first t periods is the product of 1 - h_j over them. Its complementary
log-log, a smooth function of the coefficients,

.. math:: g_t = \log \sum_{j \le t} \log(1 + \exp \eta_j), \qquad
    \nabla g_t = \sum_{j \le t} h_j x_j \Big/ \sum_{j \le t} \log(1 + \exp \eta_j),

is taken to first order at the released coefficients, and so is a linear function of them like any other one:
its ends are mapped back, and stay between 0 and 1. At a stage of ordered levels the log odds of staying are
those of a higher level with the other sign, and the product is the probability of a level above t.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.functions import debiased_coded, functions, require_information
from dpglm.postprocessing.grid import MOST_ROWS, declaration, grid, row_map_of
from dpglm.postprocessing.parts import TimePeriods
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    import pandas as pd


def survival(record: FitRecord, rows: object, level: float) -> pd.DataFrame:
    """Survival at the end of each period; see :meth:`FitResult.survival`."""
    import pandas as pd

    periods = periods_of(record)
    time, values = periods.column, periods.values
    require_information(record, "a survival curve")
    people = _people(record, rows, time)
    count = len(people) * len(values)
    if count > MOST_ROWS:
        raise MethodError(
            f"survival of {len(people):,} rows in {len(values)} periods",
            expected=f"at most {MOST_ROWS:,} points",
            remedy="Give a few public rows: fit.survival({'arm': None}).",
        )
    if not count:
        raise MethodError(
            "survival of no rows", expected="a row for each curve", remedy="Use fit.survival({'arm': None})."
        )
    each = people.loc[people.index.repeat(len(values))].reset_index(drop=True)
    each[time] = [*values] * len(people)
    coded, offset = row_map_of(record).coded(each)
    if periods.stages:
        coded, offset = -coded, -offset
    centre = debiased_coded(record)
    with np.errstate(all="ignore"):
        eta = coded @ centre + offset
        hazard = np.exp(-np.logaddexp(0.0, -eta))
        shape = (len(people), len(values))
        total = np.cumsum(np.logaddexp(0.0, eta).reshape(shape), axis=1).ravel()
        slopes = np.cumsum((hazard[:, None] * coded).reshape(*shape, -1), axis=1).reshape(count, -1)
        slopes = slopes / total[:, None]
        found = functions(record, slopes, np.log(total) - slopes @ centre, level)
        steepness = np.exp(found.estimates - np.exp(found.estimates))
        columns: dict[str, Any] = {
            "estimate": _curve(found.estimates, shape),
            "std_error": steepness * found.errors,
            "conf_low": _surviving(found.ends[:, 1]),
            "conf_high": _surviving(found.ends[:, 0]),
            "reliable": found.reliable,
            "reason": list(found.reasons),
        }
    return marked(pd.concat([each, pd.DataFrame(columns)], axis=1), record)


def periods_of(record: FitRecord) -> TimePeriods:
    """The periods of a time, or stages of ordered levels, or a MethodError of another response."""
    periods = row_map_of(record).periods
    if periods is None:
        raise MethodError(
            f"survival of a fit of {record.response.name}",
            expected="a fit of discrete times, or of ordered levels",
            remedy='Fit dpglm.fit("Surv(time, event) ~ x1 + C(arm)", ...), or family="ordinal".',
        )
    return periods


def _people(record: FitRecord, rows: object, time: str) -> pd.DataFrame:
    """Rows of a grid, or of the user's own, each once, without periods and what the formula does not read."""
    import pandas as pd

    if isinstance(rows, pd.DataFrame):
        read = [name for name in row_map_of(record).columns if name != time and name in rows.columns]
        people = rows[read].drop_duplicates() if read else rows[read].head(1)
        return people.reset_index(drop=True)
    if not isinstance(rows, Mapping):
        raise MethodError(
            f"survival of something of type {type(rows).__name__}",
            expected="values by column, or a public frame",
            remedy="Use fit.survival({'arm': None, 'age': [30, 60]}), or fit.survival(frame).",
        )
    if time in rows:
        raise MethodError(
            f"values of {time}, which is the time or the response",
            expected="values of other columns: a curve has all periods or levels",
            remedy="Leave it out; fit.predict(new) gives the hazard of one period.",
        )
    for name in rows:
        declaration(record, name)
    return grid(record, rows).drop(columns=time).drop_duplicates().reset_index(drop=True)


def _surviving(complementary: FloatVector) -> FloatVector:
    return np.exp(-np.exp(complementary))


def _curve(complementary: FloatVector, shape: tuple[int, int]) -> FloatVector:
    """Survival, which no curve of which rises: each point is estimated by itself, and noise may lift one."""
    return np.minimum.accumulate(_surviving(complementary).reshape(shape), axis=1).ravel()
