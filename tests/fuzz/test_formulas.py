"""Formulas of any kind are read or refused with a caret: never run, never slow, never another error."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, target
from hypothesis import strategies as st

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError
from tests.fuzz.documented import ATTACK, within_bounds
from tests.fuzz.strategies import DEEP, FORMULAS, LONG, PIECES

SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "z": (-5.0, 5.0),
        "x": (-1.0, 1.0),
        "w": (0.0, 100.0),
        "g": ["a", "b", "c"],
        "odd name": (0.0, 1.0),
    }
)
CELLS = {
    "z": np.array([-5.0, 5.0, np.nan]),
    "x": np.array([0.0, -1.0, 1.0]),
    "w": np.array([0.0, 100.0, 1e-300]),
    "g": np.array([0, 2, -1], dtype=np.int32),
    "odd name": np.array([0.0, 1.0, np.nan]),
}


def read(formula: Any) -> int:
    """Parse, code, and encode rows at the corners of the bounds; the number of coefficients."""
    model = parse(formula, SCHEMA)
    # The message of a formula is public; from here on rows are read, and none may be refused.
    if len(model.names) > 300:
        return len(model.names)
    coding = Coding.of(model)
    rows, offset, usable = coding.encode(CELLS)
    assert np.isfinite(rows).all()
    assert (np.square(rows, dtype=np.float64).sum(axis=0) <= 1.0).all()
    assert offset is None or np.isfinite(offset).all()
    assert usable.shape == (3,)
    assert len(model.names) == coding.size
    return len(model.names)


def test_any_text(drawn: Any) -> None:
    @drawn(750)
    @given(FORMULAS)
    def law(formula: str) -> None:
        found = within_bounds(lambda: read(formula))
        # Guides the search towards formulas that are read, and those that are refused late.
        target(float(found) ** 0.5 if isinstance(found, int) else 0.0, label="coefficients")
        target(
            float(len(str(found))) if isinstance(found, FormulaError) else 0.0, label="length of the refusal"
        )

    law()


def test_deep_and_long(drawn: Any) -> None:
    @drawn(60)
    @given(st.builds("y ~ {}{}".format, LONG, DEEP))
    def law(formula: str) -> None:
        within_bounds(lambda: read(formula))

    law()


def test_formulas_that_are_no_text(drawn: Any) -> None:
    @drawn(20)
    @given(st.one_of(st.binary(), st.integers(), st.none(), st.lists(PIECES)))
    def law(formula: Any) -> None:
        assert isinstance(within_bounds(lambda: read(formula)), FormulaError)

    law()


def test_the_sentinel_is_seen() -> None:
    """The attack is one: run as code it sets the variable, and the check fails."""
    import os

    import pytest

    from tests.fuzz.documented import SENTINEL

    try:
        with pytest.raises(AssertionError, match="run as code"):
            within_bounds(lambda: eval(ATTACK))
    finally:
        os.environ.pop(SENTINEL, None)
