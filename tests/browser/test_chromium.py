"""The page in a browser: silent console, no request, no sideways scrolling, light, dark and printed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.effort import quick
from tests.rooms.report.specimen import PAGES, render

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NO_BROWSER = "no chromium or google-chrome on this machine"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--hide-scrollbars",
)
NAMES = sorted(PAGES)
WIDTHS = (320, 400, 1280)


def browse(tmp_path: Path, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open ``file`` in a fresh profile."""
    assert BROWSER is not None
    profile = tmp_path / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *options, file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)


def written(tmp_path: Path, name: str) -> Path:
    make, choices = PAGES[name]
    path = tmp_path / f"{name}.html"
    path.write_text(render(make(), choices=choices), encoding="utf-8")
    return path


def console(tmp_path: Path, file: Path) -> list[str]:
    told = browse(tmp_path, file, "--enable-logging=stderr", "--v=0", "--dump-dom").stderr
    return [line for line in told.splitlines() if "CONSOLE" in line]


def requests(tmp_path: Path, file: Path) -> list[str]:
    """Addresses outside the file that the page asked for, whether or not anybody answered.

    The browser asks for its own updates too; a request is the page's when its key names the file.
    """
    log = tmp_path / "net.json"
    browse(tmp_path, file, f"--log-net-log={log}", "--virtual-time-budget=2000", "--dump-dom")
    events = json.loads(log.read_text(encoding="utf-8", errors="replace"))
    asked = [event.get("params") or {} for event in events["events"]]
    ours = [e["url"] for e in asked if "url" in e and "file://" in str(e.get("network_isolation_key"))]
    return sorted({url for url in ours if not url.startswith(("file:", "data:", "about:"))})


@pytest.mark.parametrize("name", quick(NAMES, "intervals", "stack"))
def test_the_console_stays_silent(tmp_path: Path, name: str) -> None:
    assert console(tmp_path, written(tmp_path, name)) == []


def test_the_console_check_hears_a_fault(tmp_path: Path) -> None:
    loud = tmp_path / "loud.html"
    loud.write_text("<!DOCTYPE html><title>x</title><script>missing()</script>", encoding="utf-8")
    assert console(tmp_path, loud)


@pytest.mark.parametrize("name", quick(NAMES, "intervals", "stack"))
def test_nothing_is_asked_of_the_network(tmp_path: Path, name: str) -> None:
    assert requests(tmp_path, written(tmp_path, name)) == []


def test_the_network_check_sees_a_request_and_the_policy_stops_it(tmp_path: Path) -> None:
    image = '<img src="http://127.0.0.1:9/x.png" alt="">'
    leaky = tmp_path / "leaky.html"
    leaky.write_text(f"<!DOCTYPE html><title>x</title>{image}", encoding="utf-8")
    assert requests(tmp_path, leaky) == ["http://127.0.0.1:9/x.png"]
    page = written(tmp_path, "pure")
    page.write_text(page.read_text(encoding="utf-8").replace("</main>", f"{image}</main>"), encoding="utf-8")
    assert requests(tmp_path, page) == []


MEASURE = """
onload = () => {
  const found = {}, box = one => one.getBoundingClientRect();
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, width = +frame.width;
    page.querySelectorAll("details").forEach(one => one.open = true);
    const svgs = [...page.querySelectorAll("svg")];
    const letters = [...page.querySelectorAll("svg text")].map(one => {
      const svg = one.ownerSVGElement;
      return parseFloat(getComputedStyle(one).fontSize) * box(svg).width / svg.viewBox.baseVal.width;
    });
    found[width] = {
      scroll: page.documentElement.scrollWidth,
      svgs: svgs.length,
      cut: svgs.filter(one => box(one).right > width + 1).length,
      smallest: Math.min(...letters),
    };
  }
  document.getElementById("out").textContent = JSON.stringify(found);
};
"""


def sideways(tmp_path: Path, page: Path) -> dict[str, dict[str, float]]:
    """In frames of several widths: scroll width, figures, those that are cut, smallest letters in them."""
    frame = '<iframe width="{}" height="900" src="{}" frameborder="0"></iframe>'
    frames = "".join(frame.format(width, page.name) for width in WIDTHS)
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(
        f'<!DOCTYPE html><title>x</title><body>{frames}<pre id="out"></pre><script>{MEASURE}</script>',
        encoding="utf-8",
    )
    options = ("--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom")
    seen = browse(tmp_path, wrapper, *options)
    found = re.search(r'<pre id="out">(.*?)</pre>', seen.stdout)
    assert found, seen.stderr[-2000:]
    measured: dict[str, dict[str, float]] = json.loads(found.group(1))
    return measured


@pytest.mark.parametrize("name", quick(NAMES, "intervals", "stack"))
def test_a_narrow_screen_needs_no_sideways_scrolling(tmp_path: Path, name: str) -> None:
    measured = sideways(tmp_path, written(tmp_path, name))
    for width in WIDTHS:
        seen = measured[str(width)]
        assert seen["scroll"] <= width
        assert seen["svgs"] > 0
        assert seen["cut"] == 0
        assert seen["smallest"] >= (9 if width >= 400 else 7)  # pixels


def test_the_width_check_sees_a_wide_page(tmp_path: Path) -> None:
    page = written(tmp_path, "plain")
    wide = page.read_text(encoding="utf-8").replace("</style>", "main { width: 60rem; }</style>")
    page.write_text(wide, encoding="utf-8")
    assert sideways(tmp_path, page)["400"]["scroll"] > 400


@pytest.mark.parametrize("name", quick(NAMES, "intervals", "stack"))
def test_it_prints(tmp_path: Path, name: str) -> None:
    target = tmp_path / "page.pdf"
    browse(tmp_path, written(tmp_path, name), "--no-pdf-header-footer", f"--print-to-pdf={target}")
    pdf = target.read_bytes()
    assert pdf.startswith(b"%PDF-")
    # 16 pages hold a fit of a dozen terms; each of a hundred more adds lines to five tables and two figures.
    most = 26 if name == "wide" else 16
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= most


def brightness(tmp_path: Path, page: Path, *options: str) -> float:
    from matplotlib.image import imread

    target = tmp_path / "page.png"
    browse(tmp_path, page, "--window-size=1000,1400", f"--screenshot={target}", *options)
    return float(imread(target)[..., :3].mean())


@pytest.mark.parametrize("name", ["pure", "plain"])
def test_dark_mode_is_dark_and_light_mode_light(tmp_path: Path, name: str) -> None:
    page = written(tmp_path, name)
    assert brightness(tmp_path, page) > 0.75
    assert brightness(tmp_path, page, "--blink-settings=preferredColorScheme=0") < 0.3
