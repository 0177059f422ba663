"""Codes of missing values, marks in numbers, blanks, case and other spellings: what cells are read as."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.datasets import fair

import dpglm
from dpglm import Categorical, Numeric, Schema
from dpglm.errors import SchemaError

NAN = float("nan")


def cleaned(variable: Numeric, *values: object) -> list[float]:
    return np.asarray(variable.clean(list(values))).tolist()


def test_codes_of_missing_numbers_are_no_numbers() -> None:
    age = Numeric(18, 95, missing_codes=[999, -9, "88", "refused"])
    found = age.clean([30, 999, "999.0", -9, 88, "88", 88.5, "refused", 1000, np.int8(-9)])
    np.testing.assert_array_equal(found, [30, NAN, NAN, NAN, NAN, NAN, 88.5, NAN, 95, NAN])
    filled = Numeric(18, 95, missing_codes=[999], missing=50)
    assert cleaned(filled, 999, None, 20) == [50, 50, 20]
    # A code may lie within the bounds.
    assert cleaned(Numeric(0, 100, missing_codes=[99], missing=0), 98, 99, 100) == [98, 0, 100]
    column = pd.Series([1, 999, 3], dtype="Int64")
    np.testing.assert_array_equal(age.clean(column), [18, NAN, 18])


def test_what_a_code_of_missing_values_does_to_a_fit() -> None:
    """Read as bounds, codes halve a coefficient; declared, the fit is that of the rows without them."""
    table = fair.load_pandas().data
    table["y"] = (table.pop("affairs") > 0).astype(int)
    schema = {"y": [0, 1], "yrs_married": (0, 40), "age": (17, 45)}
    coded = table.copy()
    rows = np.random.default_rng(1).random(len(table)) < 0.05
    coded.loc[rows, "yrs_married"] = 999
    options = {"privacy": None, "penalty": "none", "progress": False}
    whole = dpglm.fit("y ~ yrs_married + age", table[~rows], schema=schema, **options).params
    wrong = dpglm.fit("y ~ yrs_married + age", coded, schema=schema, **options).params
    declared = schema | {"yrs_married": {"bounds": [0, 40], "missing_codes": [999]}}
    right = dpglm.fit("y ~ yrs_married + age", coded, schema=declared, **options).params
    np.testing.assert_allclose(right, whole, rtol=1e-6)
    assert wrong["yrs_married"] < 0.6 * whole["yrs_married"]


def test_marks_in_numbers_are_read_as_declared_and_in_no_other_way() -> None:
    euro = Numeric(0, 1e7, decimal=",", thousands=".")
    found = euro.clean(["1.234.567,8", "1,5", "12", " 3,25 ", "1.5", "1.23,4", "12.345", "1,2e3", 7.5, "x"])
    np.testing.assert_array_equal(found, [1234567.8, 1.5, 12, 3.25, NAN, NAN, 12345, 1200, 7.5, NAN])
    swiss = Numeric(0, 1e7, thousands="'")
    np.testing.assert_array_equal(swiss.clean(["1'234.5", "1'23", "1234"]), [1234.5, NAN, 1234])
    coded = Numeric(0, 1000, decimal=",", missing_codes=["99,9"])
    np.testing.assert_array_equal(coded.clean(["99,9", 99.9, "5,5"]), [NAN, NAN, 5.5])


def test_a_file_with_marks_is_read_as_text_whatever_stands_in_its_chunks(tmp_path: Path) -> None:
    """`1.234` alone would be read as a number by any parser: the declaration says 1234."""
    path = tmp_path / "table.csv"
    path.write_text("y,x\n" + "no,1.234\n" * 30 + 'yes,"2.000,5"\n' * 30)
    schema = {"y": ["no", "yes"], "x": {"bounds": [0, 4000], "decimal": ",", "thousands": "."}}
    options = {"privacy": None, "penalty": "none", "progress": False}
    found = dpglm.fit("x ~ y", path, schema=schema, family="gaussian", **options)
    np.testing.assert_allclose(found.params, [1234, 2000.5 - 1234], rtol=1e-6)


def test_levels_are_found_under_their_other_names() -> None:
    sex = Categorical(
        ["male", "female"], aliases={1: "male", 2: "female", "m": "male"}, strip=True, ignore_case=True
    )
    assert sex.clean(["Male", " FEMALE ", 1, "2", 2.0, "M", "f", "", "  ", None]).tolist() == [
        *(0, 1, 0, 1, 1, 0),
        *(-1, -1, -1, -1),
    ]
    answer = Categorical(["no", "yes"], missing_codes=[9, "refused"], missing="no", other="yes")
    assert answer.clean(["yes", 9, "9", "refused", "perhaps", None]).tolist() == [1, 0, 0, 0, 1, 0]
    # Blanks alone are a text where they are not stripped.
    assert Categorical(["no", "yes"], other="yes").clean([" ", ""]).tolist() == [1, -1]


@pytest.mark.parametrize(
    "declaration",
    [
        {"bounds": [0, 1], "missing_codes": 999},
        {"bounds": [0, 1], "missing_codes": [9, 9.0]},
        {"bounds": [0, 1], "missing_codes": [""]},
        {"bounds": [0, 1], "missing_codes": [NAN]},
        {"bounds": [0, 1], "missing_codes": [True]},
        {"bounds": [0, 1], "decimal": ";"},
        {"bounds": [0, 1], "decimal": ",", "thousands": ","},
        {"bounds": [0, 1], "thousands": "."},
        {"bounds": [0, 1], "infinite": True},
        {"bounds": [0, 1], "strip": True},
        {"levels": ["a", "A"], "ignore_case": True},
        {"levels": ["a", "b "], "aliases": {"b": "b "}, "strip": True},
        {"levels": ["a", "b"], "aliases": {"x": "c"}},
        {"levels": ["a", "b"], "aliases": {"a": "b"}},
        {"levels": ["a", "b"], "aliases": ["x"]},
        {"levels": ["a", "b"], "missing_codes": ["b"]},
        {"levels": ["a", "b"], "aliases": {9: "a"}, "missing_codes": [9]},
        {"levels": ["a", "b"], "strip": "yes"},
        {"levels": ["a", "b"], "strip": True, "missing_codes": [" "]},
        {"levels": ["a", "b"], "decimal": ","},
        {"levels": ["01", "02"], "missing_codes": [1]},
        {"levels": [True, False], "missing_codes": [1]},
        {"levels": [True, False], "aliases": {1: False}},
        {"levels": ["a", "b"], "missing_codes": [9], "aliases": {"9.0": "b"}},
        {"levels": ["a", "\ud800"]},
        {"bounds": [0, 1], "missing_codes": ["\ud800"]},
        {"bounds": [0, 1], "decimal": np.array([",", "."])},
        {"bounds": [0, 1], "thousands": pd.NA},
        {"bounds": [0, 1], "infinite": np.array("bound")},
    ],
)
def test_readings_that_contradict_themselves_are_refused(declaration: dict[str, object]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of({"x": declaration})
    assert caught.value.remedy


def test_blanks_make_no_difference_to_numbers_either() -> None:
    assert Categorical([0, 1], strip=True).clean([" TRUE ", "TRUE", "\u00a01.0"]).tolist() == [1, 1, 1]


def test_words_among_codes_are_no_numbers() -> None:
    assert cleaned(Numeric(0, 10, missing_codes=["true", "inf"]), 1, "1", 7) == [1, 1, 7]


def test_whatever_can_be_declared_can_be_saved(tmp_path: Path) -> None:
    variable = Numeric(0, 1, missing_codes=[10**20, -5], decimal=np.str_(","))
    assert variable.missing_codes == (1e20, -5)
    schema = Schema.of({"y": [0, 1], "x": variable})
    schema.to_yaml(tmp_path / "schema.yaml")
    frame = pd.DataFrame({"y": [0, 1] * 50, "x": np.linspace(0, 1, 100)})
    fit = dpglm.fit("y ~ x", frame, schema=schema, privacy=1.0, seed=1, progress=False)
    fit.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(dpglm.load(tmp_path / "fit.json").params, fit.params)


def test_readings_are_kept_in_files_and_in_the_fingerprint(tmp_path: Path) -> None:
    schema = Schema.of(
        {
            "y": {"levels": ["no", "yes"], "aliases": {0: "no", 1: "yes"}, "missing_codes": [9, "NK"]},
            "x": {"bounds": [0, 1], "missing_codes": [99, "-"], "decimal": ",", "infinite": "bound"},
            "z": {"bounds": [0, 1]},
        }
    )
    path = tmp_path / "schema.yaml"
    schema.to_yaml(path)
    assert Schema.of(path) == schema == Schema.from_dict(schema.to_dict())
    assert schema.to_dict()["variables"]["z"] == {"bounds": [0.0, 1.0]}
    plain = Schema.of({"y": ["no", "yes"], "x": (0, 1), "z": (0, 1)})
    fingerprints = {dpglm.plan("y ~ x", one, privacy=1.0).fingerprint for one in (schema, plain)}
    assert len(fingerprints) == 2


def test_tables_without_names_have_numbers_for_names() -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.uniform(size=(300, 2)))
    frame[2] = (random.random(300) < frame[0]).astype(int)
    named = frame.rename(columns={0: "a", 1: "b", 2: "y"})
    options = {"privacy": None, "penalty": "none", "progress": False}
    found = dpglm.fit("Q('2') ~ Q('0') + Q('1')", frame, schema={0: (0, 1), 1: (0, 1), 2: [0, 1]}, **options)
    expected = dpglm.fit("y ~ a + b", named, schema={"a": (0, 1), "b": (0, 1), "y": [0, 1]}, **options)
    np.testing.assert_array_equal(found.params, expected.params)
    assert list(frame.columns) == [0, 1, 2]
    frame.columns = [*np.arange(2), "2"]
    mixed = {np.int64(0): (0, 1), 1: (0, 1), "2": [0, 1]}
    found = dpglm.fit("Q('2') ~ Q('0') + Q('1')", frame, schema=mixed, **options)
    np.testing.assert_array_equal(found.params, expected.params)
    with pytest.raises(SchemaError, match="as a number and as a text"):
        Schema.of({0: (0, 1), "0": (0, 1)})
