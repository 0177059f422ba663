"""Standardised coordinates: the layout of rows that lie around means, and the map to it from declared ranges.

With c the place of a number in its declared range, its standardised coordinate is ``c' = a c + b``. A product
of these is a sum of products of some of the c, so that rows are mapped linearly, group by group.

The square of a number that is a column too is hardly anything but that number again, where it lies far from
0. Its coordinate is that of (z^2 - 1) / sqrt 2, z the number in standard deviations. With x^2 around
m^2 + s^2, in units of sqrt 2 s^2, that is the coordinate of x^2 less sqrt 2 m / s times that of x.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from dpglm.data.coding.geometry import Group, Space, Subset, whole
from dpglm.data.formula.model import Model, NumericFactor
from dpglm.typing import FloatMatrix

# Products of more numbers than this may be enormous in standard deviations that are small.
_MOST_NUMBERS: Final = 4
# Where three numbers or more are multiplied a standard deviation is taken to be at least this share of the
# declared range: float32 products of narrower ones would not hold what is told apart.
_LEAST_SHARE: Final = 0.01
# A number may lie so many declared ranges from 0 where its square is told apart from it. Beyond, float32 rows
# do not hold the difference.
_FARTHEST: Final = 64.0


def standardisable(groups: tuple[Group, ...], model: Model) -> tuple[str, ...]:
    """Labels of numbers with columns of their own, which every product can be had without."""
    if not all(group.plain for group in groups):
        return ()
    subsets = {group.subset for group in groups}
    numbers = _numbers(model)
    if () not in subsets or _multiplied(groups, model) > _MOST_NUMBERS:
        return ()
    free = [
        at
        for at in numbers
        if (at,) in subsets and all(_without(subset, at) in subsets for subset in subsets if at in subset)
    ]
    derived = _squares(groups, model, {model.factors[at].name for at in free})
    names = [model.factors[at].name for at in free if at not in derived]
    return tuple(group.label for group in groups if group.kind == "slope" and group.label in names)


def least_share(groups: tuple[Group, ...], model: Model) -> float:
    """Of the declared range, which a standard deviation is taken to be at the least; 0 with few products."""
    return 0.0 if _multiplied(groups, model) <= 2 else _LEAST_SHARE


def _numbers(model: Model) -> list[int]:
    return [at for at, factor in enumerate(model.factors) if isinstance(factor, NumericFactor)]


def _multiplied(groups: tuple[Group, ...], model: Model) -> int:
    """How many numbers the largest product has."""
    return max(len(set(group.subset) & set(_numbers(model))) for group in groups)


def _squares(groups: tuple[Group, ...], model: Model, names: Collection[str]) -> dict[int, int]:
    """Factors that are squares of these numbers, in no product, and the factors of which they are."""
    found = {}
    alone = {group.subset[0] for group in groups if len(group.subset) == 1}
    alone -= {at for group in groups if len(group.subset) > 1 for at in group.subset}
    places = {
        factor.expression: at
        for at, factor in enumerate(model.factors)
        if isinstance(factor, NumericFactor) and factor.name in names and _near(factor)
    }
    for at in alone:
        expression = model.factors[at].expression
        base, power = expression.args if expression.op == "power" else (None, None)
        if power is not None and power.op == "constant" and power.value == 2.0 and base in places:
            found[at] = places[base]
    return found


def _near(factor: NumericFactor) -> bool:
    """Whether it is declared near enough to 0, in declared ranges."""
    return max(abs(factor.low), abs(factor.high)) <= _FARTHEST * (factor.high - factor.low)


def standardised(
    groups: tuple[Group, ...], model: Model, moments: Mapping[str, tuple[float, float]], longer: float
) -> tuple[Model, float, tuple[Group, ...]]:
    """The model in these means and standard deviations, the norm of its rows, and their groups."""
    squares = _squares(groups, model, moments)
    known = dict(moments)
    for square, at in squares.items():
        mean, deviation = moments[model.factors[at].name]
        known[model.factors[square].name] = mean**2 + deviation**2, math.sqrt(2.0) * deviation**2
    factors = tuple(
        NumericFactor(
            factor.name, factor.expression, factor.effect, factor.low, factor.high, known[factor.name]
        )
        if isinstance(factor, NumericFactor) and factor.name in known
        else factor
        for factor in model.factors
    )
    other = replace(model, factors=factors)
    rows, subsets = zip(*((slice(group.start, group.stop), group.subset) for group in groups), strict=True)
    space = Space(factors, subsets, rows, np.zeros((groups[-1].stop, model.size)))
    norm, made = whole(other, space, longer)
    places = {group.subset: group for group in made}
    for square, at in squares.items():
        mean, deviation = moments[model.factors[at].name]
        group, base = places[(square,)], places[(at,)].products[0]
        less = -math.sqrt(2.0) * mean / deviation * group.products[0].scale
        if less == 0.0:
            continue
        places[(square,)] = replace(group, products=(group.products[0], replace(base, scale=less, prior=0.0)))
    return other, norm, tuple(places.values())


def affine_maps(
    before: tuple[Group, ...], after: tuple[Group, ...], model: Model, other: Model
) -> tuple[FloatMatrix, FloatMatrix]:
    """Rows of a layout as declared to those of a standardised one, and back, shapes (p, p)."""
    there, back = _map(before, after, model, other), _map(after, before, other, model)
    if all(len(group.products) == 1 for group in after):
        return there, back
    sheared, straight = np.eye(before[-1].stop), np.eye(before[-1].stop)
    starts = {group.subset: group for group in after}
    for group in after:
        for product in group.products[1:]:  # of the square of another column
            base = starts[tuple(part.factor for part in product.parts)]
            times = product.scale / base.products[0].scale
            sheared[group.start, base.start], straight[group.start, base.start] = times, -times
    return sheared @ there, back @ straight


def _map(before: tuple[Group, ...], after: tuple[Group, ...], model: Model, other: Model) -> FloatMatrix:
    affine = [_affine(factor, another) for factor, another in zip(model.factors, other.factors, strict=True)]
    size = before[-1].stop
    matrix = np.zeros((size, size))
    subsets = tuple([group.subset for group in before]), tuple([group.subset for group in after])
    for at_row, at_column, which in _sums(*subsets):
        row, column = after[at_row], before[at_column]
        weight = row.products[0].scale / column.products[0].scale
        weight *= math.prod([affine[at][place] for at, place in which])
        if weight:
            block = weight if row.stop == row.start + 1 else weight * np.eye(row.stop - row.start)
            matrix[row.start : row.stop, column.start : column.stop] = block
    return matrix


@lru_cache(maxsize=32)
def _sums(
    before: tuple[Subset, ...], after: tuple[Subset, ...]
) -> tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...]:
    """Groups after, those before of which they are made, and for each factor 0 where it is kept, else 1."""
    columns = [frozenset(subset) for subset in before]
    touching: dict[int, list[int]] = {}  # columns by the factors that they have
    for place, kept in enumerate(columns):
        for at in kept:
            touching.setdefault(at, []).append(place)
    plain = [place for place, kept in enumerate(columns) if not kept]
    return tuple(
        (row, place, tuple((at, int(at not in columns[place])) for at in sorted(all_of)))
        for row, all_of in enumerate(map(frozenset, after))
        for place in sorted({*plain, *(place for at in all_of for place in touching.get(at, ()))})
        if columns[place] <= all_of
    )


def _affine(factor: object, other: object) -> tuple[float, float]:
    """a and b with ``c' = a c + b``; levels stay as they are."""
    if not isinstance(factor, NumericFactor) or not isinstance(other, NumericFactor):
        return 1.0, 0.0
    return factor.unit / other.unit, (factor.middle - other.middle) / other.unit


def _without(subset: Subset, at: int) -> Subset:
    return tuple(index for index in subset if index != at)
