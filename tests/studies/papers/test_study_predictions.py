"""The study of predictions: its quick run, its rows, and the peer's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies import real_tables
from studies.predictions.fits import CALLS, NONPRIVATE, PEER, work
from studies.predictions.study import FULL, STUDY, jobs
from studies.predictions.tables import FEW_ROWS, REAL, split


def test_a_quick_run_fits_and_writes_its_page(tmp_path: Path) -> None:
    assert STUDY.run(tmp_path, quick=True) == []
    found = STUDY.findings(tmp_path, quick=True)
    assert found.missing == 0
    assert all(0.5 < one["auc"] <= 1.0 for one in found.results)
    STUDY.write(tmp_path / "predictions.html", found)
    text = (tmp_path / "predictions.html").read_text(encoding="utf-8")
    assert "<td>first simulation</td><td>10,000</td><td>1</td>" in text
    assert "The default call is within 0.01" in text


def test_the_whole_study_has_peers_only_where_they_offer_the_budget() -> None:
    asked = jobs(FULL, FULL.tables, ())
    assert len({str(job) for job in asked}) == len(asked)
    assert {job["delta"] for job in asked if job["call"].startswith("DP-SGD")} == {1e-6}
    assert {job["delta"] for job in asked if job["call"] == PEER} <= {0.0}
    assert sum(job["call"] == NONPRIVATE for job in asked) == len(FULL.tables)
    assert set(FULL.calls) == set(CALLS)


def test_tables_of_few_rows_have_more_seeds() -> None:
    asked = jobs(FULL, FULL.tables, ())
    seeds = {name: {job["repeat"] for job in asked if job["table"] == name} for name in FULL.tables}
    assert {name for name, found in seeds.items() if len(found) == 30} == set(FEW_ROWS)
    assert all(len(found) == 2 for name, found in seeds.items() if name not in FEW_ROWS)


@pytest.mark.parametrize("name", REAL)
def test_few_rows_are_less_than_a_thousand(name: str) -> None:
    real_tables.require(name)
    assert (len(real_tables.table(name).frame()) < 1_000) == (name in FEW_ROWS)


@pytest.mark.parametrize("name", REAL)
def test_a_table_has_both_classes_in_rows_to_predict(name: str) -> None:
    real_tables.require(name)
    rows = split(name)
    assert 20 < rows.positive.sum() < len(rows.positive) - 20 or len(rows.positive) < 100
    assert not set(rows.train.index) & set(rows.test.index)
    assert rows.train.index.equals(split(name).train.index)


def test_simulated_rows_are_those_of_the_papers() -> None:
    first, second = split("first simulation"), split("second simulation")
    assert (len(first.train), len(second.train), len(first.test)) == (10_000, 32_000, 10_000)
    X = first.train.drop(columns="y").to_numpy()
    # 10,000 rows: five standard errors of a correlation, failure probability below 1e-6.
    assert np.corrcoef(X[:, 3], X[:, 4])[0, 1] == pytest.approx(0.5, abs=0.05)


def test_what_dpglm_refuses_is_told() -> None:
    job = {"table": "first simulation", "call": "DP-SGD, default, clipped", "epsilon": 1.0}
    found = work({**job, "relation": "replace-one", "delta": 0.0, "repeat": 0})
    assert "refused" in found
