"""Standardised coordinates: the layout of rows that lie around means, and the map to it from declared ranges.

With c the place of a number in its declared range, its standardised coordinate is ``c' = a c + b``. A product
of these is a sum of products of some of the c, so that rows are mapped linearly, group by group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from dpglm.data.coding.geometry import Group, Space, Subset, whole
from dpglm.data.formula.model import Model, NumericFactor
from dpglm.typing import FloatMatrix

# Products of more numbers than this may be enormous in standard deviations that are small.
_MOST_NUMBERS: Final = 4


def standardisable(groups: tuple[Group, ...], model: Model) -> tuple[str, ...]:
    """Labels of numbers with columns of their own, which every product can be had without."""
    if any(len(group.products) > 1 or group.products[0].mixing is not None for group in groups):
        return ()
    subsets = [_subset(group) for group in groups]
    numbers = [at for at, factor in enumerate(model.factors) if isinstance(factor, NumericFactor)]
    if () not in subsets or max(len(set(subset) & set(numbers)) for subset in subsets) > _MOST_NUMBERS:
        return ()
    free = [
        model.factors[at].name
        for at in numbers
        if (at,) in subsets and all(_without(subset, at) in subsets for subset in subsets if at in subset)
    ]
    return tuple(group.label for group in groups if group.kind == "slope" and group.label in free)


def standardised(
    groups: tuple[Group, ...], model: Model, moments: Mapping[str, tuple[float, float]], longer: float
) -> tuple[Model, float, tuple[Group, ...]]:
    """The model in these means and standard deviations, the norm of its rows, and their groups."""
    factors = tuple(
        replace(factor, moments=moments[factor.name])
        if isinstance(factor, NumericFactor) and factor.name in moments
        else factor
        for factor in model.factors
    )
    other = replace(model, factors=factors)
    rows = tuple(slice(group.start, group.stop) for group in groups)
    space = Space(factors, tuple(map(_subset, groups)), rows, np.zeros((groups[-1].stop, model.size)))
    return other, *whole(other, space, longer)


def affine_maps(
    before: tuple[Group, ...], after: tuple[Group, ...], model: Model, other: Model
) -> tuple[FloatMatrix, FloatMatrix]:
    """Rows of one layout from those of the other, and back, shapes (p, p); both are whole."""
    return _map(before, after, model, other), _map(after, before, other, model)


def _map(before: tuple[Group, ...], after: tuple[Group, ...], model: Model, other: Model) -> FloatMatrix:
    affine = [_affine(factor, another) for factor, another in zip(model.factors, other.factors, strict=True)]
    size = before[-1].stop
    matrix = np.zeros((size, size))
    for row in after:
        for column in before:
            kept, all_of = set(_subset(column)), set(_subset(row))
            if not kept <= all_of:
                continue
            weight = row.products[0].scale / column.products[0].scale
            weight *= math.prod(affine[at][0 if at in kept else 1] for at in all_of)
            if weight:
                matrix[row.start : row.stop, column.start : column.stop] = weight * np.eye(
                    row.stop - row.start
                )
    return matrix


def _affine(factor: object, other: object) -> tuple[float, float]:
    """a and b with ``c' = a c + b``; levels stay as they are."""
    if not isinstance(factor, NumericFactor) or not isinstance(other, NumericFactor):
        return 1.0, 0.0
    return factor.unit / other.unit, (factor.middle - other.middle) / other.unit


def _subset(group: Group) -> Subset:
    return tuple(part.factor for part in group.products[0].parts)


def _without(subset: Subset, at: int) -> Subset:
    return tuple(index for index in subset if index != at)
