"""dask frames whose partitions are on a cluster: the door of `distributed`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from dpglm.data.schema.schema import text_of_name
from dpglm.data.tables.cluster import (
    ClusterRows,
    ClusterSource,
    Cut,
    Encode,
    Failed,
    Kept,
    Piece,
    coded_piece,
    counts_of,
    cuts_of,
    packed,
    silent,
    summed,
    unchanged,
    usable,
)
from dpglm.errors import ClusterError
from dpglm.rows import RowChunk
from dpglm.threads import ONE_THREAD_EACH

if TYPE_CHECKING:
    import pandas as pd

# Sums under way for each thread of the cluster.
_AHEAD: Final = 2


def is_dask_frame(data: object) -> bool:
    """Whether this is a frame of dask, and not a column or an array of it, told by its name."""
    kind = type(data)
    return kind.__module__.startswith("dask") and kind.__name__ == "DataFrame"


def client_of_process() -> Any:
    """The client of a dask cluster that this process has begun to use, or None."""
    import sys

    if "distributed" not in sys.modules:  # no client was made, then
        return None
    from distributed import default_client

    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        return None


class DaskSource(ClusterSource):
    """A dask frame of this process' client.

    Partitions are computed once, kept on the cluster while they are coded, and cut there.
    """

    def __init__(self, frame: Any, client: Any) -> None:
        names = [text_of_name(name) for name in frame.columns]  # as of a frame in memory
        self._frame = (
            frame
            if names == list(frame.columns)
            else frame.rename(columns=dict(zip(frame.columns, names, strict=True)))
        )
        self._client = client
        self._computed: tuple[list[Any], list[list[Cut]]] | None = None  # where it is held
        self.column_names = tuple(name for name in names if isinstance(name, str))

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """The columns asked for, brought here, a cut at a time."""
        needed = self._needed(columns)
        partitions, pieces = self._cut(needed)
        for cut in (cut for piece in pieces for cut in piece):
            made = self._submit(_rows, partitions[cut.partition], needed, cut.start, cut.stop)
            yield usable(_result(made))

    @contextmanager
    def held(self, columns: Sequence[str]) -> Iterator[ClusterSource]:
        held = DaskSource(self._frame, self._client)
        held._computed = self._cut(self._needed(columns))
        yield held

    def coded(self, columns: Sequence[str], encode: Encode, kept: Iterable[Kept] | None) -> ClusterRows:
        partitions, pieces = self._cut(self._needed(columns))
        counts, found = counts_of(pieces, kept)
        made = [
            self._submit(_piece, encode, piece, own, *(partitions[cut.partition] for cut in piece))
            for piece, own in zip(pieces, found, strict=True)
        ]
        marks = [usable(_result(mark)) for mark in self._submit_each(_mark, made)]
        return DaskRows(self._client, made, marks, counts)

    def _needed(self, columns: Sequence[str]) -> list[str]:
        return list(columns) or list(self.column_names[:1])

    def _cut(self, needed: list[str]) -> tuple[list[Any], list[list[Cut]]]:
        """Futures of the partitions, and the pieces that they are cut into."""
        if self._computed is not None:
            return self._computed
        partitions = self._client.compute(self._frame[needed].to_delayed())
        return partitions, cuts_of([usable(_result(each)) for each in self._submit_each(_length, partitions)])

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)

    def _submit_each(self, function: Callable[..., Any], futures: Iterable[Any]) -> list[Any]:
        return [self._submit(function, each) for each in futures]


class DaskRows(ClusterRows):
    """Coded pieces as futures of a client, which keep them on the cluster."""

    def __init__(
        self, client: Any, pieces: Sequence[Any], marks: Sequence[bytes], counts: Sequence[int]
    ) -> None:
        super().__init__(counts)
        self._client, self._pieces, self._marks = client, pieces, marks

    def fetch(self, piece: int) -> Sequence[RowChunk] | Failed:
        return unchanged(_result(self._pieces[piece]), self._marks[piece])

    def sums(self, part: Callable[[Iterable[Any]], Any], stretches: Iterable[Sequence[Any]]) -> Iterator[Any]:
        waiting: deque[Any] = deque()
        most = _AHEAD * max(sum(self._client.nthreads().values()), 1)
        for stretch in stretches:
            payload, numbers = packed(part, stretch)
            pieces = [self._pieces[number] for number in numbers]
            marks = {number: self._marks[number] for number in numbers}
            if len(waiting) >= most:
                yield usable(_result(waiting.popleft()))
            waiting.append(self._client.submit(_summed, payload, marks, *pieces, pure=False))
        while waiting:
            yield usable(_result(waiting.popleft()))


@silent
def _length(frame: Any) -> int:
    return len(frame)


@silent
def _rows(frame: Any, columns: list[str], start: int, stop: int) -> Any:
    return frame[columns].iloc[start:stop]


@silent
def _piece(encode: Encode, cuts: Sequence[Cut], kept: Sequence[Kept], *frames: Any) -> Any:
    some = [frame.iloc[cut.start : cut.stop] for frame, cut in zip(frames, cuts, strict=True)]
    return Piece.of(coded_piece(encode, list(zip(cuts, some, kept, strict=True))))


def _mark(piece: Piece | Failed) -> bytes | Failed:
    return piece if isinstance(piece, Failed) else piece.mark


@silent
@ONE_THREAD_EACH
def _summed(payload: bytes, marks: Mapping[int, bytes], *pieces: Any) -> Any:
    found = zip(marks, marks.values(), pieces, strict=True)
    return summed(payload, {number: unchanged(piece, mark) for number, mark, piece in found})


def _result(future: Any) -> Any:
    """What a task gave back; a ClusterError without its own words, which may be about rows."""
    try:
        return future.result()
    except Exception as error:
        why = type(error).__name__
    raise ClusterError(
        f"a dask cluster that could not do a task ({why})",
        expected="workers that stay, and partitions that they can compute",
        remedy="See whether the scheduler and workers run, and whether the frame can be computed "
        "by frame.map_partitions(len).compute(); what was charged stays charged.",
    )
