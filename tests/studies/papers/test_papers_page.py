"""The page of the five papers: nothing on it is told twice, and all that it points to is there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from studies import index
from studies.page import anchor
from studies.papers import page
from studies.papers.summary import VERDICTS, PrivacyClaim
from studies.study import PAGES, ROOT


def privacy_claims() -> Iterator[PrivacyClaim]:
    for summary in page.SUMMARIES:
        yield from summary.privacy


def test_the_committed_page_is_made_of_the_committed_pages_of_studies(tmp_path: Path) -> None:
    for name in index.STUDIES:
        if (PAGES / page.file_of(name)).exists():
            shutil.copy(PAGES / page.file_of(name), tmp_path)
    made = page.write_page(tmp_path).read_text(encoding="utf-8")
    assert made == (PAGES / page.NAME).read_text(encoding="utf-8"), "run python -m studies index"
    assert "http" not in made
    assert not re.search(r"<script|<link|<img|src=", made)


def test_claims_are_those_of_the_study_pages(tmp_path: Path) -> None:
    text = (PAGES / "stacking.html").read_text(encoding="utf-8")
    table = page.first_table(text, page.CLAIMS)
    assert table is not None
    assert len(table.rows) > 10
    assert {len(row) for row in table.rows} == {len(table.columns)}
    (tmp_path / "stacking.html").write_text(
        text.replace("holds in part", "holds on Sundays"), encoding="utf-8"
    )
    assert "holds on Sundays" in page.write_page(tmp_path).read_text(encoding="utf-8")


def test_a_page_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    made = page.write_page(tmp_path).read_text(encoding="utf-8")
    for summary in page.SUMMARIES:
        for name in summary.studies:
            assert f"python -m studies run {name}" in made


def test_every_privacy_claim_is_settled_by_a_proof_or_test_that_is_there() -> None:
    for claim in privacy_claims():
        assert claim.verdict in VERDICTS
        assert claim.settled, claim.claim
        for file in claim.settled:
            path, _, test = file.partition("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            name, _, case = test.partition("[")
            assert f"def {name}(" in text if test else path.endswith(".md"), file
            assert re.search(rf"\b{case.rstrip(']')}\b", text), file


def test_every_counterpart_is_on_its_page_or_has_a_reason() -> None:
    for summary in page.SUMMARIES:
        assert summary.counterparts or summary.listed is not None, summary.name
        if summary.listed is not None:
            text = (PAGES / page.file_of(summary.listed.study)).read_text(encoding="utf-8")
            assert page.first_table(text, summary.listed.heading) is not None
        for one in summary.counterparts:
            assert one.places or one.note, one.item
            for place in one.places:
                assert place.study in summary.studies
                text = (PAGES / page.file_of(place.study)).read_text(encoding="utf-8")
                assert not place.heading or f'<h2 id="{anchor(place.heading)}">' in text, place
