"""Rows that the workers of a cluster hold, code and sum.

What crosses to a worker is public or a released point: how rows are coded, the function to sum, where a chunk
stands. What comes back is a sum. Noise is drawn, and a ledger charged, in the curator's process only, so that
a task that a cluster runs twice changes nothing.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial, wraps
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dpglm.data.tables.source import CHUNK_ROWS, Source
from dpglm.errors import ClusterError
from dpglm.factor_rows import FactorRows
from dpglm.kept_rows import arrays
from dpglm.rows import ROWS, ArrayChunk, ForwardChunk, Home, LazyChunk, RowChunk, itself
from dpglm.typing import FloatVector, IntVector

# Which rows of a frame count and their shares; both None where all do, each for itself.
Kept: TypeAlias = tuple[IntVector | None, FloatVector | None]
# Chunks of a frame; the frame is one of the source's, with at least the columns asked for.
Encode: TypeAlias = Callable[[Any, IntVector | None, FloatVector | None], Sequence[RowChunk]]


class Cut(NamedTuple):
    """Rows ``start`` to ``stop`` of one partition, all of the same piece."""

    partition: int
    start: int
    stop: int


def cuts_of(lengths: Sequence[int]) -> list[list[Cut]]:
    """Pieces of 32,000 rows, the last one fewer, of partitions of these lengths: the cuts of each piece.

    Examples
    --------
    >>> cuts_of([20_000, 0, 30_000])
    [[Cut(partition=0, start=0, stop=20000), Cut(partition=2, start=0, stop=12000)],
     [Cut(partition=2, start=12000, stop=30000)]]
    """
    pieces: list[list[Cut]] = []
    room = 0
    for partition, length in enumerate(lengths):
        start = 0
        while start < length:
            if room == 0:
                pieces.append([])
                room = CHUNK_ROWS
            stop = min(length, start + room)
            pieces[-1].append(Cut(partition, start, stop))
            room -= stop - start
            start = stop
    return pieces


@dataclass(frozen=True)
class Failed:
    """What a worker gives back instead of raising: clusters log exceptions and their arguments, rows too."""

    why: str


def silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a worker, which gives back the kind of an error and never raises it."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            return Failed(type(error).__name__)

    return run


class ElsewhereChunk(ForwardChunk):
    """A `RowChunk` that a worker holds; read here only where a release needs rows in one place."""

    def __init__(self, cluster: ClusterRows, piece: int, place: int, count: int) -> None:
        self.home, self.place, self.count = Home(cluster, piece), place, count
        self._cluster = cluster

    @property
    def _here(self) -> RowChunk:
        return self._cluster.fetched(self.home.piece)[self.place]


class ClusterRows(ABC):
    """Chunk pieces that workers hold, and sums over them; a `dpglm.rows.Cluster`."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._counts = counts
        self._fetched: tuple[int, Sequence[RowChunk]] = (-1, ())

    def chunks(self) -> list[ElsewhereChunk]:
        """Handles of all chunks, in the order of the rows."""
        return [
            ElsewhereChunk(self, piece, place, min(ROWS, count - first))
            for piece, count in enumerate(self._counts)
            for place, first in enumerate(range(0, count, ROWS))
        ]

    def fetched(self, piece: int) -> Sequence[RowChunk]:
        """The chunks of a piece, brought here; the last one asked for is kept."""
        held = self._fetched  # one read: another thread may fetch another piece meanwhile
        if held[0] != piece:
            self._fetched = held = piece, usable(self.fetch(piece))
        return held[1]

    @abstractmethod
    def fetch(self, piece: int) -> Sequence[RowChunk] | Failed:
        """The chunks of a piece."""

    @abstractmethod
    def sums(self, part: Callable[[Iterable[Any]], Any], stretches: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """As `dpglm.rows.Cluster.sums`."""


class ClusterSource(Source):
    """A table in partitions on a cluster, cut into pieces of 32,000 rows like every other table."""

    @abstractmethod
    def held(self, columns: Sequence[str]) -> AbstractContextManager[ClusterSource]:
        """These columns, computed once: what is read and what is coded are the same rows in the same order.

        A frame may be in another order, or cut otherwise, whenever it or another column of it is computed.
        """

    @abstractmethod
    def coded(self, columns: Sequence[str], encode: Encode, kept: Iterable[Kept] | None) -> ClusterRows:
        """The rows of a table that is `held`, coded by the workers, once; none is read here.

        ``kept`` is of each cut, in the order in which `chunks` hands them out.
        """


def counts_of(
    pieces: Sequence[Sequence[Cut]], kept: Iterable[Kept] | None
) -> tuple[list[int], list[list[Kept]]]:
    """How many coded rows each piece has, and what its cuts keep."""
    waiting = None if kept is None else iter(kept)
    counts, found = [], []
    for piece in pieces:
        own: list[Kept] = [(None, None) if waiting is None else next(waiting) for _ in piece]
        counts.append(
            sum(
                cut.stop - cut.start if rows is None else len(rows)
                for cut, (rows, _) in zip(piece, own, strict=True)
            )
        )
        found.append(own)
    return counts, found


def coded_piece(encode: Encode, cuts: Sequence[tuple[Cut, Any, Kept]]) -> list[ArrayChunk] | Failed:
    """The chunks of a piece, from the frames of its cuts, on a worker.

    Frames of two partitions are coded apart: columns of two types would have to be made one, which may
    change a row because of others.
    """
    try:
        whole = all(len(frame) == cut.stop - cut.start for cut, frame, _ in cuts)
        if not whole:
            return Failed("a partition has changed")
        with np.errstate(all="ignore"):
            chunks = [chunk for _, frame, kept in cuts for chunk in encode(frame, *kept)]
        return list(_even(chunks))
    except Exception as error:
        return Failed(type(error).__name__)


def joined(parts: Sequence[list[ArrayChunk] | Failed]) -> list[ArrayChunk] | Failed:
    """The chunks of a piece whose cuts were coded by several workers."""
    chunks: list[ArrayChunk] = []
    for part in parts:
        if isinstance(part, Failed):
            return part
        chunks += part
    return list(_even(chunks))


@dataclass(frozen=True)
class Piece:
    """A coded piece, and a hash of its numbers: one that is lost and made again must be the same one."""

    chunks: Sequence[ArrayChunk]
    mark: bytes

    @classmethod
    def of(cls, chunks: Sequence[ArrayChunk] | Failed) -> Piece | Failed:
        """The piece of these chunks."""
        if isinstance(chunks, Failed):
            return chunks
        found = hashlib.blake2b(digest_size=16)
        for chunk in chunks:
            for array in arrays(chunk):
                found.update(array.tobytes())
        return cls(chunks, found.digest())


def unchanged(piece: Piece | Failed, mark: bytes) -> Sequence[RowChunk] | Failed:
    """The chunks of a piece with this hash. Rows in another order would be in two pieces, or in none."""
    if isinstance(piece, Failed):
        return piece
    return piece.chunks if piece.mark == mark else Failed("a partition came out otherwise when made again")


def _even(chunks: Sequence[RowChunk]) -> Iterator[ArrayChunk]:
    """The same rows in chunks of `ROWS`, the last one fewer."""
    ends = np.cumsum([0, *(chunk.count for chunk in chunks)])
    for first in range(0, int(ends[-1]), ROWS):
        last = min(first + ROWS, int(ends[-1]))
        parts = [
            (chunk, slice(max(first - start, 0), min(last, stop) - start))
            for chunk, (start, stop) in zip(chunks, pairwise(ends.tolist()), strict=True)
            if start < last and stop > first
        ]
        offset, share = (_joined(name, parts) for name in ("offset", "share"))
        y = np.concatenate([chunk.y[some] for chunk, some in parts])
        rows = [(chunk.entries, some) for chunk, some in parts]
        coded = [X.rows_at(some) for X, some in rows if isinstance(X, FactorRows)]
        X = FactorRows.joined(coded) if coded else np.hstack([chunk.X[:, some] for chunk, some in parts])
        yield ArrayChunk(X, y, offset, share, share)


def _joined(name: str, parts: Sequence[tuple[RowChunk, slice]]) -> FloatVector | None:
    values = [(getattr(chunk, name), some) for chunk, some in parts]
    return None if values[0][0] is None else np.concatenate([value[some] for value, some in values])


def packed(part: Callable[[Iterable[Any]], Any], stretch: Sequence[Any]) -> tuple[bytes, list[int]]:
    """A function and chunks for a worker, which `summed` completes by the pieces that it holds; and which."""
    from cloudpickle import Pickler

    pieces: set[int] = set()

    class Packer(Pickler):  # type: ignore[misc]
        def persistent_id(self, obj: object) -> tuple[int, int] | None:
            if not isinstance(obj, ElsewhereChunk):
                return None
            pieces.add(obj.home.piece)
            return obj.home.piece, obj.place

    stream = io.BytesIO()
    Packer(stream).dump((part, stretch, np.geterr()))
    return stream.getvalue(), sorted(pieces)


def _unpacked(payload: bytes, pieces: Mapping[int, Sequence[RowChunk] | Failed]) -> Any:
    """What was packed, with the chunks of these pieces."""

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, pid: tuple[int, int]) -> RowChunk:
            piece = pieces[pid[0]]
            assert not isinstance(piece, Failed), "looked at before"
            chunk = piece[pid[1]]
            # By this number a worker knows the chunk again in the next pass.
            return LazyChunk(chunk.count, partial(itself, chunk), Home(None, pid[0] * CHUNK_ROWS + pid[1]))

    return Unpacker(io.BytesIO(payload)).load()


def summed(payload: bytes, pieces: Mapping[int, Sequence[RowChunk] | Failed]) -> Any:
    """The part of a packed function and stretch, on a worker; never an exception, which would be logged."""
    try:
        broken = [piece for piece in pieces.values() if isinstance(piece, Failed)]
        if broken:
            return broken[0]
        part, stretch, state = _unpacked(payload, pieces)
        with np.errstate(**state):
            return part(stretch)
    except Exception as error:
        return Failed(type(error).__name__)


def usable(answer: Any) -> Any:
    """What a worker gave back; a ClusterError where it failed."""
    if isinstance(answer, Failed):
        raise ClusterError(
            f"a worker that could not code or sum its rows ({answer.why})",
            expected="workers with this version of dpglm and its libraries, and memory for their rows",
            remedy="Look at the workers' memory and versions; what was charged stays charged.",
        )
    return answer
