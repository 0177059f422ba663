"""The path of a fit without privacy: kept, drawn, saved, marked, and never part of a private result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import dpglm
from dpglm.errors import MethodError, PrivacyError, StoreError
from dpglm.postprocessing.store import fingerprint, from_json, to_json
from dpglm.results.fit_result import FitResult

FORMULA = "y ~ x1 + x2 + x3 + group"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return dpglm.load_data("simulated")


@pytest.fixture(scope="module")
def searched(data: pd.DataFrame) -> FitResult:
    return dpglm.fit(FORMULA, data, penalty="l1/2", privacy=None)


def test_the_path_holds_the_fit_and_what_cross_validation_said(searched: FitResult) -> None:
    path = searched.path()
    assert path.coefficients.shape == (50, 6)
    assert (np.diff(path.strengths) < 0.0).all()
    assert searched._record.strength is not None
    assert path.strengths[path.chosen] == pytest.approx(2000 * searched._record.strength, rel=1e-12)
    np.testing.assert_array_equal(path.coefficients[path.chosen], searched._record.estimates)
    assert path.counts[0] == 0
    assert path.counts[-1] > 0
    assert path.counts[path.chosen] == len(searched.selected) - 1
    assert path.losses is not None
    assert path.errors is not None
    best = int(np.argmin(path.losses))
    within = path.losses <= path.losses[best] + path.errors[best]
    assert path.chosen == int(np.argmax(within))
    assert path.rule == "one standard error, 5 folds"
    assert list(path.to_frame().columns) == list(searched.names)


def test_a_given_strength_finds_what_the_path_found(data: pd.DataFrame, searched: FitResult) -> None:
    again = dpglm.fit(FORMULA, data, penalty="l1/2", strength=searched._record.strength, privacy=None)
    np.testing.assert_allclose(again._record.estimates, searched._record.estimates, atol=1e-7)
    with pytest.raises(MethodError, match="kept none"):
        again.path()
    method = dpglm.methods.NonPrivate(path=True)
    for penalty in ("l1", "l1/2"):
        kept = dpglm.fit(FORMULA, data, penalty=penalty, strength=0.005, privacy=None, method=method)
        path = kept.path(penalty)
        assert path.strengths[path.chosen] == pytest.approx(10.0)
        assert (path.losses, path.rule) == (None, "given")
        np.testing.assert_array_equal(path.coefficients[path.chosen], kept._record.estimates)


def test_another_penalty_has_no_path_and_an_unknown_one_is_told(searched: FitResult) -> None:
    with pytest.raises(MethodError, match="another penalty"):
        searched.path("l1")
    assert searched.path("half").penalty == "l1/2"
    with pytest.raises(MethodError, match="one of"):
        searched.path("l3")


def test_the_plot_shows_path_losses_and_the_mark(searched: FitResult) -> None:
    axes = searched.plot("path")
    assert axes.get_title() == "NOT PRIVATE"
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed[0].get_xdata()[0] == pytest.approx(searched.path().strengths[searched.path().chosen])
    (twin,) = [other for other in axes.figure.axes if other is not axes]
    np.testing.assert_array_equal(twin.lines[0].get_ydata(), searched.path().losses)
    assert "one standard error, 5 folds" in axes.get_xlabel()
    pyplot.close("all")


def test_a_saved_path_reads_back_and_marks_are_kept(searched: FitResult, tmp_path: Path) -> None:
    searched.save(tmp_path / "fit.json")
    loaded = dpglm.load(tmp_path / "fit.json")
    assert loaded == searched
    assert loaded._record.alarm.startswith("NOT PRIVATE")
    np.testing.assert_array_equal(loaded.path().coefficients, searched.path().coefficients)
    assert fingerprint(from_json(to_json(searched._record, packed=True))) == fingerprint(searched._record)
    # Six coefficients at fifty strengths and two numbers more at each, in at most 30 characters a number.
    assert (
        len(to_json(searched._record))
        < len(to_json(replace(searched._record, exact_path=None))) + 30 * 50 * 9 + 200
    )


def test_a_private_result_never_holds_an_exact_path(data: pd.DataFrame, searched: FitResult) -> None:
    private = dpglm.fit(FORMULA, data, privacy=1.0)
    seeded = dpglm.fit(FORMULA, data, privacy=1.0, seed=1)
    path = json.loads(to_json(searched._record))["exact_path"]
    for fit in (private, seeded):
        assert fit._record.exact_path is None
        with pytest.raises(PrivacyError, match="exact path"):
            replace(fit._record, exact_path=searched._record.exact_path)
        document = json.loads(to_json(fit._record))
        assert document["exact_path"] is None
        with pytest.raises(StoreError, match="exact path"):
            from_json(json.dumps(document | {"exact_path": path}))


@pytest.mark.parametrize(
    "changes",
    [
        {"chosen": 50},
        {"chosen": 3},
        {"strengths": [1.0]},
        {"losses": []},
        {"folds": 0},
        {"coefficients": [0.0] * 299},
        {"errors": [-1.0] * 50},
        {"strengths": list(range(50))},
        {"more": 1},
    ],
    ids=str,
)
def test_a_changed_path_is_refused(searched: FitResult, changes: dict[str, object]) -> None:
    document = json.loads(to_json(searched._record))
    with pytest.raises(StoreError):
        from_json(json.dumps(document | {"exact_path": {**document["exact_path"], **changes}}))


def test_a_path_is_in_units_of_the_response(data: pd.DataFrame) -> None:
    table = data.assign(z=100.0 + 50.0 * data["x1"] + 10.0 * data["x3"])
    schema = dict(dpglm.fit("y ~ x1", data, privacy=None, penalty="none").specification.schema)
    schema["variables"] = {**schema["variables"], "z": {"bounds": [-300.0, 500.0]}}
    fit = dpglm.fit("z ~ x1 + x2 + x3", table, schema=schema, family="gaussian", penalty="scad", privacy=None)
    path = fit.path()
    np.testing.assert_array_equal(path.coefficients[path.chosen], fit._record.estimates)
    # The response is a linear function without error, of which the weakest penalty leaves almost all.
    np.testing.assert_allclose(path.coefficients[-1], [100.0, 50.0, 0.0, 10.0], atol=0.5)
