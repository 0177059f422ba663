"""Facts that people state: where they are read from, what is refused, and how a report shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.errors import MethodError, StoreError
from dpglm.report.facts import LABELS, NOT_STATED, ReportFacts

YAML = """\
organisation: Ward <7>
recipients: [the ministry, the press]
signatory: {name: A. Doe, date: 2026-03-01}
"""


@pytest.fixture(scope="module")
def fit() -> dpglm.FitResult:
    return dpglm.fit("y ~ x1 + x2", dpglm.load_data("simulated"), privacy=1.0, progress=False)


def test_a_report_shows_what_is_stated_and_what_is_not(fit: dpglm.FitResult, tmp_path: Path) -> None:
    (tmp_path / "facts.yaml").write_text(YAML, encoding="utf-8")
    page = fit.to_html(facts=tmp_path / "facts.yaml")
    for text in ("Ward &lt;7&gt;", "the ministry; the press", "A. Doe", "2026-03-01"):
        assert text in page
    assert "Ward <7>" not in page
    assert page.count(NOT_STATED) >= len(LABELS) - 4
    assert "800-226" in page
    assert "A. Doe" not in fit.to_html()


def test_the_file_beside_a_ledger_is_found(fit: dpglm.FitResult, tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ward.db", budget=3.0)
    assert ReportFacts.of(ledger) == ReportFacts()
    (tmp_path / "report.yaml").write_text(YAML, encoding="utf-8")
    assert ReportFacts.of(ledger).stated("name") == "A. Doe"
    (tmp_path / "ward.report.yaml").write_text("organisation: its own", encoding="utf-8")
    assert ReportFacts.of(ledger).organisation == "its own"


def test_facts_that_were_given_are_given_again() -> None:
    given: dict[str, Any] = {"purpose": "care", "signatory": {"role": "officer"}}
    assert ReportFacts.of(given).given() == given


@pytest.mark.parametrize(
    "given", [{"organization": "x"}, {"purpose": 3}, {"signatory": {"nickname": "x"}}, {"signatory": "x"}, 5]
)
def test_other_facts_are_refused(given: Any) -> None:
    with pytest.raises(MethodError):
        ReportFacts.of(given)


@pytest.mark.parametrize("text", ["a: [", "x" * 70_000])
def test_files_that_are_no_facts_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.yaml").write_text(text, encoding="utf-8")
    with pytest.raises((StoreError, MethodError)):
        ReportFacts.of(tmp_path / "report.yaml")
    with pytest.raises(StoreError):
        ReportFacts.of(tmp_path / "absent.yaml")
