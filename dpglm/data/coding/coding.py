"""Public coding: the linear map between the user's coefficients and those of bounded rows, and these rows.

Rows are products of centred coordinates with public weights, divided by a public norm. Centred: by their
bound, so that none is ever clipped. Clipped: by the norm of a typical row; longer rows are clipped. Whole
columns go in, coded rows come out, each row by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, Self, TypeAlias, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dpglm.data.coding import geometry
from dpglm.data.coding.layouts import clipped, partial
from dpglm.data.coding.standardised import affine_maps, least_share, standardisable, standardised
from dpglm.data.coding.wide import wide_layout
from dpglm.data.coding.writers import GroupWriter, clip
from dpglm.data.formula.model import Model, NumericFactor
from dpglm.errors import FormulaError, MethodError
from dpglm.factor_rows import FactorRows, SimplexColumns
from dpglm.glm.penalties.base import TermColumns
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector
from dpglm.wide_maps import InverseMap, too_wide, wide_map

Kind: TypeAlias = Literal["centred", "clipped"]
Columns: TypeAlias = Mapping[str, NDArray[Any]]

# Columns of a factor from which codes are read faster than the columns are, measured.
_MANY_COLUMNS: Final = 8
_SINGLE: Final = np.dtype(np.float32)
_MOST_KEPT: Final = 1000  # columns of codings that are kept, 8 MB a matrix
_CHUNK_ROWS: Final = 8192  # rows worked on at a time, so that what is in use stays in cache


@dataclass(frozen=True, eq=False)
class Coding:
    """Rows x with norm at most 1, and the maps between coefficients; a function of a model and a kind.

    For every row that is not clipped, user's columns times beta equal ``x @ theta`` when
    ``theta = coded_from_user @ beta``. With ``kind="centred"`` no row is ever clipped.

    Parameters
    ----------
    model : Model
        The formula, read against a schema.
    user_from_coded, coded_from_user : ndarray, shape (p, p)
        ``beta = user_from_coded @ theta`` and its inverse. In very wide designs they stand for matrices:
        products with vectors are made, and whatever else is asked of them is refused.
    penalised : ndarray of bool, shape (p,)
        False for the user's intercept only.
    row_norm : float
        What rows are divided by, but for the slack of rounding: the bound of their norm (centred), or the
        norm at which they are clipped (clipped).
    clips : bool
        Whether a row may be clipped, which makes the maps inexact for that row.
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
    >>> rows, offset, usable = coding.encode({"age": np.array([20.0, np.nan]), "sex": np.array([0, 1])})
    >>> rows.round(3), usable
    (array([[ 0.5  ,  0.   ],
           [-0.5  ,  0.   ],
           [-0.707,  0.   ]], dtype=float32), array([ True, False]))
    """

    model: Model
    user_from_coded: FloatMatrix
    coded_from_user: FloatMatrix
    penalised: BoolVector
    row_norm: float
    clips: bool
    groups: tuple[geometry.Group, ...]

    @classmethod
    def of(cls, model: Model, *, kind: Kind = "centred") -> Self:
        """The public coding of a model, ``"centred"`` or ``"clipped"``.

        Raises
        ------
        FormulaError
            If a term's columns are combinations of the columns of others, or too large or small for a number.
        MethodError
            For another kind.
        """
        if kind not in ("centred", "clipped"):
            raise MethodError(
                f"coding of kind {kind!r}", expected="'centred' or 'clipped'", remedy="Leave it out."
            )
        penalised = np.ones(model.size, dtype=np.bool_)
        for term in model.terms:
            penalised[term.start : term.stop] = term.order > 0
        penalised.setflags(write=False)
        if any(term.wide for term in model.terms):
            if kind == "clipped":
                raise too_wide("rows that are clipped", model.size)
            wide, norm, groups = wide_layout(model)
            maps = cast(FloatMatrix, InverseMap(wide)), cast(FloatMatrix, wide)
            return cls(model, *maps, penalised, norm, False, groups)
        to_coded, norm, groups = _centred(model) if kind == "centred" else clipped(model, _centred(model))
        # Columns may be in any unit: invert directions, not lengths.
        unit_columns, lengths = geometry.directions(to_coded, model.formula)
        inverse, condition = geometry.inverted(unit_columns)
        if not condition < 1.0 / np.finfo(np.float64).eps:  # rounding leaves no digit of the inverse
            raise FormulaError(
                f"columns that are combinations of others, to rounding, in {model.formula!r}",
                expected="columns that can be told apart",
                remedy="Leave a term out; for numbers far from 0 write center(x, at=...) instead of x.",
            )
        divisor = norm * geometry.SLACK
        maps = inverse / lengths[:, None] / divisor, to_coded * divisor
        for array in maps:
            array.setflags(write=False)
        return cls(model, *maps, penalised, norm, kind == "clipped", groups)

    @cached_property
    def standardisable(self) -> tuple[str, ...]:
        """Labels of the numbers that can be centred anywhere: the formula has all products without them too.

        None without a constant, where rows are clipped or mixed, or in products of very many numbers.
        """
        if self.clips or wide_map(self.coded_from_user) is not None:
            return ()
        return standardisable(self.groups, self.model)

    def moments_at(self, places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        """Means and standard deviations from shares of the declared ranges around their middles, by label.

        A standard deviation is at least `least_share`.
        """
        numbers = {factor.name: factor for factor in self.model.factors if isinstance(factor, NumericFactor)}
        least = least_share(self.groups, self.model)
        return {
            name: (
                numbers[name].middle + numbers[name].unit * mean,
                numbers[name].unit * max(deviation, least),
            )
            for name, (mean, deviation) in places.items()
        }

    def standardised(self, moments: Mapping[str, tuple[float, float]], longer: float) -> Coding:
        """The same columns with these numbers, by label, centred at a mean and divided by 4 sd.

        Rows are divided by ``longer`` times the root mean square of a row whose numbers are uncorrelated, and
        may be longer than 1. They are ``row_matrix(moments, longer)`` times the rows of this coding.
        """
        return self._placed_at(moments, longer)[0]

    def row_matrix(self, moments: Mapping[str, tuple[float, float]], longer: float) -> FloatMatrix:
        """Rows of `standardised` from rows of this coding, shape (p, p)."""
        return self._placed_at(moments, longer)[1]

    def _placed_at(self, moments: Mapping[str, tuple[float, float]], longer: float) -> Placed:
        """`standardised` and `row_matrix`; the last ones are kept, since a fit asks for them many times."""
        asked, kept = (tuple(moments.items()), longer), _placed.get(self, ())
        for places, length, found in kept:
            if (places, length) == asked:
                return found
        model, norm, groups = standardised(self.groups, self.model, moments, longer)
        matrix, inverse = affine_maps(self.groups, groups, self.model, model)
        maps = self.user_from_coded @ matrix.T, inverse.T @ self.coded_from_user
        for array in (matrix, *maps):
            array.setflags(write=False)
        placed = Coding(model, *maps, self.penalised, norm, False, groups), matrix
        if self.size <= _MOST_KEPT:
            _placed[self] = *kept[-1:], (*asked, placed)
        return placed

    @property
    def names(self) -> tuple[str, ...]:
        """The user's columns, as patsy names them; shape (p,)."""
        return self.model.names

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the data columns that `encode` reads: all but the response."""
        return self.model.columns

    @property
    def size(self) -> int:
        """Number of columns p, user's and coded ones alike."""
        return self.model.size

    @property
    def terms(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Name and user's columns of each term."""
        return tuple((term.name, tuple(range(term.start, term.stop))) for term in self.model.terms)

    @cached_property
    def term_columns(self) -> tuple[TermColumns, ...]:
        """The coded columns as tables of cells, with their bounds and declared prior scales."""
        return tuple(group.term_columns(self.row_norm, self.groups) for group in self.groups)

    @property
    def clipping(self) -> str:
        """Which rows are clipped, in words."""
        return f"rows longer than {self.row_norm:.4g}" if self.clips else "none"

    def encode(self, columns: Columns) -> tuple[FloatBlock, FloatVector | None, BoolVector]:
        """Coded rows in float32 (p, k), sum of the offsets (k,) or None, and the mask of usable rows (k,).

        ``columns`` is what ``schema.clean`` gives: float64 with NaN, or codes with -1, where a row cannot be
        used. A formula that reads no column at all needs ``columns`` to hold one of any name. A coded row has
        norm at most 1 and is zero where it cannot be used. It depends on the same row of ``columns`` only.
        Nothing is raised or warned for any data.
        """
        return self._rows(columns, np.dtype(np.float32), 0.0)

    def encoded(
        self, columns: Columns, dtype: np.dtype[Any] = _SINGLE, blank: float = 0.0
    ) -> tuple[FloatBlock | FactorRows, FloatVector | None, BoolVector]:
        """What `encode` gives, with factors of many levels as codes, in a precision.

        Rows that cannot be used have ``blank`` for all numbers.
        """
        if not self.kept_as_codes:
            return self._rows(columns, dtype, blank)
        numbers, offset, usable = self._rows(columns, dtype, blank, coded=True)
        factors, codes = self._factors[dtype], []
        for group, corners in zip(self.kept_as_codes, factors, strict=True):
            read = self.model.factors[group.products[0].parts[0].factor].read(columns)
            codes.append(np.where(usable, read, corners.levels).astype(np.min_scalar_type(corners.levels)))
        places = np.arange(self.size)
        for corners in reversed(factors):
            places = np.delete(places, slice(corners.start, corners.stop))
        return FactorRows(numbers, places, factors, tuple(codes)), offset, usable

    @cached_property
    def kept_as_codes(self) -> tuple[geometry.Group, ...]:
        """Groups whose columns rows need not hold: factors of many levels."""
        if self.clips:
            return ()
        return tuple(
            group
            for group in self.groups
            if group.kind == "levels" and group.stop - group.start >= _MANY_COLUMNS and group.plain
        )

    @cached_property
    def _factors(self) -> dict[np.dtype[Any], tuple[SimplexColumns, ...]]:
        return {
            dtype: tuple(geometry.simplex_columns(group, dtype) for group in self.kept_as_codes)
            for dtype in map(np.dtype, (np.float32, np.float64))
        }

    def coded(self, columns: Columns) -> tuple[FloatMatrix, FloatVector | None]:
        """Coded rows in float64, row by row, shape (k, p), for prediction; NaN where a row cannot be used."""
        rows, offset, _ = self._rows(columns, np.dtype(np.float64), np.nan)
        return np.ascontiguousarray(rows.T), offset

    def lying(self, columns: Columns) -> FloatMatrix:
        """Coded rows as `coded` gives them, each a column, shape (p, k)."""
        return np.asarray(self._rows(columns, np.dtype(np.float64), np.nan)[0])

    def _rows(
        self, columns: Columns, dtype: np.dtype[Any], blank: float, *, coded: bool = False
    ) -> tuple[NDArray[Any], FloatVector | None, BoolVector]:
        needed = {name: np.ascontiguousarray(columns[name]) for name in self.columns}
        count = len(next(iter(needed.values() if needed else columns.values()), ()))
        writers = (self._short_writers if coded else self._writers)[dtype]
        rows = np.empty((writers[-1].columns.stop if writers else 0, count), dtype=dtype)
        offset = np.zeros(count) if self.model.offsets else None
        usable = np.ones(count, dtype=bool)
        with np.errstate(all="ignore"):
            for start in range(0, count, _CHUNK_ROWS):
                part = slice(start, min(start + _CHUNK_ROWS, count))
                chunk = {name: column[part] for name, column in needed.items()}
                read = [factor.read(chunk) for factor in self.model.factors]
                for column in chunk.values():
                    usable[part] &= column >= 0 if column.dtype.kind in "iu" else ~np.isnan(column)
                for writer in writers:
                    writer.write(read, rows[:, part])
                if self.clips:
                    clip(rows[:, part])
                if offset is not None:
                    for expression in self.model.offsets:
                        offset[part] += expression.evaluate(chunk)
        if not usable.all():
            lost = np.flatnonzero(~usable)
            rows[:, lost] = blank
            if offset is not None:
                offset[lost] = blank
        return rows, offset, usable

    @cached_property
    def _writers(self) -> dict[np.dtype[Any], tuple[GroupWriter, ...]]:
        return _writers_of(self.groups)

    @cached_property
    def _short_writers(self) -> dict[np.dtype[Any], tuple[GroupWriter, ...]]:
        """Of the groups that are not kept as codes, one after the other."""
        short, start = [], 0
        for group in self.groups:
            if group not in self.kept_as_codes:
                short.append(replace(group, start=start, stop=start + group.stop - group.start))
                start = short[-1].stop
        return _writers_of(short)


# What `Coding._placed_at` found; not in the coding, which is sent to workers.
Placed: TypeAlias = tuple[Coding, FloatMatrix]
_placed: WeakKeyDictionary[Coding, tuple[tuple[Any, float, Placed], ...]] = WeakKeyDictionary()


def _writers_of(groups: Iterable[geometry.Group]) -> dict[np.dtype[Any], tuple[GroupWriter, ...]]:
    return {
        dtype: tuple(GroupWriter.of(group, dtype) for group in groups)
        for dtype in map(np.dtype, (np.float32, np.float64))
    }


def _centred(model: Model) -> geometry.Layout:
    """Rows made of the products of `Space`, divided by a bound of their norm that follows from the schema.

    A formula with all lower-order terms spans all products, which are then the row. Otherwise the row is an
    orthonormal basis of the formula's columns in the weights of the products.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # lengths tell
        space = geometry.span(model)
    scaled, _ = geometry.directions(space.columns, model.formula)
    if scaled.shape[0] == model.size and geometry.inverted(scaled)[1] < 1 / geometry.DEPENDENT:
        return space.columns, *geometry.whole(model, space)
    return partial(model, space, scaled)
