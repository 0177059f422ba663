"""Loss summed over chunks of rows, with its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpglm.factor_rows import FactorRows
from dpglm.glm.families.base import Family
from dpglm.row_loops import predictors, score
from dpglm.rows import ArrayChunk, Home, Placed, RowChunk, Together, home_of, placed, rows_at, total
from dpglm.typing import FloatBlock, FloatMatrix, FloatVector, IntVector

# Bytes of the float64 working copy of a piece of rows, measured: in a cache, and few calls.
_CACHE = 2**22
_WIDEST, _NARROWEST = 8192, 128
# And of a piece in float32 that two loops read one after the other.
_NEAR = 2**22
# Below this a row's curvature is nothing beside the others', and its products would be slow denormal numbers.
_SMALLEST_ROOT = np.float32(1e-15)


@dataclass
class Compensated:
    """A sum whose rounding is kept aside: ``value + lost``, shape (p,) each."""

    value: FloatVector
    lost: FloatVector

    @classmethod
    def zeros(cls, size: int, precision: type[np.floating] = np.float64) -> Compensated:
        return cls(np.zeros(size, precision), np.zeros(size, precision))

    def __add__(self, other: Compensated) -> Compensated:
        """Knuth's two-sum; what it takes from the sum is added up in ``lost``."""
        value = self.value + other.value
        added = value - self.value
        lost = (self.value - (value - added)) + (other.value - added)
        return Compensated(value, self.lost + other.lost + lost)


class _Bent(NamedTuple):
    """A chunk and the second derivative of each row's loss, shape (k,)."""

    chunk: RowChunk
    bend: FloatBlock

    @property
    def home(self) -> Home | None:
        return home_of(self.chunk)


@dataclass(frozen=True)
class ChunkLoss:
    """Loss summed over chunks of rows, as a function of the coefficients ``theta`` of the coded rows.

    A row's loss counts by the weight of the row.

    Every sum is taken in float64 of products made in float64; only the Hessian, when not asked to be
    ``precise``, is computed in float32, and serves to precondition. Gradients are added up without rounding.
    The same chunks give the same bits.

    Examples
    --------
    >>> from dpglm.glm.families.binomial import Binomial
    >>> chunk = ArrayChunk(np.eye(2, dtype=np.float32), np.array([0.0, 1.0]), None)
    >>> ChunkLoss(lambda: [chunk], Binomial(), 2).gradient(np.zeros(2))
    array([ 0.5, -0.5])
    """

    chunks: Callable[[], Iterable[RowChunk]]  # a fresh iterable of chunks, the same each time
    family: Family  # says loss, slope and curvature of a row
    size: int  # number of coefficients p
    row_count: int = -1  # if negative they are counted, in one read
    factor: float = 1.0  # of the sum

    def __getstate__(self) -> dict[str, object]:
        """What a worker of a cluster is sent: the function, and none of the rows."""
        return {**self.__dict__, "chunks": None}

    def __post_init__(self) -> None:
        if self.row_count < 0:
            object.__setattr__(self, "row_count", sum(chunk.count for chunk in self.chunks()))

    def gradient(self, theta: FloatVector) -> FloatVector:
        """Gradient at ``theta``, shape (p,)."""

        def part(chunks: Iterable[RowChunk]) -> Compensated:
            found = Compensated.zeros(self.size)
            for piece in self._read(chunks):
                X = piece.entries
                slope = _weighted(self.family.slope(_predictor(theta, X, piece), piece.y), piece)
                sums = X @ slope if isinstance(X, FactorRows) else score(X, slope)
                found += Compensated(sums, np.zeros(self.size))
            return found

        found = total(self.chunks(), part)
        return self.factor * (found.value + found.lost)

    def hessian(
        self, theta: FloatVector, *, variables: IntVector | None = None, precise: bool = False
    ) -> FloatMatrix:
        """Second derivative at ``theta`` in all or some of the coefficients; see `gradient_and_hessian`."""
        return self.gradient_and_hessian(theta, variables=variables, precise=precise)[1]

    def gradient_and_hessian(
        self, theta: FloatVector, *, variables: IntVector | None = None, precise: bool = False
    ) -> tuple[FloatVector, FloatMatrix]:
        """Gradient, shape (p,), and second derivative, shape (m, m), in one read.

        ``variables`` are the coefficients whose second derivatives are wanted, None for all. They are
        multiplied in float64 if ``precise``; else in float32, good to six digits of the largest entry.
        """
        count = self.size if variables is None else variables.size

        def part(chunks: Iterable[RowChunk]) -> Together:
            gradient, hessian = np.zeros(self.size), np.zeros((count, count))
            precision = np.dtype(np.float64 if precise else np.float32)
            buffer = np.empty((count, self._width), dtype=precision)
            for piece in self._pieces(chunks, self._width):
                X = piece.X
                eta = _predictor(theta, X, piece)
                gradient += score(X, _weighted(self.family.slope(eta, piece.y), piece))
                root = np.sqrt(self.family.curvature(eta, piece.y))
                scale = root if piece.weight is None else root * np.sqrt(piece.weight)
                if not precise:
                    scale = np.where(root < _SMALLEST_ROOT, 0.0, scale).astype(precision)
                chosen = X if variables is None else X[variables]
                scaled = np.multiply(chosen, scale, out=buffer[:, : piece.count], dtype=precision)
                hessian += scaled @ scaled.T
            return Together((gradient, hessian))

        gradient, hessian = total(self.chunks(), part)
        return self.factor * gradient, self.factor * hessian

    def products(self, theta: FloatVector) -> Callable[[FloatVector], FloatVector]:
        """Products of the second derivative at ``theta`` with vectors, shape (p,), good to six digits."""
        near = theta.astype(np.float32)

        def curvatures(chunks: Iterable[RowChunk]) -> list[FloatBlock]:
            return [self._curvature(theta, near, chunk) for chunk in chunks]

        bends = total(self.chunks(), curvatures)

        def product(direction: FloatVector) -> FloatVector:
            length = float(np.linalg.norm(direction))
            unit = direction / (length or 1.0)
            light = unit.astype(np.float32)

            def part(some: Iterable[_Bent]) -> FloatVector:
                found = np.zeros(self.size)
                for chunk, bend in some:
                    for rows, X in self._light(chunk):
                        found += X @ (bend[rows] * ((light if isinstance(X, np.ndarray) else unit) @ X))
                return found

            return (self.factor * length) * total(map(_Bent, self.chunks(), bends), part)

        return product

    def _curvature(self, theta: FloatVector, near: FloatBlock, chunk: RowChunk) -> FloatBlock:
        """Second derivative of each row's loss in its linear predictor, times its weight; shape (k,)."""
        eta = np.zeros(chunk.count) if chunk.offset is None else chunk.offset.copy()
        for rows, X in self._light(chunk):
            eta[rows] += (near if isinstance(X, np.ndarray) else theta) @ X
        bend = _weighted(self.family.curvature(eta, chunk.y), chunk)
        return np.where(bend < _SMALLEST_ROOT**2, 0.0, bend).astype(np.float32)

    def _light(self, chunk: RowChunk) -> Iterator[tuple[slice, FloatBlock | FactorRows]]:
        """Rows, as many at a time as float32 numbers fit into a cache; numbers and codes all at once."""
        width, X = 2 * self._width, chunk.entries
        if isinstance(X, FactorRows):
            yield slice(None), X
            return
        for first in range(0, chunk.count, width):
            rows = slice(first, first + width)
            yield rows, X[:, rows]

    def thinned(self, step: int) -> ChunkLoss:
        """Every ``step``-th row, copied, and weighted by ``step``: a cheap likeness of the whole."""

        def part(chunks: Iterable[Placed]) -> list[RowChunk]:
            return [rows_at(chunk, np.arange(-first % step, chunk.count, step)) for first, chunk in chunks]

        joined = _join(total(placed(self.chunks()), part))
        return ChunkLoss(
            lambda: joined,
            self.family,
            self.size,
            row_count=sum(chunk.count for chunk in joined),
            factor=self.factor * step,
        )

    @property
    def _width(self) -> int:
        """Rows of a piece."""
        width = _CACHE // (8 * max(self.size, 1)) // 64 * 64
        return min(max(width, _NARROWEST), _WIDEST)

    def _read(self, chunks: Iterable[RowChunk]) -> Iterator[RowChunk]:
        """Rows, as many at a time as stay in a cache between two loops; numbers and codes all at once."""
        width = max(_NEAR // (4 * max(self.size, 1)) // 64 * 64, _NARROWEST)
        for chunk in chunks:
            yield from (chunk,) if isinstance(chunk.entries, FactorRows) else self._pieces((chunk,), width)

    def _pieces(self, chunks: Iterable[RowChunk], width: int) -> Iterator[ArrayChunk]:
        """Rows, so many at a time."""
        for chunk in chunks:
            for first in range(0, chunk.count, width):
                yield rows_at(chunk, slice(first, first + width))


def _predictor(theta: FloatVector, X: FloatBlock | FactorRows, piece: RowChunk) -> FloatVector:
    eta = theta @ X if isinstance(X, FactorRows) else predictors(theta, X)
    if piece.offset is not None:
        eta += piece.offset
    return eta


def _weighted(values: FloatVector, piece: RowChunk) -> FloatVector:
    return values if piece.weight is None else values * piece.weight


def _join(chunks: list[RowChunk]) -> list[RowChunk]:
    """The same rows in fewer chunks: thinning leaves chunks too short to be worth a call each."""
    joined: list[RowChunk] = []
    pending: list[RowChunk] = []
    waiting = 0
    for index, chunk in enumerate(chunks):
        pending.append(chunk)
        waiting += chunk.count
        if waiting >= _WIDEST or index == len(chunks) - 1:
            # Chunks of one table all have an offset or none, and weights or none.
            offsets = [each.offset for each in pending if each.offset is not None]
            weights = [each.weight for each in pending if each.weight is not None]
            joined.append(
                ArrayChunk(
                    np.ascontiguousarray(np.concatenate([each.X for each in pending], axis=1)),
                    np.concatenate([each.y for each in pending]),
                    np.concatenate(offsets) if offsets else None,
                    np.concatenate(weights) if weights else None,
                )
            )
            pending, waiting = [], 0
    return joined
