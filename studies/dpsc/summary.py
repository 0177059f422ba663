"""Means over data sets and draws of noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from studies.jobs import Result


@dataclass(frozen=True)
class Found:
    """What a run of the study found.

    Parameters
    ----------
    fits : mapping
        Jobs with their results, by experiment; experiments whose table is absent are left out.
    tuned : sequence
        The strengths, in the same form.
    absent : mapping
        Why a table is not there, by its name.
    seconds : float
        Processor time of all jobs.
    missing : int
        Fits that have not been run yet.
    """

    fits: Mapping[str, Sequence[Result]]
    tuned: Sequence[Result]
    absent: Mapping[str, str]
    seconds: float
    missing: int = 0


@dataclass(frozen=True)
class Mean:
    """A mean over data sets, each a mean over draws of noise, and its standard error where there are two."""

    value: float
    error: float
    fits: int


def mean(results: Sequence[Result], metric: str, **where: object) -> Mean | None:
    """Mean of ``metric`` over the results that agree with ``where``; None without any.

    Results without noise have no epsilon: they agree with every one.

    Examples
    --------
    >>> fits = [{"set": s, "draw": d, "epsilon": 1.0, "error": 0.1 * s} for s in (1, 3) for d in (0, 1)]
    >>> mean(fits, "error", epsilon=1.0)
    Mean(value=0.2, error=0.1, fits=4)
    >>> mean(fits, "error", epsilon=2.0) is None
    True
    """
    sets: dict[int, list[float]] = {}
    for one in results:
        agrees = all(one.get(name, value) == value for name, value in where.items())
        if agrees and one.get(metric) is not None:
            sets.setdefault(int(one["set"]), []).append(float(one[metric]))
    if not sets:
        return None
    means = np.array([np.mean(values) for values in sets.values()])
    error = float(np.std(means, ddof=1) / math.sqrt(len(means))) if len(means) > 1 else math.nan
    return Mean(round(float(means.mean()), 12), round(error, 12), sum(map(len, sets.values())))


def value(results: Sequence[Result], metric: str, **where: object) -> float:
    """The mean alone, NaN without any result."""
    found = mean(results, metric, **where)
    return math.nan if found is None else found.value


def levels(results: Sequence[Result], name: str) -> list[float]:
    """The values of an entry that occur, in order."""
    return sorted({float(one[name]) for one in results if one.get(name) is not None})
