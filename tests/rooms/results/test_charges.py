"""Fits beside the ledger that paid for them: their lines, other charges, and what all cost."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpglm
from dpglm.errors import BudgetExceeded, MethodError


def ledger_of(path: Path) -> dpglm.Ledger:
    return dpglm.Ledger(path / "fair.db", budget=(5.0, 1e-5), dataset="fair")


def fitted(formula: str, ledger: dpglm.Ledger, key: str | None = None) -> dpglm.FitResult:
    women = dpglm.load_data("fair")
    found = dpglm.fit(
        formula, women, penalty="l2", goal="predict", privacy=1.0, ledger=ledger, key=key, progress=False
    )
    assert isinstance(found, dpglm.FitResult)
    return found


def test_fits_are_found_on_their_lines_with_what_all_cost(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path)
    first, second = fitted("affair ~ age", ledger), fitted("affair ~ religious", ledger)
    other = fitted("affair ~ educ", ledger)
    notes = " ".join(dpglm.compare([first, other], ledger=ledger).notes)
    assert "(1) on line 1; (2) on line 3" in notes
    assert "Charged for other releases: line 2" in notes
    assert "All 3 charges together: epsilon 3, delta 0 of 5 and 1e-5; left: epsilon 2, delta 1e-5" in notes
    assert "for a ledger to say" not in notes
    assert "for a ledger to say" in " ".join(dpglm.compare([first, second]).notes)


def test_a_fit_of_another_ledger_is_told(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    stranger = fitted("affair ~ age", ledger_of(tmp_path / "other"))
    ledger = ledger_of(tmp_path)
    own = fitted("affair ~ religious", ledger)
    notes = " ".join(dpglm.compare({"own": own, "stranger": stranger}, ledger=ledger).notes)
    assert "own on line 1; stranger on none" in notes


def test_a_ledger_alone_compares_the_fits_that_it_keeps(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path)
    fit = fitted("affair ~ age", ledger, key="monday")
    fitted("affair ~ religious", ledger, key="tuesday")
    dpglm.describe(dpglm.load_data("fair"), columns=["age"], privacy=0.5, ledger=ledger, key="wednesday")
    table = dpglm.compare(ledger)
    assert [column.heading for column in table.columns] == ["term", "monday", "tuesday"]
    assert [row[1] for row in table.rows][:2] == [row[1] for row in dpglm.compare({"m": fit}).rows][:2]
    assert "All 3 charges together: epsilon 2.5" in " ".join(table.notes)


def test_a_ledger_that_keeps_no_fit_says_what_to_do(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path)
    fitted("affair ~ age", ledger)
    with pytest.raises(MethodError, match="ledger=ledger"):
        dpglm.compare(ledger)


def test_a_refit_is_on_the_line_of_its_fit_and_a_fit_without_a_ledger_on_none(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path)
    women = dpglm.load_data("fair")
    fit = dpglm.fit("affair ~ age", women, privacy=(2.0, 1e-6), ledger=ledger, progress=False)
    loose = dpglm.fit("affair ~ age", women, privacy=(2.0, 1e-6), progress=False)
    notes = " ".join(
        dpglm.compare({"fit": fit, "sparse": fit.refit("l1"), "loose": loose}, ledger=ledger).notes
    )
    assert "fit on line 1; sparse on line 1; loose on none" in notes
    assert "One charge: epsilon 2, delta 1e-6 of 5 and 1e-5; left: epsilon 3, delta 9e-6" in notes


def test_sites_that_were_charged_in_one_go_have_their_lines(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path)
    fitted("affair ~ religious", ledger)
    women = dpglm.load_data("fair")
    tables = {"north": women[:3000], "south": women[3000:]}
    options = {"penalty": "l2", "goal": "predict", "privacy": 1.0, "ledger": ledger, "progress": False}
    first = dpglm.fit("affair ~ age", tables, **options)  # type: ignore[arg-type]
    second = dpglm.fit("affair ~ age", tables, **options)  # type: ignore[arg-type]
    assert len(ledger.entries) == 5
    for fits, lines in ((first, "lines 2 to 3"), (second, "lines 4 to 5")):
        notes = " ".join(dpglm.compare(fits, ledger=ledger).notes)
        assert f"north on {lines}; south on {lines}" in notes
        assert "Charged for other releases: line 1 (affair ~ religious" in notes


def test_a_budget_of_mu_and_refused_charges_are_told_as_they_are(tmp_path: Path) -> None:
    budget = dpglm.Privacy.gdp(1.0, delta=1e-6)
    ledger = dpglm.Ledger(tmp_path / "mu.db", budget=budget, dataset="fair")
    women = dpglm.load_data("fair")
    half = dpglm.Privacy.gdp(0.6, delta=1e-6)
    options = {"goal": "predict", "ledger": ledger, "progress": False}
    fit = dpglm.fit("affair ~ age", women, privacy=half, **options)  # type: ignore[arg-type]
    with pytest.raises(BudgetExceeded):
        dpglm.fit("affair ~ age", women, privacy=budget, **options)  # type: ignore[arg-type]
    last = dpglm.fit("affair ~ religious", women, privacy=half, **options)  # type: ignore[arg-type]
    notes = " ".join(dpglm.compare([fit, last], ledger=ledger).notes)
    assert "(1) on line 1; (2) on line 3" in notes
    assert "other releases" not in notes
    assert "All 2 charges together: mu 0.8486 of 1 (squares add)" in notes


def test_a_ledger_that_is_none_is_told(tmp_path: Path) -> None:
    fit = fitted("affair ~ age", ledger_of(tmp_path))
    with pytest.raises(MethodError, match="ledger of type str"):
        dpglm.compare([fit], ledger="fair.db")  # type: ignore[arg-type]
