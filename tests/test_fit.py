"""The main job, from a formula to a report, as a user would type it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from click.testing import CliRunner, Result

import dpglm
from dpglm.cli import main
from dpglm.data.tables.sources import declared
from dpglm.errors import BudgetExceeded, MethodError, PrivacyError, SchemaError

FORMULA = "y ~ x1 + x2"
WITH_FACTOR = "y ~ x1 * group + x2"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return dpglm.load_data("simulated")


def test_the_call_of_the_readme_works_as_it_stands(data: pd.DataFrame) -> None:
    fit = dpglm.fit(FORMULA, data, penalty="l1", privacy=1.0)
    assert list(fit.params.index) == ["Intercept", "x1", "x2"]
    assert fit.privacy.epsilon == 1.0
    assert fit.privacy.delta == 0.0
    assert "NOT PRIVATE" not in str(fit.summary())


@pytest.mark.parametrize("goal", ["explain", "predict", "select"])
def test_every_goal_is_accepted(data: pd.DataFrame, goal: Any) -> None:
    assert dpglm.fit(FORMULA, data, privacy=1.0, goal=goal, seed=0).specification.goal == goal


@pytest.mark.parametrize("privacy", [1.0, (1.0, 1e-6), None], ids=str)
@pytest.mark.parametrize(("goal", "penalty"), [("explain", "none"), ("predict", "l1"), ("select", "l1/2")])
def test_the_penalty_follows_the_goal_and_the_result_keeps_it(
    data: pd.DataFrame, goal: Any, penalty: str, privacy: Any
) -> None:
    options: dict[str, Any] = {"goal": goal, "privacy": privacy, "seed": 0, "strength": None}
    if privacy is None and goal != "explain":
        options["method"] = dpglm.methods.NonPrivate()
        options["strength"] = 0.01
    found, given = (dpglm.fit(FORMULA, data, penalty=asked, **options) for asked in (None, penalty))
    assert found.specification == given.specification
    assert found.specification.penalty.name == found.glance()["penalty"][0] == penalty
    assert found.plan_fingerprint == given.plan_fingerprint
    assert found.params.equals(given.params)
    assert dpglm.ModelSpec.of_document(found.specification).penalty.name == penalty


@pytest.mark.parametrize("goal", ["explain", "predict", "select"])
@pytest.mark.parametrize("method", ["auto", "objective", "output"])
def test_no_method_refuses_the_penalty_of_a_goal(method: str, goal: Any) -> None:
    schema = {"y": ["no", "yes"], "x1": (-3, 3)}
    plan = dpglm.plan("y ~ x1", schema, goal=goal, method=method, privacy=(1.0, 1e-6))
    assert plan.specification.penalty.convex or method != "output"


@pytest.mark.parametrize("penalty", [*dpglm.penalties.penalties, dpglm.penalties.ElasticNet(0.01)])
@pytest.mark.parametrize(
    "privacy",
    [
        0.5,
        (0.5, 1e-6),
        dpglm.Privacy(2.0, relation="add-remove"),
        dpglm.Privacy(2.0, 1e-9, relation="add-remove"),
        dpglm.Privacy.gdp(0.5),
        dpglm.Privacy.zcdp(0.1),
    ],
    ids=str,
)
def test_every_penalty_under_every_kind_of_budget(data: pd.DataFrame, penalty: Any, privacy: Any) -> None:
    budget = dpglm.Privacy.of(privacy)
    fixed = not isinstance(penalty, str)
    schema = dpglm.Schema.of({"y": ["no", "yes"], "x1": (-3.0, 3.0), "x2": (-3.0, 3.0)})
    schema = dpglm.Schema(schema.variables, rows=2000) if fixed else schema
    fit = dpglm.fit(FORMULA, data, schema=schema, penalty=penalty, privacy=privacy)
    assert fit.privacy.epsilon == budget.epsilon
    assert fit.privacy.mu == budget.mu
    assert (fit.n_rows is None) == (budget.relation == "add-remove")
    assert sum(line.share for line in fit._record.spend_lines) == pytest.approx(
        1.0
    )  # all of the budget is used


def test_frames_files_and_arrow_tables_give_the_same_fit(data: pd.DataFrame, tmp_path: Path) -> None:
    schema = declared(data)
    plain = pd.DataFrame(data)
    plain.attrs = {}
    csv, parquet = tmp_path / "table.csv", tmp_path / "table.parquet"
    plain.to_csv(csv, index=False)
    plain.to_parquet(parquet)
    fits = [
        dpglm.fit(WITH_FACTOR, source, schema=schema, privacy=1.0, seed=5).params.to_numpy()
        for source in (data, csv, str(parquet), polars.from_pandas(plain))
    ]
    for other in fits[1:]:
        assert other.tolist() == fits[0].tolist()


def test_a_schema_beside_the_file_is_found(data: pd.DataFrame, tmp_path: Path) -> None:
    data.to_csv(tmp_path / "ward.csv", index=False)
    with pytest.raises(SchemaError, match="x1"):
        dpglm.fit(FORMULA, tmp_path / "ward.csv", privacy=1.0)
    schema = declared(data)
    assert schema is not None
    (tmp_path / "ward.schema.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    assert dpglm.fit(FORMULA, tmp_path / "ward.csv", privacy=1.0, seed=1).names[1] == "x1"


def test_a_saved_fit_predicts_and_reports_the_same(data: pd.DataFrame, tmp_path: Path) -> None:
    fit = dpglm.fit(WITH_FACTOR, data, privacy=(1.0, 1e-6))
    loaded = dpglm.load(fit.save(tmp_path / "fit.json"))
    assert loaded == fit
    assert str(loaded.summary()) == str(fit.summary())
    assert loaded.to_html() == fit.to_html()
    new = pd.DataFrame({"x1": [0.0, 9.0, None], "x2": [0.5, 0.5, 0.5], "group": ["a", "b", "a"]})
    for what in ("mean", "link"):
        np.testing.assert_array_equal(loaded.predict(new, what), fit.predict(new, what))
    assert np.isnan(fit.predict(new)).tolist() == [False, False, True]


def test_predictions_follow_from_the_printed_coefficients(data: pd.DataFrame) -> None:
    fit = dpglm.fit(FORMULA, data, penalty="l2", privacy=1.0, seed=2)
    new = pd.DataFrame({"x1": [0.3, -1.2], "x2": [2.0, 0.1]})
    by_hand = fit.params["Intercept"] + fit.params["x1"] * new["x1"] + fit.params["x2"] * new["x2"]
    np.testing.assert_allclose(
        fit.predict(new, "link"), by_hand, rtol=1e-6
    )  # rows are float32 in no place here


def test_a_result_holds_no_data(data: pd.DataFrame) -> None:
    import gc

    fit = dpglm.fit(FORMULA, data, privacy=1.0)
    seen: set[int] = set()
    todo: list[Any] = [fit]
    while todo:
        thing = todo.pop()
        if (
            id(thing) in seen
            or isinstance(thing, type)
            or callable(thing)
            or type(thing).__name__ == "module"
        ):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, pd.DataFrame | pd.Series)
        if isinstance(thing, np.ndarray):
            assert thing.size < len(data)
        todo.extend(gc.get_referents(thing))


def test_two_fits_never_share_noise(data: pd.DataFrame) -> None:
    first, second = (dpglm.fit(FORMULA, data, penalty="l2", privacy=1.0) for _ in range(2))
    assert (first._record.coded != second._record.coded).all()


def test_a_seed_repeats_and_marks_the_result(data: pd.DataFrame, tmp_path: Path) -> None:
    first, second = (dpglm.fit(FORMULA, data, penalty="l2", privacy=1.0, seed=9) for _ in range(2))
    assert (first._record.coded == second._record.coded).all()
    for text in (
        str(first.summary()),
        first.to_html(),
        first.summary().to_latex(),
        first.summary().to_markdown(),
    ):
        assert "NOT PRIVATE" in text
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=2.0)
    with pytest.raises(PrivacyError):
        dpglm.fit(FORMULA, data, privacy=1.0, seed=9, ledger=ledger)
    assert ledger.spent.epsilon == 0.0


def test_the_ledger_is_charged_shown_and_kept_within_budget(data: pd.DataFrame, tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(1.2, 1e-5), dataset="ward-7")
    fit = dpglm.fit(FORMULA, data, privacy=(1.0, 1e-6), ledger=ledger)
    assert ledger.spent.epsilon == 1.0
    assert "ward-7" in str(fit.summary())
    with pytest.raises(BudgetExceeded):
        dpglm.fit(FORMULA, data, privacy=(0.5, 1e-6), ledger=ledger)
    assert [entry.status for entry in ledger.entries] == ["charged", "refused"]


def test_clipped_coding_clips_rows_and_says_so(data: pd.DataFrame) -> None:
    fit = dpglm.fit(WITH_FACTOR, data, privacy=1.0, method=dpglm.methods.Objective(coding="clipped"))
    assert fit.specification.method.options["coding"] == "clipped"
    assert fit._record.rows_clipped != "none"
    with pytest.raises(MethodError):
        dpglm.fit(FORMULA, data, privacy=1.0, method=dpglm.methods.Objective(coding="other"))  # type: ignore[arg-type]


def test_cross_validation_is_for_fits_without_privacy(data: pd.DataFrame) -> None:
    fit = dpglm.fit("y ~ x1 + x2 + group", data, penalty="l1", strength="cv", privacy=None)
    assert fit._record.strength is not None
    assert fit._record.strength > 0
    assert "NOT PRIVATE" in str(fit.summary())
    with pytest.raises(MethodError):
        dpglm.fit(FORMULA, data, strength="cv", privacy=1.0)


def test_an_offset_moves_the_linear_predictor_by_itself(data: pd.DataFrame) -> None:
    fit = dpglm.fit("y ~ x1 + offset(0.5 * x2)", data, penalty="none", privacy=1.0, seed=4)
    new = pd.DataFrame({"x1": [0.0, 0.0], "x2": [0.0, 1.0]})
    link = np.asarray(fit.predict(new, "link"))
    assert link[1] - link[0] == pytest.approx(0.5)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_command_line_fits_reports_and_shows_the_ledger(
    data: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data.to_csv(tmp_path / "ward.csv", index=False)
    schema = declared(data)
    assert schema is not None
    (tmp_path / "ward.schema.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    made = run("ledger", "create", "ward.db", "--budget", "1.5,1e-5", "--dataset", "ward-7")
    assert made.exit_code == 0, made.stderr
    fit = ["fit", FORMULA, "ward.csv", "--privacy", "1,1e-6", "--penalty", "l1", "--ledger", "ward.db"]
    done = run(*fit, "--report", "out.html", "--save", "fit.json")
    assert done.exit_code == 0, done.stderr
    assert "x1" in done.stdout
    assert (tmp_path / "out.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert dpglm.load(tmp_path / "fit.json").formula == FORMULA
    refused = run(*fit)
    assert refused.exit_code != 0
    assert "Remedy:" in refused.stderr
    assert "Traceback" not in refused.stderr
    shown = run("ledger", "show", "ward.db")
    assert "ward-7" in shown.stdout
    assert "refused" in shown.stdout
