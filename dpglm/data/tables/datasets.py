"""Data sets that come with their public schema, for examples, tests and the demo."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np

from dpglm.data.schema.declaration import declare
from dpglm.data.tables import cohort
from dpglm.errors import SchemaError

if TYPE_CHECKING:
    import pandas as pd


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
