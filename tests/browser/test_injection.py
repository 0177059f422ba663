"""Hostile text in every place of report, tables and ledger, in a real browser: shown, and never obeyed.

The pages run without their Content-Security-Policy, so that it is the escaping that is tried.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from dpglm.ledger.ledger import Ledger
from dpglm.tables.table import Column, Table, one_line
from tests.attacks.ledgers import pure
from tests.browser.test_chromium import BROWSER, NO_BROWSER, browse, requests
from tests.rooms.report.specimen import render
from tests.rooms.report.test_escaping import FIELDS, hostile

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)]

CALL = "top.RAN=1;document.title='RAN';fetch('http://127.0.0.1:9/fetch');alert(1)"
URL = "http://127.0.0.1:9/x"
PAYLOADS = [
    f"<script>{CALL}</script>",
    f"</title><script>{CALL}</script>",
    f"</style><script>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"</textarea><script>{CALL}</script>",
    f"</pre></code></td></table><script>{CALL}</script>",
    f"</svg></text></title><script>{CALL}</script>",
    f'<img src={URL} onerror="{CALL}">',
    f"<img src=x onerror={CALL}>",
    f'<svg/onload="{CALL}">',
    f'<svg><script href={URL}></script><animate onbegin="{CALL}" attributeName=x></svg>',
    f'<math><mtext><table><mglyph><style><img src={URL} onerror="{CALL}">',
    f'<body onload="{CALL}">',
    f'<details open ontoggle="{CALL}">',
    f'<input autofocus onfocus="{CALL}">',
    f'<iframe src="javascript:{CALL}"></iframe>',
    f'<iframe srcdoc="<script>{CALL}</script>">',
    f'<a href="javascript:{CALL}">x</a>',
    f"<object data={URL}></object><embed src={URL}>",
    f"<link rel=stylesheet href={URL}>",
    f'<meta http-equiv=refresh content="0;url={URL}">',
    f"<base href={URL}>",
    f"<form action={URL}><button autofocus>x</button></form>",
    f"<style>@import '{URL}'; * {{ background: url({URL}) }}</style>",
    f'" style="background:url({URL})" onmouseover="{CALL}" x="',
    f"' onfocus='{CALL}' tabindex='0' autofocus x='",
    f"` onload=`{CALL}`",
    f"expression({CALL})",
    f"javascript:{CALL}",
    f"data:text/html,<script>{CALL}</script>",
    f"<!--><script>{CALL}</script>-->",
    f"<![CDATA[><script>{CALL}</script>]]>",
    f"<?xml-stylesheet href='{URL}'?>",
    f"&lt;script&gt;{CALL}&lt;/script&gt;",
    f"&#60;script&#62;{CALL}&#60;/script&#62;",
    f"\\x3cscript\\x3e{CALL}",
    "{{ 7 * 7 }}{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "${7*7} #{7*7} <%= 7*7 %>",
    f"\x00<scr\x00ipt>{CALL}</script>",
    f"\u202e<script>{CALL}</script>\u202c",
    f"\ufeff+ADw-script+AD4-{CALL}",
    f"<scr\u0131pt>{CALL}</scr\u0131pt>",
    f"\uff1cscript\uff1e{CALL}",
    f"<xmp><plaintext><noscript><template><script>{CALL}</script>",
]

COLLECT = """
onload = () => setTimeout(() => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, all = [...page.querySelectorAll("*")];
    found[frame.id] = {
      title: page.title,
      tags: [...new Set(all.map(one => one.localName))].sort(),
      handlers: all.flatMap(one => one.getAttributeNames()).filter(name => name.startsWith("on")),
      links: all.flatMap(one => ["href", "src", "action", "style"].map(name => one.getAttribute(name)))
        .filter(Boolean),
      comments: page.createNodeIterator(page.documentElement, NodeFilter.SHOW_COMMENT).nextNode() !== null,
      cells: [...page.querySelectorAll("td, th, dd, dt, caption, title, code, p, li, strong")]
        .map(one => one.textContent),
    };
  }
  document.getElementById("out").textContent = JSON.stringify({ran: window.RAN || 0, found});
}, 1000);
"""


def report_page(text: str) -> str:
    """A report with one text in all its places, without the policy that would stop a script anyway."""
    page = render(hostile(dict.fromkeys(FIELDS, text), private=True), choices={"tuning": text, text: text})
    found, changes = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert changes == 1
    return found


def table_page(ledger: Ledger) -> str:
    """All payloads in tables and in a ledger, as a notebook would show them."""
    columns = (Column("text", "left"), Column("again"))
    parts = [
        Table(
            title=text, columns=columns, rows=((text, text),), wide=((text, text),), notes=(text,), alarm=text
        )
        for text in PAYLOADS
    ]
    shown = "".join(table._repr_html_() for table in parts) + ledger._repr_html_()
    return f'<!DOCTYPE html><meta charset="utf-8"><title>tables</title><body>{shown}</body>'


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that holds all the others in frames."""
    folder = tmp_path_factory.mktemp("pages")
    ledger = Ledger(folder / "a.ledger", 1.0, dataset=PAYLOADS[0])
    for text in PAYLOADS:
        if text.isprintable():
            ledger.charge(pure(0.001), what=text)
    made = {
        "tables": table_page(ledger),
        **{f"report{k}": report_page(PAYLOADS[k]) for k in range(len(PAYLOADS))},
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    frames = "".join(f'<iframe id="{name}" src="{name}.html"></iframe>' for name in made)
    wrapper = folder / "wrapper.html"
    wrapper.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><title>x</title>{frames}<pre id="out"></pre>'
        f"<script>{COLLECT}</script>",
        encoding="utf-8",
    )
    return wrapper


def collected(tmp_path: Path, wrapper: Path) -> dict[str, dict[str, object]]:
    options = ("--allow-file-access-from-files", "--virtual-time-budget=8000", "--dump-dom")
    seen = browse(tmp_path, wrapper, *options)
    found = re.search(r'<pre id="out">(.*?)</pre>', seen.stdout, re.S)
    assert found, seen.stderr[-2000:]
    told: dict[str, dict[str, object]] = json.loads(html.unescape(found.group(1)))
    return told


def test_no_payload_runs_and_every_one_is_read_as_it_was_written(tmp_path: Path, pages: Path) -> None:
    told = collected(tmp_path, pages)
    assert told["ran"] == 0
    found = told["found"]
    plain = set(re.findall(r"<([a-z0-9]+)", report_page("word")))
    assert len(found) == len(PAYLOADS) + 1
    for name, page in found.items():
        assert isinstance(page, dict)
        assert page["title"] != "RAN"
        assert page["handlers"] == []
        assert not page["comments"]
        assert not [link for link in page["links"] if not re.match(r"#[a-z-]+$|data:,$", link)]
        if name == "tables":
            texts, banned = PAYLOADS, {"script", "img", "svg", "style", "a", "iframe"}
            assert not banned & set(page["tags"])
        else:
            texts = [PAYLOADS[int(name.removeprefix("report"))]]
            assert set(page["tags"]) <= plain | {"html", "head", "body", "tbody"}
            assert one_line(texts[0])[:40] in page["title"]
        for text in texts:
            assert page["cells"].count(one_line(text)) >= (6 if name == "tables" else 3)


def test_no_payload_asks_the_network(tmp_path: Path, pages: Path) -> None:
    assert requests(tmp_path, pages) == []


@pytest.mark.parametrize("payload", [PAYLOADS[0], PAYLOADS[8], PAYLOADS[23]], ids=range(3))
def test_the_browser_obeys_a_payload_that_is_not_escaped(tmp_path: Path, payload: str) -> None:
    leaky = tmp_path / "leaky.html"
    silent = payload.replace("alert(1)", "0")  # nobody is there to close a window
    leaky.write_text(f"<!DOCTYPE html><title>x</title><body>{silent}</body>", encoding="utf-8")
    assert requests(tmp_path, leaky)
