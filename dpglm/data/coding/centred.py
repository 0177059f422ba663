"""The centred coding: products of centred coordinates with public weights, and no row is ever clipped."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from dpglm.data.coding.geometry import Space, span
from dpglm.data.coding.groups import (
    SLACK,
    Group,
    Layout,
    Part,
    Product,
    label_of,
    prior_of,
    require_lengths,
    role_of,
)
from dpglm.data.formula.errors import refuse
from dpglm.data.formula.factors import NumericFactor
from dpglm.data.formula.model import Model, Term
from dpglm.typing import FloatMatrix

_DEPENDENT = 1e-9  # sine of the angle below which a column counts as a combination of others


def centred(model: Model) -> Layout:
    """Rows made of the products of `Space`, divided by a bound of their norm that follows from the schema.

    A formula with all lower-order terms spans all products, which are then the row. Otherwise the row is an
    orthonormal basis of the formula's columns in the weights of the products.

    Raises
    ------
    FormulaError
        If a term's columns are combinations of the columns of others, or too large or small for a number.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # lengths tell
        space = span(model)
        lengths = np.sqrt((space.columns**2).sum(axis=0))
    require_lengths(lengths, model.formula)
    scaled = space.columns / lengths
    if scaled.shape[0] == model.size and _invertible(scaled):
        return _whole(model, space)
    return _partial(model, space, *_orthonormal(model, space, scaled))


def _invertible(square: FloatMatrix) -> bool:
    try:
        inverse = np.linalg.inv(square)  # scipy's warns; the condition is looked at here
    except np.linalg.LinAlgError:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        condition = np.abs(square).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
    return bool(condition < 1 / _DEPENDENT)


def _whole(model: Model, space: Space) -> Layout:
    """The formula spans all products: the coded row is the products themselves."""
    bound = math.fsum(space.bound(subset) for subset in space.subsets)
    groups = tuple(
        Group(
            label=label_of(model, subset),
            role=role_of(model, subset),
            start=space.starts[position],
            stop=space.starts[position + 1],
            share=space.share(subset),
            bound=space.bound(subset),
            products=(_centred_product(model, space, subset, bound),),
        )
        for position, subset in enumerate(space.subsets)
    )
    return Layout(space.columns, math.sqrt(bound), groups)


def _partial(model: Model, space: Space, basis: FloatMatrix, blocks: list[tuple[Term, int, int]]) -> Layout:
    """The formula spans part of the products: an orthonormal basis of its columns, block by block."""
    supports, bounds = [], []
    for _, start, stop in blocks:
        support = [
            position
            for position in range(len(space.subsets))
            if np.abs(basis[space.rows(position), start:stop]).max() > 0
        ]
        supports.append(support)
        bounds.append(_block_bound(space, basis[:, start:stop], support))
    bound = _joint_bound(space, supports, bounds)
    groups = []
    for (term, start, stop), support, own in zip(blocks, supports, bounds, strict=True):
        products = tuple(
            _centred_product(
                model, space, space.subsets[position], bound, basis[space.rows(position), start:stop]
            )
            for position in support
        )
        weights = np.concatenate(
            [
                np.full(r.stop - r.start, 1 / space.share(space.subsets[position]))
                for position in support
                for r in [space.rows(position)]
            ]
        )
        inside = np.vstack([basis[space.rows(position), start:stop] for position in support])
        spread = float(weights @ (inside**2).sum(axis=1))
        role = (
            "intercept"
            if term.order == 0
            else "interaction"
            if term.order > 1
            else role_of(model, (term.subterms[0].usages[0].factor,))
        )
        groups.append(Group(term.name, role, start, stop, (stop - start) / spread, own, products))
    return Layout(basis.T @ space.columns, math.sqrt(bound), tuple(groups))


def _orthonormal(
    model: Model, space: Space, columns: FloatMatrix
) -> tuple[FloatMatrix, list[tuple[Term, int, int]]]:
    """An orthonormal basis of the columns, a block for each term, terms with few factors first."""
    basis = np.zeros((columns.shape[0], 0))
    blocks = []
    for term in sorted(model.terms, key=lambda term: term.order):
        block = columns[:, term.start : term.stop]
        rest = block
        for _ in range(2):  # twice is enough for orthogonality to rounding
            rest = rest - basis @ (basis.T @ rest)
        left, values, _ = scipy.linalg.svd(rest, full_matrices=False)
        if len(values) < block.shape[1] or values[-1] < _DEPENDENT:
            at = max(model.formula.find(term.name), 0)
            raise refuse(
                f"The columns of {term.name} are combinations of the columns of other terms.",
                model.formula,
                (at, at + len(term.name)),
                expected="columns that can be told apart",
                remedy="Leave the term out; for numbers far from 0 write center(x, at=...) instead of x.",
            )
        left = _aligned(space, left)
        left[np.abs(left) < 1e-14] = 0.0
        blocks.append((term, basis.shape[1], basis.shape[1] + left.shape[1]))
        basis = np.hstack([basis, left])
    return basis, blocks


def _aligned(space: Space, block: FloatMatrix) -> FloatMatrix:
    """The block turned so that its highest products come one to a column: then few numbers mix the others."""
    chosen: list[int] = []
    for position in sorted(range(len(space.subsets)), key=lambda position: -len(space.subsets[position])):
        rows = range(*space.rows(position).indices(len(block)))
        if len(chosen) + len(rows) <= block.shape[1] and np.abs(block[rows]).max() > 1e-14:
            chosen += rows
    if len(chosen) < block.shape[1]:
        return block
    left, _, right = scipy.linalg.svd(block[chosen])
    turned: FloatMatrix = block @ (left @ right).T
    return turned


def _block_bound(space: Space, block: FloatMatrix, support: list[int]) -> float:
    """The largest squared norm of one block: by corners where they are few, else by Bessel's inequality."""
    bessel = math.fsum(space.bound(space.subsets[position]) for position in support)
    corners = space.at_corners(support)
    if corners is None:
        return bessel
    inside = np.vstack([block[space.rows(position)] for position in support])
    return min(bessel, float(((inside.T @ corners) ** 2).sum(axis=0).max()) * (1 + 1e-12))


def _joint_bound(space: Space, supports: list[list[int]], bounds: list[float]) -> float:
    """Blocks that share products are bounded together or one by one, whichever is less."""
    waiting = [(set(support), own) for support, own in zip(supports, bounds, strict=True)]
    total = 0.0
    while waiting:
        together, sum_of_own = waiting.pop()
        grown = True
        while grown:
            near = [item for item in waiting if item[0] & together]
            waiting = [item for item in waiting if not item[0] & together]
            grown = bool(near)
            for support, own in near:
                together, sum_of_own = together | support, sum_of_own + own
        total += min(sum_of_own, math.fsum(space.bound(space.subsets[position]) for position in together))
    return total


def _centred_product(
    model: Model, space: Space, subset: tuple[int, ...], bound: float, mixing: FloatMatrix | None = None
) -> Product:
    parts = []
    for place in subset:
        factor = model.factors[place]
        if isinstance(factor, NumericFactor):
            parts.append(Part(place, factor.middle, 1.0 / (factor.high - factor.low)))
        else:
            parts.append(Part(place, table=factor.corners))
    scale = math.sqrt(space.share(subset)) / (math.sqrt(bound) * SLACK)
    return Product(tuple(parts), scale, mixing, prior_of(model, subset))
