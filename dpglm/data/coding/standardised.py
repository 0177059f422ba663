"""Standardised coordinates: the layout of rows that lie around means, and the map to it from declared ranges.

With c the place of a number in its declared range, its standardised coordinate is ``c' = a c + b``. A product
of these is a sum of products of some of the c, so that rows are mapped linearly, group by group.

The square of a number that is a column too is hardly anything but that number again, where it lies far from
0. Its coordinate is that of (z^2 - 1) / sqrt 2, z the number in standard deviations. With x^2 around
m^2 + s^2, in units of sqrt 2 s^2, that is the coordinate of x^2 less sqrt 2 m / s times that of x. So it is
with (z^3 - 3 z) / sqrt 6 for a cube beside both: with x^3 around m^3 + 3 m s^2, in units of sqrt 6 s^3, it is
the coordinate of x^3 less sqrt 3 m / s times that of x^2, plus sqrt 1.5 (m^2 / s^2 - 1) times that of x.
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
# Where three numbers or more are multiplied, or one is cubed, a standard deviation is taken to be at least
# this share of the declared range: float32 products of narrower ones would not hold what is told apart.
_LEAST_SHARE: Final = 0.01
# A number may lie so many declared ranges from 0 where its square, and its cube, is told apart from it.
# Beyond, float32 rows do not hold the difference.
_FARTHEST: Final = {2.0: 64.0, 3.0: 4.0}


def standardisable(groups: tuple[Group, ...], model: Model) -> tuple[str, ...]:
    """Labels of numbers with columns of their own, which every product can be had without."""
    if not all(group.plain for group in groups):
        return ()
    subsets = {group.subset for group in groups}
    kept, numbers = {frozenset(subset) for subset in subsets}, _numbers(model)
    if () not in subsets or _multiplied(groups, model) > _MOST_NUMBERS:
        return ()
    free = [
        at
        for at in numbers
        if (at,) in subsets and all({*subset} - {at} in kept for subset in subsets if at in subset)
    ]
    derived = _powers(groups, model, {model.factors[at].name for at in free})
    names = [model.factors[at].name for at in free if at not in derived]
    return tuple(group.label for group in groups if group.kind == "slope" and group.label in names)


def least_share(groups: tuple[Group, ...], model: Model) -> float:
    """Of the declared range, which a standard deviation is taken to be at the least; 0 with few products."""
    powers = _powers(groups, model, {factor.name for factor in model.factors}).values()
    return _LEAST_SHARE if _multiplied(groups, model) > 2 or any(power > 2 for _, power in powers) else 0.0


def _numbers(model: Model) -> list[int]:
    return [at for at, factor in enumerate(model.factors) if isinstance(factor, NumericFactor)]


def _multiplied(groups: tuple[Group, ...], model: Model) -> int:
    """How many numbers the largest product has."""
    return max(len(set(group.subset) & set(_numbers(model))) for group in groups)


def _powers(groups: tuple[Group, ...], model: Model, names: Collection[str]) -> dict[int, tuple[int, int]]:
    """Factors in no product that are squares of these numbers, or cubes beside them: of which, and 2 or 3."""
    found = {}
    alone = {group.subset[0] for group in groups if len(group.subset) == 1}
    alone -= {at for group in groups if len(group.subset) > 1 for at in group.subset}
    bases = {
        factor.expression: (at, factor)
        for at, factor in enumerate(model.factors)
        if isinstance(factor, NumericFactor) and factor.name in names
    }
    for at in alone:
        expression = model.factors[at].expression
        of, power = expression.args if expression.op == "power" else (None, None)
        if of in bases and power is not None and power.op == "constant" and power.value in _FARTHEST:
            base, factor = bases[of]
            if max(abs(factor.low), abs(factor.high)) <= _FARTHEST[power.value] * (factor.high - factor.low):
                found[at] = base, int(power.value)
    squared = {base for base, power in found.values() if power == 2}
    return {at: (base, power) for at, (base, power) in found.items() if base in squared}


def standardised(
    groups: tuple[Group, ...], model: Model, moments: Mapping[str, tuple[float, float]], longer: float
) -> tuple[Model, float, tuple[Group, ...]]:
    """The model in these means and standard deviations, the norm of its rows, and their groups."""
    powers = _powers(groups, model, moments)
    squares, known, less = {base: at for at, (base, power) in powers.items() if power == 2}, dict(moments), {}
    for at, (base, power) in powers.items():
        mean, deviation = moments[model.factors[base].name]
        away, square = mean / deviation, mean**2 + deviation**2
        around = square if power == 2 else mean * (square + 2.0 * deviation**2)
        known[model.factors[at].name] = around, math.sqrt(math.factorial(power)) * deviation**power
        less[at] = {base: -math.sqrt(2.0) * away}
        if power == 3:
            less[at] = {squares[base]: -math.sqrt(3.0) * away, base: math.sqrt(1.5) * (away**2 - 1.0)}
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
    norm, made = whole(other, Space(factors, subsets, rows, np.zeros((groups[-1].stop, model.size))), longer)
    places = {group.subset: group for group in made}
    first = {at: places[at,].products[0] for at in [*less, *squares]}
    for at, parts in less.items():
        more = [replace(first[of], scale=x * first[at].scale, prior=0.0) for of, x in parts.items() if x]
        places[at,] = replace(places[at,], products=(first[at], *more))
    return other, norm, tuple(places.values())


def affine_maps(
    before: tuple[Group, ...], after: tuple[Group, ...], model: Model, other: Model
) -> tuple[FloatMatrix, FloatMatrix]:
    """Rows of a layout as declared to those of a standardised one, and back, shapes (p, p)."""
    there, back = _map(before, after, model, other), _map(after, before, other, model)
    if all(len(group.products) == 1 for group in after):
        return there, back
    sheared = np.eye(before[-1].stop)
    starts = {group.subset: group for group in after}
    for group in after:
        for product in group.products[1:]:  # of a power of another column
            base = starts[tuple(part.factor for part in product.parts)]
            sheared[group.start, base.start] = product.scale / base.products[0].scale
    return sheared @ there, back @ np.linalg.inv(sheared)


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
