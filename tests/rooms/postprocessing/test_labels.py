"""Labels of a schema in summaries, figures and reports; names stay what formulas and tests take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpglm
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import declared
from dpglm.errors import SchemaError
from dpglm.postprocessing.labels import labelled

JOB = {"levels": [4, 5.5, 6], "label": "husband's occupation", "level_labels": {6: "professional"}}
SCHEMA: dict[str, Any] = Schema.from_dict(
    {
        "variables": {
            "job": JOB,
            "age": {"bounds": [18, 95], "label": "age", "measured_in": "years"},
            "pay": {"bounds": [0, 9], "measured_in": "EUR"},
            "odd: name": {"levels": ["a:b", "c[T.d]"], "label": "odd"},
            "ill": {"levels": [False, True], "level_labels": {"True": "ill"}},
            "bare": {"levels": ["x", "y"]},
        }
    }
).to_dict()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Intercept", "Intercept"),
        ("job[T.6]", "husband's occupation: professional vs 4"),
        ("job[T.5.5]", "husband's occupation: 5.5 vs 4"),
        ("C(job)[T.6]", "husband's occupation: professional vs 4"),
        ("C(job, Treatment(reference=6))[T.4]", "husband's occupation: 4 vs professional"),
        ("C(job, Treatment(1))[T.4]", "husband's occupation: 4 vs 5.5"),
        ("C(job, Sum)[S.4]", "husband's occupation: 4 vs mean"),
        ("C(job, Helmert)[H.6]", "C(job, Helmert)[H.6]"),
        ("job[4]", "husband's occupation: 4"),
        ("job[T.7]", "job[T.7]"),
        ("age", "age (years)"),
        ("pay", "pay (EUR)"),
        ("age:job[T.6]", "age (years) x husband's occupation: professional vs 4"),
        ('C(Q("odd: name"))[T.c[T.d]]', "odd: c[T.d] vs a:b"),
        ('Q("odd: name")[a:b]', "odd: a:b"),
        ("ill[T.True]", "ill: ill vs False"),
        ("bare[T.y]", "bare[T.y]"),
        ("np.log(age)", "np.log(age)"),
        ("bs(age, df=4)[0]", "bs(age, df=4)[0]"),
        ("unknown", "unknown"),
    ],
)
def test_a_name_is_shown_by_its_label(name: str, shown: str) -> None:
    assert labelled((name,), SCHEMA) == (shown,)


def test_labels_that_would_be_alike_are_not_shown_and_long_ones_are_cut() -> None:
    long = "how often did you visit a physician in the past twelve months"
    columns = {name: {"bounds": [0, 1], "label": long} for name in ("a", "b")}
    assert labelled(("a", "b"), {"variables": columns}) == ("a", "b")
    (cut,) = labelled(("a",), {"variables": columns})
    assert cut == "how often did you visit a physician in the past…"
    assert labelled(("a", "b"), {"variables": {"a": {"bounds": [0, 1]}}}) == ("a", "b")


@pytest.fixture(scope="module")
def fit() -> dpglm.FitResult:
    women = dpglm.load_data("fair")
    schema = declared(women)
    assert schema is not None
    plain = schema.to_dict()
    plain["variables"]["age"] |= {"label": "age of the woman", "measured_in": "years", "looked_at_data": True}
    plain["variables"]["occupation_husb"] |= {"label": "<b>husband's</b> work", "level_labels": {6: "boss"}}
    plain["variables"]["educ"]["looked_at_data"] = True  # not in the formula
    return dpglm.fit("affair ~ age + occupation_husb", women, schema=plain, privacy=(1.0, 1e-6))


def test_summary_figures_and_report_show_labels_and_names_stay(fit: dpglm.FitResult, tmp_path: Path) -> None:
    label = "<b>husband's</b> work: boss vs 1"
    assert fit.names[-1] == "age"
    assert "occupation_husb[T.6]" in fit.params.index
    text = str(fit.summary())
    assert label in text
    assert "age of the woman (years)" in text
    assert "occupation_husb[T.6]" not in text
    assert "formulas and tests take the names that fit.names lists" in text
    assert list(fit.tidy()["term"]) == list(fit.names)
    assert label in list(fit.tidy()["label"])
    assert fit.tidy(style="broom").columns[6:8].tolist() == ["conf.high", "label"]
    assert label in [row[0] for row in dpglm.compare([fit, fit]).rows]
    fit.wald_test("age = 0")
    page = Path(fit.report(tmp_path / "r.html")).read_text(encoding="utf-8")
    assert "&lt;b&gt;husband" in page
    assert "<b>husband" not in page
    fit.save(tmp_path / "f.json")
    assert str(dpglm.load(tmp_path / "f.json").summary()) == text


def test_bounds_that_were_read_off_the_data_are_a_warning_of_the_summary(fit: dpglm.FitResult) -> None:
    (note,) = [note for note in fit.summary().notes if note.startswith("Warning")]
    assert note.endswith("read off the data: age.")


def test_a_fit_without_labels_has_no_column_for_them() -> None:
    women = dpglm.load_data("fair")
    fit = dpglm.fit("affair ~ age", women, penalty="l2", privacy=1.0, seed=1)
    assert "label" not in fit.tidy().columns
    assert isinstance(fit.tidy(), pd.DataFrame)
    assert [row[0] for row in fit.summary().rows] == list(fit.names)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": [0, 1], "label": 5},
        {"bounds": [0, 1], "measured_in": 5},
        {"levels": [1, 2], "label": ["x"]},
        {"levels": [1, 2], "level_labels": {3: "x"}},
        {"levels": [1, 2], "level_labels": {1: ""}},
        {"levels": [1, 2], "level_labels": ["x", "y"]},
        {"levels": [1, 2], "measured_in": "kg"},
        {"bounds": [0, 1], "level_labels": {0: "x"}},
    ],
)
def test_labels_that_are_no_words_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="v: "):
        Schema.of({"v": wrong})


def test_labels_are_part_of_the_declaration_and_come_back(tmp_path: Path) -> None:
    schema = Schema.from_dict(SCHEMA)
    schema.to_yaml(tmp_path / "s.yaml")
    assert Schema.from_yaml(tmp_path / "s.yaml") == schema
    assert hash(Schema.from_yaml(tmp_path / "s.yaml")) == hash(schema)
