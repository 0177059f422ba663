"""dask frames whose partitions are on a cluster: the door of `distributed`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dpglm.data.tables.cluster import (
    ClusterRows,
    ClusterSource,
    Cut,
    Encode,
    Failed,
    Kept,
    coded_piece,
    counts_of,
    cuts_of,
    packed,
    summed,
    usable,
)
from dpglm.errors import ClusterError
from dpglm.rows import ONE_THREAD_EACH, RowChunk

if TYPE_CHECKING:
    import pandas as pd

# Sums under way for each thread of the cluster.
_AHEAD: Final = 2


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
        self._frame, self._client = frame, client
        self.column_names = tuple(name for name in frame.columns if isinstance(name, str))

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """The columns asked for, brought here, a cut at a time."""
        partitions, pieces = self._cut(columns)
        for cut in (cut for piece in pieces for cut in piece):
            made = self._submit(_rows, partitions[cut.partition], cut.start, cut.stop)
            yield usable(_result(made))

    def coded(self, columns: Sequence[str], encode: Encode, kept: Iterable[Kept] | None) -> ClusterRows:
        partitions, pieces = self._cut(columns)
        counts, found = counts_of(pieces, kept)
        made = [
            self._submit(_piece, encode, piece, own, *(partitions[cut.partition] for cut in piece))
            for piece, own in zip(pieces, found, strict=True)
        ]
        for failed in self._submit_each(_failed, made):
            usable(_result(failed))
        return DaskRows(self._client, made, counts)

    def _cut(self, columns: Sequence[str]) -> tuple[list[Any], list[list[Cut]]]:
        """Futures of the partitions, and the pieces that they are cut into."""
        needed = list(columns) or list(self.column_names[:1])
        partitions = self._client.compute(self._frame[needed].to_delayed())
        return partitions, cuts_of([_result(each) for each in self._submit_each(len, partitions)])

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)

    def _submit_each(self, function: Callable[..., Any], futures: Iterable[Any]) -> list[Any]:
        return [self._submit(function, each) for each in futures]


class DaskRows(ClusterRows):
    """Coded pieces as futures of a client, which keep them on the cluster."""

    def __init__(self, client: Any, pieces: Sequence[Any], counts: Sequence[int]) -> None:
        super().__init__(counts)
        self._client, self._pieces = client, pieces

    def fetch(self, piece: int) -> Sequence[RowChunk] | Failed:
        found: Sequence[RowChunk] | Failed = _result(self._pieces[piece])
        return found

    def sums(self, part: Callable[[Iterable[Any]], Any], stretches: Iterable[Sequence[Any]]) -> Iterator[Any]:
        waiting: deque[Any] = deque()
        most = _AHEAD * max(sum(self._client.nthreads().values()), 1)
        for stretch in stretches:
            payload, numbers = packed(part, stretch)
            pieces = [self._pieces[number] for number in numbers]
            if len(waiting) >= most:
                yield usable(_result(waiting.popleft()))
            waiting.append(self._client.submit(_summed, payload, numbers, *pieces, pure=False))
        while waiting:
            yield usable(_result(waiting.popleft()))


def _rows(frame: Any, start: int, stop: int) -> Any:
    return frame.iloc[start:stop]


def _piece(encode: Encode, cuts: Sequence[Cut], kept: Sequence[Kept], *frames: Any) -> Any:
    some = [frame.iloc[cut.start : cut.stop] for frame, cut in zip(frames, cuts, strict=True)]
    return coded_piece(encode, list(zip(cuts, some, kept, strict=True)))


def _failed(piece: Any) -> Failed | None:
    return piece if isinstance(piece, Failed) else None


@ONE_THREAD_EACH
def _summed(payload: bytes, numbers: Sequence[int], *pieces: Any) -> Any:
    return summed(payload, dict(zip(numbers, pieces, strict=True)))


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
