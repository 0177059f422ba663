"""Data sets: tables with their public schema, which a frame carries, a file has beside it, or dpglm ships."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from dpglm.data.schema.schema import Declarations, Schema
from dpglm.data.tables import cohort
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd

_Frame = TypeVar("_Frame")

_ATTRIBUTE: Final = "dpglm.schema"  # of a frame that carries its schema
_FILE_ENDS: Final = (".csv.gz", ".csv", ".parquet", ".pq")


def declare(frame: _Frame, schema: Declarations) -> _Frame:
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
        If the declaration contradicts itself, or the frame is not a pandas DataFrame.

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
    declarations = attached.get(_ATTRIBUTE) if isinstance(attached, Mapping) else None
    return None if declarations is None else Schema.from_dict(declarations)


def is_data_file(path: object) -> bool:
    """Whether a path names a table by its ending."""
    return isinstance(path, str | os.PathLike) and str(path).endswith(_FILE_ENDS)


def find_schema(data: object, schema: Declarations | None = None) -> Schema:
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
        action = f"save it as {sidecar.name} beside the file"
    else:
        action = "attach it by dpglm.declare(frame, schema) or pass it as schema="
    raise SchemaError(
        "no schema for this table",
        expected="public bounds or levels of the columns, declared by you; none is ever read off the data",
        remedy=f"Fill in this template for the columns you use, and {action}:\n"
        + Schema.template(open_source(data).column_names),
    )


def load_table(name: str) -> pd.DataFrame:
    """A table with its public schema attached.

    ``"fair"``: 6,366 women, Redbook survey of 1974, from statsmodels; response ``affair``, any affair.
    ``"randhie"``: 20,190 person-years of the RAND health insurance experiment, from statsmodels; response
    ``visit``, any outpatient visit. ``"simulated"``: 2,000 rows of a known logistic model; response
    ``y``. ``"cohort"``: 92,007 simulated people of a main hospital and 16 branches (column ``site``), with 50
    features; response ``diabetes``; drawn at each call, in about a second. ``dpglm.data.tables.cohort`` gives
    the features' public importance. The schema says where each bound comes from.

    Raises
    ------
    SchemaError
        If there is no table of this name.

    Examples
    --------
    >>> women = load_table("fair")
    >>> women.shape[0], sorted(women["affair"].unique())
    (6366, ['no', 'yes'])
    """
    if name not in _TABLES:
        raise SchemaError(
            f"the data set {name!r}",
            expected=f"one of {', '.join(repr(known) for known in _TABLES)}",
            remedy="Choose one of these, or read your own table and dpglm.declare() its schema.",
        )
    with as_file(files("dpglm.data") / "tables" / f"{name}.schema.yaml") as schema:
        return declare(_TABLES[name](), schema)


def _fair() -> pd.DataFrame:
    from statsmodels.datasets import fair

    frame: pd.DataFrame = fair.load_pandas().data
    return frame.assign(affair=np.where(frame["affairs"] > 0, "yes", "no"))


def _randhie() -> pd.DataFrame:
    from statsmodels.datasets import randhie

    frame: pd.DataFrame = randhie.load_pandas().data
    return frame.assign(visit=np.where(frame["mdvis"] > 0, "yes", "no"))


def _simulated() -> pd.DataFrame:
    import pandas as pd

    with as_file(files("dpglm.data") / "tables" / "simulated.csv") as path:
        return pd.read_csv(path)


_TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "cohort": cohort.cohort,
    "fair": _fair,
    "randhie": _randhie,
    "simulated": _simulated,
}
