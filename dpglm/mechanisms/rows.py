"""Views of coded rows: subsets, clipped leverage, and sums that do not depend on where a row stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dpglm.factor_rows import FactorRows, SimplexColumns, blanked, multiplied, squares
from dpglm.kept_rows import KeptRows, Remembered, is_here, of_owner
from dpglm.mechanisms.base import Rows, release_error
from dpglm.row_loops import predictors, product
from dpglm.rows import ArrayChunk, LazyChunk, RowChunk, rows_at
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector, IntVector

# Entries widened to float64 at a time: their working copy stays in cache.
_ENTRIES = 2**18
# No released point is longer than this in any coordinate, or so little of it is left as makes no difference.
FARTHEST = 2.0**100
# A public map makes no row longer than this.
LONGEST = 1e12
# What is left of a long row: far more than rounding, to float32 too, can make it longer.
SHRINK = 1.0 - 2.0**-20


def finite(at: FloatVector) -> FloatVector:
    """A released point without infinities and NaN, which times a row's 0 would be felt by every sum.

    Examples
    --------
    >>> finite(np.array([np.inf, np.nan, 2.0])).tolist()
    [1.2676506002282294e+30, 0.0, 2.0]
    """
    return np.asarray(np.clip(np.nan_to_num(at), -FARTHEST, FARTHEST), dtype=np.float64)


class Piece(NamedTuple):
    """Some rows in double precision, as columns."""

    X: FloatMatrix
    eta: FloatVector  # linear predictors at a released point
    y: FloatVector
    weight: FloatVector | float


def widened(chunk: RowChunk, at: FloatVector) -> Iterator[Piece]:
    """Rows in double precision with their linear predictors at a released point, piece by piece."""
    width = max(64, _ENTRIES // len(at))
    for first in range(0, len(chunk.y), width):
        piece = rows_at(chunk, slice(first, first + width))
        eta = predictors(at, piece.X)
        if piece.offset is not None:
            eta += piece.offset
        yield Piece(piece.X.astype(np.float64), eta, piece.y, 1.0 if piece.weight is None else piece.weight)


def chosen_rows(chunk: RowChunk, chosen: BoolVector) -> ArrayChunk:
    """The rows of a chunk that a mask chooses, shape (k,)."""
    held = rows_at(chunk, chosen)
    return replace(held, entries=np.ascontiguousarray(held.X))


def shares_alone(chunk: RowChunk) -> FloatVector | None:
    """The shares of rows that have no other weight, shape (k,), or None.

    For releases whose proofs speak of rows of norm at most 1 only.
    """
    if chunk.weight is not None and chunk.weight is not chunk.share:
        raise AssertionError("rows with weights in a release whose proof has none")
    return chunk.share


def unweighted(rows: Rows) -> Iterator[RowChunk]:
    """The rows of a table without weights or shares, for releases whose proofs speak of no others."""
    for chunk in rows.chunks():
        _require_unweighted(chunk)
        yield chunk


def _require_unweighted(chunk: RowChunk) -> None:
    if chunk.weight is not None:
        raise AssertionError("rows with weights in a release whose proof has none")


@dataclass(frozen=True)
class Away:
    """Rows that are elsewhere: of them their number of columns is known."""

    size: int


class RowView:
    """The same rows, read otherwise by the thread that uses a chunk; a subclass says how by `view`.

    Where that is dear it ``keeps`` chunks for the next read.
    """

    keeps = False

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._kept = KeptRows(of_owner(self._viewed))

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent, with each stretch of chunks: the view, and none of the rows."""
        return {**self.__dict__, "_kept": None, "_rows": Away(self._rows.size)}

    @property
    def size(self) -> int:
        return self._rows.size

    def row_count(self) -> int:
        return self._rows.row_count()

    def chunks(self) -> Iterator[RowChunk]:
        yield from self._kept.chunks() if self.keeps else self._viewed()

    def _viewed(self) -> Iterator[RowChunk]:
        elsewhere = Remembered(self.view)
        for chunk in self._rows.chunks():
            yield LazyChunk.of(chunk, elsewhere if self.keeps and not is_here(chunk) else self.view)

    def view(self, chunk: RowChunk) -> RowChunk:
        """A chunk, read otherwise: as many rows, each from itself alone."""
        raise NotImplementedError


def once(rows: Rows) -> Rows:
    """Rows that are read once: those of a view are not kept."""
    if isinstance(rows, RowView):
        held, rows = rows._rows, copy(rows)
        rows._rows, rows.keeps = held, False
    return rows


class WithinLeverage(RowView):
    """The same rows, but for those with ``w x' P^-1 x`` above ``max_leverage``: these are read as zeros.

    The coding keeps every row within the bounds of its terms. The price of a release leans on that, so every
    row is looked at, once, when it is first read. ``ridge`` is the diagonal of P, shape (p,).
    """

    def __init__(self, rows: Rows, ridge: FloatVector, max_leverage: float) -> None:
        super().__init__(rows)
        self._weights = 1.0 / (ridge * max_leverage)
        self._outside: dict[int, IntVector] = {}

    def chunks(self) -> Iterator[RowChunk]:
        for place, chunk in enumerate(self._rows.chunks()):
            yield LazyChunk.of(chunk, partial(self._inside, place))

    def _inside(self, place: int, chunk: RowChunk) -> RowChunk:
        if place not in self._outside:
            self._outside[place] = np.flatnonzero(~_within(chunk, self._weights))
        outside = self._outside[place]
        if not outside.size:
            return chunk
        X = blanked(chunk.entries, outside)
        return ArrayChunk(X, chunk.y, chunk.offset, chunk.weight, chunk.share)


def _within(chunk: RowChunk, weights: FloatVector) -> BoolVector:
    """Which rows have a weighted sum of squares, times their weight without shares, of at most 1, not NaN."""
    total = squares(weights, chunk.entries)
    if chunk.weight is not None and chunk.weight is not chunk.share:
        total *= chunk.weight if chunk.share is None else chunk.weight / chunk.share  # proof: shared
    within: BoolVector = total <= 1.0 - len(weights) * 2.0**-50
    return within


class MappedRows(RowView, ABC):
    """Rows through a public linear map; a subclass says what becomes of those that this makes long.

    That depends on the row and on ``scales`` alone, not on its neighbours or its place in a chunk.
    A row that fails its check, or is no number, is read as zeros of full weight.

    Parameters
    ----------
    scales : ndarray, shape (q, p)
        Public; coded rows times it, rounded to float32, are the rows that are read. No row of norm 1 becomes
        longer than `LONGEST`.
    """

    keeps = True

    def __init__(self, rows: Rows, scales: FloatMatrix) -> None:
        super().__init__(rows)
        fitting = scales.ndim == 2 and scales.shape[1] == rows.size and bool(np.isfinite(scales).all())
        if not fitting or np.linalg.norm(scales, 2) > LONGEST:
            raise release_error("a map of rows", f"a matrix of their columns, of norm at most {LONGEST:g}")
        self._scales = scales
        self._known: tuple[object, tuple[SimplexColumns, ...] | None] = (None, None)

    @property
    def size(self) -> int:
        return len(self._scales)

    def view(self, chunk: RowChunk) -> RowChunk:
        shares_alone(chunk)
        return self._bounded(chunk)

    @abstractmethod
    def _bounded(self, chunk: RowChunk) -> ArrayChunk:
        """The mapped rows x with weights w, and w |x|^2 at most 1."""

    def _mapped(self, X: FloatBlock) -> FloatBlock:
        return product(self._scales, X)

    def _with_codes(self, rows: FloatBlock | FactorRows) -> FloatBlock | FactorRows:
        """The mapped rows, with the codes that they have where each factor is multiplied by a number."""
        if not isinstance(rows, FactorRows):
            return self._mapped(rows)
        known = self._known
        if known[0] is not rows.factors:
            known = self._known = rows.factors, multiplied(rows.factors, self._scales)
        if known[1] is None:
            return self._mapped(rows.dense())
        numbers = product(self._scales[np.ix_(rows.places, rows.places)], rows.numbers)
        return replace(rows, numbers=numbers, factors=known[1])


class DownWeightedRows(MappedRows):
    """Mapped rows, with weights min(1, 1 / |x|^2) where they are long."""

    def _bounded(self, chunk: RowChunk) -> ArrayChunk:
        with np.errstate(all="ignore"):
            X = self._with_codes(chunk.entries)
            norms = squares(np.ones(self.size), X)
            weight = np.minimum(1.0, SHRINK / norms)
            bounded = weight * norms <= 1.0 - self.size * 2.0**-50
        if not bounded.all():
            X = blanked(X, ~bounded)  # not a weight of 0, which times infinity is no number
            weight[~bounded] = 1.0
        if chunk.share is not None:
            weight *= chunk.share
        return ArrayChunk(X, chunk.y, chunk.offset, weight, chunk.share)


class ShortenedRows(MappedRows):
    """Mapped rows, shortened to norm 1 where they are longer."""

    def _bounded(self, chunk: RowChunk) -> ArrayChunk:
        with np.errstate(all="ignore"):
            X = self._mapped(chunk.X)
            _, bounded = shortened(X)
        X[:, np.flatnonzero(~bounded)] = 0.0
        return ArrayChunk(X, chunk.y, chunk.offset, chunk.share, chunk.share)


def shortened(X: FloatBlock) -> tuple[FloatBlock, BoolVector]:
    """Shorten rows to norm 1, in place; by how much each, and whether it then is no longer, shape (k,)."""
    ones = np.ones(len(X))
    factor = np.minimum(1.0, SHRINK / np.sqrt(squares(ones, X))).astype(np.float32)
    X *= factor
    return factor, squares(ones, X) <= 1.0 - len(X) * 2.0**-50


class FirstRows(RowView):
    """The first ``most`` rows, a public number, without their offsets."""

    def __init__(self, rows: Rows, most: int) -> None:
        super().__init__(rows)
        self._most = most

    def row_count(self) -> int:
        return min(self._most, self._rows.row_count())

    def chunks(self) -> Iterator[RowChunk]:
        left = self._most
        for chunk in self._rows.chunks():
            count = min(left, chunk.count)
            yield LazyChunk.of(chunk, partial(_first_rows, count=count), count)
            left -= count


def _first_rows(chunk: RowChunk, count: int) -> RowChunk:
    _require_unweighted(chunk)
    return replace(rows_at(chunk, slice(count)), offset=None)


class RowSubset(RowView):
    """The rows at chosen places.

    ``holds`` takes a place and a number k to whether the k rows from there on are held, shape (k,).
    """

    keeps = True

    def __init__(self, rows: Rows, holds: Callable[[int, int], BoolVector]) -> None:
        super().__init__(rows)
        self._holds = holds

    def row_count(self) -> int:
        return int(self._holds(0, self._rows.row_count()).sum())

    def _viewed(self) -> Iterator[RowChunk]:
        first = 0
        for chunk in self._rows.chunks():
            chosen = self._holds(first, chunk.count)
            yield LazyChunk.of(chunk, partial(chosen_rows, chosen=chosen), int(chosen.sum()))
            first += chunk.count
