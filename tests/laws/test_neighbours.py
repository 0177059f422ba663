"""Between neighbouring tables nothing differs but the released numbers."""

from __future__ import annotations

import logging
import warnings
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm

SCHEMA: dict[str, Any] = {
    "y": ["no", "yes"],
    "x": (-1.0, 1.0),
    "w": {"bounds": (0.0, 100.0), "missing": 50.0},
    "g": {"levels": ["a", "b", "c"], "other": "c"},
}
FORMULA = "y ~ x + w + g + x:g"
CELLS = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(),
    st.sampled_from(["", "a", "b", "c", "no", "yes", "zzz", "1e999", "nan", " a", "0x10"]),
    st.booleans(),
    st.text(max_size=3),
)
ROWS = st.fixed_dictionaries(dict.fromkeys(SCHEMA, CELLS))
TABLES = st.lists(ROWS, min_size=0, max_size=12)


# Released numbers and what was computed from them; and what is a function of schema and formula.
RELEASED = {"estimates", "selected_mask", "coded", "strength", "released", "contrasts", "interval_decisions"}
RELEASED |= {"row_map", "user_from_coded", "strength_sum", "residual", "scales", "row_norm", "rows_clipped"}


def observed(rows: list[dict[str, Any]], relation: str) -> tuple[str, dict[str, Any]]:
    """All that a user can see of a fit, with the released numbers taken out, and the result."""
    frame = pd.DataFrame(rows, columns=list(SCHEMA), dtype=object)
    log = StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                fit = dpglm.fit(
                    FORMULA,
                    frame,
                    schema=SCHEMA,
                    penalty="l1",
                    privacy=dpglm.Privacy(1.0, 1e-6, relation=relation),  # type: ignore[arg-type]
                    seed=3,
                )
            except Exception as error:
                return f"{type(error).__name__}: {error}", {}
    finally:
        logging.getLogger().removeHandler(handler)
    public = {name: value for name, value in vars(fit._record).items() if name not in RELEASED}
    assert np.isfinite(fit._record.estimates).all()
    shape = (fit._record.estimates.shape, fit._record.coded.shape, fit._record.selected_mask.shape)
    return f"{log.getvalue()} {[str(w.message) for w in warned]} {sorted(public.items())} {shape}", public


@settings(max_examples=60)
@given(TABLES, ROWS, ROWS)
def test_replacing_one_row_changes_nothing_but_released_numbers(
    table: list[dict[str, Any]], one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert observed([*table, one], "replace-one")[0] == observed([*table, other], "replace-one")[0]


@settings(max_examples=60)
@given(TABLES, ROWS)
def test_adding_one_row_changes_nothing_but_released_numbers(
    table: list[dict[str, Any]], one: dict[str, Any]
) -> None:
    without, public = observed(table, "add-remove")
    assert without == observed([*table, one], "add-remove")[0]
    assert public["n_rows"] is None


@settings(max_examples=20)
@given(TABLES, ROWS)
def test_one_class_only_looks_like_any_other_table(table: list[dict[str, Any]], one: dict[str, Any]) -> None:
    single = [row | {"y": "yes"} for row in [*table, one]]
    mixed = [row | {"y": "no" if place % 2 else "yes"} for place, row in enumerate([*table, one])]
    assert observed(single, "replace-one")[0] == observed(mixed, "replace-one")[0]
