"""A report as the officer sees it: opened in a browser where there is one, and verified."""

from __future__ import annotations

import html
import re
from pathlib import Path

import dpglm
from tests.browser.test_chromium import BROWSER, browse, console, requests

STATED = ("Department of Medicine", "A. Doe", "data protection officer", "2026-11-02", "consent to research")


def assert_signed(page: Path, ledger: Path) -> None:
    """It shows who answers for it and what was promised, asks nothing of a network, and its numbers agree."""
    shown = page.read_text(encoding="utf-8")
    if BROWSER is not None:
        assert console(page.parent, page) == []
        assert requests(page.parent, page) == []
        shown = browse(page.parent, page, "--dump-dom").stdout
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())
    assert not [fact for fact in STATED if fact not in words]
    assert "epsilon = 1" in words
    assert "NOT PRIVATE" not in words
    assert dpglm.verify(page, ledger=ledger).passed
