"""A result of several models: it predicts with them, is saved with them, and says what its table is."""

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

import dpglm
from dpglm.errors import MethodError, StoreError
from dpglm.papers.stacking.stack import MOST_MODELS, Stack
from dpglm.postprocessing.consistency import check_consistency
from dpglm.postprocessing.record import ResponseFacts
from dpglm.postprocessing.store import fingerprint, from_json, to_json
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult
from tests.golden.examples import changed, interval_fit, private_fit, pure_fit

WOMEN = dpglm.load_data("fair")
COEFFICIENTS = np.array([[0.5, 0.0, -0.25], [-1.0, 2.0, 0.0]])
LINE = "Coefficients are a linear approximation of the log odds of a stack of 2 models"


class Map:
    """An intercept and two columns as they stand."""

    periods = None

    def coded(self, frame):
        rows = np.column_stack([np.ones(len(frame["a"])), *(np.asarray(frame[c], float) for c in "ab")])
        rows[np.isnan(rows).any(axis=1)] = np.nan
        return rows, np.zeros(len(rows))


def stack(**changes):
    fields = {
        "names": ("first", "second"),
        "groups": (("b",), ("a",)),
        "coefficients": COEFFICIENTS,
        "combine": "model",
        "weights": np.array([0.1, 2.0, -1.0]),
    }
    return Stack(**(fields | changes))


def fit(one=None, **changes):
    """Three coefficients on a scale of tens, a stack of two models."""
    one = stack() if one is None else one
    scale = np.array([[1.0, -0.5, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    fields = {
        "formula": "y ~ a + b",
        "penalty": "l2",
        "method": "pst-f",
        "names": ("Intercept", "a", "b"),
        "coded": one.linear(),
        "estimates": scale @ one.linear(),
        "selected_mask": np.ones(3, dtype=bool),
        "user_from_coded": scale,
        "terms": (("Intercept", (0,)), ("a", (1,)), ("b", (2,))),
        "response": ResponseFacts("y", levels=("no", "yes")),
        "row_map": Map(),
        "part": one,
    }
    return private_fit(**(fields | changes))


def votes(combine="majority", weights=(1.0, 1.0)):
    return stack(combine=combine, weights=np.array(weights))


FRAME = pd.DataFrame(
    {"a": [0.0, 1.0, np.nan, -2.0, 3.0], "b": [1.0, -1.0, 0.5, 4.0, 0.25]}, index=list("vwxyz")
)
ROWS = Map().coded(FRAME)[0]
KINDS = [stack(), votes(), votes("weighted", (3.0, 1.0))]


# Fields


def test_a_stack_has_a_coefficient_for_each_of_the_fit():
    for result in (
        fit(part=stack(coefficients=np.ones((2, 4)))),
        interval_fit(part=stack(coefficients=np.ones((2, 6)))),
    ):
        with pytest.raises(StoreError, match="stack"):
            check_consistency(result._record)


def test_results_differ_where_their_stacks_do():
    result = fit()
    assert result == fit() == copy.deepcopy(result) == pickle.loads(pickle.dumps(result))
    assert result != changed(result, part=None)
    others = [
        {"coefficients": np.nextafter(COEFFICIENTS, 9.0)},
        {"weights": np.array([0.1, 2.0, 1.0])},
        {"names": ("first", "third")},
        {"groups": (("b", "a"), ("a",))},
        {"combine": "weighted", "weights": np.ones(2)},
    ]
    for one in others:
        assert result != changed(result, part=stack(**one))
    assert hash(result) == hash(fit())


def test_stacks_with_groups_of_different_lengths_are_equal_to_their_copies():
    ragged = {"groups": (("a", "b"), ("a",))}
    assert stack(**ragged) == stack(**ragged)


@pytest.mark.parametrize("weights", [(-1.0, 2.0), (0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), (1.0,)])
def test_votes_below_zero_or_without_any_weight_are_refused(weights):
    with pytest.raises(MethodError, match="votes"):
        votes("weighted", weights)


# Files


@pytest.mark.parametrize("one", KINDS, ids=lambda one: one.combine)
@pytest.mark.parametrize("packed", [False, True])
def test_a_stack_reads_back_to_the_last_bit(one, packed):
    result = fit(one)._record
    again = from_json(to_json(result, packed=packed))
    assert again == result
    assert again.part.coefficients.tobytes() == one.coefficients.tobytes()
    assert again.part.weights.tobytes() == one.weights.tobytes()
    assert fingerprint(again) == fingerprint(result)
    assert to_json(again) == to_json(result)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_any_stack_survives_a_file(data):
    count = data.draw(st.integers(1, 5))
    numbers = st.floats(-1e9, 1e9)
    words = st.text(max_size=6)
    one = Stack(
        tuple(data.draw(st.lists(words, min_size=count, max_size=count))),
        tuple(tuple(data.draw(st.lists(words, max_size=3))) for _ in range(count)),
        np.array(data.draw(st.lists(numbers, min_size=3 * count, max_size=3 * count))).reshape(count, 3),
        "model",
        np.array(data.draw(st.lists(numbers, min_size=count + 1, max_size=count + 1))),
    )
    result = fit(one)
    again = FitResult(from_json(to_json(result._record)))
    assert again == result
    assert str(again.summary()) == str(result.summary())
    pd.testing.assert_frame_equal(again.submodels(), result.submodels())


def test_fits_without_a_stack_have_no_part():
    assert json.loads(to_json(private_fit()._record))["part"] is None
    assert from_json(to_json(private_fit()._record)).part is None


DOCUMENT = json.loads(to_json(fit()._record))
SAVED = DOCUMENT["part"]
VALUES = [0.5, 0.0, -0.25, -1.0, 2.0, 0.0]


def numbers(values, **changes):
    return {"coefficients": {"shape": [2, 3], "values": values, **changes}}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"surprise": 1}, "not known"),
        ({"names": ["first"]}, "part"),
        ({"names": ["first", 2]}, "names"),
        ({"names": ["first", "\ud800"]}, "surrogate"),
        ({"names": [], "groups": [], "weights": [1.0]}, "part"),
        ({"names": ["x"] * (MOST_MODELS + 1)}, "part"),
        ({"groups": [["a"]]}, "part"),
        ({"groups": [["a"], "b"]}, "groups"),
        ({"groups": [["a"], [1]]}, "groups"),
        (numbers(VALUES[:-1]), "another length"),
        (numbers([*VALUES, 0.0]), "another length"),
        (numbers([VALUES[:3], VALUES[3:]]), "coefficients"),
        (numbers([*VALUES[:-1], {"$float": "nan"}]), "finite"),
        (numbers([*VALUES[:-1], "1"]), "finite"),
        (numbers([*VALUES[:-1], True]), "finite"),
        (numbers({"$doubles": "AAAA"}), "cut short"),
        (numbers(VALUES, shape=[2, 4]), "another length"),
        (numbers(VALUES, shape=[3, 2]), "part"),
        (numbers(VALUES, shape=[6]), "shape"),
        (numbers(VALUES, shape=[-2, -3]), "shape"),
        (numbers(VALUES, shape=[2**40, 2**40]), "shape"),
        (numbers(VALUES, more=1), "another form"),
        ({"coefficients": None}, "coefficients"),
        ({"coefficients": VALUES}, "part"),
        ({"weights": SAVED["weights"][1:]}, "part"),
        ({"weights": [{"$float": "nan"}, 1.0, 1.0]}, "finite"),
        ({"weights": ["1", 1.0, 1.0]}, "weights"),
        ({"combine": "mean"}, "combine"),
        ({"combine": None}, "combine"),
        ({"combine": "majority"}, "part"),
        ({"combine": "weighted", "weights": [2.0, -1.0]}, "part"),
        ({"combine": "weighted", "weights": [0.0, 0.0]}, "part"),
        ({"combine": "weighted", "weights": [1e308, 1e308]}, "part"),
    ],
)
def test_each_kind_of_damage_is_named(changes, told):
    refused({**DOCUMENT, "part": {**SAVED, **changes}}, told)


@pytest.mark.parametrize("value", [True, 3, "x", [], {}, [1], {"names": []}, {"part": "os"}, {"part": 3}])
def test_something_else_than_a_stack_is_refused(value):
    refused({**DOCUMENT, "part": value}, "part")


def test_a_file_whose_stack_was_taken_away_is_another_result():
    assert from_json(json.dumps({**DOCUMENT, "part": None})).predictor is None


@pytest.mark.parametrize("key", list(SAVED))
def test_each_part_of_a_stack_is_needed(key):
    refused({**DOCUMENT, "part": {name: one for name, one in SAVED.items() if name != key}}, key)


def test_a_stack_stands_beside_no_curvature_no_exact_path_and_no_other_link():
    inner = json.loads(to_json(interval_fit()._record))
    wide = {**SAVED, "coefficients": {"shape": [2, 6], "values": [0.0] * 12}}
    refused({**inner, "part": wide}, "released")
    refused({**DOCUMENT, "link": "log"}, "link")


def refused(document, told):
    with pytest.raises(StoreError, match=told) as caught:
        from_json(json.dumps(document))
    assert caught.value.remedy


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_a_stack_damaged_anywhere_is_refused_or_shown(data):
    damaged = copy.deepcopy(DOCUMENT)
    place, key = damaged["part"], data.draw(st.sampled_from(list(SAVED)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 3)):
        place = place[key]
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(-1e308, 1e308)
        | st.text(max_size=4)
        | st.just([])
    )
    try:
        result = FitResult(from_json(json.dumps(damaged)))
    except StoreError:
        return
    assert str(result.summary())
    assert result._record.part is None or len(result.submodels()) >= 1
    assert from_json(to_json(result._record)) == result._record


# Predictions


@pytest.mark.parametrize("one", KINDS, ids=lambda one: one.combine)
def test_predictions_are_those_of_the_stack(one):
    result = fit(one)
    link = result.predict(FRAME, "link")
    np.testing.assert_array_equal(link, one.link(ROWS))
    np.testing.assert_array_equal(result.predict(FRAME), expit(one.link(ROWS)))
    levels = result.predict(FRAME, "class")
    assert list(levels.index) == list(FRAME.index)
    for value, level in zip(link, levels, strict=True):
        assert pd.isna(level) if np.isnan(value) else level == ("yes" if value > 0.0 else "no")
    assert link.isna().tolist() == [False, False, True, False, False]


def test_the_linear_approximation_is_not_what_predicts():
    result = fit()
    linear = ROWS @ result._record.coded
    assert not np.allclose(result.predict(FRAME, "link"), linear, equal_nan=True)


def test_extreme_rows_are_predicted_or_nan_without_a_warning(recwarn):
    frame = pd.DataFrame({"a": [1e308, -1e308, np.inf, np.nan], "b": [1e308, 0.0, 1.0, 1.0]})
    for one in KINDS:
        values = fit(one).predict(frame)
        assert values.isna().tolist()[-1]
        assert values.dropna().between(0.0, 1.0).all()
    assert not recwarn.list


def test_intervals_refits_paths_and_selections_say_why_there_are_none():
    result = fit()
    for act in (
        lambda: result.predict(FRAME, interval=0.95),
        lambda: result.refit("l1"),
        lambda: result.path("l1"),
        lambda: result.select(),
        lambda: result.select("fdr"),
    ):
        with pytest.raises(MethodError, match="information matrix") as caught:
            act()
        assert "stack" in str(caught.value)
    assert "stack of 2 models" in result.wald_test("a = 0").reason
    assert math.isnan(result.wald_test("a = 0").p_value)


def test_odds_ratios_of_an_approximation_are_refused():
    with pytest.raises(MethodError, match="stack of 2 models"):
        fit().odds_ratios()


# The models


def test_blocks_are_the_models_on_the_original_scale():
    frame = fit().submodels()
    assert list(frame.columns) == ["model", "term", "estimate", "weight"]
    assert frame[["model", "term"]].to_numpy().tolist() == [
        ["first", "Intercept"],
        ["first", "b"],
        ["second", "Intercept"],
        ["second", "a"],
    ]
    # The intercept takes back what the coding of a moved: -1 - 0.5 * 2.
    assert frame["estimate"].tolist() == pytest.approx([0.5, -0.025, -2.0, 0.2], rel=1e-15)
    assert frame["weight"].tolist() == [2.0, 2.0, -1.0, -1.0]
    assert "guarantee" in frame.attrs["privacy"] or frame.attrs["privacy"]


def test_blocks_of_votes_have_their_public_weights():
    assert fit(votes("weighted", (3.0, 1.0))).submodels()["weight"].tolist() == [3.0, 3.0, 1.0, 1.0]


def test_a_zero_in_a_column_that_is_read_is_kept():
    read = stack(groups=(("a", "b"), ()), coefficients=np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    frame = fit(read).submodels()
    assert frame["term"].tolist() == ["a", "b", "Intercept", "a", "b"]
    assert frame["estimate"].tolist() == [0.0, 0.1, 0.0, 0.0, 0.1]


def test_a_fit_without_a_stack_has_no_submodels():
    with pytest.raises(MethodError, match="stack"):
        private_fit().submodels()


# Tables


def test_a_summary_says_what_its_coefficients_are_and_lists_the_models():
    table = fit().summary()
    (line,) = [note for note in table.notes if note.startswith(LINE)]
    assert line.endswith("predict() and submodels() use the stack itself.")
    assert "stack of 2 models" in table.title
    facts = dict(table.wide)
    assert facts["Model 1"] == "first: 1 column, meta weight 2.000"
    assert facts["Model 2"] == "second: 1 column, meta weight -1.000"
    assert "meta model, intercept 0.1000" in facts["Stack"]
    assert "information matrix" in " ".join(table.notes)
    for text in (str(table), table.to_html(), table.to_markdown(), table.to_latex()):
        assert "linear approximation" in " ".join(text.split())


def test_a_summary_of_votes_lists_votes():
    facts = dict(fit(votes("weighted", (3.0, 1.0))).summary().wide)
    assert facts["Model 1"] == "first: 1 column, vote 3.000"
    assert "votes" in facts["Stack"]


def test_groups_may_name_terms_or_single_coefficients():
    by_term, by_name = stack(groups=(("b",), ("a",))), stack(groups=(("C(b)[T.x]",), ("a",)))
    changes = {
        "names": ("Intercept", "a", "C(b)[T.x]"),
        "terms": (("Intercept", (0,)), ("a", (1,)), ("b", (2,))),
    }
    for one in (by_term, by_name):
        result = fit(one, **changes)
        assert one.terms(result._record) == (("b",), ("a",))
        assert one.sizes(result._record) == (1, 1)
    whole = {"names": ("a", "b[x]", "b[y]"), "terms": (("a", (0,)), ("b", (1, 2)))}
    part = stack(groups=(("b[x]",), ("a", "b")), coefficients=np.zeros((2, 3)))
    result = fit(part, user_from_coded=np.eye(3), estimates=np.zeros(3), coded=np.zeros(3), **whole)
    assert part.terms(result._record) == (("b[x]",), ("a", "b"))
    assert part.sizes(result._record) == (1, 3)
    assert result.submodels()["term"].tolist() == ["b[x]", "a", "b[x]", "b[y]"]


def test_a_model_that_reads_every_term_counts_them_all():
    facts = dict(fit(stack(groups=((), ()))).summary().wide)
    assert facts["Model 1"].startswith("first: 2 columns")


def test_many_models_do_not_fill_the_table():
    count = 300
    many = stack(
        names=tuple(f"part {k}" * 20 for k in range(count)),
        groups=((),) * count,
        coefficients=np.ones((count, 3)),
        weights=np.ones(count + 1),
    )
    table = fit(many).summary()
    assert len(table.wide) < 20
    assert any("submodels()" in value for _, value in table.wide)
    assert max(map(len, str(table).splitlines())) < 200


def test_summaries_of_other_fits_say_nothing_of_stacks():
    assert "stack" not in str(private_fit().summary()).lower()


def test_tidy_frames_have_no_intervals_and_the_reason():
    frame = fit().tidy()
    assert frame["estimate"].tolist() == fit()._record.estimates.tolist()
    assert frame[["std_error", "conf_low", "conf_high", "statistic"]].isna().all(axis=None)
    assert frame["reason"].str.contains("stack of 2 models").all()
    assert fit().glance()["method"].item() == "pst-f"
    assert (private_fit().tidy()["reason"] == "").all()


def test_a_comparison_marks_the_approximation():
    notes = compare({"one": fit(), "plain": private_fit()}).notes
    assert [note for note in notes if note.startswith(f"one: {LINE}")]
    assert not [note for note in notes if note.startswith("plain: Coefficients")]


# Area under the curve


def curve(levels=("no", "yes"), **changes):
    """A fit of one column whose link is that column."""
    fields = {
        "names": ("x",),
        "estimates": np.ones(1),
        "coded": np.ones(1),
        "selected_mask": np.ones(1, dtype=bool),
        "user_from_coded": np.eye(1),
        "terms": (("x", (0,)),),
        "formula": "y ~ 0 + x",
        "response": ResponseFacts("y", levels=levels),
        "row_map": Column(),
    }
    return pure_fit(**(fields | changes))


class Column:
    periods = None

    def coded(self, frame):
        values = np.asarray(frame["x"], dtype=float)[:, None]
        return values, np.zeros(len(values))


SCORES = np.round(np.random.default_rng(5).normal(size=400), 1)  # with ties
TRUTH = np.random.default_rng(6).random(400) < expit(SCORES)
LABELLED = pd.DataFrame({"x": SCORES, "y": np.where(TRUTH, "yes", "no")})


def test_the_area_is_that_of_scikit_learn_and_of_the_rank_sum_test():
    area = curve().auc(LABELLED)
    statistic = mannwhitneyu(SCORES[TRUTH], SCORES[~TRUTH]).statistic
    assert area == pytest.approx(roc_auc_score(TRUTH, SCORES), abs=1e-14)  # sums of 400 half ranks
    assert area == pytest.approx(statistic / (TRUTH.sum() * (~TRUTH).sum()), abs=1e-14)
    assert isinstance(area, float)


def test_turned_levels_turn_the_area():
    assert curve(("yes", "no")).auc(LABELLED) == pytest.approx(1.0 - curve().auc(LABELLED), abs=1e-14)


def test_the_area_of_a_stack_is_that_of_its_link():
    frame = pd.DataFrame(np.random.default_rng(7).normal(size=(200, 2)), columns=["a", "b"])
    truth = np.random.default_rng(8).random(200) < expit(frame["a"])
    for one in KINDS:
        result = fit(one)
        area = result.auc(frame.assign(y=np.where(truth, "yes", "no")))
        assert area == pytest.approx(roc_auc_score(truth, result.predict(frame, "link")), abs=1e-14)


def test_constant_predictions_have_area_one_half():
    assert curve().auc(LABELLED.assign(x=0.0)) == 0.5


def test_rows_without_a_prediction_or_a_level_are_left_out():
    odd = LABELLED.copy()
    odd.loc[:9, "x"] = np.nan
    odd["y"] = odd["y"].astype(object)
    odd.loc[10, "y"] = None
    odd.loc[11, "y"] = "maybe"
    odd.loc[12, "y"] = np.nan
    odd.loc[13, "y"] = pd.NA
    odd.at[14, "y"] = ["yes"]
    assert curve().auc(odd) == pytest.approx(roc_auc_score(TRUTH[15:], SCORES[15:]), abs=1e-14)


@pytest.mark.parametrize("kept", ["yes", "no", "neither"])
def test_one_level_alone_has_no_area(kept):
    assert math.isnan(curve().auc(LABELLED.assign(y=kept)))
    assert math.isnan(curve().auc(LABELLED.iloc[:0]))


@pytest.mark.parametrize("kind", [int, float, bool, str, "Int64", "boolean", "category", object])
def test_levels_that_are_numbers_are_found_whatever_their_type(kind):
    wanted = roc_auc_score(TRUTH, SCORES)
    frame = pd.DataFrame({"x": SCORES, "y": pd.Series(TRUTH.astype(int)).astype(kind)})
    for levels in (("0", "1"), None, ("False", "True")):
        assert curve(levels).auc(frame) == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize(
    "make", [pa.Table.from_pandas, pl.from_pandas, lambda frame: frame.astype("category")]
)
def test_other_kinds_of_tables_give_the_same_area(make):
    frame = make(LABELLED)
    if isinstance(frame, pd.DataFrame):
        frame["x"] = SCORES
    assert curve().auc(frame) == curve().auc(LABELLED)


def test_a_table_without_the_response_says_its_name():
    with pytest.raises(MethodError, match="y"):
        curve().auc(LABELLED[["x"]])
    with pytest.raises(MethodError, match="memory"):
        curve().auc("rows.csv")
    twins = pd.concat([LABELLED, LABELLED["y"]], axis=1)
    with pytest.raises(MethodError, match="y"):
        curve().auc(twins)


@pytest.mark.parametrize(
    "changes", [{"link": "log", "family": "poisson"}, {"link": "identity", "family": "gaussian"}]
)
def test_a_response_without_two_levels_has_no_area(changes):
    with pytest.raises(MethodError, match="two levels"):
        curve(**changes).auc(LABELLED)


def test_margin_losses_have_an_area():
    assert curve(link="margin", family="svm").auc(LABELLED) == curve().auc(LABELLED)


def test_a_real_fit_with_a_stack_is_saved_loaded_and_predicts_alike(tmp_path):
    train, test = WOMEN.iloc[::2], WOMEN.iloc[1::2]
    plain = dpglm.fit(
        "affair ~ age + religious + C(occupation)",
        train,
        penalty="l2",
        privacy=1.0,
        seed=1,
        method=dpglm.methods.Objective(coding="clipped"),
    )
    size = len(plain.names)
    reads = np.zeros((2, size))
    reads[0, :6], reads[1, [0, 6, 7]] = plain._record.coded[:6], plain._record.coded[[0, 6, 7]]
    one = Stack(
        ("job", "person"), (("C(occupation)",), ("age", "religious")), reads, "model", np.array([0.1, 1, 2])
    )
    result = changed(
        plain,
        part=one,
        coded=one.linear(),
        estimates=plain._record.user_from_coded @ one.linear(),
    )
    again = dpglm.load(result.save(tmp_path / "fit.json"))
    assert again == result
    pd.testing.assert_series_equal(again.predict(test), result.predict(test))
    assert again.auc(test) == result.auc(test)
    assert result.auc(test) == pytest.approx(
        roc_auc_score(test["affair"] == "yes", result.predict(test)), abs=1e-12
    )
    assert plain.auc(test) > 0.5
    assert set(result.submodels()["model"]) == {"job", "person"}
    assert len(result.submodels()) == 9
