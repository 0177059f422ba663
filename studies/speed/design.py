"""Private rows as `dpglm.fit` codes them, so that coding can be timed alone, and peers can have the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source


def design_of(formula: str, data: object, schema: Schema) -> Design:
    """What a fit makes of a formula before it reads a row: all is coded when the rows are counted."""
    model = parse(formula, schema)
    response = Response.of(schema, model.response, "binary")
    return Design(open_source(data), schema, coding=Coding.of(model), response=response)


def coded_rows(design: Design) -> tuple[Any, Any]:
    """All coded rows, shape (n, p), and responses: for peers, which want one array."""
    blocks = list(design.chunks())
    rows = np.concatenate([block.X.T.astype(np.float64) for block in blocks])
    return rows, np.concatenate([block.y for block in blocks])
