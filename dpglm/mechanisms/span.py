"""Which matrices sums of x x' over declared rows can be, and orthonormal coordinates of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.mechanisms.whole_sums import FINE, ROOT_TWO, TABLE, Whole, fine, product
from dpglm.typing import BoolVector, FloatMatrix, FloatVector


def to_coordinates(matrix: FloatMatrix) -> FloatVector:
    """A symmetric matrix in orthonormal coordinates of Frobenius norm, shape (p (p + 1) / 2,).

    Examples
    --------
    >>> to_coordinates(np.array([[1.0, 3.0], [3.0, 2.0]])).round(3)
    array([1.   , 2.   , 4.243])
    """
    return np.concatenate([np.diag(matrix), np.sqrt(2.0) * matrix[np.triu_indices(len(matrix), 1)]])


def from_coordinates(flat: FloatVector, size: int) -> FloatMatrix:
    """The symmetric matrix with these coordinates, shape (size, size)."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size, 1)] = flat[size:] / np.sqrt(2.0)
    matrix += matrix.T
    matrix[np.diag_indices(size)] = flat[:size]
    return matrix


@dataclass(frozen=True)
class _Tie:
    """One factor: its table is ``stretch`` times ``basis``, shape (L, L - 1), of orthonormal columns."""

    columns: slice
    stretch: float
    basis: FloatMatrix

    @property
    def count(self) -> int:
        return len(self.basis)

    def spread(self, contrast: FloatVector) -> FloatMatrix:
        """``Q' diag(Q v) Q``: what the totals Q v add to the factor's own block."""
        return np.asarray(self.basis.T @ ((self.basis @ contrast)[:, None] * self.basis))

    def gathered(self, own: FloatMatrix) -> FloatVector:
        """The adjoint of `spread`."""
        diagonal = np.einsum("li,li->l", self.basis @ own, self.basis)
        return np.asarray(self.basis.T @ diagonal)

    def whole_gathered(self, own: Whole) -> Whole:
        """The same of whole numbers, in multiples of 2^-FINE, rounded down."""
        table = np.rint(self.basis * 2.0**TABLE)
        whole = table.astype(np.int64).astype(object)
        diagonal = (product(table, own) * whole).sum(axis=1)
        return np.asarray((whole.T @ diagonal) >> (3 * TABLE - FINE))


@dataclass(frozen=True, eq=False)
class Span:
    r"""The space of symmetric matrices that holds x x' for every declared coded row x.

    Beside an intercept the main effect of a factor is tied: with M the totals of its levels and W their sum,
    a the constant and c Q the table of corners, the blocks (1, 1), (1, f), (f, f) of a sum of x x' are

    .. math:: a^2 W, \qquad a c\,Q'M, \qquad c^2\,Q' diag(M)\,Q,

    all linear in M, and W is the same for all factors. All other entries are free. Without an intercept
    nothing is tied.

    Parameters
    ----------
    term_columns : sequence of TermColumns
        The coded columns in order, public; a table of levels is a centred simplex.

    Examples
    --------
    >>> corners = np.array([[-0.5], [0.5]])
    >>> one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.array([1.0]))
    >>> two = TermColumns("sex", "levels", 1, 2, 0.25, corners, np.array([1.0]))
    >>> span = Span((one, two))
    >>> span.dimension  # the number of rows, and how many more of one sex
    2
    >>> flat = span.coordinates(np.array([[1.0, 0.25], [0.25, 3.0]]))
    >>> span.matrix(flat).round(12)
    array([[2.  , 0.25],
           [0.25, 2.  ]])
    """

    term_columns: Sequence[TermColumns]

    def __post_init__(self) -> None:
        ends = [0, *(block.stop for block in self.term_columns)]
        if ends[:-1] != [block.start for block in self.term_columns]:
            raise MethodError("terms with gaps", expected="terms that follow each other", remedy=_REMEDY)
        _ = self._ties

    @property
    def size(self) -> int:
        """Number of coded columns p."""
        return self.term_columns[-1].stop if self.term_columns else 0

    @cached_property
    def dimension(self) -> int:
        """Number of free entries of a symmetric matrix in the span."""
        tied = sum((tie.count - 1) * tie.count // 2 for tie in self._ties)
        return self.size * (self.size + 1) // 2 - tied

    def coordinates(self, matrix: FloatMatrix) -> FloatVector:
        """Orthonormal coordinates of the nearest matrix of the span, shape (dimension,).

        ``matrix`` is symmetric, shape (p, p); nearest is in Frobenius norm.
        """
        flat = to_coordinates(matrix)
        if not self._ties:
            return flat
        assert self._intercept is not None, "factors are tied to an intercept"
        at, constant = self._intercept.start, self._constant
        total, contrasts = constant**2 * matrix[at, at], []
        for tie in self._ties:
            own = matrix[tie.columns, tie.columns]
            total += tie.stretch**2 / tie.count * np.trace(own)
            # The (1, f) entries are there twice: above and below the diagonal.
            first = 2.0 * constant * tie.stretch * matrix[at, tie.columns]
            second = tie.stretch**2 * tie.gathered(own)
            contrasts.append((first + second) / self._contrast_length(tie))
        return np.concatenate([flat[self._free], [total / self._total_length], *contrasts])

    def whole_coordinates(self, matrix: Whole) -> Whole:
        """The same of a matrix of whole numbers, in multiples of 2^-FINE, off by at most 4 of them."""
        flat = np.concatenate([np.diag(matrix) << FINE, ROOT_TWO * matrix[np.triu_indices(self.size, 1)]])
        if not self._ties:
            return flat
        assert self._intercept is not None, "factors are tied to an intercept"
        at, constant, length = self._intercept.start, self._constant, self._total_length
        total, contrasts = fine(constant**2 / length) * matrix[at, at], []
        for tie in self._ties:
            own = matrix[tie.columns, tie.columns]
            total += fine(tie.stretch**2 / tie.count / length) * int(np.trace(own))
            along = self._contrast_length(tie)
            first = fine(2.0 * constant * tie.stretch / along) * matrix[at, tie.columns]
            second = fine(tie.stretch**2 / along) * tie.whole_gathered(own)
            contrasts.append(first + (second >> FINE))
        return np.concatenate([flat[self._free], np.array([total], dtype=object), *contrasts])

    def matrix(self, coordinates: FloatVector) -> FloatMatrix:
        """The matrix of the span with these coordinates, shape (p, p)."""
        if not self._ties:
            return from_coordinates(coordinates, self.size)
        assert self._intercept is not None, "factors are tied to an intercept"
        at, constant = self._intercept.start, self._constant
        flat = np.zeros(len(self._free))
        free = int(self._free.sum())
        flat[self._free] = coordinates[:free]
        matrix = from_coordinates(flat, self.size)
        total, start = coordinates[free] / self._total_length, free + 1
        matrix[at, at] = constant**2 * total
        for tie in self._ties:
            stop = start + tie.count - 1
            contrast = coordinates[start:stop] / self._contrast_length(tie)
            matrix[at, tie.columns] = matrix[tie.columns, at] = constant * tie.stretch * contrast
            own = tie.stretch**2 * (total / tie.count * np.eye(tie.count - 1) + tie.spread(contrast))
            matrix[tie.columns, tie.columns] = 0.5 * (own + own.T)
            start = stop
        return matrix

    @cached_property
    def _free(self) -> BoolVector:
        """Which coordinates of a symmetric matrix are tied to no other one."""
        free = np.ones((self.size, self.size), dtype=np.bool_)
        if self._intercept is not None and self._ties:
            at = self._intercept.start
            free[at, at] = False
            for tie in self._ties:
                free[at, tie.columns] = free[tie.columns, at] = free[tie.columns, tie.columns] = False
        return np.concatenate([np.diag(free), free[np.triu_indices(self.size, 1)]])

    @cached_property
    def _intercept(self) -> TermColumns | None:
        return next((block for block in self.term_columns if block.kind == "intercept"), None)

    @property
    def _constant(self) -> float:
        """What stands in the column of the intercept; 1 where there is none."""
        return 1.0 if self._intercept is None else float(self._intercept.table.item())

    @cached_property
    def _ties(self) -> tuple[_Tie, ...]:
        if self._intercept is None:
            return ()
        return tuple(_tied(block) for block in self.term_columns if block.kind == "levels")

    @cached_property
    def _total_length(self) -> float:
        """Frobenius norm of the direction in which W moves the matrix."""
        square = self._constant**4
        for tie in self._ties:
            square += tie.stretch**4 * (tie.count - 1) / tie.count**2
        return math.sqrt(square)

    def _contrast_length(self, tie: _Tie) -> float:
        """Frobenius norm of the direction in which each coordinate of v moves the matrix."""
        square = 2.0 * (self._constant * tie.stretch) ** 2 + tie.stretch**4 * (1.0 - 2.0 / tie.count)
        return math.sqrt(square)


_REMEDY = "Take the term_columns of a coding as they are."


def _tied(block: TermColumns) -> _Tie:
    count, columns = block.table.shape
    stretch = float(np.sqrt(np.square(block.table).sum() / max(columns, 1)))
    basis = block.table / stretch if stretch > 0.0 else block.table
    simplex = (
        count == columns + 1 == block.stop - block.start + 1
        and np.allclose(basis.T @ basis, np.eye(columns), rtol=0.0, atol=1e-9)
        and np.allclose(basis.sum(axis=0), 0.0, rtol=0.0, atol=1e-9)
    )
    if not simplex:
        raise MethodError(
            f"a table of levels for {block.label!r} that is no centred simplex",
            expected="L rows and L - 1 orthogonal columns of one length that add up to 0",
            remedy=_REMEDY,
        )
    return _Tie(block.columns, stretch, basis)
