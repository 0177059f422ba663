"""What every table is to those who read it: names of columns, and rows again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS: Final = 32_000


class Source(ABC):
    """Rows of one table, readable again and again."""

    column_names: tuple[str, ...]

    @abstractmethod
    def chunks(self, columns: Sequence[str], *, numeric: Collection[str] = ()) -> Iterator[pd.DataFrame]:
        """Frames of 32,000 rows, the last one fewer, that hold at least ``columns``.

        ``numeric`` names the columns declared as numbers, without marks of their own: a text file is read
        fast there, and by its own decimal mark.
        """

    def respelled(self, frame: pd.DataFrame, numeric: Collection[str]) -> pd.DataFrame:
        """The frame with the numbers of these columns in the spelling of program code."""
        return frame


def frame_of_arrow(table: Any) -> pd.DataFrame:
    """A frame of Arrow columns as they are: a conversion would choose types by the values it finds."""
    import pandas as pd

    columns = {name: pd.arrays.ArrowExtensionArray(table[name]) for name in table.column_names}
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)
