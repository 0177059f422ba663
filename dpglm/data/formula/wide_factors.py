"""Factors of very wide designs, whose contrast matrix would be too large: each level against one of them.

Patsy is shown three of their levels. It then says whether a term has a column for each level but one, which
does not depend on how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpglm.data.formula.model import Factor, LevelFactor, NumericFactor, Treatment
from dpglm.wide_maps import MOST_DENSE

# Levels of a wide factor, at least, and those that patsy is shown.
_MANY, _SHOWN = 65, 3


class NoReferenceError(Exception):
    """A wide factor with a column for every level, for want of an intercept."""


def wide_factors(terms: Sequence[Sequence[str]], factors: Mapping[str, Factor]) -> set[str]:
    """Factors of many levels, alone in their terms and against a level of reference, where columns are many.

    ``terms`` are the texts of each term's factors.

    Examples
    --------
    >>> from dpglm.data.formula.expressions import Expression
    >>> c = LevelFactor("c", Expression("column", ("c",)), None, tuple(range(6000)))
    >>> wide_factors([[], ["c"]], {"c": c}), wide_factors([[], ["c"], ["c", "c"]], {"c": c})
    ({'c'}, set())
    """
    columns = 0
    alone: list[str] = []
    elsewhere = set()
    for term in terms:
        columns += math.prod(
            factors[code].level_count for code in term if not isinstance(factors[code], NumericFactor)
        )
        if len(term) == 1 and _many_against_one(factors[term[0]]):
            alone.append(term[0])
        else:
            elsewhere |= {factors[code].key for code in term}
    wide = {code for code in alone if factors[code].key not in elsewhere}
    return wide if is_wide(columns - len(wide)) else set()


def is_wide(columns: int) -> bool:
    """Whether a design of so many columns has no matrix of them."""
    return columns > MOST_DENSE


def _many_against_one(factor: Factor) -> bool:
    return (
        isinstance(factor, LevelFactor)
        and factor.level_count >= _MANY
        and (factor.contrast or ("Treatment",))[0] == "Treatment"
    )


def few_levels(factor: LevelFactor) -> list[Any]:
    """The level of reference and two others, in their order."""
    place = _reference(factor)
    first = factor.levels[:_SHOWN]
    return list(first if place < _SHOWN else (*first[: _SHOWN - 1], factor.levels[place]))


def treatment(factor: Factor, shown: tuple[int, int]) -> Treatment:
    """The contrasts of all levels, where those of the few levels have this shape."""
    assert isinstance(factor, LevelFactor), "a wide factor has levels"
    if shown[1] == _SHOWN:
        raise NoReferenceError
    return Treatment(factor.level_count, _reference(factor))


def wide_names(factor: Factor, name: str) -> list[str]:
    """Names of the columns of a wide factor, as patsy writes them."""
    assert isinstance(factor, LevelFactor), "a wide factor has levels"
    place = _reference(factor)
    return [f"{name}[T.{level}]" for at, level in enumerate(factor.levels) if at != place]


def _reference(factor: LevelFactor) -> int:
    """Place of the level that the others are held against."""
    return 0 if len(factor.contrast) < 2 else factor.levels.index(factor.contrast[1])
