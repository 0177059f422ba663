"""The page as a document: whole, self-contained, the same every time, small."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpglm.postprocessing.record import LedgerLine
from dpglm.postprocessing.store import fingerprint, from_json, to_json
from tests.golden.report_pages.regenerate import pages
from tests.rooms.report.reading import URL_ATTRIBUTES, Element, Page
from tests.rooms.report.specimen import PAGES, fit, ledger, render, schema, wide

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "report_pages"
NAMES = sorted(PAGES)


def page(name: str) -> Page:
    make, choices = PAGES[name]
    return Page(render(make(), choices=choices))


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_what_it_was(name: str) -> None:
    expected = (GOLDEN / name).read_bytes().decode("utf-8")
    assert pages()[name] == expected, (
        "run python -m tests.golden.report_pages.regenerate and read the difference"
    )


@pytest.mark.parametrize("name", NAMES)
def test_tags_balance_and_ids_are_unique(name: str) -> None:
    ids = [element.attributes["id"] for element in page(name).root.walk() if "id" in element.attributes]
    assert len(ids) == len(set(ids))


def test_the_strict_reader_refuses_broken_pages() -> None:
    with pytest.raises(AssertionError):
        Page("<p><b>bold</p></b>")
    with pytest.raises(AssertionError):
        Page("<section><p>open</p>")


@pytest.mark.parametrize("name", NAMES)
def test_links_and_labels_lead_somewhere(name: str) -> None:
    elements = page(name).root.walk()
    ids = {element.attributes.get("id") for element in elements}
    for element in elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(key, "").split()) <= ids
        if element.tag == "a":
            assert element.attributes["href"][0] == "#"
            assert element.attributes["href"][1:] in ids


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_and_nothing_runs(name: str) -> None:
    make, choices = PAGES[name]
    source = render(make(), choices=choices)
    elements = Page(source).root.walk()
    assert not {"script", "iframe", "object", "embed", "img", "form", "base"} & {e.tag for e in elements}
    for element in elements:
        assert not [key for key in element.attributes if key.startswith("on") or key == "style"]
        for key in URL_ATTRIBUTES & set(element.attributes):
            assert element.attributes[key].startswith(("#", "data:,"))
    assert "url(" not in source
    assert "@import" not in source
    (policy,) = [e for e in elements if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy.attributes["content"].startswith("default-src 'none'")


@pytest.mark.parametrize("name", NAMES)
def test_language_title_skip_link_and_landmarks(name: str) -> None:
    read = page(name)
    (html,) = read.root.all("html")
    assert html.attributes["lang"] == "en"
    assert read.root.all("head")[0].all("title")[0].text.strip()
    (body,) = read.root.all("body")
    first = next(child for child in body.children if isinstance(child, Element))
    assert first.has("skip")
    assert first.attributes["href"] == "#content"
    assert read.by_id("content").tag == "main"
    assert len(read.root.all("h1")) == len(read.root.all("nav")) == 1


@pytest.mark.parametrize("name", NAMES)
def test_headings_never_skip_a_level(name: str) -> None:
    levels = [int(e.tag[1]) for e in page(name).root.walk() if re.fullmatch(r"h[1-6]", e.tag)]
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))


@pytest.mark.parametrize("name", NAMES)
def test_sections_are_numbered_in_the_order_of_the_contents(name: str) -> None:
    read = page(name)
    listed = [link.attributes["href"][1:] for link in read.root.all("nav")[0].all("a")]
    shown = [s for s in read.root.all("main")[0].all("section") if s.attributes["id"] != "verdict"]
    assert [section.attributes["id"] for section in shown] == listed
    for place, section in enumerate(shown, 1):
        assert section.all("h2")[0].words.split()[0] == str(place)


@pytest.mark.parametrize("name", NAMES)
def test_tables_have_captions_scopes_and_their_own_scroll_box(name: str) -> None:
    read = page(name)
    for table in read.root.all("table"):
        assert table.all("caption")[0].words
        assert all(th.attributes["scope"] in ("row", "col") for th in table.all("th"))
        widths = {sum(cell.tag in ("th", "td") for cell in row.walk()) for row in table.all("tr")}
        assert len(widths) == 1
    boxes = [e for e in read.root.walk() if e.has("scroll")]
    assert sum(len(box.all("table")) for box in boxes) == len(read.root.all("table"))
    assert all(box.attributes["tabindex"] == "0" and box.attributes["aria-label"] for box in boxes)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_result_gives_the_same_bytes(name: str) -> None:
    make, choices = PAGES[name]
    assert render(make(), choices=choices) == render(make(), choices=choices)


def test_another_process_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import hashlib; from tests.rooms.report.specimen import render;"
        "from tests.rooms.report.specimen import CHOICES, fit;"
        "print(hashlib.sha256(render(fit(), choices=CHOICES).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(found) == 1


@pytest.mark.parametrize("name", NAMES)
def test_no_machine_path_and_no_object_id(name: str) -> None:
    make, choices = PAGES[name]
    source = render(make(), choices=choices)
    assert str(ROOT) not in source
    assert not re.search(r"\b0x[0-9a-f]{6,}|/home/|/tmp/|/usr/", source)


def test_a_page_of_a_large_fit_stays_small() -> None:
    size = 1200
    names = tuple(f"C(occupation_of_the_person)[T.level number {k}]" for k in range(size))
    levels = [f"a rather long name of a level, number {k}" for k in range(50)]
    columns = {f"column_{k}": {"levels": levels, "source": "code book " * 20} for k in range(400)}
    line = LedgerLine("x + " * 60, "charged", 0.001, 0.0, None, "2026-01-12T09:30:00Z")
    values = np.linspace(-2.0, 2.0, size)
    large = fit(
        names=names,
        estimates=values,
        coded=values,
        selected_mask=values != 0,
        user_from_coded=np.eye(size),
        terms=tuple((name, (j,)) for j, name in enumerate(names)),
        schema=schema() | {"variables": columns},
        ledger=ledger(entries=(line,) * 2000),
    )
    source = render(large, choices={f"question {k}": "answer " * 300 for k in range(60)})
    Page(source)
    assert len(source.encode()) <= 300_000


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"wide"}))
def test_an_ordinary_page_is_far_below_the_limit(name: str) -> None:
    make, choices = PAGES[name]
    assert len(render(make(), choices=choices).encode()) <= 120_000


def test_a_page_of_98_coefficients_holds_the_whole_result_in_300_kilobytes() -> None:
    result = wide()
    assert len(result.names) == 98
    source = render(result)
    assert len(source.encode()) <= 300_000
    assert from_json(Page(source).by_id("result-json").text) == result._record


def test_a_result_that_does_not_fit_is_left_out_and_the_page_says_so() -> None:
    large = wide((150, 60, 40))
    source = render(large)
    assert len(source.encode()) <= 300_000
    assert "The JSON itself is too long for this page" in Page(source).visible
    assert fingerprint(large._record) in source


def test_the_saved_result_is_on_the_page_with_its_fingerprint() -> None:
    read = page("pure")
    assert read.by_id("result-json").text == to_json(fit()._record)
    assert fingerprint(fit()._record) in read.by_id("annex").text


def test_a_page_can_be_written_as_utf8_whatever_the_names() -> None:
    odd = fit(
        formula="y ~ \ud800 + \x00 + \u202egninrut + é",
        schema={"variables": {"\udfff": {"bounds": [0.0, 1.0]}}},
    )
    source = render(odd)
    source.encode("utf-8")
    assert not set(source) & set("\x00\u202e\ud800\udfff")


def test_choices_are_asked_for_until_they_are_answered() -> None:
    open_page, answered = (
        Page(render(fit())),
        Page(render(fit(), choices={"tuning": "fixed\nbefore", "own": "yes"})),
    )
    waiting = "to be filled in by the analyst"
    assert open_page.visible.count(waiting) == answered.visible.count(waiting) + 1
    assert "fixed before" in answered.visible
    assert [li for li in answered.by_id("choices").all("li") if li.words == "own yes"]
