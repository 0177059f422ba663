"""A result says what was released, holds no data, and nothing in it can be changed."""

import copy
import dataclasses
import gc
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.errors import MethodError, StoreError
from dpglm.postprocessing import store
from dpglm.postprocessing.record import Choice, SpendLine
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult
from tests.golden.examples import (
    NAMES,
    RESULTS,
    changed,
    described,
    open_fit,
    private_fit,
    pure_fit,
    seeded_fit,
)

NOT_PRIVATE = [seeded_fit, open_fit]
# What only a stack, a choice among candidates or a pool of sites has.
PART = ("submodels", "candidates", "heterogeneity", "leave_one_out")


EFFECTS = ("anova", "contrast", "grid", "margins", "survival", "llf", "aic", "bic")


def values_of(result):
    """Every public attribute; a method is called without arguments where it needs none."""
    for name in dir(result):
        if name.startswith("_") or name in (
            "predict",
            "wald_test",
            "auc",
            "plot",
            "report",
            "save",
            "export",
        ):
            continue
        if name in EFFECTS:
            continue  # of fits with standard errors and a map of rows, see test_effects
        if name in ("path", "refit", "select") and result._record.released is None:
            continue  # refused, see the tests of refits
        if name in PART and result._record.part is None:
            continue
        value = getattr(result, name)
        yield name, value() if callable(value) else value


@pytest.mark.parametrize("make", RESULTS.values())
def test_every_public_attribute_has_a_value_and_a_docstring(make):
    result = make()
    found = dict(values_of(result))
    assert {"params", "bse", "pvalues", "cov_params", "summary", "tidy", "glance", "spend", "privacy"} <= set(
        found
    )
    for name in found:
        assert getattr(type(result), name).__doc__, name


@pytest.mark.parametrize("make", RESULTS.values())
def test_labels_are_the_names_in_formula_order(make):
    result = make()
    for series in (result.params, result.bse, result.pvalues):
        assert tuple(series.index) == result.names
    assert tuple(result.conf_int().index) == tuple(result.cov_params().columns) == result.names
    assert tuple(result.tidy()["term"]) == tuple(row[0] for row in result.summary().rows) == result.names


@pytest.mark.parametrize("make", RESULTS.values())
def test_nothing_in_a_result_reaches_a_frame(make):
    result = make()
    list(values_of(result))
    seen, todo = set(), [result]
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, type) or type(item).__name__ in ("module", "function"):
            continue
        seen.add(id(item))
        assert not isinstance(item, pd.DataFrame | pd.Series), type(item)
        todo += gc.get_referents(item)


@pytest.mark.parametrize("where", ["schema", "method"])
def test_a_frame_cannot_be_put_into_a_result(where):
    hidden = {"hidden": [{"deeper": pd.DataFrame({"age": [987.0]})}]}
    with pytest.raises(StoreError) as caught:
        private_fit(**{where: hidden if where == "schema" else Choice("objective", hidden)})
    assert "987" not in str(caught.value)


def test_a_result_cannot_be_changed_from_outside():
    coded = np.array([-0.8125, 0.25, 0.0, 1.0, 2.0])
    schema = {"levels": ["no", "yes"]}
    result = private_fit(coded=coded, schema=schema)
    coded[:] = 7.0
    schema["levels"].append("maybe")
    params, frame = result.params, result.tidy()
    params["age"] = 9.0
    frame.loc[0, "estimate"] = 9.0
    assert result._record.coded[0] == -0.8125
    assert result.specification.schema["levels"] == ["no", "yes"]
    assert result.params["age"] == result._record.estimates[3] != 9.0
    with pytest.raises(ValueError, match="read-only"):
        result._record.estimates[0] = 1.0
    with pytest.raises(AttributeError):
        result.formula = "y ~ 1"
    with pytest.raises(dataclasses.FrozenInstanceError):
        result._record = None


@pytest.mark.parametrize("make", RESULTS.values())
def test_equal_results_are_equal_and_copies_too(make):
    result = make()
    assert result == make()
    assert hash(result) == hash(make())
    assert result == copy.deepcopy(result) == pickle.loads(pickle.dumps(result))
    assert result == changed(result, row_map=object())
    assert result != changed(
        result, estimates=result._record.estimates + 1e-15 + 1e-15 * result._record.estimates
    )
    assert result != changed(result, description=described(1.0))
    assert result != "result"


def test_a_result_has_46_public_names_and_no_twins():
    names = [name for name in dir(FitResult) if not name.startswith("_")]
    assert len(names) == 46
    assert not {"guarantee", "spend_lines", "estimates", "selected_mask", "mechanism"} & set(names)


def test_what_no_release_pays_for_is_absent_and_printed_as_a_dash():
    result = private_fit()
    assert result.bse.isna().all()
    assert result.pvalues.isna().all()
    assert result.conf_int(0.9).isna().all(axis=None)
    assert result.cov_params().isna().all(axis=None)
    assert all(row[2:7] == ("-",) * 5 for row in result.summary().rows)
    assert (
        result.tidy()[["std_error", "statistic", "p_value", "sampling_se", "privacy_se"]]
        .isna()
        .all(axis=None)
    )


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95, float("nan"), "0.95", True, None])
def test_a_level_outside_0_and_1_is_refused(level):
    with pytest.raises(MethodError, match=r"level=0\.95"):
        private_fit().conf_int(level)


def test_selected_means_selected_and_not_zero():
    result = private_fit(
        estimates=np.array([1.0, 0.0, 2.0, 3.0, 0.0]),
        selected_mask=np.array([True, True, False, True, False]),
    )
    assert result.selected == ("Intercept", "age")
    assert result.nonzero == ("Intercept", NAMES[2], "age")
    assert [row[-1] for row in result.summary().rows] == ["yes", "no", "no", "yes", "no"]
    assert result.glance()["n_selected"].item() == 2


@pytest.mark.parametrize("make", NOT_PRIVATE)
def test_a_result_without_guarantee_says_so_in_every_form(make):
    result = make()
    alarm = f"NOT PRIVATE: {result.privacy.reason}"
    table, pair = result.summary(), compare([private_fit(), result])
    forms = [str(result), repr(result), result._repr_html_(), store.to_json(result._record)]
    for one in (table, pair):
        forms += [str(one), one.to_html(), one.to_latex(), one.to_markdown(), one._repr_html_(), repr(one)]
        forms.append(str(one.as_simple_table()))
    assert all(alarm in form for form in forms)
    assert str(result).splitlines()[2].strip() == alarm
    assert str(result).splitlines()[-2].strip() == alarm
    for frame in (
        result.tidy(),
        result.glance(),
        result.spend,
        result.odds_ratios(),
        result.params,
        result.bse,
    ):
        assert frame.attrs["privacy"] == alarm


@pytest.mark.parametrize("make", NOT_PRIVATE)
def test_a_result_without_guarantee_claims_no_epsilon(make):
    result = make()
    row = result.glance().iloc[0]
    assert row[["epsilon", "delta", "mu", "relation", "unit"]].isna().all()
    assert not row["private"]
    facts = dict(result.summary().right)
    assert all(facts[label].endswith(("-", "(not kept)")) for label in ("epsilon", "delta", "mu"))
    assert {facts[label] for label in ("relation", "unit")} == {"-"}


@pytest.mark.parametrize("make", [private_fit, pure_fit])
def test_a_private_result_ends_in_its_guarantee_and_assumptions(make):
    result = make()
    assert "NOT PRIVATE" not in str(result)
    notes = " ".join(result.summary().notes)
    assert result.privacy.statement() in notes
    assert all(text in notes for text in result.privacy.assumptions)


def test_a_private_number_of_rows_is_nowhere():
    result = pure_fit()
    assert dict(result.summary().left)["Rows"] == "not released"
    assert result.glance()["nobs"].isna().all()


def test_ledger_and_strength_are_facts_of_the_table():
    facts = dict(private_fit().summary().facts)
    assert facts["ledger"] == "ward-7: 0.1 of 3 left, delta 9e-6 of 1e-5"
    assert facts["Strength"] == "0.01235 per row"
    assert dict(pure_fit().summary().facts)["Strength"] == "25.00 in all"
    assert "ledger" not in dict(pure_fit().summary().facts)


def test_tidy_has_the_columns_of_broom():
    frame = private_fit().tidy()
    assert list(frame) == [
        *("term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"),
        *("reliable", "selected", "sampling_se", "privacy_se", "adjustment_se", "reason"),
    ]
    ratios = private_fit().tidy(exponentiate=True)["estimate"]
    np.testing.assert_array_equal(ratios, np.exp(private_fit()._record.estimates))


BROOM = ["term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"]


@pytest.mark.parametrize("make", RESULTS.values())
def test_tidy_has_the_names_of_broom_on_request(make):
    result = make()
    ours, frame = result.tidy(), result.tidy(style="broom")
    assert frame.columns.tolist()[: len(BROOM)] == BROOM
    back = frame.rename(columns=lambda name: name.replace(".", "_"))[ours.columns]
    pd.testing.assert_frame_equal(back, ours)
    assert frame.attrs == ours.attrs


def test_glance_has_the_names_of_broom_on_request():
    private, open_one = private_fit().glance(style="broom"), open_fit().glance(style="broom")
    assert private.columns.tolist()[:4] == ["logLik", "AIC", "BIC", "nobs"]
    assert private[["logLik", "AIC", "BIC"]].isna().all(axis=None)
    assert not open_one["private"].item()
    women = dpglm.load_data("fair")[:500]
    exact = dpglm.fit("affair ~ age", women, penalty="none", privacy=None)
    row = exact.glance(style="broom").iloc[0]
    assert row[["logLik", "AIC", "BIC", "nobs"]].tolist() == [exact.llf, exact.aic, exact.bic, 500]


@pytest.mark.parametrize("style", ["R", None, np.array(["broom", "dpglm"])])
def test_another_style_is_refused(style):
    for call in (private_fit().tidy, private_fit().glance):
        with pytest.raises(MethodError, match="style='broom'"):
            call(style=style)


def test_glance_is_one_row():
    frame = private_fit().glance()
    assert list(frame) == [
        *(
            "family",
            "link",
            "penalty",
            "strength",
            "method",
            "goal",
            "n_terms",
            "n_selected",
            "epsilon",
            "delta",
        ),
        *("mu", "relation", "unit", "nobs", "sigma", "dispersion", "private"),
    ]
    assert len(frame) == 1
    assert frame[["epsilon", "delta", "nobs"]].iloc[0].tolist() == [1.0, 1e-6, 6366.0]


def test_the_residual_standard_error_is_told_where_it_was_released():
    assert private_fit().glance()[["sigma", "dispersion"]].isna().all(axis=None)
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"x": draw.uniform(0, 10, 5_000)})
    frame["y"] = 1.0 + 0.5 * frame["x"] + draw.normal(0, 2.0, 5_000)
    asked = {"schema": {"x": (0, 10), "y": (-20, 30)}, "family": "gaussian", "penalty": "none"}
    fits = [dpglm.fit("y ~ x", frame, privacy=privacy, seed=1, **asked) for privacy in ((4.0, 1e-6), None)]
    for fit, within in zip(fits, (0.1, 0.03), strict=True):  # 2 %: two standard errors of sampling alone
        row = fit.glance().iloc[0]
        assert row["sigma"] == pytest.approx(2.0, rel=within)
        assert row["dispersion"] == pytest.approx(row["sigma"] ** 2)
        assert f"Residual standard error: {row['sigma']:#.4g}." in str(fit.summary())
    least = np.linalg.lstsq(np.column_stack([np.ones(5_000), frame["x"]]), frame["y"], rcond=None)
    assert fits[1].glance()["sigma"].item() == pytest.approx(np.sqrt(least[1].item() / 4_998), rel=1e-5)


def test_odds_ratios_are_for_the_logit_link():
    frame = private_fit().odds_ratios()
    np.testing.assert_array_equal(frame["odds_ratio"], np.exp(private_fit()._record.estimates))
    with pytest.raises(MethodError, match="logit"):
        private_fit(link="log", family="poisson").odds_ratios()


def test_spend_has_a_line_per_release():
    frame = private_fit(
        spend_lines=(SpendLine("a", None, None, 0.5, 1.0), SpendLine("b", 1, 0, None, 0.0))
    ).spend
    assert list(frame) == ["release", "epsilon", "delta", "mu", "share"]
    assert frame["release"].tolist() == ["a", "b"]
    assert np.isnan(frame["epsilon"][0])
    assert frame.dtypes["epsilon"] == np.float64
    assert open_fit().spend.empty


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4, unique=True), st.text(max_size=12))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_any_name_can_be_shown(names, unit):
    size = len(names)
    result = private_fit(
        formula=" + ".join(names),
        names=tuple(names),
        estimates=np.zeros(size),
        selected_mask=np.zeros(size, dtype=bool),
        coded=np.zeros(size),
        user_from_coded=np.eye(size),
        terms=tuple((name, (place,)) for place, name in enumerate(names)),
        guarantee=dataclasses.replace(private_fit().privacy, unit=f"one {unit}"),
    )
    table = result.summary()
    assert len(table.rows) == size
    assert all([str(table), table.to_html(), table.to_latex(), table.to_markdown(), repr(result)])
    assert len(result.tidy()) == size


def test_a_summary_is_text_without_statsmodels_pandas_or_jinja2(tmp_path):
    path = tmp_path / "fit.json"
    private_fit().save(path)
    code = f"""
import sys
from dpglm.postprocessing.store import read
from dpglm.results.fit_result import FitResult
result = FitResult(read({str(path)!r}))
text = str(result.summary()) + repr(result)
print([name for name in ("statsmodels", "pandas", "jinja2", "matplotlib", "patsy") if name in sys.modules])
result.summary().to_html(), result.tidy(), result.params
print([name for name in ("statsmodels", "matplotlib", "patsy") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == ["[]", "[]"]
