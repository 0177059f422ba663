"""The unit box: entries between 0 and 1, each from its own row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.data.coding.unit_box import UnitBox
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError, SchemaError

law = settings(derandomize=True, deadline=None, max_examples=100)
SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "x": (-2, 6),
        "filled": {"bounds": (0, 10), "missing": 5},
        "two": ["F", "M"],
        "three": {"levels": ["a", "b", "c"], "other": "omit"},
    }
)
BOX = UnitBox.of("y ~ .", SCHEMA)
numbers = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.none(), st.sampled_from(["3", "?"]))
texts = st.sampled_from(["no", "yes", "F", "M", "a", "b", "c", "", "z", None])
rows = st.fixed_dictionaries({"y": texts, "x": numbers, "filled": numbers, "two": texts, "three": texts})


def coded(table: list[dict[str, Any]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    frame = pd.DataFrame(table, columns=list(SCHEMA.variables), dtype=object)
    chunks = list(BOX.table(frame).chunks())
    return np.concatenate([c.X for c in chunks], axis=1), np.concatenate([c.y for c in chunks])


@law
@given(st.lists(rows, min_size=1, max_size=6))
def test_entries_lie_between_0_and_1_and_classes_are_declared(table: list[dict[str, Any]]) -> None:
    X, y = coded(table)
    assert X.shape == (BOX.size, len(table))
    assert X.dtype == np.float32
    assert np.all(np.isnan(X) | ((X >= 0.0) & (X <= 1.0)))
    assert set(y) <= {-1.0, 0.0, 1.0}


@law
@given(st.lists(rows, min_size=2, max_size=6), rows, st.integers(0, 5))
def test_a_row_is_coded_by_itself(table: list[dict[str, Any]], other: dict[str, Any], place: int) -> None:
    place %= len(table)
    changed = [*table[:place], other, *table[place + 1 :]]
    (X, y), (Z, w) = coded(table), coded(changed)
    rest = np.arange(len(table)) != place
    assert X[:, rest].tobytes() == Z[:, rest].tobytes()
    assert y[rest].tobytes() == w[rest].tobytes()
    assert Z[:, place].tobytes() == coded([other])[0][:, 0].tobytes()


def test_columns_are_places_in_ranges_and_levels() -> None:
    X, y = coded(
        [
            {"y": "yes", "x": 0.0, "filled": None, "two": "M", "three": "c"},
            {"y": "no", "x": 99.0, "filled": 2.5, "two": "F", "three": "d"},
            {"y": "?", "x": None, "filled": 10, "two": None, "three": "a"},
        ]
    )
    nan = np.nan
    expected = [[0.25, 0.5, 1, 0, 0, 1], [1, 0.25, 0, nan, nan, nan], [nan, 1, nan, 1, 0, 0]]
    np.testing.assert_array_equal(X.T, np.array(expected, dtype=np.float32))
    assert y.tolist() == [1.0, 0.0, -1.0]
    assert BOX.owner.tolist() == [0, 1, 2, 3, 3, 3]
    assert BOX.may_be_missing.tolist() == [True, False, True, True, True, True]


def test_known_moments_make_the_box_of_a_number() -> None:
    declared = Schema.of({"y": ["a", "b"], "x": {"bounds": (0, 100), "mean": 10, "sd": 2}})
    schema = replace(declared, moments="known")
    box = UnitBox.of("y ~ x", schema)
    frame = pd.DataFrame({"y": ["a"] * 4, "x": [0.0, 6.0, 11.0, 99.0]})
    np.testing.assert_allclose(next(iter(box.table(frame).chunks())).X[0], [0, 0, 0.625, 1], atol=1e-6)


def test_without_known_moments_expected_ones_change_nothing() -> None:
    schema = Schema.of({"y": ["a", "b"], "x": {"bounds": (0, 100), "mean": 10, "sd": 2}})
    frame = pd.DataFrame({"y": ["a"], "x": [25.0]})
    assert next(iter(UnitBox.of("y ~ x", schema).table(frame).chunks())).X[0, 0] == 0.25


@pytest.mark.parametrize("formula", ["y ~ x:two", "y ~ I(x ** 2)", "y ~ x + offset(filled)", "y ~ 1", 3])
def test_what_is_no_list_of_columns_is_refused(formula: Any) -> None:
    with pytest.raises(FormulaError):
        UnitBox.of(formula, SCHEMA)


def test_a_response_without_two_levels_is_refused() -> None:
    with pytest.raises(SchemaError, match="two levels"):
        UnitBox.of("x ~ two", SCHEMA)


def test_names_in_quotes_and_factors_by_c_are_columns() -> None:
    schema = Schema.of({"y": ["a", "b"], "body mass": (0, 1), "job": ["x", "y", "z"]})
    assert UnitBox.of('y ~ C(job) + Q("body mass")', schema).features == ("job", "body mass")
