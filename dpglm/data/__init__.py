"""Frames and files become bounded rows: schema, formula, coding, design."""

from dpglm.data.coding import Coding
from dpglm.data.datasets import load_table
from dpglm.data.declaration import declare, declared, find_schema
from dpglm.data.design import Block, Design
from dpglm.data.formula import parse
from dpglm.data.response import BinaryResponse, CountResponse, NumericResponse
from dpglm.data.rows import RowEncoder
from dpglm.data.schema import Schema
from dpglm.data.sources import Source, open_source
from dpglm.data.variables import Categorical, Numeric

__all__ = [
    "BinaryResponse",
    "Block",
    "Categorical",
    "Coding",
    "CountResponse",
    "Design",
    "Numeric",
    "NumericResponse",
    "RowEncoder",
    "Schema",
    "Source",
    "declare",
    "declared",
    "find_schema",
    "load_table",
    "open_source",
    "parse",
]
