"""Geometry of coded rows: the space in which they lie, and the groups of columns that are made of it.

Products of the centred coordinates of factors, ``c_S = prod_{f in S} c_f`` for subsets S of the factors of a
term (S = {} is the constant 1), span every column of the design: a column is a tensor product of functions 1
and c_f. Here these products are listed, weighed and bounded; all of it is public.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dpglm.data.formula.model import Factor, Model, NumericFactor, Subterm, column_count
from dpglm.errors import FormulaError
from dpglm.factor_rows import SimplexColumns
from dpglm.glm.penalties.base import TermColumns, TermKind
from dpglm.typing import FloatMatrix, FloatVector
from dpglm.wide_maps import MOST_DENSE, NoTable

# Rows are divided by a little more than their bound: rounding to float32 moves a norm by less than 2^-22, and
# a float32 sum of squares can then tell that a row is bounded.
SLACK: Final = 1.0 + 2.0**-14
_MOST_CORNERS: Final = 20_000
_INTERCEPT_SHARE: Final = 0.25
# Prior standard deviation of the constant, log-odds in the middle of all declared ranges.
_INTERCEPT_PRIOR: Final = 5.0
# Columns shorter or longer than this and its inverse have lengths that cannot be squared.
SHORTEST: Final = 1e-140
DEPENDENT: Final = 1e-9  # sine of the angle below which a column counts as a combination of others

Subset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """One factor of a product: ``(value - shift) * scale``, or ``table.T`` at the level or on the basis."""

    factor: int
    shift: float = 0.0
    scale: float = 1.0
    table: FloatMatrix | SimplexColumns | None = None


@dataclass(frozen=True, eq=False)
class Product:
    """Products of parts, the first varying fastest, times ``scale``; then ``mixing.T`` of them, if given.

    ``prior`` is the declared prior scale of a coefficient of these products, before ``scale``.
    """

    parts: tuple[Part, ...]
    scale: float
    mixing: FloatMatrix | None = None
    prior: float = 1.0


@dataclass(frozen=True, eq=False)
class Group:
    """Coded columns ``start`` to ``stop`` of one product or one term: the sum of ``products``.

    ``bound`` is the largest squared norm of this part of a row, before the division by the row norm.
    """

    label: str
    kind: TermKind
    start: int
    stop: int
    bound: float
    products: tuple[Product, ...]

    @cached_property
    def subset(self) -> Subset:
        """Places of the factors of its first product."""
        return tuple([part.factor for part in self.products[0].parts])

    def term_columns(self, row_norm: float, groups: Sequence[Group] = ()) -> TermColumns:
        """The columns as inference sees them, in rows that are divided by ``row_norm`` (and the slack).

        These may be products of two of the ``groups``.
        """
        bound = self.bound / (row_norm * SLACK) ** 2 * (1.0 + 2.0**-13)  # rounding to float32 included
        first = self.products[0]
        table = first.parts[0].table if self.kind == "levels" else None
        cells: FloatMatrix | NoTable = np.array([[first.scale]])
        if isinstance(table, SimplexColumns):
            cells = NoTable(table.levels - 1)
        elif table is not None:
            cells = first.scale * table
        if self.kind == "other":
            cells = np.eye(self.stop - self.start)
        variance = np.zeros(self.stop - self.start)
        for product in self.products:
            mixed = 1.0 if product.mixing is None else (product.mixing**2).sum(axis=0)
            variance += (product.prior / product.scale) ** 2 * mixed
        table_of, prior, made_of = cast(FloatMatrix, cells), np.sqrt(variance), None
        if self.plain and len(self.subset) == 2:
            single = (group for group in groups if group.plain and len(group.subset) == 1)
            starts = {group.kind: group.start for group in single if group.subset[0] in self.subset}
            made_of = (starts["levels"], starts["slope"]) if {"levels", "slope"} == starts.keys() else None
        return TermColumns(self.label, self.kind, self.start, self.stop, bound, table_of, prior, made_of)

    @property
    def plain(self) -> bool:
        """Whether it is one product, unmixed."""
        return len(self.products) == 1 and self.products[0].mixing is None


def simplex_vectors(levels: int) -> tuple[FloatVector, FloatVector]:
    """What a corner holds for its level and for later ones, shape (levels - 1,); see `SimplexColumns`.

    The very numbers of `simplex_corners`.
    """
    steps = np.arange(1.0, levels)
    roots = np.sqrt(steps * (steps + 1.0))
    return 0.0 - 1.0 / roots, steps / roots


def simplex_columns(group: Group, dtype: np.dtype[Any]) -> SimplexColumns:
    """The columns of a factor, of one product, as they are read in this precision."""
    before, own = simplex_vectors(group.stop - group.start + 1)
    scale = group.products[0].scale
    return SimplexColumns(group.start, before, own).scaled(scale, dtype)


# The map from the user's coefficients to coded ones, the norm that rows are divided by, and the columns.
Layout: TypeAlias = tuple[FloatMatrix, float, tuple[Group, ...]]


def prior_of(factors: Sequence[Factor]) -> float:
    """Prior scale of the product of these factors: the largest of theirs, on standardised scales."""
    largest = max((factor.prior / factor.width for factor in factors), default=_INTERCEPT_PRIOR)
    return largest * math.prod([factor.width for factor in factors])


def kind_of(factors: Sequence[Factor]) -> TermKind:
    """What the product of these factors is to inference."""
    if len(factors) > 1:
        return "other"
    return factors[0].kind if factors else "intercept"


@dataclass(frozen=True, eq=False)
class Space:
    """All products that a model uses, one after the other, and its columns as their combinations.

    ``subsets`` holds the positions of each product's factors, of which the first varies fastest.
    ``rows`` holds its rows in ``columns``, shape (dimension, p), which are the user's columns in the weighed
    products: a row of the design is ``columns.T @ z`` with z the products c_S times sqrt(share of S).
    """

    factors: tuple[Factor, ...]
    subsets: tuple[Subset, ...]
    rows: tuple[slice, ...]
    columns: FloatMatrix

    def share(self, subset: Subset) -> float:
        """Public weight a_S of the squared product."""
        if not subset:
            return _INTERCEPT_SHARE
        return math.prod([self.factors[index].share for index in subset])

    @cached_property
    def bounds(self) -> tuple[float, ...]:
        """The largest a_S * |c_S|^2 of any row by product, attained with all factors at farthest corners."""
        alone = [factor.bound for factor in self.factors]
        return tuple([self.share(one) * math.prod([alone[index] for index in one]) for one in self.subsets])

    def bound(self, positions: Iterable[int]) -> float:
        """Bounds of some products, summed."""
        return math.fsum([self.bounds[position] for position in positions])

    def typical(self) -> FloatVector:
        """Mean squares of the rows' entries, shape (dimension,), were the products uncorrelated."""
        squares = np.zeros(len(self.columns))
        for rows, subset in zip(self.rows, self.subsets, strict=True):
            whole = self.share(subset) * math.prod([self.factors[index].typical for index in subset])
            squares[rows] = whole / (rows.stop - rows.start)
        return squares

    def usual(self) -> float:
        """Norm of a row of uncorrelated products, the numbers uniform on their declared ranges."""
        return math.sqrt(
            math.fsum(
                self.share(subset) * math.prod(self.factors[index].uniform for index in subset)
                for subset in self.subsets
            )
        )

    def product(self, position: int, norm: float, mixing: FloatMatrix | None = None) -> Product:
        """The product at ``position`` in rows that are divided by ``norm`` (and the slack)."""
        subset = self.subsets[position]
        parts = []
        for index in subset:
            factor = self.factors[index]
            if isinstance(factor, NumericFactor):
                parts.append(Part(index, factor.middle, 1.0 / factor.unit))
            elif factor.level_count > MOST_DENSE:
                parts.append(Part(index, table=SimplexColumns(0, *simplex_vectors(factor.level_count))))
            else:
                parts.append(Part(index, table=factor.corners))
        prior = prior_of([self.factors[index] for index in subset])
        return Product(tuple(parts), math.sqrt(self.share(subset)) / (norm * SLACK), mixing, prior)

    def at_corners(self, positions: Sequence[int]) -> FloatMatrix | None:
        """z of some products at all combinations of corners, shape (rows, combinations), unless too many.

        The squared norm of any linear function of a row is convex in each factor's coordinates, so that
        its largest value is taken at one of these.
        """
        used = sorted({index for position in positions for index in self.subsets[position]})
        counts = [len(self.factors[index].corners) for index in used]
        if math.prod(counts) > _MOST_CORNERS:
            return None
        choices = np.indices(counts).reshape(len(used), math.prod(counts))
        blocks = []
        for position in positions:
            subset = self.subsets[position]
            block = np.full((1, choices.shape[1]), math.sqrt(self.share(subset)))
            for index in subset:
                corners = self.factors[index].corners[choices[used.index(index)]].T
                block = (corners[:, None, :] * block[None, :, :]).reshape(-1, choices.shape[1])
            blocks.append(block)
        return np.vstack(blocks)


def whole(model: Model, space: Space, longer: float | None = None) -> tuple[float, tuple[Group, ...]]:
    """The norm of rows of all products, ``longer`` typical ones or else the bound, and their groups."""
    norm = math.sqrt(space.bound(range(len(space.subsets))))
    if longer is not None:
        norm = longer * math.sqrt(float(space.typical().sum()))
    groups = []
    for position, subset in enumerate(space.subsets):
        factors = [model.factors[index] for index in subset]
        label = ":".join(factor.name for factor in factors) or "Intercept"
        rows, product = space.rows[position], space.product(position, norm)
        kind, bound = kind_of(factors), space.bounds[position]
        groups.append(Group(label, kind, rows.start, rows.stop, bound, (product,)))
    return norm, tuple(groups)


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
    position_of: dict[Subset, int] = {}
    pieces: list[tuple[int, int, FloatMatrix]] = []
    for term in model.terms:
        start = term.start
        for subterm in term.subterms:
            for subset, block in _expanded(model, subterm):
                if block.any():
                    pieces.append((position_of.setdefault(subset, len(position_of)), start, block))
            start += column_count(subterm)
    subsets = tuple(position_of)
    sizes = [math.prod(model.factors[index].size for index in subset) for subset in subsets]
    starts = (0, *itertools.accumulate(sizes))
    rows = tuple(itertools.starmap(slice, itertools.pairwise(starts)))
    space = Space(model.factors, subsets, rows, np.zeros((starts[-1], model.size)))
    for position, start, block in pieces:
        weighed = block / math.sqrt(space.share(subsets[position]))
        space.columns[space.rows[position], start : start + block.shape[1]] += weighed
    return space


def _expanded(model: Model, subterm: Subterm) -> list[tuple[Subset, FloatMatrix]]:
    """The columns of a subterm in the products of subsets of its factors, each (size, columns)."""
    usages = sorted(subterm, key=lambda usage: usage.factor)
    affine = [model.factors[usage.factor].affine(usage.table) for usage in usages]
    if len(usages) == 1:  # what is below, sooner
        table = np.asarray(affine[0], dtype=np.float64)
        return [((), table[:1]), ((usages[0].factor,), table[1:])]
    order = _column_order(subterm)
    expanded = []
    for chosen in itertools.product((False, True), repeat=len(usages)):
        block: FloatMatrix = np.ones((1, 1))
        for taken, part in zip(chosen, affine, strict=True):
            block = np.kron(part[1:] if taken else part[:1], block).astype(np.float64)
        subset = tuple(usage.factor for usage, taken in zip(usages, chosen, strict=True) if taken)
        expanded.append((subset, block[:, order]))
    return sorted(expanded, key=lambda item: len(item[0]))


def _column_order(subterm: Subterm) -> NDArray[np.intp]:
    """Where each column of the subterm stands when its factors are sorted by place instead of by the user."""
    by_place = np.argsort([usage.factor for usage in subterm])
    sizes = [subterm[position].size for position in by_place]
    columns = np.arange(column_count(subterm)).reshape(sizes, order="F")  # the first factor varies fastest
    return columns.transpose(np.argsort(by_place)).ravel(order="F")


def directions(columns: FloatMatrix, formula: str) -> tuple[FloatMatrix, FloatVector]:
    """Columns divided by their lengths, and the lengths, which a double must hold squared; public both."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        lengths = np.sqrt((columns**2).sum(axis=0))
    if not ((lengths > SHORTEST) & (lengths < 1.0 / SHORTEST)).all():
        raise FormulaError(
            f"columns or products that are too large or too small for a number in {formula!r}",
            expected=f"declared ranges whose products lie between {SHORTEST:g} and {1.0 / SHORTEST:g}",
            remedy="Declare the columns in other units, or write scale(x, center=0, by=1e9).",
        )
    return columns / lengths, lengths


def inverted(square: FloatMatrix) -> tuple[FloatMatrix, float]:
    """The inverse and the condition number in the 1-norm; both infinite where there is no inverse."""
    try:
        inverse = np.linalg.inv(square).astype(np.float64, copy=False)  # scipy's would warn
    except np.linalg.LinAlgError:
        inverse = np.full(square.shape, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return inverse, float(np.linalg.norm(square, 1) * np.linalg.norm(inverse, 1))
