"""What a user of R meets first: printed tables, new rows beyond bounds, labels, and words that mislead."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import FormulaError, MethodError, NoAttribute

SCHEMA: dict[str, Any] = {
    "ill": ["no", "yes"],
    "age": {"bounds": (18, 80), "label": "age of person"},
    "job": {
        "levels": ["a", "b", "c"],
        "level_labels": {"a": "Clerk", "b": "Nurse", "c": "Sea"},
        "aliases": {"bee": "b"},
        "shares": [0.4, 0.3, 0.3],
    },
    "grade": {"levels": ["low", "mid", "high"], "ordered": True},
    "time": (0, 4),
    "w": (0, 2),
}


def table(n: int = 3000) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "ill": draw.choice(["no", "yes"], n),
            "age": draw.uniform(18, 80, n),
            "job": draw.choice(["a", "b", "c"], n),
            "grade": draw.choice(["low", "mid", "high"], n),
            "time": draw.integers(1, 5, n),
            "w": draw.uniform(0.5, 2, n),
        }
    )


def fitted(formula: str = "ill ~ age + job", privacy: Any = 2.0, **options: Any) -> dpglm.FitResult:
    seed = None if privacy is None else 1
    found = dpglm.fit(formula, table(), schema=SCHEMA, privacy=privacy, seed=seed, **options)
    assert isinstance(found, dpglm.FitResult)
    return found


@pytest.fixture(scope="module")
def fit() -> dpglm.FitResult:
    return fitted()


def labels(fit: dpglm.FitResult) -> Any:
    return fit.specification.schema["variables"]["job"].get("level_labels", {})


@pytest.mark.parametrize(
    ("groups", "left"),
    [
        ({"other": ["b", "c"]}, {"a": "Clerk"}),
        ({"b": ["b", "c"]}, {"a": "Clerk"}),
        ({"a": ["b"]}, {"c": "Sea"}),
    ],
)
def test_merged_levels_lose_their_labels_and_others_keep_them(
    fit: dpglm.FitResult, groups: Any, left: dict[str, str]
) -> None:
    merged = fit.refit(merge={"job": groups})
    assert labels(merged) == left
    assert merged.predict({"age": 50, "job": ["bee", "b"]}).nunique() == 1


def test_the_command_line_merges_levels_with_labels(fit: dpglm.FitResult, tmp_path: Path) -> None:
    fit.save(tmp_path / "fit.json")
    command = [sys.executable, "-m", "dpglm.cli", "refit", "fit.json", "--merge", "job", "other", "b,c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "job: other vs Clerk" in done.stdout


def test_printed_frames_hide_no_number_and_cut_no_reason(fit: dpglm.FitResult) -> None:
    poor = fitted(privacy=0.01)
    with pd.option_context("display.width", 80, "display.max_columns", 4, "display.max_colwidth", 50):
        for frame in (fit.anova(), fit.contrast(fit.grid(job=None)), fit.margins("job"), poor.anova()):
            assert isinstance(frame, pd.DataFrame)
            for text in (repr(frame), str(frame.round(3)), frame._repr_html_()):  # type: ignore[operator]
                assert all(name in text for name in frame.columns)
                assert all(reason in text for reason in frame["reason"])
        assert pd.get_option("display.max_columns") == 4
    assert poor.anova()["reason"].str.len().max() > 50


def test_printed_frames_are_frames_to_programs(fit: dpglm.FitResult) -> None:
    frame = fit.anova()
    for again in (pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame), pd.DataFrame(frame)):
        pd.testing.assert_frame_equal(frame, again)
    assert type(pickle.loads(pickle.dumps(frame))) is pd.DataFrame
    assert pickle.loads(pickle.dumps(frame)).attrs == frame.attrs


def test_values_beyond_bounds_are_told_of_a_dict_and_marked(fit: dpglm.FitResult) -> None:
    new = {"age": [80, 500, 999, None], "job": "a"}
    with pytest.warns(UserWarning, match="age beyond 18 to 80") as told:
        marked = fit.predict(new, se=True)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert "500" not in str(told[0].message)
    assert marked["reliable"].tolist() == [True, False, False, False]
    assert marked["mean"][0] == marked["mean"][1]  # clamped, as in the fit
    with pytest.warns(UserWarning, match="age"):
        fitted("grade ~ age", family="ordinal").predict({"age": 17})


def test_nothing_is_told_of_a_table_or_of_values_within_bounds(fit: dpglm.FitResult) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = pd.DataFrame({"age": [80, 500], "job": "a"})
        assert fit.predict(frame, se=True)["reliable"].tolist() == [True, False]
        fit.predict(frame)
        fit.predict({"age": [18, None, 80], "job": ["a", "unknown", "b"]})


def test_labels_are_in_tables_of_means(fit: dpglm.FitResult) -> None:
    assert fit.margins("job")["label"].tolist() == ["job: Clerk", "job: Nurse", "job: Sea"]
    assert "label" not in fit.margins(at={"age": [20, 30]})


def test_a_refused_submodel_says_how_far_it_is() -> None:
    women = dpglm.load_data("fair")
    found = dpglm.fit("affair ~ age + rate_marriage + educ", women, privacy=(4.0, 1e-6), seed=1)
    with pytest.raises(MethodError) as refused:
        found.refit(drop="rate_marriage")
    assert "by more than a tenth of one: its distance is" in refused.value.found
    assert "times the limit" in refused.value.found
    assert "Accepted" not in refused.value.remedy


@pytest.mark.parametrize("privacy", [2.0, None])
def test_rows_of_periods_and_stages_are_called_so(privacy: Any) -> None:
    facts = dict(fitted("grade ~ age", privacy, family="ordinal").summary().left)
    assert "Rows" not in facts
    assert facts["Stages"] == "not released" if privacy else int(facts["Stages"].replace(",", "")) > 3000
    assert "Periods" in dict(fitted("Surv(time, ill) ~ age", privacy).summary().left)


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("factor(job)", "C(x)"),
        ("poly(age, 2)", "I(x**2)"),
        ("ns(age)", "bs(x, df=5)"),
        ("s(age)", "bs(x, df=5)"),
    ],
)
def test_functions_of_r_have_their_own_remedy(call: str, instead: str) -> None:
    with pytest.raises(FormulaError) as refused:
        dpglm.plan(f"ill ~ {call}", schema=SCHEMA, n=3000, privacy=1.0)
    assert instead in refused.value.remedy


def test_a_profile_by_group_says_why_its_rows_have_noise() -> None:
    data = table()[["ill", "age"]]
    schema = {name: SCHEMA[name] for name in data}
    grouped, whole = (dpglm.describe(data, schema=schema, by=by, privacy=1.0, seed=1) for by in ("ill", None))
    assert "The table has 3,000 rows, which is public" in grouped.summary().notes[-1]
    assert "which is public" not in str(whole.summary().notes)


def test_criteria_that_are_not_there_say_why() -> None:
    for options in ({"weights": "w"}, {"penalty": "l2"}):
        with pytest.raises(AttributeError, match="with weights or a penalty"):
            _ = fitted(privacy=None, **options).aic
    with pytest.raises(AttributeError, match="with privacy it is a sum"):
        _ = fitted().aic


def test_a_notebook_shows_a_missing_attribute_in_a_few_lines(fit: dpglm.FitResult) -> None:
    with pytest.raises(NoAttribute) as raised:
        fit.confint  # noqa: B018
    lines = raised.value._render_traceback_()
    assert "NoAttribute" in lines
    assert len(lines) <= 6
    assert lines[-1] == "Remedy: Use fit.conf_int(level=0.95)."


def test_families_and_penalties_can_be_imported_from() -> None:
    code = (
        "import sys, dpglm; assert 'dpglm.glm' not in sys.modules; import dpglm.families; "
        "from dpglm.families import Binomial; from dpglm.penalties import SCAD; "
        "assert dpglm.families.Binomial is Binomial and dpglm.penalties.SCAD is SCAD; "
        "assert dpglm.families is sys.modules['dpglm.glm.families']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
