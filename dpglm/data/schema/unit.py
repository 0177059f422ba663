"""The unit of privacy where a table has several rows of it: the column that tells whose a row is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np

from dpglm.errors import SchemaError, shown
from dpglm.typing import ROWS_OF

Sharing = Literal["unit", "row"]
# Of a person with more rows than that no more are read.
MOST_ROWS = 1000


@dataclass(frozen=True)
class Unit:
    """The column that tells whose each row is, and how many rows of one person count.

    Whatever is released protects all rows of a person together. A row without a person is not read.

    Parameters
    ----------
    column : str
        A person is one text in this column; a number is the text of its value.
    rows : int
        Of each person the first so many rows are read, in the order of the table.
    weights : {"unit", "row"}
        ``"unit"``: persons weigh the same, and each row of a person an equal part of that. Then noise is that
        of one row a person, however many rows there are, and the model is that of a person's average row.
        ``"row"``: rows weigh the same, one part in ``rows``, which multiplies the noise by ``rows``. Declared
        and expected numbers, ``Schema(rows=...)`` and ``n=``, count what weighs the same.
    name : str
        What it is, in words.

    Raises
    ------
    SchemaError
        If a name is not text, or ``rows`` is not an integer from 1 to 1000.

    Examples
    --------
    >>> Unit("patient_id", rows=3, name="one patient").words
    'one patient (all rows with the same patient_id)'
    """

    column: str
    rows: int = MOST_ROWS
    weights: Sharing = "unit"
    name: str = ""

    def __post_init__(self) -> None:
        texts = all(isinstance(text, str) for text in (self.column, self.name)) and self.column
        if not texts:
            raise SchemaError(
                "unit: a column or a name that is not text",
                expected="the name of the column that tells whose a row is",
                remedy="Write unit: {column: patient_id}.",
            )
        whole = isinstance(self.rows, int | np.integer) and not isinstance(self.rows, bool)
        if not (whole and 1 <= self.rows <= MOST_ROWS):
            raise SchemaError(
                f"unit: rows: {shown(self.rows)}",
                expected=f"how many rows of one person are read, an integer from 1 to {MOST_ROWS}",
                remedy="Write unit: {column: patient_id, rows: 3}, or leave rows out.",
            )
        object.__setattr__(self, "rows", int(self.rows))
        object.__setattr__(self, "column", str(self.column))
        if not isinstance(self.weights, str) or self.weights not in get_args(Sharing):
            raise SchemaError(
                f"unit: weights: {shown(self.weights)}",
                expected="unit, where persons weigh the same, or row, where rows do",
                remedy="Leave weights out.",
            )

    @classmethod
    def of(cls, declaration: Mapping[str, Any]) -> Self:
        """The unit that a mapping declares."""
        known = {field.name for field in fields(cls)}
        if "column" not in declaration or not set(declaration) <= known:
            raise SchemaError(
                f"unit: {shown(sorted(map(str, declaration)))}",
                expected="column, and perhaps rows, weights and name",
                remedy="Write unit: {column: patient_id, rows: 3}.",
            )
        return cls(**declaration)

    @property
    def shared(self) -> bool:
        """Whether a person may have more than one row that is read."""
        return self.rows > 1

    @property
    def words(self) -> str:
        """Who is protected."""
        rows = f"{ROWS_OF}{self.column}"
        return f"{self.name} ({rows})" if self.name else rows

    def to_dict(self) -> dict[str, Any]:
        """What `of` takes, without what is left as it is."""
        return {name: value for name, value in asdict(self).items() if value != _DEFAULTS.get(name)}


def weight_of(unit: Unit | None, count: int) -> int:
    """What so many rows weigh in all, or so many persons where a column tells them."""
    return count if unit is None or unit.weights == "unit" else max(1, round(count / unit.rows))


_DEFAULTS = {field.name: field.default for field in fields(Unit)}
