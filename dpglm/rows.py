"""Chunks of coded rows, and sums over them: side by side in threads, and always the same to the last bit."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from dpglm.factor_rows import FactorRows
from dpglm.threads import ONE_THREAD_EACH, thread_count
from dpglm.typing import BoolVector, FloatBlock, FloatVector, IntVector

# Rows that are coded, kept and read at a time: few calls, each of numbers that fit into a cache.
ROWS = 8000
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
    def entries(self) -> FloatBlock | FactorRows:
        """The rows as they are kept: ``X``, or the same with factors of many levels as codes."""


@dataclass(frozen=True)
class ArrayChunk:
    """A `RowChunk` in memory, here or at a worker; of codes ``X`` is made each time that it is asked for."""

    entries: FloatBlock | FactorRows
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
        return self.entries.dense() if isinstance(self.entries, FactorRows) else self.entries


Made = TypeVar("Made")


class Later(Generic[Made]):
    """Something that is made when it is first asked for, once, by whichever thread asks."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make: Callable[[], Made] | None = make
        self._lock = threading.Lock()

    @property
    def unmade(self) -> Callable[[], Made] | None:
        """What makes it; None once it is made."""
        return self._make

    def __call__(self) -> Made:
        if self._make is not None:
            with self._lock:
                if self._make is not None:  # still
                    self._made = self._make()
                    self._make = None  # and with it all that it was made from
        return self._made


class Cluster(Protocol):
    """Processes elsewhere that hold coded rows and sum over them."""

    def sums(self, part: Callable[[Iterable[Any]], Any], stretches: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """``part`` of each stretch, in order; where a worker is lost another one sums its stretch again."""


class Home(NamedTuple):
    """Where the rows of a chunk are: a cluster, None if here; and which piece of the table they are in."""

    cluster: Cluster | None
    piece: int


class ForwardChunk:
    """A `RowChunk` that is another one, had when its numbers are asked for."""

    @property
    def _here(self) -> RowChunk:
        raise NotImplementedError

    @property
    def X(self) -> FloatBlock:  # noqa: N802
        return self._here.X

    @property
    def y(self) -> FloatVector:
        return self._here.y

    @property
    def offset(self) -> FloatVector | None:
        return self._here.offset

    @property
    def weight(self) -> FloatVector | None:
        return self._here.weight

    @property
    def share(self) -> FloatVector | None:
        return self._here.share

    @property
    def entries(self) -> FloatBlock | FactorRows:
        return self._here.entries


def itself(chunk: RowChunk) -> RowChunk:
    return chunk


class LazyChunk(ForwardChunk):
    """A `RowChunk` of ``count`` rows, made by the thread that reads it, or by a worker at its home."""

    def __init__(self, count: int, make: Callable[[], RowChunk], home: Home | None = None) -> None:
        self.count, self.home = count, home
        self._chunk = Later(make)

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker of the cluster makes it again, of the chunk that it has."""
        make = self._chunk.unmade
        return LazyChunk, (self.count, partial(itself, self._chunk()) if make is None else make)

    @classmethod
    def of(cls, chunk: RowChunk, view: Callable[[RowChunk], RowChunk], count: int | None = None) -> LazyChunk:
        """What ``view`` makes of a chunk, at the same home: as many rows, unless ``count`` says otherwise."""
        return cls(chunk.count if count is None else count, partial(view, chunk), home_of(chunk))

    @property
    def _here(self) -> RowChunk:
        return self._chunk()


def home_of(chunk: object) -> Home | None:
    """The home of a chunk; None for one that was made of rows in memory."""
    found: Home | None = getattr(chunk, "home", None)
    return found


class Placed(NamedTuple):
    """A chunk and how many rows of its table come before it."""

    first: int
    chunk: RowChunk

    @property
    def home(self) -> Home | None:
        return home_of(self.chunk)


def placed(chunks: Iterable[RowChunk]) -> Iterator[Placed]:
    """Chunks of a table with their places."""
    first = 0
    for chunk in chunks:
        yield Placed(first, chunk)
        first += chunk.count


def rows_at(chunk: RowChunk, places: slice | BoolVector | IntVector) -> ArrayChunk:
    """Some rows of a chunk as a matrix: a view for a slice, else a copy; of codes always a copy."""
    offset = None if chunk.offset is None else chunk.offset[places]
    weight = None if chunk.weight is None else chunk.weight[places]
    share = weight if chunk.share is chunk.weight or chunk.share is None else chunk.share[places]
    share = None if chunk.share is None else share
    X = chunk.entries
    X = X.rows_at(places).dense() if isinstance(X, FactorRows) else X[:, places]
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
    the sum. Work of the chunks themselves that was put off (`LazyChunk`) is done in the same thread, or by
    the workers of the cluster that holds the rows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [ArrayChunk(np.ones((1, k), dtype=np.float32), np.zeros(k), None) for k in (2, 3)]
    >>> total(rows, lambda chunks: sum(len(chunk.y) for chunk in chunks))
    5
    """
    found: Sum | None = None
    # What threads need is made before a row is read: whether it can be must not depend on how many there are.
    threads = thread_count()
    with ONE_THREAD_EACH, ThreadPoolExecutor(threads) as pool:
        for cluster, stretches in groupby(_stretches(chunks), _cluster_of):
            if cluster is None:
                sums = _summed_here(pool, threads, stretches, part)
            else:
                sums = cluster.sums(part, stretches)
            for each in sums:
                found = each if found is None else found + each
    return part(()) if found is None else found


def _summed_here(
    pool: ThreadPoolExecutor,
    threads: int,
    stretches: Iterable[list[Item]],
    part: Callable[[Iterable[Item]], Sum],
) -> Iterator[Sum]:
    """The parts of stretches of rows that are here, in order."""
    state = np.geterr()

    def quiet(stretch: Iterable[Item]) -> Sum:
        with np.errstate(**state):  # a thread begins without its maker's
            return part(stretch)

    left = iter(stretches)
    first, second = next(left, None), next(left, None)
    if first is None:
        return
    if second is None:
        yield part(first)
        return
    waiting = deque([_begun(pool, threads, quiet, first), _begun(pool, threads, quiet, second)])
    for stretch in left:
        if len(waiting) >= _AHEAD * threads:
            yield waiting.popleft().result()
        waiting.append(_begun(pool, threads, quiet, stretch))
    while waiting:
        yield waiting.popleft().result()


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


def _stretches(chunks: Iterable[Item]) -> Iterator[list[Item]]:
    """Chunks of one piece of a table at a time, `STRETCH` at most."""
    for _, together in groupby(chunks, home_of):
        while stretch := list(islice(together, STRETCH)):
            yield stretch


def _cluster_of(stretch: list[Any]) -> Cluster | None:
    home = home_of(stretch[0])
    return None if home is None else home.cluster
