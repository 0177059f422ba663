"""Coding of designs that are too wide for a matrix: main effects of factors against a reference level."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np

from dpglm.data.coding import geometry
from dpglm.data.formula.model import Model, Term, Treatment
from dpglm.errors import FormulaError
from dpglm.factor_rows import SimplexColumns
from dpglm.typing import IntVector
from dpglm.wide_maps import TreatedLevels, WideMap


def wide_layout(model: Model) -> tuple[WideMap, float, tuple[geometry.Group, ...]]:
    """The map to coded coefficients, the norm of rows, and their groups, those of wide factors last.

    The other terms have all lower-order terms, a constant among them.
    """
    wide = [term for term in model.terms if term.wide]
    others, user = _without(model, wide)
    space = geometry.span(others)
    unit_columns, lengths = geometry.directions(space.columns, model.formula)
    inverse, condition = unit_columns, np.inf
    if len(unit_columns) == others.size and () in space.subsets:
        inverse, condition = geometry.inverted(unit_columns)
    if not condition < 1 / geometry.DEPENDENT:
        raise FormulaError(
            f"terms of {model.formula!r} without all lower-order terms, beside a factor of so many levels",
            expected="an intercept, and every product with the terms that it is made of",
            remedy="Merge levels in the schema, or add the terms.",
        )
    places = [term.subterms[0][0].factor for term in wide]
    subsets = (*space.subsets, *((place,) for place in places))
    sizes = [rows.stop - rows.start for rows in space.rows] + [model.factors[at].size for at in places]
    rows = tuple(slice(*ends) for ends in pairwise((0, *accumulate(sizes))))
    norm, groups = geometry.whole(
        model, geometry.Space(model.factors, subsets, rows, np.empty((0, model.size)))
    )
    divisor = norm * geometry.SLACK
    factors = []
    for term, at, place in zip(wide, places, rows[len(space.rows) :], strict=True):
        factor, table = model.factors[at], term.subterms[0][0].table
        assert isinstance(table, Treatment), "a wide term has one"
        corners = SimplexColumns(place.start, *geometry.simplex_vectors(table.levels))
        scale = divisor / math.sqrt(factor.share)
        share = divisor / (table.levels * math.sqrt(space.share(())))
        factors.append(TreatedLevels(term.start, corners, table.reference, scale, share))
    constant = space.rows[space.subsets.index(())].start
    return (
        WideMap(
            user,
            np.arange(others.size),
            space.columns * divisor,
            inverse / lengths[:, None] / divisor,
            constant,
            tuple(factors),
        ),
        norm,
        groups,
    )


def _without(model: Model, wide: list[Term]) -> tuple[Model, IntVector]:
    """The model of the other terms, and places of their columns."""
    terms, places, start = [], [], 0
    for term in model.terms:
        if term not in wide:
            terms.append(replace(term, start=start))
            places.append(np.arange(term.start, term.stop))
            start += term.stop - term.start
    user = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)
    names = tuple(model.names[at] for at in user)
    return replace(model, names=names, terms=tuple(terms)), user
