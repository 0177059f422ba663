"""Numbers of a result with a released curvature follow from each other, and from nothing else."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.errors import MethodError
from dpglm.inference import linear_model
from dpglm.inference.contrasts import Contrasts
from dpglm.postprocessing.intervals import quantile
from dpglm.postprocessing.outer_ends import SHORT
from dpglm.postprocessing.store import save
from dpglm.postprocessing.summary import gaps, mergeable
from dpglm.postprocessing.uncertainty import (
    FACTORS,
    against_sampling,
    detectable,
    halving,
    no_intervals,
    widths,
)
from dpglm.results.compare import compare
from dpglm.tables.table import coefficient, factor
from tests.golden.examples import (
    INTERVAL_NAMES,
    changed,
    dense_fit,
    guarantee,
    interval_fit,
    open_fit,
    private_fit,
    pure_fit,
    released,
)
from tests.rooms.report.specimen import wide

FIT, DENSE = interval_fit(), dense_fit()
RARE = "C(job)[T.R&D <lab>]"
GIVEN = [name for name in INTERVAL_NAMES if name != RARE]


def test_only_the_rare_level_has_no_standard_error_and_every_column_says_so():
    frame = FIT.tidy(debiased=True).set_index("term")
    absent = ["std_error", "statistic", "p_value", "estimate", "sampling_se"]
    assert frame.loc[RARE, absent].isna().all()
    assert not frame.loc[RARE, "reliable"]
    assert frame.loc[[RARE], ["conf_low", "conf_high"]].notna().all(axis=None)
    assert frame.loc[GIVEN, absent].notna().all(axis=None)
    assert frame.loc[RARE, "reason"] == "too wide against the declared scale; n or epsilon x 1.3"
    assert set(frame.loc[GIVEN, "reason"]) == {""}
    assert FIT.cov_params().loc[RARE].isna().all()
    assert FIT.cov_params().loc[GIVEN, GIVEN].notna().all(axis=None)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_a_wide_interval_holds_that_of_the_linear_model_and_the_prior_scales(level):
    contrasts, at = FIT._record.contrasts, INTERVAL_NAMES.index(RARE)
    low, high = FIT.conf_int(level).loc[RARE]
    critical = quantile(level)
    assert low <= contrasts.estimates[at] - critical * contrasts.deviations[at]
    assert high >= contrasts.estimates[at] + critical * contrasts.deviations[at]
    reach = critical * np.sqrt(contrasts.prior[at])
    assert low <= contrasts.shrunk[at] - reach < DENSE.params[RARE] < contrasts.shrunk[at] + reach <= high


@given(scale=st.floats(1e-3, 1e6), information_scale=st.floats(1e-3, 1e6))
def test_every_coefficient_has_an_interval_whatever_the_noise(scale, information_scale):
    noisy = dataclasses.replace(released(), score_scale=scale, information_scale=information_scale)
    fit = interval_fit(released=noisy)
    ends = fit.conf_int()
    assert ends.notna().all(axis=None)
    # Where too little is told, no effect within two prior scales of the shrunken estimate is ruled out.
    untold = fit.bse.isna().to_numpy()
    reach = np.sqrt(fit._record.contrasts.prior)[untold]
    middle = fit._record.contrasts.shrunk[untold]
    assert (ends[0][untold] <= middle - 1.95 * reach).all()
    assert (ends[1][untold] >= middle + 1.95 * reach).all()


def test_errors_are_made_of_their_parts_and_tests_of_the_debiased_estimates():
    frame = FIT.tidy(debiased=True).set_index("term").loc[GIVEN]
    parts = frame[["sampling_se", "privacy_se", "adjustment_se"]]
    np.testing.assert_allclose((parts**2).sum(axis=1), frame["std_error"] ** 2, rtol=1e-12)  # sums of doubles
    np.testing.assert_allclose(frame["statistic"], frame["estimate"] / frame["std_error"], rtol=1e-14)
    np.testing.assert_allclose(
        np.diag(FIT.cov_params().loc[GIVEN, GIVEN]), frame["std_error"] ** 2, rtol=1e-9
    )
    # The inner end is as far as the standard error says; the outer one lies a share of the step further out.
    ends, sign = FIT.conf_int(0.8).loc[GIVEN].to_numpy(), np.sign(frame["estimate"].to_numpy())
    inner, outer = np.where(sign > 0.0, ends.T, ends.T[::-1])
    reach = sign * quantile(0.8) * frame["std_error"].to_numpy()
    np.testing.assert_allclose(inner, frame["estimate"] - reach, rtol=1e-9)
    contrasts = FIT._record.contrasts
    start = (contrasts.rows @ contrasts.model.released.centre)[[name in GIVEN for name in INTERVAL_NAMES]]
    step = np.maximum(sign * (frame["estimate"] - start), 0.0)
    np.testing.assert_allclose(outer, frame["estimate"] + reach + sign * SHORT * step, rtol=1e-9)
    assert (step > 0.0).any()
    outside = (frame["conf_low"] > 0) | (frame["conf_high"] < 0)
    np.testing.assert_array_equal(outside, frame["p_value"] < 0.05)


def test_penalised_coefficients_and_debiased_ones_are_told_apart():
    table, below = FIT.summary(), FIT.summary().below
    assert [column.heading for column in table.columns] == ["term", "coef", "selected"]
    tested = ["std err", "z", "P>|z|", "[0.025", "0.975]"]
    assert [column.heading for column in below.columns] == ["term", "debiased", *tested]
    assert [row[0] for row in table.rows] == [row[0] for row in below.rows] == list(FIT.names)
    assert [row[1] for row in table.rows] == [coefficient(float(value)) for value in FIT.params]
    assert [row[2] for row in below.rows] == [coefficient(float(value)) for value in FIT.bse]
    plain = [column.heading for column in DENSE.summary().columns]
    assert plain == ["term", "coef", *tested, "selected"]
    assert DENSE.summary().below is None
    debiased = DENSE.tidy(debiased=True).set_index("term")["estimate"]
    np.testing.assert_allclose(DENSE.params[GIVEN], debiased[GIVEN])
    assert abs(DENSE.params[RARE]) < abs(
        FIT._record.contrasts.estimates[INTERVAL_NAMES.index(RARE)]
    )  # shrunk


def test_the_summary_says_how_what_it_cost_why_not_and_what_repairs_it():
    text = " ".join(str(FIT.summary()).split())
    assert "95 %, noise-aware GLS on the released information matrix, 50 % of the budget" in text
    assert "No standard error (-), too wide against the declared scale: C(job)[T.R&D <lab>] (x 1.3)." in text
    assert "how many times the rows, or the epsilon, a standard error would take" in text
    assert "merge the level with another by declaration" in text
    assert mergeable(FIT._record).tolist() == [False, True, True, True, False, False]


def test_every_coefficient_without_a_standard_error_is_named_in_a_short_list():
    many = interval_fit(released=dataclasses.replace(released(), information=released().information / 40.0))
    lines = gaps(many._record)
    assert sum(line.startswith("No standard error") for line in lines) >= 1
    named = [name for name in INTERVAL_NAMES if any(name in line for line in lines)]
    assert named == [
        name
        for name, decision in zip(many.names, many._record.interval_decisions, strict=True)
        if not decision.reported
    ]


def test_what_is_not_named_is_counted():
    result = wide()
    counted = 0
    for line in gaps(result._record):
        if line.startswith("No standard error"):
            more = re.search(r" and (\d+) more \(x [\d.]+( to x [\d.]+)?\)\.$", line)
            named = line.count("[T.level number")
            assert named == 8 or (named <= 9 and not more)
            counted += named + (int(more.group(1)) if more else 0)
    assert counted == sum(not decision.reported for decision in result._record.interval_decisions) > 9


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"goal": "predict"}, 'goal "explain"'),
        ({"method": "output"}, 'method "objective"'),
        ({"guarantee": guarantee(definition="pure", delta=0.0, mu=None)}, "privacy=(1, 1e-6)"),
        ({}, "pays for an information matrix"),
    ],
)
def test_a_fit_without_a_curvature_says_why(changes, told):
    result = private_fit(**changes)
    assert told in no_intervals(result._record)
    assert told in " ".join(str(result.summary()).split())


def test_a_fit_without_privacy_gives_its_own_reason_and_one_with_a_curvature_none():
    assert "without privacy" in no_intervals(open_fit()._record)
    assert no_intervals(FIT._record) == ""
    assert gaps(private_fit()._record) == ()


def test_false_coverage_intervals_are_for_the_selected_list_and_wider():
    plain, wider = FIT.conf_int(0.9), FIT.conf_int(0.9, adjust="fcr")
    listed = [name for name in GIVEN if name in FIT.selected]
    assert wider.drop(listed).isna().all(axis=None)
    # 4 of 5 with an interval are selected: level 1 - 0.1 * 4 / 5.
    np.testing.assert_allclose(wider.loc[listed], FIT.conf_int(0.92).loc[listed], rtol=1e-12)
    assert (wider[1] - wider[0])[listed].gt((plain[1] - plain[0])[listed]).all()
    everything = DENSE.conf_int(adjust="fcr")
    pd.testing.assert_frame_equal(everything.loc[GIVEN], DENSE.conf_int().loc[GIVEN])
    assert everything.loc[RARE].isna().all()
    assert private_fit().conf_int(adjust="fcr").isna().all(axis=None)


@pytest.mark.parametrize("adjust", ["bonferroni", "", True, 3])
def test_an_unknown_adjustment_is_refused(adjust):
    with pytest.raises(MethodError, match="fcr"):
        FIT.conf_int(adjust=adjust)


def test_odds_ratios_have_the_intervals_of_the_coefficients():
    frame = FIT.odds_ratios(debiased=True).set_index("term")
    np.testing.assert_allclose(frame[["conf_low", "conf_high"]], np.exp(FIT.conf_int()), rtol=1e-14)
    assert np.isnan(frame.loc[RARE, "odds_ratio"])


def test_compare_shows_errors_below_coefficients_only_where_somebody_has_some():
    rows = compare([FIT, DENSE, pure_fit()]).rows
    place = [row[0] for row in rows].index("religious")
    error = f"({FIT.summary().below.rows[5][2]})"
    assert rows[place + 1] == ("(std err)", error, error, "-")
    assert "(std err)" not in [row[0] for row in compare([private_fit(), pure_fit()]).rows]


def test_numbers_that_break_arithmetic_give_no_intervals_and_no_exception():
    for scale in (1e300, 0.0):
        odd = dataclasses.replace(released(), information=scale * released().information, score_scale=1e-300)
        odd = dataclasses.replace(odd, information_scale=1e-300)
        result = interval_fit(released=odd)
        assert str(result.summary())
        assert result.bse.isna().any()


@pytest.mark.parametrize("means", ["epsilon", "n"])
def test_at_factor_one_nothing_changes_and_more_is_never_worse(means):
    found = widths(FIT._record, means)
    now = FACTORS.index(1.0)
    np.testing.assert_allclose(found[now], FIT.bse, rtol=1e-9)
    kept = ~np.isnan(found[now])
    assert (np.diff(found[:, kept], axis=0) < 0.0).all()
    floor = FIT.tidy(debiased=True)["sampling_se"].to_numpy()[kept] if means == "epsilon" else 0.0
    assert (found[-1, kept] > 0.95 * floor).all()


def test_without_noise_rows_halve_the_width_at_four_and_with_noise_sooner():
    quiet = dataclasses.replace(released(), score_scale=1e-6, information_scale=1e-9)
    # 4 but for the adjustment for other terms, 3 % of the rare level's variance.
    np.testing.assert_allclose(halving(widths(interval_fit(released=quiet)._record, "n")), 4.0, rtol=5e-2)
    noisy = halving(widths(FIT._record, "n"))
    assert ((noisy > 1.9) & (noisy < 4.0))[~np.isnan(noisy)].all()
    # Sampling alone is more than half of each width here: no epsilon halves it.
    assert np.isinf(halving(widths(FIT._record, "epsilon"))[~np.isnan(noisy)]).all()


def test_rescaling_rows_is_the_same_as_a_larger_curvature(monkeypatch):
    model, rows = FIT._record.contrasts.model, FIT._record.user_from_coded
    larger = model.rescaled(4.0, rows=True)
    direct = dataclasses.replace(
        model.released, information=4.0 * model.design, score=4.0 * model.released.score
    )
    told = Contrasts(larger, rows).parts
    # It was shrunk already.
    monkeypatch.setattr(linear_model, "shrink", lambda *both_and_cells: both_and_cells[:2])
    real = Contrasts(type(model)(direct), rows).parts
    # The part of the curvature's noise is approximate: both releases move, the formula keeps their distance.
    np.testing.assert_allclose(told[:, :2], real[:, :2], rtol=0.05)


def test_detectable_effects_and_ratios():
    np.testing.assert_allclose(detectable(FIT._record), 2.802 * FIT.bse, rtol=1e-12)
    ratio = against_sampling(FIT._record)
    assert (ratio[~np.isnan(ratio)] > 1.0).all()
    assert [factor(value) for value in (1.01, 1.1, 99.1, np.inf, np.nan)] == ["1.1", "1.1", "100", "-", "-"]


ALONE = """
import sys, types
package = types.ModuleType("dpglm")
package.__path__ = [{folder!r}]  # rooms without the front door, which opens all of them
sys.modules["dpglm"] = package
import matplotlib
matplotlib.use("Agg")
from dpglm.results.compare import compare
from dpglm.postprocessing.store import read
from dpglm.results.fit_result import FitResult
result = FitResult(read({path!r}))
assert str(result.summary()) == open({summary!r}, encoding="utf-8").read()
result.tidy(), result.glance(), result.odds_ratios(), result.conf_int(adjust="fcr"), result.cov_params()
assert result.wald_test("age = 0, religious = -1").p_value > 0.0
compare([result, result.refit("mcp"), result.select("fdr")])
for kind in ("coef", "variance", "path", "spend", "tradeoff"):
    result.plot(kind)
assert "Usefulness" in result.to_html()
seen = ("dpglm.curator", "dpglm.mechanisms", "dpglm.data", "dpglm.methods", "dpglm.api", "dpglm.papers")
print([name for name in sys.modules if name.startswith(seen)])
"""


def test_a_loaded_result_needs_no_room_that_has_seen_data(tmp_path):
    path, summary = tmp_path / "fit.json", tmp_path / "summary.txt"
    save(FIT._record, path)
    summary.write_text(str(FIT.summary()), encoding="utf-8")
    folder = Path(__file__).parents[3] / "dpglm"
    code = ALONE.format(folder=str(folder), path=str(path), summary=str(summary))
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


class Map:
    """Coded rows as they are; offsets of a half."""

    def coded(self, frame):
        return np.asarray(frame, dtype=float), np.full(len(frame), 0.5)


def predicting(**changes):
    return changed(FIT, row_map=Map(), **changes)


def test_the_interval_of_a_prediction_is_that_of_its_contrast():
    rows = FIT._record.user_from_coded[[0, 1, 5]]
    frame = predicting().predict(pd.DataFrame(rows, index=list("abc")), "link", interval=0.9)
    assert list(frame) == ["prediction", "conf_low", "conf_high"]
    assert list(frame.index) == list("abc")
    np.testing.assert_allclose(frame["prediction"], rows @ FIT._record.coded + 0.5, rtol=1e-12)
    ends = FIT.conf_int(0.9).iloc[[0, 1, 5]].to_numpy() + 0.5
    assert (np.ptp(ends, axis=1) > 2.0 * quantile(0.9) * FIT.bse.iloc[[0, 1, 5]]).any()  # further out
    np.testing.assert_allclose(frame[["conf_low", "conf_high"]], ends, rtol=1e-9)
    mean = predicting().predict(rows, interval=0.9)
    np.testing.assert_allclose(mean["conf_low"], 1.0 / (1.0 + np.exp(-ends[:, 0])), rtol=1e-9)


def test_rows_that_fail_the_rule_or_cannot_be_predicted_have_no_interval():
    rows = np.vstack(
        [FIT._record.user_from_coded[3], np.full(6, np.nan), np.zeros(6), FIT._record.user_from_coded[5]]
    )
    frame = predicting().predict(rows, "link", interval=0.95)
    assert frame["prediction"].isna().tolist() == [False, True, False, False]
    assert (
        frame["conf_low"].isna().tolist() == frame["conf_high"].isna().tolist() == [True, True, True, False]
    )


def test_many_rows_are_predicted_in_chunks_like_few(monkeypatch):
    rows = np.vstack([FIT._record.user_from_coded] * 3)
    whole = predicting().predict(rows, interval=0.95)
    monkeypatch.setattr("dpglm.postprocessing.prediction.BATCH", 5)
    pd.testing.assert_frame_equal(predicting().predict(rows, interval=0.95), whole)
    assert predicting().predict(rows[:0], interval=0.95).empty


def test_levels_have_no_interval():
    with pytest.raises(MethodError, match="what='mean'"):
        predicting().predict(FIT._record.user_from_coded, "class", interval=0.95)


def test_an_estimate_beyond_twice_its_scale_is_named_and_nothing_is_called_unshrunk():
    random = np.random.default_rng(1)
    columns = np.clip(random.normal(size=(6000, 2)), -3, 3)
    rich = random.random(6000) < 1.0 / (1.0 + np.exp(-columns @ [2.5, 0.2]))
    frame = pd.DataFrame({"strong": columns[:, 0], "weak": columns[:, 1], "y": rich.astype(int)})
    schema = {"strong": (-3, 3), "weak": (-3, 3), "y": [0, 1]}
    fits = {
        effect: dpglm.fit(
            "y ~ strong + weak",
            frame,
            schema=schema | {"strong": {"bounds": (-3, 3), "effect": effect}},
            penalty="none",
            privacy=(0.5, 1e-6),
            seed=1,
        )
        for effect in (3, 20)
    }
    surprised, declared = (" ".join(str(fit).split()) for fit in fits.values())
    assert "Beyond 2 prior scales, and perhaps still drawn towards 0: strong. " in surprised
    assert "not shrunk" not in surprised
    assert "Beyond" not in declared
    assert "Coefficients with a standard error are not shrunk" in declared
    assert "Beyond 2 prior scales" in fits[3].to_html()
    assert "is not shrunk" not in fits[3].to_html()
    assert "Beyond 2 prior scales" not in fits[20].to_html()
    assert "Beyond 2 prior scales" in str(fits[3].refit("l1"))
    # Of many standard errors next to nothing is drawn away.
    near = schema | {"strong": {"bounds": (-3, 3), "effect": 3}}
    plain = dpglm.fit("y ~ strong + weak", frame, schema=near, penalty="none", privacy=(4.0, 1e-6), seed=1)
    assert plain.tidy().set_index("term").loc["strong", "reliable"]
    assert "Beyond" not in str(plain)


def test_a_level_beyond_twice_its_scale_is_told_as_its_outer_end_is_far_out():
    """A mark for large estimates alone would leave the small ones, which miss: .83 at a truth of 2.9."""
    random = np.random.default_rng(1)
    level = random.choice(["a", "b", "c"], size=6000, p=[0.6, 0.3, 0.1])
    rich = random.random(6000) < np.where(level == "c", 0.98, 0.5)
    frame = pd.DataFrame({"level": level, "x": random.normal(size=6000), "y": rich.astype(int)})
    schema = {"level": ["a", "b", "c"], "x": (-4, 4), "y": [0, 1]}
    fit = dpglm.fit("y ~ level + x", frame, schema=schema, privacy=(4.0, 1e-6), seed=1)
    told = fit.tidy().set_index("term").loc["level[T.c]"]
    assert told["estimate"] > 3.0
    assert told["reliable"]
    assert told["conf_high"] - told["estimate"] > told["estimate"] - told["conf_low"]
    assert fit.contrast({"level": {"c": 1, "b": -1}})["reliable"].all()
    assert "Beyond 2 prior scales" not in str(fit)
