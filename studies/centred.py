"""Numeric columns moved to [-1, 1] around the middle of their declared bounds: public, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import dpglm

if TYPE_CHECKING:
    import pandas as pd

WHY = (
    "Numbers are moved to [-1, 1] around the middle of their declared bounds before any fit, which is public "
    "and row by row. Models whose noise needs a strong ridge also shrink their intercept; columns of one "
    "sign would stand in for it, and with few positive rows they would rank rows the wrong way round."
)


def centred(frame: pd.DataFrame, schema: dpglm.Schema) -> tuple[pd.DataFrame, dpglm.Schema]:
    """The table and its schema, both moved; other columns stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> moved, schema = centred(pd.DataFrame({"age": [20, 50]}), dpglm.Schema.of({"age": (20, 80)}))
    >>> moved["age"].tolist(), schema.variables["age"].low
    ([-1.0, 0.0], -1.0)
    """
    columns, variables = {}, dict(schema.variables)
    for name, variable in schema.variables.items():
        if not isinstance(variable, dpglm.Numeric):
            continue
        middle, half = (variable.low + variable.high) / 2.0, (variable.high - variable.low) / 2.0
        columns[name] = (frame[name] - middle) / half
        missing = variable.missing
        if not isinstance(missing, str):
            missing = (missing - middle) / half
        variables[name] = replace(variable, low=-1.0, high=1.0, missing=missing)
    return frame.assign(**columns), replace(schema, variables=variables)
