"""Where a table's schema is found: in the call, on the frame, or beside the file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError

_ATTRIBUTE: Final = "dpglm.schema"
_FILE_ENDS: Final = (".csv.gz", ".csv", ".parquet", ".pq")
_Frame = TypeVar("_Frame")


def declare(frame: _Frame, schema: Schema | Mapping[str, Any] | str | os.PathLike[str]) -> _Frame:
    """The frame with a public schema attached, so that ``dpglm.fit(formula, frame, ...)`` finds it.

    Parameters
    ----------
    frame : pandas.DataFrame
        Not changed: a shallow copy is returned, and copies of that one keep the schema.
    schema : Schema, dict or path
        As :meth:`Schema.of` takes it.

    Raises
    ------
    SchemaError
        If the declaration contradicts itself, or the frame is no pandas DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = declare(pd.DataFrame({"y": ["no", "yes"]}), {"y": ["no", "yes"]})
    >>> declared(frame).variables["y"].labels
    ('no', 'yes')
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise SchemaError(
            f"a frame of type {type(frame).__name__}",
            expected="a pandas DataFrame, which can carry a schema",
            remedy="Pass schema= to the fit instead.",
        )
    marked = frame.copy(deep=False)
    marked.attrs = {**frame.attrs, _ATTRIBUTE: Schema.of(schema).to_dict()}
    return marked


def declared(frame: object) -> Schema | None:
    """The schema that :func:`declare` attached, or None."""
    attached = getattr(frame, "attrs", None)
    found = attached.get(_ATTRIBUTE) if isinstance(attached, Mapping) else None
    return None if found is None else Schema.from_dict(found)


def find_schema(
    data: object, schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None
) -> Schema:
    """The schema of a table: the argument, what the frame carries, or ``name.schema.yaml`` beside the file.

    Raises
    ------
    SchemaError
        If there is none; the text is a template with the column names of the table.
    """
    if schema is not None:
        return Schema.of(schema)
    attached = declared(data)
    if attached is not None:
        return attached
    if isinstance(data, str | os.PathLike):
        file = Path(data)
        stem = next((file.name.removesuffix(end) for end in _FILE_ENDS if file.name.endswith(end)), file.stem)
        sidecar = file.parent / f"{stem}.schema.yaml"  # the name may be empty, which with_name refuses
        if file.name and os.path.isfile(sidecar):  # unlike Path.is_file it takes names that are too long
            return Schema.from_yaml(sidecar)
        place = f"save it as {sidecar.name} beside the file"
    else:
        place = "attach it by dpglm.declare(frame, schema) or pass it as schema="
    raise SchemaError(
        "no schema for this table",
        expected="public bounds or levels of the columns, declared by you: none is ever read off the data",
        remedy=f"Fill in this template for the columns you use, and {place}:\n"
        + Schema.template(open_source(data).column_names),
    )
