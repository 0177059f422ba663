"""Pages as axe-core sees them: contrast, names, landmarks, alternative texts, what a keyboard reaches.

axe-core is one file of JavaScript. It comes with the package ``axe-playwright-python``, whose code is not
imported, so that it may be installed without the browser driver that it asks for.
"""

from __future__ import annotations

import html
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import dpglm
from tests.browser.test_chromium import BROWSER, NO_BROWSER, browse
from tests.browser.test_site import LOOKED_AT, SITE
from tests.effort import quick
from tests.rooms.report.specimen import PAGES, render
from vignettes import notebooks, pages

ROOT = Path(__file__).parents[2]
_PACKAGE = find_spec("axe_playwright_python")
AXE = Path(_PACKAGE.origin).with_name("axe.min.js") if _PACKAGE and _PACKAGE.origin else None
NO_AXE = "no axe-core: python -m pip install --no-deps axe-playwright-python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(AXE is None, reason=NO_AXE),
]
of_the_site = pytest.mark.skipif(
    not (SITE / "docs" / "index.html").exists(), reason="make docs has not built the site"
)
DARK = "--blink-settings=preferredColorScheme=0"
NARROW = "--window-size=500,900"
FAULTS = ("serious", "critical")
# What Jupyter's own page is made of, but for its outputs.
OF_JUPYTER = (".jp-InputPrompt", ".jp-OutputPrompt", ".jp-CodeMirrorEditor")
# With wide tables, formulas and lists of references.
WIDE = ("docs/methods", "docs/reference/dpglm.methods.DPSC", "docs/reference/dpglm.penalties.L1")
REPORTS = sorted((ROOT / "reports").glob("*.html"))

# Closed parts are looked at, too; half a second is left for what scripts of the page do after loading.
RUN = """
onload = () => setTimeout(async () => {
  document.querySelectorAll("details").forEach(one => one.open = true);
  const left_out = %s.map(one => [one]).filter(([one]) => document.querySelector(one));
  const told = await axe.run({include: [["html"]], exclude: left_out}, {resultTypes: ["violations"]});
  const out = document.createElement("output");
  out.id = "axe";
  out.textContent = JSON.stringify({
    passes: told.passes.length,
    faults: told.violations.map(one => ({
      rule: one.id,
      impact: one.impact,
      where: one.nodes.slice(0, 5).map(node => node.target.join(" ") + ": " + node.failureSummary),
    })),
  });
  document.body.append(out);
}, 500);
"""


def faults(tmp_path: Path, page: Path, *options: str, without: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Rules that a page breaks in a way that axe calls serious or critical, and where it does."""
    assert AXE is not None
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8")
    )  # it stops scripts
    script = f"<script>{AXE.read_text('utf-8')}</script><script>{RUN % json.dumps(without)}</script>"
    before, end, after = text.rpartition("</body>")
    twin = page.with_name(f"axe-{page.name}")
    twin.write_text(f"{before}{script}{end}{after}", encoding="utf-8")
    try:
        seen = browse(tmp_path, twin, *options, "--virtual-time-budget=60000", "--dump-dom")
    finally:
        twin.unlink()
    found = re.search(r'<output id="axe">(.*?)</output>', seen.stdout, flags=re.DOTALL)
    assert found, seen.stderr[-2000:]
    told = json.loads(html.unescape(found[1]))
    assert told["passes"] > 10
    return {one["rule"]: one["where"] for one in told["faults"] if one["impact"] in FAULTS}


def copied(tmp_path: Path, page: Path) -> Path:
    """A page that needs no other file, beside which a test may write."""
    there = tmp_path / page.name
    there.write_bytes(page.read_bytes())
    return there


@pytest.mark.parametrize("options", [(), (DARK,), (NARROW,)], ids=["light", "dark", "narrow"])
@pytest.mark.parametrize("name", quick(sorted(PAGES), "intervals"))
def test_a_privacy_report_has_no_serious_fault(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    make, choices = PAGES[name]
    page = tmp_path / f"{name}.html"
    page.write_text(render(make(), choices=choices), encoding="utf-8")
    assert faults(tmp_path, page, *options) == {}


@pytest.mark.parametrize(
    "path",
    quick(REPORTS, *(path for path in REPORTS if path.stem in ("example-binomial", "index"))),
    ids=lambda path: path.stem,
)
def test_reports_and_studies_have_no_serious_fault(tmp_path: Path, path: Path) -> None:
    assert faults(tmp_path, copied(tmp_path, path), "--window-size=1000,900") == {}


@of_the_site
@pytest.mark.parametrize(
    "name", quick([*LOOKED_AT, *WIDE], "docs/index", "docs/reference/dpglm.fit", "docs/methods")
)
def test_a_page_of_the_site_has_no_serious_fault(tmp_path: Path, name: str) -> None:
    assert faults(tmp_path, SITE / f"{name}.html", "--window-size=1280,900") == {}
    assert faults(tmp_path, SITE / f"{name}.html", NARROW) == {}


def test_a_notebook_page_has_no_serious_fault_of_ours(tmp_path: Path) -> None:
    nbconvert = pytest.importorskip("nbconvert", reason="no nbconvert on this machine")
    from nbformat import v4

    women = dpglm.load_data("fair")
    plan = dpglm.plan("affair ~ age + religious", women, n=6366, privacy=(2.0, 1e-6))
    fit = plan.fit(women, seed=1)
    ledger = dpglm.Ledger(tmp_path / "a.db", budget=(3.0, 1e-5))
    shown = [plan, fit, ledger, plan.guarantee]
    shown += [fit.path("l1"), dpglm.compare([fit]), fit.wald_test("age = 0")]
    made = notebooks.notebook(pages.FOLDER / "from_code_book_to_methods.md")
    for place, value in enumerate(shown):
        output = v4.new_output("display_data", data={"text/html": value._repr_html_()})
        made.cells.append(v4.new_code_cell("value", outputs=[output], id=f"shown-{place}"))
    page = tmp_path / "notebook.html"
    page.write_text(nbconvert.HTMLExporter().from_notebook_node(made)[0], encoding="utf-8")
    assert faults(tmp_path, page, "--window-size=1280,900", without=OF_JUPYTER) == {}


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ("color-contrast", '<p style="color: #999">words that are faint</p>'),
        ("image-alt", '<img src="data:,">'),
        ("select-name", "<select><option>one</option></select>"),
        ("link-name", '<a href="#x"></a>'),
        ("scrollable-region-focusable", '<pre style="width: 9em; overflow: auto">a line that is long</pre>'),
        ("aria-required-children", '<div role="list"><p>no item</p></div>'),
    ],
)
def test_axe_sees_a_fault(tmp_path: Path, rule: str, part: str) -> None:
    page = tmp_path / "page.html"
    start = '<!DOCTYPE html><html lang="en"><head><title>page</title></head><body><main><h1>A page</h1>'
    page.write_text(f"{start}{part}</main></body></html>", encoding="utf-8")
    assert set(faults(tmp_path, page)) == {rule}
