"""Layouts of rows for formulas without all lower-order terms, and of rows that are clipped."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.linalg

from dpglm.data.coding.geometry import DEPENDENT, Group, Layout, Space, span
from dpglm.data.formula.expressions import FormulaText
from dpglm.data.formula.model import Model, Term
from dpglm.typing import FloatMatrix


def partial(model: Model, space: Space, scaled: FloatMatrix) -> Layout:
    """The formula spans part of the products: an orthonormal basis of its columns, block by block."""
    basis, blocks = _orthonormal(model, space, scaled)
    supports = [
        [
            position
            for position in range(len(space.subsets))
            if np.abs(basis[space.rows[position], start:stop]).max() > 0
        ]
        for _, start, stop in blocks
    ]
    bounds = [
        _block_bound(space, basis[:, start:stop], support)
        for (_, start, stop), support in zip(blocks, supports, strict=True)
    ]
    norm = math.sqrt(_joint_bound(space, supports, bounds))
    groups = []
    for (term, start, stop), support, bound in zip(blocks, supports, bounds, strict=True):
        products = (
            space.product(position, norm, basis[space.rows[position], start:stop]) for position in support
        )
        groups.append(Group(term.name, "other", start, stop, bound, tuple(products)))
    return basis.T @ space.columns, norm, tuple(groups)


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
        if len(values) < block.shape[1] or values[-1] < DEPENDENT:
            at = max(model.formula.find(term.name), 0)
            raise FormulaText(model.formula).error(
                (at, at + len(term.name)),
                f"The columns of {term.name} are combinations of the columns of other terms.",
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
        rows = range(*space.rows[position].indices(len(block)))
        if len(chosen) + len(rows) <= block.shape[1] and np.abs(block[rows]).max() > 1e-14:
            chosen += rows
    if len(chosen) < block.shape[1]:
        return block
    left, _, right = scipy.linalg.svd(block[chosen])
    turned: FloatMatrix = block @ (left @ right).T
    return turned


def _block_bound(space: Space, block: FloatMatrix, support: list[int]) -> float:
    """The largest squared norm of one block: by corners where they are few, else by Bessel's inequality."""
    bessel = space.bound(support)
    corners = space.at_corners(support)
    if corners is None:
        return bessel
    inside = np.vstack([block[space.rows[position]] for position in support])
    return min(bessel, float(((inside.T @ corners) ** 2).sum(axis=0).max()) * (1 + 1e-12))


def _joint_bound(space: Space, supports: list[list[int]], bounds: list[float]) -> float:
    """Blocks that share products are bounded together or one by one, whichever is less."""
    waiting = [(set(support), bound) for support, bound in zip(supports, bounds, strict=True)]
    total = 0.0
    while waiting:
        together, sum_of_bounds = waiting.pop()
        grown = True
        while grown:
            near = [item for item in waiting if item[0] & together]
            waiting = [item for item in waiting if not item[0] & together]
            grown = bool(near)
            for support, bound in near:
                together, sum_of_bounds = together | support, sum_of_bounds + bound
        total += min(sum_of_bounds, space.bound(together))
    return total


def clipped(model: Model, layout: Layout) -> Layout:
    """The rows of a layout divided by the norm of a typical row, at which longer ones are clipped.

    That is one whose numbers sit at the root mean square of their declared ranges around the middle.
    """
    to_coded, norm, groups = layout
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the coding looks at the lengths
        usual = min(span(model).usual(), norm)
    wider = []
    for group in groups:
        products = tuple(replace(part, scale=part.scale * norm / usual) for part in group.products)
        wider.append(replace(group, bound=min(group.bound, usual**2), products=products))
    return to_coded, usual, tuple(wider)
