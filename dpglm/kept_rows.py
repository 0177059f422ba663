"""Kept rows: chunks that are made once and read again, from memory while they fit, else from a scratch file.

Where a chunk comes from changes no bit of it, and nothing that is printed or stored tells of it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dpglm.errors import DpglmError
from dpglm.factor_rows import FactorRows
from dpglm.rows import ArrayChunk, Home, LazyChunk, RowChunk, home_of, itself

# Bytes of rows that a table keeps in memory beside a scratch file, and without one. They do not depend on
# what memory is free: the system holds the file in memory that nobody wants, and gives that back when asked.
BESIDE_SCRATCH: Final = 2**25
_WITHOUT_SCRATCH: Final = 2**29
# Bytes that are asked for and freed once: glibc then keeps what chunks free for the next ones and does not
# ask the system for fresh pages with each: that costs more than to read them.
_FREED: Final = 2**24
# Where large files belong; /tmp is often a part of memory.
_LARGE_FILES: Final = "/var/tmp"


class KeptRows:
    """The chunks of a table, which are made in a first pass over it and kept for the others.

    Chunks beyond ``memory`` go to a scratch file without a name, which is gone when the process is. Where it
    cannot be written, nothing is kept of a table that is too large, and each pass makes its chunks again.

    Parameters
    ----------
    make : callable
        Gives all chunks in order, the same at each call.
    memory : int or None
        Bytes of rows that stay in memory; None is ``beside``, and 512 MiB where scratch files are forbidden.
    beside : int
        Bytes of rows that stay in memory beside a scratch file.

    Examples
    --------
    >>> rows, calls = ArrayChunk(np.ones((1, 2), dtype=np.float32), np.array([0.0, 1.0]), None), []
    >>> kept = KeptRows(lambda: calls.append("made") or [rows], memory=0)
    >>> [[chunk.y.tolist() for chunk in kept.chunks()] for _ in range(3)], calls
    ([[[0.0, 1.0]], [[0.0, 1.0]], [[0.0, 1.0]]], ['made'])
    """

    def __init__(
        self, make: Callable[[], Iterable[RowChunk]], memory: int | None = None, beside: int = BESIDE_SCRATCH
    ) -> None:
        self._make, self._memory, self._beside = make, memory, beside
        self._kept: _Pass | None = None

    def chunks(self) -> Iterator[RowChunk]:
        """All chunks in order; the thread that uses one makes it, or reads it from the file."""
        kept = self._kept
        if kept is not None and kept.whole:
            yield from kept.again()
        elif kept is not None and kept.failed:  # what did not fit is not tried again
            yield from self._make()
        else:
            kept = _Pass(self._memory, self._beside)
            yield from kept.first(self._make())
            self._kept = kept  # only a pass that ran to its end has all chunks


class _Pass:
    """The chunks of one pass, each kept once it is made, by whichever thread makes it."""

    def __init__(self, memory: int | None, beside: int) -> None:
        self._folder = _scratch_folder()
        default = _WITHOUT_SCRATCH if self._folder is None else beside
        self._room = default if memory is None else memory
        self._file: _ScratchFile | None = None
        self._kept: list[RowChunk | _StoredChunk | None] = []
        self._homes: list[Home | None] = []
        self._lock = threading.Lock()
        self.failed = False
        np.empty(_FREED, dtype=np.uint8)

    @property
    def whole(self) -> bool:
        """Whether all chunks are kept. One that nobody has read, or that is still being made, is not."""
        return not self.failed and None not in self._kept

    def first(self, chunks: Iterable[RowChunk]) -> Iterator[RowChunk]:
        """The chunks as they come."""
        for place, chunk in enumerate(chunks):
            here = is_here(chunk)  # what a worker of a cluster holds stays there
            self._kept.append(None if here else chunk)
            self._homes.append(home_of(chunk))
            yield LazyChunk.of(chunk, partial(self._made, place)) if here else chunk

    def again(self) -> Iterator[RowChunk]:
        """The chunks as they were kept."""
        for kept, home in zip(self._kept, self._homes, strict=True):
            assert kept is not None
            if isinstance(kept, _StoredChunk):
                yield LazyChunk(kept.count, kept.read, home)
            elif home is None or not is_here(kept):
                yield kept
            else:  # sums are made piece by piece, wherever rows come from
                yield LazyChunk(kept.count, partial(itself, kept), home)

    def _made(self, place: int, chunk: RowChunk) -> ArrayChunk:
        made = ArrayChunk(chunk.entries, chunk.y, chunk.offset, chunk.weight, chunk.share)
        try:
            held = None if self.failed else self._held(made)
        except OSError:  # forbidden, or no room; nobody is told, as it depends on the number of rows
            with self._lock:
                self.failed, self._kept, self._file = True, [], None
            return made
        with self._lock:
            if not self.failed:
                self._kept[place] = held
        return made

    def _held(self, chunk: ArrayChunk) -> ArrayChunk | _StoredChunk:
        """The chunk, in memory if there is room."""
        size = sum(array.nbytes for array in arrays(chunk))
        with self._lock:
            if size <= self._room:
                self._room -= size
                return chunk
            self._file = file = self._file or _ScratchFile(self._folder)
        return _StoredChunk.of(chunk, file)


class Remembered:
    """A view of chunks that a worker of a cluster holds, made there once and read again while there is room.

    Examples
    --------
    >>> rows, calls = ArrayChunk(np.ones((1, 1), dtype=np.float32), np.zeros(1), None), []
    >>> view = Remembered(lambda chunk: calls.append("made") or chunk)
    >>> held = LazyChunk(1, lambda: rows, Home(None, 0))
    >>> view(held) is view(held), calls
    (True, ['made'])
    """

    def __init__(self, view: Callable[[RowChunk], RowChunk]) -> None:
        self._view, self._name = view, os.urandom(16)

    def __call__(self, chunk: RowChunk) -> RowChunk:
        home = home_of(chunk)
        if home is None:
            return self._view(chunk)
        found = _MEMORY.get((self._name, home.piece))
        if found is None:
            found = self._view(chunk)
            _MEMORY.put((self._name, home.piece), found)
        return found


class _Memory:
    """The chunks that a worker was asked for last, up to so many bytes."""

    def __init__(self, room: int) -> None:
        self._room, self._lock = room, threading.Lock()
        self._held: OrderedDict[tuple[bytes, int], tuple[RowChunk, int]] = OrderedDict()

    def get(self, key: tuple[bytes, int]) -> RowChunk | None:
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: tuple[bytes, int], chunk: RowChunk) -> None:
        size = chunk.X.nbytes + 24 * chunk.count
        with self._lock:
            self._room -= size - self._held.pop(key, (chunk, 0))[1]
            self._held[key] = chunk, size
            while self._room < 0:
                self._room += self._held.popitem(last=False)[1][1]


_MEMORY: Final = _Memory(_WITHOUT_SCRATCH)


def of_owner(make: Callable[[], Iterable[RowChunk]]) -> Callable[[], Iterable[RowChunk]]:
    """A method of the object that has the `KeptRows`, which does not keep it alive.

    Rows that nobody needs any more would otherwise stay in memory until the next collection of garbage.
    """
    held = weakref.WeakMethod(make)

    def made() -> Iterable[RowChunk]:
        found = held()
        assert found is not None, "rows are asked for by their owner"
        return found()

    return made


def is_here(chunk: object) -> bool:
    """Whether this process has the rows of a chunk, or makes them; else a worker of a cluster has them."""
    home = home_of(chunk)
    return home is None or home.cluster is None


def _fields(chunk: ArrayChunk) -> tuple[NDArray[Any] | None, ...]:
    """The numbers of rows, their responses, offsets, weights and shares, and codes of factors."""
    X, others = chunk.entries, (chunk.y, chunk.offset, chunk.weight, chunk.share)
    return (X.numbers, *others, *X.codes) if isinstance(X, FactorRows) else (X, *others)


def arrays(chunk: ArrayChunk) -> list[NDArray[Any]]:
    """The arrays of a chunk, each once: weights and shares are often one."""
    return list({id(array): array for array in _fields(chunk) if array is not None}.values())


def lock(chunk: ArrayChunk) -> None:
    """Let nobody write to its arrays."""
    for array in arrays(chunk):
        array.flags.writeable = False


@dataclass(frozen=True)
class _StoredChunk:
    """A chunk of ``count`` rows in a scratch file."""

    file: _ScratchFile
    start: int  # place in the file
    count: int
    forms: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]  # shape and type of each array there
    roles: tuple[int, ...]  # which of them each of the `_fields` is; -1 for none
    layout: FactorRows | None  # public: where numbers and factors stand; of no rows

    @classmethod
    def of(cls, chunk: ArrayChunk, file: _ScratchFile) -> Self:
        """The chunk, written at the end of the file, or an OSError."""
        held = arrays(chunk)
        forms = tuple((array.shape, array.dtype) for array in held)
        places = {id(array): place for place, array in enumerate(held)}
        roles = tuple(places.get(id(array), -1) for array in _fields(chunk))
        X = chunk.entries
        layout = X.rows_at(slice(0)).copy() if isinstance(X, FactorRows) else None
        return cls(file, file.append(held), chunk.count, forms, roles, layout)

    def read(self) -> ArrayChunk:
        """The chunk as it was, to the last bit."""
        arrays = [np.empty(shape, dtype) for shape, dtype in self.forms]
        self.file.read(self.start, arrays)
        X: Any
        X, y, offset, weight, share, *codes = (None if place < 0 else arrays[place] for place in self.roles)
        assert X is not None
        assert y is not None
        if self.layout is not None:
            known = tuple(each for each in codes if each is not None)
            X = FactorRows(X, self.layout.places, self.layout.factors, known)
        chunk = ArrayChunk(X, y, offset, weight, share)
        lock(chunk)
        return chunk


class _ScratchFile:
    """Arrays in a file that this process alone can open, and that ends with it; or an OSError."""

    def __init__(self, folder: str | None) -> None:
        from tempfile import TemporaryFile

        if folder is None:
            raise PermissionError
        # Mode 0600, and without a name: from the start where the system can do that, else at once.
        self._file = TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115 - closed when nobody needs it
        weakref.finalize(self, self._file.close)
        self._end, self._lock = 0, threading.Lock()  # of the place in the file

    def append(self, arrays: Sequence[NDArray[Any]]) -> int:
        """The place where they begin, after all that was written before; threads write side by side."""
        with self._lock:
            start = place = self._end
            self._end += sum(array.nbytes for array in arrays)
        for array in arrays:
            left = _bytes_of(array)
            while left:
                count = os.pwrite(self._file.fileno(), left, place)
                left, place = left[count:], place + count
        return start

    def read(self, start: int, arrays: Sequence[NDArray[Any]]) -> None:
        """Fill them with what was written at a place; threads do not wait for one another."""
        try:
            for array in arrays:
                left = _bytes_of(array)
                while left and (count := os.preadv(self._file.fileno(), [left], start)):
                    left, start = left[count:], start + count
                if left:
                    raise EOFError
        except (OSError, EOFError):
            raise DpglmError(
                "a scratch file that does not give back what was written",
                expected="a sound disk",
                remedy="Set DPGLM_SCRATCH to a folder on another disk, or to off.",
            ) from None


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _scratch_folder() -> str | None:
    """``DPGLM_SCRATCH``, by default where the system has large files; None if it is no folder, as ``off``."""
    asked = os.environ.get("DPGLM_SCRATCH", "")
    if asked:
        return asked if os.path.isdir(asked) else None
    if "TMPDIR" not in os.environ and os.access(_LARGE_FILES, os.W_OK):
        return _LARGE_FILES
    from tempfile import gettempdir

    return gettempdir()
