"""The site that ``make docs`` built: links, headings, alternative texts, contrast, no request."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.test_chromium import BROWSER, NO_BROWSER, browse, console, requests

SITE = Path(__file__).parents[2] / "docs" / "_build"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SITE / "docs" / "index.html").exists(), reason="make docs has not built the site"
    ),
]
browser = pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
LOOKED_AT = (
    "docs/index",
    "README",
    "docs/glossary",
    "docs/reference/dpglm.fit",
    "vignettes/from_code_book_to_methods",
    "dpglm/mechanisms/information",
)


class Read(HTMLParser):
    """Links, anchors, headings, pictures without words and language of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.headings: list[int] = []
        self.wordless: list[str] = []
        self.language = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        self.ids |= {facts[name] for name in ("id", "name") if name in facts}
        self.links += [facts[name] for name in ("href", "src") if name in facts and tag != "base"]
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "img" and not facts.get("alt"):
            self.wordless.append(facts.get("src", ""))
        if tag == "html":
            self.language = facts.get("lang", "")


@cache
def read(path: Path) -> Read:
    return Read(path)


def own_pages() -> list[Path]:
    found = sorted(path for path in SITE.rglob("*.html") if path.relative_to(SITE).parts[0] != "_static")
    assert len(found) > 130
    return found


def broken(page: Path) -> list[str]:
    """Links of a page to files or anchors of the site that are not there."""
    found = []
    for link in read(page).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link == "#":
            continue
        there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        anchor = unquote(parts.fragment) if there.suffix == ".html" else ""
        if not there.exists() or (anchor and anchor not in read(there).ids):
            found.append(link)
    return found


def test_every_link_leads_to_a_page_and_an_anchor() -> None:
    assert {page.relative_to(SITE).as_posix(): links for page in own_pages() if (links := broken(page))} == {}


def test_the_link_check_sees_a_broken_link(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="absent.html">x</a><a href="#nowhere">y</a><p id="here"></p><a href="#here">z</a>'
    )
    assert broken(page) == ["absent.html", "#nowhere"]


def test_headings_are_in_order_and_pictures_have_words() -> None:
    for page in own_pages():
        name = page.relative_to(SITE).as_posix()
        if name.startswith("reports/") or name == "index.html":
            continue  # reports have tests of their own
        found = read(page)
        assert found.language == "en", name
        assert found.wordless == [], name
        assert found.headings.count(1) == 1, name
        assert all(after <= before + 1 for before, after in pairwise(found.headings)), name


def test_every_reader_finds_mathematics_notebooks_and_reports() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (SITE / "docs" / "reference").glob("*.html"))
    assert pages.count("<math ") > 30
    # Each command and each mark of a column was read.
    assert re.findall(r"<m[ion][^>]*>(?:&amp;|&|\\\\\w+)</m", pages) == []
    for path in (Path(__file__).parents[2] / "vignettes").glob("*.md"):
        assert json.loads((SITE / "vignettes" / f"{path.stem}.ipynb").read_text("utf-8"))["nbformat"] == 4
        assert f'href="{path.stem}.ipynb"' in (SITE / "vignettes" / f"{path.stem}.html").read_text("utf-8")
    assert (SITE / "reports" / "example-binomial.html").exists()


CONTRAST = """
onload = () => {
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * x + .7152 * y + .0722 * z;
  };
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.length && (colour[3] ?? 1) > .99) return colour;
    }
    return [255, 255, 255];
  };
  const bad = [];
  let seen = 0;
  for (const one of document.querySelectorAll("body *")) {
    const words = [...one.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).map(n => n.data.trim());
    const box = one.getBoundingClientRect(), style = getComputedStyle(one);
    if (!words.length || !box.width || !box.height || style.visibility === "hidden") continue;
    const [a, b] = [light(numbers(style.color)), light(ground(one))].sort((p, q) => q - p);
    const size = parseFloat(style.fontSize), bold = +style.fontWeight >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    seen += 1;
    const ratio = (a + .05) / (b + .05);
    const what = `${one.tagName}.${one.className}: ${words[0].slice(0, 40)}`;
    if (ratio < least - .01) bad.push(`${ratio.toFixed(2)} ${what}`);
  }
  const out = document.createElement("output");
  out.id = "measured";
  out.textContent = JSON.stringify({bad: bad.slice(0, 12), seen, wide: document.documentElement.scrollWidth});
  document.body.append(out);
};
"""


def measured(tmp_path: Path, page: Path, width: int = 1280) -> dict[str, object]:
    """What a browser sees of a page: words of too little contrast, and how wide it is."""
    twin = page.with_name(f"measured-{page.name}")
    twin.write_text(
        page.read_text("utf-8").replace("</body>", f"<script>{CONTRAST}</script></body>"), "utf-8"
    )
    try:
        seen = browse(
            tmp_path, twin, f"--window-size={width},900", "--virtual-time-budget=4000", "--dump-dom"
        )
    finally:
        twin.unlink()
    found = re.search(r'<output id="measured">(.*?)</output>', seen.stdout)
    assert found, seen.stderr[-2000:]
    told: dict[str, object] = json.loads(
        found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    )
    return told


@browser
@pytest.mark.parametrize("name", LOOKED_AT)
def test_words_stand_out_from_their_ground(tmp_path: Path, name: str) -> None:
    told = measured(tmp_path, SITE / f"{name}.html")
    assert int(str(told["seen"])) > 30
    assert told["bad"] == []


@browser
def test_the_contrast_check_sees_faint_words(tmp_path: Path) -> None:
    page = tmp_path / "faint.html"
    page.write_text('<!DOCTYPE html><html><body><p style="color:#999">faint</p></body></html>')
    assert len(measured(tmp_path, page)["bad"]) == 1  # type: ignore[arg-type]


@browser
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_narrow_screen_scrolls_one_way(tmp_path: Path, name: str) -> None:
    assert int(str(measured(tmp_path, SITE / f"{name}.html", 500)["wide"])) <= 500


@browser
@pytest.mark.parametrize("name", LOOKED_AT[:2])
def test_a_page_asks_nothing_of_the_network_and_says_nothing_in_the_console(
    tmp_path: Path, name: str
) -> None:
    assert requests(tmp_path, SITE / f"{name}.html") == []
    # The theme notes which colours it chose.
    assert [
        line for line in console(tmp_path, SITE / f"{name}.html") if "[PST]: Changed to" not in line
    ] == []
