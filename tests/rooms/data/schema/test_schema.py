"""Schemas: what may be declared, how it is written down, and what a wrong declaration is told."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.data.coding.response import Response
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.text import SIZE_LIMIT
from dpglm.data.schema.variables import Categorical, Numeric
from dpglm.data.tables.sources import declare, declared, find_schema
from dpglm.errors import SchemaError

law = settings(derandomize=True, deadline=None, max_examples=60)

finite = st.floats(-1e300, 1e300, allow_nan=False)
bounds = st.tuples(finite, finite).filter(lambda pair: pair[0] < pair[1])
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
levels = st.lists(
    st.one_of(words, st.integers(-5, 5), st.sampled_from(["no", "yes", "null", "1e3", "0x1", "~", "true"])),
    min_size=2,
    max_size=5,
    unique_by=str,
)
numerics = st.builds(
    lambda pair, share, source, looked: Numeric(
        *pair,
        missing="omit"
        if share is None
        else min(pair[1], max(pair[0], pair[0] + share * (pair[1] - pair[0]))),
        source=source,
        looked_at_data=looked,
    ),
    bounds,
    st.none() | st.floats(0, 1),
    words | st.just(""),
    st.booleans(),
)
categories = levels.flatmap(
    lambda given: st.builds(
        Categorical,
        st.just(given),
        missing=st.sampled_from(["omit", *given]),
        other=st.sampled_from([None, "omit", *given]),
        source=words | st.just(""),
    )
)
schemas = st.builds(
    Schema,
    st.dictionaries(words, numerics | categories, max_size=4),
    rows=st.none() | st.integers(1, 10**9),
    unit=st.none() | words,
    title=words | st.just(""),
)


@law
@given(schema=schemas)
def test_yaml_json_pickle_and_copies_give_the_same_schema_back(tmp_path_factory, schema):
    path = tmp_path_factory.mktemp("schema") / "table.schema.yaml"
    schema.to_yaml(path)
    for again in (
        Schema.from_yaml(path),
        Schema.from_dict(json.loads(json.dumps(schema.to_dict()))),
        pickle.loads(pickle.dumps(schema)),
        copy.deepcopy(schema),
    ):
        assert again == schema
        assert [repr(again.variables[name]) for name in again.variables] == [
            repr(variable) for variable in schema.variables.values()
        ]


def test_short_forms_say_bounds_by_a_tuple_and_levels_by_a_list():
    schema = Schema.of({"age": (18, 95), "sex": ["F", "M"], "bmi": {"bounds": [15, 60], "missing": 25}})
    assert schema.variables["age"] == Numeric(18, 95)
    assert schema.variables["sex"] == Categorical(("F", "M"))
    assert schema.variables["bmi"] == Numeric(15, 60, missing=25)


def test_no_and_yes_in_yaml_are_levels_and_not_truth_values(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("y: [no, yes]\nsmokes: [false, true]\n")
    schema = Schema.from_yaml(path)
    assert schema.variables["y"].levels == ("no", "yes")
    assert schema.variables["smokes"].levels == (False, True)


def test_scalars_that_yaml_1_1_turns_into_other_numbers_are_texts(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "g: [12:30, 010, 1_0, 0x1F, 1:30.5, 0b1]\nn: {bounds: [-1, 1.5e+3]}\nk: [0, +2, .5, 10]\n"
    )
    schema = Schema.from_yaml(path)
    assert schema.variables["g"].levels == ("12:30", "010", "1_0", "0x1F", "1:30.5", "0b1")
    assert schema.variables["n"] == Numeric(-1, 1500)
    assert schema.variables["k"].levels == (0, 2, 0.5, 10)


def test_a_filled_in_template_is_a_schema(tmp_path):
    path = tmp_path / "s.yaml"
    template = Schema.template(["age", "yes", "a b: c"])
    path.write_text(template.replace("LOW, HIGH", "0, 1"))
    assert list(Schema.from_yaml(path).variables) == ["age", "yes", "a b: c"]
    path.write_text(template)
    with pytest.raises(SchemaError, match="without quotes"):
        Schema.from_yaml(path)


WRONG = {
    "reversed bounds": {"age": (95, 18)},
    "equal bounds": {"age": (18, 18)},
    "infinite bound": {"age": (0, float("inf"))},
    "NaN bound": {"age": (float("nan"), 1)},
    "endless range": {"age": (-1.7e308, 1.7e308)},
    "huge integer": {"age": (0, 10**400)},
    "text as bound": {"age": ("0", "1")},
    "truth as bound": {"age": (False, True)},
    "three bounds": {"age": (0, 1, 2)},
    "fill outside": {"age": {"bounds": [0, 1], "missing": 2}},
    "fill that is NaN": {"age": {"bounds": [0, 1], "missing": float("nan")}},
    "fill that is text": {"age": {"bounds": [0, 1], "missing": "mean"}},
    "duplicate levels": {"sex": ["F", "M", "F"]},
    "same number twice": {"sex": [1, 1.0]},
    "number and its text": {"sex": [1, "1"]},
    "one level": {"sex": ["F"]},
    "no level": {"sex": []},
    "empty level": {"sex": ["", "F"]},
    "missing level": {"sex": [None, "F"]},
    "NaN level": {"sex": [float("nan"), 1]},
    "huge level": {"sex": [10**400, 1]},
    "levels that are a text": {"sex": {"levels": "FM"}},
    "fill that is no level": {"sex": {"levels": ["F", "M"], "missing": "X"}},
    "other that is no level": {"sex": {"levels": ["F", "M"], "other": "X"}},
    "huge fill": {"sex": {"levels": ["F", "M"], "other": 10**400}},
    "unknown key": {"age": {"bounds": [0, 1], "mean": 3}},
    "other for a number": {"age": {"bounds": [0, 1], "other": 1}},
    "bounds and levels": {"age": {"bounds": [0, 1], "levels": [0, 1]}},
    "neither": {"age": {}},
    "a set": {"sex": {"F", "M"}},
    "a number": {"age": 3},
    "provenance": {"age": {"bounds": [0, 1], "source": 3}},
    "looked": {"age": {"bounds": [0, 1], "looked_at_data": "maybe"}},
    "name that is no text": {1.5: (0, 1)},
    "empty name": {"": (0, 1)},
    "unknown setting": {"variables": {"age": (0, 1)}, "row": 5},
    "no row": {"variables": {}, "rows": 0},
    "half a row": {"variables": {}, "rows": 1.5},
    "unit": {"variables": {}, "unit": 5},
    "no schema at all": 5,
    "level that Python cannot print": {"sex": [10**5000, 2]},
    "fill that Python cannot print": {"sex": {"levels": ["F", "M"], "missing": 10**5000}},
    "bound that Python cannot print": {"age": (0, 10**5000)},
    "array as a fill": {"age": {"bounds": [0, 1], "missing": np.array([0.5, 0.5])}},
    "NA as a fill": {"age": {"bounds": [0, 1], "missing": pd.NA}},
    "array as a filling level": {"sex": {"levels": ["F", "M"], "missing": np.array(["F", "M"])}},
    "NA as a filling level": {"sex": {"levels": ["F", "M"], "other": pd.NA}},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_is_told_found_expected_and_remedy(wrong):
    with pytest.raises(SchemaError) as caught:
        Schema.of(wrong)
    error = caught.value
    assert error.found
    assert error.expected
    assert error.remedy
    if isinstance(wrong, dict) and len(wrong) == 1 and isinstance(next(iter(wrong)), str):
        assert next(iter(wrong)) in error.found  # names the column


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age: [18, 95]", "two bounds or two levels"),
        ("- age", "not columns by name"),
        ("", "not columns by name"),
        ("age: {bounds: [0, 1", "not YAML, at line 1"),
        ("age: {bounds: [0, 1]}\nage: {bounds: [0, 2]}", "age is given twice"),
        ("[" * 2000, "not YAML"),
        ("a: !!python/object/apply:os.getcwd []", "not YAML"),
        ("a: \x01", "not YAML"),
        ("a: [!!timestamp 'zzz']", "not YAML"),
        ("a: [!!bool zz]", "not YAML"),
        ("a: &a {bounds: [0, 1]}\nb: *a", "aliases"),
        ("a: {<<: {bounds: [0, 1]}}", "merge keys"),
        (f"a: {{bounds: [0, {'1' * 5000}]}}", "not YAML"),
        ("x" * (SIZE_LIMIT + 1), "larger than"),
    ],
)
def test_a_file_that_is_no_schema_is_refused(tmp_path, text, found):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        Schema.of(path)
    assert found in caught.value.found


def test_what_is_no_declaration_or_path_is_refused(tmp_path):
    frame = pd.DataFrame({"y": [1]})
    frame.attrs["dpglm.schema"] = 5
    too_long = "x" * 300
    calls = [
        lambda: declared(frame),
        lambda: Schema(5),
        lambda: Schema.from_dict(5),
        lambda: Schema.from_yaml(None),
        lambda: Schema.from_yaml(too_long),
        lambda: Schema.template(5),
        lambda: Schema.template("age"),
        lambda: Schema.of({"y": [0, 1]}).to_yaml(tmp_path),
        *(lambda path=path: find_schema(path) for path in ("", ".", "/", too_long, f"{too_long}.csv")),
    ]
    for call in calls:
        with pytest.raises(SchemaError):
            call()


def test_a_message_about_many_or_long_levels_is_short():
    for levels in (["x" * 10**5] * 2, [[1] * 10**5, 2], [*map(str, range(20_000))] * 2):
        with pytest.raises(SchemaError) as caught:
            Categorical(levels)
        assert len(str(caught.value)) < 1000


def test_a_schema_file_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(SchemaError, match="no schema file"):
        Schema.from_yaml(tmp_path / "none.yaml")


def test_an_undeclared_column_is_answered_with_the_line_to_add():
    with pytest.raises(SchemaError) as caught:
        Schema.of({"y": [0, 1]}).require(["y", "age"])
    assert "age: {bounds: [LOW, HIGH]}" in caught.value.remedy
    assert "y:" not in caught.value.remedy


def test_a_declared_column_that_the_table_lacks_is_told_before_rows_are_read():
    with pytest.raises(SchemaError, match="no column age in the data"):
        Schema.of({"age": (0, 1)}).clean(pd.DataFrame({"Age": [1]}), ["age"])


def test_a_declared_frame_keeps_its_schema_through_copies_and_pickles():
    frame = pd.DataFrame({"y": ["no", "yes"]})
    marked = declare(frame, {"y": ["no", "yes"]})
    assert declared(frame) is None
    for same in (marked, marked.copy(), marked.iloc[:1], pickle.loads(pickle.dumps(marked))):
        assert declared(same) == Schema.of({"y": ["no", "yes"]})


def test_only_a_pandas_frame_can_carry_a_schema():
    with pytest.raises(SchemaError, match="schema="):
        declare([1, 2], {"y": ["no", "yes"]})


def test_the_schema_is_found_in_the_argument_then_on_the_frame_then_beside_the_file(tmp_path):
    here, there = Schema.of({"y": ["no", "yes"]}), Schema.of({"y": ["0", "1"]})
    frame = declare(pd.DataFrame({"y": ["no"]}), there)
    assert find_schema(frame, here) == here
    assert find_schema(frame) == there
    path = tmp_path / "ward.csv.gz"
    frame.to_csv(path, index=False)
    here.to_yaml(tmp_path / "ward.schema.yaml")
    assert find_schema(path) == here


def test_a_missing_schema_is_answered_with_a_template_of_names_and_no_value(tmp_path):
    frame = pd.DataFrame({"age": [4711], "town": ["Secretville"]})
    path = tmp_path / "ward.csv"
    frame.to_csv(path, index=False)
    for data in (frame, path, str(path)):
        with pytest.raises(SchemaError) as caught:
            find_schema(data)
        text = str(caught.value)
        assert "age: {bounds: [LOW, HIGH]}" in text
        assert "town: {bounds: [LOW, HIGH]}" in text
        assert "4711" not in text
        assert "Secretville" not in text


def test_smartnoise_metadata_give_bounds_and_leave_texts_out():
    table = {
        "rows": 1000,
        "id": {"type": "int", "private_id": True},
        "age": {"type": "int", "lower": 0, "upper": 100, "missing_value": 50},
        "smokes": {"type": "boolean"},
        "town": {"type": "string", "cardinality": 7},
        "pay": {"type": "float"},
    }
    schema = Schema.from_smartnoise({"": {"public": {"people": table}}})
    source = "SmartNoise metadata"
    assert schema.rows == 1000
    assert dict(schema.variables) == {
        "age": Numeric(0, 100, missing=50, source=source),
        "smokes": Categorical([False, True], source=source),
    }
    with pytest.raises(SchemaError, match="exactly one table"):
        Schema.from_smartnoise({"": {"public": {"people": table, "houses": table}}})


def test_a_response_is_a_declaration_of_two_levels_and_the_second_is_the_success():
    schema = Schema.of({"y": ["no", "yes"], "z": [0, 1], "three": ["a", "b", "c"], "x": (0, 1)})
    assert Response.of(schema, "y", "binary").levels == ("no", "yes")
    assert Response.of(schema, "z", "binary").levels == ("0", "1")
    for name, line in (("three", "three: {levels:"), ("x", "x: {levels:"), ("age", "age: {bounds:")):
        with pytest.raises(SchemaError) as caught:
            Response.of(schema, name, "binary")
        assert line in caught.value.remedy


def test_leading_zeros_stay_apart_where_both_spellings_are_levels():
    codes = Categorical(["01", "1"])
    assert codes.clean(["01", "1", 1, 1.0, "001"]).tolist() == [0, 1, 1, 1, 1]


def test_missing_and_other_follow_their_own_rules():
    values = ["a", None, "", "x", 3, float("nan"), [1]]
    assert Categorical(["a", "b"]).clean(values).tolist() == [0, -1, -1, -1, -1, -1, -1]
    assert Categorical(["a", "b"], missing="b").clean(values).tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert Categorical(["a", "b"], other="b").clean(values).tolist() == [0, -1, -1, 1, 1, -1, 1]
    assert Categorical(["a", "b"], missing="a", other="omit").clean(values).tolist() == [
        0,
        0,
        0,
        -1,
        -1,
        0,
        -1,
    ]


def test_numbers_outside_become_the_bound_and_what_is_no_number_is_missing():
    values = [-5, 0.25, float("inf"), "-inf", "1e99", 10**400, "x", None, "0.5"]
    infinite = Numeric(0, 1).clean(values)
    assert infinite[[0, 1, 4, 8]].tolist() == [0, 0.25, 1, 0.5]
    assert pd.isna(infinite[[2, 3, 5, 6, 7]]).all()
    clean = Numeric(0, 1, infinite="bound").clean(values)
    assert clean[[0, 1, 2, 3, 4, 5, 8]].tolist() == [0, 0.25, 1, 0, 1, 1, 0.5]
    assert pd.isna(clean[[6, 7]]).all()
    assert Numeric(0, 1, missing=0.75).clean(values)[[2, 6, 7]].tolist() == [0.75, 0.75, 0.75]


def test_cleaning_never_writes_to_the_frame():
    frame = pd.DataFrame({"x": [5.0, float("nan")]})
    Numeric(0, 1, missing=0.5).clean(frame["x"])
    assert frame["x"].iloc[0] == 5.0
    assert pd.isna(frame["x"].iloc[1])


def test_a_list_of_two_numbers_that_looks_like_bounds_is_refused():
    with pytest.raises(SchemaError, match="could be two bounds or two levels"):
        Schema.of({"age": [18, 95]})
    assert Schema.of({"sex": [1, 2]}).variables["sex"].levels == (1, 2)
    assert Schema.of({"age": {"levels": [18, 95]}}).variables["age"].levels == (18, 95)


def test_what_is_said_of_the_whole_table_can_be_added_to_a_short_form():
    schema = Schema.of({"age": (18, 95)}, rows=5000, unit="one patient", title="ward 7")
    assert (schema.rows, schema.unit, schema.title) == (5000, "one patient", "ward 7")
    assert Schema.of(schema).rows == 5000


effects = st.none() | st.floats(1e-3, 1e3)
told_numerics = st.builds(
    lambda low, width, place, spread, effect: Numeric(
        low,
        low + width,
        mean=low + place * width,
        sd=spread * width * (place * (1 - place)) ** 0.5,
        effect=effect,
    ),
    st.integers(-1000, 1000),
    st.integers(1, 1000),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    effects,
)
told_categories = st.builds(
    lambda weights, effect: Categorical(
        range(len(weights)), shares=[weight / sum(weights) for weight in weights], effect=effect
    ),
    st.lists(st.integers(1, 1000), min_size=2, max_size=6),
    effects,
)


@law
@given(told_numerics | told_categories)
def test_expectations_are_kept_in_dicts_yaml_json_and_pickles(variable: Numeric | Categorical) -> None:
    schema = Schema({"x": variable})
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(variable) == hash(copy.deepcopy(variable))


@law
@given(told_numerics | told_categories)
def test_expectations_are_kept_in_a_file(tmp_path_factory: pytest.TempPathFactory, variable: Numeric) -> None:
    path = tmp_path_factory.mktemp("schema") / "x.schema.yaml"
    schema = Schema({"x": variable})
    schema.to_yaml(path)
    assert Schema.from_yaml(path) == schema


def test_shares_may_be_given_by_level_in_any_order_and_rounded() -> None:
    by_level = Schema.of({"x": {"levels": ["a", "b", 3], "shares": {3: 0.17, "a": 0.5, "b": 0.33}}})
    assert by_level.variables["x"].shares == (0.5, 0.33, 0.17)
    assert Categorical(["a", "b", "c"], shares=[0.333, 0.333, 0.333]).shares == (0.333, 0.333, 0.333)


@pytest.mark.parametrize(
    "entry",
    [
        {"bounds": [0, 1], "effect": 0},
        {"bounds": [0, 1], "effect": -1},
        {"bounds": [0, 1], "effect": float("nan")},
        {"bounds": [0, 1], "effect": float("inf")},
        {"bounds": [0, 1], "effect": "large"},
        {"bounds": [0, 1], "effect": True},
        {"bounds": [0, 1], "mean": 1},
        {"bounds": [0, 1], "mean": float("nan")},
        {"bounds": [0, 1], "mean": "middle"},
        {"bounds": [0, 1], "sd": 0},
        {"bounds": [0, 1], "sd": 0.5},
        {"bounds": [0, 1], "mean": 0.1, "sd": 0.31},
        {"bounds": [0, 1], "shares": [0.5, 0.5]},
        {"levels": ["a", "b"], "effect": [1]},
        {"levels": ["a", "b"], "mean": 0.5},
        {"levels": ["a", "b"], "shares": [0.5]},
        {"levels": ["a", "b"], "shares": [1.0, 0.0]},
        {"levels": ["a", "b"], "shares": [1.5, -0.5]},
        {"levels": ["a", "b"], "shares": [0.5, 0.45]},
        {"levels": ["a", "b"], "shares": [0.5, float("nan")]},
        {"levels": ["a", "b"], "shares": ["half", "half"]},
        {"levels": ["a", "b"], "shares": 0.5},
        {"levels": ["a", "b"], "shares": "ab"},
        {"levels": ["a", "b"], "shares": {"a": 0.5, "c": 0.5}},
        {"levels": ["a", "b"], "shares": {"a": 1.0}},
    ],
    ids=str,
)
def test_a_wrong_expectation_is_told_with_its_column(entry: dict[str, object]) -> None:
    with pytest.raises(SchemaError) as told:
        Schema.of({"weight": entry})
    assert str(told.value).startswith("Found: weight: ") or "weight" in str(told.value)
    assert told.value.expected
    assert told.value.remedy


@pytest.mark.papers  # for `tune`
def test_a_missing_schema_is_answered_with_the_columns_of_the_formula(tmp_path):
    path = tmp_path / "ward.csv"
    pd.DataFrame({"age": [4711], "town": ["Secretville"], "ill": ["no"]}).to_csv(path, index=False)
    calls = [
        lambda data: dpglm.fit("ill ~ np.log(age) + C(twn)", data, privacy=1.0),
        lambda data: dpglm.fit("ill ~ np.log(age) + C(twn)", {"a": data, "b": data}, privacy=1.0),
        lambda data: dpglm.tune(
            "ill ~ np.log(age) + C(twn)", data, grid={"strength": [0.1, 1.0]}, privacy=1.0
        ),
    ]
    for data in (path, pd.read_csv(path)):
        for call in calls:
            with pytest.raises(SchemaError) as caught:
                call(data)
            text = str(caught.value)
            assert "ill: {bounds: [LOW, HIGH]}  # or {levels: [A, B]}; the response" in text
            assert "age: {bounds: [LOW, HIGH]}  # a number; used in np.log(age)" in text
            assert "twn: {levels: LEVELS}" in text
            assert 'the table has no column "twn"; is it town?' in text
            assert "  town:" not in text
            assert "4711" not in text
            assert "Secretville" not in text
