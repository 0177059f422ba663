"""Chunks of coded rows, and sums over them: side by side in threads, and always the same to the last bit."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from dpglm.factor_rows import FactorRows
from dpglm.typing import BoolVector, FloatBlock, FloatVector, IntVector

# Chunks that one thread reads before its sum is added to the others. It decides the order of additions; how
# many threads there are does not.
STRETCH = 16
# Stretches that wait for each thread: memory holds no more of them.
_AHEAD = 2


class RowChunk(Protocol):
    """Rows read together: column i of ``X`` is row i of the design; an unusable row is a column of zeros."""

    @property
    def count(self) -> int:
        """How many rows, k."""

    @property
    def X(self) -> FloatBlock:  # noqa: N802
        """Coded rows, shape (p, k), float32, C order."""

    @property
    def y(self) -> FloatVector:
        """Responses, shape (k,), finite also where the row is unusable."""

    @property
    def offset(self) -> FloatVector | None:
        """Known part of the linear predictor, shape (k,), finite, or None."""

    @property
    def weight(self) -> FloatVector | None:
        """What each row's loss is multiplied by, shape (k,), in [0, 1]; None is 1 for all."""

    @property
    def share(self) -> FloatVector | None:
        """The part of ``weight``, shape (k,), above 0, that adds up to at most 1 over the rows of a person.

        None where each row is somebody's only one.
        """

    @property
    def factor_rows(self) -> FactorRows | None:
        """The rows of ``X`` with factors of many levels as codes, where they are kept like that."""


@dataclass(frozen=True)
class ArrayChunk:
    """A `RowChunk` of arrays in memory."""

    X: FloatBlock
    y: FloatVector
    offset: FloatVector | None
    weight: FloatVector | None = None
    share: FloatVector | None = None
    factor_rows: ClassVar[None] = None

    @property
    def count(self) -> int:
        """How many rows, k."""
        return len(self.y)


@dataclass(frozen=True, eq=False)
class FactorChunk:
    """A `RowChunk` in memory whose ``X`` is made of numbers and codes each time that it is asked for."""

    factor_rows: FactorRows
    y: FloatVector
    offset: FloatVector | None
    weight: FloatVector | None = None
    share: FloatVector | None = None

    @property
    def count(self) -> int:
        """How many rows, k."""
        return len(self.y)

    @property
    def X(self) -> FloatBlock:  # noqa: N802
        return self.factor_rows.dense()


Made = TypeVar("Made")


class Later(Generic[Made]):
    """Something that is made when it is first asked for, once, by whichever thread asks."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make: Callable[[], Made] | None = make
        self._lock = threading.Lock()

    def __call__(self) -> Made:
        with self._lock:
            if self._make is not None:
                self._made = self._make()
                self._make = None  # and with it all that it was made from
        return self._made


class LazyChunk:
    """A `RowChunk` of ``count`` rows that is made by the thread that reads it."""

    def __init__(self, count: int, make: Callable[[], RowChunk]) -> None:
        self.count = count
        self._chunk = Later(make)

    @property
    def X(self) -> FloatBlock:  # noqa: N802
        return self._chunk().X

    @property
    def y(self) -> FloatVector:
        return self._chunk().y

    @property
    def offset(self) -> FloatVector | None:
        return self._chunk().offset

    @property
    def weight(self) -> FloatVector | None:
        return self._chunk().weight

    @property
    def share(self) -> FloatVector | None:
        return self._chunk().share

    @property
    def factor_rows(self) -> FactorRows | None:
        return self._chunk().factor_rows


def rows_at(chunk: RowChunk, places: slice | BoolVector | IntVector) -> ArrayChunk:
    """Some rows of a chunk as a matrix: a view for a slice, else a copy; of codes always a copy."""
    offset = None if chunk.offset is None else chunk.offset[places]
    weight = None if chunk.weight is None else chunk.weight[places]
    share = weight if chunk.share is chunk.weight or chunk.share is None else chunk.share[places]
    share = None if chunk.share is None else share
    coded = chunk.factor_rows
    X = chunk.X[:, places] if coded is None else coded.rows_at(places).dense()
    return ArrayChunk(X, chunk.y[places], offset, weight, share)


class _Table(Protocol):
    """Coded rows that are read again and again."""

    @property
    def size(self) -> int: ...
    def chunks(self) -> Iterable[RowChunk]: ...
    def row_count(self) -> int: ...


@dataclass(frozen=True)
class JoinedRows:
    """The rows of several tables of one coding, one table after the other.

    Examples
    --------
    >>> JoinedRows(()).row_count()
    0
    """

    tables: tuple[_Table, ...]

    @property
    def size(self) -> int:
        """Number of coded columns."""
        return self.tables[0].size

    def chunks(self) -> Iterator[RowChunk]:
        """All rows in order, the same at each call."""
        for table in self.tables:
            yield from table.chunks()

    def row_count(self) -> int:
        """Number of rows, public where that of each table is."""
        return sum(table.row_count() for table in self.tables)


class Addable(Protocol):
    """What can be added up."""

    def __add__(self, other: Any) -> Self: ...


class Together(tuple[Any, ...]):
    """Several sums that are made in one read, added one by one."""

    def __add__(self, other: Iterable[Any]) -> Self:
        return type(self)(mine + theirs for mine, theirs in zip(self, other, strict=True))


Sum = TypeVar("Sum", bound=Addable)
Item = TypeVar("Item")


def total(chunks: Iterable[Item], part: Callable[[Iterable[Item]], Sum]) -> Sum:
    """The sum of ``part`` over stretches of chunks, added in the order of the rows.

    ``part`` sums some chunks, one after the other, and touches nothing else; of no chunks it is the zero of
    the sum. Work of the chunks themselves that was put off (`LazyChunk`) is done in the same thread.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [ArrayChunk(np.ones((1, k), dtype=np.float32), np.zeros(k), None) for k in (2, 3)]
    >>> total(rows, lambda chunks: sum(len(chunk.y) for chunk in chunks))
    5
    """
    # What threads need is made before a row is read: whether it can be must not depend on how many there are.
    threads, state = thread_count(), np.geterr()

    def quiet(stretch: Iterable[Item]) -> Sum:
        with np.errstate(**state):  # a thread begins without its maker's
            return part(stretch)

    with ONE_THREAD_EACH, ThreadPoolExecutor(threads) as pool:
        stretches = _stretches(chunks)
        first, second = next(stretches, None), next(stretches, None)
        if first is None or second is None:
            return part(first or ())
        waiting = deque([_begun(pool, threads, quiet, first), _begun(pool, threads, quiet, second)])
        found: Sum | None = None
        for stretch in stretches:
            if len(waiting) >= _AHEAD * threads:
                found = _added(found, waiting.popleft().result())
            waiting.append(_begun(pool, threads, quiet, stretch))
        while waiting:
            found = _added(found, waiting.popleft().result())
    assert found is not None
    return found


def _begun(
    pool: ThreadPoolExecutor, threads: int, part: Callable[[list[Item]], Sum], stretch: list[Item]
) -> Future[Sum]:
    """The part in a thread of the pool; here where one is enough, or where the system gives no more."""
    if threads > 1:
        with suppress(RuntimeError):
            return pool.submit(part, stretch)
    done: Future[Sum] = Future()
    done.set_result(part(stretch))
    return done


class _OneThreadEach(ContextDecorator):
    """Products of matrices in one thread: those of a linear algebra library cost more than they gain here.

    The last one to leave, of several fits at once, puts back what the first one found. Whoever sums often
    enters once: asking a library for its threads takes as long as a sum over a few rows.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._controller: Any = None
        self._limited: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._controller is None:
                from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

                self._controller = ThreadpoolController()
            if self._users == 0:
                self._limited = self._controller.limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limited.restore_original_limits()


ONE_THREAD_EACH = _OneThreadEach()


def thread_count() -> int:
    """``DPGLM_THREADS``, or as many as this process has cores."""
    asked = os.environ.get("DPGLM_THREADS", "")
    if asked.isdecimal() and len(asked) < 4 and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _added(found: Sum | None, part: Sum) -> Sum:
    return part if found is None else found + part


def _stretches(chunks: Iterable[Item]) -> Iterator[list[Item]]:
    left = iter(chunks)
    while stretch := list(islice(left, STRETCH)):
        yield stretch
