"""Public coding: the linear map between the user's coefficients and those of bounded rows.

Centred: rows are products of centred coordinates with public weights, and none is ever clipped. Reference:
rows are the user's columns, each divided by its bound, and long ones are clipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.linalg

from dpglm.data.coding.geometry import (
    SLACK,
    Group,
    Part,
    Product,
    Space,
    kind_of,
    prior_of,
    require_lengths,
    span,
)
from dpglm.data.formula.model import Model, NumericFactor, Subterm, Term
from dpglm.data.formula.syntax import FormulaText
from dpglm.errors import FormulaError, MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

Kind: TypeAlias = Literal["centred", "reference"]


@dataclass(frozen=True, eq=False)
class Coding:
    """Rows x with norm at most 1, and the maps between coefficients; a function of formula, schema and kind.

    For every row that is not clipped, user's columns times beta equal ``x @ theta`` when
    ``theta = coded_from_user @ beta``. With ``kind="centred"`` no row is ever clipped.

    Parameters
    ----------
    names : tuple of str
        The user's columns, as patsy names them; shape (p,).
    user_from_coded, coded_from_user : ndarray, shape (p, p)
        ``beta = user_from_coded @ theta`` and its inverse.
    penalised : ndarray of bool, shape (p,)
        False for the user's intercept only.
    row_norm : float
        What rows are divided by, but for the slack of rounding: the bound of their norm (centred), or the
        norm at which they are clipped (reference).
    kind : "centred" or "reference"
        Which coding it is.
    terms : tuple of (str, tuple of int)
        Name and user's columns of each term.
    groups : tuple of Group
        The coded columns.

    Examples
    --------
    >>> from dpglm.data.formula.parse import parse
    >>> from dpglm.data.schema.schema import Schema
    >>> model = parse("y ~ age + sex", Schema.of({"y": ["no", "yes"], "age": (20, 80), "sex": ["F", "M"]}))
    >>> coding = Coding.of(model)
    >>> coding.row_norm, [group.label for group in coding.groups]  # sqrt(1/4 + 2/4 + 1/4)
    (1.0, ['Intercept', 'sex', 'age'])
    """

    names: tuple[str, ...]
    user_from_coded: FloatMatrix
    coded_from_user: FloatMatrix
    penalised: BoolVector
    row_norm: float
    kind: Kind
    terms: tuple[tuple[str, tuple[int, ...]], ...]
    groups: tuple[Group, ...]

    @property
    def size(self) -> int:
        """Number of columns, user's and coded ones alike."""
        return len(self.names)

    @property
    def term_columns(self) -> tuple[TermColumns, ...]:
        """The coded columns as tables of cells, with their bounds and declared prior scales."""
        return tuple(group.term_columns(self.row_norm) for group in self.groups)

    @property
    def clips(self) -> bool:
        """Whether a row may be clipped, which makes the maps inexact for that row."""
        return self.kind == "reference"

    @property
    def clipping(self) -> str:
        """Which rows are clipped, in words."""
        return f"rows longer than {self.row_norm:.4g}" if self.clips else "none"

    @classmethod
    def of(cls, model: Model, *, kind: Kind = "centred") -> Coding:
        """The public coding of a model: ``"centred"`` or ``"reference"`` (see `centred` and `reference`).

        Raises
        ------
        FormulaError
            If a term's columns are combinations of the columns of others.
        MethodError
            For another kind.
        """
        if kind not in ("centred", "reference"):
            raise MethodError(
                f"coding of kind {kind!r}", expected="'centred' or 'reference'", remedy="Leave it out."
            )
        to_coded, norm, groups = centred(model) if kind == "centred" else reference(model)
        # Columns may be in any unit: invert directions, not lengths.
        with np.errstate(over="ignore", under="ignore"):
            lengths = np.sqrt((to_coded**2).sum(axis=0))
        require_lengths(lengths, model.formula)
        inverse, condition = inverted(to_coded / lengths)
        if not condition < 1.0 / np.finfo(np.float64).eps:  # rounding leaves no digit of the inverse
            raise FormulaError(
                f"columns that are combinations of others, to rounding, in {model.formula!r}",
                expected="columns that can be told apart",
                remedy="Leave a term out; for numbers far from 0 write center(x, at=...) instead of x.",
            )
        divisor = norm * SLACK
        penalised = np.ones(model.size, dtype=np.bool_)
        for term in model.terms:
            penalised[term.start : term.stop] = term.order > 0
        maps = inverse / lengths[:, None] / divisor, to_coded * divisor
        for array in (*maps, penalised):
            array.setflags(write=False)
        return cls(
            names=model.names,
            user_from_coded=maps[0],
            coded_from_user=maps[1],
            penalised=penalised,
            row_norm=norm,
            kind=kind,
            terms=tuple((term.name, tuple(range(term.start, term.stop))) for term in model.terms),
            groups=groups,
        )


# The map from the user's coefficients to coded ones, the norm that rows are divided by, and the columns.
Layout: TypeAlias = tuple[FloatMatrix, float, tuple[Group, ...]]
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
    if scaled.shape[0] == model.size and inverted(scaled)[1] < 1 / _DEPENDENT:
        return _whole(model, space)
    return _partial(model, space, scaled)


def inverted(square: FloatMatrix) -> tuple[FloatMatrix, float]:
    """The inverse and the condition number in the 1-norm; both infinite where there is no inverse."""
    try:
        inverse = np.linalg.inv(square).astype(np.float64, copy=False)  # scipy's would warn
    except np.linalg.LinAlgError:
        inverse = np.full(square.shape, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return inverse, float(np.linalg.norm(square, 1) * np.linalg.norm(inverse, 1))


def _whole(model: Model, space: Space) -> Layout:
    """The formula spans all products: the coded row is the products themselves."""
    norm = math.sqrt(space.bound(range(len(space.subsets))))
    groups = []
    for position, subset in enumerate(space.subsets):
        factors = [model.factors[index] for index in subset]
        label = ":".join(factor.name for factor in factors) or "Intercept"
        rows, bound = space.rows[position], space.bound([position])
        product = space.product(position, norm)
        groups.append(Group(label, kind_of(factors), rows.start, rows.stop, bound, (product,)))
    return space.columns, norm, tuple(groups)


def _partial(model: Model, space: Space, scaled: FloatMatrix) -> Layout:
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
        if len(values) < block.shape[1] or values[-1] < _DEPENDENT:
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


def reference(model: Model) -> Layout:
    """Rows of the user's columns in [-1, 1], clipped at the norm of a typical row.

    That is one whose numbers sit at the root mean square of their declared ranges.
    """
    subterms = [(term.name, subterm) for term in model.terms for subterm in term.subterms]
    scaled = [_scaled_parts(model, subterm) for _, subterm in subterms]
    norm = math.sqrt(math.fsum(typical for *_, typical in scaled))
    groups, start = [], 0
    for (name, subterm), (parts, _, typical) in zip(subterms, scaled, strict=True):
        factors = [model.factors[usage.factor] for usage in subterm.usages]
        product = Product(parts, 1.0 / (norm * SLACK), prior=prior_of(factors))
        stop = start + subterm.size
        groups.append(Group(name, kind_of(factors), start, stop, typical, (product,)))
        start = stop
    return np.diag(np.concatenate([largest for _, largest, _ in scaled])), norm, tuple(groups)


def _scaled_parts(model: Model, subterm: Subterm) -> tuple[tuple[Part, ...], FloatVector, float]:
    """Parts scaled into [-1, 1], the largest values of the columns, and a typical squared norm."""
    parts, largest, typical = [], np.ones(1), 1.0
    for usage in subterm.usages:
        factor = model.factors[usage.factor]
        if usage.table is None:
            assert isinstance(factor, NumericFactor)
            most = max(abs(factor.low), abs(factor.high))
            low, high = factor.low / most, factor.high / most
            parts.append(Part(usage.factor, 0.0, 1.0 / most))
            with np.errstate(over="ignore", under="ignore"):  # the coding looks at the lengths
                largest = largest * most
            typical *= (low * low + low * high + high * high) / 3
        else:
            most_each = np.abs(usage.table).max(axis=0)
            table = usage.table / most_each
            parts.append(Part(usage.factor, table=table))
            largest = np.kron(most_each, largest)
            typical *= float((table**2).sum(axis=1).max())
    return tuple(parts), largest, typical
