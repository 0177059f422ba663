"""What every table is to those who read it: names of columns, and rows again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dpglm.errors import SchemaError
from dpglm.kept_rows import BESIDE_SCRATCH

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class StackedColumn:
    """A column in several parts, one below the other, each of a type of its own.

    They are read part by part: to join them would choose a type by what stands in some of them.
    """

    parts: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Stacked:
    """Frames, one below the other, whose columns may have other types in each.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = Stacked((pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": ["a"]})))
    >>> len(rows), rows.columns, len(rows["x"].parts)
    (3, ('x',), 2)
    """

    frames: tuple[pd.DataFrame, ...]

    def __len__(self) -> int:
        return sum(map(len, self.frames))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that all frames have."""
        return tuple(name for name in self.frames[0].columns if all(name in one for one in self.frames))

    def __getitem__(self, name: str) -> StackedColumn:
        return StackedColumn(tuple(frame[name] for frame in self.frames))


Chunk: TypeAlias = "pd.DataFrame | Stacked"

CHUNK_ROWS: Final = 32_000


class Source(ABC):
    """Rows of one table, readable again and again."""

    column_names: tuple[str, ...]
    kept_bytes: int = BESIDE_SCRATCH  # of coded rows, which a reader may keep in memory beside a scratch file

    @abstractmethod
    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[Chunk]:
        """Frames of 32,000 rows, the last one fewer, that hold at least ``columns``.

        ``numeric`` names the columns declared as numbers, without marks of their own: a text file is read
        fast there, and by its own decimal mark.
        """

    def respelled(self, chunk: Chunk, numeric: Collection[str]) -> Chunk:
        """The chunk with the numbers of these columns in the spelling of program code."""
        return chunk


class PiecewiseSource(Source):
    """Rows that come in frames of any size; its chunks are even all the same."""

    chunk_rows: int = CHUNK_ROWS

    @abstractmethod
    def frames(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """All rows in order; otherwise as `chunks`."""

    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[Chunk]:
        """The frames cut, and stacked where one has too few rows."""
        waiting: tuple[pd.DataFrame, ...] = ()
        missing = self.chunk_rows
        for frame in self.frames(columns, numeric=numeric):
            start = 0
            while len(frame) - start >= missing:
                yield _stacked((*waiting, _cut(frame, start, start + missing)))
                waiting, start, missing = (), start + missing, self.chunk_rows
            if start < len(frame):
                waiting = (*waiting, _cut(frame, start, len(frame)))
                missing -= len(frame) - start
        if waiting:
            yield _stacked(waiting)


class JoinedSource(PiecewiseSource):
    """The rows of several sources, one below the other, by the names of the first one's columns.

    Parameters
    ----------
    parts : sequence of (str, PiecewiseSource)
        At least one, with public names for errors.

    Raises
    ------
    SchemaError
        If a part lacks a column that the first one has. Neither the names of columns are told, since a line
        of names may be a row, nor is a row read.
    """

    def __init__(self, parts: Sequence[tuple[str, PiecewiseSource]]) -> None:
        (first, model), *others = parts
        for name, part in others:
            known = set(part.column_names)
            lacking = sum(column not in known for column in model.column_names)
            if lacking:
                raise SchemaError(
                    f"{name}, which lacks {lacking} of the {len(model.column_names)} columns of {first}",
                    expected="in every piece of a table the columns of the first one, in any order",
                    remedy="Give every piece the same column names, or leave this one out.",
                )
        self._parts = [part for _, part in parts]
        self.column_names = model.column_names

    def frames(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Those of each part."""
        for part in self._parts:
            yield from part.frames(columns, numeric=numeric)

    def respelled(self, chunk: Chunk, numeric: Collection[str]) -> Chunk:
        """As the first part does: all are written alike."""
        return self._parts[0].respelled(chunk, numeric)


def require_distinct(names: Sequence[str], *, of_file: str | None = None) -> None:
    """Refuse repeated names; those in a file are told by position, since they may be a row's values."""
    count = Counter(name for name in names if name)
    positions = {position: name for position, name in enumerate(names, 1) if count[name] > 1}
    if positions:
        repeated = f"named {', '.join(sorted(set(positions.values())))}"
        if of_file is not None:
            places = ", ".join(map(str, [*positions][:20]))
            repeated = f"of the same name, among columns {places} of {of_file}"
        raise SchemaError(
            f"more than one column {repeated}",
            expected="columns with different names",
            remedy="Rename or drop the repeated column; a file without column names needs a line of them.",
        )


def frame_of_arrow(table: Any) -> pd.DataFrame:
    """A frame of Arrow columns as they are: a conversion would choose types by the values it finds."""
    import pandas as pd

    columns = {name: pd.arrays.ArrowExtensionArray(table[name]) for name in table.column_names}
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)


def _stacked(frames: tuple[pd.DataFrame, ...]) -> Chunk:
    return frames[0] if len(frames) == 1 else Stacked(frames)


def _cut(frame: pd.DataFrame, start: int, stop: int) -> pd.DataFrame:
    return frame if start == 0 and stop == len(frame) else frame.iloc[start:stop]
