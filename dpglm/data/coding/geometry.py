"""The space in which the rows of a formula live, and how the user's columns lie in it.

Products of the centred coordinates of factors, ``c_S = prod_{f in S} c_f`` for subsets S of the factors of a
term (S = {} is the constant 1), span every column of the design: a column is a tensor product of functions 1
and c_f. Here these products are listed, weighed and bounded; all of it is public.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpglm.data.formula.factors import Factor
from dpglm.data.formula.model import Model, Subterm
from dpglm.typing import FloatMatrix

_INTERCEPT_SHARE = 0.25

Subset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Space:
    """All products that a model uses, one after the other, and its columns as their combinations.

    Parameters
    ----------
    factors : tuple of Factor
        The factors of the model.
    subsets : tuple of tuple of int
        Places of the factors of each product; within a product the first factor varies fastest.
    starts : tuple of int
        First row of each product in ``columns``, and one past the last row at the end.
    columns : ndarray, shape (dimension, p)
        User's columns in the products divided by their public weights: a row of the design is
        ``columns.T @ z`` with z the products c_S times sqrt(share of S).
    """

    factors: tuple[Factor, ...]
    subsets: tuple[Subset, ...]
    starts: tuple[int, ...]
    columns: FloatMatrix

    def share(self, subset: Subset) -> float:
        """Public weight a_S of the squared product."""
        if not subset:
            return _INTERCEPT_SHARE
        return math.prod(self.factors[place].share for place in subset)

    def bound(self, subset: Subset) -> float:
        """The largest a_S * |c_S|^2 of any row; attained where every factor is at its farthest corner."""
        return self.share(subset) * math.prod(self.factors[place].bound for place in subset)

    def rows(self, position: int) -> slice:
        """Rows of the product at ``position``."""
        return slice(self.starts[position], self.starts[position + 1])

    def at_corners(self, positions: Sequence[int], *, most: int = 20_000) -> FloatMatrix | None:
        """z of some products at all combinations of corners, shape (rows, combinations).

        The squared norm of any linear function of a row is convex in each factor's coordinates, so that
        its largest value is taken at one of these. None where there are more than ``most``.
        """
        used = sorted({place for position in positions for place in self.subsets[position]})
        counts = [len(self.factors[place].corners) for place in used]
        if math.prod(counts) > most:
            return None
        listed = list(itertools.product(*map(range, counts)))
        choices = np.array(listed, dtype=np.intp).reshape(len(listed), len(used))
        blocks = []
        for position in positions:
            subset = self.subsets[position]
            block = np.full((1, len(choices)), math.sqrt(self.share(subset)))
            for place in subset:
                corners = self.factors[place].corners[choices[:, used.index(place)]].T
                block = (corners[:, None, :] * block[None, :, :]).reshape(-1, len(choices))
            blocks.append(block)
        return np.vstack(blocks)


def span(model: Model) -> Space:
    """The space of a model.

    Examples
    --------
    >>> from dpglm.data.formula.parse import parse
    >>> from dpglm.data.schema.schema import Schema
    >>> model = parse("y ~ age", Schema.of({"y": ["no", "yes"], "age": (20, 80)}))
    >>> span(model).subsets
    ((), (0,))
    >>> (span(model).columns.T * [0.5, 2**0.5]).round(12)  # 1 = 1, age = 50 + 60 c
    array([[ 1.,  0.],
           [50., 60.]])
    """
    places: dict[Subset, int] = {}
    pieces: list[tuple[int, int, FloatMatrix]] = []
    for term in model.terms:
        start = term.start
        for subterm in term.subterms:
            for subset, block in _expanded(model, subterm):
                if block.any():
                    pieces.append((places.setdefault(subset, len(places)), start, block))
            start += subterm.size
    subsets = tuple(places)
    sizes = [math.prod(model.factors[place].size for place in subset) for subset in subsets]
    starts = (0, *itertools.accumulate(sizes))
    space = Space(model.factors, subsets, starts, np.zeros((starts[-1], model.size)))
    for position, start, block in pieces:
        weighed = block / math.sqrt(space.share(subsets[position]))
        space.columns[space.rows(position), start : start + block.shape[1]] += weighed
    return space


def _expanded(model: Model, subterm: Subterm) -> list[tuple[Subset, FloatMatrix]]:
    """The columns of a subterm in the products of subsets of its factors, each (size, columns)."""
    usages = sorted(subterm.usages, key=lambda usage: usage.factor)
    affine = [model.factors[usage.factor].affine(usage.table) for usage in usages]
    order = _column_order(subterm)
    found = []
    for chosen in itertools.product((False, True), repeat=len(usages)):
        block: FloatMatrix = np.ones((1, 1))
        for taken, part in zip(chosen, affine, strict=True):
            block = np.kron(part[1:] if taken else part[:1], block).astype(np.float64)
        subset = tuple(usage.factor for usage, taken in zip(usages, chosen, strict=True) if taken)
        found.append((subset, block[:, order]))
    return sorted(found, key=lambda item: len(item[0]))


def _column_order(subterm: Subterm) -> list[int]:
    """Where each column of the subterm stands when its factors are sorted by place instead of by the user."""
    usages = subterm.usages
    ranked = sorted(range(len(usages)), key=lambda position: usages[position].factor)
    stride, strides = 1, [0] * len(usages)
    for position in ranked:
        strides[position], stride = stride, stride * usages[position].size
    counts = [range(usage.size) for usage in reversed(usages)]
    return [
        sum(i * strides[position] for position, i in enumerate(reversed(combination)))
        for combination in itertools.product(*counts)
    ]
