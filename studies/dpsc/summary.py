"""Means over data sets and draws of noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from studies.dpsc.fits import STRENGTH
from studies.dpsc.grid import Design, strengths
from studies.jobs import Result, key_of
from studies.paired import Difference, Mean, difference, mean_of

# Entries of a result that are its job's.
JOB = frozenset(
    ("table", "columns", "kind", "penalty", "rows", "set", "strength", "iterations", "inner", "c", "alpha")
) | {"epsilon", "draw"}


@dataclass(frozen=True)
class Fits:
    """Results of the study.

    Parameters
    ----------
    by : mapping
        Fits by experiment; experiments whose table is absent are left out.
    tuned : sequence
        The cross-validated strengths.
    """

    by: Mapping[str, Sequence[Result]]
    tuned: Sequence[Result]

    @classmethod
    def of(cls, design: Design, results: Sequence[Result]) -> Self:
        """Fits sorted into experiments, which share what they have in common."""
        tuned = [result for result in results if result["kind"] == STRENGTH]
        done = {
            key_of({name: result[name] for name in result if name in JOB}): result
            for result in results
            if result["kind"] != STRENGTH
        }
        by = {
            name: [done[key] for job in jobs if (key := key_of(job)) in done]
            for name, jobs in design.jobs(strengths(tuned)).items()
        }
        return cls(by, tuned)


def mean(results: Sequence[Result], metric: str, **where: object) -> Mean | None:
    """Mean of ``metric`` over data sets, each a mean over draws of noise; None without any.

    Of one data set it is the mean over draws. ``where`` says which results.

    Results without noise have no epsilon: they agree with every one.

    Examples
    --------
    >>> fits = [{"set": s, "draw": d, "epsilon": 1.0, "error": 0.1 * s} for s in (1, 3) for d in (0, 1)]
    >>> mean(fits, "error", epsilon=1.0)
    Mean(value=0.2, deviation=0.14142135623730953, count=2)
    >>> mean(fits, "error", epsilon=2.0) is None
    True
    """
    values = _units(results, metric, where)
    if not values:
        return None
    whole = mean_of(list(values.values()))
    return replace(whole, value=round(whole.value, 12))  # so that ties are printed alike everywhere


def gap(
    results: Sequence[Result], metric: str, one: Mapping[str, object], other: Mapping[str, object]
) -> Difference | None:
    """``one`` less ``other``, paired by data set, or by draw of noise on a single one; None without any.

    A fit without noise has one value on a data set: it is compared with every draw there.

    Examples
    --------
    >>> fits = [{"set": s, "kind": k, "error": 0.1 * s * k} for s in (1, 2, 3) for k in (1, 2)]
    >>> print(gap(fits, "error", {"kind": 2}, {"kind": 1}))
    +0.200 [-0.048, +0.448]
    """
    first, second = _units(results, metric, one), _units(results, metric, other)
    if not first or not second:
        return None
    if len(second) == 1:
        second = dict.fromkeys(first, *second.values())
    elif len(first) == 1:
        first = dict.fromkeys(second, *first.values())
    both = sorted(first.keys() & second.keys())
    return difference([first[at] for at in both], [second[at] for at in both]) if both else None


def _units(results: Sequence[Result], metric: str, where: Mapping[str, object]) -> dict[int, float]:
    """Means by data set; of a single data set by draw of noise."""
    sets: dict[int, dict[int, list[float]]] = {}
    for one in results:
        agrees = all(one.get(name, value) == value for name, value in where.items())
        if agrees and one.get(metric) is not None:
            draws = sets.setdefault(int(one["set"]), {})
            draws.setdefault(int(one.get("draw", 0)), []).append(float(one[metric]))
    if len(sets) == 1:
        (draws,) = sets.values()
        return {draw: mean_of(values).value for draw, values in draws.items()}
    return {
        number: mean_of([one for values in draws.values() for one in values]).value
        for number, draws in sets.items()
    }


def value(results: Sequence[Result], metric: str, **where: object) -> float:
    """The mean alone, NaN without any result."""
    found = mean(results, metric, **where)
    return math.nan if found is None else found.value


def levels(results: Sequence[Result], name: str) -> list[float]:
    """The values of an entry that occur, in order."""
    return sorted({float(one[name]) for one in results if one.get(name) is not None})
