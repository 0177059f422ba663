"""Facts that people state: from a mapping, a file or beside a ledger, shown as they are, or as not stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpglm.errors import MethodError, StoreError
from dpglm.ledger.ledger import Ledger
from dpglm.report.facts import LONGEST, ReportFacts
from tests.rooms.report import specimen
from tests.rooms.report.reading import Page

LINES = "organisation: Ward 7\nrecipients: [board, public]\nsignatory:\n  name: A. Doe\n  date: 2026-11-02\n"
GIVEN = {
    "organisation": "Ward 7",
    "recipients": "board; public",
    "signatory": {"name": "A. Doe", "date": "2026-11-02"},
}


def test_a_mapping_and_a_file_state_the_same(tmp_path: Path) -> None:
    path = tmp_path / "report.yaml"
    path.write_text(LINES, encoding="utf-8")
    assert ReportFacts.of(path).given() == GIVEN
    assert ReportFacts.of(GIVEN) == ReportFacts.of(str(path))
    assert ReportFacts.of(GIVEN).stated("purpose") == "not stated"
    assert ReportFacts.of(None).given() == {}


@pytest.mark.parametrize("name", ["report.yaml", "fair.report.yaml"])
def test_a_ledger_stands_for_the_file_beside_it(name: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "fair.db", budget=(1.0, 1e-6), dataset="fair")
    assert ReportFacts.of(ledger).given() == {}
    (tmp_path / name).write_text(LINES, encoding="utf-8")
    assert ReportFacts.of(ledger).given() == GIVEN


@pytest.mark.parametrize(
    "given",
    [
        5,
        ["organisation"],
        {"owner": "x"},
        {"organisation": 5},
        {"signatory": "A. Doe"},
        {"signatory": {"x": "y"}},
    ],
    ids=str,
)
def test_other_facts_are_refused(given: object) -> None:
    with pytest.raises(MethodError, match="for a report"):
        specimen.fit().to_html(facts=given)


@pytest.mark.parametrize("content", ["a: [", "x" * 70_000, "\tx: 1"], ids=["bracket", "long", "tab"])
def test_a_file_that_is_not_yaml_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "report.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StoreError):
        ReportFacts.of(path)
    with pytest.raises(StoreError):
        ReportFacts.of(tmp_path / "none.yaml")


def test_facts_are_words_on_the_page_and_never_markup() -> None:
    page = specimen.fit().to_html(facts={"organisation": "<b>Ward</b>\n7", "purpose": "y" * 2 * LONGEST})
    Page(page)
    assert "&lt;b&gt;Ward&lt;/b&gt; 7" in page
    assert "<b>Ward" not in page
    assert "y" * LONGEST not in page


def test_the_crosswalk_names_the_guidelines_and_what_is_not_stated() -> None:
    page = specimen.fit().to_html()
    assert "NIST SP 800-226" in page
    assert "organisation: not stated" in page
