"""Rows of several frames, one below the other, read as those of one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

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
