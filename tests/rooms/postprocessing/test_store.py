"""A saved result reads back to the last bit; anything else is refused in three parts, and nothing is run."""

import copy
import dataclasses
import json
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.errors import StoreError
from dpglm.postprocessing import store
from dpglm.postprocessing.codec import MAX_COEFFICIENTS, NOT_FINITE, encode
from dpglm.postprocessing.record import Choice, FitRecord, SpendLine
from dpglm.postprocessing.store import fingerprint, from_json, read, save, to_json, writable, write_atomically
from dpglm.results.fit_result import FitResult
from tests.golden.examples import RESULTS, interval_fit, private_fit


def private_record(**changes):
    return private_fit(**changes)._record


def interval_record(**changes):
    return interval_fit(**changes)._record


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=8)
)
TREES = st.dictionaries(
    st.text(max_size=8).filter(lambda key: key != NOT_FINITE),
    st.recursive(
        SCALARS,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.text(max_size=5).filter(lambda key: key != NOT_FINITE), inner, max_size=3),
        ),
        max_leaves=6,
    ),
    max_size=4,
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DOCUMENT = json.loads(to_json(private_record()))
SCALES = {
    "names": ["x"],
    "means": [0.0],
    "deviations": [1.0],
    "longer": 1.2,
    "weight_lost": 0.01,
    "shortened": False,
    "residual_cut": None,
}
ASKED = DOCUMENT["specification"]


def asked(**changes):
    return {"specification": {**ASKED, **changes}}


ENTRY = DOCUMENT["ledger"]["entries"][0]
INTERVALS = json.loads(to_json(interval_record()))
MODEL = INTERVALS["released"]


@st.composite
def results(draw):
    size = draw(st.integers(1, 4))
    entries = st.floats(-1e9, 1e9)
    vector = st.lists(entries, min_size=size, max_size=size).map(np.array)
    coded, matrix = draw(vector), np.array([draw(vector) for _ in range(size)])
    return private_record(
        formula=draw(st.text(max_size=20)),
        strength=draw(st.none() | FLOATS),
        names=tuple(draw(st.lists(st.text(max_size=8), min_size=size, max_size=size))),
        estimates=matrix @ coded,
        coded=coded,
        selected_mask=np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))),
        user_from_coded=matrix,
        terms=tuple((draw(st.text(max_size=4)), (place,)) for place in range(size)),
        spend_lines=(
            SpendLine(
                draw(st.text(max_size=4)),
                draw(st.none() | st.floats(0.0, 1.0)),
                None,
                draw(st.none() | st.floats(0.0, 0.258)),
                1.0,
            ),
        ),
        schema=draw(TREES),
        method=Choice("objective", draw(TREES)),
        n_rows=draw(st.none() | st.integers(0, 2**62)),
        ledger=draw(st.none() | st.just(private_record().ledger)),
    )


@given(results())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_what_is_written_reads_back_to_the_last_bit(result):
    text = to_json(result)
    again = from_json(text)
    assert again == result
    for name in ("estimates", "coded", "user_from_coded"):
        assert getattr(again, name).tobytes() == getattr(result, name).tobytes()
    assert list(again.specification.method.options) == list(result.specification.method.options)
    assert to_json(again) == text
    assert fingerprint(again) == fingerprint(result)
    assert str(FitResult(again).summary()) == str(FitResult(result).summary())


@pytest.mark.parametrize("make", RESULTS.values())
def test_examples_survive_a_file(make, tmp_path):
    path = tmp_path / "fit.json"
    save(make()._record, path)
    assert read(path) == read(str(path)) == make()._record
    assert os.listdir(tmp_path) == ["fit.json"]
    assert json.loads(path.read_bytes())["format"] == "dpglm-fit"
    assert type(read(path)) is FitRecord


def test_a_fingerprint_changes_with_any_bit_of_a_number():
    other = private_record(strength=float(np.nextafter(0.0123456, 1.0)))
    assert fingerprint(other) != fingerprint(private_record())
    assert len(fingerprint(other)) == 64


@pytest.mark.parametrize("key", list(DOCUMENT))
def test_each_field_is_needed(key):
    refused(
        {name: value for name, value in DOCUMENT.items() if name != key}, mentions=key.split("_version")[0]
    )


@pytest.mark.parametrize("key", list(DOCUMENT))
@pytest.mark.parametrize(
    "value", [None, True, -1, 0.5, "", "x", [], ["x"], {}, {"x": 1}, [[1]], {"$float": "nan"}]
)
def test_a_field_of_another_type_is_refused_or_means_the_same(key, value):
    try:
        result = from_json(json.dumps({**DOCUMENT, key: value}))
    except StoreError:
        return
    # What is accepted is accepted as it stands: an empty list of releases, another word, no ledger.
    kept = json.loads(to_json(result))[key]
    assert kept == value
    assert isinstance(kept, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format": "other"}, "format"),
        ({"format_version": 8}, "format_version 8"),
        ({"format_version": 1}, "development versions before dpglm 0.1.0"),
        ({"format_version": 2}, "development versions before dpglm 0.1.0"),
        ({"format_version": 3}, "development versions before dpglm 0.1.0"),
        ({"format_version": 4}, "development versions before dpglm 0.1.0"),
        ({"format_version": 5}, "development versions before dpglm 0.1.0"),
        ({"format_version": 6}, "development versions before dpglm 0.1.0"),
        ({"format_version": True}, "format_version"),
        ({"format_version": "1"}, "format_version"),
        ({"surprise": 1}, "not known"),
        ({"estimates": DOCUMENT["estimates"][:-1]}, "another length"),
        ({"coded": [*DOCUMENT["coded"], 0.0]}, "another length"),
        ({"selected_mask": [0, 1, 1, 0, 1]}, "selected_mask"),
        ({"estimates": [*DOCUMENT["estimates"][:-1], {"$float": "nan"}]}, "finite"),
        ({"estimates": [*DOCUMENT["estimates"][:-1], {"$float": "inf"}]}, "finite"),
        ({"estimates": [*DOCUMENT["estimates"][:-1], True]}, "estimates"),
        ({"estimates": [*DOCUMENT["estimates"][:-1], 10**400]}, "estimates"),
        ({"strength": {"$float": "nan"}}, "strength"),
        ({"scales": {**SCALES, "means": []}}, "scales of another length"),
        ({"scales": {**SCALES, "names": ["x", "x"], "means": [0, 0], "deviations": [1, 1]}}, "scales"),
        ({"scales": {**SCALES, "deviations": [0.0]}}, "scales that are not positive"),
        ({"scales": {**SCALES, "longer": 0.0}}, "scales that are not positive"),
        ({"scales": {**SCALES, "weight_lost": 1.5}}, "scales.weight_lost"),
        ({"scales": {**SCALES, "steepness": 0.5}}, "scales.steepness"),
        ({"n_rows": -1}, "n_rows"),
        ({"n_rows": 1.5}, "n_rows"),
        ({"terms": [["age", [5]]]}, "term"),
        ({"terms": [["age", [-1]]]}, "terms"),
        ({"terms": [["age", [0], 1]]}, "terms"),
        ({"user_from_coded": {"shape": [5, 5], "row": [5], "column": [0], "value": [1.0]}}, "outside"),
        ({"user_from_coded": {"shape": [5, 5], "row": [0], "column": [2**62], "value": [1.0]}}, "outside"),
        ({"user_from_coded": {"shape": [4, 5], "row": [0], "column": [0], "value": [1.0]}}, "another length"),
        ({"user_from_coded": {"shape": [9000, 9000], "row": [], "column": [], "value": []}}, "cells"),
        (
            {"user_from_coded": {"shape": [5, 5], "row": [0, 1], "column": [0], "value": [1.0]}},
            "different lengths",
        ),
        ({"user_from_coded": {"shape": [5, 5], "row": [0], "column": [0]}}, "another form"),
        (
            {
                "notice": "private",
                "guarantee": {**DOCUMENT["guarantee"], "private": False, "reason": "seeded"},
            },
            "notice",
        ),
        ({"notice": "NOT PRIVATE: seeded"}, "notice"),
        ({"guarantee": {**DOCUMENT["guarantee"], "epsilon": -1.0}}, "guarantee"),
        ({"guarantee": {**DOCUMENT["guarantee"], "epsilon": "1"}}, "epsilon"),
        ({"guarantee": {**DOCUMENT["guarantee"], "epsilon": {"$float": "nan"}}}, "guarantee"),
        ({"guarantee": {**DOCUMENT["guarantee"], "relation": "other"}}, "guarantee"),
        ({"guarantee": {**DOCUMENT["guarantee"], "curve": [[1.0]]}}, "curve"),
        ({"guarantee": {**DOCUMENT["guarantee"], "private": 1}}, "private"),
        ({"guarantee": {**DOCUMENT["guarantee"], "surprise": 1}}, "guarantee"),
        ({"guarantee": {"epsilon": 1.0}}, "guarantee"),
        (asked(schema={"x": {"$float": "1.0"}}), "schema"),
        (asked(schema={"x": 2**64}), "schema"),
        ({"ledger": {**DOCUMENT["ledger"], "entries": [1]}}, "entries"),
        ({"ledger": {**DOCUMENT["ledger"], "budget_epsilon": None}}, "budget_epsilon"),
        ({"spend_lines": [{**DOCUMENT["spend_lines"][0], "share": "all"}]}, "share"),
        ({"spend_lines": [{**DOCUMENT["spend_lines"][0], "share": {"$float": "nan"}}]}, "share"),
        ({"spend_lines": [{**DOCUMENT["spend_lines"][0], "share": {"$float": "inf"}}]}, "share"),
        ({"spend_lines": [{**DOCUMENT["spend_lines"][0], "epsilon": -1.0}]}, "epsilon"),
        ({"ledger": {**DOCUMENT["ledger"], "budget_epsilon": {"$float": "inf"}}}, "budget_epsilon"),
        ({"ledger": {**DOCUMENT["ledger"], "entries": [{}]}}, "entries"),
        ({"ledger": {**DOCUMENT["ledger"], "entries": [{**ENTRY, "status": "free"}]}}, "status"),
        ({"ledger": {**DOCUMENT["ledger"], "entries": [{**ENTRY, "epsilon": "1"}]}}, "epsilon"),
        ({"ledger": {**DOCUMENT["ledger"], "entries": [{**ENTRY, "mu": []}]}}, "mu"),
        ({"ledger": {**DOCUMENT["ledger"], "entries": [{**ENTRY, "when": 5}]}}, "when"),
        ({"response": {**DOCUMENT["response"], "levels": []}}, "response.levels"),
        ({"response": {**DOCUMENT["response"], "levels": [[]]}}, "response.levels"),
        ({"response": {**DOCUMENT["response"], "levels": ["no", ["yes"]]}}, "response.levels"),
        (asked(schema={"x\udc80": 1}), "surrogate"),
        (asked(schema={"x": ["\ud800"]}), "surrogate"),
        (asked(formula="y ~ \ud800"), "specification.formula"),
        (asked(goal="win"), "specification.goal"),
        (asked(family={"name": "binomial"}), "specification.family without options"),
        (asked(privacy={**ASKED["privacy"], "epsilon": -1.0}), "specification.privacy"),
        (asked(strength="bic"), "specification.strength"),
        ({"random_source": "a coin"}, "random_source"),
        ({"description": {**DOCUMENT["description"], "releases": [{}]}}, "description.releases without name"),
        ({"description": {**DOCUMENT["description"], "facts": [{"label": "x", "value": {}}]}}, "facts.value"),
        ({"guarantee": {**DOCUMENT["guarantee"], "epsilon": 0.9}}, "guarantee.epsilon"),
        ({"guarantee": {**DOCUMENT["guarantee"], "mu": 0.2}}, "guarantee.mu"),
        ({"estimates": [*DOCUMENT["estimates"][:-1], 5.0]}, "estimates"),
        ({"coded": [*DOCUMENT["coded"][:-1], 5.0]}, "coded"),
    ],
)
def test_each_kind_of_damage_is_named(changes, told):
    refused({**DOCUMENT, **changes}, mentions=told)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "3", "{}", "{", "NaN", '{"format": "dpglm-fit", "format": "dpglm-fit"}', "[" * 200_000,
     '{"a": ' * 5_000, "\ufeff{}", "1" * 5_000, '{"format": "dpglm-fit", "format_version": NaN}', "\x00"],
    ids=range(14),
)  # fmt: skip
def test_what_is_not_a_saved_result_is_refused(text):
    with pytest.raises(StoreError) as caught:
        from_json(text)
    assert caught.value.remedy


def test_a_field_that_appears_twice_is_refused():
    with pytest.raises(StoreError, match="twice"):
        from_json(to_json(private_record()).replace("{", '{"penalty": "none",', 1))


def test_negative_zeros_are_kept():
    result = private_record(estimates=np.zeros(5), coded=-np.zeros(5), user_from_coded=-np.eye(5))
    again = from_json(to_json(result))
    assert again.coded.tobytes() == result.coded.tobytes()
    assert again.user_from_coded.tobytes() == result.user_from_coded.tobytes()


def test_numbers_that_overflow_and_deep_nests_are_refused():
    with pytest.raises(StoreError, match="too large"):
        from_json(to_json(private_record()).replace("0.0123456", "1e400"))
    nest = "[" * 100 + "]" * 100
    with pytest.raises(StoreError, match="too deep"):
        from_json(
            to_json(private_record()).replace('"schema": {"unit": "one woman"', f'"schema": {{"unit": {nest}')
        )


@pytest.mark.parametrize("thing", [None, 3, b"{}", ["{}"]])
def test_only_text_is_parsed(thing):
    with pytest.raises(StoreError, match="JSON text"):
        from_json(thing)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=400)
def test_a_document_damaged_anywhere_is_refused_or_is_a_result(data):
    damaged = copy.deepcopy(DOCUMENT)
    for _ in range(data.draw(st.integers(1, 2))):
        place, key = damaged, data.draw(st.sampled_from(list(damaged)))
        while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if data.draw(st.booleans()):
            place[key] = data.draw(SCALARS.map(encode) | st.just([]) | st.just({}))
        elif isinstance(place, dict) and place is not damaged:
            del place[key]
    accepted_or_refused(json.dumps(damaged))


@given(st.integers(0, len(to_json(private_record()))), st.text(max_size=3))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_text_cut_short_or_typed_over_is_refused_or_is_a_result(place, typed):
    text = to_json(private_record())
    accepted_or_refused(text[:place])
    accepted_or_refused(text[:place] + typed + text[place + len(typed) :])


def accepted_or_refused(text):
    """No other exception, and what is accepted can be shown and written."""
    try:
        result = from_json(text)
    except StoreError:
        return
    assert str(FitResult(result).summary())
    assert FitResult(result).summary().to_html()
    assert from_json(to_json(result)) == result


def test_a_message_never_repeats_the_content_of_a_file():
    text = json.dumps({**DOCUMENT, "estimates": ["secret"], "names": "secret"})
    with pytest.raises(StoreError) as caught:
        from_json(text)
    assert "secret" not in str(caught.value)


def test_size_is_bounded_before_parsing_and_before_writing(tmp_path, monkeypatch):
    path = tmp_path / "big.json"
    with open(path, "wb") as file:
        file.truncate(store.MAX_BYTES + 2)
    with pytest.raises(StoreError, match="too long"):
        read(path)
    many = [str(place) for place in range(MAX_COEFFICIENTS + 1)]
    with pytest.raises(StoreError, match="names"):
        from_json(json.dumps({**DOCUMENT, "names": many}))
    monkeypatch.setattr(store, "MAX_BYTES", 100)
    with pytest.raises(StoreError, match="tidy"):
        to_json(private_record())


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "fit.json"
    save(private_record(), path)
    before = path.read_bytes()

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StoreError, match="No space left"):
        save(private_record(formula="y ~ 1"), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit.json"]


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    path = tmp_path / "fit.json"
    for broken in (
        private_record(estimates=np.array([1.0, 2.0, math.nan, 4.0, 5.0])),
        private_record(schema={"name": {"$float": "nan"}}),
        private_record(schema={"rows": 2**70}),
    ):
        with pytest.raises(StoreError):
            save(broken, path)
    assert not path.exists()


def test_missing_files_and_folders_are_told(tmp_path):
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        save(private_record(), tmp_path / "none" / "fit.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(StoreError, match="not text"):
        read(tmp_path / "binary.json")


@pytest.mark.parametrize(
    "path", ["", None, 5, True, "\0", "a\0b", b"fit.json", "\ud800", ".", "/", "/none/fit.json"]
)
def test_what_is_not_the_path_of_a_file_is_told(path):
    for use in (
        read,
        writable,
        lambda where: save(private_record(), where),
        lambda where: write_atomically(where, ""),
    ):
        with pytest.raises(StoreError) as caught:
            use(path)
        assert caught.value.expected
        assert caught.value.remedy


def test_exact_zeros_of_what_was_not_selected_agree_with_a_rounded_product():
    turn = np.array([[0.1, 0.2, -0.3], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    coded = np.array([1.0, 1.0, 1.0])
    assert (turn @ coded)[0] != 0.0
    result = private_record(
        names=("a", "b", "c"),
        terms=(("a", (0,)),),
        estimates=np.array([0.0, 1.0, 1.0]),
        selected_mask=np.array([False, True, True]),
        coded=coded,
        user_from_coded=turn,
    )
    assert from_json(to_json(result)) == result


def refused(content, mentions):
    with pytest.raises(StoreError) as caught:
        from_json(json.dumps(content))
    assert mentions in str(caught.value)
    assert caught.value.expected
    assert caught.value.remedy


def test_what_was_released_reads_back_to_the_last_bit():
    odd = interval_record().released
    curvature = odd.information.copy()
    curvature[2, 1] = curvature[1, 2] = -0.0
    curvature[0, 0] = np.nextafter(curvature[0, 0], 1.0)
    result = interval_record(released=dataclasses.replace(odd, information=curvature))
    for text in (to_json(result), to_json(result, packed=True)):
        again = from_json(text)
        assert again == result
        assert fingerprint(again) == fingerprint(result)
        for name in ("centre", "score", "information", "initial_variance"):
            assert getattr(again.released, name).tobytes() == getattr(result.released, name).tobytes()
        for block, other in zip(again.released.term_columns, result.released.term_columns, strict=True):
            assert block.table.tobytes() == other.table.tobytes()
            assert block.prior.tobytes() == other.prior.tobytes()
        assert str(FitResult(again).summary()) == str(FitResult(result).summary())


def test_a_score_that_is_averaged_with_another_one_reads_back_with_its_ridge():
    model = interval_record().released
    ridge = np.array([0.5, 2.0, 2.0, 2.0, 2.0, 2.0])
    result = interval_record(released=dataclasses.replace(model, score=model.score + 1.0, ridge=ridge))
    again = from_json(to_json(result))
    assert again == result
    assert again.released.ridge.tobytes() == ridge.tobytes()


def test_released_models_that_differ_in_a_bit_are_not_equal():
    fit, model = interval_record(), interval_record().released
    assert fit == interval_record(released=dataclasses.replace(model))
    nudged = model.information.copy()
    nudged[3, 3] = np.nextafter(nudged[3, 3], 0.0)
    block = dataclasses.replace(model.term_columns[1], label="other")
    for changes in (
        {"information": nudged},
        {"score_scale": float(np.nextafter(model.score_scale, 0.0))},
        {"term_columns": (model.term_columns[0], block, *model.term_columns[2:])},
        {"term_columns": model.term_columns[:-1]},
    ):
        assert fit != interval_record(released=dataclasses.replace(model, **changes))
    assert fit != interval_record(released=None)
    moved = interval_record(released=dataclasses.replace(model, origin=np.zeros(6)))
    assert fit != moved
    assert moved != fit
    assert from_json(to_json(moved)) == moved


def test_a_released_model_is_copied_locked_and_made_symmetric():
    model = interval_record().released
    skew = model.information.copy()
    skew[0, 1] += 1.0
    result = interval_record(released=dataclasses.replace(model, information=skew))
    skew[:] = 0.0
    assert (result.released.information == result.released.information.T).all()
    with pytest.raises(ValueError, match="read-only"):
        result.released.information[0, 0] = 0.0


TRIANGLE = MODEL["information"]["triangle"]


def triangle(values, size=6):
    return {"information": {"shape": [size, size], "triangle": values}}


def table(values):
    return {"shape": [len(values), len(values[0])], "values": [value for row in values for value in row]}


def block(place, **changes):
    """The released model with another block."""
    blocks = [dict(one) for one in MODEL["term_columns"]]
    blocks[place] |= changes
    return {"term_columns": blocks}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"surprise": 1}, "not known"),
        ({"centre": MODEL["centre"][:-1]}, "released centre of another length"),
        (
            {"initial_variance": [*MODEL["initial_variance"], 1.0]},
            "released initial_variance of another length",
        ),
        ({"initial_variance": [-1.0, *MODEL["initial_variance"][1:]]}, "initial_variance below 0"),
        (triangle(TRIANGLE[:-1]), "information of another length"),
        (triangle([*TRIANGLE[:-1], {"$float": "nan"}]), "finite"),
        (triangle([*TRIANGLE[:-1], True]), "information"),
        (triangle({"$doubles": "AAAA"}), "cut short"),
        (triangle({"$doubles": "*"}), "base64"),
        (triangle({"$doubles": 3}), "information"),
        (triangle({"$doubles": "AAAAAAAA+H8="}), "not finite"),
        (triangle({"$doubles": "AAAAAAAA8D8=", "places": [1] * 21}), "outside its range"),
        (triangle({"$doubles": "AAAAAAAA8D8=", "places": [0] * 20}), "another length"),
        (triangle({"$doubles": "AAAAAAAA8D8=", "more": []}), "information"),
        (triangle([1.0], size=1), "information of another length"),
        ({"information": [1.0]}, "information of another length"),
        ({"score_covariance": {"shape": [1, 1], "values": [1.0]}}, "score_covariance of another length"),
        ({"level_error": -1.0}, "level_error that is not finite"),
        ({"origin": [1.0]}, "origin of another length"),
        ({"origin": 0.0}, "origin"),
        ({"score_scale": -1.0}, "score_scale"),
        ({"score_scale": {"$float": "inf"}}, "score_scale"),
        ({"information_scale": None}, "information_scale"),
        ({"dispersion": 0.0}, "dispersion"),
        ({"term_columns": []}, "fewer columns"),
        ({"term_columns": MODEL["term_columns"][:-1]}, "fewer columns"),
        ({"term_columns": MODEL["term_columns"][1:]}, "follow each other"),
        (block(2, start=3), "follow each other"),
        (block(2, stop=4), "follow each other"),
        (block(3, stop=2**40), "follow each other"),
        (block(1, kind="other"), "another shape"),
        (block(2, kind="other", table=table([[2.0]])), "a table of other columns"),
        (block(1, kind="spline"), "kind with another value"),
        (block(1, table=None), "term_columns.table"),
        (block(1, table=table([[1.0, 2.0, 3.0]] * 3)), "another shape"),
        (block(1, table=table([[0.0] * 3] * 4)), "no simplex"),
        (block(1, table=table([[1.0] * 3] * 4)), "no simplex"),
        (block(2, table=table([[0.0]])), "of another shape, or 0"),
        (block(2, table=table([[1.0, 2.0]])), "another shape"),
        (block(2, table=[1.0]), "another shape"),
        (block(2, prior=[0.0]), "prior"),
        (block(2, prior=[]), "prior"),
        (block(2, kind="intercept"), "two intercepts"),
        (block(2, product=[1, 2]), "a product of term_columns of others"),
        (block(2, product=[1, 2**40]), "a product of term_columns of others"),
        (block(2, product=[1]), "term_columns.product"),
        (block(2, product=["a", 1]), "term_columns.product"),
        (block(0, label=3), "label"),
        (block(0, bound=-1.0), "bound"),
        ({"score": [*MODEL["score"][:-1], 1.0]}, "ridge times the centre"),
        ({"score": [-value for value in MODEL["score"]]}, "ridge times the centre"),
        ({"score": [MODEL["score"][0], 1.0, *MODEL["score"][2:]]}, "ridge times the centre"),
        ({"ridge": []}, "ridge of another length"),
        ({"ridge": [1.0] * 5}, "ridge of another length"),
        ({"ridge": [0.5, 2.0, 2.0, 3.0, 2.0, 2.0]}, "no number for each term"),
        ({"ridge": [0.5, 2.0, 2.0, 2.0, 2.0, 0.0]}, "no number for each term"),
    ],
)
def test_each_kind_of_damage_of_what_was_released_is_named(changes, told):
    refused({**INTERVALS, "released": {**MODEL, **changes}}, mentions=told)


@pytest.mark.parametrize("key", list(MODEL))
def test_each_part_of_what_was_released_is_needed(key):
    part = {name: value for name, value in MODEL.items() if name != key}
    refused({**INTERVALS, "released": part}, mentions=key)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_a_released_model_damaged_anywhere_is_refused_or_shown(data):
    damaged = copy.deepcopy(INTERVALS)
    place, key = damaged["released"], data.draw(st.sampled_from(list(MODEL)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 3)):
        place = place[key]
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(SCALARS.map(encode) | st.just([]) | st.floats(-1e3, 1e3))
    accepted_or_refused(json.dumps(damaged))


def test_packed_text_is_short_exact_and_refuses_what_is_not_finite():
    many = 60
    values = np.linspace(0.1, 0.9, many) ** 3
    result = private_record(
        names=tuple(f"x{j}" for j in range(many)),
        estimates=values,
        coded=values,
        selected_mask=np.ones(many, dtype=bool),
        user_from_coded=np.eye(many),
        terms=(("x", (0,)),),
    )
    assert from_json(to_json(result, packed=True)) == result
    assert len(to_json(result, packed=True)) < 0.75 * len(to_json(result))
    with pytest.raises(StoreError, match="finite"):
        from_json(to_json(dataclasses.replace(result, estimates=np.full(many, np.nan)), packed=True))


def test_scales_are_read_as_they_were_written_and_a_file_without_the_field_is_refused():
    read = from_json(json.dumps({**DOCUMENT, "scales": SCALES})).scales
    assert read is not None
    assert read.moments == {"x": (0.0, 1.0)}
    without = {key: value for key, value in DOCUMENT.items() if key != "scales"}
    with pytest.raises(StoreError, match="without scales"):
        from_json(json.dumps(without))
