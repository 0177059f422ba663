"""Frames of Spark, told by their names: no class of it is imported, and every pass is one `mapInArrow`."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

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
    joined,
    packed,
    summed,
    unchanged,
    usable,
)
from dpglm.data.tables.source import frame_of_arrow
from dpglm.errors import ClusterError
from dpglm.rows import RowChunk
from dpglm.threads import ONE_THREAD_EACH

if TYPE_CHECKING:
    import pandas as pd

# What a task hands back: which one, and bytes of what it made.
_ANSWER = "number long, answer binary"
_Parts = Mapping[int, list[tuple[int, int, Cut, Kept]]]  # of each partition: piece, place in it, cut, kept


def is_spark_frame(data: object) -> bool:
    """Whether this is a frame of Spark, told by its name."""
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"


class SparkSource(ClusterSource):
    """A frame of a Spark session. The columns used are cached by Spark while they are coded."""

    def __init__(self, frame: Any, names: Sequence[str] | None = None) -> None:
        self.column_names = tuple(frame.columns if names is None else names)
        # Spark reads dots and backticks in a name, and not its case: columns are told by their places.
        self._frame = frame.toDF(*map(_spelled, range(len(self.column_names))))

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """The columns asked for, brought here, a cut at a time."""
        chosen = self._chosen(columns)
        partitions = dict(_collected(chosen, _table_of_partition))
        lengths = [partitions[number].num_rows for number in sorted(partitions)]
        tables = [partitions[number] for number in sorted(partitions)]
        for cut in (cut for piece in cuts_of(lengths) for cut in piece):
            some = tables[cut.partition].slice(cut.start, cut.stop - cut.start)
            yield frame_of_arrow(some.rename_columns(list(columns)))

    @contextmanager
    def held(self, columns: Sequence[str]) -> Iterator[ClusterSource]:
        chosen = self._chosen(columns).persist()
        try:
            yield SparkSource(chosen, columns)
        finally:
            chosen.unpersist()

    def coded(self, columns: Sequence[str], encode: Encode, kept: Iterable[Kept] | None) -> ClusterRows:
        found = dict(_collected(self._frame, _length_of_partition))
        numbers = sorted(found)
        pieces = cuts_of([found[number] for number in numbers])
        counts, kept_of = counts_of(pieces, kept)
        parts: dict[int, list[tuple[int, int, Cut, Kept]]] = defaultdict(list)
        for piece, (cuts, owns) in enumerate(zip(pieces, kept_of, strict=True)):
            for place, (cut, own) in enumerate(zip(cuts, owns, strict=True)):
                parts[numbers[cut.partition]].append((piece, place, cut, own))
        coder = partial(_coded, encode, self.column_names, dict(parts))
        cut_rows = self._frame.mapInArrow(coder, "piece long, place long, rows binary")
        together = cut_rows.repartition("piece").sortWithinPartitions("piece", "place")
        made = SparkRows(together.mapInArrow(_joined, "piece long, rows binary").persist(), counts)
        made.mark()
        return made

    def _chosen(self, columns: Sequence[str]) -> Any:
        return self._frame.select(*[_spelled(self.column_names.index(name)) for name in columns])


def _spelled(place: int) -> str:
    return f"c{place}"


class SparkRows(ClusterRows):
    """Coded pieces as rows of a cached Spark frame; given back when no longer used."""

    def __init__(self, frame: Any, counts: Sequence[int]) -> None:
        super().__init__(counts)
        self._frame = frame

    def __del__(self) -> None:
        try:
            self._frame.unpersist()
        except Exception:  # the session may be gone
            return

    def mark(self) -> None:
        """Keep what tells each piece; a ClusterError if one could not be coded."""
        self._marks = {number: usable(mark) for number, mark in _collected(self._frame, _marks)}

    def fetch(self, piece: int) -> Sequence[RowChunk] | Failed:
        found = dict(_collected(self._frame.where(f"piece = {piece:d}"), _pieces_themselves))
        return unchanged(found[piece], self._marks[piece])

    def sums(self, part: Callable[[Iterable[Any]], Any], stretches: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """All stretches in one job; each lies within one piece."""
        wanted, order = {}, []
        for stretch in stretches:
            payload, (piece,) = packed(part, stretch)
            wanted[piece] = self._marks[piece], payload
            order.append(piece)
        found = dict(_collected(self._frame, partial(_summed, wanted)))
        for piece in order:
            yield usable(found[piece])


def _collected(frame: Any, task: Callable[[Iterator[Any]], Iterator[Any]]) -> list[tuple[int, Any]]:
    """What a task makes of each partition, numbered; a ClusterError without Spark's words, maybe of rows."""
    try:
        rows = frame.mapInArrow(task, _ANSWER).collect()
    except Exception as error:
        why = type(error).__name__
    else:
        answers = [(int(row["number"]), pickle.loads(row["answer"])) for row in rows]
        return [(number, usable(answer) if number < 0 else answer) for number, answer in answers]
    raise ClusterError(
        f"a Spark session that could not do a job ({why})",
        expected="executors with dpglm and its libraries, and a frame that can be computed",
        remedy="See whether frame.count() works and dpglm is installed on the executors, for the Python of "
        "PYSPARK_PYTHON; what was charged stays charged.",
    )


# What runs on executors. A task gives back the kind of an error and does not raise it: a cluster logs
# exceptions, whose words may be about rows.


def _silent(
    answered: Callable[[Failed], Any],
) -> Callable[[Callable[..., Iterator[Any]]], Callable[..., Iterator[Any]]]:
    """A task whose error is its last answer, in the columns of its others, with the number -1."""

    def silenced(task: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        @wraps(task)
        def run(*arguments: Any) -> Iterator[Any]:
            try:
                yield from task(*arguments)
            except Exception as error:
                yield answered(Failed(type(error).__name__))

        return run

    return silenced


def _answer(number: int, what: object) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"number": [number], "answer": [pickle.dumps(what)]})


def _cut_rows(piece: int, place: int, rows: object) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"piece": [piece], "place": [place], "rows": [pickle.dumps(rows)]})


def _piece(piece: int, rows: object) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"piece": [piece], "rows": [pickle.dumps(rows)]})


@_silent(partial(_answer, -1))
def _length_of_partition(batches: Iterator[Any]) -> Iterator[Any]:
    yield _answer(_partition(), sum(batch.num_rows for batch in batches))


@_silent(partial(_answer, -1))
def _table_of_partition(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    held = list(batches)
    if held:
        yield _answer(_partition(), pa.Table.from_batches(held))


@_silent(partial(_cut_rows, -1, 0))
def _coded(encode: Encode, names: Sequence[str], parts: _Parts, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    own = parts.get(_partition(), [])
    held = list(batches)
    if not own or not held:
        return
    table = pa.Table.from_batches(held).rename_columns(list(names))
    for piece, place, cut, kept in own:
        frame = frame_of_arrow(table.slice(cut.start, cut.stop - cut.start))
        yield _cut_rows(piece, place, coded_piece(encode, [(cut, frame, kept)]))


@_silent(partial(_piece, -1))
def _joined(batches: Iterator[Any]) -> Iterator[Any]:
    """Pieces from their cuts, which come one after the other."""
    for piece, cuts in groupby(_rows_of(batches), itemgetter(0)):
        yield _piece(piece, Piece.of(joined([rows for _, rows in cuts])))


@_silent(partial(_answer, -1))
def _marks(batches: Iterator[Any]) -> Iterator[Any]:
    for number, piece in _rows_of(batches):
        yield _answer(number, piece if isinstance(piece, Failed) else piece.mark)


@_silent(partial(_answer, -1))
def _pieces_themselves(batches: Iterator[Any]) -> Iterator[Any]:
    for number, rows in _rows_of(batches):
        yield _answer(number, rows)


@_silent(partial(_answer, -1))
def _summed(wanted: Mapping[int, tuple[bytes, bytes]], batches: Iterator[Any]) -> Iterator[Any]:
    with ONE_THREAD_EACH:
        for number, piece in _rows_of(batches):
            if number in wanted:
                mark, payload = wanted[number]
                yield _answer(number, summed(payload, {number: unchanged(piece, mark)}))


def _rows_of(batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    for batch in batches:
        for number, rows in zip(batch.column("piece"), batch.column("rows"), strict=True):
            yield number.as_py(), pickle.loads(rows.as_py())


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "within a task"
    return int(context.partitionId())
