"""Periods of discrete-time survival: what a column of times counts, from declared facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dpglm.data.schema.variables import Categorical, Variable

# Each period of a person has one part in so many of a weight of 1, and the noise grows with them.
MOST_PERIODS: Final = 100
# Whole numbers below it, and those next to them, are numbers of double precision.
FARTHEST: Final = 2.0**52


@dataclass(frozen=True)
class Periods:
    """The public periods of ``Surv(time, event)``, or stages of an ordinal response: 2 to `MOST_PERIODS`.

    Parameters
    ----------
    column : str
        Of the time: the last period of each person, and right of ``~`` the period of a row. Or the ordinal
        response, and right of ``~`` the stage of a row.
    values : tuple
        The periods in order: whole numbers between declared bounds, or declared levels; of stages all but
        the highest.
    numeric : bool
        Whether they are numbers between bounds.
    stages : bool
        Whether they are the stages of an ordinal response.

    Examples
    --------
    >>> Periods("week", (1, 2, 3), True).values
    (1, 2, 3)
    """

    column: str
    values: tuple[Any, ...]
    numeric: bool
    stages: bool = False


def values_of(variable: Variable) -> tuple[Any, ...]:
    """The levels of a column, or the whole numbers between its bounds."""
    if isinstance(variable, Categorical):
        return variable.levels
    return tuple(range(int(variable.low), int(variable.high) + 1))
