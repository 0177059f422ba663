"""Views of coded rows: subsets, clipped leverage, and sums that do not depend on where a row stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dpglm.glm.families import Family
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseLaw
from dpglm.optim.rows import ArrayChunk, RowChunk
from dpglm.typing import BoolVector, FloatBlock, FloatMatrix, FloatVector, IntVector

# Entries widened to float64 at a time: their working copy stays in cache.
_ENTRIES = 2**18
# No released point is longer than this in any coordinate, or so little of it is left as makes no difference.
FARTHEST = 2.0**100


def predictor(at: FloatVector, wide: FloatMatrix) -> FloatVector:
    """x'at of each row, coordinate by coordinate; ``wide`` has rows as columns, shape (p, k).

    A product of matrices may round a row differently in another place, and so let one row touch others.

    Examples
    --------
    >>> predictor(np.array([2.0, 1.0]), np.array([[1.0, 0.0], [0.5, 3.0]]))
    array([2.5, 3. ])
    """
    eta = np.zeros(wide.shape[1])
    for value, column in zip(at, wide, strict=True):
        eta += value * column
    return eta


def squares(weights: FloatVector, X: FloatBlock) -> FloatVector:
    """Weighted sum of squares of each row, coordinate by coordinate like `predictor`; shape (k,)."""
    total = np.zeros(X.shape[1])
    for weight, entries in zip(weights.tolist(), X, strict=True):
        total += weight * np.square(entries, dtype=np.float64)
    return total


def finite(at: FloatVector) -> FloatVector:
    """A released point without infinities and NaN, which times a row's 0 would be felt by every sum.

    Examples
    --------
    >>> finite(np.array([np.inf, np.nan, 2.0])).tolist()
    [1.2676506002282294e+30, 0.0, 2.0]
    """
    return np.asarray(np.clip(np.nan_to_num(at), -FARTHEST, FARTHEST), dtype=np.float64)


def widened(chunk: RowChunk, at: FloatVector) -> Iterator[tuple[FloatMatrix, FloatVector, FloatVector]]:
    """Rows in double precision, linear predictors at a released point, and responses, piece by piece."""
    width = max(64, _ENTRIES // len(at))
    for first in range(0, len(chunk.y), width):
        piece = slice(first, first + width)
        wide = chunk.X[:, piece].astype(np.float64)
        eta = predictor(at, wide)
        if chunk.offset is not None:
            eta += chunk.offset[piece]
        yield wide, eta, chunk.y[piece]


def chosen_rows(chunk: RowChunk, chosen: BoolVector) -> ArrayChunk:
    """The rows of a chunk that a mask chooses, shape (k,)."""
    offset = None if chunk.offset is None else chunk.offset[chosen]
    return ArrayChunk(np.ascontiguousarray(chunk.X[:, chosen]), chunk.y[chosen], offset)


class RowView:
    """The same rows, read otherwise; a subclass says how by `chunks`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @property
    def size(self) -> int:
        return self._rows.size

    def row_count(self) -> int:
        return self._rows.row_count()


class WithinLeverage(RowView):
    """The same rows, but for those with ``x' P^-1 x`` above ``max_leverage``: these are read as zeros.

    The coding keeps every row within the bounds of its terms. The price of a release leans on that, so every
    row is looked at, once, when it is first read. ``ridge`` is the diagonal of P, shape (p,).
    """

    def __init__(self, rows: Rows, ridge: FloatVector, max_leverage: float) -> None:
        super().__init__(rows)
        self._weights = 1.0 / (ridge * max_leverage)
        self._outside: list[IntVector] = []

    def chunks(self) -> Iterator[RowChunk]:
        for index, chunk in enumerate(self._rows.chunks()):
            if index == len(self._outside):
                self._outside.append(np.flatnonzero(~_within(chunk.X, self._weights)))
            outside = self._outside[index]
            if outside.size:
                X = chunk.X.copy()
                X[:, outside] = 0.0
                yield ArrayChunk(X, chunk.y, chunk.offset)
            else:
                yield chunk


def _within(X: FloatBlock, weights: FloatVector) -> BoolVector:
    """Which columns have a weighted sum of squares of at most 1; NaN has not."""
    within: BoolVector = squares(weights, X) <= 1.0 - len(X) * 2.0**-50
    return within


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
            count = min(left, len(chunk.y))
            yield ArrayChunk(chunk.X[:, :count], chunk.y[:count], None)
            left -= count


class RowSubset(RowView):
    """The rows at chosen places; cut out of the table at each read.

    ``holds`` takes a place and a number k to whether the k rows from there on are held, shape (k,).
    """

    def __init__(self, rows: Rows, holds: Callable[[int, int], BoolVector]) -> None:
        super().__init__(rows)
        self._holds = holds

    def row_count(self) -> int:
        return int(self._holds(0, self._rows.row_count()).sum())

    def chunks(self) -> Iterator[RowChunk]:
        first = 0
        for chunk in self._rows.chunks():
            yield chosen_rows(chunk, self._holds(first, len(chunk.y)))
            first += len(chunk.y)


# Up to this many columns the Jacobian is worth its cost.
MOST_JACOBIAN = 12


def perturbation_log_ratio(
    family: Family,
    ridge: FloatVector,
    noise: NoiseLaw,
    theta: FloatMatrix,
    tables: tuple[Rows, Rows],
    factor: FloatVector | None,
) -> FloatVector:
    """How much likelier minimisers theta, shape (k, p), are on the first table, shape (k,)."""
    (first, first_jacobian), (second, second_jacobian) = (
        _perturbation_and_jacobian(family, theta, table, ridge, factor) for table in tables
    )
    return noise.log_ratio(first, second) + first_jacobian - second_jacobian


def _perturbation_and_jacobian(
    family: Family,
    theta: FloatMatrix,
    rows: Rows,
    ridge: FloatVector,
    factor: FloatVector | None,
) -> tuple[FloatMatrix, FloatVector]:
    """-b at each theta, shape (k, p), and the log of its Jacobian, (k,); rows times factor, clipped to 1."""
    X, y, offset = one_piece(rows)
    eta = theta @ X
    clipped: FloatMatrix | float = 1.0
    if factor is not None:
        with np.errstate(divide="ignore"):
            clipped = np.minimum(factor[:, None], 1.0 / np.linalg.norm(X, axis=0)[None, :])
        eta = eta * clipped
    eta = eta + offset
    score = (family.slope(eta, y) * clipped) @ X.T + ridge * theta
    if len(ridge) > MOST_JACOBIAN:
        return score, np.zeros(len(theta))
    hessians = (family.curvature(eta, y) * clipped**2) @ outer_products(X).T
    return score, np.linalg.slogdet(hessians.reshape(-1, len(X), len(X)) + np.diag(ridge))[1]


def outer_products(X: FloatMatrix) -> FloatMatrix:
    """x x' of each row, flattened, shape (p * p, n)."""
    return np.asarray((X[:, None, :] * X[None, :, :]).reshape(len(X) ** 2, -1 if X.size else 0))


def one_piece(table: Rows) -> tuple[FloatMatrix, FloatVector, FloatVector]:
    """All rows of a small table in double precision, as columns, their responses and offsets."""
    chunks = list(table.chunks())
    offsets = [np.zeros(len(chunk.y)) if chunk.offset is None else chunk.offset for chunk in chunks]
    X = np.concatenate([chunk.X for chunk in chunks], axis=1).astype(np.float64)
    return X, np.concatenate([chunk.y for chunk in chunks]), np.concatenate(offsets)
