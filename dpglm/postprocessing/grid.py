"""Public grids: rows made of the schema, on which means and contrasts of a fit are computed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.parts import RowMap
from dpglm.postprocessing.record import FitRecord

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS: Final = 100_000
Cells = list[Any]


def row_map_of(record: FitRecord) -> RowMap:
    """The map from rows to coded columns, or a MethodError where there is none."""
    if record.row_map is None:
        raise MethodError(
            "a result without the map from rows to columns",
            expected="a result of dpglm.fit or dpglm.load",
            remedy="Read the saved result with dpglm.load(path).",
        )
    return record.row_map


def declaration(record: FitRecord, name: str) -> Mapping[str, Any]:
    """What the schema says of a column of the formula."""
    if name not in row_map_of(record).columns:
        raise MethodError(
            f"{name!r}, which the formula does not read",
            expected=f"one of {', '.join(row_map_of(record).columns) or 'no columns'}",
            remedy="Use the name of a data column, not of a coefficient: job, not C(job)[T.b].",
        )
    variables: Any = record.specification.schema.get("variables", {})
    return variables[name]  # type: ignore[no-any-return]


def levels_of(record: FitRecord, name: str) -> Cells | None:
    """The levels of a column in their order, the stages of an ordinal response; None of a number."""
    declared = declaration(record, name)
    return (periods_of(record, name) or list(declared["levels"])) if "levels" in declared else None


def periods_of(record: FitRecord, name: str) -> Cells | None:
    """The periods of the time of survival, in their order; None of another column."""
    periods = row_map_of(record).periods
    return None if periods is None or periods.column != name else list(periods.values)


def bounds_of(record: FitRecord, name: str) -> tuple[float, float]:
    """The declared bounds of a number."""
    low, high = declaration(record, name)["bounds"]
    return float(low), float(high)


def grid(record: FitRecord, values: Mapping[str, object], *, all_levels: bool = False) -> pd.DataFrame:
    """All combinations of values of the formula's columns; see :meth:`FitResult.grid`.

    ``all_levels`` gives columns of levels that are not named all their levels, and not the first alone.
    """
    import pandas as pd

    names = row_map_of(record).columns
    chosen = {name: _checked(record, name, value) for name, value in values.items()}
    columns = [chosen[name] if name in chosen else _usual(record, name, all_levels) for name in names]
    size = math.prod(map(len, columns))
    if size > MOST_ROWS:
        raise MethodError(
            f"a grid of {size:,} rows",
            expected=f"at most {MOST_ROWS:,}",
            remedy="Fix columns at one value each: at={'job': 'a'}, or give a grid= of your own.",
        )
    # A formula that reads no column needs a row to be there.
    rows = list(itertools.product(*columns))
    frame = pd.DataFrame({name: [row[place] for row in rows] for place, name in enumerate(names)})
    return frame if names else pd.DataFrame(index=range(1))


def frame_of(new: object) -> object:
    """``new``, or a frame made of a dict of scalars and lists, of which scalars are repeated."""
    if not isinstance(new, Mapping):
        return new
    import pandas as pd

    columns = {str(name): _cells(value) for name, value in new.items()}
    lengths = {len(cells) for cells in columns.values() if len(cells) != 1}
    if len(lengths) > 1:
        raise MethodError(
            "columns of different lengths",
            expected="lists of one length, and scalars",
            remedy="Use fit.grid(...) for all combinations.",
        )
    size = lengths.pop() if lengths else 1
    return pd.DataFrame(
        {name: cells if len(cells) == size else cells * size for name, cells in columns.items()}
    )


def _cells(value: object) -> Cells:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _checked(record: FitRecord, name: str, value: object) -> Cells:
    """Values that the schema declares, of one column."""
    levels = levels_of(record, name)
    if value is None:
        levels = levels or periods_of(record, name)
        if levels is None:
            raise MethodError(
                f"{name}=None for a number",
                expected="numbers within the declared bounds; None stands for all levels",
                remedy=f"Write {name}=[{', '.join(f'{end:g}' for end in bounds_of(record, name))}].",
            )
        return levels
    cells = _cells(value)
    if levels is not None:
        known = {str(level): level for level in levels}
        strangers = [str(cell) for cell in cells if str(cell) not in known]
        if strangers or not cells:
            raise MethodError(
                f"{name}={', '.join(strangers) or '[]'}, which is not declared",
                expected=f"levels of {name}: {', '.join(known)}",
                remedy="Check the spelling; None stands for all levels.",
            )
        return [known[str(cell)] for cell in cells]
    if "date" in declaration(record, name):
        return cells
    low, high = bounds_of(record, name)
    numbers = [_number(cell) for cell in cells]
    if not numbers or not all(low <= number <= high for number in numbers):
        raise MethodError(
            f"{name} with values outside its bounds, or that are no numbers",
            expected=f"numbers from {low:g} to {high:g}",
            remedy="A fit says nothing of values that the schema does not allow.",
        )
    return numbers


def _number(cell: object) -> float:
    number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
    return float(cell) if number else math.nan  # type: ignore[arg-type]


def _usual(record: FitRecord, name: str, all_levels: bool) -> Cells:
    """What a column is where nothing is said of it: the first level, the declared mean or the middle."""
    levels = levels_of(record, name) or periods_of(record, name)
    if levels is not None:
        return levels if all_levels else levels[:1]
    declared = declaration(record, name)
    if "date" in declared:
        raise MethodError(
            f"no value of {name}, a date",
            expected="a date for every row of a grid",
            remedy=f"Write {name}='2020-01-31', say, among the values of the grid.",
        )
    low, high = bounds_of(record, name)
    mean = declared.get("mean")
    return [low + (high - low) / 2.0 if mean is None else float(mean)]
